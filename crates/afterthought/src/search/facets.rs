//! Counts all hits of a search by what is known of them: one step for each hit, and the names once
//! at the end.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tantivy::columnar::StrColumn;
use tantivy::{DocId, SegmentReader};

use crate::error::Result;
use crate::index::{NO_TIME, SegmentColumns, Snapshot, failed};
use crate::limits::FACET_VALUES_MAX;
use crate::time::rfc3339;

use super::workspace::shown;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// What hits can be counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facet {
    /// Who wrote the message.
    Role,
    /// Where its session came from.
    Source,
    /// Its session, by id.
    Session,
    /// The person its session belongs to.
    User,
    /// Its session's model.
    Model,
    /// Its session's checkout, else its working folder.
    Workspace,
    /// Its session's git branch.
    Branch,
    /// The tools it calls or is the answer of; a message may count under several.
    Tool,
    /// The month it was written in, in UTC.
    Month,
}

impl Facet {
    /// Every facet, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Role,
        Self::Source,
        Self::Session,
        Self::User,
        Self::Model,
        Self::Workspace,
        Self::Branch,
        Self::Tool,
        Self::Month,
    ];

    /// Returns the name on the wire and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Source => "source",
            Self::Session => "session",
            Self::User => "user",
            Self::Model => "model",
            Self::Workspace => "workspace",
            Self::Branch => "branch",
            Self::Tool => "tool",
            Self::Month => "month",
        }
    }

    /// Returns the facet of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|facet| facet.name() == name)
    }
}

/// How many hits have one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FacetValue {
    /// The value; `None` where it is not recorded.
    pub value: Option<String>,
    /// The hits that have it.
    pub count: u64,
}

/// The values of each facet that was asked for, those with most hits first.
pub type Facets = BTreeMap<Facet, Vec<FacetValue>>;
/// How many further values each of these facets has.
pub type FacetsMore = BTreeMap<Facet, u64>;

/// Writes a facet's values on one line, as every door shows them to people.
#[must_use]
pub fn facet_line(values: &[FacetValue], more: u64) -> String {
    let value = |of: &FacetValue| format!("{} {}", of.value.as_deref().unwrap_or("(none)"), of.count);
    let mut parts: Vec<String> = values.iter().map(value).collect();
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}

/// Counts over every segment.
#[derive(Debug, Default)]
pub(super) struct FacetCounts {
    wanted: Vec<Facet>,
    /// By session number.
    sessions: Vec<u64>,
    roles: BTreeMap<String, u64>,
    tools: BTreeMap<String, u64>,
    /// By day since 1970; `None` for an unknown time.
    days: HashMap<Option<i64>, u64>,
}

/// Counts over one segment.
pub(super) struct SegmentFacets<'a> {
    columns: &'a SegmentColumns,
    by_session: bool,
    by_day: bool,
    roles: Option<Ordinals>,
    tools: Option<Ordinals>,
}

/// Counts by a column's ordinals.
struct Ordinals {
    column: StrColumn,
    counts: Vec<u64>,
}

impl FacetCounts {
    pub(super) fn of(wanted: &[Facet]) -> Self {
        Self { wanted: wanted.to_vec(), ..Self::default() }
    }

    /// Begins a segment; `None` where nothing is counted.
    pub(super) fn segment<'a>(
        &self,
        segment: &SegmentReader,
        columns: &'a SegmentColumns,
    ) -> Result<Option<SegmentFacets<'a>>> {
        if self.wanted.is_empty() {
            return Ok(None);
        }
        let wants = |facet| self.wanted.contains(&facet);
        let ordinals = |facet, name| if wants(facet) { Ordinals::of(segment, name) } else { Ok(None) };
        Ok(Some(SegmentFacets {
            columns,
            by_session: self.wanted.iter().any(|facet| facet.is_of_session()),
            by_day: wants(Facet::Month),
            roles: ordinals(Facet::Role, "role")?,
            tools: ordinals(Facet::Tool, "tool")?,
        }))
    }

    /// Takes in what a segment's ordinals came to.
    pub(super) fn end(&mut self, segment: SegmentFacets<'_>) -> Result<()> {
        for (ordinals, names) in [(segment.roles, &mut self.roles), (segment.tools, &mut self.tools)] {
            if let Some(ordinals) = ordinals {
                ordinals.fold(names)?;
            }
        }
        Ok(())
    }

    /// Takes in the counts of another thread.
    pub(super) fn merge(&mut self, other: Self) {
        if self.sessions.len() < other.sessions.len() {
            self.sessions.resize(other.sessions.len(), 0);
        }
        self.sessions.iter_mut().zip(&other.sessions).for_each(|(count, more)| *count += more);
        for (names, others) in [(&mut self.roles, other.roles), (&mut self.tools, other.tools)] {
            for (name, count) in others {
                *names.entry(name).or_default() += count;
            }
        }
        other.days.into_iter().for_each(|(day, count)| *self.days.entry(day).or_default() += count);
    }

    /// Returns the same without counts.
    pub(super) fn emptied(&self) -> Self {
        Self::of(&self.wanted)
    }

    /// Returns the hits by role; titles have none.
    pub(super) fn by_role(self) -> impl Iterator<Item = (Option<String>, u64)> {
        self.roles.into_iter().map(|(role, count)| (Some(role).filter(|role| !role.is_empty()), count))
    }

    /// Returns the count of every value of each facet.
    pub(super) fn values(self, snapshot: &Snapshot) -> Result<ValueCounts> {
        const NAMES: [&str; 7] = ["session_id", "source", "user", "model", "git_root", "cwd", "git_branch"];
        let of_session = self.wanted.iter().any(|facet| facet.is_of_session());
        let table = if of_session { snapshot.attributes(NAMES)? } else { Vec::new() };
        let mut values = ValueCounts::default();
        for facet in &self.wanted {
            let counts = values.0.entry(*facet).or_default();
            let mut add = |value: Option<String>, count| {
                *counts.entry(value.filter(|value| !value.is_empty())).or_default() += count;
            };
            match facet {
                Facet::Role => self.roles.iter().for_each(|(role, count)| add(Some(role.clone()), *count)),
                Facet::Tool => self.tools.iter().for_each(|(tool, count)| add(Some(tool.clone()), *count)),
                Facet::Month => self.days.iter().for_each(|(day, count)| add(month(*day), *count)),
                of_session => {
                    for (ord, count) in self.sessions.iter().enumerate().filter(|(_, count)| **count > 0) {
                        add(table.get(ord).and_then(|row| of_session.value(row)), *count);
                    }
                }
            }
        }
        Ok(values)
    }
}

