//! Lowers a query to posting lists: which terms in which fields, what they are worth, what must
//! and must not be there. Pure: opens no segment, reads no clock.

use tantivy::Term as TantivyTerm;

use crate::limits::{
    QUERY_EXCLUDED_MAX, QUERY_LISTS_MAX, QUERY_NAME_CHARS_MAX, QUERY_RUN_CHARS_MAX, QUERY_TERMS_MAX,
    QUERY_UNREADABLE_NAMED_MAX, SESSION_PART_CHARS_MIN,
};
use crate::model::{Field, Warning};
use crate::query::{Clause, Node, Occur, Query, Scope, simplify};
use crate::text::{Analyzer, Inflection, Kind, fold, is_function_word, segment_words};

use super::forms::{Forms, Pattern};
use super::request::{Match, SearchRequest};
use super::wanted::Wanted;
use super::weights::Weights;

/// What a dictionary word inside a longer one counts of it.
const PART_WEIGHT: f32 = 0.5;

/// What the two characters where words meet count beside two words that do: such words are short, and
/// where they begin is often a matter of opinion.
const CHARS_PAIR_WEIGHT: f32 = 3.0;

/// The lists that answer a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// What a hit can be said to hold, as typed; a list names the ones it stands for by bit.
    pub(super) terms: Vec<Term>,
    /// Lists that make a document a match, each in every searched field of its own.
    pub(super) lists: Vec<List>,
    /// Neighbouring words of one group: side by side in one field they add to the score.
    pub(super) pairs: Vec<List>,
    /// Lists that are only asked for what a document must not hold, and add nothing to its score.
    /// Their bits are counted from the highest down.
    pub(super) excluded: Vec<List>,
    /// Which documents match, by the bits of all lists.
    pub(super) wanted: Wanted,
    /// Sets of terms, of each of which every match holds one.
    pub(super) necessary: Vec<u64>,
    /// One word is not enough: the query says what must be there.
    pub(super) demands: bool,
    /// The searched fields, with their boosts.
    pub(super) fields: Vec<(Field, f32)>,
    /// A run without spaces was read as one phrase and could be read as words instead.
    pub(super) can_relax: bool,
    pub(super) warnings: Vec<Warning>,
}

/// One thing that a hit may hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    /// As typed.
    pub(super) label: String,
    sought: Sought,
    fields: Fields,
}

/// A list and the terms it stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List {
    pub(super) sought: Sought,
    pub(super) terms: u64,
    /// Factor on its score: words that join others tell less than their rarity says.
    pub(super) weight: f32,
    /// Where it is searched, if the request searches there.
    pub(super) fields: Fields,
}

/// Tokens at distances from the first.
pub(super) type Words = Vec<(u32, String)>;

/// What a list holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sought {
    /// Documents with a token.
    Token(String),
    /// Documents with tokens at these distances from the first, or so far out of place in all.
    Phrase(Words, u32),
    /// What is typed so stands for several tokens, which the snapshot's dictionaries tell.
    Pattern(String, Pattern),
    /// Documents with one of several tokens.
    Forms(Forms),
    /// Sessions whose ids hold what is typed so.
    Sessions(String, Vec<TantivyTerm>),
}

/// What a session whose id was typed counts: it comes first, its messages next.
const SESSION_WEIGHT: f32 = 1_000.0;

/// A set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields(u8);

impl Fields {
    const ALL: Self = Self(u8::MAX);
    const TITLE: Self = Self(1 << Field::Title as u8);

    pub(super) fn holds(self, field: Field) -> bool {
        self.0 >> field as u8 & 1 == 1
    }

    fn within(self, scope: Option<Scope>) -> Self {
        let Some(scope) = scope else { return self };
        let inside = Field::ALL.into_iter().filter(|field| scope.holds(*field));
        Self(self.0 & inside.fold(0, |all, field| all | 1 << field as u8))
    }
}

/// How runs of scripts without spaces are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Short ones as a phrase, found exactly where they stand in the text.
    Strict,
    /// Those that no operator joins as dictionary words.
    Relaxed,
}

