//! Reads a judged set: its sessions as rows of an archive, its queries with what answers them.
//!
//! The answer is never indexed: labels, answers and evidence stay here. Titles are written where they
//! are the session's own, its first line or its model's summary; a title that the set's makers gave
//! (the task itself in `who-and-when`, names of meetings) is left out.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use afterthought::time::bound_ms;
use afterthought::{Error, ErrorKind, Result};
use afterthought_tools::archive::{Message, Session, python_json};
use ruzstd::decoding::StreamingDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::catalogue::{Shape, Spec};
use crate::failed;
use crate::metrics::{self, Judged};

/// A judged set in memory.
pub(crate) struct Set {
    pub(crate) spec: Spec,
    pub(crate) sessions: Vec<Talk>,
    pub(crate) queries: Vec<Query>,
}

/// A session and its messages. Messages of a set are numbered from 0 in the order of its sessions.
pub(crate) struct Talk {
    pub(crate) session: Session,
    pub(crate) messages: Vec<Message>,
    /// The number of its first message.
    pub(crate) first: u32,
}

/// A query with what answers it.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    /// What kind of question it is.
    pub(crate) kind: String,
    /// The sessions of the conversation it belongs to, which follow each other.
    pub(crate) own: Option<Range<u32>>,
    pub(crate) messages: Judged,
    pub(crate) sessions: Judged,
}

#[derive(Deserialize)]
pub(crate) struct RawSession {
    session_id: String,
    conversation_id: Option<String>,
    title: Option<String>,
    title_kind: Option<String>,
    cwd: Option<String>,
    git_branch: Option<String>,
    parent_session_id: Option<String>,
    model: Option<String>,
    split: Option<String>,
    started_at: Option<String>,
    messages: Vec<RawMessage>,
}

#[derive(Deserialize)]
struct RawMessage {
    role: String,
    content: Option<String>,
    tool_name: Option<String>,
    tool_calls: Option<Value>,
    tool_call_id: Option<String>,
    reasoning: Option<String>,
    timestamp: Option<String>,
    id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct RawQuery {
    #[serde(alias = "id")]
    qid: Option<String>,
    conversation_id: Option<String>,
    #[serde(alias = "text")]
    query: String,
    #[serde(alias = "lang")]
    category: Option<String>,
    #[serde(default)]
    verbatim_in_evidence: bool,
    #[serde(default)]
    evidence: Vec<String>,
    #[serde(default)]
    evidence_sessions: Vec<String>,
}

#[derive(Deserialize)]
struct RawDocument {
    id: String,
    title: Option<String>,
    text: String,
}

/// Our own set.
const JUDGED: &str = include_str!("bundled/judged.toml");

#[derive(Deserialize)]
struct Bundled {
    session: Vec<RawSession>,
    query: Vec<RawQuery>,
}

/// Says what a set is made from: other words for other files. `None` if it is not there.
pub(crate) fn made_from(spec: &Spec, data: Option<&Path>) -> Option<String> {
    if spec.shape == Shape::Bundled {
        return Some(JUDGED.to_owned());
    }
    let mut about = String::new();
    for path in paths(spec, data?) {
        let file = std::fs::metadata(there(&path)?).ok()?;
        let changed = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        about += &format!(" {} {changed:?}", file.len());
    }
    Some(about)
}

/// Reads a set. Fails if a file is missing or is not of its shape. Holds all of its text.
pub(crate) fn read(spec: &Spec, data: Option<&Path>) -> Result<Set> {
    let paths = data.map(|data| paths(spec, data)).unwrap_or_default();
    let mut set = match (spec.shape, paths.as_slice()) {
        (Shape::Documents, [documents, queries, judgments]) => {
            from_documents(spec, rows(documents)?, rows(queries)?, &text(judgments)?)
        }
        (Shape::Conversations { folder, queries: of }, [sessions, queries]) => {
            let mut sessions: Vec<RawSession> = rows(sessions)?;
            if folder != of {
                sessions.retain(|session| session.split.as_deref() != Some("test"));
            }
            from_sessions(spec, sessions, rows(queries)?)
        }
        (Shape::Trajectories, [sessions, queries]) => from_sessions(spec, rows(sessions)?, rows(queries)?),
        _ => {
            let bundled: Bundled = toml::from_str(JUDGED).map_err(failed("read", "the bundled set"))?;
            from_sessions(spec, bundled.session, bundled.query)
        }
    };
    // Without anything that answers it, a query says nothing of a ranking.
    set.queries.retain(|query| !query.messages.is_empty() || !query.sessions.is_empty());
    Ok(set)
}

fn paths(spec: &Spec, data: &Path) -> Vec<PathBuf> {
    let (folder, names): (PathBuf, &[&str]) = match spec.shape {
        Shape::Trajectories => {
            let folder = data.join("trajectories");
            let queries = folder.join(format!("{}.queries", spec.name)).join("queries.dev.jsonl");
            return vec![folder.join(format!("{}.jsonl", spec.name)), queries];
        }
        Shape::Conversations { folder, queries } => {
            let queries = data.join(queries).join("queries.dev.jsonl");
            return vec![data.join(folder).join("conversations.jsonl"), queries];
        }
        Shape::Documents => {
            (data.join("ir").join(spec.name), &["docs.jsonl", "queries.dev.jsonl", "qrels.dev.tsv"])
        }
        Shape::Bundled => return Vec::new(),
    };
    names.iter().map(|name| folder.join(name)).collect()
}

/// Returns a file or its compressed form, whichever is there.
fn there(path: &Path) -> Option<PathBuf> {
    let packed = PathBuf::from(format!("{}.zst", path.display()));
    [path.to_path_buf(), packed].into_iter().find(|path| path.is_file())
}

fn text(path: &Path) -> Result<String> {
    let Some(found) = there(path) else {
        return Err(broken(path)("no such file, nor one ending in .zst"));
    };
    let read = || -> std::result::Result<String, Box<dyn std::error::Error + Send + Sync>> {
        let mut text = String::new();
        let mut file = BufReader::new(File::open(&found)?);
        if found.extension().is_some_and(|extension| extension == "zst") {
            StreamingDecoder::new(file)?.read_to_string(&mut text)?;
        } else {
            file.read_to_string(&mut text)?;
        }
        Ok(text)
    };
    read().map_err(|error| broken(&found)(&error.to_string()))
}

fn rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| broken(path)(&format!("line {}: {error}", at + 1)))
        })
        .collect()
}

