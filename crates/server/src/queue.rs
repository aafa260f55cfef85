//! The line that requests wait in: so many are worked on, so many wait, one more is refused.

use std::sync::Arc;
use std::time::Duration;

use afterthought::{Error, ErrorKind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) struct Queue {
    wait: Duration,
    running: usize,
    all: usize,
    /// Of those who wait and those whose turn it is.
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// One's turn. Dropped, it is the next one's.
pub(crate) struct Turn {
    _turn: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Queue {
    pub(crate) fn new(running: usize, waiting: usize, wait: Duration) -> Self {
        let all = running + waiting;
        let (places, turns) = (Semaphore::new(all), Semaphore::new(running));
        Self { wait, running, all, places: Arc::new(places), turns: Arc::new(turns) }
    }

    /// Waits for a turn. Fails as busy where the line is full, or the wait too long. Whoever stops waiting
    /// leaves the line.
    pub(crate) async fn turn(&self) -> Result<Turn> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| busy("too many requests wait already"))?;
        let turn = Arc::clone(&self.turns).acquire_owned();
        match tokio::time::timeout(self.wait, turn).await {
            Ok(turn) => Ok(Turn { _turn: turn.expect("nobody closes the semaphore"), _place: place }),
            Err(_) => Err(busy("its turn did not come in time")),
        }
    }

    /// Returns how many requests are worked on, and how many wait.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let running = self.running.saturating_sub(self.turns.available_permits());
        let all = self.all.saturating_sub(self.places.available_permits());
        (running, all.saturating_sub(running))
    }
}

fn busy(why: &'static str) -> Error {
    Error::new(ErrorKind::Busy, "answer", "the request").because(why).hint("try again in a moment")
}