impl Plan {
    pub(super) fn of(query: &Query, request: &SearchRequest, reading: Reading) -> Self {
        let clauses = simplify(query.clauses.clone());
        let plan = Self { fields: request.fields(), warnings: query.warnings.clone(), ..Self::default() };
        let mut planner = Planner {
            plan,
            weights: &request.weights,
            analyzer: Analyzer::default(),
            matching: request.matching,
            reading,
            excluded: Vec::new(),
            reserved: excluded_leaves(&clauses, false).min(QUERY_EXCLUDED_MAX),
            unreadable: 0,
            is_one_run: false,
        };
        let place = Place { fields: Fields::ALL, is_excluded: false, is_outermost: true };
        planner.is_one_run = planner.is_one_run(&clauses);
        let wanted = planner.group(&clauses, place).unwrap_or_default();
        planner.session_id(&clauses);
        Self { necessary: wanted.necessary(), wanted, ..planner.plan }
    }
}

/// Counts the leaves under a `NOT`.
fn excluded_leaves(clauses: &[Clause], is_excluded: bool) -> usize {
    let count = |clause: &Clause| {
        let is_excluded = is_excluded || clause.occur == Occur::MustNot;
        match &clause.node {
            Node::Group(inside) => excluded_leaves(inside, is_excluded),
            _ => usize::from(is_excluded),
        }
    };
    clauses.iter().map(count).sum()
}

/// Where in the tree a clause stands.
#[derive(Clone, Copy)]
struct Place {
    fields: Fields,
    /// Under a `NOT`: it is only asked for, and adds nothing to a score.
    is_excluded: bool,
    /// In no group but the query itself, where no operator says how clauses go together.
    is_outermost: bool,
}

/// A plan in the making.
struct Planner<'a> {
    plan: Plan,
    weights: &'a Weights,
    analyzer: Analyzer,
    matching: Match,
    reading: Reading,
    /// Terms of the excluded lists, by bit from the highest down.
    excluded: Vec<Term>,
    /// Bits that are kept for them.
    reserved: usize,
    /// Clauses that hold nothing to search for.
    unreadable: usize,
    /// The query is one run of a script without spaces: what is meant is that text.
    is_one_run: bool,
}

/// A clause without groups, as it is lowered.
struct Leaf<'a> {
    /// As typed.
    label: &'a str,
    place: Place,
    /// It must be there: its words stand together, and all of them count.
    required: bool,
    /// No operator stands at it.
    is_loose: bool,
}

