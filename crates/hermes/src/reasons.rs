//! Why a query found nothing: which words nothing holds, and where what was asked for stands without
//! having been asked for. Only what the one who asks may see is counted.

use afterthought::{ErrorKind, Match, Origin, Result, SearchRequest};

use crate::discover::{Found, Search};
use crate::limits::UNKNOWN_WORDS_MAX;
use crate::message::name;
use crate::sight::HIDDEN_SOURCES;

/// Where else a query has matches, in messages.
#[derive(Default)]
pub(crate) struct Reasons {
    unknown: Vec<String>,
    reasoning: u64,
    tool_output: u64,
    current: u64,
    hidden_sources: u64,
}

impl Reasons {
    /// Counts. Costs up to four searches.
    pub(crate) fn of(search: &Search<'_>, found: &Found, matching: Match) -> Result<Self> {
        let base = || {
            let mut request = search.request(matching);
            request.filters.exclude_sources = HIDDEN_SOURCES.map(str::to_owned).to_vec();
            request
        };
        let mut reasons = Self::default();
        // What the archive's words are is not for one person to learn of the others.
        if search.asker.user.is_none() {
            reasons.unknown.clone_from(&found.unknown);
        }
        if !search.arguments.include_reasoning {
            reasons.reasoning = search.count(SearchRequest { origins: vec![Origin::Thought], ..base() })?;
        }
        if !search.arguments.roles.iter().any(|role| role == "tool") {
            let mut request = SearchRequest { origins: vec![Origin::Saw, Origin::Did], ..base() };
            request.filters.roles = vec!["tool".to_owned()];
            reasons.tool_output = search.count(request)?;
        }
        if !search.scene.current.is_empty() {
            let mut request = base();
            request.filters.sessions.clone_from(&search.scene.current);
            request.filters.exclude_sessions.clear();
            reasons.current = match search.count(request) {
                // One of these sessions is newer than the index.
                Err(error) if error.kind() == ErrorKind::NotFound => 0,
                other => other?,
            };
        }
        let mut hidden = base();
        hidden.filters.exclude_sources.clear();
        hidden.filters.sources = HIDDEN_SOURCES.map(str::to_owned).to_vec();
        reasons.hidden_sources = search.count(hidden)?;
        Ok(reasons)
    }

    /// Tells whether there are matches nowhere.
    pub(crate) fn is_empty(&self) -> bool {
        self.reasoning + self.tool_output + self.current + self.hidden_sources == 0
    }

    fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if !self.unknown.is_empty() {
            let shown = self.unknown.iter().take(UNKNOWN_WORDS_MAX);
            let mut words: Vec<String> = shown.map(|word| format!("\"{}\"", name(word))).collect();
            let more = self.unknown.len() - words.len();
            if more > 0 {
                words.push(format!("and {more} more"));
            }
            let stand = if words.len() == 1 { "stands" } else { "stand" };
            sentences.push(format!("{} {stand} nowhere in what was searched", words.join(", ")));
        }
        let mut add = |count: u64, place: &str| {
            let messages = if count == 1 { "1 message matches" } else { "messages match" };
            let count_of = if count == 1 { String::new() } else { format!("{count} ") };
            if count > 0 {
                sentences.push(format!("{count_of}{messages} {place}"));
            }
        };
        add(self.reasoning, "in the model's reasoning: give include_reasoning true");
        add(self.tool_output, "in tool output: give role_filter \"user,assistant,tool\"");
        add(self.current, "in the current conversation, which is before you already");
        add(self.hidden_sources, "in sessions of sub-agents and tools, which are not shown");
        sentences
    }
}

/// Says why there is no result.
pub(crate) fn why_empty(reasons: &Reasons, is_some_words: bool) -> String {
    let mut sentences = reasons.sentences();
    let what = if is_some_words {
        "no session that is searched holds any of this"
    } else {
        "no session that is searched holds this"
    };
    sentences.insert(0, what.to_owned());
    if sentences.len() == 1 {
        sentences.push("other words may find it, OR between alternatives, or prefix*".to_owned());
    }
    sentences.join("; ")
}

/// Says how the words of an answer were read that holds no message with all of them.
pub(crate) fn relaxed(reasons: &Reasons, is_weak: bool) -> String {
    let mut sentences = vec!["no message holds all of these words as they stand, so these hold some of them or other forms, best first".to_owned()];
    if is_weak {
        sentences.push("none holds most of the question, and it may not be answered here".to_owned());
    }
    sentences.extend(reasons.sentences());
    sentences.join("; ")
}

/// Says that titles hold what no message does.
pub(crate) fn titled(reasons: &Reasons) -> String {
    let mut sentences =
        vec!["no message holds all of these words, and the titles of these sessions do".to_owned()];
    sentences.extend(reasons.sentences());
    sentences.join("; ")
}
