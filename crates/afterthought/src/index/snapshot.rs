//! One commit, as it stood: what the mirror compares and what a search runs over.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use memchr::memmem;
use tantivy::columnar::{Column, ColumnValues, StrColumn};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use crate::archive::signature_term;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Checkpoint, Field, Message, Session, Tier};

use super::blocks::Blocks;
use super::document::{message_flags, message_hash};
use super::fields::{Fields, NO_TIME, flag};
use super::store::brief;

/// One commit of an index.
#[derive(Clone)]
pub struct Snapshot {
    searcher: Searcher,
    fields: Fields,
    checkpoint: Checkpoint,
    opened: Arc<Opened>,
}

/// What searches read of a searcher again and again: made when it is first read, and then kept.
pub(super) struct Opened {
    segments: Vec<OpenedSegment>,
    rows: OnceLock<u64>,
    tiers: OnceLock<Vec<Option<Tier>>>,
    roots: OnceLock<Vec<usize>>,
    session_ids: OnceLock<SessionIds>,
}

#[derive(Default)]
struct OpenedSegment {
    columns: OnceLock<SegmentColumns>,
    hash: OnceLock<Arc<dyn ColumnValues<u64>>>,
    /// A bit for each searchable field that a document has.
    fields: OnceLock<u32>,
    /// In the order of [`SESSION_TEXTS`]; `None` where no session of the segment has one.
    texts: [OnceLock<Option<StrColumn>>; SESSION_TEXTS.len()],
}

impl Opened {
    pub(super) fn of(searcher: &Searcher) -> Self {
        let segments = searcher.segment_readers().iter().map(|_| OpenedSegment::default()).collect();
        Self {
            segments,
            rows: OnceLock::new(),
            tiers: OnceLock::new(),
            roots: OnceLock::new(),
            session_ids: OnceLock::new(),
        }
    }
}

/// The columns that say what a session row says.
const SESSION_TEXTS: [&str; 10] = [
    "session_id",
    "source",
    "title_text",
    "user",
    "model",
    "parent_id",
    "cwd",
    "git_root",
    "git_branch",
    "end_reason",
];

/// Places in [`SESSION_TEXTS`].
const ID: usize = 0;
const SOURCE: usize = 1;
const TITLE: usize = 2;
const PARENT: usize = 5;

/// Every session's id, one behind the other: quicker to look through than one by one.
struct SessionIds {
    joined: String,
    ends: Vec<usize>,
}

impl SessionIds {
    /// Returns the ids that hold a text, in order.
    fn holding(&self, part: &str) -> Vec<&str> {
        let mut holding = Vec::new();
        let finder = memmem::Finder::new(part);
        let mut from = 0;
        while let Some(at) = finder.find(&self.joined.as_bytes()[from..]).map(|at| from + at) {
            let number = self.ends.partition_point(|end| *end <= at);
            let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            let Some(end) = self.ends.get(number).copied() else { break };
            // What begins in one id and ends in the next stands in neither.
            if at + part.len() <= end {
                holding.push(&self.joined[start..end]);
                from = end;
            } else {
                from = at + 1;
            }
        }
        holding.sort_unstable();
        holding.dedup();
        holding
    }
}

/// What a hit shows of its session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionHead {
    pub(crate) id: String,
    pub(crate) source: String,
    pub(crate) title: Option<String>,
    pub(crate) parent_id: Option<String>,
    pub(crate) started_ms: Option<i64>,
}

/// What the mirror knows of an indexed session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSession {
    /// Its number.
    pub ord: u64,
    /// Hash of what its row said.
    pub hash: u64,
}

/// Signature of one session's documents; compare with [`crate::archive::Signature`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionSums {
    /// How many messages are indexed.
    pub rows: u64,
    /// The highest id among them.
    pub id_max: i64,
    /// The sum over ids and flags.
    pub sum: i64,
}

/// Where a session's document stands, and what its columns say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// Its number.
    pub ord: u64,
    /// When it started, [`NO_TIME`] where unknown.
    pub started_ms: i64,
    pub(crate) segment: u32,
    pub(crate) doc: DocId,
}

/// What one session's visible messages add up to, each counted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// How many there are.
    pub messages: u64,
    /// The latest of their times, [`NO_TIME`] where none is known.
    pub last_ms: i64,
}

impl Default for Activity {
    fn default() -> Self {
        Self { messages: 0, last_ms: NO_TIME }
    }
}

/// An indexed message without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowMark {
    /// The message id.
    pub id: i64,
    /// Its flags.
    pub flags: u64,
}

/// An indexed message, and the hash of what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextMark {
    /// The message.
    pub row: RowMark,
    hash: u64,
}

impl TextMark {
    /// Returns the flags in which the archive's row differs from what was indexed of it.
    #[must_use]
    pub fn flags_changed(&self, message: &Message) -> u64 {
        (self.row.flags & !flag::COPY) ^ message_flags(message)
    }

