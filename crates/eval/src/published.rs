//! Figures of others to stand beside ours, from a data file.

use afterthought::Result;
use serde::{Deserialize, Serialize};

use crate::failed;

/// What somebody else reached on a task, in percent, as far as it is known.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Published {
    #[serde(skip_serializing)]
    set: String,
    #[serde(skip_serializing)]
    task: String,
    #[serde(skip_serializing)]
    kind: Option<String>,
    /// Who, and on what.
    pub who: String,
    /// As in [`crate::metrics::Figures`].
    pub ndcg_10: Option<f64>,
    /// Likewise.
    pub hit_1: Option<f64>,
    /// Likewise.
    pub hit_5: Option<f64>,
    /// Likewise.
    pub hit_10: Option<f64>,
    /// Likewise.
    pub recall_5: Option<f64>,
    /// Likewise.
    pub recall_10: Option<f64>,
}

impl Published {
    /// Writes the figures as cells of a table, blank where they are not known.
    pub(crate) fn cells(&self) -> String {
        let figures = [self.ndcg_10, self.hit_1, self.hit_5, self.hit_10, self.recall_5, self.recall_10];
        let cell = |figure: Option<f64>| figure.map_or(format!("{:7}", ""), |figure| format!("{figure:7.1}"));
        figures.map(cell).concat().trim_end().to_owned()
    }
}

#[derive(Deserialize)]
struct File {
    figures: Vec<Published>,
}

/// Reads every figure that is known of others.
pub(crate) fn all() -> Result<Vec<Published>> {
    let file: File =
        toml::from_str(include_str!("published.toml")).map_err(failed("read", "published figures"))?;
    Ok(file.figures)
}

/// Returns those of one row.
pub(crate) fn of(all: &[Published], set: &str, task: &str, kind: Option<&str>) -> Vec<Published> {
    let fits = |one: &&Published| one.set == set && one.task == task && one.kind.as_deref() == kind;
    all.iter().filter(fits).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{LOCOMO, SETS};

    #[test]
    fn every_figure_belongs_to_a_task() {
        for one in all().expect("figures") {
            let set = SETS.iter().chain([&LOCOMO]).find(|set| set.name == one.set);
            let set = set.unwrap_or_else(|| panic!("no set {}", one.set));
            assert!(set.tasks.iter().any(|task| task.name() == one.task), "{}: {}", one.set, one.task);
        }
    }
}
