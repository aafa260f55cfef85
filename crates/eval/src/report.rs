//! What a run found, as JSON and as tables of at most 100 columns.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use afterthought::{Result, Weights};
use serde::Serialize;

use crate::absent::Absent;
use crate::failed;
use crate::metrics::Figures;
use crate::published::Published;

/// Our nDCG@10 of every query, by set and task, then by the query's id.
pub type Scores = BTreeMap<String, BTreeMap<String, f64>>;

/// What a run found. `schema/eval.schema.json` states it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this shape.
    pub schema_version: u32,
    /// How our search counted fields and phrases.
    pub weights: BTreeMap<String, f32>,
    /// A row for every task, followed by one for each kind of its queries.
    pub rows: Vec<Row>,
    /// What came back for subjects that no archive holds; empty unless it was asked for.
    pub absent: Vec<Absent>,
    /// Sets that are not there.
    pub missing: Vec<String>,
    /// For `--save`.
    #[serde(skip)]
    pub scores: Scores,
}

/// Means over the queries of a task, or over those of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The set.
    pub set: String,
    /// The units that are looked for: messages or sessions, in their own conversation or in all.
    pub task: String,
    /// The kind of the queries; `None` is all of them.
    pub kind: Option<String>,
    /// How many.
    pub queries: usize,
    /// Ours.
    pub ours: Figures,
    /// FTS5 as the agent uses it.
    pub agent: Figures,
    /// FTS5 at its best.
    pub fts5: Figures,
    /// Plain BM25.
    pub bm25: Figures,
    /// The other side's mean nDCG@10 in the test; `None` where a saved run has not these queries.
    pub against: Option<f64>,
    /// How likely so large a difference is by chance, two-sided.
    pub p: Option<f64>,
    /// How the rivals were set.
    pub used: Used,
    /// Figures of others.
    pub published: Vec<Published>,
}

/// How the rivals were set: what did best on this task.
#[derive(Clone, Debug, Serialize)]
pub struct Used {
    /// Tokenizer and weights of content, tool name, tool calls, reasoning.
    pub fts5: String,
    /// How words were cut, and the formula's parameters.
    pub bm25: String,
}

impl Report {
    pub(crate) fn new(weights: &Weights, missing: Vec<String>) -> Self {
        Self {
            schema_version: 1,
            weights: weights.numbers().map(|(name, number)| (name.to_owned(), number)).collect(),
            rows: Vec::new(),
            absent: Vec::new(),
            missing,
            scores: Scores::new(),
        }
    }

    /// Writes the score of every query to a file, for a later run to be tested against.
    pub fn save(&self, path: &Path) -> Result<()> {
        let failed = failed("write scores to", path.display());
        let write = || fs::write(path, serde_json::to_vec_pretty(&self.scores)?);
        write().map_err(failed)
    }

    /// Writes the report for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.tasks();
        text += &self.kinds();
        text += &self.absent();
        if !self.missing.is_empty() {
            text += &format!("\nNot there: {}.\n", self.missing.join(", "));
        }
        text
    }

    /// One block a task: every side with all of its figures.
    fn tasks(&self) -> String {
        let head = ["nDCG@10", "hit@1", "hit@5", "hit@10", "R@5", "R@10", "MRR@10", "p"];
        let mut text = format!("{:44}", "");
        text += &head.map(|name| format!("{name:>7}")).concat();
        text.push('\n');
        for row in self.rows.iter().filter(|row| row.kind.is_none()) {
            text += &format!("{}: {}, {} queries\n", row.set, row.task, row.queries);
            let sides = [
                ("ours".to_owned(), &row.ours),
                ("FTS5 as the agent uses it".to_owned(), &row.agent),
                (format!("FTS5, {}", row.used.fts5), &row.fts5),
                (format!("BM25, {}", row.used.bm25), &row.bm25),
            ];
            for (at, (side, figures)) in sides.iter().enumerate() {
                let p = row.p.filter(|_| at == 0).map_or(String::new(), |p| format!("{p:7.4}"));
                text += &format!("  {side:42}{}{p}\n", cells(figures));
            }
            for other in &row.published {
                text += &format!("  ({:41}{}\n", format!("{})", other.who), other.cells());
            }
        }
        text
    }

    /// nDCG@10 of every side by kind of query.
    fn kinds(&self) -> String {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.kind.is_some()).collect();
        if rows.is_empty() {
            return String::new();
        }
        let head = ["hit@1", "hit@10", "nDCG@10", "agent", "FTS5", "BM25"];
        let mut text = format!(
            "\n{:37}{:>8}{}{:>7}\n",
            "by kind of query",
            "queries",
            head.map(|name| format!("{name:>8}")).concat(),
            "p"
        );
        for row in rows {
            let kind = row.kind.as_deref().unwrap_or_default();
            let figures = [
                row.ours.hit_1,
                row.ours.hit_10,
                row.ours.ndcg_10,
                row.agent.ndcg_10,
                row.fts5.ndcg_10,
                row.bm25.ndcg_10,
            ];
            let figures = figures.map(|figure| format!("{:8.1}", figure * 100.0)).concat();
            let p = row.p.map_or(String::new(), |p| format!("{p:7.4}"));
            let name = format!("{} {}: {kind}", row.set, row.task);
            text += &format!("{name:37}{:8}{figures}{p}\n", row.queries);
            for other in &row.published {
                let figure = |figure: Option<f64>| figure.unwrap_or_default();
                let (hit_1, hit_10) = (figure(other.hit_1), figure(other.hit_10));
                text += &format!("  ({:42}{hit_1:8.1}{hit_10:8.1}\n", format!("{})", other.who));
            }
        }
        text
    }

    /// Subjects that no archive holds.
    fn absent(&self) -> String {
        if self.absent.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "\n{:24}{:>18}{:>22}{:>20}\n",
            "subjects that are absent", "words: any, sure", "questions: any, sure", "real: sure"
        );
        for row in &self.absent {
            let percent = |share: f64| share * 100.0;
            text += &format!(
                "{:24}{:10.1}{:8.1}{:14.1}{:8.1}{:15.1} of {}\n",
                row.set,
                percent(row.words_answered),
                percent(row.words_confident),
                percent(row.questions_answered),
                percent(row.questions_confident),
                percent(row.real_confident),
                row.real
            );
        }
        text
    }
}

fn cells(figures: &Figures) -> String {
    let Figures { ndcg_10, hit_1, hit_5, hit_10, recall_5, recall_10, mrr_10 } = *figures;
    let shown = [ndcg_10, hit_1, hit_5, hit_10, recall_5, recall_10, mrr_10];
    shown.map(|figure| format!("{:7.1}", figure * 100.0)).concat()
}