    /// Tells whether the archive's row has another text, role or time than were indexed.
    #[must_use]
    pub fn text_changed(&self, message: &Message) -> bool {
        self.hash != message_hash(message)
    }
}

/// The columns of one segment that every search reads.
pub struct SegmentColumns {
    /// Message ids.
    pub id: Arc<dyn ColumnValues<i64>>,
    /// Session numbers.
    pub session_ord: Arc<dyn ColumnValues<u64>>,
    /// Flags.
    pub flags: Arc<dyn ColumnValues<u64>>,
    /// Times.
    pub timestamp: Arc<dyn ColumnValues<i64>>,
    /// Ordinals of roles in their dictionary; of none in an empty segment.
    pub role: Arc<dyn ColumnValues<u64>>,
    /// The documents by blocks.
    pub blocks: Blocks,
}

impl SegmentColumns {
    /// Opens the columns of a segment.
    pub fn open(segment: &SegmentReader) -> Result<Self> {
        let fast = segment.fast_fields();
        let open = || -> tantivy::Result<Self> {
            Ok(Self {
                id: values(fast.i64("id")?, 0),
                session_ord: values(fast.u64("session_ord")?, 0),
                flags: values(fast.u64("flags")?, 0),
                timestamp: values(fast.i64("timestamp")?, 0),
                role: match fast.str("role")? {
                    Some(role) => values(role.ords().clone(), u64::MAX),
                    None => values(Column::build_empty_column(segment.max_doc()), u64::MAX),
                },
                blocks: Blocks::of(segment),
            })
        };
        open().map_err(failed)
    }
}

/// Returns one value for each document. Where all have exactly one, nothing is asked first.
fn values<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: Column<T>,
    default: T,
) -> Arc<dyn ColumnValues<T>> {
    if column.get_cardinality().is_full() { column.values } else { column.first_or_default_col(default) }
}

impl Snapshot {
    pub(super) fn new(
        searcher: Searcher,
        fields: Fields,
        checkpoint: Checkpoint,
        opened: Arc<Opened>,
    ) -> Self {
        debug_assert_eq!(opened.segments.len(), searcher.segment_readers().len());
        Self { searcher, fields, checkpoint, opened }
    }

    /// Returns a number that is the same for the same documents with the same scores: of the commit,
    /// and of the segments that merges made of it.
    #[must_use]
    pub fn identity(&self) -> u64 {
        let mut hasher = Xxh3::new();
        for (id, deletes) in self.searcher.generation().segments() {
            hasher.update(id.uuid_string().as_bytes());
            hasher.update(&deletes.map_or(u64::MAX, |opstamp| opstamp).to_le_bytes());
        }
        hasher.digest()
    }

    /// Returns the tier of every session's messages, by number: what its source says. Read once for all
    /// snapshots of the same segments.
    pub fn tiers(&self) -> Result<&[Option<Tier>]> {
        if let Some(tiers) = self.opened.tiers.get() {
            return Ok(tiers);
        }
        let mut tiers = Vec::new();
        for segment_ord in 0..self.segments() {
            let Some(sources) = self.session_texts(segment_ord, SOURCE)? else { continue };
            let of_source = tiers_of(sources)?;
            // Sessions that are not in the table are of none.
            if of_source.iter().all(Option::is_none) {
                continue;
            }
            let columns = self.columns(segment_ord)?;
            self.each_session_of(segment_ord, |doc| {
                let source = sources.ords().first(doc).and_then(|ord| usize::try_from(ord).ok());
                let tier = source.and_then(|source| of_source.get(source).copied()).flatten();
                if tier.is_some() {
                    let ord = index_of(columns.session_ord.get_val(doc))?;
                    tiers.resize(tiers.len().max(ord + 1), None);
                    tiers[ord] = tier;
                }
                Ok(())
            })?;
        }
        Ok(self.opened.tiers.get_or_init(|| tiers))
    }

    /// Returns the number of the session at the top of every session's lineage, by number; of a circle,
    /// the member whose id sorts first. Read once for all snapshots of the same segments.
    pub fn roots(&self) -> Result<&[usize]> {
        if let Some(roots) = self.opened.roots.get() {
            return Ok(roots);
        }
        let roots = roots(&self.attributes(["session_id", "parent_id"])?);
        Ok(self.opened.roots.get_or_init(|| roots))
    }

    /// Returns the same as if there were no sessions but this person's.
    pub(crate) fn roots_of(&self, person: &str) -> Result<Vec<usize>> {
        let table = self.attributes(["session_id", "parent_id", "user"])?;
        let own =
            table.into_iter().map(
                |[id, parent, user]| {
                    if user.as_deref() == Some(person) { [id, parent] } else { [None, None] }
                },
            );
        Ok(roots(&own.collect::<Vec<_>>()))
    }

