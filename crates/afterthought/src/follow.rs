//! Follows an archive: the index is brought up to date soon after every change, and nearly nothing is
//! done while nothing changes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::archive::Stamp;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::limits::{
    FOLLOW_AUDIT_AGE_S_MAX, FOLLOW_AUDIT_QUIET_MS, FOLLOW_PATIENCE_MS, FOLLOW_POLL_MS, FOLLOW_QUIET_MS,
};
use crate::mirror::{Level, Progress, SyncReport};
use crate::time::now_ms;

/// What happened while following.
#[derive(Debug)]
pub enum Event {
    /// Something had changed, and the index has it.
    Synced {
        /// What was done.
        report: SyncReport,
        /// How long that took.
        took: Duration,
    },
    /// Something had changed, and another process had brought it into the index.
    Current,
    /// A sync is under way.
    Progress(Progress),
    /// The archive cannot be read, or the index cannot be written: said once, until it is over.
    Behind(Error),
    /// The index is up to date again.
    Recovered,
}

/// Follows the engine's archive until `stop` is set, and tells `on` what happens.
///
/// Looks at the archive's files four times a second, which reads two headers and opens nothing; a
/// change is searchable after at most that and its sync. Changes that a look at the tail cannot see,
/// such as rows taken back, are looked for when the archive has been quiet for two seconds. When it
/// has been quiet for fifteen, what every row says is compared too, once a day. An
/// archive that goes, comes back, or is another file is followed on. Fails only if the writer thread
/// has ended.
pub fn follow(engine: &Engine, stop: &AtomicBool, mut on: impl FnMut(Event)) -> Result<()> {
    let mut follower =
        Follower { engine, stop, seen: None, behind: None, look_closer_at: None, audit_at: None };
    while !stop.load(Ordering::Relaxed) {
        follower.turn(&mut on)?;
        std::thread::sleep(Duration::from_millis(FOLLOW_POLL_MS));
    }
    Ok(())
}

struct Follower<'a> {
    engine: &'a Engine,
    stop: &'a AtomicBool,
    seen: Option<Seen>,
    behind: Option<Trouble>,
    /// When every session's rows are to be compared.
    look_closer_at: Option<Instant>,
    /// When what every row says is to be compared, if that is due.
    audit_at: Option<Instant>,
}

/// What the last sync began with.
struct Seen {
    stamp: Stamp,
    stamped_ms: i64,
    /// Another process may swap in a generation that has not caught up yet.
    generation: PathBuf,
}

/// Syncs that fail one after another.
struct Trouble {
    since: Instant,
    said: bool,
}

impl Follower<'_> {
    fn turn(&mut self, on: &mut impl FnMut(Event)) -> Result<()> {
        let (stamped_ms, generation) = (now_ms(), self.engine.generation());
        let now = self.engine.stamp().ok().map(|stamp| Seen { stamp, stamped_ms, generation });
        let is_same = match (&self.seen, &now) {
            (Some(seen), Some(now)) => {
                seen.stamp == now.stamp
                    && seen.stamp.is_settled(seen.stamped_ms)
                    && seen.generation == now.generation
            }
            _ => false,
        };
        if !is_same {
            self.look_closer_at = Some(Instant::now() + Duration::from_millis(FOLLOW_QUIET_MS));
            self.audit_at = Some(Instant::now() + Duration::from_millis(FOLLOW_AUDIT_QUIET_MS));
            self.sync(Level::Quick, now, on)
        } else if self.look_closer_at.take_if(|due| *due <= Instant::now()).is_some() {
            self.sync(Level::Full, now, on)
        } else if self.audit_at.take_if(|due| *due <= Instant::now()).is_some()
            && now_ms() - self.engine.audited_ms() > FOLLOW_AUDIT_AGE_S_MAX * 1_000
        {
            self.sync(Level::Deep, now, on)
        } else {
            Ok(())
        }
    }

    fn sync(&mut self, level: Level, now: Option<Seen>, on: &mut impl FnMut(Event)) -> Result<()> {
        let began = Instant::now();
        let freshness = self.engine.freshen(level, Duration::MAX, |progress| {
            if self.stop.load(Ordering::Relaxed) {
                self.engine.interrupt();
            }
            progress.map(Event::Progress).into_iter().for_each(&mut *on);
        })?;
        match freshness.ended() {
            Ok(report) => {
                if self.behind.take().is_some_and(|trouble| trouble.said) {
                    on(Event::Recovered);
                }
                if report.stats.commits > 0 {
                    on(Event::Synced { report, took: began.elapsed() });
                } else if level == Level::Quick {
                    on(Event::Current);
                }
                self.seen = now.filter(|_| !report.interrupted);
            }
            Err(error) => {
                self.seen = None;
                let trouble = self.behind.get_or_insert(Trouble { since: Instant::now(), said: false });
                // A search of another process holds the writer's lock for a moment.
                let lasts = trouble.since.elapsed() > Duration::from_millis(FOLLOW_PATIENCE_MS);
                if !trouble.said && (lasts || !error.kind().retryable()) {
                    trouble.said = true;
                    on(Event::Behind(error));
                }
            }
        }
        Ok(())
    }
}
