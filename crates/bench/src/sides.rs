//! Everyone who answers inside this process, and how the fastest way to ask FTS5 is found.

use std::time::{Duration, Instant};

use afterthought::{Engine, Level, Options, Result};

use crate::failed;
use crate::peer::Peer;
use crate::program::{Asked, Program};
use crate::queries::Class;
use crate::question::Question;
use crate::report::Tried;
use crate::rival::{AGENT_ROWS, Cache, Rival, Route, Way};

/// One side's way to one question's answer, or to a part of it.
#[derive(Clone)]
pub(crate) struct Lane {
    pub(crate) case: usize,
    /// Who; us where there is none.
    pub(crate) peer: Option<Peer>,
    pub(crate) part: Part,
    pub(crate) asked: Asked,
}

/// How much is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Page, snippets and total.
    Full,
    /// No total.
    PageOnly,
    /// 300 rows and no total.
    AsAgent,
}

/// Connections and an engine.
pub(crate) struct Sides {
    pub(crate) engine: Engine,
    small: Rival,
    pub(crate) large: Rival,
    /// Scan on connections of their own: every scan would wash FTS5's pages out of the cache.
    scanning: [Rival; 2],
    /// Whether ids rise with time, so that the highest are the newest.
    ids_are_in_time: bool,
}

impl Sides {
    pub(crate) fn open(program: &Program) -> Result<Self> {
        let open = |cache| Rival::open(&program.copy, cache);
        let large = open(Cache::Large)?;
        large.lay_to_rest()?;
        let in_time = "SELECT NOT EXISTS (SELECT 1 FROM (SELECT timestamp, \
            lag(timestamp) OVER (ORDER BY id) AS before FROM messages) \
            WHERE timestamp < before OR typeof(timestamp) NOT IN ('integer', 'real'))";
        let in_time = large.connection().query_row(in_time, [], |row| row.get(0));
        // Asked one by one, by the thread that waits for the answer, as everyone else here.
        let options = Options { readers: 0, ..Options::new(&program.copy, &program.index) };
        let engine = Engine::open(&options)?;
        engine.freshen(Level::Full, Duration::MAX, |_| {})?.ended()?;
        Ok(Self {
            engine,
            small: open(Cache::Shipped)?,
            large,
            scanning: [open(Cache::Shipped)?, open(Cache::Large)?],
            ids_are_in_time: in_time.map_err(failed("compare times in", "the copy"))?,
        })
    }

    /// Answers once. Returns the total, where it was asked for.
    pub(crate) fn ask(&self, asked: &Asked) -> Result<Option<u64>> {
        let Some((cache, way)) = asked.way else {
            return Ok(Some(self.engine.search(asked.question.request())?.total.value));
        };
        Ok(self.rival(cache, way).ask(&asked.question, way)?.total)
    }

    fn rival(&self, cache: Cache, way: Way) -> &Rival {
        match (way.route, cache) {
            (Route::Match(_), Cache::Shipped) => &self.small,
            (Route::Match(_), Cache::Large) => &self.large,
            (Route::Scan, Cache::Shipped) => &self.scanning[0],
            (Route::Scan, Cache::Large) => &self.scanning[1],
        }
    }

    /// Returns how a question is put to everyone, and what was tried to find that out.
    pub(crate) fn lanes(
        &self,
        case: usize,
        class: &Class,
        peers: &[Peer],
        budget: Duration,
    ) -> Result<(Vec<Lane>, Vec<Tried>)> {
        let question = &class.question;
        let lane = |peer, part, way| {
            let asked = Asked { question: question.clone(), way };
            Lane { case, peer, part, asked }
        };
        let (mut lanes, mut tried) = (vec![lane(None, Part::Full, None)], Vec::new());
        for peer in peers {
            let ways = peer.ways(question, self.ids_are_in_time);
            let fastest = self.fastest(question, &ways, budget, &mut tried)?;
            lanes.push(lane(Some(*peer), Part::Full, Some(fastest)));
            let ways = peer.page_ways(question, self.ids_are_in_time);
            if !ways.is_empty() {
                let fastest = self.fastest(question, &ways, budget, &mut tried)?;
                lanes.push(lane(Some(*peer), Part::PageOnly, Some(fastest)));
            }
            if matches!((peer, fastest.1.route), (Peer::Shipped | Peer::V30, Route::Match(_))) {
                let as_agent = Way { total: false, rows: AGENT_ROWS, ..fastest.1 };
                lanes.push(lane(Some(*peer), Part::AsAgent, Some((Cache::Shipped, as_agent))));
            }
        }
        Ok((lanes, tried))
    }

    /// Finds the fastest of some ways: all run once, and those that are not far behind a few times more.
    fn fastest(
        &self,
        question: &Question,
        ways: &[(Cache, Way)],
        budget: Duration,
        tried: &mut Vec<Tried>,
    ) -> Result<(Cache, Way)> {
        if ways.len() == 1 {
            return Ok(ways[0]);
        }
        let began = Instant::now();
        let time = |(cache, way): (Cache, Way)| -> Result<Duration> {
            let began = Instant::now();
            self.rival(cache, way).ask(question, way)?;
            Ok(began.elapsed())
        };
        let first = ways.iter().map(|way| time(*way)).collect::<Result<Vec<_>>>()?;
        let least = first.iter().min().copied().unwrap_or_default();
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); ways.len()];
        for _ in 0..ROUNDS {
            for (at, way) in ways.iter().enumerate().filter(|(at, _)| first[*at] <= least * BEHIND + SLACK) {
                if times[at].is_empty() || began.elapsed() < budget {
                    times[at].push(time(*way)?);
                }
            }
        }
        let median = |at: usize| {
            let mut times = times[at].clone();
            times.sort_unstable();
            times.get(times.len() / 2).copied()
        };
        for (at, (cache, way)) in ways.iter().enumerate() {
            tried.push(Tried {
                way: named(*cache, *way),
                total: way.total,
                median_ms: median(at).unwrap_or(first[at]).as_secs_f64() * 1e3,
                runs: times[at].len().max(1),
            });
        }
        let fastest = (0..ways.len()).filter_map(|at| Some((median(at)?, at))).min();
        Ok(ways[fastest.map_or(0, |(_, at)| at)])
    }
}

/// Runs of a way that is not far behind; a first run warms and is not counted.
const ROUNDS: usize = 3;
/// How many times the fastest first run a first run may take, and how much more, not to be far behind.
const BEHIND: u32 = 3;
const SLACK: Duration = Duration::from_millis(5);

/// Names a way with its cache.
pub(crate) fn named(cache: Cache, way: Way) -> String {
    let cache = match cache {
        Cache::Shipped => "2 MB",
        Cache::Large => "256 MB and mmap",
    };
    format!("{way}, {cache}")
}