/// How many hits have each value of each facet.
#[derive(Default)]
pub(super) struct ValueCounts(BTreeMap<Facet, HashMap<Option<String>, u64>>);

impl ValueCounts {
    /// Takes in the counts of another archive.
    pub(super) fn merge(&mut self, other: Self) {
        for (facet, counts) in other.0 {
            let own = self.0.entry(facet).or_default();
            for (value, count) in counts {
                *own.entry(value).or_default() += count;
            }
        }
    }

    /// Returns each facet's largest values, and how many more there are.
    pub(super) fn largest(self) -> (Facets, FacetsMore) {
        let (mut facets, mut more) = (Facets::new(), FacetsMore::new());
        for (facet, counts) in self.0 {
            let mut values: Vec<FacetValue> =
                counts.into_iter().map(|(value, count)| FacetValue { value, count }).collect();
            // Of equal counts by name, what is not recorded last.
            values.sort_unstable_by(|a, b| {
                let name = |of: &FacetValue| (of.value.is_none(), of.value.clone());
                b.count.cmp(&a.count).then_with(|| name(a).cmp(&name(b)))
            });
            more.insert(facet, values.len().saturating_sub(FACET_VALUES_MAX) as u64);
            values.truncate(FACET_VALUES_MAX);
            facets.insert(facet, values);
        }
        (facets, more)
    }
}

impl Facet {
    fn is_of_session(self) -> bool {
        !matches!(self, Self::Role | Self::Tool | Self::Month)
    }

    /// Returns a session's value.
    fn value(self, row: &[Option<Arc<str>>; 7]) -> Option<String> {
        let [session, source, user, model, git_root, cwd, branch] = row;
        let value = match self {
            Self::Session => session,
            Self::Source => source,
            Self::User => user,
            Self::Model => model,
            Self::Branch => branch,
            Self::Workspace => return git_root.as_ref().or(cwd.as_ref()).map(|place| shown(place)),
            Self::Role | Self::Tool | Self::Month => return None,
        };
        value.as_deref().map(str::to_owned)
    }
}

fn month(day: Option<i64>) -> Option<String> {
    let mut time = rfc3339(day? * DAY_MS)?;
    // RFC 3339 begins with year and month.
    time.truncate("2026-09".len());
    Some(time)
}

impl SegmentFacets<'_> {
    /// Counts one hit.
    pub(super) fn count(&mut self, doc: DocId, counts: &mut FacetCounts) {
        if self.by_session
            && let Ok(ord) = usize::try_from(self.columns.session_ord.get_val(doc))
        {
            if counts.sessions.len() <= ord {
                counts.sessions.resize(ord + 1, 0);
            }
            counts.sessions[ord] += 1;
        }
        if self.by_day {
            let time = self.columns.timestamp.get_val(doc);
            let day = (time != NO_TIME).then(|| time.div_euclid(DAY_MS));
            *counts.days.entry(day).or_default() += 1;
        }
        for ordinals in [&mut self.roles, &mut self.tools].into_iter().flatten() {
            ordinals.count(doc);
        }
    }
}

impl Ordinals {
    fn of(segment: &SegmentReader, name: &str) -> Result<Option<Self>> {
        let column = segment.fast_fields().str(name).map_err(failed)?;
        Ok(column.map(|column| Self { counts: vec![0; column.num_terms()], column }))
    }

    fn count(&mut self, doc: DocId) {
        for ord in self.column.ords().values_for_doc(doc) {
            if let Some(count) = usize::try_from(ord).ok().and_then(|ord| self.counts.get_mut(ord)) {
                *count += 1;
            }
        }
    }

    fn fold(self, names: &mut BTreeMap<String, u64>) -> Result<()> {
        for (ord, count) in (0..).zip(self.counts).filter(|(_, count)| *count > 0) {
            let mut name = String::new();
            self.column.ord_to_str(ord, &mut name).map_err(|error| failed(error.into()))?;
            *names.entry(name).or_default() += count;
        }
        Ok(())
    }
}
