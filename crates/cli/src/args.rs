//! The command line as types. Help texts are written here, for people.

#![expect(clippy::doc_markdown, reason = "help texts are shown as they stand, not as Markdown")]

use std::net::SocketAddr;
use std::path::PathBuf;

use afterthought::{Facet, Weights, slice_bounds};
use afterthought_bench::Peer;
use afterthought_bench::layout::Piece;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Search what your AI agent said, thought and did.
///
/// aft mirrors an agent's archive (a Hermes state.db, the logs.db of llm, a SQLiteSession of the OpenAI
/// Agents SDK) into an index of its own, without ever writing to the archive, and answers ranked
/// searches over messages, reasoning and tool calls.
#[derive(Debug, Parser)]
#[command(
    name = "aft",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "Try it without an archive of your own: aft demo")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where help lists the flags that every command takes.
const GLOBAL: &str = "Global options";

#[derive(Args, Debug)]
pub(crate) struct Global {
    /// The archive: an agent's SQLite file [env: AFTERTHOUGHT_ARCHIVE] [default:
    /// $HERMES_HOME/state.db, else ~/.hermes/state.db]
    #[arg(long, value_name = "PATH", global = true, help_heading = GLOBAL, display_order = 100)]
    pub(crate) archive: Option<PathBuf>,
    /// The archive of this name: one of the archives in the configuration file, or a profile of the agent
    #[arg(
        long,
        value_name = "NAME",
        global = true,
        conflicts_with = "archive",
        help_heading = GLOBAL,
        display_order = 100
    )]
    pub(crate) profile: Option<String>,
    /// How the archive is laid out: llm, llm-responses, openai-agents, or the file of a layout of your own
    /// (schema/layouts/README.md) [env: AFTERTHOUGHT_LAYOUT] [default: recognised by its tables]
    #[arg(long, value_name = "NAME|FILE", global = true, help_heading = GLOBAL, display_order = 100)]
    pub(crate) layout: Option<PathBuf>,
    /// Folder for indexes [env: AFTERTHOUGHT_INDEX] [default: the user's data folder, such as
    /// ~/.local/share/afterthought]
    #[arg(long, value_name = "DIR", global = true, help_heading = GLOBAL, display_order = 100)]
    pub(crate) index: Option<PathBuf>,
    /// Print JSON; errors are one JSON line on standard error
    #[arg(long, global = true, help_heading = GLOBAL, display_order = 100)]
    pub(crate) json: bool,
    /// Copy an archive above 2 GB to a private folder where it cannot be read in place
    #[arg(long, global = true, help_heading = GLOBAL, display_order = 100)]
    pub(crate) allow_copy: bool,
    /// Log what happens to standard error
    #[arg(long, short, global = true, help_heading = GLOBAL, display_order = 100)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Search(Box<Search>),
    Index(Index),
    /// Follow the archive: what is written becomes searchable in about a second
    ///
    /// Prints a line for every sync that found something, and when the archive or index cannot be
    /// reached; with --json each is an object on a line of its own. Looks at the archive's files four
    /// times a second and opens them only when they changed. An archive that goes away and comes back is
    /// followed on. Ends at Ctrl-C or SIGTERM, after committing what it has.
    #[command(
        after_help = "Exit codes: 0 stopped, 1 unexpected, 2 usage, 3 archive missing or unreadable at the start,
4 index of another version, 5 index damaged."
    )]
    Watch,
    Reindex(Reindex),
    Status(Status),
    Show(Show),
    Session(Session),
    Sessions(Sessions),
    Verify(Verify),
    Doctor(Doctor),
    Export(Box<Export>),
    Audit(Audit),
    Mcp(Mcp),
    /// Stand in for a tool of Hermes
    #[command(subcommand)]
    Hermes(Hermes),
    Serve(Serve),
    Bench(Bench),
    Eval(Eval),
    #[command(hide = true)]
    BenchTwin(BenchTwin),
    Demo(Demo),
    /// Show where settings come from
    #[command(subcommand)]
    Config(Config),
    /// Print completions for a shell
    ///
    /// For bash: aft completions bash > ~/.local/share/bash-completion/completions/aft
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, in roff
    ///
    /// To read it: aft man | man -l -
    Man,
}

