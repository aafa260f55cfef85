//! `aft eval`: how good answers are, on judged sets.

use afterthought_eval::{Against, Settings};

use crate::args::{Eval, Global};
use crate::fail::Failure;
use crate::stdout::{print_json, print_text};

pub(crate) fn run(global: &Global, args: &Eval) -> Result<u8, Failure> {
    let against = match args.against.as_str() {
        "a" => Against::Agent,
        "b" => Against::Fts5,
        "c" => Against::Bm25,
        path => Against::Saved(afterthought_eval::saved(path.as_ref())?),
    };
    let mut weights = args.weights.clone();
    args.boost.iter().for_each(|(name, factor)| _ = weights.set(name, *factor));
    let settings = Settings {
        data: args.data.clone(),
        work: args.work.clone().unwrap_or_else(|| std::env::temp_dir().join("aft-eval")),
        sets: args.sets.clone(),
        weights,
        against,
        threads: args.threads,
        seed: args.seed,
        absent: args.absent,
    };
    let report = afterthought_eval::run(&settings, &|line| tell!("{line}"))?;
    if let Some(path) = &args.save {
        report.save(path)?;
    }
    if global.json {
        print_json(&report)?;
    } else {
        print_text(&report.text())?;
    }
    Ok(0)
}
