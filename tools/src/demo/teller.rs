//! Turns scenes into rows. Decides when each was written and how much of the reasoning stays;
//! invents no text of its own.

use serde_json::json;

use super::plan::{Ending, Plan, Turn};
use super::script::Line;
use super::world::Slots;
use crate::archive::{Message, Shape, Writer};
use crate::random::{Random, seed};

/// The shares of the published archive (see [`crate::corpus`]): rows with any reasoning, and
/// rows with nothing else.
const REASONING_PER_MILLE: u64 = 211;
const REASONING_ONLY_PER_MILLE: u64 = 76;

/// What goes through a model's head whatever the task is.
const MUSINGS: &str = include_str!("text/musings.txt");

/// A picture of one grey pixel: what matters of a photo here is that a row can hold one.
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";

pub(super) struct Teller<'a> {
    writer: &'a mut Writer,
    random: Random,
    session: String,
    now: u64,
    counts: Counts,
    /// The rows told last, which a compaction keeps.
    tail: [Option<Message>; 2],
    pending: Pending,
    musings: Vec<&'static str>,
}

/// How many rows were told, over all sessions.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    rows: u64,
    with_reasoning: u64,
    reasoning_only: u64,
}

/// The parts of an agent's row that were read before its end was.
#[derive(Default)]
struct Pending {
    text: Option<String>,
    reasoning: Option<String>,
    call: Message,
}