/// Search messages, reasoning and tool calls, best match first.
///
/// Words are alternatives: a message with more of them, rarer ones, or words side by side ranks
/// higher. "Quotes" ask for words that stand together, "quotes"~3 for words at most so far out of
/// place, +word requires one, NOT word excludes one, a AND b requires both, (a OR b) AND c groups.
/// pre* finds what begins so, spelin~ what is spelled nearly so. content:word looks in one field
/// (content, reasoning, tool_calls, tool_name, tool_output, title), said:"a phrase" or did:(a b)
/// in one origin. A session's id, or eight characters of it with a digit, finds that session. All else
/// is text, a leading - too; put -- before a query that begins with one.
///
/// A word finds its other forms too (fail: failed), behind the word as typed; "quotes", operators and
/// --match all ask for the exact one. A weak answer has hits, and none of their conversations holds most of the query.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one bool a flag")]
#[command(after_help = "Examples:
  aft search why did the deploy fail
  aft search --in thought '\"lock order\"'
  aft search --role user --since 7d invoice
  aft search --all --group session invoice
  aft search -- git commit --amend

Exit codes: 0 ok (also without hits), 1 unexpected, 2 usage, 3 archive or index missing or
unreadable, 4 index of another version, 5 index damaged, 8 timeout, 130 interrupted.")]
pub(crate) struct Search {
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Search every archive that has a name as one; what cannot be searched is left out and named
    #[arg(long, conflicts_with_all = ["archive", "profile", "profiles"])]
    pub(crate) all: bool,
    /// Search these archives as one, by their names: a comma list of what --profile takes
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["archive", "profile"])]
    pub(crate) profiles: Vec<String>,
    /// Where a match may stand, as a comma list [default: all]
    #[arg(long = "in", value_name = "ORIGIN", value_delimiter = ',', value_enum)]
    pub(crate) origins: Vec<OriginArg>,
    /// Only these roles, as a comma list such as user,assistant [default: all but session_meta]
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    pub(crate) role: Vec<String>,
    /// Only sessions from these sources, such as cli or telegram
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    pub(crate) source: Vec<String>,
    /// No sessions from these sources, such as cron
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    pub(crate) exclude_source: Vec<String>,
    /// Only these sessions
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) session: Vec<String>,
    /// Not these sessions
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) exclude_session: Vec<String>,
    /// The conversation that asks: not this session, nor those it continues or that continue it
    #[arg(long, value_name = "ID")]
    pub(crate) current_session: Option<String>,
    /// Only sessions of these people, by the id that their archive records
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) user: Vec<String>,
    /// Only sessions with these models
    #[arg(long, value_name = "MODEL", value_delimiter = ',')]
    pub(crate) model: Vec<String>,
    /// Only sessions of this git checkout or remote; where none is recorded, of this working folder.
    /// Exact: a folder inside a checkout belongs to the checkout. DIR/** takes in all below DIR
    #[arg(long, value_name = "DIR|REMOTE")]
    pub(crate) workspace: Option<String>,
    /// Only sessions on these git branches of the workspace, and those of an unknown branch
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "workspace")]
    pub(crate) branch: Vec<String>,
    /// Only messages that call one of these tools, or in which one answers, by its exact name
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub(crate) tool: Vec<String>,
    /// Not before: a date, a month, a date and time (UTC where no zone is given), or an age such as 7d
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Before: as --since
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Whether a hit needs any of the words or all of them
    #[arg(long = "match", value_enum, default_value_t = MatchArg::Any, value_name = "HOW")]
    pub(crate) matching: MatchArg,
    /// What comes first; by relevance, hits of timers (cron), sub-agents and compaction come last
    #[arg(long, value_enum, default_value_t = SortArg::Relevance, value_name = "ORDER")]
    pub(crate) sort: SortArg,
    /// Show each session, or each lineage of sessions, once by its best hit
    #[arg(long, value_enum, default_value_t = GroupArg::None, value_name = "BY")]
    pub(crate) group: GroupArg,
    /// Rank hits of timers, sub-agents and compaction as any other
    #[arg(long)]
    pub(crate) no_tiers: bool,
    /// Show at most this many hits, 1 to 1000; with --offset no deeper than 10000
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Skip this many hits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Show the page after the one that gave this next_cursor, of the same search; implies --no-sync
    #[arg(long, value_name = "CURSOR", conflicts_with = "offset", allow_hyphen_values = true)]
    pub(crate) cursor: Option<String>,
    /// What counts most, as a set: balanced, said, thought, did or saw
    #[arg(long, value_name = "SET", value_parser = weights, default_value = "balanced")]
    pub(crate) weights: Weights,
    /// Weigh one thing, such as reasoning=2; comma list. Fields: content, reasoning, tool_calls,
    /// tool_name, tool_output, title. Others: phrase (words side by side), session (what the rest of the
    /// session holds), forms (other forms of a word; 0 for none), function (the, what, …)
    #[arg(long, value_name = "NAME=X", value_delimiter = ',', value_parser = Weights::read_factor)]
    pub(crate) boost: Vec<(String, f32)>,
    /// Weigh words that stand side by side
    #[arg(long, value_name = "X")]
    pub(crate) phrase_boost: Option<f32>,
    /// Count all hits by these, as a comma list: role, source, session, user, model, workspace, branch, tool, month
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = facet)]
    pub(crate) facets: Vec<Facet>,
    /// Show how each score came about and what the search cost
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also messages that were taken back, or that no person ever saw
    #[arg(long)]
    pub(crate) include_inactive: bool,
    /// Also rows that repeat a message
    #[arg(long)]
    pub(crate) include_copies: bool,
    /// Search the last commit as it is
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Wait at most this many seconds for an index that is not up to date
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub(crate) wait: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OriginArg {
    /// Everywhere
    All,
    /// Words of a person, the model or the system
    Said,
    /// The model's reasoning: considered, not said
    Thought,
    /// Names and arguments of tool calls
    Did,
    /// Output of tools
    Saw,
    /// Session titles
    Titled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortArg {
    /// The best match; among equals the newest
    Relevance,
    /// The newest; unknown times last
    Newest,
    /// The oldest; unknown times last
    Oldest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupArg {
    /// Every hit by itself
    None,
    /// Each session once
    Session,
    /// Each lineage once: sessions that continue, branch from or were started by the same first one
    Lineage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatchArg {
    /// Any word makes a hit
    Any,
    /// Every word must be there
    All,
}

/// Bring the index up to date, or build it.
///
/// The first build takes the newest sessions first and can be searched meanwhile. Stopped at any
/// moment, the next run goes on where it was.
#[derive(Args, Debug)]
#[command(after_help = "Exit codes: 0 ok, 1 unexpected, 2 usage, 3 archive or index missing or unreadable,
4 index of another version, 5 index damaged, 6 another process is writing the index, 130 interrupted.")]
pub(crate) struct Index {
    /// How to show progress
    #[arg(long, value_enum, default_value_t = ProgressArg::Auto, value_name = "HOW")]
    pub(crate) progress: ProgressArg,
}

/// Build the index anew beside the present one, prove it, and swap the two.
///
/// Searches are answered by the present index until the new one is proven: every session's rows equal
/// to the archive's, every file as its checksum says. Stopped or killed, the present index stays, and
/// the next aft reindex within a day goes on. The index that was replaced is kept until the next
/// reindex: three of them may need space at once.
///
/// Several archives are one job: those that are broken, locked or gone stop no other, and a report says
/// what became of each. A job that was stopped or killed goes on with the next aft reindex of the same
/// archives within a day, and repeats none that is done.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one bool a flag")]
#[command(after_help = "Examples:
  aft reindex
  aft reindex --all --jobs 2 --max-mb-per-s 20
  aft reindex --manifest jobs.toml --dry-run
  aft reindex --since-failed

Exit codes: 0 swapped, 1 unexpected, 2 usage, 3 archive missing or unreadable, or index
unwritable, 5 the new index is damaged, 6 another process is reindexing, 7 the archive changed
faster than the new index could be proven, 130 interrupted.
Of a job: 0 all done, 7 some failed, 3 all failed, 130 stopped; 6 another process runs the same job.
With --dry-run: 0 all fits, 7 the disk is too small or some archives cannot be read, 3 none can.")]
pub(crate) struct Reindex {
    /// Archives to reindex as one job [default: the one of --archive, by itself]
    #[arg(value_name = "ARCHIVE", conflicts_with_all = ["archive", "profile", "all", "manifest"])]
    pub(crate) archives: Vec<PathBuf>,
    /// Every archive that has a name: those of the configuration file, and the profiles of the agent
    #[arg(long, conflicts_with_all = ["archive", "profile", "manifest"])]
    pub(crate) all: bool,
    /// The archives that a TOML file lists: an archive table for each with path = "…", name = "…" where reports
    /// should call it so, and layout = "…" where its tables do not say it; relative paths start at the file's folder
    #[arg(long, value_name = "FILE", conflicts_with_all = ["archive", "profile"])]
    pub(crate) manifest: Option<PathBuf>,
    /// Only those that are not done since the last job of these archives; named none, of the last job
    #[arg(long)]
    pub(crate) since_failed: bool,
    /// Show what it would cost: rows, time, disk space; write nothing
    #[arg(long, conflicts_with = "since_failed")]
    pub(crate) dry_run: bool,
    /// Make the index before the present one answer again, checked first, and keep the present one in
    /// its place; the next search takes in what came since
    #[arg(long, conflicts_with_all = ["archives", "all", "manifest", "since_failed", "dry_run"])]
    pub(crate) rollback: bool,
    /// Archives at a time [default: half of the cores, 4 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Memory of all of it, shared by those at a time, in MB, 179 for each at least; archives of more than some
    /// hundred thousand rows take more [default: 495 for each at a time]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) memory: Option<u32>,
    /// Read at most so much text from archives, all together, in MB a second [default: no bound]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_mb_per_s: Option<u32>,
    /// Step back behind other processes, as nice(1) says it, -20 to 19 [default: 10 for a job, else 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub(crate) nice: Option<i32>,
    /// How to show progress
    #[arg(long, value_enum, default_value_t = ProgressArg::Auto, value_name = "HOW")]
    pub(crate) progress: ProgressArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArg {
    /// A bar on a terminal, nothing elsewhere
    Auto,
    /// One JSON line a second on standard error
    Json,
    /// Nothing
    None,
}

/// Prove that the index holds exactly the archive's rows.
///
/// Compares row sets, which rows are active and what is known of sessions, and the checksums of the
/// index's files. With --deep also what every row says: text edited in place, and flips of other flags.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 equal, 1 unexpected, 2 usage, 3 archive or index missing or unreadable,
4 index of another version, 5 index damaged, 6 another process is writing the index, 7 different,
130 interrupted."
)]
pub(crate) struct Verify {
    /// Read every row of the archive and compare what it says
    #[arg(long)]
    pub(crate) deep: bool,
    /// Write what differs, then prove again; build a damaged index anew
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Show a message and its neighbours, whole, as the archive holds them.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The message's id, as shown by aft search
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    pub(crate) id: i64,
    /// Show this many messages before and after it
    #[arg(long, short = 'C', value_name = "N", default_value_t = 0)]
    pub(crate) context: usize,
}

/// Look at everything that answers rest on, and say what is wrong and what to do.
///
/// Looks at the configuration file, the archive (its file, disk, log and layout), its index (folder,
/// permissions, disk space, locks, generations, version), and whether the two hold the same rows. A fault
/// does not work; a warning works, and somebody should know. Changes nothing, and builds no index.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 no fault, warnings or not; else that of the fault: 2 settings, 3 archive or index
missing or unreadable, 5 index damaged, 7 index and archive differ; with --all, 7 where any archive has a fault."
)]
pub(crate) struct Doctor {
    /// Look at every archive that has a name: those of the configuration file and the agent's profiles
    #[arg(long, conflicts_with_all = ["archive", "profile"])]
    pub(crate) all: bool,
    /// Also read every page of the archive, every byte of the index that answers, and compare what every row says
    #[arg(long)]
    pub(crate) deep: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text, value_name = "FORMAT")]
    pub(crate) format: DoctorFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// For people
    Text,
    /// One JSON document, as --json
    Json,
}