    /// Returns the parent of a session where it is this person's too.
    pub(crate) fn own_parent(&self, session: &Session, person: &str) -> Result<Option<String>> {
        let Some(id) = &session.parent_id else { return Ok(None) };
        let parent = self.session(id)?.map(|(_, parent)| parent);
        Ok(parent.filter(|parent| parent.user.as_deref() == Some(person)).map(|parent| parent.id))
    }

    /// Tells of every session, by number, whether it is this person's; unknown numbers are not.
    pub(crate) fn sessions_of(&self, person: &str) -> Result<Vec<bool>> {
        let users = self.attributes(["user"])?;
        Ok(users.into_iter().map(|[user]| user.as_deref() == Some(person)).collect())
    }

    /// Counts the indexed messages that have a field, of sessions that pass. One pass over them.
    pub(crate) fn rows_with(&self, field: Field, passes: impl Fn(u64) -> bool) -> Result<u64> {
        let term = Term::from_field_u64(self.fields.has, field as u64);
        let mut rows = 0;
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            if !self.has_field(ord, field)? {
                continue;
            }
            let columns = self.columns(ord)?;
            each_doc(segment, &term, |doc| {
                rows += u64::from(passes(columns.session_ord.get_val(doc)));
                Ok(())
            })?;
        }
        Ok(rows)
    }

    /// Returns the columns of a segment. Opened once for all snapshots of the same segments.
    pub fn columns(&self, segment_ord: usize) -> Result<&SegmentColumns> {
        let kept = &self.opened.segments[segment_ord].columns;
        if let Some(columns) = kept.get() {
            return Ok(columns);
        }
        let columns = SegmentColumns::open(&self.searcher.segment_readers()[segment_ord])?;
        Ok(kept.get_or_init(|| columns))
    }

    /// Returns what this commit stands for.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Returns the field handles.
    #[must_use]
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Returns tantivy's view of the commit.
    #[must_use]
    pub fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    /// Returns how many segments the commit has.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.searcher.segment_readers().len()
    }

    /// Tells whether a document of a segment has a field. Asked before the field's index is opened: for a field
    /// that is not there tantivy makes an empty one, which costs a process half a millisecond.
    pub(crate) fn has_field(&self, segment_ord: usize, field: Field) -> Result<bool> {
        let kept = &self.opened.segments[segment_ord].fields;
        if let Some(fields) = kept.get() {
            return Ok(fields >> field as u32 & 1 == 1);
        }
        let segment = &self.searcher.segment_readers()[segment_ord];
        let index = segment.inverted_index(self.fields.has).map_err(failed)?;
        let mut fields = 0;
        for field in Field::ALL {
            let has = Term::from_field_u64(self.fields.has, field as u64);
            let documents = index.doc_freq(&has).map_err(|error| failed(error.into()))?;
            fields |= u32::from(documents > 0) << field as u32;
        }
        Ok(kept.get_or_init(|| fields) >> field as u32 & 1 == 1)
    }

    /// Counts the documents whose field holds a folded word, deleted ones too.
    fn doc_freq(&self, field: Field, word: &str) -> Result<u64> {
        let term = Term::from_field_text(self.fields.text(field), word);
        let mut documents = 0;
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            if self.has_field(ord, field)? {
                let index = segment.inverted_index(term.field()).map_err(failed)?;
                documents += u64::from(index.doc_freq(&term).map_err(|error| failed(error.into()))?);
            }
        }
        Ok(documents)
    }

    /// Returns the column of hashes of a segment. Opened once for all snapshots of the same segments.
    fn hashes(&self, segment_ord: usize) -> Result<&Arc<dyn ColumnValues<u64>>> {
        let kept = &self.opened.segments[segment_ord].hash;
        if let Some(hash) = kept.get() {
            return Ok(hash);
        }
        let hash = self.searcher.segment_readers()[segment_ord].fast_fields();
        let hash = hash.column_first_or_default("hash").map_err(failed)?;
        Ok(kept.get_or_init(|| hash))
    }

    /// Returns a column of [`SESSION_TEXTS`], by its place there; `None` if no session of the segment has
    /// one. Opened once for all snapshots of the same segments.
    fn session_texts(&self, segment_ord: usize, name: usize) -> Result<Option<&StrColumn>> {
        let kept = &self.opened.segments[segment_ord].texts[name];
        if let Some(column) = kept.get() {
            return Ok(column.as_ref());
        }
        let fast = self.searcher.segment_readers()[segment_ord].fast_fields();
        let column = fast.str(SESSION_TEXTS[name]).map_err(failed)?.filter(|column| column.num_terms() > 0);
        Ok(kept.get_or_init(|| column).as_ref())
    }

    /// Counts the indexed messages.
    pub fn rows(&self) -> Result<u64> {
        if let Some(rows) = self.opened.rows.get() {
            return Ok(*rows);
        }
        let kind = Term::from_field_u64(self.fields.kind, 1);
        let mut sessions = 0;
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            if self.session_texts(ord, SOURCE)?.is_none() {
                continue;
            }
            if segment.has_deletes() {
                self.each_session_of(ord, |_| {
                    sessions += 1;
                    Ok(())
                })?;
            } else {
                let index = segment.inverted_index(kind.field()).map_err(failed)?;
                sessions += u64::from(index.doc_freq(&kind).map_err(|error| failed(error.into()))?);
            }
        }
        let rows = self.searcher.num_docs() - sessions;
        Ok(*self.opened.rows.get_or_init(|| rows))
    }

    /// Returns every session's number and hash, by id.
    pub fn known_sessions(&self) -> Result<HashMap<String, KnownSession>> {
        let mut known = HashMap::new();
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let (columns, hash) = (self.columns(ord)?, self.hashes(ord)?);
            let ids = Strings::load(segment, "session_id")?;
            self.each_session_of(ord, |doc| {
                let session = KnownSession { ord: columns.session_ord.get_val(doc), hash: hash.get_val(doc) };
                known.insert(ids.get(doc).unwrap_or_default().to_owned(), session);
                Ok(())
            })?;
        }
        Ok(known)
    }

    /// Returns the chosen attributes of every session, by number; unknown numbers are empty.
    pub fn attributes<const N: usize>(&self, names: [&str; N]) -> Result<Vec<[Option<Arc<str>>; N]>> {
        let mut table = Vec::new();
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let columns = self.columns(ord)?;
            let mut strings = Vec::with_capacity(N);
            for name in names {
                strings.push(Strings::load(segment, name)?);
            }
            self.each_session_of(ord, |doc| {
                let ord = index_of(columns.session_ord.get_val(doc))?;
                if table.len() <= ord {
                    table.resize(ord + 1, [const { None }; N]);
                }
                table[ord] = std::array::from_fn(|at| strings[at].shared(doc));
                Ok(())
            })?;
        }
        Ok(table)
    }

    /// Returns every value that a column of the commit knows, those of deleted documents too.
    pub(crate) fn values(&self, name: &str) -> Result<Vec<Arc<str>>> {
        let mut values = Vec::new();
        for segment in self.searcher.segment_readers() {
            values.extend(Strings::load(segment, name)?.values);
        }
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    /// Returns the signature of every session's documents, by number. One pass over three columns.
    pub fn sums(&self) -> Result<Vec<SessionSums>> {
        let mut sums: Vec<SessionSums> = Vec::new();
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let columns = self.columns(ord)?;
            for doc in segment.doc_ids_alive() {
                let flags = columns.flags.get_val(doc);
                if flags & flag::SESSION != 0 {
                    continue;
                }
                let ord = index_of(columns.session_ord.get_val(doc))?;
                if sums.len() <= ord {
                    sums.resize(ord + 1, SessionSums::default());
                }
                let id = columns.id.get_val(doc);
                let of = &mut sums[ord];
                of.id_max = if of.rows == 0 { id } else { of.id_max.max(id) };
                of.rows += 1;
                of.sum += signature_term(id, flags & flag::ACTIVE != 0);
            }
        }
        Ok(sums)
    }

    /// Returns where every session's document stands.
    pub fn session_places(&self) -> Result<Vec<SessionPlace>> {
        let mut places = Vec::new();
        for segment_ord in (0..).take(self.segments()) {
            let columns = self.columns(segment_ord as usize)?;
            self.each_session_of(segment_ord as usize, |doc| {
                let (ord, started_ms) = (columns.session_ord.get_val(doc), columns.timestamp.get_val(doc));
                places.push(SessionPlace { ord, started_ms, segment: segment_ord, doc });
                Ok(())
            })?;
        }
        Ok(places)
    }

    /// Returns what every session's messages add up to, by number. One pass over three columns.
    pub fn activity(&self) -> Result<Vec<Activity>> {
        let mut activity: Vec<Activity> = Vec::new();
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let columns = self.columns(ord)?;
            for doc in segment.doc_ids_alive() {
                let flags = columns.flags.get_val(doc);
                if flags & flag::SESSION != 0 || !flag::is_listed(flags) {
                    continue;
                }
                let ord = index_of(columns.session_ord.get_val(doc))?;
                if activity.len() <= ord {
                    activity.resize(ord + 1, Activity::default());
                }
                activity[ord].messages += 1;
                activity[ord].last_ms = activity[ord].last_ms.max(columns.timestamp.get_val(doc));
            }
        }
        Ok(activity)
    }

    /// Returns when one session was last active: the latest of its listed messages, else its start.
    pub fn last_activity(&self, session_ord: u64) -> Result<Option<i64>> {
        let term = Term::from_field_u64(self.fields.session_ord, session_ord);
        let (mut last, mut started) = (NO_TIME, NO_TIME);
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let columns = self.columns(ord)?;
            each_doc(segment, &term, |doc| {
                let (flags, time) = (columns.flags.get_val(doc), columns.timestamp.get_val(doc));
                if flags & flag::SESSION != 0 {
                    started = time;
                } else if flag::is_listed(flags) {
                    last = last.max(time);
                }
                Ok(())
            })?;
        }
        Ok([last, started].into_iter().find(|time| *time != NO_TIME))
    }

    /// Returns one session's indexed messages, by id.
    pub fn rows_of(&self, session_ord: u64) -> Result<Vec<RowMark>> {
        let term = Term::from_field_u64(self.fields.session_ord, session_ord);
        let mut rows = Vec::new();
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let columns = self.columns(ord)?;
            each_doc(segment, &term, |doc| {
                let flags = columns.flags.get_val(doc);
                if flags & flag::SESSION == 0 {
                    rows.push(RowMark { id: columns.id.get_val(doc), flags });
                }
                Ok(())
            })?;
        }
        rows.sort_unstable_by_key(|row| row.id);
        Ok(rows)
    }

    /// Returns one session's indexed messages with the hashes of what they say, by id.
    pub fn texts_of(&self, session_ord: u64) -> Result<Vec<TextMark>> {
        let term = Term::from_field_u64(self.fields.session_ord, session_ord);
        let mut marks = Vec::new();
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let (columns, hash) = (self.columns(ord)?, self.hashes(ord)?);
            each_doc(segment, &term, |doc| {
                let row = RowMark { id: columns.id.get_val(doc), flags: columns.flags.get_val(doc) };
                if row.flags & flag::SESSION == 0 {
                    marks.push(TextMark { row, hash: hash.get_val(doc) });
                }
                Ok(())
            })?;
        }
        marks.sort_unstable_by_key(|mark| mark.row.id);
        Ok(marks)
    }

    /// Returns how many listed messages of a session stand before each of these ids; `None` for one that is
    /// not listed itself. One pass over the session's rows.
    pub(crate) fn places_of(&self, session_ord: u64, ids: &[i64]) -> Result<Vec<Option<u64>>> {
        let term = Term::from_field_u64(self.fields.session_ord, session_ord);
        let mut places = vec![(0, false); ids.len()];
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let columns = self.columns(ord)?;
            each_doc(segment, &term, |doc| {
                let flags = columns.flags.get_val(doc);
                if flags & flag::SESSION == 0 && flag::is_listed(flags) {
                    let row = columns.id.get_val(doc);
                    for ((before, is_listed), id) in places.iter_mut().zip(ids) {
                        *before += u64::from(row < *id);
                        *is_listed |= row == *id;
                    }
                }
                Ok(())
            })?;
        }
        Ok(places.into_iter().map(|(before, is_listed)| is_listed.then_some(before)).collect())
    }

    /// Returns some indexed messages, picked by `seed` from all of them; at most `count`, as places that
    /// hold none are passed over.
    pub fn some_texts(&self, count: usize, seed: u64) -> Result<Vec<TextMark>> {
        let segments = self.searcher.segment_readers();
        let docs: u64 = segments.iter().map(|segment| u64::from(segment.max_doc())).sum();
        let mut marks = Vec::new();
        // Drawing with replacement from a few would leave some of them out.
        let draws_all = docs <= count as u64;
        for number in 0..count.min(usize::try_from(docs).unwrap_or(count)) {
            let drawn = xxh3_64_with_seed(&number.to_le_bytes(), seed) % docs;
            let mut place = if draws_all { number as u64 } else { drawn };
            for (ord, segment) in (0..).zip(segments) {
                let size = u64::from(segment.max_doc());
                if place >= size {
                    place -= size;
                    continue;
                }
                let doc = DocId::try_from(place).expect("a place inside a segment");
                let mark = self.text_at(ord, doc)?;
                if mark.row.flags & flag::SESSION == 0 && !segment.is_deleted(doc) {
                    marks.push(mark);
                }
                break;
            }
        }
        Ok(marks)
    }

    /// Returns the message at a place that a search found, with the hash of what it says.
    pub(crate) fn text_at(&self, segment_ord: u32, doc: DocId) -> Result<TextMark> {
        let segment_ord = segment_ord as usize;
        let (columns, hash) = (self.columns(segment_ord)?, self.hashes(segment_ord)?);
        let row = RowMark { id: columns.id.get_val(doc), flags: columns.flags.get_val(doc) };
        Ok(TextMark { row, hash: hash.get_val(doc) })
    }

    /// Returns a session by its archive id, with its number; `None` if it is not indexed.
    pub fn session(&self, id: &str) -> Result<Option<(u64, Session)>> {
        let Some((segment_ord, doc)) = self.session_place(id)? else { return Ok(None) };
        let ord = self.columns(segment_ord as usize)?.session_ord.get_val(doc);
        Ok(Some((ord, self.session_at(segment_ord, doc)?)))
    }

    /// Returns what a hit shows of a session, by its archive id; `None` if it is not indexed.
    pub(crate) fn session_head(&self, id: &str) -> Result<Option<SessionHead>> {
        let place = self.session_place(id)?;
        place.map(|(segment_ord, doc)| self.session_head_at(segment_ord, doc)).transpose()
    }

    /// Returns where a session's document stands.
    fn session_place(&self, id: &str) -> Result<Option<(u32, DocId)>> {
        let term = self.fields.session_term(id);
        for (ord, segment) in (0..).zip(self.searcher.segment_readers()) {
            // Most segments of a large index have no session.
            if self.session_texts(ord as usize, ID)?.is_none() {
                continue;
            }
            let mut found = None;
            each_doc(segment, &term, |doc| {
                found = Some(doc);
                Ok(())
            })?;
            if let Some(doc) = found {
                return Ok(Some((ord, doc)));
            }
        }
        Ok(None)
    }

    /// Returns the session document at a place that a search found.
    pub(crate) fn session_at(&self, segment_ord: u32, doc: DocId) -> Result<Session> {
        let head = self.session_head_at(segment_ord, doc)?;
        let columns = self.columns(segment_ord as usize)?;
        let text = |name| self.session_text(segment_ord, name, doc);
        let flags = columns.flags.get_val(doc);
        Ok(Session {
            id: head.id,
            source: head.source,
            title: head.title,
            user: text(3)?,
            model: text(4)?,
            parent_id: head.parent_id,
            cwd: text(6)?,
            git_root: text(7)?,
            git_branch: text(8)?,
            end_reason: text(9)?,
            started_ms: head.started_ms,
            archived: flags & flag::ARCHIVED != 0,
            orphan: flags & flag::ORPHAN != 0,
        })
    }

    /// Returns what a hit shows of the session document at a place that a search found.
    pub(crate) fn session_head_at(&self, segment_ord: u32, doc: DocId) -> Result<SessionHead> {
        let text = |name| self.session_text(segment_ord, name, doc);
        let started_ms = self.columns(segment_ord as usize)?.timestamp.get_val(doc);
        Ok(SessionHead {
            id: text(ID)?.unwrap_or_default(),
            source: text(SOURCE)?.unwrap_or_default(),
            title: text(TITLE)?,
            parent_id: text(PARENT)?,
            started_ms: Some(started_ms).filter(|ms| *ms != NO_TIME),
        })
    }

    fn session_text(&self, segment_ord: u32, name: usize, doc: DocId) -> Result<Option<String>> {
        let Some(column) = self.session_texts(segment_ord as usize, name)? else { return Ok(None) };
        let Some(ord) = column.ords().first(doc) else { return Ok(None) };
        let mut text = String::new();
        let found = column.ord_to_str(ord, &mut text).map_err(|error| failed(error.into()))?;
        Ok(found.then_some(text))
    }

    /// Returns the ids of the sessions whose ids hold a text, in order; those of deleted documents too.
    pub(crate) fn session_ids_holding(&self, part: &str) -> Result<Vec<&str>> {
        if let Some(ids) = self.opened.session_ids.get() {
            return Ok(ids.holding(part));
        }
        let mut ids = SessionIds { joined: String::new(), ends: Vec::new() };
        for ord in 0..self.segments() {
            let Some(column) = self.session_texts(ord, ID)? else { continue };
            each_value(column, |id| {
                ids.joined.push_str(&String::from_utf8_lossy(id));
                ids.ends.push(ids.joined.len());
            })?;
        }
        Ok(self.opened.session_ids.get_or_init(|| ids).holding(part))
    }

    /// Tells whether a message is indexed, under whichever session.
    pub fn has_message(&self, id: i64) -> Result<bool> {
        self.holds(&Term::from_field_i64(self.fields.key, id))
    }

    /// Tells whether a field of any document holds a folded word.
    pub fn has_word(&self, field: Field, word: &str) -> Result<bool> {
        if self.doc_freq(field, word)? == 0 {
            return Ok(false);
        }
        self.holds(&Term::from_field_text(self.fields.text(field), word))
    }

    /// Tells whether any document has a term. Dictionaries know terms of deleted documents too, until a
    /// merge; this does not.
    pub fn holds(&self, term: &Term) -> Result<bool> {
        for segment in self.searcher.segment_readers() {
            let index = segment.inverted_index(term.field()).map_err(failed)?;
            if !segment.has_deletes() {
                if index.doc_freq(term).map_err(|error| failed(error.into()))? > 0 {
                    return Ok(true);
                }
                continue;
            }
            let postings = index.read_postings(term, IndexRecordOption::Basic);
            let Some(mut postings) = postings.map_err(|error| failed(error.into()))? else { continue };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if !segment.is_deleted(doc) {
                    return Ok(true);
                }
                doc = postings.advance();
            }
        }
        Ok(false)
    }

    /// Tells whether a document of a session that passes has a term. Walks its postings up to the first.
    pub(crate) fn holds_in(&self, term: &Term, passes: impl Fn(u64) -> bool) -> Result<bool> {
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let index = segment.inverted_index(term.field()).map_err(failed)?;
            let postings = index.read_postings(term, IndexRecordOption::Basic);
            let Some(mut postings) = postings.map_err(|error| failed(error.into()))? else { continue };
            let columns = self.columns(ord)?;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if !segment.is_deleted(doc) && passes(columns.session_ord.get_val(doc)) {
                    return Ok(true);
                }
                doc = postings.advance();
            }
        }
        Ok(false)
    }

    /// Returns words that stand in one field and in no other, those in most messages first. Words of
    /// four letters and more; one pass over the field's dictionaries.
    pub fn terms_only_in(&self, field: Field, limit: usize) -> Result<Vec<String>> {
        let mut counts: HashMap<String, u32> = HashMap::new();
        for segment in self.searcher.segment_readers() {
            let index = segment.inverted_index(self.fields.text(field)).map_err(failed)?;
            let mut terms = index.terms().stream().map_err(|error| failed(error.into()))?;
            while terms.advance() {
                let Ok(word) = std::str::from_utf8(terms.key()) else { continue };
                if word.chars().count() >= 4 && word.chars().all(char::is_alphabetic) {
                    *counts.entry(word.to_owned()).or_default() += terms.value().doc_freq;
                }
            }
        }
        let mut words: Vec<(String, u32)> = counts.into_iter().collect();
        words.sort_unstable_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then_with(|| a.cmp(b)));
        let mut only = Vec::new();
        for (word, _) in words {
            if only.len() == limit {
                break;
            }
            let elsewhere = Field::ALL.into_iter().filter(|other| *other != field);
            let mut is_elsewhere = false;
            for other in elsewhere {
                let term = Term::from_field_text(self.fields.text(other), &word);
                is_elsewhere |= self.searcher.doc_freq(&term).map_err(failed)? > 0;
            }
            if !is_elsewhere {
                only.push(word);
            }
        }
        Ok(only)
    }

    /// Returns the ids of the messages whose field holds a folded word, lowest first.
    pub fn messages_with(&self, field: Field, word: &str) -> Result<Vec<i64>> {
        let term = Term::from_field_text(self.fields.text(field), word);
        let mut ids = Vec::new();
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let columns = self.columns(ord)?;
            each_doc(segment, &term, |doc| {
                ids.push(columns.id.get_val(doc));
                Ok(())
            })?;
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns the ids of rows that could be read only in part, lowest first, at most `limit`.
    pub fn damaged_rows(&self, limit: usize, passes: impl Fn(u64) -> bool) -> Result<(u64, Vec<i64>)> {
        let mut ids = Vec::new();
        for (ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let columns = self.columns(ord)?;
            let damaged = |doc: &DocId| {
                columns.flags.get_val(*doc) & flag::DAMAGED != 0 && passes(columns.session_ord.get_val(*doc))
            };
            ids.extend(segment.doc_ids_alive().filter(damaged).map(|doc| columns.id.get_val(doc)));
        }
        ids.sort_unstable();
        let count = ids.len() as u64;
        ids.truncate(limit);
        Ok((count, ids))
    }

    fn each_session_of(&self, segment_ord: usize, visit: impl FnMut(DocId) -> Result<()>) -> Result<()> {
        // Every session has a source.
        if self.session_texts(segment_ord, SOURCE)?.is_none() {
            return Ok(());
        }
        let segment = &self.searcher.segment_readers()[segment_ord];
        each_doc(segment, &Term::from_field_u64(self.fields.kind, 1), visit)
    }
}

