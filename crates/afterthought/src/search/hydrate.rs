//! Fetches the rows of a page from the archive and makes hits of them. A row that is not what was
//! indexed is never shown with another's score: it is reported, and the page is filled up again.

use std::collections::HashMap;
use std::rc::Rc;

use crate::error::Result;
use crate::index::{SessionHead, Snapshot, TextMark};
use crate::model::{Field, Message};
use crate::text::Analyzer;

use super::collect::Ranked;
use super::deadline::Deadline;
use super::evidence::Evidence;
use super::explain::{Account, Work, accounts};
use super::gather::Found;
use super::order::{Key, tier};
use super::page::Hit;
use super::snippet::Needles;

/// Steps from a session to the top of its lineage; longer chains are cycles or damage.
const LINEAGE_STEPS_MAX: usize = 1_000;

/// Reads messages by id, in order; `None` where there is none (and for a title, which has no id).
pub type Fetch<'a> = &'a mut dyn FnMut(&[Option<i64>]) -> Result<Vec<Option<Message>>>;

/// An archive that is searched.
pub struct Source<'a> {
    /// The name that its hits bear.
    pub name: &'a str,
    /// What is searched.
    pub snapshot: &'a Snapshot,
    /// Reads the messages that are shown.
    pub fetch: Fetch<'a>,
}

/// What became of the documents of a page.
pub(super) struct Hydrated {
    pub(super) hits: Vec<(Key, Hit)>,
    /// Messages that the archive no longer holds as they were indexed.
    pub(super) stale: Vec<i64>,
}

/// Rows read at once: they may be large.
const CHUNK_ROWS: usize = 50;

/// Makes hits of the documents found, in their order. Fails at the deadline.
pub(super) fn hydrate(
    source: &mut Source<'_>,
    ranked: &Ranked<'_>,
    evidence: &Evidence,
    found: &[Found],
    deadline: &Deadline,
    work: &mut Work,
) -> Result<Hydrated> {
    let mut hydrated = Hydrated { hits: Vec::with_capacity(found.len()), stale: Vec::new() };
    if found.is_empty() {
        return Ok(hydrated);
    }
    let snapshot = source.snapshot;
    let places = places(snapshot, found)?;
    let mut accounts = accounts(ranked, evidence, found)?.into_iter();
    let mut maker = HitMaker {
        archive: source.name,
        snapshot,
        ranked,
        needles: Needles::of(ranked),
        analyzer: Analyzer::default(),
        sessions: HashMap::new(),
        snippet_bytes: 0,
    };
    for chunk in found.chunks(CHUNK_ROWS) {
        deadline.check("reading its hits took longer than the deadline", "ask for fewer hits")?;
        let ids: Vec<Option<i64>> =
            chunk.iter().map(|found| (!found.is_session).then_some(found.id)).collect();
        let messages = (source.fetch)(&ids)?;
        work.archive_rows_read += messages.iter().flatten().count() as u64;
        for ((found, account), message) in chunk.iter().zip(&mut accounts).zip(messages) {
            if found.is_session {
                hydrated.hits.push((found.key, maker.title(found, &account)?));
                continue;
            }
            let mark = snapshot.text_at(found.segment, found.doc)?;
            match message {
                Some(message) if is_as_indexed(&mark, &message) => {
                    let index = places.get(&(found.session_ord, found.id)).copied().flatten();
                    let hit = maker.message(found, &message, mark.row.flags, index, &account)?;
                    hydrated.hits.push((found.key, hit));
                }
                _ => hydrated.stale.push(found.id),
            }
        }
    }
    work.snippet_bytes += maker.snippet_bytes;
    Ok(hydrated)
}

/// Makes hits of one answer.
struct HitMaker<'a> {
    archive: &'a str,
    snapshot: &'a Snapshot,
    ranked: &'a Ranked<'a>,
    needles: Needles,
    analyzer: Analyzer,
    /// Sessions that were looked up, with the tops of their lineages.
    sessions: HashMap<String, Rc<Known>>,
    snippet_bytes: u64,
}

/// A session as its hits show it.
struct Known {
    head: SessionHead,
    root: String,
}