/// Write the archive's messages out, to read or to take elsewhere.
///
/// Reads one state of the archive, whatever is written meanwhile, and needs no index. Sessions come in the
/// order of their start (those without one last), then of their ids; messages inside a session by id. As in
/// a search, what was taken back or hidden and what repeats another row is left out unless asked for.
///
/// jsonl is one object a line, each a message with its session, as schema/export.schema.json states it.
/// markdown is a transcript: thoughts and outputs of tools are folded away.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  aft export > archive.jsonl
  aft export --format markdown --session 20260901_100311 -o talk.md
  aft export --include-inactive --include-copies -o every-row.jsonl
  aft export --in said --role user --since 2026-09 | jq -r .content

Exit codes: 0 ok, 1 unexpected, or no session of that id, 2 usage, also where the file is there,
3 archive missing or unreadable, or it changed while it was printed, 130 interrupted.")]
pub(crate) struct Export {
    /// How to write it
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl, value_name = "FORMAT")]
    pub(crate) format: ExportFormat,
    /// Write to this file, which its owner alone can read, and which appears when it is whole
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Only these sessions, by id or the beginning of one; comma list, or several times
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) session: Vec<String>,
    /// Only sessions from these sources, such as cli or telegram
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    pub(crate) source: Vec<String>,
    /// Only these roles, as a comma list such as user,assistant [default: all]
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    pub(crate) role: Vec<String>,
    /// Only these parts of messages, as a comma list; messages that have none of them are left out
    /// [default: all]
    #[arg(long = "in", value_name = "ORIGIN", value_delimiter = ',', value_enum)]
    pub(crate) parts: Vec<OriginArg>,
    /// Not before: a date, a month, a date and time (UTC where no zone is given), or an age such as 7d
    #[arg(long, visible_alias = "after", value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Before: as --since
    #[arg(long, visible_alias = "before", value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Also messages that were taken back, or that no person ever saw
    #[arg(long)]
    pub(crate) include_inactive: bool,
    /// Also rows that repeat a message
    #[arg(long)]
    pub(crate) include_copies: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line
    Jsonl,
    /// A transcript to read
    Markdown,
}

