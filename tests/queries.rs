//! Random groups of words, phrases and prefixes find what a naive reading of their tree finds.

use afterthought::query::{Clause, Node, Occur, parse};
use afterthought::{Origin, SearchRequest};
use afterthought_tests::{Fixture, ids, sync};
use afterthought_tools::archive::{Message, Session, Shape};
use afterthought_tools::random::Random;

const LETTERS: [&str; 6] = ["ash", "asp", "birch", "cedar", "elm", "fir"];

/// A random group, as it is typed.
fn random_group(random: &mut Random, depth: u64) -> String {
    let mut group = String::new();
    for part in 0..=random.below(4) {
        if part > 0 {
            group += random.pick(&[" ", " ", " AND ", " OR "]);
        }
        group += random.pick(&["", "", "", "+", "NOT "]);
        let [a, b] = [(); 2].map(|()| random.pick(&LETTERS));
        group += &match random.below(if depth == 0 { 8 } else { 12 }) {
            0 => format!("\"{a} {b}\""),
            1 => format!("\"{a} {b}\"~1"),
            2 => format!("{}*", random.pick(&["as", "be", "fi"])),
            3 => format!("said:{a}"),
            4..8 => a.to_owned(),
            _ => format!("({})", random_group(random, depth - 1)),
        };
    }
    group
}

fn matches(clauses: &[Clause], words: &[&str]) -> bool {
    let of = |occur| {
        clauses
            .iter()
            .filter(move |clause| clause.occur == occur)
            .map(|clause| matches_one(&clause.node, words))
    };
    let some = of(Occur::Must).count() > 0 || of(Occur::Should).any(|holds| holds);
    some && of(Occur::Must).all(|holds| holds) && !of(Occur::MustNot).any(|holds| holds)
}

fn matches_one(node: &Node, words: &[&str]) -> bool {
    match node {
        Node::Group(inside) => matches(inside, words),
        Node::Text(text) => words.contains(&text.as_str()),
        Node::Prefix(stem) => words.iter().any(|word| word.starts_with(stem)),
        Node::Phrase { text, slop } => {
            let (a, b) = text.split_once(' ').expect("two words");
            let gap = 1 + *slop as usize;
            let near = |at: usize| words[at + 1..].iter().take(gap).any(|word| *word == b);
            (0..words.len()).any(|at| words[at] == a && near(at))
        }
        Node::Fuzzy { .. } => unreachable!("none was asked for"),
    }
}

#[test]
fn a_group_finds_what_a_scan_finds() {
    let mut random = Random::new(11);
    let length = |random: &mut Random| 1 + random.below(5);
    let texts: Vec<Vec<&str>> =
        (0..300).map(|_| (0..length(&mut random)).map(|_| random.pick(&LETTERS)).collect()).collect();
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        // A time for each, or equal ones would be copies of each other.
        let rows = texts.iter().zip(0_i32..);
        rows.into_iter().try_for_each(|(words, at)| {
            writer
                .message("s", &Message::user(&words.join(" ")).at(1_760_000_000.0 + f64::from(at)))
                .map(drop)
        })
    });
    let engine = fixture.engine();
    sync(&engine);
    let mut found = 0;
    for _ in 0..1_500 {
        let typed = random_group(&mut random, 2);
        let mut request = SearchRequest::new(typed.as_str());
        request.limit = 1_000;
        request.origins = vec![Origin::Said];
        let page = engine.search(request).expect("a page");
        let mut answer = ids(&page);
        answer.sort_unstable();
        let clauses = parse(&typed).clauses;
        let holds = texts.iter().zip(1_i64..).filter(|(words, _)| matches(&clauses, words));
        assert_eq!(answer, holds.map(|(_, id)| id).collect::<Vec<_>>(), "{typed}");
        found += answer.len();
    }
    assert!(found > 20_000, "{found}");
}
