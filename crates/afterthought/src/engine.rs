//! The engine: one archive, its mirror and its readers behind one handle. Everything a door needs;
//! no door's words.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::archive::{Archive, Layout, Stamp};
use crate::audit::{Audit, WordAudit, audit, routes};
use crate::context::{Context, ContextPage, ContextQuery, Entry, slice_range};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Access, Disk, Folder, Snapshot, Storage, Store, flag};
use crate::limits::{BATCH_ROWS_MAX, READERS_DEFAULT, SEARCH_WALL_MS_MAX, VERIFY_LISTED_MAX};
use crate::mirror::{
    Depth, Freshness, Level, Listener, Mirror, Note, Pace, Progress, SyncReport, Verdict, verify,
};
use crate::model::{Field, Message, Origin, Session, Warning};
use crate::search::{
    Deadline, Filters, IndexState, IndexView, Kept, Page, Pool, SearchRequest, SessionList, SessionView,
    commits_of, list_sessions,
};
use crate::time::{now_ms, rfc3339};

/// What to open, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The archive, an agent's SQLite file.
    pub archive: PathBuf,
    /// Folder below which every archive's index has a folder of its own.
    pub index_root: PathBuf,
    /// Threads that answer searches; without any, whoever asks does the work.
    pub readers: usize,
    /// Copy an archive of any size where it cannot be read in place.
    pub allow_copy: bool,
    /// How the archive is laid out, where that is not left to its tables.
    pub layout: Option<Layout>,
    /// The name by which hits say which archive they stand in; `default` unless somebody gives one.
    pub name: String,
    /// What to do about the index.
    pub index: Opening,
    /// Answer as if the archive held this person's sessions and nothing else: for searches, lists, sessions,
    /// messages and [`Engine::status`]. What tends the index and [`Engine::verify`] read all; [`Engine::audit`]
    /// is refused.
    pub user: Option<String>,
    /// Where the index's files lie.
    pub storage: Arc<dyn Storage>,
}

/// What opening does about the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Open it; create it if there is none; start over if another version wrote it.
    Ensure,
    /// Open what is there, and fail if nothing is.
    Existing,
}

impl Options {
    /// Opens an archive with everything else as by default.
    #[must_use]
    pub fn new(archive: impl Into<PathBuf>, index_root: impl Into<PathBuf>) -> Self {
        Self {
            archive: archive.into(),
            index_root: index_root.into(),
            readers: READERS_DEFAULT,
            allow_copy: false,
            layout: None,
            name: "default".to_owned(),
            index: Opening::Ensure,
            user: None,
            storage: Arc::new(Disk),
        }
    }

    /// Names the archive, and how it is laid out. Fails if no file is there.
    pub fn archive(&self) -> Result<Archive> {
        Ok(Archive::at(&self.archive, self.allow_copy)?.laid_out(self.layout.clone()))
    }

    /// Names the folder of the archive's index.
    pub(crate) fn folder(&self, archive: &Archive) -> Folder {
        Folder::of(&self.index_root, archive.path()).over(Arc::clone(&self.storage))
    }
}

/// An archive that can be searched.
pub struct Engine {
    archive: Archive,
    folder: Folder,
    live: Mutex<Arc<Live>>,
    pool: Pool,
    /// What cursors continue.
    kept: Arc<Kept>,
    /// The only person whose sessions are shown.
    user: Option<String>,
    /// Their indexed messages, and the snapshot they were counted in.
    own_rows: Mutex<Option<(u64, u64)>>,
    listener: Listener,
}

/// A commit that a search of several archives reads.
pub(crate) struct Pinned {
    live: Arc<Live>,
    pub(crate) snapshot: Arc<Snapshot>,
    /// How it stands to its archive.
    pub(crate) view: IndexView,
}

impl Pinned {
    /// Reads every file of the index's last commit. Fails as damaged if one does not match its checksum.
    pub(crate) fn check_files(&self) -> Result<()> {
        self.live.store.check_files()
    }
}

