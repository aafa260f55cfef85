//! Writes one session after the other, turn by turn, and keeps the shares while it goes. Looks at
//! counts, never back at rows.

use serde_json::{Value, json};

use super::echo::{Echo, Wanted};
use super::kind::{self, Kind, Tool};
use super::lengths::{self, Lengths};
use super::plant::Planter;
use super::text::Text;
use super::{Field, Mix, Plan, Planted, Repeat, Report};
use crate::archive::{Message, Session, Writer, python_json, session_id};
use crate::random::Random;

/// One commit holds this many rows at least: enough that commits cost nothing.
const BATCH_ROWS_MIN: u64 = 20_000;
/// When the first session starts: 2025-10-01, and over how long a time sessions start.
const STARTED: u32 = 1_759_300_000;
const SPAN_SECONDS: u64 = 180 * 86_400;
/// Rows between two texts of a length that the tables do not have, the first after half of them.
const LONG_GAP_ROWS: u64 = 20_000;
/// Their lengths, in turn; the first is the longest, so that a corpus has it if it has any.
const LONG_CHARS: [u64; 4] = [1_000_000, 150_000, 400_000, 100_000];
/// How many scheduled jobs there are, and how much of what they say and read they said before.
const JOBS: u64 = 12;
const REPEATED_PERCENT_CRON: u64 = 60;
const REPEATED_PERCENT: u64 = 8;

/// A part of a whole.
type Share = (u64, u64);

/// What is kept of the published figures.
struct Figures {
    with_reasoning: Share,
    reasoning_only: Share,
    /// Of the rows; `None` leaves it to the turns.
    tool_rows: Option<Share>,
    /// Of the content's bytes; `None` leaves it to chance.
    cron_bytes: Option<Share>,
}

const FIGURES_A: Figures = Figures {
    with_reasoning: (61_043, 289_433),
    reasoning_only: (22_454, 289_433),
    tool_rows: None,
    cron_bytes: None,
};

/// No reasoning is published for B; what is left beside 58 % outputs has room for this much.
const FIGURES_B: Figures = Figures {
    with_reasoning: (10, 100),
    reasoning_only: (1, 100),
    tool_rows: Some((92_316, 159_660)),
    cron_bytes: Some((942, 1_000)),
};

const SOURCES: &[(u64, &str)] = &[
    (34, "cli"),
    (20, "telegram"),
    (18, "cron"),
    (8, "discord"),
    (8, "tui"),
    (8, "subagent"),
    (2, "acp"),
    (2, "tool"),
];

struct Tables {
    user: Lengths,
    note: Lengths,
    answer: Lengths,
    reasoning: Lengths,
    arguments: Lengths,
    output: Lengths,
    session: Lengths,
    calls: Lengths,
}

impl Tables {
    fn new(plan: &Plan, random: &mut Random) -> Tables {
        let mut table = |points| Lengths::new(points, random.bits());
        let scale = plan.lengths_per_mille;
        let (output, session, stretch) = match plan.mix {
            // The mean of the published reasoning, 1,558, over the table's.
            Mix::A => (lengths::OUTPUT_A, lengths::SESSION, 3_460),
            Mix::B => (lengths::OUTPUT, lengths::SESSION_B, 1_000),
        };
        Tables {
            user: table(lengths::USER).stretched(scale),
            note: table(lengths::NOTE).stretched(scale),
            answer: table(lengths::ANSWER).stretched(scale),
            reasoning: table(lengths::REASONING).stretched(stretch * scale / 1_000),
            arguments: table(lengths::ARGUMENTS).stretched(scale),
            output: table(output).stretched(scale),
            session: table(session),
            calls: table(lengths::CALLS),
        }
    }
}

pub(super) struct Stream {
    random: Random,
    text: Text,
    echo: Echo,
    tables: Tables,
    figures: Figures,
    planter: Planter,
    report: Report,
    /// Rows from which on a long text and a noted repeat are due.
    long_due: u64,
    long_count: usize,
    repeat_due: u64,
    /// Mean seconds between the starts of two sessions.
    gap_seconds: u64,
    calls: u64,
    /// Unix seconds of the last session's start, and of the last row.
    started: u32,
    clock: u32,
    session: String,
    source: &'static str,
    /// Which scheduled job the session is; 0 if it is none.
    job: u64,
}

