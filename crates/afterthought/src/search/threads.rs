//! Shares work out to a few threads for the length of one search.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use crate::error::Result;

/// Does every task once: whichever thread is free takes the next one and adds it to an account of its own.
/// Returns the accounts.
///
/// The caller is one of the threads. Fails with an error of a task, when all threads have ended.
pub(super) fn share_out<T: Sync, A: Send>(
    tasks: &[T],
    threads: usize,
    account: impl Fn() -> A + Sync,
    task: impl Fn(&T, &mut A) -> Result<()> + Sync,
) -> Result<Vec<A>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut own = account();
        while let Some(one) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Nobody begins another one when the answer is an error.
            task(one, &mut own).inspect_err(|_| next.store(tasks.len(), Ordering::Relaxed))?;
        }
        Ok(own)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(tasks.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        // A panic goes on here, and is caught where others are.
        let join =
            |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn every_task_is_done_once() {
        let tasks: Vec<u64> = (0..1_000).collect();
        for threads in [1, 3] {
            let accounts = share_out(
                &tasks,
                threads,
                || 0,
                |task, sum| {
                    *sum += task;
                    Ok(())
                },
            );
            let accounts = accounts.expect("no task fails");
            assert_eq!(accounts.iter().sum::<u64>(), 499_500);
            assert_eq!(accounts.len(), threads);
        }
    }

    #[test]
    fn the_error_of_a_task_is_the_answer() {
        let fails = |task: &u64, (): &mut ()| match task {
            7 => Err(Error::new(ErrorKind::Timeout, "count", "to seven")),
            _ => Ok(()),
        };
        assert!(share_out(&[1, 7, 3], 2, || (), fails).is_err());
    }
}
