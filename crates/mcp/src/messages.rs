//! Messages as they were written, as much of each as a budget allows: all are shortened alike before any is
//! left out, and each says how to read on.

use afterthought::limits::ANSWER_MESSAGE_TOKENS_MIN;
use afterthought::{MessageView, Result, SessionView};
use serde::Serialize;
use serde_json::Value;

use crate::answer::{Answer, as_json};
use crate::budget::{Budget, Cut, MESSAGES, beginning, clip, largest};

/// Longest name of a role, a tool, a model or a folder, in characters: they are words, as a rule.
const NAME_CHARS_MAX: usize = 120;
/// The head of a message, when and by whom it was written, takes more tokens than this.
const HEAD_TOKENS_MIN: usize = 20;
/// The message that was asked for gets as much as this many neighbours.
const ASKED_SHARE: usize = 4;

/// Messages to show.
pub(crate) struct Messages {
    written: Vec<Written>,
    /// Their places, those first that are shown where there is no room for all.
    order: Vec<usize>,
    asked: Option<usize>,
}

struct Written {
    view: MessageView,
    /// Where it is shown from, in characters of its parts one behind the other.
    from: usize,
    /// Characters of its parts.
    chars: [usize; 3],
}

/// A message as it is shown.
#[derive(Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    view: MessageView,
    /// What is left of it; `None` where it is shown to its end.
    rest: Option<Rest>,
}

#[derive(Clone, Copy, Serialize)]
struct Rest {
    chars: usize,
    offset_chars: usize,
}

/// What an answer holds of the messages.
pub(crate) struct Part {
    pub(crate) shown: Vec<Shown>,
    pub(crate) cut: Cut,
}

impl Messages {
    /// Shows messages from the first on.
    pub(crate) fn in_order(views: Vec<MessageView>) -> Self {
        let order = (0..views.len()).collect();
        Self { written: views.into_iter().map(|view| Written::of(view, 0)).collect(), order, asked: None }
    }

    /// Shows a message from a character on, and those around it, the nearest first.
    pub(crate) fn around(views: Vec<MessageView>, id: i64, from: usize) -> Self {
        // It is not there if it went from the archive while it was read.
        let asked = views.iter().position(|view| view.message_id == id);
        let mut order: Vec<usize> = (0..views.len()).collect();
        order.sort_by_key(|place| (place.abs_diff(asked.unwrap_or(0)), Some(*place) > asked));
        let written = |(place, view)| Written::of(view, if Some(place) == asked { from } else { 0 });
        Self { written: views.into_iter().enumerate().map(written).collect(), order, asked }
    }

    /// Tells whether the message asked for has no character where it is to be shown from.
    pub(crate) fn is_past_the_end(&self) -> bool {
        let asked = self.asked.map(|asked| &self.written[asked]);
        asked.is_some_and(|asked| asked.from > 0 && asked.from >= asked.chars.iter().sum())
    }

    /// Writes the answer that shows most and keeps to the budget.
    pub(crate) fn fit(&self, budget: Budget, write: impl Fn(&Part) -> Result<Answer>) -> Result<Answer> {
        let holds = |keep: usize, tokens: usize| {
            let answer = write(&self.part(keep, tokens));
            answer.is_ok_and(|answer| budget.holds(&answer.text, &answer.structured))
        };
        let most = self.written.len().min(budget.tokens() / HEAD_TOKENS_MIN);
        let keep = largest(most, |keep| holds(keep, ANSWER_MESSAGE_TOKENS_MIN)).unwrap_or(0);
        let keep = keep.max(usize::from(!self.written.is_empty()));
        let tokens = largest(budget.tokens(), |tokens| holds(keep, tokens));
        // Not even names fit: what is left out is all that can be said.
        let keep = if tokens.is_some() { keep } else { 0 };
        write(&self.part(keep, tokens.unwrap_or(0)))
    }

    fn part(&self, keep: usize, tokens: usize) -> Part {
        let mut places = self.order[..keep.min(self.order.len())].to_vec();
        places.sort_unstable();
        let shown: Vec<Shown> = places
            .into_iter()
            .map(|place| {
                let share = if self.asked == Some(place) { ASKED_SHARE } else { 1 };
                self.written[place].cut(tokens.saturating_mul(share))
            })
            .collect();
        let shortened = shown.iter().filter(|shown| shown.rest.is_some()).count();
        let left_out = self.written.len() - shown.len();
        Part { cut: Cut { left_out, shortened, ..Cut::default() }, shown }
    }
}