/// Measure what the archive holds that its agent's own search cannot find.
///
/// Without a word: figures of the archive, and words that were thought and never said. With a word:
/// what the agent's word index, trigram index and scan find, beside what is found here. The figures'
/// SQL stands in schema/audit.sql. Changes nothing.
#[derive(Args, Debug)]
pub(crate) struct Audit {
    /// A word to look up by every route
    #[arg(value_name = "WORD")]
    pub(crate) word: Option<String>,
}

/// Serve a page for people and the search for programs over HTTP, and follow the archive meanwhile
///
/// Answers are the JSON of aft's commands, and parameters have the names of their flags:
/// /api/v1/search?q=, /api/v1/facets?q=, /api/v1/messages/ID, /api/v1/sessions, /api/v1/sessions/ID,
/// /api/v1/status, /api/v1/audit, /api/v1/syncs, /api/v1/events, /healthz, /metrics; /openapi.json says all
/// of it. People find a page at /, agents their tools at /mcp (MCP over streamable HTTP).
///
/// Only this machine may ask, unless there is a token, which requests bring as Authorization: Bearer. What is said is not encrypted: put a
/// proxy with TLS before it where others listen. Ends at Ctrl-C or SIGTERM, after answers under way.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  aft serve
  curl 'http://127.0.0.1:7878/api/v1/search?q=lock+order&in=thought&since=7d'
  aft serve --listen 0.0.0.0:7878 --token-file token --allow-host search.example

