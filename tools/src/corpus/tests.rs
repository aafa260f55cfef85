//! A corpus is the same for the same plan, has the published shares and the measured lengths, and
//! its plants stand where it says.

use std::sync::LazyLock;

use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use super::*;

struct Made {
    folder: TempDir,
    report: Report,
}

impl Made {
    fn new(plan: &Plan) -> Made {
        let folder = tempdir().expect("folder");
        let report = write(&folder.path().join("state.db"), plan, |_| {}).expect("write");
        Made { folder, report }
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("state.db")).expect("read")
    }

    fn connection(&self) -> Connection {
        Connection::open(self.folder.path().join("state.db")).expect("open")
    }

    fn scalar(&self, sql: &str) -> i64 {
        self.connection().query_row(sql, [], |row| row.get(0)).expect(sql)
    }
}

/// One corpus of each mix that the tests of shares and lengths look at together.
static A: LazyLock<Made> = LazyLock::new(|| Made::new(&Plan::new(9_000, 7)));
static B: LazyLock<Made> = LazyLock::new(|| Made::new(&Plan { mix: Mix::B, ..Plan::new(9_000, 7) }));

fn per_mille(part: u64, whole: u64) -> u64 {
    part * 1_000 / whole
}

#[test]
fn shorter_texts_leave_rows_and_shares() {
    let short = Made::new(&Plan { lengths_per_mille: 200, ..Plan::new(9_000, 7) });
    assert_eq!(short.report.summary.messages, A.report.summary.messages);
    let share = per_mille(short.report.bytes_content, A.report.bytes_content);
    assert!((180..=230).contains(&share), "{share}");
    let reasoning = per_mille(short.report.summary.with_reasoning, A.report.summary.with_reasoning);
    assert!((990..=1_010).contains(&reasoning), "{reasoning}");
}

#[test]
fn same_plan_same_bytes() {
    for (mix, schema) in
        [(Mix::A, Shape::V6), (Mix::A, Shape::V22), (Mix::B, Shape::V11), (Mix::B, Shape::V30)]
    {
        let plan = Plan { mix, schema, ..Plan::new(400, 7) };
        let (first, second) = (Made::new(&plan), Made::new(&plan));
        assert_eq!(first.report, second.report);
        assert!(first.bytes() == second.bytes(), "{plan:?}");
        let other = Made::new(&Plan { seed: 8, ..plan.clone() });
        assert!(first.bytes() != other.bytes(), "{plan:?}");
        assert_eq!(first.scalar("SELECT count(*) FROM messages"), 400);
        assert_eq!(first.scalar("SELECT max(version) FROM schema_version"), schema.version());
        assert!(!first.folder.path().join("state.db-wal").exists());
    }
}

#[test]
fn schema_changes_no_text() {
    let texts = |schema| {
        let made = Made::new(&Plan { schema, ..Plan::new(300, 7) });
        let connection = made.connection();
        let mut query = connection
            .prepare(
                "SELECT concat_ws('|', id, session_id, role, content, reasoning, tool_calls) FROM messages",
            )
            .expect("prepare");
        let texts = query.query_map([], |row| row.get(0)).expect("query");
        texts.collect::<rusqlite::Result<Vec<String>>>().expect("rows")
    };
    assert_eq!(texts(Shape::V6), texts(Shape::V30));
}

#[test]
fn a_has_the_published_shares() {
    let summary = &A.report.summary;
    assert_eq!(summary.messages, 9_000);
    assert!((210..=212).contains(&per_mille(summary.with_reasoning, 9_000)), "{summary:?}");
    assert!((76..=78).contains(&per_mille(summary.reasoning_only, 9_000)), "{summary:?}");
    let content = summary.chars_content / 9_000;
    assert!((980..1_145).contains(&content), "{content}");
    let reasoning = summary.chars_reasoning / summary.with_reasoning;
    assert!((1_480..1_640).contains(&reasoning), "{reasoning}");
}