/// Says of a page which rows it is not about.
pub(crate) fn say_how_true(page: &mut Page) {
    if page.index.state == IndexState::Building {
        let message =
            format!("the index is still being built: {} % of the rows are in it", page.index.percent);
        // First: whatever else is said is said of these rows alone.
        page.warnings.insert(0, Warning::new("building", message));
    }
    if page.total.value > 0 {
        return;
    }
    let behind = page.index.rows_behind;
    if let Some(diagnosis) = &mut page.diagnosis {
        diagnosis.rows_behind = behind;
    }
    if page.index.state == IndexState::Stale {
        let rows = if behind == 1 { "1 row is" } else { "rows are" };
        let count = if behind == 1 { String::new() } else { format!("{behind} ") };
        let message = format!("{count}{rows} not indexed yet, and what is sought may be there");
        page.warnings.push(Warning::new("rows-behind", message));
    }
}

/// The live generation of the index, open: where searches read and the mirror writes.
struct Live {
    store: Store,
    mirror: Mirror,
}

impl Live {
    fn over(store: Store, archive: &Archive, folder: &Folder, listener: &Listener) -> Result<Arc<Self>> {
        let mirror =
            Mirror::start(archive.clone(), store.clone(), folder, listener.clone(), Pace::default())?;
        Ok(Arc::new(Self { store, mirror }))
    }
}

impl Engine {
    /// Opens an archive and its index. Fails if the archive is not there or not an agent's, or if
    /// the index cannot be used; see [`Opening`].
    pub fn open(options: &Options) -> Result<Self> {
        let archive = options.archive()?;
        let folder = options.folder(&archive);
        let found = Store::open(&folder);
        // An archive that cannot be read is said before an index is made for it. One that is what a check
        // read was readable then.
        let is_checked = |store: &Store| {
            let note = Note::read(&store.note())?;
            let (stamp, snapshot) = (archive.stamp().ok()?, store.snapshot().ok()?);
            Some(note.still_true(&stamp, snapshot.checkpoint()))
        };
        if !matches!(&found, Ok(Some(store)) if is_checked(store) == Some(true)) {
            archive.read(|_| Ok(()))?;
        }
        let store = match (found, options.index) {
            (Ok(Some(store)), _) => store,
            (Ok(None), Opening::Existing) => {
                return Err(Error::new(ErrorKind::IndexMissing, "open index of", archive.path().display())
                    .because("nothing has been indexed yet")
                    .hint("run: aft index"));
            }
            (Ok(None), Opening::Ensure) => match Store::open_or_create(&folder) {
                Err(error) if error.kind() == ErrorKind::IndexIncompatible => Store::start_over(&folder)?,
                other => other?,
            },
            (Err(error), Opening::Ensure) if error.kind() == ErrorKind::IndexIncompatible => {
                Store::start_over(&folder)?
            }
            (Err(error), _) => return Err(error),
        };
        let listener = Listener::default();
        let live = Mutex::new(Live::over(store, &archive, &folder, &listener)?);
        let kept = Arc::new(Kept::default());
        let pool = Pool::start(&archive, &options.name, options.readers, &kept)?;
        let (user, own_rows) = (options.user.clone(), Mutex::new(None));
        Ok(Self { archive, folder, live, pool, kept, user, own_rows, listener })
    }

    /// Runs what reads the live generation.
    fn over<T>(&self, read: impl FnOnce(&Store) -> Result<T>) -> Result<T> {
        let live = self.live();
        live.store.guarded(|| read(&live.store))
    }

    /// Returns the live generation, which another process may have swapped since the last call.
    fn live(&self) -> Arc<Live> {
        let mut live = self.live.lock();
        let open = match self.folder.live() {
            Ok(Some(path)) if path != live.store.path() => Store::open_at(&self.folder, &path)
                .and_then(|store| Live::over(store, &self.archive, &self.folder, &self.listener)),
            Ok(_) => return Arc::clone(&live),
            Err(error) => Err(error),
        };
        match open {
            Ok(open) => {
                let before = std::mem::replace(&mut *live, open);
                let now = Arc::clone(&live);
                // Its writer commits what it has and ends its merges: nobody waits for that.
                std::thread::spawn(move || drop(before));
                now
            }
            Err(error) => {
                tracing::warn!(%error, "the generation that was live goes on answering");
                Arc::clone(&live)
            }
        }
    }