impl Stream {
    pub(super) fn new(plan: &Plan) -> Stream {
        let mut random = Random::new(plan.seed);
        let (figures, session_rows) = match plan.mix {
            Mix::A => (FIGURES_A, 107),
            Mix::B => (FIGURES_B, 26),
        };
        Stream {
            tables: Tables::new(plan, &mut random),
            random,
            text: Text::new(plan.seed),
            echo: Echo::default(),
            figures,
            planter: Planter::new(plan.rows),
            report: Report::new(plan),
            long_due: LONG_GAP_ROWS / 2,
            long_count: 0,
            repeat_due: 0,
            gap_seconds: (SPAN_SECONDS * session_rows / plan.rows.max(1)).clamp(1, 86_400),
            calls: 0,
            started: STARTED,
            clock: 0,
            session: String::new(),
            source: "",
            job: 0,
        }
    }

    pub(super) fn rows_written(&self) -> u64 {
        self.report.summary.messages
    }

    pub(super) fn into_report(self) -> Report {
        self.report
    }

    pub(super) fn batch(&mut self, writer: &mut Writer) -> rusqlite::Result<()> {
        let end = self.report.plan.rows.min(self.rows_written() + BATCH_ROWS_MIN);
        while self.rows_written() < end {
            self.session(writer)?;
        }
        Ok(())
    }

    fn session(&mut self, writer: &mut Writer) -> rusqlite::Result<()> {
        self.started += self.seconds(1, 2 * self.gap_seconds);
        self.clock = self.started;
        self.session = session_id(u64::from(self.started), self.random.bits());
        self.source = self.next_source();
        let is_cron = self.source == "cron";
        self.job = if is_cron { self.random.between(1, JOBS) } else { 0 };
        let repo = format!("/home/dev/src/{}", self.text.word());
        let number = self.report.summary.sessions;
        let title = format!("{} {} {number}", self.text.word(), self.text.word());
        writer.session(&Session {
            source: self.source.to_owned(),
            title: Some(title).filter(|_| !is_cron),
            user_id: Some(format!("u{}", number % 5)).filter(|_| self.source == "telegram"),
            model: Some(self.random.pick(&["m-large", "m-small"]).to_owned()),
            cwd: Some(repo.clone()),
            git_branch: Some(format!("fix/{}", self.text.word())),
            git_repo_root: Some(repo),
            started_at: f64::from(self.started),
            ..Session::new(&self.session)
        })?;
        self.report.summary.sessions += 1;
        self.report.cron_sessions += u64::from(is_cron);
        let (first, calls) = (self.rows_written(), self.calls);
        let end = self.report.plan.rows.min(first + self.session_rows());
        while self.rows_written() < end {
            self.turn(writer, end)?;
        }
        // Once a session, not once a row as the agent does it: the end is the same.
        writer.set_counts(&self.session, self.rows_written() - first, self.calls - calls)
    }

