//! Where the archive of a run lies, and everything that it answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use afterthought::archive::{Archive, RawId, RowHead, Signature};
use afterthought::model::{Message, Session};

/// Messages that are read of one archive: a damaged one may list a row any number of times.
const MESSAGES_MAX: usize = 64;

/// A folder for one archive. Its file is written over by each run, never replaced: the reader keeps
/// a descriptor of every database that it ever met.
pub struct Place {
    folder: PathBuf,
}

impl Place {
    /// Empties the folder of this process and its archive.
    #[must_use]
    pub fn emptied() -> Self {
        let folder = std::env::temp_dir().join(format!("afterthought-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let place = Self { folder };
        for suffix in ["-wal", "-shm", "-journal"] {
            // Most runs leave none.
            let _ = fs::remove_file(place.sidecar(suffix));
        }
        fs::write(place.archive(), []).expect("an empty file");
        place
    }

    /// Returns the archive's path.
    #[must_use]
    pub fn archive(&self) -> PathBuf {
        self.folder.join("state.db")
    }

    /// Returns the path of a file beside the archive.
    #[must_use]
    pub fn sidecar(&self, suffix: &str) -> PathBuf {
        self.folder.join(format!("state.db{suffix}"))
    }

    /// Reads the archive twice. `None` where it is refused.
    ///
    /// Panics if both readings differ, or any file does afterwards.
    #[must_use]
    pub fn read(&self) -> Option<Contents> {
        let before = trace(&self.folder);
        let read = || Contents::of(&Archive::at(&self.archive(), false).expect("the file is there"));
        let first = read();
        assert_eq!(first, read(), "what is read twice is the same");
        assert!(before == trace(&self.folder), "reading changed a file");
        first
    }
}

type Trace = BTreeMap<PathBuf, (SystemTime, Vec<u8>)>;

fn trace(folder: &Path) -> Trace {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry?.path();
        Ok((path.clone(), (path.metadata()?.modified()?, fs::read(&path)?)))
    };
    fs::read_dir(folder).and_then(|entries| entries.map(file).collect()).expect("files that can be read")
}

/// What an archive answers, each question by itself; `None` where it cannot.
#[derive(Debug, PartialEq)]
pub struct Contents {
    /// The number of rows with an id above the lowest.
    pub rows: Option<u64>,
    /// Every row's id and session.
    pub tail: Option<Vec<(i64, String, RawId)>>,
    /// The first rows of `tail`, whole.
    pub messages: Vec<Option<Option<Message>>>,
    /// Every session that has rows, by id.
    pub rows_by_session: Option<Vec<SessionRows>>,
    /// Every session that has a row.
    pub sessions: Option<Vec<Session>>,
}

/// What is said of one session's rows without reading them.
#[derive(Debug, PartialEq)]
pub struct SessionRows {
    /// Their number, highest id and sum.
    pub signature: Signature,
    /// Their heads.
    pub heads: Option<Vec<RowHead>>,
    /// Their ids, whether they are compacted and whether they are hidden.
    pub states: Option<Vec<(i64, bool, bool)>>,
}

impl Contents {
    fn of(archive: &Archive) -> Option<Self> {
        let read = archive.read(|view| {
            let tail = view.tail(i64::MIN).ok();
            let ids = tail.iter().flatten().take(MESSAGES_MAX).map(|(id, ..)| *id);
            let rows = |signature: Signature| SessionRows {
                heads: view.heads(&signature.raw_ids).ok(),
                states: view.states(&signature.raw_ids).ok(),
                signature,
            };
            let by_session = |mut signatures: Vec<Signature>| {
                signatures.sort_by(|a, b| a.session_id.cmp(&b.session_id));
                signatures.into_iter().map(rows).collect()
            };
            Ok(Self {
                rows: view.rows_above(i64::MIN).ok(),
                messages: ids.map(|id| view.message(id).ok()).collect(),
                rows_by_session: view.signatures().ok().map(by_session),
                sessions: view.sessions().ok(),
                tail,
            })
        });
        read.ok()
    }
}