    /// Brings the index up to date, waiting at most `wait`; work under way goes on afterwards.
    /// `watch` is called about ten times a second meanwhile.
    pub fn freshen(
        &self,
        level: Level,
        wait: Duration,
        watch: impl FnMut(Option<Progress>),
    ) -> Result<Freshness> {
        let live = self.live();
        if live.store.access() == Access::ReadOnly {
            return Ok(Freshness::Behind(
                Error::new(ErrorKind::IndexUnavailable, "write index", live.store.path().display())
                    .because("the folder can only be read")
                    .hint("name another folder with --index"),
            ));
        }
        // Nothing is waited for where the writer thread would find that nothing changed.
        if level == Level::Quick && self.is_fresh(&live.store)? {
            return Ok(Freshness::Fresh(SyncReport { unchanged: true, ..SyncReport::default() }));
        }
        live.mirror.freshen(level, wait, watch)
    }

    /// Returns how many rows a first build has indexed so far; `None` once it has reached all of them.
    pub fn built_so_far(&self) -> Result<Option<u64>> {
        self.over(|store| {
            let snapshot = store.snapshot()?;
            if snapshot.checkpoint().complete { Ok(None) } else { snapshot.rows().map(Some) }
        })
    }

    /// Tells whether a sync is under way that has found something to do.
    #[must_use]
    pub fn is_syncing(&self) -> bool {
        self.live().mirror.progress().is_some()
    }

    /// Calls `tell` from the writer thread after every sync of this engine that changed something, whoever
    /// asked for it, with how long it took. Only the first one that is set is called.
    pub fn on_synced(&self, tell: impl Fn(&SyncReport, Duration) + Send + Sync + 'static) {
        self.listener.set(tell);
    }

    /// Tells whether the last check compared all there is, and the files are as it found them.
    fn is_fresh(&self, store: &Store) -> Result<bool> {
        let Some(note) = Note::read(&store.note()).filter(|note| note.full) else { return Ok(false) };
        let snapshot = store.guarded(|| store.snapshot())?;
        Ok(self.archive.stamp().is_ok_and(|stamp| note.still_true(&stamp, snapshot.checkpoint())))
    }

    /// Ends a handle that wrote nothing, in a process that is about to end: only what the system does not
    /// close is closed.
    pub fn end_unwritten(self) {
        self.archive.let_go();
        std::mem::forget(self);
    }

    /// Asks a sync under way to commit what it has and end.
    pub fn interrupt(&self) {
        self.live.lock().mirror.interrupt();
    }

    /// Answers a search from the last commit, or from the one that its cursor continues, which is kept
    /// for five minutes after its last use. Brings nothing up to date: see [`Engine::freshen`].
    pub fn search(&self, request: SearchRequest) -> Result<Page> {
        self.search_until(request, Deadline::after(Duration::from_millis(SEARCH_WALL_MS_MAX)))
    }

    /// Does the same, until a deadline that the caller sets.
    pub fn search_until(&self, mut request: SearchRequest, deadline: Deadline) -> Result<Page> {
        if self.user.is_some() {
            request.filters.confined_to.clone_from(&self.user);
        }
        let mut page = self.over(|store| {
            let commit = request.cursor.as_deref().map(commits_of).and_then(|commits| *commits.first()?);
            let snapshot = self.snapshot_for(store, commit)?;
            let page = self.pool.search(Arc::clone(&snapshot), request, deadline)?;
            if page.next_cursor.is_some() {
                self.kept.keep(&snapshot);
            }
            Ok(Page { index: self.view(store, &snapshot)?, ..page })
        })?;
        say_how_true(&mut page);
        Ok(page)
    }

    /// Takes hold of the last commit, or of the one of this identity if that is kept, for a search of several
    /// archives.
    pub(crate) fn pin(&self, commit: Option<u64>) -> Result<Pinned> {
        let live = self.live();
        let (snapshot, view) = live.store.guarded(|| {
            let snapshot = self.snapshot_for(&live.store, commit)?;
            let view = self.view(&live.store, &snapshot)?;
            Ok((snapshot, view))
        })?;
        Ok(Pinned { live, snapshot, view })
    }