fn broken(path: &Path) -> impl Fn(&str) -> Error + '_ {
    move |why| {
        Error::new(ErrorKind::Usage, "read judged set", path.display())
            .because(why.to_owned())
            .hint("name a folder of judged sets with --data, or leave --data out for the bundled set")
    }
}

/// Builds a set of sessions. Ids of messages are their own, or the session's and their place in it.
pub(crate) fn from_sessions(spec: &Spec, raw: Vec<RawSession>, queries: Vec<RawQuery>) -> Set {
    let (mut messages, mut ids, mut owners) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (mut sessions, mut next) = (Vec::with_capacity(raw.len()), 0u32);
    for (ord, mut raw) in (0u32..).zip(raw) {
        ids.insert(raw.session_id.clone(), ord);
        let conversation = raw.conversation_id.take();
        let own: &mut Range<u32> = owners.entry(conversation).or_insert(ord..ord);
        own.end = ord + 1;
        let first = next;
        for (place, message) in raw.messages.iter_mut().enumerate() {
            let id = message.id.take().unwrap_or_else(|| format!("{}#{place}", raw.session_id));
            messages.insert(id, next);
            next += 1;
        }
        sessions.push(talk(raw, first));
    }
    unique_titles(&mut sessions);
    let known = |ids: &HashMap<String, u32>, wanted: &[String]| -> Judged {
        wanted.iter().filter_map(|id| Some((*ids.get(id)?, 1))).collect()
    };
    let queries = (0u32..).zip(queries).map(|(number, raw)| {
        let judged = known(&messages, &raw.evidence);
        let of_messages = || judged.keys().map(|message| (session_of(&sessions, *message), 1)).collect();
        let named = known(&ids, &raw.evidence_sessions);
        Query {
            kind: kind(&raw),
            own: raw.conversation_id.as_ref().and_then(|_| owners.get(&raw.conversation_id).cloned()),
            sessions: if named.is_empty() { of_messages() } else { named },
            messages: judged,
            id: raw.qid.unwrap_or_else(|| format!("q{number}")),
            text: raw.query,
        }
    });
    let queries = queries.collect();
    Set { spec: *spec, queries, sessions }
}

/// Names the kind of a query. A commit subject that stands word for word in its session is easy.
fn kind(raw: &RawQuery) -> String {
    let kind = raw.category.as_deref().unwrap_or("all").replace('_', "-");
    if raw.verbatim_in_evidence { format!("{kind}, verbatim") } else { kind }
}

