//! Which judged sets there are: where each can be had, what it may be used for, and what is asked of it.
//!
//! | set | from | licence |
//! |---|---|---|
//! | `entireio-cli` | github.com/entireio/cli, branch `entire/checkpoints/v1` | MIT |
//! | `getspecstory` | github.com/specstoryai/getspecstory, `.specstory/history` | Apache-2.0 |
//! | `who-and-when` | github.com/mingyin1/Agents_Failure_Attribution | MIT; tasks partly GAIA's |
//! | `tau-bench-airline` | github.com/sierra-research/tau-bench | MIT |
//! | `memorybank-cn` | github.com/zhongwanjun/MemoryBank-SiliconFriend; evidence marked by hand | MIT |
//! | `crosswoz` | github.com/thu-coai/CrossWOZ | Apache-2.0 |
//! | `qmsum`, `qmsum-longembed` | github.com/Yale-LILY/QMSum; the latter is LongEmbed's task | MIT |
//! | `longmemeval-mini` | LongMemEval, three haystacks: a smoke test | MIT |
//! | `xquad-*` | github.com/google-deepmind/xquad | CC BY-SA 4.0 |
//! | `cmrc2018` | github.com/ymcui/cmrc2018 | CC BY-SA 4.0 |
//! | `koziev-pqa-ru` | github.com/Koziev/NLP_Datasets | CC0-1.0 |
//! | `cosqa` | github.com/Jun-jie-Huang/CoCLR | MIT; queries C-UDA |
//! | `locomo` | github.com/snap-research/LoCoMo | CC BY-NC 4.0 |
//!
//! None of them is part of this project. `locomo` may not be used commercially: it is reported, and no
//! weight is chosen by it.

#![expect(clippy::doc_markdown, reason = "names of sets are written as their makers write them")]

use afterthought_tools::bm25::Bm25;

/// A judged set.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name.
    pub name: &'static str,
    /// How its files are laid out.
    pub(crate) shape: Shape,
    /// What it is written in.
    pub(crate) language: Language,
    /// What is asked of it.
    pub(crate) tasks: &'static [Task],
    /// The licence of the set.
    pub licence: &'static str,
}

/// How a set's files are laid out below the data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `trajectories/NAME.jsonl.zst` and `NAME.queries/queries.dev.jsonl`.
    Trajectories,
    /// `FOLDER/conversations.jsonl.zst` and `FOLDER/queries.dev.jsonl`, the queries of another folder
    /// where it is named, and then of the sessions that are no test set.
    Conversations { folder: &'static str, queries: &'static str },
    /// `ir/NAME/{docs.jsonl.zst,queries.dev.jsonl,qrels.dev.tsv}`.
    Documents,
    /// Part of this program.
    Bundled,
}

/// What a set is written in, for the analyzers of the rivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Russian,
    Chinese,
    Mixed,
}

/// What is asked of a set: units to find, where, and how plain BM25 is set for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Task {
    pub(crate) unit: Unit,
    pub(crate) scope: Scope,
    pub(crate) bm25: Bm25,
}

/// What a ranking lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Messages; a document is one.
    Message,
    /// Sessions, in the order of their best messages.
    Session,
}

/// Where a query looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In the conversation it belongs to.
    Own,
    /// In the whole archive.
    All,
}

impl Task {
    /// Names the task, within its set.
    pub(crate) fn name(self) -> &'static str {
        match (self.unit, self.scope) {
            (Unit::Message, Scope::Own) => "message, own",
            (Unit::Message, Scope::All) => "message",
            (Unit::Session, Scope::Own) => "session, own",
            (Unit::Session, Scope::All) => "session",
        }
    }
}

const fn task(unit: Unit, scope: Scope) -> Task {
    Task { unit, scope, bm25: Bm25::USUAL }
}

const fn short(unit: Unit, scope: Scope) -> Task {
    Task { unit, scope, bm25: Bm25::SHORT }
}

const LONGEMBED: Task = Task { unit: Unit::Session, scope: Scope::All, bm25: Bm25 { k1: 1.5, b: 0.75 } };
const BY_SESSION: &[Task] = &[task(Unit::Session, Scope::All)];
const BY_MESSAGE: &[Task] = &[task(Unit::Message, Scope::All)];

const fn logs(name: &'static str, licence: &'static str) -> Spec {
    Spec { name, shape: Shape::Trajectories, language: Language::English, tasks: BY_SESSION, licence }
}

const fn documents(name: &'static str, language: Language, licence: &'static str) -> Spec {
    Spec { name, shape: Shape::Documents, language, tasks: BY_MESSAGE, licence }
}

const fn talks(
    name: &'static str,
    folder: &'static str,
    language: Language,
    tasks: &'static [Task],
    licence: &'static str,
) -> Spec {
    Spec { name, shape: Shape::Conversations { folder, queries: folder }, language, tasks, licence }
}

/// Every set that `--data` may hold, in the order of the report.
pub const SETS: [Spec; 16] = [
    logs("entireio-cli", "MIT"),
    logs("getspecstory", "Apache-2.0"),
    logs("who-and-when", "MIT"),
    logs("tau-bench-airline", "MIT"),
    talks(
        "longmemeval-mini",
        "conv/longmemeval-mini",
        Language::English,
        &[task(Unit::Session, Scope::Own)],
        "MIT",
    ),
    talks(
        "qmsum",
        "conv/qmsum",
        Language::English,
        &[task(Unit::Message, Scope::Own), task(Unit::Session, Scope::All)],
        "MIT",
    ),
    Spec {
        name: "qmsum-longembed",
        shape: Shape::Conversations { folder: "conv/qmsum", queries: "conv/qmsum-longembed" },
        language: Language::English,
        tasks: &[LONGEMBED],
        licence: "MIT",
    },
    talks(
        "memorybank-cn",
        "conv/memorybank-cn",
        Language::Chinese,
        &[task(Unit::Message, Scope::Own), task(Unit::Session, Scope::Own), task(Unit::Session, Scope::All)],
        "MIT",
    ),
    talks("crosswoz", "conv/crosswoz", Language::Chinese, &[short(Unit::Session, Scope::All)], "Apache-2.0"),
    documents("xquad-en", Language::English, "CC BY-SA 4.0"),
    documents("xquad-ru", Language::Russian, "CC BY-SA 4.0"),
    documents("xquad-zh", Language::Chinese, "CC BY-SA 4.0"),
    documents("xquad-mixed", Language::Mixed, "CC BY-SA 4.0"),
    documents("cmrc2018", Language::Chinese, "CC BY-SA 4.0"),
    documents("koziev-pqa-ru", Language::Russian, "CC0-1.0"),
    documents("cosqa", Language::English, "MIT, queries C-UDA"),
];

/// For evaluation alone; shown last.
pub const LOCOMO: Spec = talks(
    "locomo",
    "noncommercial/conv/locomo",
    Language::English,
    &[short(Unit::Message, Scope::Own), short(Unit::Session, Scope::All)],
    "CC BY-NC 4.0: reported only, no weight is chosen by it",
);

/// Our own set, which is always there.
pub const BUNDLED: Spec = Spec {
    name: "bundled",
    shape: Shape::Bundled,
    language: Language::Mixed,
    tasks: &[task(Unit::Message, Scope::All), task(Unit::Session, Scope::All)],
    licence: "this project's",
};