Exit codes: 0 stopped, 1 unexpected, 2 usage, also where the address is taken, 3 archive missing or
unreadable at the start, 4 index of another version, 5 index damaged.")]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes any that is free. Others than this machine need a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7878")]
    pub(crate) listen: SocketAddr,
    /// The file of the token that every request but /healthz must bring [env: AFTERTHOUGHT_TOKEN, the token itself]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Answer as if the archive held the sessions of this person and nothing else; by the id that the
    /// archive records
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) user: Option<String>,
    /// Offer agents these tools only at /mcp, as a comma list [default: those of aft mcp]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Names by which the server may be asked, beside its address and localhost; comma list
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) allow_host: Vec<String>,
}

/// Show how true the index is, and what it costs.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 ok, 1 unexpected, 2 usage, 3 archive or index missing or unreadable, 4 index of another
version, 5 index damaged; with --all, 7 where some archive or index cannot be read."
)]
pub(crate) struct Status {
    /// Show every archive that has a name: those of the configuration file and the agent's profiles
    #[arg(long, conflicts_with_all = ["archive", "profile"])]
    pub(crate) all: bool,
}

/// Measure searches here against SQLite's FTS5 and against a scan, on your own archive.
///
/// Copies the archive's rows to a private folder, builds every index there, and asks every side the
/// same questions for the same work: ten whole hits with snippets, and the total. Takes some minutes,
/// and space for a copy and the indexes; leaves nothing behind. Progress goes to standard error.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  aft bench --report html -o bench.html
  aft bench --against shipped,best --budget 1
  aft bench --queries my-queries.txt --against best --report md
  aft bench --builds 3 --no-whole-process
  aft --json bench --runs 21 > report.json