impl Planner<'_> {
    fn is_one_run(&mut self, clauses: &[Clause]) -> bool {
        let [Clause { node: Node::Text(text), .. }] = clauses else { return false };
        runs(&tokens(&mut self.analyzer, text)).len() == 1
    }

    /// Takes a query of one word for a session's id or a part of one too, where it may be one.
    fn session_id(&mut self, clauses: &[Clause]) {
        let [Clause { node: Node::Text(text), scope: None, .. }] = clauses else { return };
        let is_long = text.chars().nth(SESSION_PART_CHARS_MIN - 1).is_some();
        let all = self.plan.terms.iter().enumerate().fold(0, |all, (bit, _)| all | 1 << bit);
        if is_long && text.bytes().any(|byte| byte.is_ascii_digit()) && all != 0 {
            let sought = Sought::Pattern(text.clone(), Pattern::Session(text.clone()));
            self.plan.lists.push(List { sought, terms: all, weight: SESSION_WEIGHT, fields: Fields::TITLE });
        }
    }

    /// Lowers a group; `None` if nothing of it can be found.
    fn group(&mut self, clauses: &[Clause], place: Place) -> Option<Wanted> {
        let (mut must, mut should, mut not) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = None;
        for clause in clauses {
            let is_not = clause.occur == Occur::MustNot;
            let required =
                clause.occur == Occur::Must || (place.is_outermost && self.matching == Match::All && !is_not);
            let inside = Place {
                fields: place.fields.within(clause.scope),
                is_excluded: place.is_excluded || is_not,
                ..place
            };
            let is_loose = place.is_outermost && clause.occur == Occur::Should;
            let Some(wanted) = self.node(&clause.node, inside, required, is_loose, &mut before) else {
                continue;
            };
            match clause.occur {
                Occur::MustNot => not.push(Wanted::Not(Box::new(wanted))),
                _ if required => must.push(wanted),
                _ => should.push(wanted),
            }
        }
        self.plan.demands |= !must.is_empty() && !place.is_excluded;
        let found = if must.is_empty() { Wanted::any(should) } else { Wanted::all(must) }?;
        Wanted::all(std::iter::once(found).chain(not).collect())
    }

    fn node(
        &mut self,
        node: &Node,
        place: Place,
        required: bool,
        is_loose: bool,
        before: &mut Before,
    ) -> Option<Wanted> {
        let (text, slop) = match node {
            Node::Group(inside) => {
                *before = None;
                return self.group(inside, Place { is_outermost: false, ..place });
            }
            Node::Phrase { text, slop } => (text, Some(*slop)),
            Node::Text(text) | Node::Prefix(text) | Node::Fuzzy { text, .. } => (text, None),
        };
        let tokens = tokens(&mut self.analyzer, text);
        if tokens.is_empty() {
            self.unreadable(text);
            return None;
        }
        let label = node.to_string();
        let pattern = pattern(node, &tokens);
        let label = if pattern.is_some() || slop.is_some_and(|slop| slop > 0) { &label } else { text };
        let leaf = Leaf { label, place, required, is_loose };
        if let Some(pattern) = pattern {
            *before = None;
            let label = leaf.label.to_owned();
            return self.strict(&leaf, vec![Sought::Pattern(label, pattern)]);
        }
        if let Some(message) = no_pattern(node, &tokens) {
            self.warn("operator-as-text", message);
        }
        if place.is_excluded || slop.is_some() {
            *before = None;
            return self.strict(&leaf, unit(&tokens, slop.unwrap_or(0)));
        }
        self.text(&leaf, &tokens, before)
    }

    /// Lowers what stood between blanks.
    fn text(&mut self, leaf: &Leaf<'_>, tokens: &[Owned], before: &mut Before) -> Option<Wanted> {
        let mut wanted = Vec::new();
        for run in runs(tokens) {
            let label = &leaf.label[run[0].from..run.last().expect("no run is empty").to];
            let leaf = Leaf { label, ..*leaf };
            if run.iter().any(|token| token.kind == Kind::Solo) {
                wanted.extend(self.solo_run(&leaf, run));
                *before = None;
            } else if leaf.required {
                wanted.extend(self.strict(&leaf, unit(run, 0)));
                *before = None;
            } else {
                wanted.extend(self.words(&leaf, run, before));
            }
        }
        if leaf.required { Wanted::all(wanted) } else { Wanted::any(wanted) }
    }

    /// Lowers what must be there as one of these: a document with any holds the term.
    fn strict(&mut self, leaf: &Leaf<'_>, sought: Vec<Sought>) -> Option<Wanted> {
        let first = sought.first()?.clone();
        let bit = self.term(leaf.label, first, leaf.place)?;
        let weight = self.weight(&fold(leaf.label));
        for sought in sought {
            self.list(sought, bit, weight, leaf.place);
        }
        Some(Wanted::Leaf(bit))
    }

    /// Words that count each by itself; the identifiers they form count once more.
    fn words(&mut self, leaf: &Leaf<'_>, run: &[Owned], before: &mut Before) -> Option<Wanted> {
        let mut bits: Vec<(usize, u64)> = Vec::new();
        let start = run[0].from;
        for token in run.iter().filter(|token| token.kind == Kind::Word) {
            let label = &leaf.label[token.from - start..token.to - start];
            let sought = match Inflection::of(&token.text) {
                Some(_) if self.weights.forms > 0.0 => {
                    Sought::Pattern(token.text.clone(), Pattern::Word(token.text.clone(), self.weights.forms))
                }
                _ => Sought::Token(token.text.clone()),
            };
            let Some(bit) = self.term(label, sought.clone(), leaf.place) else { continue };
            let weight = self.weight(&token.text);
            self.list(sought, bit, weight, leaf.place);
            let fields = leaf.place.fields;
            let neighbour =
                before.take().filter(|(word, _, inside)| *word != token.text && *inside == fields);
            if let Some((word, before_bit, _)) = neighbour {
                let weight = f32::midpoint(self.weight(&word), self.weight(&token.text));
                let sought = Sought::Phrase(vec![(0, word), (1, token.text.clone())], 0);
                self.pair(sought, before_bit | bit, weight, fields);
            }
            *before = Some((token.text.clone(), bit, fields));
            bits.push((token.position, bit));
        }
        for whole in run.iter().filter(|token| token.kind == Kind::Whole) {
            let covered = |(position, _): &&(usize, u64)| {
                (whole.position..whole.position + whole.span).contains(position)
            };
            let mask = bits.iter().filter(covered).fold(0, |mask, (_, bit)| mask | bit);
            if mask != 0 {
                self.list(Sought::Token(whole.text.clone()), mask, 1.0, leaf.place);
            }
        }
        let all = bits.iter().fold(0, |all, (_, bit)| all | bit);
        (all != 0).then_some(Wanted::Leaf(all))
    }

    /// A run of a script without spaces: a phrase if it is short, dictionary words if not. What an
    /// operator joins is one thing: all of its words, and never other readings.
    fn solo_run(&mut self, leaf: &Leaf<'_>, run: &[Owned]) -> Option<Wanted> {
        let words = words_of_run(leaf.label, run);
        let length = run.iter().filter(|token| token.kind == Kind::Solo).count();
        let is_strict = self.reading == Reading::Strict || !leaf.is_loose;
        let chars_max = if self.is_one_run { QUERY_RUN_CHARS_MAX } else { QUERY_NAME_CHARS_MAX };
        if (is_strict && (length <= chars_max || !leaf.is_loose)) || words.len() < 2 {
            self.plan.can_relax |= leaf.is_loose && words.len() > 1;
            return self.strict(leaf, unit(run, 0));
        }
        let mut wanted = Vec::new();
        let mut before: Option<(String, u64)> = None;
        for (word, tokens) in words {
            let found = self.strict(&Leaf { label: word, ..*leaf }, unit(&tokens, 0));
            let Some(Wanted::Leaf(bit)) = found else { continue };
            let chars: Vec<&Owned> = tokens.iter().filter(|token| token.kind == Kind::Solo).collect();
            // A required word is there as it stands.
            let inner =
                tokens.iter().filter(|token| !leaf.required && (2..chars.len()).contains(&token.span));
            for inner in inner {
                self.list(Sought::Token(inner.text.clone()), bit, PART_WEIGHT, leaf.place);
            }
            let (Some(first), Some(last)) = (chars.first(), chars.last()) else { continue };
            if let Some((before, before_bit)) = before.replace((last.text.clone(), bit)) {
                let sought = Sought::Phrase(vec![(0, before), (1, first.text.clone())], 0);
                self.pair(sought, before_bit | bit, CHARS_PAIR_WEIGHT, leaf.place.fields);
            }
            wanted.push(Wanted::Leaf(bit));
        }
        if leaf.is_loose && !leaf.required { Wanted::any(wanted) } else { Wanted::all(wanted) }
    }

    /// What a word counts beside others that are as rare.
    fn weight(&self, word: &str) -> f32 {
        if is_function_word(word) { self.weights.function } else { 1.0 }
    }

    /// Returns the bit of a term, a new one for a new term; `None` when there are too many.
    fn term(&mut self, label: &str, sought: Sought, place: Place) -> Option<u64> {
        let Place { fields, is_excluded, .. } = place;
        let (terms, most) = if is_excluded {
            (&mut self.excluded, self.reserved)
        } else {
            (&mut self.plan.terms, QUERY_TERMS_MAX - self.reserved)
        };
        let bit = |at: usize| if is_excluded { 1 << (63 - at) } else { 1 << at };
        if let Some(at) = terms.iter().position(|term| term.sought == sought && term.fields == fields) {
            return Some(bit(at));
        }
        if terms.len() == most {
            self.cut();
            return None;
        }
        terms.push(Term { label: label.to_owned(), sought, fields });
        Some(bit(terms.len() - 1))
    }

    fn cut(&mut self) {
        self.warn("query-cut", format!("only the first {QUERY_TERMS_MAX} terms were searched"));
    }

    fn cut_lists(&mut self) {
        self.warn(
            "query-cut",
            format!("only the first {QUERY_LISTS_MAX} names and neighbouring words were searched"),
        );
    }

    fn unreadable(&mut self, text: &str) {
        let message = format!("\"{text}\" holds no letter or digit and was not searched");
        if self.unreadable < QUERY_UNREADABLE_NAMED_MAX {
            self.unreadable += usize::from(self.warn("nothing-to-search", message));
        } else {
            self.warn(
                "nothing-to-search",
                "more parts hold no letter or digit and were not searched".to_owned(),
            );
        }
    }

    /// Warns once of each thing; returns whether it did.
    fn warn(&mut self, kind: &'static str, message: String) -> bool {
        let warning = Warning::new(kind, message);
        let is_new = !self.plan.warnings.contains(&warning);
        if is_new {
            self.plan.warnings.push(warning);
        }
        is_new
    }

    fn list(&mut self, sought: Sought, terms: u64, weight: f32, place: Place) {
        let fields = place.fields;
        let lists = if place.is_excluded { &mut self.plan.excluded } else { &mut self.plan.lists };
        if let Some(list) = lists.iter_mut().find(|list| list.sought == sought && list.fields == fields) {
            (list.terms, list.weight) = (list.terms | terms, list.weight.max(weight));
        } else if lists.len() < QUERY_LISTS_MAX {
            lists.push(List { sought, terms, weight, fields });
        } else {
            self.cut_lists();
        }
    }

    fn pair(&mut self, sought: Sought, terms: u64, weight: f32, fields: Fields) {
        let pair = List { sought, terms, weight, fields };
        if self.plan.pairs.len() == QUERY_LISTS_MAX {
            self.cut_lists();
        } else if !self.plan.pairs.contains(&pair) {
            self.plan.pairs.push(pair);
        }
    }
}

