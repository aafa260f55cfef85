//! `aft`: arguments in, pages out. Holds no search logic.

/// Prints a line on standard error. Nobody may be listening there; that is no failure.
macro_rules! tell {
    ($($part:tt)*) => { $crate::stdout::tell(&format!($($part)*)) };
}

mod args;
mod audit;
mod bench;
mod config;
mod demo;
mod doctor;
mod eval;
mod explain;
mod export;
mod fail;
mod forecast;
mod hermes;
mod hosts;
mod index;
mod jobs;
mod mcp;
mod paint;
mod paths;
mod profiles;
mod progress;
mod reindex;
mod search;
mod serve;
mod session;
mod show;
mod status;
mod stdout;
mod verify;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Command, Config, Hermes};
use fail::Failure;

fn main() -> ExitCode {
    let typed: Vec<_> = std::env::args_os().collect();
    let wants_json = typed.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let cli = match Cli::try_parse_from(&typed) {
        Ok(cli) => cli,
        Err(error) => return fail::refused(&error, &typed, wants_json),
    };
    if cli.global.verbose {
        let log = tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG);
        log.init();
    }
    match run(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(&cli.global),
    }
}

fn run(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        Command::Search(search) => search::run(&cli.global, search),
        Command::Index(index) => index::run(&cli.global, index),
        Command::Watch => watch::run(&cli.global),
        Command::Reindex(reindex) => reindex::run(&cli.global, reindex),
        Command::Status(status) => status::run(&cli.global, status),
        Command::Audit(audit) => audit::run(&cli.global, audit),
        Command::Verify(verify) => verify::run(&cli.global, verify),
        Command::Bench(bench) => bench::run(&cli.global, bench),
        Command::Eval(eval) => eval::run(&cli.global, eval),
        Command::BenchTwin(twin) => bench::twin(twin),
        Command::Show(show) => {
            show::run(&cli.global, show).map_err(|failure| profiles::elsewhere(&cli.global, failure))
        }
        Command::Session(session) => {
            session::one(&cli.global, session).map_err(|failure| profiles::elsewhere(&cli.global, failure))
        }
        Command::Sessions(sessions) => session::list(&cli.global, sessions),
        Command::Mcp(mcp) => mcp::run(&cli.global, mcp),
        Command::Hermes(Hermes::SessionSearch(call)) => hermes::session_search(&cli.global, call),
        Command::Doctor(args) => doctor::run(&cli.global, args),
        Command::Export(args) => {
            export::run(&cli.global, args).map_err(|failure| profiles::elsewhere(&cli.global, failure))
        }
        Command::Serve(serve) => serve::run(&cli.global, serve),
        Command::Demo(demo) => demo::run(&cli.global, demo),
        Command::Config(Config::Show { origin }) => config::show(&cli.global, *origin),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "aft", &mut script);
            stdout::print_bytes(&script)?;
            Ok(0)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            stdout::print_bytes(&page)?;
            Ok(0)
        }
    }
}
