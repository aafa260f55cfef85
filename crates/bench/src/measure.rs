//! Times jobs in turns, so that whatever disturbs the machine disturbs every job alike, and says
//! what was measured with its spread.

use std::time::{Duration, Instant};

use afterthought::Result;
use afterthought_tools::random::Random;

use crate::report::Figure;

/// Fewest runs of a job that is counted at all.
const RUNS_MIN: usize = 5;
/// Fewest runs of which a 95th and a 99th percentile say anything.
const RUNS_FOR_P95: usize = 20;
const RUNS_FOR_P99: usize = 100;

/// How often jobs run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// Runs of each job at most.
    pub(crate) runs: usize,
    /// Time after which a job that ran a few times does not run again.
    pub(crate) budget: Duration,
    pub(crate) seed: u64,
}

/// Runs every job once in every round, in an order that changes by the seed. The first run of each
/// warms what it needs and is not counted. Fails as soon as a job does.
pub(crate) fn in_turns(
    jobs: usize,
    rounds: Rounds,
    run: impl FnMut(usize) -> Result<()>,
) -> Result<Vec<Figure>> {
    in_turns_after(jobs, rounds, || Ok(()), run)
}

/// Does the same, and before each run what `prepare` does, which is not timed.
pub(crate) fn in_turns_after(
    jobs: usize,
    rounds: Rounds,
    mut prepare: impl FnMut() -> Result<()>,
    mut run: impl FnMut(usize) -> Result<()>,
) -> Result<Vec<Figure>> {
    let mut random = Random::new(rounds.seed);
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); jobs];
    for job in 0..jobs {
        run(job)?;
    }
    let is_due = |times: &[Duration]| {
        let few = times.len() < RUNS_MIN.min(rounds.runs);
        few || (times.len() < rounds.runs && times.iter().sum::<Duration>() < rounds.budget)
    };
    loop {
        let mut due: Vec<usize> = (0..jobs).filter(|job| is_due(&times[*job])).collect();
        if due.is_empty() {
            return Ok(times.iter().map(|times| figure(times)).collect());
        }
        shuffle(&mut due, &mut random);
        for job in due {
            prepare()?;
            let began = Instant::now();
            run(job)?;
            times[job].push(began.elapsed());
        }
    }
}

/// Brings items into an order that only the seed knows.
pub(crate) fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.index(last + 1));
    }
}

/// Sums up the times of one job.
pub(crate) fn figure(times: &[Duration]) -> Figure {
    let mut times = times.to_vec();
    times.sort_unstable();
    let ms = |percent| quantile(&times, percent).as_secs_f64() * 1_000.0;
    Figure {
        runs: times.len(),
        min_ms: ms(0),
        median_ms: ms(50),
        p95_ms: (times.len() >= RUNS_FOR_P95).then(|| ms(95)),
        p99_ms: (times.len() >= RUNS_FOR_P99).then(|| ms(99)),
        max_ms: ms(100),
    }
}

/// Returns the smallest time that at least `percent` of 100 do not exceed; 0 of none.
fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let times = |ms: &[u64]| ms.iter().copied().map(Duration::from_millis).collect::<Vec<_>>();
        let of = |ms: &[u64]| [0, 50, 99, 100].map(|percent| quantile(&times(ms), percent).as_millis());
        assert_eq!(of(&(1..=100).collect::<Vec<_>>()), [1, 50, 99, 100]);
        assert_eq!(of(&[1, 2, 3]), [1, 2, 3, 3]);
        assert_eq!(of(&[7]), [7; 4]);
        assert_eq!(of(&[]), [0; 4]);
    }

    #[test]
    fn a_percentile_needs_a_hundred_runs() {
        let runs = |count| figure(&vec![Duration::from_millis(3); count]);
        assert_eq!((runs(99).p99_ms, runs(100).p99_ms), (None, Some(3.0)));
        assert_eq!((runs(19).p95_ms, runs(20).p95_ms), (None, Some(3.0)));
    }

    #[test]
    fn every_job_runs_as_often_as_asked_and_once_before() {
        let mut ran = [0; 3];
        let rounds = Rounds { runs: 7, budget: Duration::MAX, seed: 1 };
        let figures = in_turns(3, rounds, |job| {
            ran[job] += 1;
            Ok(())
        });
        let figures = figures.expect("jobs that cannot fail");
        assert_eq!(ran, [8; 3]);
        assert!(figures.iter().all(|figure| figure.runs == 7));
    }

    #[test]
    fn a_spent_budget_leaves_the_fewest_runs() {
        let rounds = Rounds { runs: 101, budget: Duration::ZERO, seed: 1 };
        let figures = in_turns(1, rounds, |_| Ok(())).expect("jobs that cannot fail");
        assert_eq!(figures[0].runs, RUNS_MIN);
    }
}
