//! Subjects that an archive does not hold: how often an answer comes all the same, and how often one that
//! looks sure. Beside it, how many real questions would keep their answer at the same bar.

use afterthought::{Confidence, Engine, Result, SearchRequest};
use afterthought_tools::random::{self, Random};
use serde::Serialize;

use crate::data::Set;
use crate::run::Settings;

/// Subjects asked for, half of them bare words, half in a question.
const SUBJECTS: usize = 200;

/// What came back for what is not there, and for what is.
#[derive(Clone, Debug, Serialize)]
pub struct Absent {
    /// The set.
    pub set: String,
    /// Made-up subjects asked for.
    pub subjects: usize,
    /// Share of bare words that got any answer.
    pub words_answered: f64,
    /// Share of questions that got any answer.
    pub questions_answered: f64,
    /// Share of bare words that got a confident answer.
    pub words_confident: f64,
    /// Share of questions that got a confident answer.
    pub questions_confident: f64,
    /// Real questions of the set.
    pub real: usize,
    /// Share of them with a confident answer.
    pub real_confident: f64,
}

/// Asks for subjects that the archive does not hold, and for the set's own.
pub(crate) fn measure(settings: &Settings, set: &Set, engine: &Engine) -> Result<Absent> {
    let (words, questions) = made_up(settings.seed, set, engine)?;
    let ask = |query: &str| -> Result<(bool, bool)> {
        let weights = settings.weights.clone();
        let page = engine.search(SearchRequest { limit: 1, weights, ..SearchRequest::new(query) })?;
        Ok((page.confidence != Confidence::None, page.confidence == Confidence::Confident))
    };
    let all = |queries: &mut dyn Iterator<Item = &str>| queries.map(&ask).collect::<Result<Vec<_>>>();
    let words = all(&mut words.iter().map(String::as_str))?;
    let questions = all(&mut questions.iter().map(String::as_str))?;
    let real = all(&mut set.queries.iter().map(|query| query.text.as_str()))?;
    Ok(Absent {
        set: set.spec.name.to_owned(),
        subjects: words.len() + questions.len(),
        words_answered: share(words.iter().map(|(answered, _)| *answered)),
        questions_answered: share(questions.iter().map(|(answered, _)| *answered)),
        words_confident: share(words.iter().map(|(_, confident)| *confident)),
        questions_confident: share(questions.iter().map(|(_, confident)| *confident)),
        real: real.len(),
        real_confident: share(real.iter().map(|(_, confident)| *confident)),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of queries")]
fn share(of: impl ExactSizeIterator<Item = bool>) -> f64 {
    let all = of.len().max(1);
    of.filter(|is| *is).count() as f64 / all as f64
}

const STARTS: [&str; 16] = [
    "bra", "cel", "dor", "fen", "gal", "hyr", "kes", "lum", "mor", "nal", "pel", "quo", "sel", "tor", "ul",
    "vex",
];
const MIDDLES: [&str; 12] = ["a", "ba", "de", "ga", "i", "la", "mi", "no", "ra", "so", "ti", "vu"];
const ENDS: [&str; 12] =
    ["bor", "dal", "fex", "gorn", "kith", "lund", "mire", "nax", "rath", "stel", "vish", "wyn"];

/// Things that have names, and what people ask of them.
const QUESTIONS: [&str; 10] = [
    "Who signed the treaty of {}?",
    "How high is Mount {}?",
    "When did the {} orchestra give its first concert?",
    "What is the melting point of {}?",
    "Which river flows through the town of {}?",
    "Why was the {} observatory closed?",
    "What did Captain {} find on the island?",
    "How do I cook {} with rice?",
    "Who won the chess tournament in {}?",
    "What is the {} beetle's favourite plant?",
];

/// Returns bare words and questions about subjects of which not one word is in the archive.
fn made_up(seed: u64, set: &Set, engine: &Engine) -> Result<(Vec<String>, Vec<String>)> {
    let mut random = Random::new(seed ^ random::seed(set.spec.name));
    let (mut words, mut questions) = (Vec::new(), Vec::new());
    while words.len() + questions.len() < SUBJECTS {
        let word =
            [random.pick(&STARTS), random.pick(&MIDDLES), random.pick(&MIDDLES), random.pick(&ENDS)].concat();
        let request = SearchRequest { limit: 1, ..SearchRequest::new(word.as_str()) };
        // Also what an earlier subject was must not be asked again.
        if engine.search(request)?.total.value > 0 || words.contains(&word) {
            continue;
        }
        if words.len() < SUBJECTS / 2 {
            words.push(word);
        } else {
            let name = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
            questions.push(random.pick(&QUESTIONS).replace("{}", &name));
        }
    }
    Ok((words, questions))
}
