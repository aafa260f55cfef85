//! Decides which documents count, inside the search: by columns, before a document is ranked or
//! counted.

use std::collections::HashSet;
use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::{DocId, SegmentReader, Term};

use crate::error::{Error, ErrorKind, Result};
use crate::index::{BLOCK_DOCS, Bits, Block, NO_TIME, SegmentColumns, Snapshot, Times, failed, flag};
use crate::limits::FILTER_UNKNOWN_NAMED_MAX;
use crate::model::{Field, Warning};

use super::lineage::{Link, conversation};
use super::nearest::nearest;
use super::request::Filters;
use super::workspace::{Workspace, shown};

/// The role that no search shows unless asked: bookkeeping of the agent.
const ROLE_META: &str = "session_meta";

/// What can leave a document out, a bit each.
pub(super) mod cause {
    pub(in crate::search) const ROLES: u16 = 1;
    pub(in crate::search) const TOOLS: u16 = 1 << 1;
    pub(in crate::search) const TIME: u16 = 1 << 2;
    pub(in crate::search) const INACTIVE: u16 = 1 << 3;
    pub(in crate::search) const COPIES: u16 = 1 << 4;
    pub(in crate::search) const SOURCES: u16 = 1 << 5;
    pub(in crate::search) const EXCLUDE_SOURCES: u16 = 1 << 6;
    pub(in crate::search) const SESSIONS: u16 = 1 << 7;
    pub(in crate::search) const EXCLUDE_SESSIONS: u16 = 1 << 8;
    pub(in crate::search) const USERS: u16 = 1 << 9;
    pub(in crate::search) const MODELS: u16 = 1 << 10;
    pub(in crate::search) const WORKSPACE: u16 = 1 << 11;
    pub(in crate::search) const BRANCHES: u16 = 1 << 12;
    pub(in crate::search) const CURRENT_SESSION: u16 = 1 << 13;
    pub(in crate::search) const CHANGED: u16 = 1 << 14;
    /// Of a person that the request may not know of: it has no name, since it is never said.
    pub(in crate::search) const FOREIGN: u16 = 1 << 15;

    /// The names of the bits, lowest first: those of the request's members.
    pub const NAMES: [&str; 15] = [
        "roles",
        "tools",
        "time",
        "inactive",
        "copies",
        "sources",
        "exclude_sources",
        "sessions",
        "exclude_sessions",
        "users",
        "models",
        "workspace",
        "branches",
        "current_session",
        "changed",
    ];
}

/// A request's filters, resolved against one archive's snapshot.
#[derive(Clone)]
pub(super) struct Filter {
    pub(super) roles: Vec<String>,
    tools: Vec<String>,
    /// What leaves a session out, by session number; `None` lets every session pass.
    sessions: Option<Vec<u16>>,
    /// Only one person's sessions exist.
    is_confined: bool,
    pub(super) since_ms: Option<i64>,
    pub(super) until_ms: Option<i64>,
    include_inactive: bool,
    include_copies: bool,
    /// Messages that turned out to be gone or changed.
    pub(super) stale: HashSet<i64>,
}

impl Filter {
    /// Resolves the filters for every archive, with warnings of what they name that none has. Fails if that
    /// is a session, or for a branch without a workspace.
    pub(super) fn of_each(snapshots: &[&Snapshot], filters: &Filters) -> Result<(Vec<Self>, Vec<Warning>)> {
        filters.check()?;
        let mut tables = Vec::new();
        for snapshot in snapshots.iter().filter(|_| asks_sessions(filters)) {
            let mut table = snapshot.attributes(ATTRIBUTES)?;
            if let Some(person) = &filters.confined_to {
                confine(&mut table, person);
            }
            tables.push(table);
        }
        if asks_sessions(filters) {
            check_sessions(&tables, filters)?;
        }
        let sessions = |archive: usize| tables.get(archive).map(|table| sessions(table, filters));
        let each = (0..snapshots.len()).map(|archive| Self::of(sessions(archive), filters)).collect();
        Ok((each, unknown(snapshots, &tables, filters)?))
    }