Rivals: best is FTS5 with reasoning and trigrams, asked in whichever way is fastest; v30 and shipped
are FTS5 as the agent's newest version and its releases have it; scan is LIKE over every row.

Exit codes: 0 ok, 1 unexpected, 2 usage, 3 archive unreadable or disk too small, 130 interrupted.")]
pub(crate) struct Bench {
    /// Whom to measure beside us, as a comma list of best, v30, shipped and scan
    #[arg(long, value_name = "RIVAL", value_delimiter = ',', value_parser = peer, default_value = "best,scan")]
    pub(crate) against: Vec<Peer>,
    /// Run each search at most this often on each side; a fifth of that as whole processes
    #[arg(long, value_name = "N", default_value_t = 101, value_parser = runs)]
    pub(crate) runs: usize,
    /// Spend at most this many seconds on one search on one side, if it ran five times
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    pub(crate) budget: f64,
    /// Build each index this often, by turns
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = runs)]
    pub(crate) builds: usize,
    /// Choose other queries, and another order of runs
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,
    /// Ask these queries, one a line, instead of chosen ones
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    /// Leave the scan out: on a large archive it takes longest
    #[arg(long)]
    pub(crate) no_scan: bool,
    /// Leave searches as whole processes out, warm and cold
    #[arg(long)]
    pub(crate) no_whole_process: bool,
    /// The form of the report [default: md; json with --json]
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) report: Option<ReportArg>,
    /// Write the report to a file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Where the private copy stands meanwhile [default: the temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportArg {
    /// One page that needs nothing else, for people
    Html,
    /// Markdown
    Md,
    /// The shape of schema/bench.schema.json
    Json,
}

/// Measure how good answers are, on judged sets, against FTS5 and plain BM25.
///
/// Writes each set as an agent's archive, mirrors it, asks its questions through the same search as
/// everything else, and compares what comes back with what was judged. Archives, indexes and the
/// rivals' answers are kept, so that a run with other weights only searches.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  aft eval
  aft eval --data judged --sets entireio-cli,cosqa
  aft eval --data judged --save before.json
  aft eval --data judged --boost phrase=2,reasoning=0.7 --against before.json

Exit codes: 0 ok, 1 unexpected, 2 usage, also where a set is not there, 3 no place to work in.")]
pub(crate) struct Eval {
    /// The folder of judged sets [default: none; the bundled set is always measured]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Keep archives and indexes here [default: a folder in the temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) work: Option<PathBuf>,
    /// Only these sets, as a comma list [default: all that are there]
    #[arg(long, value_name = "SET", value_delimiter = ',')]
    pub(crate) sets: Vec<String>,
    /// What counts most, as a set: balanced, said, thought, did or saw
    #[arg(long, value_name = "SET", value_parser = weights, default_value = "balanced")]
    pub(crate) weights: Weights,
    /// Weigh one thing, such as reasoning=0.7 or session=0; comma list of what aft search --boost takes
    #[arg(long, value_name = "NAME=X", value_delimiter = ',', value_parser = Weights::read_factor)]
    pub(crate) boost: Vec<(String, f32)>,
    /// Test differences against a (FTS5 as the agent uses it), b (FTS5 at its best), c (plain BM25),
    /// or a file of --save
    #[arg(long, value_name = "WHOM", default_value = "c")]
    pub(crate) against: String,
    /// Write the score of every query to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Measure this many sets at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) threads: usize,
    /// Also ask for 200 made-up subjects, and tell how often an answer comes all the same
    #[arg(long)]
    pub(crate) absent: bool,
    /// Throw other coins in the test, and make up other subjects
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,
}

/// Do one piece of aft bench's work in a process of its own.
#[derive(Args, Debug)]
pub(crate) struct BenchTwin {
    /// The copy of an archive
    #[arg(long, value_name = "PATH")]
    pub(crate) database: PathBuf,
    /// Where our index of it is
    #[arg(long, value_name = "DIR", requires = "read")]
    pub(crate) index_dir: Option<PathBuf>,
    /// Build this piece of a rival
    #[arg(long, value_name = "PIECE", value_parser = piece)]
    pub(crate) build: Option<Piece>,
    /// Answer this question, in JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) ask: Option<String>,
    /// Ask these questions by threads, in JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) read: Option<String>,
}