    /// Keeps what a cursor of a page continues.
    pub(crate) fn keep(&self, pinned: &Pinned) {
        self.kept.keep(&pinned.snapshot);
    }

    /// Reads messages by id, in order; `None` where there is none.
    pub(crate) fn messages_by_id(&self, ids: &[Option<i64>]) -> Result<Vec<Option<Message>>> {
        self.archive.messages(ids)
    }

    /// Returns the last commit, or the one of this identity if that is kept. What is wrong with a cursor is
    /// the search's to say.
    fn snapshot_for(&self, store: &Store, commit: Option<u64>) -> Result<Arc<Snapshot>> {
        let live = Arc::new(store.snapshot()?);
        self.kept.sweep();
        match commit {
            Some(commit) if commit != live.identity() => Ok(self.kept.find(commit).unwrap_or(live)),
            _ => Ok(live),
        }
    }

    /// Says how the index stands to its archive. Costs a count of the rows behind.
    fn view(&self, store: &Store, snapshot: &Snapshot) -> Result<IndexView> {
        let checkpoint = snapshot.checkpoint();
        let rows = self.rows(snapshot)?;
        let note = Note::read(&store.note()).filter(|note| note.committed_ms == checkpoint.committed_ms);
        let archive = &self.archive;
        let unchanged = checkpoint.complete
            && note.as_ref().is_some_and(|note| archive.stamp().is_ok_and(|stamp| stamp == note.stamp));
        let rows_behind = if unchanged {
            0
        } else if checkpoint.complete {
            self.rows_above(checkpoint.id_max)?
        } else {
            self.rows_above(i64::MIN)?.saturating_sub(rows)
        };
        let state = match (checkpoint.complete, rows_behind) {
            (false, _) => IndexState::Building,
            (true, 0) => IndexState::Ready,
            (true, _) => IndexState::Stale,
        };
        let percent = if checkpoint.complete { 100 } else { rows * 100 / (rows + rows_behind).max(1) };
        Ok(IndexView {
            state,
            rows,
            rows_behind,
            percent: u8::try_from(percent.min(100)).unwrap_or(100),
            last_sync: Some(checkpoint.committed_ms).filter(|ms| *ms > 0).and_then(rfc3339),
            checked_at: note.and_then(|note| rfc3339(note.compared_ms)),
        })
    }

    /// Counts the indexed messages that are shown to whoever asks.
    fn rows(&self, snapshot: &Snapshot) -> Result<u64> {
        let Some(person) = &self.user else { return snapshot.rows() };
        let commit = snapshot.identity();
        if let Some((_, rows)) = self.own_rows.lock().filter(|(of, _)| *of == commit) {
            return Ok(rows);
        }
        let own = snapshot.sessions_of(person)?;
        let sums = snapshot.sums()?;
        let rows = sums.iter().zip(own).filter(|(_, is_own)| *is_own).map(|(sums, _)| sums.rows).sum();
        *self.own_rows.lock() = Some((commit, rows));
        Ok(rows)
    }

    fn rows_above(&self, id: i64) -> Result<u64> {
        self.archive.read(|view| match &self.user {
            Some(person) => view.rows_above_of(id, person),
            None => view.rows_above(id),
        })
    }

    /// Says how the index stands to its archive. Costs a count of the rows behind.
    pub fn index(&self) -> Result<IndexView> {
        self.over(|store| self.view(store, &store.snapshot()?))
    }

    /// Returns a number that stays the same as long as every answer does: of the last commit, of what was
    /// checked since, and of the archive's files. `None` where another write might leave no trace in it,
    /// as the last one is not a clock's tick old.
    pub fn fingerprint(&self) -> Result<Option<u64>> {
        let (stamp, now_ms) = (self.archive.stamp()?, now_ms());
        if !stamp.is_settled(now_ms) {
            return Ok(None);
        }
        self.over(|store| {
            let state = (store.snapshot()?.identity(), Note::read(&store.note()), stamp);
            Ok(serde_json::to_vec(&state).ok().map(|state| xxh3_64(&state)))
        })
    }

    /// Describes archive and index.
    pub fn status(&self) -> Result<Status> {
        self.over(|store| self.status_of(store))
    }