    fn of(sessions: Option<Vec<u16>>, filters: &Filters) -> Self {
        Self {
            roles: filters.roles.clone(),
            tools: filters.tools.clone(),
            sessions,
            is_confined: filters.confined_to.is_some(),
            since_ms: filters.since_ms,
            until_ms: filters.until_ms,
            include_inactive: filters.include_inactive,
            include_copies: filters.include_copies,
            stale: HashSet::new(),
        }
    }

    /// Returns the same filter without its roles.
    pub(super) fn of_any_role(&self) -> Self {
        Self { roles: Vec::new(), ..self.clone() }
    }

    /// Tells whether a session's messages count, as far as the session decides.
    pub(super) fn passes_session(&self, session_ord: u64) -> bool {
        self.session_causes(session_ord) == 0
    }

    fn session_causes(&self, session_ord: u64) -> u16 {
        let Some(sessions) = &self.sessions else { return 0 };
        let ord = usize::try_from(session_ord).ok();
        let unknown = if self.is_confined { cause::FOREIGN } else { cause::SESSIONS };
        ord.and_then(|ord| sessions.get(ord)).copied().unwrap_or(unknown)
    }

    /// Tells whether there is anything that the request may not know of.
    pub(super) fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// Tells whether a session is one that the request may not know of.
    fn is_foreign(&self, session_ord: u64) -> bool {
        self.is_confined && self.session_causes(session_ord) & cause::FOREIGN != 0
    }

    /// Tells whether a field of any document that the request may know of holds a folded word.
    pub(super) fn knows_word(&self, snapshot: &Snapshot, field: Field, word: &str) -> Result<bool> {
        let is_there = snapshot.has_word(field, word)?;
        if !is_there || !self.is_confined {
            return Ok(is_there);
        }
        self.knows(snapshot, &Term::from_field_text(snapshot.fields().text(field), word))
    }

    /// Tells whether any document that the request may know of has a term.
    pub(super) fn knows(&self, snapshot: &Snapshot, term: &Term) -> Result<bool> {
        if self.is_confined {
            snapshot.holds_in(term, |session_ord| !self.is_foreign(session_ord))
        } else {
            snapshot.holds(term)
        }
    }

    /// Tells whether a time lies inside the bounds; an unknown one does only where there are none.
    pub(super) fn passes_time(&self, time_ms: i64) -> bool {
        match (self.since_ms, self.until_ms) {
            (None, None) => true,
            (since, until) => {
                time_ms != NO_TIME
                    && since.is_none_or(|since| time_ms >= since)
                    && until.is_none_or(|until| time_ms < until)
            }
        }
    }
}

/// The attributes of a session that filters look at.
const ATTRIBUTES: [&str; 9] =
    ["session_id", "source", "user", "model", "git_root", "cwd", "git_branch", "parent_id", "end_reason"];

type Row = [Option<Arc<str>>; ATTRIBUTES.len()];

fn asks_sessions(filters: &Filters) -> bool {
    let lists = [
        &filters.sources,
        &filters.exclude_sources,
        &filters.sessions,
        &filters.exclude_sessions,
        &filters.users,
        &filters.models,
        &filters.branches,
    ];
    lists.iter().any(|list| !list.is_empty())
        || filters.workspace.is_some()
        || filters.current_session.is_some()
        || filters.confined_to.is_some()
}

/// Leaves nothing in the table of sessions that are not this person's.
fn confine(table: &mut [Row], person: &str) {
    let foreign = |[_, _, user, ..]: &&mut Row| user.as_deref() != Some(person);
    table.iter_mut().filter(foreign).for_each(|row| *row = Row::default());
}

/// Fails if a session is named that no archive has.
fn check_sessions(tables: &[Vec<Row>], filters: &Filters) -> Result<()> {
    let known = |id: &String| tables.iter().flatten().any(|[session, ..]| session.as_deref() == Some(id));
    match filters.sessions.iter().find(|id| !known(id)) {
        Some(unknown) => Err(Error::new(ErrorKind::NotFound, "find session", unknown)
            .because("the archive has no session of that id")
            .hint("give the whole id; aft sessions lists them")),
        None => Ok(()),
    }
}

