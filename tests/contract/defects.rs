//! Facts that do not hold yet. Each test fails until its defect is mended, and then moves to the
//! file of its kind.

use afterthought_tools::archive::Session;

use crate::answer;
use crate::failures::error_of;
use crate::fixtures::Scene;

#[test]
fn a_session_without_messages_looks_the_same_alone_and_in_the_list() {
    let fixture = Scene::of(&["archive"]).fixture;
    let mut writer = fixture.writer();
    writer.session(&Session { started_at: 1_780_000_000.0, ..Session::new("empty") }).expect("a session");
    writer.close().expect("a clean close");
    let listed = answer("sessions", &fixture.aft(&["--json", "sessions", "--limit", "1"]), 0);
    let alone = answer("session", &fixture.aft(&["--json", "session", "empty"]), 0);
    assert_eq!(listed["sessions"][0], alone["session"]);
}

#[test]
fn a_pointer_to_a_generation_that_is_gone_is_damage() {
    let scene = Scene::of(&["archive", "index", "pointer to nothing"]);
    let ran = scene.fixture.aft(&["--json", "status"]);
    let error = error_of(&ran.stderr);
    assert_eq!((ran.code, &error["kind"]), (5, &"index-damaged".into()), "{error}");
    assert_eq!(error["hint"], format!("run: aft{} reindex", scene.fixture.flags()));
    assert!(!error["message"].as_str().is_some_and(|message| message.contains("DoesNotExist(")), "{error}");
}