impl Written {
    fn of(view: MessageView, from: usize) -> Self {
        let chars = [&view.content, &view.reasoning, &view.tool_calls].map(|part| part.chars().count());
        Self { view, from, chars }
    }

    /// Shows the message from where it is to be shown, in so many tokens: what was said or seen first, then
    /// what was thought, then what was done.
    fn cut(&self, tokens: usize) -> Shown {
        let view = &self.view;
        let (mut skip, mut left, mut shown, mut rest) = (self.from, tokens, 0, 0);
        let mut parts = [&view.content, &view.reasoning, &view.tool_calls].into_iter().zip(self.chars);
        let [content, reasoning, tool_calls] = std::array::from_fn(|_| {
            let Some((part, chars)) = parts.next() else { return String::new() };
            let behind = skip.min(chars);
            skip -= behind;
            let start = part.char_indices().nth(behind).map_or(part.len(), |(at, _)| at);
            let piece = beginning(&part[start..], left);
            left -= piece.tokens;
            shown += piece.chars;
            rest += chars - behind - piece.chars;
            if rest > 0 {
                // Nothing is shown behind a gap.
                left = 0;
            }
            piece.text.to_owned()
        });
        let rest = (rest > 0).then_some(Rest { chars: rest, offset_chars: self.from + shown });
        let mut view = MessageView {
            message_id: view.message_id,
            index: view.index,
            role: view.role.clone(),
            content,
            reasoning,
            tool_name: view.tool_name.clone(),
            tool_calls,
            timestamp: view.timestamp.clone(),
        };
        clip(&mut view.role, NAME_CHARS_MAX);
        clip(&mut view.tool_name, NAME_CHARS_MAX);
        Shown { view, rest }
    }
}

impl Part {
    /// Returns the messages as JSON, and what was left out of them.
    pub(crate) fn structured(&self) -> Result<(Value, Value)> {
        Ok((as_json(&self.shown)?, self.cut.structured(MESSAGES)))
    }

    /// Writes the messages for a model.
    pub(crate) fn push(&self, text: &mut String) {
        for Shown { view, rest } in &self.shown {
            let place = view.index.map_or_else(|| "[not listed]".to_owned(), |index| format!("[{index}]"));
            let time = view.timestamp.as_deref().unwrap_or("at an unknown time");
            *text += &format!("\n{place} {} {time} #{}\n", view.role, view.message_id);
            let output = match (&*view.role, &*view.tool_name) {
                ("tool", "") => "saw".to_owned(),
                ("tool", tool) => format!("saw by {tool}"),
                _ => "said".to_owned(),
            };
            let parts = [(&*output, &view.content), ("thought", &view.reasoning), ("did", &view.tool_calls)];
            for (origin, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
                *text += &format!("{origin}: {part}\n");
            }
            if let Some(Rest { chars, offset_chars }) = rest {
                let id = view.message_id;
                *text += &format!(
                    "… {chars} characters more: get_message with id {id} and offset_chars {offset_chars}\n"
                );
            }
        }
    }
}

/// Returns a session whose names are not longer than names are.
pub(crate) fn named(mut session: SessionView) -> SessionView {
    clip_names(&mut session, NAME_CHARS_MAX);
    session
}

/// Shortens what a session is called, and never its ids.
pub(crate) fn clip_names(session: &mut SessionView, chars_max: usize) -> bool {
    let names = [
        &mut session.title,
        &mut session.user,
        &mut session.model,
        &mut session.cwd,
        &mut session.git_branch,
    ];
    let mut clipped = clip(&mut session.source, chars_max);
    for name in names.into_iter().flatten() {
        clipped |= clip(name, chars_max);
    }
    clipped
}

/// Writes a session's head in one line.
pub(crate) fn push_session(text: &mut String, session: &SessionView) {
    *text += &format!("session {}", session.id);
    if let Some(title) = &session.title {
        *text += &format!(" \"{title}\"");
    }
    *text += &format!(", {} messages, {}", session.messages, session.source);
    for (what, value) in [
        ("of", &session.user),
        ("in", &session.cwd),
        ("on", &session.git_branch),
        ("last active", &session.last_activity),
        ("continues", &session.parent_id),
    ] {
        if let Some(value) = value {
            *text += &format!(", {what} {value}");
        }
    }
    text.push('\n');
}