/// Returns what leaves each session of an archive out, by session number.
fn sessions(table: &[Row], filters: &Filters) -> Vec<u16> {
    let links: Vec<Link<'_>> = table.iter().map(link).collect();
    let current = filters.current_session.as_ref().and_then(|current| conversation(&links, current));
    let workspace = filters.workspace.as_deref().map(Workspace::of);
    let names =
        |list: &[String], value: &Option<Arc<str>>| list.iter().any(|name| value.as_deref() == Some(name));
    let lacks = |list: &[String], value: &Option<Arc<str>>| !list.is_empty() && !names(list, value);
    let causes = |(at, row): (usize, &Row)| {
        let [id, source, user, model, git_root, cwd, branch, ..] = row;
        let holds = |workspace: &Workspace| workspace.holds(git_root.as_deref(), cwd.as_deref());
        let is_foreign = filters.confined_to.is_some() && id.is_none();
        [
            (is_foreign, cause::FOREIGN),
            (lacks(&filters.sources, source), cause::SOURCES),
            (names(&filters.exclude_sources, source), cause::EXCLUDE_SOURCES),
            (lacks(&filters.sessions, id), cause::SESSIONS),
            (names(&filters.exclude_sessions, id), cause::EXCLUDE_SESSIONS),
            (lacks(&filters.users, user), cause::USERS),
            (lacks(&filters.models, model), cause::MODELS),
            (workspace.as_ref().is_some_and(|workspace| !holds(workspace)), cause::WORKSPACE),
            (branch.is_some() && lacks(&filters.branches, branch), cause::BRANCHES),
            (current.as_ref().is_some_and(|current| current[at]), cause::CURRENT_SESSION),
        ]
        .into_iter()
        .filter(|(left_out, _)| *left_out)
        .fold(0, |causes, (_, cause)| causes | cause)
    };
    table.iter().enumerate().map(causes).collect()
}

fn link(row: &Row) -> Link<'_> {
    let [id, source, .., parent, end_reason] = row;
    Link {
        id: id.as_ref(),
        parent: parent.as_ref(),
        source: source.as_deref(),
        end_reason: end_reason.as_deref(),
    }
}

/// Says which values of the filters no archive has, and what there is that is nearly so.
fn unknown(snapshots: &[&Snapshot], tables: &[Vec<Row>], filters: &Filters) -> Result<Vec<Warning>> {
    let rows = || tables.iter().flatten();
    let mut warnings = Vec::new();
    let mut check = |what: &str, wanted: &[String], known: &[Arc<str>]| {
        let mut unknown = wanted.iter().filter(|value| !known.iter().any(|known| **known == ***value));
        for value in unknown.by_ref().take(FILTER_UNKNOWN_NAMED_MAX) {
            let near = nearest(value, known.iter().map(|known| &**known));
            let near =
                if near.is_empty() { String::new() } else { format!("; near it: {}", near.join(", ")) };
            let message = format!("the archive has no {what} \"{value}\"{near}");
            warnings.push(Warning::new("unknown-filter", message));
        }
        let more = unknown.count();
        if more > 0 {
            let message = format!("the archive has none of {more} more values of {what} either");
            warnings.push(Warning::new("unknown-filter", message));
        }
    };
    for (what, wanted, name) in [("role", &filters.roles, "role"), ("tool", &filters.tools, "tool")] {
        // What the columns know is everybody's; a search of one person's sessions says it by its counts.
        if !wanted.is_empty() && filters.confined_to.is_none() {
            let values: Vec<_> =
                snapshots.iter().map(|snapshot| snapshot.values(name)).collect::<Result<_>>()?;
            let mut values = values.concat();
            values.sort_unstable();
            values.dedup();
            check(what, wanted, &values);
        }
    }
    let column = |at: usize| {
        let mut values: Vec<Arc<str>> = rows().filter_map(|row| row[at].clone()).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let current = filters.current_session.as_slice();
    for (what, wanted, at) in [
        ("source", &*filters.sources, 1),
        ("source", &*filters.exclude_sources, 1),
        ("session", &*filters.exclude_sessions, 0),
        ("session", current, 0),
        ("user", &*filters.users, 2),
        ("model", &*filters.models, 3),
        ("branch", &*filters.branches, 6),
    ] {
        if !wanted.is_empty() {
            check(what, wanted, &column(at));
        }
    }
    if let Some(wanted) = &filters.workspace {
        let workspace = Workspace::of(wanted);
        let holds =
            |[_, _, _, _, git_root, cwd, ..]: &Row| workspace.holds(git_root.as_deref(), cwd.as_deref());
        if !rows().any(holds) {
            let place = |[_, _, _, _, git_root, cwd, ..]: &Row| git_root.as_ref().or(cwd.as_ref()).cloned();
            let mut places: Vec<Arc<str>> =
                rows().filter_map(place).map(|place| shown(&place).into()).collect();
            places.sort_unstable();
            places.dedup();
            check("session of workspace", std::slice::from_ref(wanted), &places);
        }
    }
    Ok(warnings)
}

/// The filter over one segment.
pub(super) struct SegmentFilter<'a> {
    filter: &'a Filter,
    segment: &'a SegmentReader,
    columns: &'a SegmentColumns,
    roles: Option<Names>,
    tools: Option<Names>,
}

