//! Fetches the rows of a page from the archive and makes hits of them. A row that is not what was
//! indexed is never shown with another's score: it is reported, and the page is filled up again.

use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::index::{Snapshot, flag};
use crate::model::{Field, Message, Session};
use crate::text::Analyzer;

use super::collect::Ranked;
use super::evidence::Evidence;
use super::explain::{Account, Work};
use super::gather::Found;
use super::order::tier;
use super::page::Hit;
use super::snippet::Needles;

/// The name of the only archive there is so far.
const ARCHIVE: &str = "default";
/// Steps from a session to the top of its lineage; longer chains are cycles or damage.
const LINEAGE_STEPS_MAX: usize = 1_000;

/// Reads messages by id, in order; `None` where there is none (and for a title, which has no id).
pub type Fetch<'a> = &'a mut dyn FnMut(&[Option<i64>]) -> Result<Vec<Option<Message>>>;

/// What became of the documents of a page.
pub(super) struct Hydrated {
    pub(super) hits: Vec<Hit>,
    /// Messages that the archive no longer holds as they were indexed.
    pub(super) stale: Vec<i64>,
}

/// Rows read at once: they may be large.
const CHUNK_ROWS: usize = 50;

/// Makes hits of the documents found, in their order. Fails at the deadline.
pub(super) fn hydrate(
    snapshot: &Snapshot,
    fetch: Fetch<'_>,
    ranked: &Ranked<'_>,
    evidence: &Evidence,
    found: &[Found],
    deadline: Instant,
    work: &mut Work,
) -> Result<Hydrated> {
    let mut maker =
        HitMaker { snapshot, ranked, evidence, needles: Needles::of(ranked), analyzer: Analyzer::default() };
    let mut hydrated = Hydrated { hits: Vec::with_capacity(found.len()), stale: Vec::new() };
    for chunk in found.chunks(CHUNK_ROWS) {
        if Instant::now() > deadline {
            return Err(Error::new(ErrorKind::Timeout, "show", "the hits")
                .because("reading their messages took longer than the deadline")
                .hint("ask for fewer hits"));
        }
        let ids: Vec<Option<i64>> =
            chunk.iter().map(|found| (!found.is_session).then_some(found.id)).collect();
        let messages = fetch(&ids)?;
        work.archive_rows_read += messages.iter().flatten().count() as u64;
        for (found, message) in chunk.iter().zip(messages) {
            match message {
                _ if found.is_session => hydrated.hits.push(maker.title(found)?),
                Some(message) if is_as_indexed(snapshot, found, &message)? => {
                    hydrated.hits.push(maker.message(found, &message)?);
                }
                _ => hydrated.stale.push(found.id),
            }
        }
    }
    Ok(hydrated)
}

/// Makes hits of one answer.
struct HitMaker<'a> {
    snapshot: &'a Snapshot,
    ranked: &'a Ranked<'a>,
    evidence: &'a Evidence,
    needles: Needles,
    analyzer: Analyzer,
}

impl<'a> HitMaker<'a> {
    fn title(&mut self, found: &Found) -> Result<Hit> {
        let session = self.snapshot.session_at(found.segment, found.doc)?;
        // One without a title was found by its id.
        let title = session.title.clone().unwrap_or_else(|| session.id.clone());
        let account = self.account(found)?;
        self.hit(found, Shown { session, message: None, flags: 0, index: None, text: &title, account })
    }

    fn message(&mut self, found: &Found, message: &Message) -> Result<Hit> {
        let session = match self.snapshot.session(&message.session_id)? {
            Some((_, session)) => session,
            None => {
                Session { id: message.session_id.clone(), source: "unknown".to_owned(), ..Session::default() }
            }
        };
        let account = self.account(found)?;
        let text = message.text(best_field(&account));
        let index = place(self.snapshot, found)?;
        let flags = self.snapshot.text_at(found.segment, found.doc)?.row.flags;
        self.hit(found, Shown { session, message: Some(message), flags, index, text, account })
    }

    fn account(&self, found: &Found) -> Result<Account<'a>> {
        Account::of(self.snapshot, self.ranked, self.evidence.of(found.session_ord), found)
    }

    fn hit(&mut self, found: &Found, shown: Shown<'_>) -> Result<Hit> {
        let held = shown.account.terms();
        let terms = self.ranked.plan.terms.iter().enumerate();
        let terms = terms.filter(|(bit, _)| held >> bit & 1 == 1);
        let (snippet, _) = self.needles.snippet(&mut self.analyzer, shown.text);
        let time = shown.message.map_or(shown.session.started_ms, |message| message.timestamp_ms);
        Ok(Hit {
            message_id: shown.message.map(|message| message.id),
            root_session_id: root(self.snapshot, &shown.session)?,
            session_id: shown.session.id,
            archive: ARCHIVE.to_owned(),
            index: shown.index,
            role: shown.message.map(|message| message.role.clone()),
            source: shown.session.source,
            title: shown.session.title,
            timestamp: time.and_then(crate::time::rfc3339),
            score: if self.ranked.order.by_score() { found.key.score } else { shown.account.score() },
            tier: tier(self.snapshot, shown.flags, found.session_ord)?,
            origin: best_field(&shown.account).origin(),
            matched_fields: shown.account.fields(),
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
    session: Session,
    message: Option<&'a Message>,
    flags: u64,
    index: Option<u64>,
    text: &'a str,
    account: Account<'a>,
}

/// Tells whether the archive's row is the one that was indexed and ranked.
fn is_as_indexed(snapshot: &Snapshot, found: &Found, message: &Message) -> Result<bool> {
    let mark = snapshot.text_at(found.segment, found.doc)?;
    Ok(mark.flags_changed(message) == 0 && !mark.text_changed(message))
}

/// Returns a hit's place among its session's visible messages; `None` if it is none of them.
fn place(snapshot: &Snapshot, found: &Found) -> Result<Option<u64>> {
    let rows = snapshot.rows_of(found.session_ord)?;
    let listed = rows.iter().any(|row| row.id == found.id && flag::is_listed(row.flags));
    let before = rows.iter().filter(|row| row.id < found.id && flag::is_listed(row.flags)).count();
    Ok(listed.then_some(before as u64))
}

/// Returns the top of a session's lineage; of a circle, the member whose id sorts first, so that all
/// of its members have the same.
fn root(snapshot: &Snapshot, session: &Session) -> Result<String> {
    let mut path = vec![session.id.clone()];
    let mut parent = session.parent_id.clone();
    while let Some(id) = parent.filter(|_| path.len() < LINEAGE_STEPS_MAX) {
        if let Some(at) = path.iter().position(|member| *member == id) {
            return Ok(path[at..].iter().min().cloned().unwrap_or(id));
        }
        let Some((_, session)) = snapshot.session(&id)? else { break };
        path.push(session.id);
        parent = session.parent_id;
    }
    Ok(path.pop().expect("a path holds its first session"))
}

fn best_field(account: &Account<'_>) -> Field {
    account.fields().first().copied().unwrap_or(Field::Content)
}
