//! Where a page of an answer ends, written as text: the key of its last hit, bound to the request and
//! to the state of the index. Pages that follow each other by it join without a gap or a repetition.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, ErrorKind, Result};
use crate::index::Snapshot;
use crate::limits::PAGE_DEPTH_MAX;

use super::order::Key;
use super::request::SearchRequest;

/// The number of this way of writing.
const VERSION: u8 = 2;
/// What stands for the snapshot of an archive that was left out; no snapshot's identity, which is a hash.
const LEFT_OUT: u64 = 0;
/// The alphabet of RFC 4648, section 5: fit for a URL and for a shell.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Part of a wrong cursor that its error shows, in characters.
const SHOWN_CHARS_MAX: usize = 40;

/// Where a page begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// Hash of what must stay the same from page to page.
    pub(super) request: u64,
    /// The identity of every archive's snapshot; `None` for one that was left out.
    pub(super) commits: Vec<Option<u64>>,
    /// Hits shown before.
    pub(super) depth: u64,
    /// The bounds of time of the first page: an age such as 7d means another time at every page.
    pub(super) since_ms: Option<i64>,
    pub(super) until_ms: Option<i64>,
    /// The key of the last hit before.
    pub(super) after: Key,
    /// Messages that were left out so far, as they are no longer what was indexed, each with its archive.
    pub(super) stale: Vec<(u8, i64)>,
}

/// Returns the identities of the snapshots that a cursor continues, one for each archive, `None` for one that
/// was left out. Returns nothing if the text is no cursor.
#[must_use]
pub fn commits_of(cursor: &str) -> Vec<Option<u64>> {
    Place::parse(cursor).map(|place| place.commits).unwrap_or_default()
}

/// Hashes what must stay the same from page to page.
pub(super) fn request_hash(request: &SearchRequest) -> u64 {
    let mut same =
        SearchRequest { offset: 0, limit: 0, cursor: None, explain: false, prune: true, ..request.clone() };
    // They count all hits, whichever page is shown.
    same.facets = Vec::new();
    // The bounds themselves are the cursor's; that there are some must stay.
    same.filters.since_ms = same.filters.since_ms.map(|_| 0);
    same.filters.until_ms = same.filters.until_ms.map(|_| 0);
    xxh3_64(format!("{same:?}").as_bytes())
}

impl Place {
    /// Reads the cursor of a request. Fails if it is none, or one of another request or of other snapshots than
    /// these, `None` for an archive that is left out.
    pub(super) fn of(cursor: &str, request: &SearchRequest, snapshots: &[Option<&Snapshot>]) -> Result<Self> {
        let place = Self::read(cursor)?;
        if place.request != request_hash(request) || place.commits.len() != snapshots.len() {
            return Err(Error::new(ErrorKind::CursorMismatch, "read cursor", shown(cursor))
                .because("it continues another search")
                .hint("repeat the search that it came with; only the limit and the facets may change"));
        }
        let mut each = place.commits.iter().zip(snapshots);
        if !each.all(|(commit, snapshot)| snapshot.is_none_or(|one| *commit == Some(one.identity()))) {
            let hint = if place.depth.saturating_add(request.limit as u64) <= PAGE_DEPTH_MAX as u64 {
                format!("go on without the cursor, from --offset {}; hits may have moved", place.depth)
            } else {
                "ask for the first page again, without the cursor".to_owned()
            };
            return Err(Error::new(ErrorKind::CursorStale, "read cursor", shown(cursor))
                .because("the index has changed since, and what it was is no longer kept")
                .hint(hint));
        }
        Ok(place)
    }