/// Which of a column's ordinals pass.
struct Names {
    ords: Column<u64>,
    passes: Vec<bool>,
}

impl<'a> SegmentFilter<'a> {
    pub(super) fn of(
        filter: &'a Filter,
        segment: &'a SegmentReader,
        columns: &'a SegmentColumns,
    ) -> Result<Self> {
        let roles = Names::of(segment, "role", |role| {
            if filter.roles.is_empty() { role != ROLE_META } else { is_named(&filter.roles, role) }
        });
        let tools = if filter.tools.is_empty() {
            None
        } else {
            let none = || Names { ords: Column::build_empty_column(segment.max_doc()), passes: Vec::new() };
            let tools = Names::of(segment, "tool", |tool| is_named(&filter.tools, tool)).map_err(failed)?;
            Some(tools.unwrap_or_else(none))
        };
        let roles = roles.map_err(failed)?.filter(|roles| !roles.passes.iter().all(|passes| *passes));
        Ok(Self { filter, segment, columns, roles, tools })
    }

    /// Returns the documents of a block that pass, of some, whatever their sessions. Those that changed are
    /// among them.
    pub(super) fn passing(&self, number: usize, of: &Bits) -> Bits {
        let (filter, block) = (self.filter, self.block(number));
        let mut passing = *of;
        if !filter.include_inactive {
            passing = passing.without(&block.hidden);
        }
        if !filter.include_copies {
            passing = passing.without(&block.copies);
        }
        // A title has no role and no tool: asking for them asks for messages.
        if !filter.roles.is_empty() || !filter.tools.is_empty() {
            passing = passing.without(&block.titles);
        }
        if let Some(roles) = &self.roles {
            let known = block.of_roles(self.segment, self.columns, number, |ord| roles.passes_ord(ord));
            passing = match known {
                Some(known) => passing.and(&known.or(&block.titles)),
                None => retain(number, &passing, |doc, at| block.titles.has(at) || roles.passes(doc)),
            };
        }
        if let Some(tools) = &self.tools {
            passing = retain(number, &passing, |doc, at| block.titles.has(at) || tools.passes(doc));
        }
        if filter.since_ms.is_some() || filter.until_ms.is_some() {
            passing = self.in_time(number, &passing);
        }
        passing
    }

    fn in_time(&self, number: usize, of: &Bits) -> Bits {
        let Times { earliest, latest, some_unknown } =
            self.block(number).times(self.segment, self.columns, number);
        let passes = |time: Option<i64>| self.filter.passes_time(time.unwrap_or(NO_TIME));
        // Bounds are of one piece: what lies between two times that pass does too.
        if passes(earliest) && passes(latest) && !some_unknown {
            return *of;
        }
        retain(number, of, |doc, _| self.filter.passes_time(self.columns.timestamp.get_val(doc)))
    }

