//! Answers are fresh, and leave no trace.

use std::fs::File;

use afterthought::index::Folder;
use afterthought_tests::Trace;
use afterthought_tests::wire::{get, get_with};
use afterthought_tools::archive::Message;
use serde_json::json;

use super::{ID, archive, fits, guarded, rested, settings, start, until};

#[test]
fn an_answer_that_the_client_has_is_not_sent_again() {
    let fixture = archive();
    let server = rested(&fixture);
    let ask =
        |path: &str, tag: &str| get_with(server.address(), path, &format!("If-None-Match: \"x\", {tag}\r\n"));
    for path in [
        "/api/v1/search?q=lock",
        "/api/v1/sessions",
        "/api/v1/sessions/s-lock",
        "/api/v1/messages/3",
        "/api/v1/status",
    ] {
        let first = get(server.address(), path);
        let tag = first.header("etag").unwrap_or_else(|| panic!("{path} {}", first.head)).to_owned();
        let again = ask(path, &tag);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(&*tag));
        guarded(&again);
        // Another question has another answer.
        assert_eq!(ask("/api/v1/search?q=other", &tag).status, 200);
    }
    let tag = get(server.address(), "/api/v1/search?q=heron").header("etag").expect("a tag").to_owned();
    let mut writer = fixture.writer();
    writer.message(ID, &Message::user("a heron at the weir")).expect("a row");
    writer.close().expect("a clean close");
    let fresh = ask("/api/v1/search?q=heron&wait=10", &tag);
    assert_eq!((fresh.status, &fresh.json()["total"]["value"]), (200, &json!(1)));
    // The clock moves this bound, whatever is written.
    assert_eq!(get(server.address(), "/api/v1/search?q=lock&since=7d").header("etag"), None);
}

#[test]
fn the_mirror_follows_without_being_asked() {
    let fixture = archive();
    let server = rested(&fixture);
    let mut writer = fixture.writer();
    writer.message(ID, &Message::user("a heron at the weir")).expect("a row");
    writer.close().expect("a clean close");
    until(|| get(server.address(), "/api/v1/search?q=heron&no-sync=true").json()["total"]["value"] == 1);
    until(|| get(server.address(), "/metrics").text().contains("afterthought_index_rows 17"));
}

#[test]
fn serving_leaves_no_trace() {
    let fixture = archive();
    let folder = fixture.archive().parent().expect("a folder").to_owned();
    let before = Trace::of(&folder);
    let server = rested(&fixture);
    for path in
        ["/api/v1/facets?q=lock", "/api/v1/messages/3?before=1", "/api/v1/sessions/s-lock", "/metrics"]
    {
        assert_eq!(get(server.address(), path).status, 200, "{path}");
    }
    drop(server);
    assert_eq!(Trace::of(&folder), before);
}

#[test]
fn a_first_build_that_has_not_ended_is_said() {
    let fixture = archive();
    // An index that holds nothing yet, whose only writer is another process.
    drop(fixture.engine());
    let folder = Folder::of(&fixture.index(), &fixture.archive().canonicalize().expect("a path"));
    let generation = folder.live().expect("a folder").expect("a generation");
    let lock = File::options()
        .create(true)
        .append(true)
        .open(generation.join(".tantivy-writer.lock"))
        .expect("a file");
    lock.lock().expect("the lock");
    let server = start(&fixture, settings());
    let page = get(server.address(), "/api/v1/search?q=lock&wait=0").json();
    fits("search.schema.json", &page);
    assert_eq!(
        (&page["index"]["state"], &page["warnings"][0]["kind"]),
        (&json!("building"), &json!("building"))
    );
    assert_eq!(get(server.address(), "/api/v1/status").json()["index"]["percent"], 0);
    drop(lock);
    until(|| get(server.address(), "/api/v1/search?q=lock").json()["index"]["state"] == "ready");
}