    fn status_of(&self, store: &Store) -> Result<Status> {
        let snapshot = store.snapshot()?;
        let own = self.user.as_deref().map(|person| snapshot.sessions_of(person)).transpose()?;
        let is_shown = |session_ord: u64| {
            let is_own =
                |own: &Vec<bool>| usize::try_from(session_ord).ok().and_then(|ord| own.get(ord).copied());
            own.as_ref().is_none_or(|own| is_own(own) == Some(true))
        };
        let (damaged_rows, damaged_ids) = snapshot.damaged_rows(VERIFY_LISTED_MAX, is_shown)?;
        let sessions = match &own {
            Some(own) => own.iter().filter(|is_own| **is_own).count(),
            None => snapshot.known_sessions()?.len(),
        };
        let archive_bytes = self.archive.stamp()?.bytes();
        Ok(Status {
            schema_version: 1,
            archive: self.archive.path().display().to_string(),
            archive_bytes,
            layout: self.archive.layout()?,
            index_folder: store.path().display().to_string(),
            index_bytes: store.bytes(),
            segments: snapshot.segments(),
            sessions,
            index: self.view(store, &snapshot)?,
            rows_by_origin: rows_by_origin(&snapshot, is_shown)?,
            audited_at: Some(self.audited_ms()).filter(|ms| *ms > 0).and_then(rfc3339),
            damaged_rows,
            damaged_ids,
        })
    }

    /// Reads every file of the index's last commit. Fails as damaged if one does not match its checksum.
    pub fn check_files(&self) -> Result<()> {
        self.live().store.check_files()
    }

    /// Proves that the index holds the archive's rows, or lists where it does not. The index's
    /// own files are checked first; fails as damaged if one does not match its checksum.
    pub fn verify(&self, depth: Depth) -> Result<Verdict> {
        self.check_files()?;
        self.over(|store| verify(&self.archive, &store.snapshot()?, depth))
    }

    /// Returns a session and its visible messages, each once, from the archive itself. The id may be
    /// cut short where only one session begins like that. Fails as not found if none does.
    pub fn session(&self, id: &str) -> Result<(SessionView, Context)> {
        let (session, ids) = self.over(|store| {
            let snapshot = store.snapshot()?;
            let (ord, session) = self.find_session(&snapshot, id)?;
            Ok((session, listed_ids(&snapshot, ord)?))
        })?;
        let mut messages = Vec::with_capacity(ids.len());
        for batch in ids.chunks(BATCH_ROWS_MAX) {
            // A row that went or was taken back since the commit is not part of it any more.
            let batch = self.archive.messages(batch)?.into_iter().flatten();
            messages
                .extend(batch.filter(|message| message.state.visible() && message.session_id == session.id));
        }
        let last_ms = messages.iter().filter_map(|message| message.timestamp_ms).max().or(session.started_ms);
        let view = SessionView::of(session, messages.len() as u64, last_ms);
        Ok((view, Context::from_messages(messages)))
    }

    /// Returns the messages of a session that have one of these roles, any if none is named, from `slice.0`
    /// up to and without `slice.1`; see [`Engine::session`] and [`Context::slice`]. Reads only the rows that
    /// it returns where no role is named, else the whole session.
    pub fn session_messages(
        &self,
        id: &str,
        roles: &[String],
        (start, end): (Option<i64>, Option<i64>),
    ) -> Result<SessionMessages> {
        let (session, messages) = if roles.is_empty() {
            self.session_slice(id, start, end)?
        } else {
            let (session, context) = self.session(id)?;
            let entries = context.filter(roles).slice(start, end).entries();
            (session, entries.iter().map(MessageView::of).collect())
        };
        let mut warnings = Vec::new();
        if messages.is_empty() {
            let message = format!("no message is there; the session has {}", session.messages);
            warnings.push(Warning::new("no-match", message));
        }
        Ok(SessionMessages { schema_version: 1, session, messages, warnings })
    }

