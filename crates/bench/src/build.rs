//! Builds every index, each in a process of its own, by turns: whatever disturbs the machine disturbs
//! all of them alike.

use std::path::Path;

use afterthought::Result;
use afterthought_tools::random::Random;

use crate::failed;
use crate::layout::Piece;
use crate::measure::shuffle;
use crate::program::{Program, Watched};
use crate::report::{ArchiveFacts, Build};

/// What was built, ours where there is no piece, and how it went each time.
pub(crate) struct Built {
    pub(crate) piece: Option<Piece>,
    pub(crate) times: Vec<Watched>,
}

/// Builds ours and every piece, `rounds` times, in an order that the seed shuffles anew each time. The
/// last of each stays; those before were built on copies of the copy, which are gone.
///
/// `check` is asked before each build whether to go on.
pub(crate) fn build(
    program: &Program,
    pieces: &[Piece],
    (rounds, seed): (usize, u64),
    mut check: impl FnMut(&str) -> Result<()>,
) -> Result<Vec<Built>> {
    let mut random = Random::new(seed);
    let all = std::iter::once(None).chain(pieces.iter().copied().map(Some));
    let mut built: Vec<Built> = all.map(|piece| Built { piece, times: Vec::new() }).collect();
    for round in 1..=rounds {
        let last = round == rounds;
        let here = if last { program.clone() } else { scratch(program)? };
        let mut order: Vec<usize> = (0..built.len()).collect();
        shuffle(&mut order, &mut random);
        for at in order {
            let name = built[at].piece.map_or("our index", Piece::name);
            check(&format!("building {name}, {round} of {rounds}"))?;
            let watched = match built[at].piece {
                None => here.build_ours()?,
                Some(piece) => here.build(piece)?,
            };
            built[at].times.push(watched);
        }
        if !last {
            clear(&here)?;
        }
    }
    Ok(built)
}

fn scratch(program: &Program) -> Result<Program> {
    let here = Program {
        copy: program.copy.with_file_name("again.db"),
        index: program.index.with_file_name("again"),
        ..program.clone()
    };
    std::fs::copy(&program.copy, &here.copy).map_err(failed("copy", program.copy.display()))?;
    Ok(here)
}

fn clear(here: &Program) -> Result<()> {
    let gone = |path: &Path, remove: fn(&Path) -> std::io::Result<()>| match remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed("remove", path.display())(error))
        }
        _ => Ok(()),
    };
    gone(&here.index, |path| std::fs::remove_dir_all(path))?;
    for ending in ["", "-wal", "-shm"] {
        let name = format!("{}{ending}", here.copy.display());
        gone(Path::new(&name), |path| std::fs::remove_file(path))?;
    }
    Ok(())
}

impl Built {
    /// Sums up what it cost; `index_bytes` as it stays.
    pub(crate) fn report(&self, facts: &ArchiveFacts, index_bytes: u64) -> Build {
        let optimize_of = |watched: &Watched| watched.report["optimize_s"].as_f64();
        let seconds_of = |watched: &Watched| watched.seconds - optimize_of(watched).unwrap_or_default();
        let mut seconds: Vec<f64> = self.times.iter().map(seconds_of).collect();
        seconds.sort_unstable_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        let mut optimize: Vec<f64> = self.times.iter().filter_map(optimize_of).collect();
        optimize.sort_unstable_by(f64::total_cmp);
        Build {
            side: self.piece.map_or("ours", Piece::name).to_owned(),
            builds: seconds.len(),
            seconds: median,
            seconds_min: seconds[0],
            seconds_max: seconds[seconds.len() - 1],
            optimize_s: optimize.get(optimize.len() / 2).copied(),
            rows_per_s: number(facts.rows) / median,
            text_bytes_per_s: number(facts.text_bytes) / median,
            peak_anonymous_bytes: self.times.iter().filter_map(|watched| watched.peak_anonymous_bytes).max(),
            index_bytes,
            index_bytes_per_text_byte: number(index_bytes) / number(facts.text_bytes.max(1)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}
