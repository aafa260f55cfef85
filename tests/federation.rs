//! Several archives searched as one: what is left out, what is kept for a cursor, what a person sees.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use afterthought::{
    Engine, ErrorKind, Federation, Freshness, Group, Level, Opening, Options, Page, SearchRequest,
};
use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
use tempfile::TempDir;

/// Three archives with sessions and messages of the same ids.
struct Archives {
    folder: TempDir,
}

const NAMES: [&str; 3] = ["home", "office", "laptop"];

impl Archives {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in NAMES {
            let mut writer =
                Writer::create(&folder.path().join(name), Shape::V30, Fts::None).expect("an archive");
            writer
                .session(&Session { user_id: Some(format!("{name}-person")), ..Session::new("s") })
                .expect("a session");
            for row in 0..20 {
                let time = 1_760_000_000.0 + f64::from(row);
                let text = format!("the weir of the {name}, row {row}");
                writer.message("s", &Message::user(&text).at(time)).expect("a row");
            }
            writer.close().expect("a clean close");
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn options(&self, name: &str) -> Options {
        let options = Options::new(self.path(name), self.path("index"));
        Options { name: name.to_owned(), readers: 0, ..options }
    }

    fn federation(&self) -> Federation {
        let all = Federation::of(NAMES.map(|name| self.options(name)).into()).expect("three archives");
        freshen(&all);
        all
    }

    fn append(&self, name: &str, text: &str) {
        let mut writer = Writer::open(&self.path(name)).expect("an archive");
        writer.message("s", &Message::user(text)).expect("a row");
        writer.close().expect("a clean close");
    }

    /// Takes an archive away, with all that stands beside it.
    fn remove(&self, name: &str) {
        for beside in ["", "-wal", "-shm"] {
            let path = self.path(&format!("{name}{beside}"));
            if path.exists() {
                fs::rename(&path, path.with_extension("gone")).expect("a file moves");
            }
        }
    }
}

fn freshen(all: &Federation) {
    for fresh in all.freshen(Level::Quick, Duration::MAX, |_, _| {}) {
        assert!(matches!(fresh.expect("a sync"), Freshness::Fresh(_)));
    }
}

fn weir(limit: usize) -> SearchRequest {
    SearchRequest { limit, ..SearchRequest::new("weir") }
}

fn hits(page: &Page) -> Vec<(&str, i64)> {
    page.results.iter().map(|hit| (&*hit.archive, hit.message_id.expect("a message"))).collect()
}

fn left_out(page: &Page) -> Vec<(&str, ErrorKind)> {
    let archives = page.archives.as_ref().expect("several were searched");
    archives.iter().filter_map(|one| Some((&*one.name, one.error.as_ref()?.kind))).collect()
}

#[test]
fn hits_of_all_stand_on_one_page_and_pages_join() {
    let archives = Archives::new();
    let all = archives.federation();
    let page = all.search(weir(60)).expect("a page");
    assert_eq!((page.total.value, page.results.len(), page.index.rows), (60, 60, 60));
    // Equal scores: the newest first, then the higher id, then the archive that was named first.
    let expected: Vec<_> = (1..=20).rev().flat_map(|id| NAMES.map(|name| (name, id))).collect();
    assert_eq!(hits(&page), expected);
    let mut joined: Vec<(String, i64)> = Vec::new();
    let mut request = weir(7);
    loop {
        let page = all.search(request.clone()).expect("a page");
        joined.extend(hits(&page).into_iter().map(|(name, id)| (name.to_owned(), id)));
        // Whatever is written meanwhile, pages are of the state that the first one was of.
        archives.append("office", "weir");
        freshen(&all);
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => break,
        }
    }
    let joined: Vec<_> = joined.iter().map(|(name, id)| (&**name, *id)).collect();
    assert_eq!(joined, expected);
}

#[test]
fn what_cannot_be_searched_is_left_out_and_said_and_comes_back() {
    let archives = Archives::new();
    archives.remove("office");
    let all = Federation::of(NAMES.map(|name| archives.options(name)).into()).expect("three archives");
    let fresh = all.freshen(Level::Quick, Duration::MAX, |_, _| {});
    assert_eq!(fresh[1].as_ref().expect_err("it is not there").kind(), ErrorKind::ArchiveUnavailable);
    let page = all.search(weir(5)).expect("a page");
    assert_eq!((page.total.value, left_out(&page)), (40, vec![("office", ErrorKind::ArchiveUnavailable)]));
    assert_eq!(page.warnings[0].kind, "archive-left-out");
    assert!(page.warnings[0].message.starts_with("office was left out: "), "{:?}", page.warnings);

    fs::rename(archives.path("office").with_extension("gone"), archives.path("office"))
        .expect("a file moves");
    freshen(&all);
    let whole = all.search(weir(5)).expect("a page");
    assert_eq!((whole.total.value, left_out(&whole)), (60, vec![]));
    // A page goes on without what the one before it was found without.
    let next = SearchRequest { cursor: page.next_cursor, ..weir(5) };
    let next = all.search(next).expect("a page");
    assert_eq!((next.total.value, left_out(&next)), (40, vec![("office", ErrorKind::CursorStale)]));
    assert_eq!(next.offset, 5);
}

#[test]
fn an_archive_that_goes_away_takes_its_hits_along() {
    let archives = Archives::new();
    let all = archives.federation();
    let first = all.search(weir(6)).expect("a page");
    archives.remove("home");
    let page = all.search(weir(6)).expect("a page");
    assert_eq!((page.total.value, left_out(&page)), (40, vec![("home", ErrorKind::ArchiveUnavailable)]));
    assert!(hits(&page).iter().all(|(name, _)| *name != "home"), "{:?}", hits(&page));
    let next =
        all.search(SearchRequest { cursor: first.next_cursor, ..weir(6) }).expect_err("scores changed");
    assert_eq!(next.kind(), ErrorKind::CursorStale);
    assert!(next.to_string().contains("home"), "{next}");
    for name in ["office", "laptop"] {
        archives.remove(name);
    }
    let nothing = all.search(weir(6)).expect_err("no archive is there");
    assert_eq!(nothing.kind(), ErrorKind::ArchiveUnavailable);
    assert!(nothing.to_string().contains("home"), "{nothing}");
}

