//! Turns scenes into rows. Decides when each was written and how much of the reasoning stays;
//! invents no text of its own.

use serde_json::json;

use super::script::{Line, Scene};
use super::world::Slots;
use crate::archive::{Message, Writer};
use crate::random::Random;

/// The shares of the published archive (see [`crate::synthetic`]): rows with any reasoning, and
/// rows with nothing else.
const REASONING_PER_MILLE: u64 = 211;
const REASONING_ONLY_PER_MILLE: u64 = 76;

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
    pub(super) fn new(
        writer: &'a mut Writer,
        session: &str,
        started: u64,
        counts: Counts,
    ) -> Teller<'a> {
        Teller {
            writer,
            random: Random::new(crate::random::seed(session)),
            session: session.to_owned(),
            now: started,
            counts,
            tail: [None, None],
            pending: Pending::default(),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Tells one scene. Its reasoning stays if the scene `must_stay` whole, else as far as the
    /// shares allow: the scripts hold more than an archive would.
    pub(super) fn tell(&mut self, scene: &Scene, slots: &Slots, must_stay: bool) -> rusqlite::Result<()> {
        for line in &scene.lines {
            self.line(line, slots, must_stay)?;
        }
        self.end_row()
    }

    fn line(&mut self, line: &Line, slots: &Slots, must_stay: bool) -> rusqlite::Result<()> {
        let text = slots.fill(&mut self.random, &line.text, self.now);
        if line.mark != '$' {
            self.end_row()?;
        }
        match line.mark {
            '>' => self.put(Message::user(&text), 600),
            '?' if must_stay || self.is_short_of(self.counts.reasoning_only, REASONING_ONLY_PER_MILLE) => {
                self.put(Message::thought(&text), 25)
            }
            '~' if must_stay || self.is_short_of(self.counts.with_reasoning, REASONING_PER_MILLE) => {
                self.pending.reasoning = Some(text);
                Ok(())
            }
            '?' | '~' => Ok(()),
            '<' => {
                self.pending.text = Some(text);
                Ok(())
            }
            '$' => self.call(&text),
            '|' => {
                let call = std::mem::take(&mut self.pending.call);
                let name = call.tool_name.as_deref().unwrap_or_default();
                self.put(Message::tool(name, &text).answering(&call), 12)
            }
            '=' => self.photo(&text),
            mark => unreachable!("a script has no lines marked {mark}"),
        }
    }

    fn is_short_of(&self, count: u64, per_mille: u64) -> bool {
        count * 1_000 < self.counts.rows * per_mille
    }

    /// Writes the answer read before, now that no call follows it.
    fn end_row(&mut self) -> rusqlite::Result<()> {
        let Some(text) = self.pending.text.take() else { return Ok(()) };
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
    pub(super) fn compact(&mut self, topic: &str) -> rusqlite::Result<()> {
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

    /// Tells a scene and takes it back at once, as after an unlucky prompt and `/undo`.
    pub(super) fn take_back(&mut self, scene: &Scene, slots: &Slots) -> rusqlite::Result<()> {
        let before: i64 = self.writer.connection().query_row(
            "SELECT MAX(id) FROM messages",
            [],
            |row| row.get(0),
        )?;
        self.tell(scene, slots, true)?;
        self.writer.rewind(&self.session, before + 1).map(|_| ())
    }
}