/// Show a session: all of it, a part, one role, or what matches a query in it.
///
/// Messages are numbered from 0; roles and slices never change a number. A slice counts within
/// the roles asked for: --role user --slice -5: is the last five messages of the user.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  aft session 20260901_1003 --role user --slice -5:
  aft session 20260901_100311_ab12cd --slice 40:60
  aft session 20260901_100311_ab12cd --search 'lock order'")]
pub(crate) struct Session {
    /// The session's id, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Only these messages, from A up to and without B; negative numbers count from the end
    #[arg(long, value_name = "A:B", value_parser = slice_bounds, allow_hyphen_values = true)]
    pub(crate) slice: Option<(Option<i64>, Option<i64>)>,
    /// Only these roles, such as user or assistant
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    pub(crate) role: Vec<String>,
    /// Show what matches in the session instead, best first
    #[arg(long, value_name = "QUERY", conflicts_with = "slice")]
    pub(crate) search: Option<String>,
    /// Show at most this many hits, 1 to 50 [default: 10]
    #[arg(long, short = 'n', value_name = "N", requires = "search", allow_negative_numbers = true)]
    pub(crate) limit: Option<i64>,
    /// Skip this many hits
    #[arg(long, value_name = "N", requires = "search", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Show the last commit as it is
    #[arg(long)]
    pub(crate) no_sync: bool,
}

/// List sessions, the latest activity first.
#[derive(Args, Debug)]
pub(crate) struct Sessions {
    /// Only sessions from these sources, such as cli or telegram
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    pub(crate) source: Vec<String>,
    /// No sessions from these sources, such as cron
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    pub(crate) exclude_source: Vec<String>,
    /// Only sessions of these people, by the id that their archive records
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) user: Vec<String>,
    /// Only sessions with these models
    #[arg(long, value_name = "MODEL", value_delimiter = ',')]
    pub(crate) model: Vec<String>,
    /// Only sessions of this git checkout or remote; where none is recorded, of this working folder.
    /// Exact: a folder inside a checkout belongs to the checkout. DIR/** takes in all below DIR
    #[arg(long, value_name = "DIR|REMOTE")]
    pub(crate) workspace: Option<String>,
    /// Only sessions on these git branches of the workspace, and those of an unknown branch
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "workspace")]
    pub(crate) branch: Vec<String>,
    /// Last active not before: a date, a date and time (UTC where no zone is given), or an age such as 7d
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Last active before: as --since
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Show at most this many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Skip this many
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// List the last commit as it is
    #[arg(long)]
    pub(crate) no_sync: bool,
}

/// Serve the search to an agent, by the Model Context Protocol over standard input and output.
///
/// Offers tools to search, to read on from a hit, to list sessions, and to tell how true the index is. A
/// client starts this command itself and ends it by closing its standard input. The archive is opened at the
/// first call; where that fails, the client gets the reason as the tool's answer.
#[derive(Args, Debug)]
#[command(after_help = "In the configuration of a client, with paths from the root:
  {\"mcpServers\": {\"afterthought\": {
    \"command\": \"aft\", \"args\": [\"mcp\", \"--archive\", \"/path/to/state.db\"]}}}

Or let it be written, for your client and with your paths:
  aft mcp --print-config claude-code
  aft mcp --print-config hermes --user 4711

What the tools take and give: schema/mcp.json.

Exit codes: 0 the client has gone, 1 unexpected, 2 usage, 130 interrupted.")]
pub(crate) struct Mcp {
    /// Answer as if the archive held the sessions of this person and nothing else; by the id that the
    /// archive records
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) user: Option<String>,
    /// Offer these tools only, as a comma list [default: search_messages, search_reasoning, get_message,
    /// get_session, list_sessions, index_status]; session_search is that of Hermes
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Print what this host's configuration needs to start the server, and where it goes; serve nothing
    #[arg(long, value_name = "HOST", value_enum)]
    pub(crate) print_config: Option<Host>,
}

/// A program that starts MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    Hermes,
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Codex,
    Vscode,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hermes {
    SessionSearch(Box<SessionSearch>),
}