    fn session_slice(
        &self,
        id: &str,
        start: Option<i64>,
        end: Option<i64>,
    ) -> Result<(SessionView, Vec<MessageView>)> {
        let (session, ids) = self.over(|store| {
            let snapshot = store.snapshot()?;
            let (ord, session) = self.find_session(&snapshot, id)?;
            let ids = listed_ids(&snapshot, ord)?;
            Ok((SessionView::of(session, ids.len() as u64, snapshot.last_activity(ord)?), ids))
        })?;
        let messages = self.listed(&session.id, &ids, slice_range(ids.len(), start, end))?;
        Ok((session, messages))
    }

    /// Reads the messages at some of a session's places. What went or was taken back since the commit, or is
    /// another session's by now, is left out.
    fn listed(&self, session: &str, ids: &[Option<i64>], places: Range<usize>) -> Result<Vec<MessageView>> {
        let mut messages = Vec::new();
        let shown = ids.get(places.clone()).unwrap_or_default();
        for (batch, from) in shown.chunks(BATCH_ROWS_MAX).zip((places.start..).step_by(BATCH_ROWS_MAX)) {
            let rows = (from..).zip(self.archive.messages(batch)?);
            let is_there = |message: &Message| message.state.visible() && message.session_id == session;
            let rows = rows.map(|(index, message)| (index, message.filter(is_there)));
            let entries = rows.filter_map(|(index, message)| Some(Entry { index, message: message? }));
            messages.extend(entries.map(|entry| MessageView::of(&entry)));
        }
        Ok(messages)
    }

    /// Searches in a session; see [`Engine::session`] and [`Context::search`].
    pub fn session_hits(&self, id: &str, query: &ContextQuery) -> Result<SessionHits> {
        let (session, context) = self.session(id)?;
        Ok(SessionHits { page: context.search(query)?, schema_version: 1, session })
    }

    /// Lists sessions, the latest activity first; see [`list_sessions`].
    pub fn sessions(&self, filters: &Filters, offset: usize, limit: usize) -> Result<SessionList> {
        let mut filters = filters.clone();
        if self.user.is_some() {
            filters.confined_to.clone_from(&self.user);
        }
        self.over(|store| list_sessions(&store.snapshot()?, &filters, offset, limit))
    }

    /// Measures what the archive holds that its agent's own search cannot find; see [`Audit`]. Reads
    /// the whole archive, and more than once where the agent's search tables have to be rebuilt. Fails as
    /// usage for one person, who may not know of the rest.
    pub fn audit(&self) -> Result<Audit> {
        self.archive.must_be_hermes("audit")?;
        self.must_be_whole()?;
        self.over(|store| audit(&self.archive, &store.snapshot()?))
    }

    /// Counts what the agent's own search finds for a word, and what we find. Fails as [`Engine::audit`] does.
    pub fn audit_word(&self, word: &str) -> Result<WordAudit> {
        self.archive.must_be_hermes("audit")?;
        self.must_be_whole()?;
        if word.trim().is_empty() {
            return Err(
                Error::new(ErrorKind::Usage, "audit", "an empty word").hint("name a word, or none at all")
            );
        }
        let count = |origins: Vec<Origin>| -> Result<u64> {
            let request = SearchRequest { origins, limit: 1, ..SearchRequest::new(word) };
            Ok(self.search(request)?.total.value)
        };
        Ok(WordAudit {
            schema_version: 1,
            word: word.to_owned(),
            fts: routes(&self.archive, word)?,
            ours: count(Vec::new())?,
            ours_in_reasoning: count(vec![Origin::Thought])?,
        })
    }

    /// Returns the person whose sessions alone are shown; `None` where all are.
    #[must_use]
    pub fn person(&self) -> Option<&str> {
        self.user.as_deref()
    }

    fn must_be_whole(&self) -> Result<()> {
        let refused = |person| {
            Error::new(ErrorKind::Usage, "audit", "the archive")
                .because(format!("only the sessions of {person} are shown"))
                .hint("ask where no person was named")
        };
        self.person().map_or(Ok(()), |person| Err(refused(person)))
    }

    /// Returns a message with its visible neighbours in the session, from the archive itself. A
    /// message that a search does not show is returned alone. Fails as not found if no row has the id.
    pub fn show(&self, id: i64, neighbours: usize) -> Result<Shown> {
        self.show_between(id, neighbours, neighbours)
    }