/// Returns what a word with `*` or `~` stands for; `None` where it is text. Scripts without spaces
/// are found by character: what begins with a run of them is found by the run.
fn pattern(node: &Node, tokens: &[Owned]) -> Option<Pattern> {
    if tokens.iter().any(|token| token.kind == Kind::Solo) {
        return None;
    }
    match node {
        Node::Prefix(_) => whole(tokens).map(|word| Pattern::Prefix(word.to_owned())),
        Node::Fuzzy { edits, .. } => match unit(tokens, 0).pop()? {
            Sought::Token(token) => Some(Pattern::Fuzzy(token, *edits)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the first token that stands for all of a word, as an index holds it: `spnew` for `sp_new`.
fn whole(tokens: &[Owned]) -> Option<&str> {
    let last = tokens.iter().rev().find(|token| token.kind == Kind::Word)?;
    let mut starting = tokens.iter().take_while(|token| token.position == tokens[0].position);
    starting.find(|token| token.position + token.span > last.position).map(|token| &*token.text)
}

/// Says of a word with `*` or `~` that it was read as text; `None` where text is what is meant.
fn no_pattern(node: &Node, tokens: &[Owned]) -> Option<String> {
    match node {
        Node::Prefix(text) if tokens.iter().all(|token| token.kind != Kind::Solo) => {
            Some(format!("* at \"{text}\" is for one word or name and was read as text"))
        }
        Node::Fuzzy { text, .. } => {
            Some(format!("~ at \"{text}\" is for one word of letters and was read as text"))
        }
        _ => None,
    }
}

/// The word before, if the next one would be its neighbour.
type Before = Option<(String, u64, Fields)>;

/// A token, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) text: String,
    from: usize,
    to: usize,
    pub(super) position: usize,
    span: usize,
    pub(super) kind: Kind,
}

pub(super) fn tokens(analyzer: &mut Analyzer, text: &str) -> Vec<Owned> {
    let mut stream = analyzer.tokens(text);
    let mut tokens = Vec::new();
    while let Some(token) = stream.advance() {
        tokens.push(Owned {
            text: token.text.to_owned(),
            from: token.from,
            to: token.to,
            position: token.position,
            span: token.span,
            kind: token.kind,
        });
    }
    tokens
}

/// Returns the phrase over the lane, and the stacked tokens that cover all of it.
fn unit(tokens: &[Owned], slop: u32) -> Vec<Sought> {
    let lane: Vec<&Owned> =
        tokens.iter().filter(|token| token.kind != Kind::Whole).take(QUERY_TERMS_MAX).collect();
    let (Some(first), Some(last)) = (lane.first(), lane.last()) else { return Vec::new() };
    let covers = |token: &&Owned| {
        token.kind == Kind::Whole
            && token.position == first.position
            && token.position + token.span == last.position + 1
            && lane.len() > 1
    };
    let phrase = if lane.len() == 1 {
        Sought::Token(first.text.clone())
    } else {
        let distance = |token: &&Owned| u32::try_from(token.position - first.position).unwrap_or(u32::MAX);
        Sought::Phrase(lane.iter().map(|token| (distance(token), token.text.clone())).collect(), slop)
    };
    let wholes = tokens.iter().filter(covers).map(|token| Sought::Token(token.text.clone()));
    std::iter::once(phrase).chain(wholes).collect()
}

/// Cuts tokens into runs of words and runs of single characters that follow each other. A stacked
/// token goes with the lane token it stands on; before one, with the words that follow.
fn runs(tokens: &[Owned]) -> Vec<&[Owned]> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut last_solo: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        let breaks = match token.kind {
            Kind::Solo => last_solo.is_none_or(|position| token.position > position + 1),
            Kind::Word => last_solo.is_some(),
            Kind::Whole => last_solo.is_some_and(|position| token.position > position),
        };
        if breaks && at > start {
            runs.push(&tokens[start..at]);
            start = at;
        }
        match token.kind {
            Kind::Solo => last_solo = Some(token.position),
            Kind::Word => last_solo = None,
            Kind::Whole if breaks => last_solo = None,
            Kind::Whole => {}
        }
    }
    if start < tokens.len() {
        runs.push(&tokens[start..]);
    }
    runs
}

/// Cuts a run of single characters into dictionary words, each with its tokens.
fn words_of_run<'a>(label: &'a str, run: &[Owned]) -> Vec<(&'a str, Vec<Owned>)> {
    let start = run[0].from;
    let mut at = start;
    let mut words = Vec::new();
    for word in segment_words(label) {
        let end = at + word.len();
        let tokens: Vec<Owned> =
            run.iter().filter(|token| token.from >= at && token.to <= end).cloned().collect();
        if !tokens.is_empty() {
            words.push((word, tokens));
        }
        at = end;
    }
    words
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::query::parse;

    fn show(sought: &Sought) -> String {
        match sought {
            Sought::Token(token) => token.clone(),
            Sought::Phrase(phrase, slop) => {
                let words: Vec<_> = phrase.iter().map(|(at, word)| format!("{at}:{word}")).collect();
                let slop = if *slop > 0 { format!("~{slop}") } else { String::new() };
                format!("({}){slop}", words.join(" "))
            }
            Sought::Pattern(_, Pattern::Word(word, _)) => word.clone(),
            Sought::Pattern(_, pattern) => format!("{pattern:?}"),
            Sought::Forms(forms) => forms.label.clone(),
            Sought::Sessions(typed, _) => typed.clone(),
        }
    }

    fn show_wanted(wanted: &Wanted) -> String {
        let several = |of: &[Wanted], name: &str| {
            let of: Vec<_> = of.iter().map(show_wanted).collect();
            format!("({})", of.join(name))
        };
        match wanted {
            Wanted::Leaf(terms) if *terms > u64::from(u32::MAX) => format!("x{:b}", terms.reverse_bits()),
            Wanted::Leaf(terms) => format!("{terms:b}"),
            Wanted::All(of) => several(of, " & "),
            Wanted::Any(of) => several(of, " | "),
            Wanted::Not(not) => format!("!{}", show_wanted(not)),
        }
    }

    fn check_reading(typed: &str, matching: Match, reading: Reading, expected: &Expect) {
        let mut request = SearchRequest::new(typed);
        request.matching = matching;
        let plan = Plan::of(&parse(typed), &request, reading);
        let labels: Vec<_> = plan.terms.iter().map(|term| term.label.as_str()).collect();
        let list = |list: &List| {
            let fields: Vec<_> = Field::ALL.into_iter().filter(|field| list.fields.holds(*field)).collect();
            let scope = if fields.len() < 6 { format!("{fields:?}") } else { String::new() };
            format!("{}{scope}={:b}", show(&list.sought), list.terms)
        };
        let lists: Vec<_> = plan.lists.iter().map(list).collect();
        let pairs: Vec<_> = plan.pairs.iter().map(list).collect();
        let excluded: Vec<_> = plan.excluded.iter().map(|list| show(&list.sought)).collect();
        let mut shown = format!("{} | {}", labels.join(" "), lists.join(" "));
        for (name, values) in [("pairs", pairs), ("not", excluded)] {
            if !values.is_empty() {
                shown += &format!(" | {name} {}", values.join(" "));
            }
        }
        if plan.demands || !plan.excluded.is_empty() {
            shown += &format!(" | wanted {}", show_wanted(&plan.wanted));
        }
        expected.assert_eq(&shown);
    }

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value that is used once")]
    fn check(typed: &str, expected: Expect) {
        check_reading(typed, Match::Any, Reading::Strict, &expected);
    }

    #[test]
    fn words_are_optional_and_neighbours_make_pairs() {
        check(
            "lock order bug",
            expect![
                "lock order bug | lock=1 order=10 bug=100 | pairs (0:lock 1:order)=11 (0:order 1:bug)=110"
            ],
        );
    }

    #[test]
    fn a_repeated_word_is_one_list() {
        check(
            "the the lock the",
            expect!["the lock | the=1 lock=10 | pairs (0:the 1:lock)=11 (0:lock 1:the)=11"],
        );
    }

    #[test]
    fn an_identifier_counts_by_part_and_as_a_whole() {
        check("checkAuth", expect!["check Auth | check=1 auth=10 checkauth=11 | pairs (0:check 1:auth)=11"]);
    }

    #[test]
    fn a_required_identifier_is_a_phrase_or_its_whole() {
        check("+checkAuth", expect!["checkAuth | (0:check 1:auth)=1 checkauth=1 | wanted 1"]);
    }

    #[test]
    fn quotes_make_a_required_phrase() {
        check("\"lock order\" bug", expect!["lock order bug | (0:lock 1:order)=1 bug=10 | wanted 1"]);
    }

    #[test]
    fn a_short_han_run_is_found_as_it_stands() {
        check("记忆断裂", expect!["记忆断裂 | (0:记 1:忆 2:断 3:裂)=1"]);
        check("用Rust写", expect!["用 Rust 写 | 用=1 rust=10 写=100"]);
    }

    #[test]
    fn a_long_han_run_is_cut_into_words() {
        check(
            "今天的数据库连接池已经修好",
            expect![
                "今天 的 数据库 连接池 已经 修好 | (0:今 1:天)=1 今天=1 的=10 (0:数 1:据 2:库)=100 数据库=100 数据=100 据库=100 (0:连 1:接 2:池)=1000 连接池=1000 连接=1000 (0:已 1:经)=10000 已经=10000 (0:修 1:好)=100000 修好=100000 | pairs (0:天 1:的)=11 (0:的 1:数)=110 (0:库 1:连)=1100 (0:池 1:已)=11000 (0:经 1:修)=110000"
            ],
        );
    }

    #[test]
    fn a_relaxed_run_is_cut_into_words() {
        let expected =
            expect!["记忆 断裂 | (0:记 1:忆)=1 记忆=1 (0:断 1:裂)=10 断裂=10 | pairs (0:忆 1:断)=11"];
        check_reading("记忆断裂", Match::Any, Reading::Relaxed, &expected);
    }

    #[test]
    fn not_excludes_words_and_phrases() {
        check("disk NOT \"read only\"", expect!["disk | disk=1 | not (0:read 1:only) | wanted (1 & !x1)"]);
    }

    #[test]
    fn match_all_requires_every_clause() {
        check_reading(
            "lock order",
            Match::All,
            Reading::Strict,
            &expect!["lock order | lock=1 order=10 | wanted (1 & 10)"],
        );
    }

    #[test]
    fn groups_nest() {
        check(
            "(a OR b) AND c NOT (d AND e)",
            expect![
                "a b c | a=1 b=10 c=100 | pairs (0:a 1:b)=11 | not d e | wanted ((11 & 100) & !(x1 & x10))"
            ],
        );
        check("a AND b OR c", expect!["a b c | a=1 b=10 c=100 | wanted (100 | (1 & 10))"]);
        check(
            "a (lock order) bug",
            expect!["a lock order bug | a=1 lock=10 order=100 bug=1000 | pairs (0:lock 1:order)=110"],
        );
    }

    #[test]
    fn a_field_is_a_list_of_its_own() {
        check(
            "lock title:lock did:(run NOT rm)",
            expect![
                "lock lock run | lock=1 lock[Title]=10 run[ToolCalls, ToolName]=100 | not rm | wanted (11 | (100 & !x1))"
            ],
        );
    }

    #[test]
    fn patterns_are_terms() {
        check(
            "sp_new* Quokkavile~ \"a b\"~2 NOT no*",
            expect![[
                r#"sp_new* Quokkavile~2 "a b"~2 | Prefix("spnew")=1 Fuzzy("quokkavile", 2)=10 (0:a 1:b)~2=100 | not Prefix("no") | wanted (100 & !x1)"#
            ]],
        );
        check("北京* 北京~1", expect!["北京 1 | (0:北 1:京)=1 北京=1 1=10"]);
    }

    #[test]
    fn one_word_with_digits_may_be_a_session() {
        check(
            "20260603_120045_a1b2c3",
            expect![[
                r#"20260603 120045 a1b2c3 | 20260603=1 120045=10 a1b2c3=100 Session("20260603_120045_a1b2c3")[Title]=111 | pairs (0:20260603 1:120045)=11 (0:120045 1:a1b2c3)=110"#
            ]],
        );
        check("20260603", expect![[r#"20260603 | 20260603=1 Session("20260603")[Title]=1"#]]);
        check("2026060", expect!["2026060 | 2026060=1"]);
        check("20260603 NOT 2", expect!["20260603 | 20260603=1 | not 2 | wanted (1 & !x1)"]);
        check("deployment", expect!["deployment | deployment=1"]);
        check("\"20260603\"", expect!["20260603 | 20260603=1 | wanted 1"]);
    }

    #[test]
    fn a_prefix_is_of_the_spelling_that_is_indexed() {
        check(
            "spNew* 2.5.1* .env* src/run*",
            expect![[
                r#"spNew* 2.5.1* .env* src run | Prefix("spnew")=1 Prefix("2.5.1")=10 Prefix(".env")=100 src=1000 run=10000 | pairs (0:src 1:run)=11000"#
            ]],
        );
    }

    #[test]
    fn an_operator_is_never_relaxed() {
        let expected = expect!["记忆断裂 数据库连接 | (0:记 1:忆 2:断 3:裂)=1 (0:数 1:据 2:库 3:连 4:接)=10"];
        check_reading("记忆断裂 OR 数据库连接", Match::Any, Reading::Relaxed, &expected);
        let expected = expect![
            "记忆 断裂 数据库连接 | (0:记 1:忆)=1 记忆=1 (0:断 1:裂)=10 断裂=10 (0:数 1:据 2:库 3:连 4:接)=100 | pairs (0:忆 1:断)=11 | not (0:天 1:气 2:预 3:报) 天气预报 | wanted (100 & !x1)"
        ];
        check_reading("记忆断裂 +数据库连接 NOT 天气预报", Match::Any, Reading::Relaxed, &expected);
    }

    #[test]
    fn what_is_excluded_is_kept_before_what_is_scored() {
        let words: Vec<String> = (0..100).map(|word| format!("w{word}x")).collect();
        let query = parse(&format!("{} NOT disk", words.join(" ")));
        let plan = Plan::of(&query, &SearchRequest::new("w"), Reading::Strict);
        assert_eq!((plan.terms.len(), plan.excluded.len()), (QUERY_TERMS_MAX - 1, 1));
    }

    #[test]
    fn any_query_has_a_plan() {
        for typed in ["\"".repeat(5_000), "(".repeat(9_000), "x y ".repeat(4_000), "! @ # ".repeat(3_000)] {
            let plan = Plan::of(&parse(&typed), &SearchRequest::new(""), Reading::Strict);
            assert!(plan.warnings.len() <= 10, "{:?}", plan.warnings);
        }
    }
}
