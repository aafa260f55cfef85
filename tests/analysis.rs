//! What the analysis promises, end to end: any substring of a script without spaces is found exactly
//! where it stands, and names, numbers and symbols are found as people type them.

use std::collections::BTreeSet;

use afterthought::{Engine, SearchRequest};
use afterthought_tests::{Fixture, ids, sync};
use afterthought_tools::archive::{Message, Session, Shape};
use afterthought_tools::random::Random;

/// Rows of each archive of random text, and substrings that are looked for in it.
const ROWS: usize = 100;
const QUERIES: usize = 1_000;
const LIMIT: usize = ROWS;

/// Common characters, so that rows share substrings; rare ones, of the extension blocks too.
const HAN: &str = "数据库连接池记忆断裂部署昨晚北京大学的一了龘齉㐂㑇𠀀𠮷𪚥𫝀々〇";
const KANA: &str = "ーのをテストサバきゃっデプロィがぱンヴゑァ";
const HANGUL: &str = "서버가다시로그를확인연결이실패했뷁";
const THAI: &str = "กขคงจฉชดตนปมรลวสหอเแโใไะาิีึืุู่้๊็์ำ";
/// What stands between: punctuation, blanks, words of other scripts close by.
const BETWEEN: [&str; 12] = ["，", "。", " ", "\n", "rust", "42", "—", "ход", "🚀", "「", "·", "x"];

fn archive(texts: &[String]) -> (Fixture, Engine) {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        for (number, text) in (0_u32..).zip(texts) {
            writer.message("s", &Message::user(text).at(1_760_000_000.0 + f64::from(number)))?;
        }
        Ok(())
    });
    let engine = fixture.engine();
    sync(&engine);
    (fixture, engine)
}

fn found(engine: &Engine, query: &str) -> BTreeSet<i64> {
    let request = SearchRequest { limit: LIMIT, ..SearchRequest::new(query) };
    let page = engine.search(request).expect("a page");
    ids(&page).into_iter().collect()
}

/// Writes texts of one script, some with another in between.
fn texts(random: &mut Random, alphabet: &[char], other: &[char]) -> Vec<String> {
    let mut text = |_| {
        let mut text = String::new();
        for _ in 0..20 + random.index(80) {
            match random.index(10) {
                0 => text.push_str(BETWEEN[random.index(BETWEEN.len())]),
                1 => text.push(other[random.index(other.len())]),
                _ => text.push(alphabet[random.index(alphabet.len())]),
            }
        }
        text
    };
    (0..ROWS).map(&mut text).collect()
}

/// Returns a random stretch of one to eight characters of the alphabet that stands in a text.
fn substring(random: &mut Random, texts: &[String], alphabet: &[char]) -> String {
    loop {
        let chars: Vec<char> = texts[random.index(texts.len())].chars().collect();
        let start = random.index(chars.len());
        let end = chars.len().min(start + 1 + random.index(8));
        if chars[start..end].iter().all(|c| alphabet.contains(c)) {
            return chars[start..end].iter().collect();
        }
    }
}

/// Tells that rows are found exactly where their text holds the substring.
#[track_caller]
fn check_substrings(seed: u64, alphabet: &str, other: &str) {
    let (alphabet, other): (Vec<char>, Vec<char>) = (alphabet.chars().collect(), other.chars().collect());
    let mut random = Random::new(seed);
    let texts = texts(&mut random, &alphabet, &other);
    let (_fixture, engine) = archive(&texts);
    for _ in 0..QUERIES {
        let sought = substring(&mut random, &texts, &alphabet);
        let rows: BTreeSet<i64> =
            (1..).zip(&texts).filter(|(_, text)| text.contains(&sought)).map(|(id, _)| id).collect();
        assert_eq!(found(&engine, &format!("\"{sought}\"")), rows, "{sought}");
    }
}

#[test]
fn any_han_substring_is_found_exactly_where_it_stands() {
    check_substrings(1, HAN, KANA);
}

#[test]
fn any_kana_substring_is_found_exactly_where_it_stands() {
    check_substrings(2, KANA, HAN);
}

#[test]
fn any_hangul_substring_is_found_exactly_where_it_stands() {
    check_substrings(3, HANGUL, HAN);
}

#[test]
fn any_thai_substring_is_found_exactly_where_it_stands() {
    check_substrings(4, THAI, KANA);
}