    fn next_source(&mut self) -> &'static str {
        let Some((part, whole)) = self.figures.cron_bytes else {
            return self.random.weighted(SOURCES);
        };
        if self.report.bytes_content_cron * whole < self.report.bytes_content * part {
            return "cron";
        }
        loop {
            let source = self.random.weighted(SOURCES);
            if source != "cron" {
                return source;
            }
        }
    }

    /// In B 88 of 100 sessions bring 94 of 100 bytes: those of other sources are shorter.
    fn session_rows(&mut self) -> u64 {
        let rows = self.tables.session.next().max(1);
        let is_short = self.figures.cron_bytes.is_some() && self.job == 0;
        if is_short { (rows * 3).div_ceil(5) } else { rows }
    }

    /// A question, some calls with their outputs, an answer; cut off where the session ends.
    fn turn(&mut self, writer: &mut Writer, end: u64) -> rusqlite::Result<()> {
        let chars = self.tables.user.next();
        self.say(writer, "user", chars)?;
        for _ in 0..self.tables.calls.next() {
            if self.rows_written() + 3 > end {
                break;
            }
            if self.is_short_of(self.report.summary.reasoning_only, self.figures.reasoning_only, 50) {
                let reasoning = self.reasoning();
                self.put(writer, Message::thought(&reasoning))?;
            }
            self.call(writer, end - self.rows_written() - 1)?;
        }
        if self.rows_written() < end {
            let chars = self.tables.answer.next();
            self.say(writer, "assistant", chars)?;
        }
        Ok(())
    }

    /// Puts a row of prose; a job says much the same every time.
    fn say(&mut self, writer: &mut Writer, role: &str, chars: u64) -> rusqlite::Result<()> {
        let percent = if self.job > 0 { REPEATED_PERCENT_CRON } else { 0 };
        let content = self.echoed(Kind::Prose, chars, percent);
        let message = Message::new(role, content);
        let message = if role == "user" { message } else { self.with_due_reasoning(message) };
        self.put(writer, message)
    }

    /// Puts a row with up to `calls_max` calls and a row for the output of each.
    fn call(&mut self, writer: &mut Writer, calls_max: u64) -> rusqlite::Result<()> {
        let mut message = self.note();
        let mut outputs = Vec::new();
        for _ in 0..self.calls_at_once().min(calls_max) {
            let (arguments, mut output) = (self.tables.arguments.next(), self.tables.output.next());
            if self.rows_written() >= self.long_due {
                output = LONG_CHARS[self.long_count % LONG_CHARS.len()] * self.report.plan.lengths_per_mille
                    / 1_000;
                self.long_count += 1;
                self.long_due = self.rows_written() + LONG_GAP_ROWS;
            }
            let tool = kind::tool(&mut self.random, arguments, output);
            message = self.with_call(message, tool, arguments);
            let answer = Message::tool(tool.name, "").answering(&message);
            outputs.push((tool.kind(&mut self.random, output), output, answer));
            self.calls += 1;
        }
        self.put(writer, message)?;
        for (kind, chars, answer) in outputs {
            let percent = if self.job > 0 { REPEATED_PERCENT_CRON } else { REPEATED_PERCENT };
            let content = self.echoed(kind, chars, percent);
            self.put(writer, Message { content: content.into(), ..answer })?;
        }
        Ok(())
    }

    /// What is said beside a call: mostly nothing, and only what is said can be thought over.
    fn note(&mut self) -> Message {
        if !self.random.percent(45) {
            return Message::new("assistant", "");
        }
        let chars = self.tables.note.next();
        let note = self.text.write(Kind::Prose, &mut self.random, chars);
        self.with_due_reasoning(Message::new("assistant", note))
    }

    fn calls_at_once(&mut self) -> u64 {
        match self.figures.tool_rows {
            Some(share) if is_behind(self.report.tool_rows, share, self.rows_written()) => {
                self.random.between(2, 4)
            }
            Some(_) => 1,
            None => self.random.weighted(&[(85, 1), (12, 2), (3, 3)]),
        }
    }

    fn with_call(&mut self, message: Message, tool: &Tool, chars: u64) -> Message {
        let mut arguments = self.arguments(tool.name, chars);
        if let Some(token) = self.planted(Field::Call, "assistant") {
            arguments["note"] = token.into();
        }
        self.report.add_arguments(&python_json(&arguments));
        message.with_call(tool.name, &arguments)
    }

    /// Arguments such as a tool of this name takes, in JSON of about `chars` characters.
    fn arguments(&mut self, name: &str, chars: u64) -> Value {
        let path = self.text.path();
        let path_chars = u64::try_from(path.len()).expect("a path");
        // What the braces, the names and the path leave.
        let mut text = |kind, taken| self.argument(kind, chars.saturating_sub(taken + path_chars).max(1));
        match name {
            "terminal" if chars < kind::LONG_ARGUMENTS_CHARS => {
                json!({"command": format!("make -C {path} check # {}", text(Kind::Prose, 33))})
            }
            "terminal" => json!({"command": format!("python {path} <<'EOF'\n{}\nEOF", text(Kind::Code, 40))}),
            "write_file" => json!({"content": text(Kind::Code, 30), "path": path}),
            "patch" => {
                let half = 50 + chars / 2;
                json!({"old_string": text(Kind::Code, half), "new_string": text(Kind::Code, half), "path": path})
            }
            "search_files" => json!({"pattern": text(Kind::Prose, 28), "path": path}),
            "web_search" => json!({"query": text(Kind::Prose, 0)}),
            "web_extract" => {
                json!({"goal": text(Kind::Prose, 55), "urls": [format!("https://docs.example.org/{path}")]})
            }
            "memory" => json!({"action": "add", "target": "memory", "content": text(Kind::Prose, 0)}),
            "todo" => json!({"todos": [{"id": "1", "content": text(Kind::Prose, 20), "status": "pending"}]}),
            _ => json!({"path": path, "offset": 1, "limit": 500, "reason": text(Kind::Prose, 50)}),
        }
    }

    fn argument(&mut self, kind: Kind, chars: u64) -> String {
        let text = self.text.write(kind, &mut self.random, chars);
        if text.is_ascii() {
            return text;
        }
        // JSON makes six characters of each of these.
        let kept = usize::try_from(chars / 6 + 1).expect("shorter than the text");
        text.chars().take(kept).collect()
    }

    fn reasoning(&mut self) -> String {
        let chars = self.tables.reasoning.next();
        self.text.write(Kind::Prose, &mut self.random, chars)
    }

    fn with_due_reasoning(&mut self, message: Message) -> Message {
        if self.is_short_of(self.report.summary.with_reasoning, self.figures.with_reasoning, 75) {
            let reasoning = self.reasoning();
            return message.with_reasoning(&reasoning);
        }
        message
    }

    /// Whether `count` lags behind its share. The coin keeps the rows from falling into step;
    /// the comparison keeps the share exact however the coin falls.
    fn is_short_of(&mut self, count: u64, share: Share, percent: u64) -> bool {
        is_behind(count, share, self.rows_written()) && self.random.percent(percent)
    }

    /// Text for the row that comes next.
    fn echoed(&mut self, kind: Kind, chars: u64, repeated_percent: u64) -> String {
        let row = self.next_id();
        let wanted = Wanted { job: self.job, kind, chars, row, repeated_percent };
        let echoed = self.echo.write(&self.text, &mut self.random, &wanted);
        if let Some(of) = echoed.of {
            self.report.repeated += 1;
            if self.rows_written() >= self.repeat_due {
                self.repeat_due = self.rows_written() + self.planter.gap();
                self.report.repeats.push(Repeat { message_id: row, of });
            }
        }
        echoed.text
    }

    fn put(&mut self, writer: &mut Writer, message: Message) -> rusqlite::Result<()> {
        self.clock += self.seconds(1, 40);
        let message = self.plant(message).at(f64::from(self.clock));
        self.report.add(&message, self.source);
        let id = writer.insert(&self.session, &message)?;
        debug_assert_eq!(u64::try_from(id), Ok(self.rows_written()));
        Ok(())
    }

    fn plant(&mut self, mut message: Message) -> Message {
        let content = message.content.text();
        let field = if message.role == "tool" { Field::Output } else { Field::Content };
        // A word behind JSON would break it.
        let has_prose = !content.is_empty() && !content.starts_with('{');
        if let Some(reasoning) = &message.reasoning
            && let Some(token) = self.planted(Field::Reasoning, &message.role)
        {
            let reasoning = format!("{reasoning} It comes down to {token}.");
            message = message.with_reasoning(&reasoning);
        } else if has_prose && let Some(token) = self.planted(field, &message.role) {
            message.content = format!("{content} Noted as {token}.").into();
        }
        message
    }

    fn planted(&mut self, field: Field, role: &str) -> Option<String> {
        let message_id = self.next_id();
        let token = self.planter.token(field, self.rows_written() + 1)?;
        self.report.planted.push(Planted {
            token: token.clone(),
            field,
            message_id,
            role: role.to_owned(),
            session_id: self.session.clone(),
            source: self.source.to_owned(),
        });
        Some(token)
    }

    /// Ids of a new file count from 1 without a gap, so the next one is known before.
    fn next_id(&self) -> i64 {
        i64::try_from(self.rows_written() + 1).expect("rows are counted in millions")
    }

    fn seconds(&mut self, low: u64, high: u64) -> u32 {
        u32::try_from(self.random.between(low, high)).expect("a few days")
    }
}

fn is_behind(count: u64, (part, whole): Share, rows: u64) -> bool {
    count * whole < rows * part
}