/// Walks every session up to its root, over what other walks found. Parents that are not there end one.
fn roots(sessions: &[[Option<Arc<str>>; 2]]) -> Vec<usize> {
    let numbered = sessions.iter().enumerate().filter_map(|(ord, [id, _])| Some((id.as_deref()?, ord)));
    let by_id: HashMap<&str, usize> = numbered.collect();
    let parent = |ord: usize| sessions[ord][1].as_deref().and_then(|id| by_id.get(id)).copied();
    let mut roots: Vec<Option<usize>> = vec![None; sessions.len()];
    // The walk that last came by, to see a circle.
    let mut walked = vec![usize::MAX; sessions.len()];
    for start in 0..sessions.len() {
        let (mut path, mut at): (Vec<usize>, _) = (Vec::new(), start);
        let root = loop {
            if let Some(root) = roots[at] {
                break root;
            }
            if walked[at] == start {
                let circle = path.iter().position(|member| *member == at).unwrap_or(0);
                break path[circle..]
                    .iter()
                    .copied()
                    .min_by_key(|member| &sessions[*member][0])
                    .unwrap_or(at);
            }
            walked[at] = start;
            path.push(at);
            match parent(at) {
                Some(parent) => at = parent,
                None => break at,
            }
        };
        for member in path {
            roots[member] = Some(root);
        }
    }
    roots.into_iter().enumerate().map(|(ord, root)| root.unwrap_or(ord)).collect()
}

