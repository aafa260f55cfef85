//! What a conversation holds of a query, all of its messages together: of each word the best that any
//! message gives. Who asks about something means the conversation that was about it, though no single
//! message names everything.

/// The most that any counted message of a session gives, by session and list of the plan.
#[derive(Default)]
pub(super) struct Evidence {
    lists: usize,
    best: Vec<f32>,
}

impl Evidence {
    pub(super) fn new(lists: usize) -> Self {
        Self { lists, best: Vec::new() }
    }

    /// Takes in a message's scores by list.
    pub(super) fn add(&mut self, session_ord: u64, scores: &[f32]) {
        let from = place(session_ord) * self.lists;
        if self.best.len() < from + self.lists {
            self.best.resize(from + self.lists, 0.0);
        }
        for (best, score) in self.best[from..].iter_mut().zip(scores) {
            *best = best.max(*score);
        }
    }

    /// Takes in what other messages give.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.best.len() < other.best.len() {
            self.best.resize(other.best.len(), 0.0);
        }
        for (best, score) in self.best.iter_mut().zip(&other.best) {
            *best = best.max(*score);
        }
    }

    /// Returns the best scores of every session by list, those without matches included.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &[f32]> {
        self.best.chunks_exact(self.lists.max(1))
    }

    /// Returns the best scores of a session by list; nothing of one without matches.
    pub(super) fn of(&self, session_ord: u64) -> &[f32] {
        let from = place(session_ord) * self.lists;
        self.best.get(from..from + self.lists).unwrap_or_default()
    }
}

fn place(session_ord: u64) -> usize {
    usize::try_from(session_ord).expect("sessions are numbered one by one")
}