fn talk(raw: RawSession, first: u32) -> Talk {
    let seconds = |text: Option<&str>| text.and_then(|text| bound_ms(text, 0)).map(as_seconds);
    let own_title = matches!(raw.title_kind.as_deref(), Some("first_line" | "summary"));
    let began = seconds(raw.started_at.as_deref())
        .or_else(|| raw.messages.iter().find_map(|message| seconds(message.timestamp.as_deref())));
    let session = Session {
        title: raw.title.filter(|title| own_title && !title.trim().is_empty()),
        cwd: raw.cwd,
        git_branch: raw.git_branch,
        parent_session_id: raw.parent_session_id,
        model: raw.model,
        started_at: began.unwrap_or(Session::default().started_at),
        ..Session::new(&raw.session_id)
    };
    let messages = raw.messages.into_iter().map(|raw| {
        let time = seconds(raw.timestamp.as_deref());
        message(raw, time)
    });
    Talk { session, messages: messages.collect(), first }
}

#[expect(clippy::cast_precision_loss, reason = "archives hold times as floating seconds")]
fn as_seconds(ms: i64) -> f64 {
    ms as f64 / 1_000.0
}

/// Writes a message as the agent would. Who speaks stands before what is said, where speakers have names.
fn message(raw: RawMessage, time: Option<f64>) -> Message {
    let content = match (raw.name, raw.content) {
        (Some(name), Some(content)) => Some(format!("{name}: {content}")),
        (_, content) => content,
    };
    let message = Message {
        tool_name: raw.tool_name,
        tool_calls: raw.tool_calls.filter(|calls| !calls.is_null()).map(|calls| python_json(&calls)),
        tool_call_id: raw.tool_call_id,
        timestamp: time.map(Into::into),
        ..Message::new(&raw.role, content)
    };
    match raw.reasoning {
        Some(reasoning) if !reasoning.is_empty() => message.with_reasoning(&reasoning),
        _ => message,
    }
}

/// Returns the number of the session that a message stands in.
pub(crate) fn session_of(sessions: &[Talk], message: metrics::Unit) -> metrics::Unit {
    let after = sessions.partition_point(|talk| talk.first <= message);
    metrics::Unit::try_from(after.saturating_sub(1)).unwrap_or(metrics::Unit::MAX)
}

/// Numbers titles that repeat, as the agent does: it keeps them unique.
fn unique_titles(sessions: &mut [Talk]) {
    let mut seen: HashMap<String, u32> = HashMap::new();
    for talk in sessions {
        let Some(title) = &mut talk.session.title else { continue };
        let times = seen.entry(title.clone()).or_default();
        *times += 1;
        if *times > 1 {
            *title = format!("{title} #{times}");
        }
    }
}

/// Builds a set of documents: each is a session of one message.
fn from_documents(spec: &Spec, raw: Vec<RawDocument>, queries: Vec<RawQuery>, judgments: &str) -> Set {
    let ids: HashMap<String, u32> = (0u32..).zip(&raw).map(|(ord, doc)| (doc.id.clone(), ord)).collect();
    let sessions = (0u32..).zip(raw).map(|(first, raw)| {
        let text = match raw.title.filter(|title| !title.trim().is_empty()) {
            Some(title) => format!("{title}\n\n{}", raw.text),
            None => raw.text,
        };
        let session = Session::new(&raw.id);
        Talk { session, messages: vec![Message::user(&text)], first }
    });
    let mut judged: HashMap<&str, Judged> = HashMap::new();
    for line in judgments.lines() {
        let mut parts = line.split('\t');
        if let (Some(query), Some(document), Some(grade)) = (parts.next(), parts.next(), parts.next())
            && let (Some(ord), Ok(grade @ 1..)) = (ids.get(document), grade.trim().parse())
        {
            judged.entry(query).or_default().insert(*ord, grade);
        }
    }
    let queries = queries.into_iter().map(|raw| Query {
        kind: kind(&raw),
        own: None,
        messages: raw.qid.as_deref().and_then(|id| judged.remove(id)).unwrap_or_default(),
        sessions: Judged::new(),
        id: raw.qid.unwrap_or_default(),
        text: raw.query,
    });
    let queries = queries.collect();
    Set { spec: *spec, sessions: sessions.collect(), queries }
}