    /// Writes the place as a cursor.
    pub(super) fn write(&self) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend(self.request.to_le_bytes());
        bytes.extend(self.depth.to_le_bytes());
        let Key { ordinary, score, when, id, session_ord, is_session, archive } = self.after;
        let facts = [ordinary, is_session, self.since_ms.is_some(), self.until_ms.is_some()];
        bytes.push((0..).zip(facts).map(|(bit, fact)| u8::from(fact) << bit).sum());
        bytes.extend(score.to_bits().to_le_bytes());
        let numbers = [Some(when), Some(id), Some(session_ord), self.since_ms, self.until_ms];
        numbers.into_iter().flatten().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.push(archive);
        bytes.push(u8::try_from(self.commits.len()).expect("a search has few archives"));
        self.commits.iter().for_each(|commit| bytes.extend(commit.unwrap_or(LEFT_OUT).to_le_bytes()));
        for (archive, id) in &self.stale {
            bytes.push(*archive);
            bytes.extend(id.to_le_bytes());
        }
        bytes.extend(checksum(&bytes));
        encode(&bytes)
    }

    fn read(cursor: &str) -> Result<Self> {
        Self::parse(cursor).ok_or_else(|| {
            Error::new(ErrorKind::CursorInvalid, "read cursor", shown(cursor))
                .because("it is no cursor of this version, or a part of one is missing")
                .hint("give next_cursor of a page as it stands, or none for the first page")
        })
    }

    fn parse(cursor: &str) -> Option<Self> {
        let bytes = decode(cursor)?;
        let (mut rest, sum) = bytes.split_last_chunk::<4>()?;
        if checksum(rest) != *sum || take(&mut rest)? != [VERSION] {
            return None;
        }
        let request = u64::from_le_bytes(take(&mut rest)?);
        let depth = u64::from_le_bytes(take(&mut rest)?);
        let [facts] = take(&mut rest)?;
        let fact = |bit: u8| facts >> bit & 1 == 1;
        let score = f32::from_bits(u32::from_le_bytes(take(&mut rest)?));
        let mut number = || take(&mut rest).map(i64::from_le_bytes);
        let (when, id, session_ord) = (number()?, number()?, number()?);
        let since_ms = if fact(2) { Some(number()?) } else { None };
        let until_ms = if fact(3) { Some(number()?) } else { None };
        let [archive, archives] = take(&mut rest)?;
        let after = Key { ordinary: fact(0), score, when, id, session_ord, is_session: fact(1), archive };
        let mut commits = Vec::new();
        for _ in 0..archives {
            commits.push(Some(u64::from_le_bytes(take(&mut rest)?)).filter(|commit| *commit != LEFT_OUT));
        }
        let mut stale = Vec::new();
        while !rest.is_empty() {
            let [archive] = take(&mut rest)?;
            stale.push((archive, i64::from_le_bytes(take(&mut rest)?)));
        }
        Some(Self { request, commits, depth, since_ms, until_ms, after, stale })
    }
}

/// Takes bytes from the front; `None` where there are not so many.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = xxh3_64(bytes).to_le_bytes();
    [a, b, c, d]
}

/// Returns the beginning of a wrong cursor, on one line.
fn shown(cursor: &str) -> String {
    let start: String = cursor.chars().take(SHOWN_CHARS_MAX).collect();
    format!("{:?}{}", start, if start.len() < cursor.len() { "…" } else { "" })
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        let digit = |at: usize| char::from(ALPHABET[(bits >> (18 - 6 * at) & 63) as usize]);
        text.extend((0..=group.len()).map(digit));
    }
    text
}

/// Returns `None` for a text that `encode` does not write.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0;
        for at in 0..4 {
            let digit = match group.get(at) {
                Some(digit) => ALPHABET.iter().position(|known| known == digit)?,
                None => 0,
            };
            bits = bits << 6 | u32::try_from(digit).ok()?;
        }
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(stale: &[i64], since_ms: Option<i64>, until_ms: Option<i64>) -> Place {
        let after = Key {
            ordinary: true,
            score: 7.25,
            when: i64::MIN,
            id: -3,
            session_ord: !5,
            is_session: false,
            archive: 1,
        };
        let stale = stale.iter().map(|id| (0, *id)).collect();
        Place { request: 1, commits: vec![Some(u64::MAX), None], depth: 17, since_ms, until_ms, after, stale }
    }

    #[test]
    fn what_was_written_is_read() {
        for stale in [&[][..], &[1], &[i64::MAX, i64::MIN, 0]] {
            for (since, until) in [(None, None), (Some(5), None), (None, Some(-1)), (Some(i64::MIN), Some(0))]
            {
                let place = place(stale, since, until);
                let cursor = place.write();
                assert_eq!(Place::read(&cursor).expect("a cursor"), place, "{cursor}");
                assert_eq!(commits_of(&cursor), [Some(u64::MAX), None]);
            }
        }
        assert!(place(&[], None, None).write().len() <= 100, "a page's cursor is short");
    }

    #[test]
    fn any_other_text_is_refused() {
        let cursor = place(&[9], Some(1), None).write();
        let refused = |text: &str| {
            let kind = Place::read(text).expect_err(text).kind();
            assert_eq!(kind, ErrorKind::CursorInvalid, "{text}");
        };
        for text in ["", "A", "AAAA", "no cursor", "ünïcödé", "====", "\0", &"A".repeat(10_000)] {
            refused(text);
        }
        for at in 0..cursor.len() {
            refused(&cursor[..at]);
            let other = if cursor.as_bytes()[at] == b'A' { "B" } else { "A" };
            refused(&format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]));
        }
        refused(&format!("{cursor}A"));
        refused(&format!(" {cursor}"));
    }
}