impl<'a> Teller<'a> {
    pub(super) fn new(writer: &'a mut Writer, plan: &Plan, counts: Counts) -> Teller<'a> {
        let session = plan.session.id.clone();
        Teller {
            writer,
            random: Random::new(seed(&session)),
            session,
            now: plan.started,
            counts,
            tail: [None, None],
            pending: Pending::default(),
            musings: Vec::new(),
        }
    }

    /// Tells a whole session; returns the counts with its rows added.
    pub(super) fn tell(mut self, plan: &Plan) -> rusqlite::Result<Counts> {
        let can_take_back = self.writer.shape() >= Shape::V22;
        for (at, turn) in plan.turns.iter().enumerate() {
            if can_take_back && matches!(plan.ending, Ending::Compacted(turns) if turns == at) {
                self.compact(plan.session.title.as_deref().unwrap_or_default())?;
            }
            self.turn(turn)?;
        }
        if let Ending::Undone(turn) = &plan.ending
            && can_take_back
        {
            self.take_back(turn)?;
        }
        Ok(self.counts)
    }

    /// Tells one scene. A story keeps all its reasoning, the rest as much as the shares allow:
    /// the scripts hold more than an archive would.
    fn turn(&mut self, turn: &Turn) -> rusqlite::Result<()> {
        for line in &turn.scene.lines {
            self.line(line, &turn.slots, turn.is_story)?;
        }
        self.end_row()
    }

    fn line(&mut self, line: &Line, slots: &Slots, is_story: bool) -> rusqlite::Result<()> {
        let mut text = slots.fill(&mut self.random, &line.text, self.now);
        if line.mark != '$' {
            self.end_row()?;
        }
        if !is_story {
            match line.mark {
                '?' | '~' => text = self.wander(text, slots),
                '<' => self.muse_before(slots),
                _ => (),
            }
        }
        match line.mark {
            '>' => self.put(Message::user(&text), 600)?,
            '<' => self.pending.text = Some(text),
            '?' if is_story || self.lacks(self.counts.reasoning_only, REASONING_ONLY_PER_MILLE) => {
                self.put(Message::thought(&text), 25)?;
            }
            '~' if is_story || self.lacks(self.counts.with_reasoning, REASONING_PER_MILLE) => {
                self.pending.reasoning = Some(text);
            }
            '?' | '~' => (),
            '$' => self.call(&text)?,
            '|' => self.output(&text)?,
            '=' => self.photo(&text)?,
            mark => unreachable!("a script has no lines marked {mark}"),
        }
        Ok(())
    }

    /// Gives an answer without reasoning some, if the shares want it.
    fn muse_before(&mut self, slots: &Slots) {
        if self.pending.reasoning.is_none() && self.lacks(self.counts.with_reasoning, REASONING_PER_MILLE) {
            let first = self.musing(slots);
            self.pending.reasoning = Some(self.wander(first, slots));
        }
    }

    /// Lets a thought go on for up to two sentences.
    fn wander(&mut self, mut thought: String, slots: &Slots) -> String {
        for _ in 0..self.random.below(3) {
            thought.push_str("\n\n");
            thought.push_str(&self.musing(slots));
        }
        thought
    }

    /// Draws from a deck, so that a session repeats none before it had all.
    fn musing(&mut self, slots: &Slots) -> String {
        if self.musings.is_empty() {
            self.musings = MUSINGS.lines().collect();
            self.random.shuffle(&mut self.musings);
        }
        let musing = self.musings.pop().expect("the file of musings is not empty");
        slots.fill(&mut self.random, musing, self.now)
    }

    fn lacks(&self, count: u64, per_mille: u64) -> bool {
        count * 1_000 < self.counts.rows * per_mille
    }

    /// Writes the answer read before, now that no call follows it.
    fn end_row(&mut self) -> rusqlite::Result<()> {
        let Some(text) = self.pending.text.take() else {
            return Ok(());
        };
        let message = self.reasoned(Message::assistant(&text));
        self.put(message, 40)
    }

    fn call(&mut self, text: &str) -> rusqlite::Result<()> {
        let (name, arguments) = text.split_once(' ').expect("a call has a name and arguments");
        let arguments = serde_json::from_str(arguments).expect("a script's arguments are JSON");
        let text = self.pending.text.take().unwrap_or_default();
        let message = self.reasoned(Message::assistant(&text)).with_call(name, &arguments);
        self.pending.call = Message { tool_name: Some(name.to_owned()), ..message.clone() };
        self.put(message, 15)
    }

    fn output(&mut self, text: &str) -> rusqlite::Result<()> {
        let call = std::mem::take(&mut self.pending.call);
        let name = call.tool_name.as_deref().unwrap_or_default();
        self.put(Message::tool(name, text).answering(&call), 12)
    }

    fn reasoned(&mut self, message: Message) -> Message {
        match self.pending.reasoning.take() {
            Some(reasoning) => message.with_reasoning(&reasoning),
            None => message,
        }
    }

    fn photo(&mut self, text: &str) -> rusqlite::Result<()> {
        let (question, shown) = text.split_once(" | ").unwrap_or((text, ""));
        let parts = json!([
            {"type": "text", "text": format!("{question}\n[photo: {shown}]")},
            {"type": "image_url", "image_url": {"url": PIXEL}},
        ]);
        self.put(Message::user("").with_parts(&parts), 120)
    }

    fn put(&mut self, message: Message, seconds_max: u64) -> rusqlite::Result<()> {
        self.now += self.random.between(2, seconds_max);
        let stamp = u32::try_from(self.now).expect("the demo plays in 2026");
        let message = message.at(f64::from(stamp));
        self.writer.message(&self.session, &message)?;
        self.counts.rows += 1;
        if message.reasoning.is_some() {
            let alone = message.content.text().is_empty() && message.tool_calls.is_none();
            self.counts.with_reasoning += 1;
            self.counts.reasoning_only += u64::from(alone);
        }
        self.tail.rotate_left(1);
        self.tail[1] = Some(message);
        Ok(())
    }

    /// Summarizes the session so far, as the agent does when its context is full.
    fn compact(&mut self, topic: &str) -> rusqlite::Result<()> {
        let summary = format!(
            "[CONTEXT COMPACTION] Everything before this point was summarized.\n\
             Topic: {topic}. Several small changes were made, tested and pushed; nothing is left \
             half done. The rows themselves stay in the archive."
        );
        let stamp = self.tail[1].as_ref().and_then(|last| last.timestamp.clone());
        let summary = Message { timestamp: stamp, ..Message::user(&summary) };
        let kept = self.tail.iter().flatten().cloned();
        let rows: Vec<Message> = std::iter::once(summary).chain(kept).collect();
        self.writer.compact(&self.session, &rows).map(|_| ())
    }

    /// Tells a turn and takes it back at once, as after an unlucky prompt and `/undo`.
    fn take_back(&mut self, turn: &Turn) -> rusqlite::Result<()> {
        let last = "SELECT MAX(id) FROM messages";
        let last: i64 = self.writer.connection().query_row(last, [], |row| row.get(0))?;
        self.turn(turn)?;
        self.writer.rewind(&self.session, last + 1).map(|_| ())
    }
}