impl HitMaker<'_> {
    fn title(&mut self, found: &Found, account: &Account<'_>) -> Result<Hit> {
        let head = self.snapshot.session_head_at(found.segment, found.doc)?;
        let session = Known { root: self.root(&head)?, head };
        // One without a title was found by its id.
        let title = session.head.title.as_ref().unwrap_or(&session.head.id);
        let shown = Shown { session: &session, message: None, flags: 0, index: None, text: title, account };
        self.hit(found, &shown)
    }

    fn message(
        &mut self,
        found: &Found,
        message: &Message,
        flags: u64,
        index: Option<u64>,
        account: &Account<'_>,
    ) -> Result<Hit> {
        let session = self.session(&message.session_id)?;
        let text = message.text(best_field(account));
        self.hit(found, &Shown { session: &session, message: Some(message), flags, index, text, account })
    }

    fn root(&self, session: &SessionHead) -> Result<String> {
        root(self.snapshot, session, self.ranked.request.filters.confined_to.as_deref())
    }

    fn session(&mut self, id: &str) -> Result<Rc<Known>> {
        if let Some(known) = self.sessions.get(id) {
            return Ok(Rc::clone(known));
        }
        let head = self.snapshot.session_head(id)?.unwrap_or_else(|| SessionHead {
            id: id.to_owned(),
            source: "unknown".to_owned(),
            ..SessionHead::default()
        });
        let known = Rc::new(Known { root: self.root(&head)?, head });
        self.sessions.insert(id.to_owned(), Rc::clone(&known));
        Ok(known)
    }

    fn hit(&mut self, found: &Found, shown: &Shown<'_>) -> Result<Hit> {
        let held = shown.account.terms();
        let terms = self.ranked.plan.terms.iter().enumerate();
        let terms = terms.filter(|(bit, _)| held >> bit & 1 == 1);
        let (snippet, analyzed) = self.needles.snippet(&mut self.analyzer, shown.text);
        self.snippet_bytes += analyzed as u64;
        let head = &shown.session.head;
        let time = shown.message.map_or(head.started_ms, |message| message.timestamp_ms);
        let fields = shown.account.fields();
        Ok(Hit {
            message_id: shown.message.map(|message| message.id),
            root_session_id: shown.session.root.clone(),
            session_id: head.id.clone(),
            archive: self.archive.to_owned(),
            index: shown.index,
            role: shown.message.map(|message| message.role.clone()),
            source: head.source.clone(),
            title: head.title.clone(),
            timestamp: time.and_then(crate::time::rfc3339),
            score: if self.ranked.order.by_score() { found.key.score } else { shown.account.score() },
            tier: tier(self.snapshot, shown.flags, found.session_ord)?,
            origin: best_field(shown.account).origin(),
            matched_fields: fields,
            matched_terms: terms.map(|(_, term)| term.label.clone()).collect(),
            terms_total: self.ranked.plan.terms.len(),
            coverage: self.ranked.coverage(held),
            snippet: snippet.text,
            highlights: snippet.highlights,
            more_in_session: found.more,
            explain: self.ranked.request.explain.then(|| shown.account.explanation()),
        })
    }
}

/// What a hit shows besides its score.
struct Shown<'a> {
    session: &'a Known,
    message: Option<&'a Message>,
    flags: u64,
    index: Option<u64>,
    text: &'a str,
    account: &'a Account<'a>,
}

/// Tells whether the archive's row is the one that was indexed and ranked.
fn is_as_indexed(mark: &TextMark, message: &Message) -> bool {
    mark.flags_changed(message) == 0 && !mark.text_changed(message)
}

/// Where hits stand among their sessions' visible messages; `None` for what is none of them.
type Indexes = HashMap<(u64, i64), Option<u64>>;

/// Returns the hits' places in their sessions. Each session is gone through once.
fn places(snapshot: &Snapshot, found: &[Found]) -> Result<Indexes> {
    let mut wanted: HashMap<u64, Vec<i64>> = HashMap::new();
    for found in found.iter().filter(|found| !found.is_session) {
        wanted.entry(found.session_ord).or_default().push(found.id);
    }
    let mut places = HashMap::new();
    for (session_ord, ids) in wanted {
        let of_session = snapshot.places_of(session_ord, &ids)?;
        places.extend(ids.iter().map(|id| (session_ord, *id)).zip(of_session));
    }
    Ok(places)
}

/// Returns the top of a session's lineage; of a circle, the member whose id sorts first, so that all
/// of its members have the same. Where only one person's sessions exist, the walk ends at others'.
fn root(snapshot: &Snapshot, session: &SessionHead, person: Option<&str>) -> Result<String> {
    let mut path = vec![session.id.clone()];
    let mut parent = session.parent_id.clone();
    while let Some(id) = parent.filter(|_| path.len() < LINEAGE_STEPS_MAX) {
        if let Some(at) = path.iter().position(|member| *member == id) {
            return Ok(path[at..].iter().min().cloned().unwrap_or(id));
        }
        let Some(session) = snapshot.session_head(&id)? else { break };
        if person.is_some()
            && snapshot.session(&id)?.and_then(|(_, session)| session.user).as_deref() != person
        {
            break;
        }
        path.push(session.id);
        parent = session.parent_id;
    }
    Ok(path.pop().expect("a path holds its first session"))
}

fn best_field(account: &Account<'_>) -> Field {
    account.fields().first().copied().unwrap_or(Field::Content)
}