#[test]
fn a_damaged_index_is_left_out() {
    let archives = Archives::new();
    drop(archives.federation());
    let existing = |name| Options { index: Opening::Existing, ..archives.options(name) };
    let all = Federation::of(NAMES.map(existing).into()).expect("three archives");
    assert_eq!(all.search(weir(1)).expect("a page").total.value, 60);
    drop(all);
    let status = Engine::open(&existing("laptop")).and_then(|engine| engine.status()).expect("figures");
    for file in fs::read_dir(Path::new(&status.index_folder)).expect("a folder").flatten() {
        if file.path().extension().is_some_and(|kind| kind == "idx" || kind == "term") {
            let length = file.metadata().expect("a file").len();
            fs::write(file.path(), vec![0xA5; usize::try_from(length).expect("small")]).expect("a file");
        }
    }
    let all = Federation::of(NAMES.map(existing).into()).expect("three archives");
    let page = all.search(weir(60)).expect("a page");
    assert_eq!((page.total.value, left_out(&page)), (40, vec![("laptop", ErrorKind::IndexDamaged)]));
}

#[test]
fn an_index_that_is_damaged_while_it_is_open_is_left_out() {
    let archives = Archives::new();
    let all = archives.federation();
    assert_eq!(all.search(weir(1)).expect("a page").total.value, 60);
    let status = all.archive("laptop").and_then(|engine| engine.status()).expect("figures");
    for file in fs::read_dir(Path::new(&status.index_folder)).expect("a folder").flatten() {
        if file.path().extension().is_some_and(|kind| kind == "idx" || kind == "term") {
            let length = file.metadata().expect("a file").len();
            // In place: who has it open reads what is written.
            let mut open = fs::OpenOptions::new().write(true).open(file.path()).expect("a file");
            open.write_all(&vec![0xA5; usize::try_from(length).expect("small")]).expect("bytes");
        }
    }
    let page = all.search(SearchRequest::new("row")).expect("a page");
    assert_eq!((page.total.value, left_out(&page)), (40, vec![("laptop", ErrorKind::IndexDamaged)]));
}

#[test]
fn groups_and_people_stay_within_their_archives() {
    let archives = Archives::new();
    let all = archives.federation();
    let grouped = all.search(SearchRequest { group: Group::Session, ..weir(10) }).expect("a page");
    assert_eq!((grouped.total.value, grouped.results.len()), (3, 3), "one id is three sessions");
    assert_eq!(grouped.total_messages.map(|count| count.value), Some(60));
    let mut request = weir(10);
    request.filters.users = vec!["office-person".to_owned()];
    let page = all.search(request.clone()).expect("a page");
    assert_eq!(page.total.value, 20);
    assert!(page.warnings.is_empty(), "a person of one archive is known: {:?}", page.warnings);
    request.filters.users = vec!["nobody".to_owned()];
    let page = all.search(request).expect("a page");
    assert!(page.warnings.iter().any(|warning| warning.kind == "unknown-filter"), "{:?}", page.warnings);
    let mut request = weir(10);
    request.filters.sessions = vec!["nowhere".to_owned()];
    assert_eq!(all.search(request).expect_err("no archive has it").kind(), ErrorKind::NotFound);

    let person = |name: &str| Options { user: Some("home-person".to_owned()), ..archives.options(name) };
    let own = Federation::of(NAMES.map(person).into()).expect("three archives");
    let page = own.search(weir(60)).expect("a page");
    assert_eq!((page.total.value, page.index.rows), (20, 20));
    assert!(hits(&page).iter().all(|(name, _)| *name == "home"));
}

#[test]
fn archives_are_named_once_each() {
    let archives = Archives::new();
    let refused = |all: Vec<Options>| Federation::of(all).map(drop).expect_err("refused").kind();
    assert_eq!(refused(Vec::new()), ErrorKind::Usage);
    assert_eq!(refused(vec![archives.options("home"), archives.options("home")]), ErrorKind::Usage);
    let again = Options { name: "again".to_owned(), ..archives.options("home") };
    assert_eq!(refused(vec![archives.options("home"), again]), ErrorKind::Usage);
    let other = Options { user: Some("somebody".to_owned()), ..archives.options("office") };
    assert_eq!(refused(vec![archives.options("home"), other]), ErrorKind::Usage);
    let all = archives.federation();
    assert_eq!(all.names().collect::<Vec<_>>(), NAMES);
    assert_eq!(all.archive("office").expect("an archive").status().expect("figures").index.rows, 20);
    let Err(missing) = all.archive("attic") else { panic!("there is no attic") };
    assert!(missing.next_step().is_some_and(|hint| hint.contains("home, office, laptop")), "{missing}");
}

#[test]
fn a_cursor_of_another_set_of_archives_is_refused() {
    let archives = Archives::new();
    let all = archives.federation();
    let cursor = all.search(weir(3)).expect("a page").next_cursor;
    let two =
        Federation::of(vec![archives.options("home"), archives.options("office")]).expect("two archives");
    let refused = two.search(SearchRequest { cursor: cursor.clone(), ..weir(3) }).expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::CursorMismatch);
    let one = Engine::open(&archives.options("home")).expect("an engine");
    let refused = one.search(SearchRequest { cursor, ..weir(3) }).expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::CursorMismatch);
}