#[test]
fn a_substring_across_scripts_without_spaces_is_found_where_it_stands() {
    check_substrings(5, &format!("{HAN}{KANA}"), HANGUL);
}

/// A text, queries that find it, and queries that do not.
struct Row {
    text: &'static str,
    finds: &'static [&'static str],
    misses: &'static [&'static str],
}

const fn row(text: &'static str, finds: &'static [&'static str], misses: &'static [&'static str]) -> Row {
    Row { text, finds, misses }
}

fn check_rows(rows: &[Row]) {
    let texts: Vec<String> = rows.iter().map(|row| row.text.to_owned()).collect();
    let (_fixture, engine) = archive(&texts);
    for (id, row) in (1..).zip(rows) {
        for query in row.finds {
            assert!(found(&engine, query).contains(&id), "{query} does not find {}", row.text);
        }
        for query in row.misses {
            assert!(!found(&engine, query).contains(&id), "{query} finds {}", row.text);
        }
    }
}

#[test]
fn names_and_numbers_are_found_as_people_type_them() {
    check_rows(&[
        row(
            "call getUserById here",
            &["getUserById", "getuserbyid", "\"get user\"", "user", "get_user_by_id", "get-user-by-id"],
            &["userby", "\"user get\""],
        ),
        row(
            "HTTPServer and XMLHttpRequest",
            &["httpserver", "\"http server\"", "http", "xmlhttprequest"],
            &[],
        ),
        row("set max_tokens_total", &["max_tokens_total", "maxTokensTotal", "tokens", "\"max tokens\""], &[]),
        row("fn __init__(self)", &["__init__", "init"], &[]),
        row("the chat-send helper", &["chat-send", "\"chat send\"", "chatsend", "\"chat-send helper\""], &[]),
        row("AN-94 parts", &["an94", "AN-94", "an_94", "\"AN 94\""], &["an9"]),
        row("an94 parts", &["AN-94", "an94"], &[]),
        row("encoded as UTF-8", &["utf8", "utf-8"], &[]),
        row("see my-app.config.ts", &["my-app.config.ts", "config.ts", "\"my app\"", "myapp"], &[]),
        row(
            "edit gateway/run.py now",
            &["gateway/run.py", "run.py", "gateway", "\"gateway run\""],
            &["\"run gateway\""],
        ),
        row("bump to v2.5.1", &["v2.5.1", "2.5.1", "v2", "\"2.5.1\""], &["\"2.1.5\""]),
        row("release 2.5.1 is out", &["v2.5.1", "2.5.1"], &[]),
        row("port to C# please", &["C#", "c#"], &["\"C++\""]),
        row("written in C++, not F#.", &["C++", "c++17", "F#"], &["\"C#\""]),
        row("add .env to .gitignore", &[".gitignore", "gitignore", ".env", "env"], &[]),
        row("under src/.hidden/x", &[".hidden", "hidden"], &[]),
        row("git commit --amend -rf", &["--amend", "amend", "-rf", "\"commit --amend\""], &[]),
        row("ticket #4821 reopened", &["#4821", "4821"], &["482"]),
        row("mail dev@example.com", &["dev@example.com", "example.com", "dev"], &["\"example@dev.com\""]),
        row(
            "GET https://api.test.org/v1/items?user_id=7&sort=asc#top",
            &[
                "https://api.test.org/v1/items?user_id=7&sort=asc#top",
                "user_id",
                "userid",
                "api.test.org",
                "asc",
            ],
            &[],
        ),
        row(
            r"open C:\Users\dev\new\tests\read.txt",
            &[r"C:\Users\dev\new\tests\read.txt", "users", "new", "tests", "read.txt"],
            &[],
        ),
        row(
            "fixed in 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432",
            &["9f8e7d6c5b4a39281706f5e4d3c2b1a098765432", "9F8E7D6C5B4A39281706F5E4D3C2B1A098765432"],
            &[],
        ),
        row(
            "id 550e8400-e29b-41d4-a716-446655440000 gone",
            &["550e8400-e29b-41d4-a716-446655440000", "550e8400", "446655440000"],
            &["\"446655440000-550e8400\""],
        ),
        row(
            "on 2026-06-03T10:15:00Z",
            &["2026-06-03", "\"2026 06 03\"", "2026-06-03T10:15:00Z"],
            &["\"2026-03-06\""],
        ),
        row("index arr[0] bad", &["arr[0]", "arr"], &[]),
        row("disk at 87% today", &["87%", "87", "\"87% today\""], &[]),
        row(
            "it's the parser, don't ask O'Brien's",
            &["it's", "it’s", "don't", "dont", "o'brien", "parser"],
            &[],
        ),
        row("this is **bold**, `code` and _slanted_.", &["bold", "code", "slanted", "**bold**"], &[]),
        row(r"so \theta \neq \frac{a}{b}", &["theta", r"\theta", "neq", "frac", r"\neq"], &[]),
        row(
            r#"{"output":"first line\nHow it went\n\nthen\tdone"}"#,
            &["how", "\"line how it\"", "then", "done"],
            &[],
        ),
        row("red \u{1b}[31malarm\u{1b}[0m over", &["alarm", "over"], &[]),
        row("why does paging stall?", &["why does paging stall?", "stall"], &[]),
        row("std::sync::Arc<Mutex>", &["std::sync::Arc", "sync::Arc", "arc", "mutex"], &[]),
    ]);
}

#[test]
fn scripts_and_forms_are_found_in_every_spelling() {
    check_rows(&[
        row(
            "我用Rust写了程序",
            &["\"用Rust写\"", "\"Rust写\"", "rust", "用rust写", "程序"],
            &["\"写Rust用\""],
        ),
        row("翻到第3章看", &["\"第3章\"", "第3章", "3", "章"], &["\"第4章\""]),
        row("型番ＡＢＣ１２３", &["ABC123", "型番"], &[]),
        row("重さは10㎏です", &["10kg", "重さ"], &[]),
        row("\u{2F64}PDF的\u{2F08}", &["用", "人", "pdf"], &[]),
        row("葛\u{E0100}城市", &["\"葛城\"", "葛城市"], &[]),
        row("ﾃﾞﾌﾟﾛｲした", &["デプロイ", "\"プロ\""], &[]),
        row("か\u{3099}くせい", &["がくせい", "\"がく\""], &[]),
        row("\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}로", &["한글", "\"글로\""], &[]),
        row("ㅋㅋㅋ 웃겨", &["ㅋㅋ", "웃겨"], &[]),
        row("shipped 🚀 today👍🏽", &["🚀", "👍", "👍🏽", "👍🏿", "today"], &["🎉"]),
        row("the family 👨‍👩‍👧 came", &["👨‍👩‍👧", "👩", "family"], &["\"👧👩\""]),
        row("from 🇩🇪 to 🇪🇸", &["🇩🇪", "🇪🇸"], &["🇩🇸", "🇪🇪"]),
        row("press 1️⃣ or ❤️ at ⏰", &["1", "❤", "❤️", "⏰"], &[]),
        row("كِتَابٌ جَدِيد مـــرحبا", &["كتاب", "كِتَاب", "جديد", "مرحبا"], &[]),
        row("می\u{200C}خواهم بروم", &["می‌خواهم", "میخواهم", "\"می خواهم\""], &[]),
        row("שָׁלוֹם עולם", &["שלום", "עולם"], &[]),
        row("हिन्दी में खोज", &["हिन्दी", "खोज"], &["हनद"]),
        row("ශ්\u{200D}රී ලංකා", &["ශ්රී", "ශ්\u{200D}රී", "ලංකා"], &[]),
        row(
            "Ёлка, мой замо\u{301}к, gitом и PDFка",
            &["елка", "ёлка", "замок", "git", "pdf", "gitом"],
            &["мои"],
        ),
        row("İstanbul ve Isparta, ışık", &["istanbul", "isparta", "ısparta", "ISIK", "ışık"], &[]),
        row(
            "ﬁle oﬃce Straße Łódź smørrebrød Ænima",
            &["file", "office", "strasse", "lodz", "smorrebrod", "aenima"],
            &[],
        ),
        row("Όνομα ΣΊΣΥΦΟΣ", &["ονομα", "Σίσυφος", "σισυφοσ"], &[]),
        row("data\u{AD}base and Cafe\u{301}", &["database", "café", "cafe"], &[]),
        row("Tiếng Việt", &["tieng viet", "tiếng"], &[]),
    ]);
}