/// Returns the tier of each source that a column knows, by its number there.
fn tiers_of(sources: &StrColumn) -> Result<Vec<Option<Tier>>> {
    let mut tiers = Vec::new();
    each_value(sources, |source| tiers.push(std::str::from_utf8(source).ok().and_then(Tier::of_source)))?;
    Ok(tiers)
}

/// Visits the values of a column's dictionary, in order.
fn each_value(column: &StrColumn, mut visit: impl FnMut(&[u8])) -> Result<()> {
    let mut values = column.dictionary().stream().map_err(|error| failed(error.into()))?;
    while values.advance() {
        visit(values.key());
    }
    Ok(())
}

fn each_doc(segment: &SegmentReader, term: &Term, mut visit: impl FnMut(DocId) -> Result<()>) -> Result<()> {
    let index = segment.inverted_index(term.field()).map_err(failed)?;
    let postings =
        index.read_postings(term, IndexRecordOption::Basic).map_err(|error| failed(error.into()))?;
    let Some(mut postings) = postings else { return Ok(()) };
    while postings.doc() != TERMINATED {
        if !segment.is_deleted(postings.doc()) {
            visit(postings.doc())?;
        }
        postings.advance();
    }
    Ok(())
}

/// A text column with its whole dictionary in memory: cheap to read for many documents.
struct Strings {
    values: Vec<Arc<str>>,
    column: Option<StrColumn>,
}