#[test]
fn b_has_the_published_shares() {
    let report = &B.report;
    assert!((570..=586).contains(&per_mille(report.tool_rows, 9_000)), "{}", report.json());
    let cron = per_mille(report.bytes_content_cron, report.bytes_content);
    assert!((930..=954).contains(&cron), "{cron}");
    let sessions = per_mille(report.cron_sessions, report.summary.sessions);
    assert!((860..=910).contains(&sessions), "{sessions}");
    assert!((24..=28).contains(&(9_000 / report.summary.sessions)), "{}", report.json());
}

/// Counts of the report against SQL over the rows.
#[test]
fn report_counts_what_stands_in_the_file() {
    for made in [&*A, &*B] {
        let report = &made.report;
        for (sql, count) in [
            ("count(*) FROM sessions", report.summary.sessions),
            ("count(*) FROM sessions WHERE source = 'cron'", report.cron_sessions),
            ("count(*) FROM messages WHERE role = 'tool'", report.tool_rows),
            ("count(*) FROM messages WHERE reasoning IS NOT NULL", report.summary.with_reasoning),
            (
                "count(*) FROM messages WHERE reasoning IS NOT NULL AND content = ''",
                report.summary.reasoning_only,
            ),
            ("sum(length(content)) FROM messages", report.summary.chars_content),
            ("sum(length(tool_calls)) FROM messages", report.chars_tool_calls),
            ("sum(octet_length(content)) FROM messages", report.bytes_content),
            ("max(length(content)) FROM messages", report.lengths[0].max()),
            ("sum(message_count) FROM sessions", report.summary.messages),
        ] {
            assert_eq!(made.scalar(&format!("SELECT {sql}")).unsigned_abs(), count, "{sql}");
        }
    }
}

#[test]
fn lengths_are_those_of_real_agents() {
    // Median, 90 % and 99 % of entireio/cli by role, see `lengths.rs`.
    let measured = [
        ("user", [94, 1_070, 14_110]),
        ("note", [90, 271, 1_079]),
        ("answer", [801, 1_897, 4_183]),
        ("reasoning", [147, 1_084, 3_976]),
        ("tool_arguments", [128, 1_118, 6_510]),
        ("tool_output", [565, 6_496, 42_107]),
    ];
    for ((name, expected), at) in measured.into_iter().zip(1..) {
        let seen = [500, 900, 990].map(|per_mille| B.report.lengths[at].quantile(per_mille));
        for (seen, expected) in seen.into_iter().zip(expected) {
            assert!(seen.abs_diff(expected) * 100 <= expected * 15, "{name}: {seen}, not {expected}");
        }
    }
}

#[test]
fn every_script_and_kind_occurs() {
    for made in [&*A, &*B] {
        for word in [HAN_WORD, RUSSIAN_WORD, KANA_WORD, HANGUL_WORD, "fn ", "src/", "{\"ok\": true", "ERROR"]
        {
            let rows = made.scalar(&format!("SELECT count(*) FROM messages WHERE instr(content, '{word}')"));
            assert!(rows > 5, "{word}: {rows} rows");
        }
        let escaped = made.scalar(r"SELECT count(*) FROM messages WHERE instr(tool_calls, '\\u')");
        assert!(escaped > 5, "{escaped} calls with other scripts");
        let broken = "SELECT count(*) FROM messages WHERE content LIKE '{\"%' AND NOT json_valid(content)";
        assert_eq!(made.scalar(broken), 0);
        assert_eq!(made.scalar("SELECT count(*) FROM messages WHERE NOT json_valid(tool_calls)"), 0);
    }
}

#[test]
fn commonest_word_stands_in_half_of_the_rows() {
    let words = vocabulary();
    let rows = |made: &Made, word: &str| {
        let text = "' ' || replace(replace(content || ' ' || ifnull(reasoning, '') || ' ' || ifnull(tool_calls, ''), \
                    char(10), ' '), '\"', ' ') || ' '";
        let sql = format!("SELECT count(*) FROM messages WHERE instr({text}, ' {word} ')");
        made.scalar(&sql).unsigned_abs()
    };
    for made in [&*A, &*B] {
        let [common, middle, rare] = [0, 100, 20_000].map(|rank| rows(made, &words[rank]));
        assert!(common > 4_500, "{} stands in {common} rows", words[0]);
        assert!((100..2_500).contains(&middle), "{} stands in {middle} rows", words[100]);
        assert!(rare < 100, "{} stands in {rare} rows", words[20_000]);
    }
}