    /// Returns those of some that are still what was indexed.
    pub(super) fn unchanged(&self, number: usize, of: &Bits) -> Bits {
        if self.filter.stale.is_empty() {
            return *of;
        }
        retain(number, of, |doc, _| !self.is_stale(doc, self.columns.flags.get_val(doc)))
    }

    /// Returns those of some documents of a block that the request may know of.
    pub(super) fn known(&self, number: usize, of: &Bits) -> Bits {
        if !self.filter.is_confined {
            return *of;
        }
        retain(number, of, |doc, _| !self.filter.is_foreign(self.columns.session_ord.get_val(doc)))
    }

    /// Returns what leaves the messages of a session out.
    pub(super) fn session_causes(&self, session_ord: u64) -> u16 {
        self.filter.session_causes(session_ord)
    }

    /// Returns a block of the segment.
    pub(super) fn block(&self, number: usize) -> &'a Block {
        self.columns.blocks.get(self.segment, self.columns, number)
    }

    /// Returns everything that leaves a document out, each filter judged by itself.
    pub(super) fn causes(&self, doc: DocId) -> u16 {
        let flags = self.columns.flags.get_val(doc);
        let in_time = self.filter.passes_time(self.columns.timestamp.get_val(doc));
        self.flag_causes(flags)
            | self.name_causes(doc, flags)
            | self.filter.session_causes(self.columns.session_ord.get_val(doc))
            | if in_time { 0 } else { cause::TIME }
            | if self.is_stale(doc, flags) { cause::CHANGED } else { 0 }
    }

    fn flag_causes(&self, flags: u64) -> u16 {
        let is_session = flags & flag::SESSION != 0;
        let mut causes = 0;
        if !is_session && !self.filter.include_inactive && !flag::is_visible(flags) {
            causes |= cause::INACTIVE;
        }
        if flags & flag::COPY != 0 && !self.filter.include_copies {
            causes |= cause::COPIES;
        }
        // A title has no role and no tool: asking for them asks for messages.
        if is_session && !self.filter.roles.is_empty() {
            causes |= cause::ROLES;
        }
        if is_session && !self.filter.tools.is_empty() {
            causes |= cause::TOOLS;
        }
        causes
    }

    fn name_causes(&self, doc: DocId, flags: u64) -> u16 {
        if flags & flag::SESSION != 0 {
            return 0;
        }
        let lacks = |names: &Option<Names>| names.as_ref().is_some_and(|names| !names.passes(doc));
        let roles = if lacks(&self.roles) { cause::ROLES } else { 0 };
        roles | if lacks(&self.tools) { cause::TOOLS } else { 0 }
    }

    fn is_stale(&self, doc: DocId, flags: u64) -> bool {
        let stale = &self.filter.stale;
        !stale.is_empty() && flags & flag::SESSION == 0 && stale.contains(&self.columns.id.get_val(doc))
    }
}

/// Returns those of some documents of a block that pass a test.
fn retain(number: usize, of: &Bits, passes: impl Fn(DocId, usize) -> bool) -> Bits {
    let mut passing = *of;
    of.each(|at| {
        let doc = DocId::try_from(number * BLOCK_DOCS + at).expect("a document of a segment");
        if !passes(doc, at) {
            passing.remove(at);
        }
    });
    passing
}

fn is_named(names: &[String], value: &str) -> bool {
    names.iter().any(|name| name == value)
}

impl Names {
    fn of(
        segment: &SegmentReader,
        name: &str,
        passes: impl Fn(&str) -> bool,
    ) -> tantivy::Result<Option<Self>> {
        let Some(column) = segment.fast_fields().str(name)? else { return Ok(None) };
        let mut known = Vec::new();
        let mut terms = column.dictionary().stream()?;
        while terms.advance() {
            known.push(std::str::from_utf8(terms.key()).is_ok_and(&passes));
        }
        Ok(Some(Self { ords: column.ords().clone(), passes: known }))
    }

    fn passes(&self, doc: DocId) -> bool {
        self.ords.values_for_doc(doc).any(|ord| self.passes_ord(ord))
    }

    fn passes_ord(&self, ord: u64) -> bool {
        usize::try_from(ord).ok().and_then(|ord| self.passes.get(ord)) == Some(&true)
    }
}
