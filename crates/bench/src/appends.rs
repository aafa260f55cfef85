//! What an index costs the agent that writes: rows of the archive are appended once more, to a copy,
//! with no index, with the triggers of each layout, and with our sync after them.

use std::time::{Duration, Instant};

use afterthought::{Engine, Level, Options, Result};
use afterthought_tools::random::Random;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, params_from_iter};

use crate::failed;
use crate::layout::Piece;
use crate::measure::figure;
use crate::peer::Peer;
use crate::program::Program;
use crate::report::{Append, Appends};
use crate::rival::{Cache, Rival};

/// Rows appended before the triggers change again.
const BLOCK: usize = 10;

/// Columns of a row that is appended.
const COLUMNS: &str = "session_id, role, active, compacted, content, timestamp, tool_calls, tool_name, \
    reasoning, reasoning_content";

/// Appends rows by turns. Changes the copy, and leaves FTS5's tables behind it.
///
/// Each row is a transaction of its own, as the agent commits. `check` is asked before each block.
pub(crate) fn appends(
    program: &Program,
    peers: &[Peer],
    (rows, seed): (usize, u64),
    mut check: impl FnMut() -> Result<()>,
) -> Result<Appends> {
    let rival = Rival::open(&program.copy, Cache::Shipped)?;
    rival.wake()?;
    let engine = Engine::open(&Options::new(&program.copy, &program.index))?;
    let sync = || engine.freshen(Level::Quick, Duration::MAX, |_| {})?.ended().map(drop);
    let texts = sample(&rival, rows, seed)?;
    let layouts = layouts(peers);
    let (mut bare, mut ours, mut with) = (Vec::new(), Vec::new(), vec![Vec::new(); layouts.len()]);
    sync()?;
    for block in texts.chunks(BLOCK) {
        check()?;
        for text in block {
            bare.push(append(&rival, text)?);
            let began = Instant::now();
            sync()?;
            ours.push(began.elapsed());
        }
        for ((_, pieces), times) in layouts.iter().zip(&mut with) {
            pieces.iter().try_for_each(|piece| rival.follow_inserts(*piece, true))?;
            for text in block {
                times.push(append(&rival, text)?);
            }
            pieces.iter().try_for_each(|piece| rival.follow_inserts(*piece, false))?;
        }
        sync()?;
    }
    let bare = figure(&bare);
    let layouts = layouts.iter().zip(&with).map(|((name, _), times)| {
        let insert = figure(times);
        Append { side: (*name).to_owned(), added_ms: insert.median_ms - bare.median_ms, insert }
    });
    Ok(Appends { layouts: layouts.collect(), our_sync: figure(&ours), bare })
}

/// Returns which triggers stand together.
fn layouts(peers: &[Peer]) -> Vec<(&'static str, Vec<Piece>)> {
    let mut layouts = Vec::new();
    for peer in peers {
        match peer {
            Peer::Shipped => layouts.push(("shipped", vec![Piece::Shipped])),
            Peer::V30 => layouts.push(("v30", vec![Piece::V30])),
            Peer::Best => {
                layouts.push(("best without trigrams", vec![Piece::Best]));
                layouts.push(("best", vec![Piece::Best, Piece::BestTrigram]));
            }
            Peer::Scan => {}
        }
    }
    layouts
}

/// Returns rows of the archive.
fn sample(rival: &Rival, rows: usize, seed: u64) -> Result<Vec<Vec<Value>>> {
    let mut random = Random::new(seed);
    let mut read = || -> rusqlite::Result<Vec<Vec<Value>>> {
        let range = "SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM messages";
        let ends = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (first, last): (i64, i64) = rival.connection().query_row(range, [], ends)?;
        let sql = format!("SELECT {COLUMNS} FROM messages WHERE id >= ?1 ORDER BY id LIMIT 1");
        let mut select = rival.connection().prepare(&sql)?;
        let mut texts = Vec::with_capacity(rows);
        for _ in 0..rows {
            let offset = random.below(last.abs_diff(first).saturating_add(1));
            let values = |row: &Row<'_>| (0..10).map(|column| row.get(column)).collect();
            texts.extend(select.query_row([first.saturating_add_unsigned(offset)], values).optional()?);
        }
        Ok(texts)
    };
    read().map_err(failed("read from", "the copy"))
}

fn append(rival: &Rival, values: &[Value]) -> Result<Duration> {
    let sql = format!("INSERT INTO messages ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    let insert = || -> rusqlite::Result<Duration> {
        let mut statement = rival.connection().prepare_cached(&sql)?;
        let began = Instant::now();
        statement.execute(params_from_iter(values))?;
        Ok(began.elapsed())
    };
    insert().map_err(failed("append to", "the copy"))
}
