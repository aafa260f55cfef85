//! Reads by several threads at once, in a process of its own that is watched from outside.

use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use afterthought::{Engine, Level, Options, Result};
use serde_json::{Value, json};

use crate::program::{Asked, Reading};
use crate::rival::{Cache, Rival};

/// Asks as told, and returns how many searches were done in how many seconds. Each thread first asks
/// everything once, which warms the caches and is not counted.
///
/// Fails if a question cannot be asked. Holds one connection for each thread, or one engine for all.
pub fn read(database: &Path, index: &Path, reading: &Reading) -> Result<Value> {
    let engine = if reading.asked.iter().any(|asked| asked.way.is_none()) {
        let engine = Engine::open(&Options::new(database, index))?;
        engine.freshen(Level::Quick, Duration::MAX, |_| {})?.ended()?;
        Some(engine)
    } else {
        None
    };
    let barrier = Barrier::new(reading.threads);
    let readers =
        (0..reading.threads).map(|thread| Reader { database, engine: engine.as_ref(), reading, thread });
    let done = std::thread::scope(|scope| {
        let threads: Vec<_> = readers
            .map(|reader| {
                scope.spawn(|| {
                    let reader = reader;
                    reader.run(&barrier)
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Result<Vec<(u64, Duration)>>>()
    })?;
    let searches: u64 = done.iter().map(|(searches, _)| searches).sum();
    let seconds = done.iter().map(|(_, time)| time.as_secs_f64()).fold(0.0, f64::max);
    Ok(json!({ "searches": searches, "seconds": seconds }))
}

struct Reader<'a> {
    database: &'a Path,
    engine: Option<&'a Engine>,
    reading: &'a Reading,
    thread: usize,
}

impl Reader<'_> {
    /// Returns how many searches were counted, in which time.
    fn run(&self, barrier: &Barrier) -> Result<(u64, Duration)> {
        let warm = || {
            let rival = Rival::open(self.database, Cache::Large)?;
            self.ask(&rival, 1)?;
            Ok(rival)
        };
        let rival = warm();
        // Also by a thread that failed: the others wait for it.
        barrier.wait();
        let (rival, began) = (rival?, Instant::now());
        let searches = self.ask(&rival, self.reading.passes)?;
        Ok((searches, began.elapsed()))
    }

    fn ask(&self, rival: &Rival, passes: usize) -> Result<u64> {
        let (asked, began, mut searches) = (&self.reading.asked, Instant::now(), 0);
        let first = self.thread * asked.len() / self.reading.threads;
        for turn in 0..passes * asked.len() {
            // At least one search each, or nothing would be said of slow ones.
            if turn > 0 && began.elapsed() >= self.reading.budget {
                break;
            }
            self.answer(rival, &asked[(first + turn) % asked.len()])?;
            searches += 1;
        }
        Ok(searches)
    }

    fn answer(&self, rival: &Rival, asked: &Asked) -> Result<()> {
        match (asked.way, self.engine) {
            (Some((_, way)), _) => rival.ask(&asked.question, way).map(drop),
            (None, Some(engine)) => engine.search(asked.question.request()).map(drop),
            (None, None) => Ok(()),
        }
    }
}