/// Answer a call of session_search as Hermes' own tool does, ranked, and print its JSON.
///
/// With --query finds conversations, with --session-id reads one, with --around-message-id too shows the
/// messages around that one, without any lists the latest. Values are read as the tool reads them: what
/// cannot be read is the default. Profiles are looked for around the archive: the root's is default, a
/// named one's lies below profiles/NAME. What the tool takes and gives: schema/session_search.json.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  aft hermes session-search --query 'lock order' --limit 5
  aft hermes session-search --session-id 20260901_100311_ab12cd --around-message-id 4711
  echo '{\"query\": \"lock order\", \"include_reasoning\": true}' | aft hermes session-search --args -

Exit codes: 0 answered, also where the answer is an error of the tool, 1 unexpected, 2 usage.")]
pub(crate) struct SessionSearch {
    /// What to look for
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) query: Option<String>,
    /// Show at most this many conversations, 1 to 10 [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) limit: Option<String>,
    /// What comes first instead of the best match: newest or oldest
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<String>,
    /// A session, also as PROFILE/ID
    #[arg(long, value_name = "ID")]
    pub(crate) session_id: Option<String>,
    /// A message of it
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) around_message_id: Option<String>,
    /// Messages on each side of it, 1 to 20 [default: 5]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) window: Option<String>,
    /// Roles to search, as a comma list [default: user,assistant]
    #[arg(long, value_name = "ROLES")]
    pub(crate) role_filter: Option<String>,
    /// Another profile's archive
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Search what the model thought as well
    #[arg(long)]
    pub(crate) include_reasoning: bool,
    /// Messages around every result (full) or the first one alone (adaptive) [default: full]
    #[arg(long, value_name = "HOW")]
    pub(crate) detail: Option<String>,
    /// Only messages not before: a date, a date and time, or an age such as 7d
    #[arg(long, value_name = "WHEN")]
    pub(crate) after: Option<String>,
    /// Only messages before: as --after
    #[arg(long, value_name = "WHEN")]
    pub(crate) before: Option<String>,
    /// Not the conversations of these sessions, as a comma list
    #[arg(long, value_name = "ID")]
    pub(crate) exclude_session_ids: Option<String>,
    /// The arguments as an agent gives them: one JSON object, or - for standard input
    #[arg(long, value_name = "JSON", conflicts_with = "lines", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Answer every line of standard input, each one JSON object, with a line
    #[arg(long)]
    pub(crate) lines: bool,
    /// The session that asks: what it has in front of it is not shown
    #[arg(long, value_name = "ID")]
    pub(crate) current_session: Option<String>,
    /// Only sessions of this person, in every way to reach one
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
    /// Wait at most this many seconds for an index that is not up to date
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value_t = 10.0)]
    pub(crate) wait: f64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print every setting
    Show {
        /// Say where each value comes from: flag, environment, file or default
        #[arg(long)]
        origin: bool,
    },
}

/// Generate a small archive and search it: nothing else needed.
///
/// Writes half a year of an imaginary agent, mirrors it, and asks it what the agent's own FTS5
/// search cannot answer.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Where to put the demo's archive and index [default: a folder in the temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

fn peer(text: &str) -> Result<Peer, String> {
    let names = Peer::ALL.map(Peer::name).join(", ");
    Peer::named(text).ok_or(format!("no rival \"{text}\"; rivals: {names}"))
}

fn piece(text: &str) -> Result<Piece, String> {
    Piece::named(text).ok_or(format!("no piece \"{text}\""))
}

fn runs(text: &str) -> Result<usize, String> {
    let runs = text.parse().map_err(|_| format!("\"{text}\" is no whole number"))?;
    if runs == 0 { Err("at least 1".to_owned()) } else { Ok(runs) }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    let fits = std::time::Duration::try_from_secs_f64(seconds).is_ok();
    if fits { Ok(seconds) } else { Err("a number of seconds of 0 or more".to_owned()) }
}

fn facet(text: &str) -> Result<Facet, String> {
    let names = Facet::ALL.map(Facet::name).join(", ");
    Facet::named(text).ok_or(format!("no facet \"{text}\"; facets: {names}"))
}

fn weights(name: &str) -> Result<Weights, String> {
    Weights::named(name).ok_or_else(|| format!("no set \"{name}\"; sets: {}", Weights::SETS.join(", ")))
}