impl Strings {
    fn load(segment: &SegmentReader, name: &str) -> Result<Self> {
        let column = segment.fast_fields().str(name).map_err(failed)?;
        let mut values = Vec::new();
        if let Some(column) = &column {
            each_value(column, |value| values.push(Arc::from(String::from_utf8_lossy(value))))?;
        }
        Ok(Self { values, column })
    }

    fn shared(&self, doc: DocId) -> Option<Arc<str>> {
        let ord = self.column.as_ref()?.ords().first(doc)?;
        self.values.get(usize::try_from(ord).ok()?).cloned()
    }

    fn get(&self, doc: DocId) -> Option<&str> {
        let ord = self.column.as_ref()?.ords().first(doc)?;
        self.values.get(usize::try_from(ord).ok()?).map(|value| &**value)
    }
}

fn index_of(session_ord: u64) -> Result<usize> {
    usize::try_from(session_ord)
        .map_err(|error| Error::new(ErrorKind::IndexDamaged, "read session", session_ord).because(error))
}

/// A failed read of a commit that opened well.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err as it is")]
pub(crate) fn failed(error: tantivy::TantivyError) -> Error {
    Error::new(ErrorKind::IndexDamaged, "read", "the index").because(brief(&error)).hint("run: aft reindex")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_by_their_parts_and_not_across_each_other() {
        let mut ids = SessionIds { joined: String::new(), ends: Vec::new() };
        for id in ["b-12345678", "", "a-12345678-1234", "567812"] {
            ids.joined.push_str(id);
            ids.ends.push(ids.joined.len());
        }
        assert_eq!(ids.holding("12345678"), ["a-12345678-1234", "b-12345678"]);
        assert_eq!(ids.holding("5678a-1"), [""; 0]);
        assert_eq!(ids.holding("567812"), ["567812"]);
    }

    #[track_caller]
    fn check(sessions: &[(&str, &str)], expected: &[usize]) {
        let text = |text: &str| Some(Arc::from(text)).filter(|text: &Arc<str>| !text.is_empty());
        let table: Vec<_> = sessions.iter().map(|(id, parent)| [text(id), text(parent)]).collect();
        assert_eq!(roots(&table), expected);
    }

    #[test]
    fn every_walk_ends_at_one_root() {
        check(&[("a", ""), ("b", "a"), ("c", "b"), ("d", "gone"), ("", "a")], &[0, 0, 0, 3, 0]);
        check(&[("c", "b"), ("b", "a"), ("a", "")], &[2, 2, 2]);
    }

    #[test]
    fn a_circle_has_one_root_for_all_and_for_those_that_lead_into_it() {
        check(&[("x", "c"), ("c", "b"), ("b", "a"), ("a", "c"), ("self", "self")], &[3, 3, 3, 3, 4]);
    }
}