    /// Returns a message as [`Engine::show`] does, with so many neighbours before and after it.
    pub fn show_between(&self, id: i64, before: usize, after: usize) -> Result<Shown> {
        let message = self.archive.messages(&[Some(id)])?.pop().flatten();
        let shown = message.map(|message| self.over(|store| self.show_among(store, message, before, after)));
        shown.transpose()?.flatten().ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "show message", id)
                .because("the archive has no row of that id")
                .hint("ids stand in the hits of aft search")
        })
    }

    /// Returns `None` where the message is not shown to whoever asks.
    fn show_among(
        &self,
        store: &Store,
        message: Message,
        before: usize,
        after: usize,
    ) -> Result<Option<Shown>> {
        let (id, snapshot) = (message.id, store.snapshot()?);
        let Some((ord, session)) = self.known_session(&snapshot, &message.session_id)? else {
            // Whose it is cannot be told before it is indexed.
            if self.user.is_some() {
                return Ok(None);
            }
            // Not indexed yet: the message is shown all the same.
            let (session_id, source) = (message.session_id.clone(), "unknown".to_owned());
            let session = Session { id: session_id, source, ..Session::default() };
            let (session, messages) =
                (SessionView::of(session, 0, None), vec![MessageView::unlisted(message)]);
            return Ok(Some(Shown { schema_version: 1, message_id: id, session, messages }));
        };
        let ids = listed_ids(&snapshot, ord)?;
        let session = SessionView::of(session, ids.len() as u64, snapshot.last_activity(ord)?);
        let messages = match ids.iter().position(|listed| *listed == Some(id)) {
            Some(place) => {
                let end = ids.len().min(place.saturating_add(after).saturating_add(1));
                self.listed(&session.id, &ids, place.saturating_sub(before)..end)?
            }
            None => vec![MessageView::unlisted(message)],
        };
        Ok(Some(Shown { schema_version: 1, message_id: id, session, messages }))
    }

    /// Returns a session with its number, if it is shown to whoever asks.
    fn known_session(&self, snapshot: &Snapshot, id: &str) -> Result<Option<(u64, Session)>> {
        let Some((ord, mut session)) = snapshot.session(id)? else { return Ok(None) };
        if let Some(person) = &self.user {
            if session.user.as_ref() != Some(person) {
                return Ok(None);
            }
            session.parent_id = snapshot.own_parent(&session, person)?;
        }
        Ok(Some((ord, session)))
    }

    /// Finds a session by its id, or by the beginning of it where only one begins like that.
    fn find_session(&self, snapshot: &Snapshot, id: &str) -> Result<(u64, Session)> {
        if let Some(found) = self.known_session(snapshot, id)? {
            return Ok(found);
        }
        let refused = |kind, why: String| {
            Error::new(kind, "find session", id)
                .because(why)
                .hint("aft sessions lists the sessions and their ids")
        };
        let known = snapshot.known_sessions()?;
        let mut alike: Vec<&String> =
            known.keys().filter(|known| !id.is_empty() && known.starts_with(id)).collect();
        if let Some(person) = &self.user {
            let own = snapshot.sessions_of(person)?;
            let is_own = |id: &&String| {
                let ord = usize::try_from(known[*id].ord).ok();
                ord.and_then(|ord| own.get(ord)) == Some(&true)
            };
            alike.retain(is_own);
        }
        alike.sort_unstable();
        match alike.as_slice() {
            [] => Err(refused(ErrorKind::NotFound, "the archive has no session of that id".to_owned())),
            [only] => {
                let found = self.known_session(snapshot, only)?;
                found.ok_or_else(|| refused(ErrorKind::NotFound, "it went while it was looked up".to_owned()))
            }
            [first, second, ..] => {
                let why =
                    format!("{} sessions begin like that, among them {first} and {second}", alike.len());
                Err(refused(ErrorKind::Usage, why))
            }
        }
    }

    /// Takes the stamp of the archive's files. Fails if they are not there.
    pub(crate) fn stamp(&self) -> Result<Stamp> {
        self.archive.stamp()
    }

    /// Returns when what every row says was last compared, in milliseconds since 1970; 0 for never, or
    /// where nothing tells.
    pub(crate) fn audited_ms(&self) -> i64 {
        Note::read(&self.live().store.note()).map_or(0, |note| note.audited_ms)
    }

    /// Returns the folder of the generation that answers now.
    pub(crate) fn generation(&self) -> PathBuf {
        self.live().store.path().to_owned()
    }

    /// Returns the archive's path.
    #[must_use]
    pub fn archive(&self) -> &Path {
        self.archive.path()
    }
}

