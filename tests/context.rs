//! One conversation through every door: `Context::from_messages`, a session of an archive, and
//! `aft session`.

use std::fs;

use afterthought::model::Message;
use afterthought::{Context, ContextQuery};
use afterthought_tests::{Fixture, root, sync};
use afterthought_tools::archive::{Message as Row, Session, Shape};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    conversation: Vec<Conversation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversation {
    name: String,
    messages: Vec<(String, String)>,
    ask: Vec<Ask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    name: String,
    slice: Option<(i64, i64)>,
    #[serde(default)]
    roles: Vec<String>,
    search: Option<String>,
    #[serde(default)]
    offset: usize,
    limit: Option<i64>,
    expect: Vec<usize>,
    total: Option<u64>,
    /// The page size that the limit comes to.
    page: Option<usize>,
    terms: Option<Vec<String>>,
}

/// What a door answered.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    places: Vec<usize>,
    total: Option<u64>,
    page: Option<usize>,
    terms: Option<Vec<String>>,
    snippets: Vec<String>,
}

#[test]
fn every_case_holds_through_every_door() {
    let path = root().join("tests/context/cases.toml");
    let file: File = toml::from_str(&fs::read_to_string(path).expect("a file of cases")).expect("cases");
    let mut count = 0;
    for conversation in &file.conversation {
        let fixture = archive(conversation);
        let engine = fixture.engine();
        sync(&engine);
        let (_, stored) = engine.session("s").expect("the session");
        let in_memory = Context::from_messages(conversation.messages.iter().map(|(role, content)| Message {
            role: role.clone(),
            content: content.clone(),
            ..Message::default()
        }));
        for ask in &conversation.ask {
            let context = format!("{}: {}", conversation.name, ask.name);
            let answer = through_library(&in_memory, ask);
            judge(&context, ask, &answer);
            assert_eq!(answer, through_library(&stored, ask), "{context}: memory and archive differ");
            assert_eq!(answer, through_aft(&fixture, ask), "{context}: library and command line differ");
            count += 1;
        }
    }
    println!("{count} questions through 3 doors");
    assert!(count >= 30);
}

fn judge(context: &str, ask: &Ask, answer: &Answer) {
    assert_eq!(answer.places, ask.expect, "{context}: {answer:?}");
    if let Some(total) = ask.total {
        assert_eq!(answer.total, Some(total), "{context}");
    }
    if let Some(page) = ask.page {
        assert_eq!(answer.page, Some(page), "{context}");
    }
    if ask.terms.is_some() {
        assert_eq!(answer.terms, ask.terms, "{context}");
    }
}

fn archive(conversation: &Conversation) -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        for (second, (role, content)) in (0_u32..).zip(&conversation.messages) {
            writer.message("s", &Row::new(role, content.as_str()).at(1_760_000_000.0 + f64::from(second)))?;
        }
        Ok(())
    })
}

fn through_library(context: &Context, ask: &Ask) -> Answer {
    if let Some(query) = &ask.search {
        let query = ContextQuery {
            query: query.clone(),
            roles: ask.roles.clone(),
            offset: ask.offset,
            limit: ask.limit,
        };
        let page = context.search(&query).expect("a query never fails");
        return Answer {
            places: page.results.iter().map(|hit| hit.index).collect(),
            total: Some(page.total),
            page: Some(page.limit),
            terms: page.results.first().map(|hit| hit.matched_terms.clone()),
            snippets: page.results.iter().map(|hit| hit.snippet.clone()).collect(),
        };
    }
    let (start, end) = ask.slice.unzip();
    let entries = context.filter(&ask.roles).slice(start, end).entries();
    Answer { places: entries.iter().map(|entry| entry.index).collect(), ..Answer::default() }
}

fn through_aft(fixture: &Fixture, ask: &Ask) -> Answer {
    let mut arguments = vec!["session".to_owned(), "s".to_owned(), "--json".to_owned()];
    if !ask.roles.is_empty() {
        arguments.extend(["--role".to_owned(), ask.roles.join(",")]);
    }
    if let Some((start, end)) = ask.slice {
        arguments.extend(["--slice".to_owned(), format!("{start}:{end}")]);
    }
    if let Some(query) = &ask.search {
        arguments.extend([
            "--search".to_owned(),
            query.clone(),
            "--offset".to_owned(),
            ask.offset.to_string(),
        ]);
        arguments.extend(ask.limit.iter().flat_map(|limit| ["--limit".to_owned(), limit.to_string()]));
    }
    let ran = fixture.aft(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}: {ran:?}", ask.name);
    let page = ran.json();
    let list = |name: &str| page[name].as_array().cloned().unwrap_or_default();
    let places =
        |values: &[Value]| values.iter().filter_map(|value| value["index"].as_u64()).map(number).collect();
    if ask.search.is_none() {
        return Answer { places: places(&list("messages")), ..Answer::default() };
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let results = list("results");
    Answer {
        places: places(&results),
        total: page["total"].as_u64(),
        page: page["limit"].as_u64().map(number),
        terms: results
            .first()
            .map(|hit| hit["matched_terms"].as_array().into_iter().flatten().map(text).collect()),
        snippets: results.iter().map(|hit| text(&hit["snippet"])).collect(),
    }
}

fn number(value: u64) -> usize {
    usize::try_from(value).expect("a small number")
}

#[test]
fn entries_are_copies() {
    let context = Context::from_messages([Message { content: "cedar".to_owned(), ..Message::default() }]);
    context.entries()[0].message.content.clear();
    assert_eq!(context.entries()[0].message.content, "cedar");
}