#[test]
fn plants_stand_in_one_field_of_one_row() {
    for (mix, schema) in [(Mix::A, Shape::V6), (Mix::B, Shape::V22)] {
        let made = Made::new(&Plan { mix, schema, ..Plan::new(1_500, 7) });
        let connection = made.connection();
        for field in Field::ALL {
            assert!(
                made.report.planted.iter().filter(|planted| planted.field == field).count() > 3,
                "{field:?}"
            );
        }
        for planted in &made.report.planted {
            let mut query = connection
                .prepare_cached(
                    "SELECT m.id, m.role, m.session_id, s.source, concat(
                       iif(instr(m.content, ?1), 'content', ''), iif(instr(m.reasoning, ?1), 'reasoning', ''),
                       iif(instr(m.tool_calls, ?1), 'tool_calls', ''))
                     FROM messages m JOIN sessions s ON s.id = m.session_id
                     WHERE instr(concat(m.content, m.reasoning, m.tool_calls), ?1)",
                )
                .expect("prepare");
            let found = query
                .query_map([&planted.token], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
                })
                .expect("query")
                .collect::<rusqlite::Result<Vec<(i64, String, String, String, String)>>>()
                .expect("rows");
            let planted = planted.clone();
            let column = planted.field.column().to_owned();
            let expected = (planted.message_id, planted.role, planted.session_id, planted.source, column);
            assert_eq!(found, [expected]);
        }
    }
}

#[test]
fn repeats_share_most_words_and_differ() {
    let connection = B.connection();
    let content = |id: i64| -> String {
        let sql = "SELECT content FROM messages WHERE id = ?1";
        connection.query_row(sql, [id], |row| row.get(0)).expect("content")
    };
    let repeats = &B.report.repeats;
    assert!(repeats.len() > 100 && B.report.repeated > 1_000, "{} of {}", repeats.len(), B.report.repeated);
    let (mut alike, mut same) = (0, 0);
    for repeat in repeats {
        let (later, earlier) = (content(repeat.message_id), content(repeat.of));
        let words: std::collections::HashSet<&str> = earlier.split_whitespace().collect();
        let kept = later.split_whitespace().filter(|word| words.contains(word)).count();
        alike += usize::from(kept * 2 > later.split_whitespace().count());
        same += usize::from(later == earlier);
    }
    assert!(alike * 10 > repeats.len() * 7, "{alike} of {} share most words", repeats.len());
    assert!(same * 20 < repeats.len(), "{same} of {} are the same", repeats.len());
}

#[test]
fn a_megabyte_stands_in_every_large_corpus() {
    // The first is due at row 10,000, before the end of the session there.
    for mix in [Mix::A, Mix::B] {
        let made = Made::new(&Plan { mix, ..Plan::new(11_000, 7) });
        let longest = made.report.lengths[0].max();
        assert!((1_000_000..1_001_000).contains(&longest), "{longest}");
    }
}

#[test]
fn truth_and_figures_are_json_by_name() {
    let (figures, truth) = (A.report.json(), A.report.truth());
    assert_eq!(figures["rows"], 9_000);
    assert_eq!(figures["lengths"]["content"]["texts"], 9_000);
    let planted = truth["planted"].as_array().expect("a list");
    assert_eq!(planted.len(), A.report.planted.len());
    assert_eq!(truth["words"]["common"], "the");
    let needle = planted.iter().find(|planted| planted["field"] == "reasoning").expect("a needle");
    assert_eq!(needle["origin"], "thought");
    assert!(needle["token"].as_str().expect("a token").starts_with("needle"));
}