/// Archive and index in figures.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Version of this shape.
    pub schema_version: u32,
    /// The archive's path.
    pub archive: String,
    /// Its size with its log, in bytes.
    pub archive_bytes: u64,
    /// How it is laid out: `hermes`, or the name of a layout.
    pub layout: String,
    /// The live generation of the index.
    pub index_folder: String,
    /// Its size, in bytes.
    pub index_bytes: u64,
    /// Its segments.
    pub segments: usize,
    /// Sessions in it.
    pub sessions: usize,
    /// How true it is.
    pub index: IndexView,
    /// Messages in it that something was said, thought, done or seen in, and sessions with a title.
    pub rows_by_origin: BTreeMap<Origin, u64>,
    /// When what every row says was last compared with what is indexed.
    pub audited_at: Option<String>,
    /// Rows that could be read only in part.
    pub damaged_rows: u64,
    /// The first of them.
    pub damaged_ids: Vec<i64>,
}

/// Counts the messages of sessions that pass by what they hold.
fn rows_by_origin(snapshot: &Snapshot, passes: impl Fn(u64) -> bool + Copy) -> Result<BTreeMap<Origin, u64>> {
    // A tool's name stands on its output too, which was seen and not done.
    let fields = Field::ALL.into_iter().filter(|field| *field != Field::ToolName);
    fields.map(|field| Ok((field.origin(), snapshot.rows_with(field, passes)?))).collect()
}

/// Returns the ids of a session's visible messages, each once, in order.
fn listed_ids(snapshot: &Snapshot, session_ord: u64) -> Result<Vec<Option<i64>>> {
    let rows = snapshot.rows_of(session_ord)?;
    Ok(rows.iter().filter(|row| flag::is_listed(row.flags)).map(|row| Some(row.id)).collect())
}

/// A session, or a part of it.
#[derive(Clone, Debug, Serialize)]
pub struct SessionMessages {
    /// Version of this shape.
    pub schema_version: u32,
    /// The session.
    pub session: SessionView,
    /// Its messages, in order.
    pub messages: Vec<MessageView>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// What matches in a session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionHits {
    /// The hits, best first.
    #[serde(flatten)]
    pub page: ContextPage,
    /// Version of this shape.
    pub schema_version: u32,
    /// The session.
    pub session: SessionView,
}

/// A message and its neighbours.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// Version of this shape.
    pub schema_version: u32,
    /// The message asked for.
    pub message_id: i64,
    /// Its session.
    pub session: SessionView,
    /// It and its neighbours, in order.
    pub messages: Vec<MessageView>,
}

/// A message as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageView {
    /// The message id.
    pub message_id: i64,
    /// Its place among the session's visible messages, from 0; `None` if it is none of them.
    pub index: Option<usize>,
    /// Who wrote it.
    pub role: String,
    /// What was said, or a tool's output.
    pub content: String,
    /// What the model thought.
    pub reasoning: String,
    /// The tool that answered.
    pub tool_name: String,
    /// The tools called: name and arguments, one a line.
    pub tool_calls: String,
    /// When, RFC 3339 in UTC.
    pub timestamp: Option<String>,
}

impl MessageView {
    /// Shows a message of a conversation.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        Self { index: Some(entry.index), ..Self::unlisted(entry.message.clone()) }
    }

    fn unlisted(message: Message) -> Self {
        Self {
            message_id: message.id,
            index: None,
            role: message.role,
            content: message.content,
            reasoning: message.reasoning,
            tool_name: message.tool_name,
            tool_calls: message.tool_calls,
            timestamp: message.timestamp_ms.and_then(rfc3339),
        }
    }
}
