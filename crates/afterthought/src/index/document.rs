//! Hands messages and sessions to tantivy without copying their text.

use tantivy::schema::Field as TantivyField;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf, Value};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::model::{Field, Message, Session};

use super::budget::Permit;
use super::fields::{Fields, NO_TIME, flag};

/// One document of the index.
pub(super) struct Doc {
    fields: Fields,
    session_ord: u64,
    flags: u64,
    hash: u64,
    body: Body,
    /// Gives the text's bytes back when tantivy has consumed the document.
    _permit: Permit,
}

enum Body {
    Message(Message),
    Session(Session),
}

impl Doc {
    pub(super) fn message(
        fields: Fields,
        session_ord: u64,
        message: Message,
        copy: bool,
        permit: Permit,
    ) -> Self {
        let flags = message_flags(&message) | bits(&[(copy, flag::COPY)]);
        let hash = message_hash(&message);
        Self { fields, session_ord, flags, hash, body: Body::Message(message), _permit: permit }
    }

    pub(super) fn session(fields: Fields, session_ord: u64, session: Session, permit: Permit) -> Self {
        let flags =
            [(true, flag::SESSION), (session.orphan, flag::ORPHAN), (session.archived, flag::ARCHIVED)];
        let hash = session_hash(&session);
        Self { fields, session_ord, flags: bits(&flags), hash, body: Body::Session(session), _permit: permit }
    }
}

fn bits(flags: &[(bool, u64)]) -> u64 {
    flags.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum()
}

/// Returns what a message's own row says of it. Whether it repeats another is not its own matter.
pub(crate) fn message_flags(message: &Message) -> u64 {
    let state = message.state;
    bits(&[
        (state.active, flag::ACTIVE),
        (state.compacted, flag::COMPACTED),
        (state.hidden, flag::HIDDEN),
        (message.damaged, flag::DAMAGED),
        (message.is_summary(), flag::SUMMARY),
    ])
}

/// Hashes all that is indexed of a message but its flags. Stable: it is stored, and compared when a
/// hit is shown.
pub(crate) fn message_hash(message: &Message) -> u64 {
    let time = message.timestamp_ms.map(|ms| ms.to_string());
    let tools = message.tools.join("\0");
    hash_of([
        Some(&message.role),
        time.as_ref(),
        Some(&message.content),
        Some(&message.reasoning),
        Some(&message.tool_name),
        Some(&message.tool_calls),
        Some(&tools),
    ])
}

/// Hashes what a session row says, so that a change of it is seen without reading its document.
pub(crate) fn session_hash(session: &Session) -> u64 {
    let started = session.started_ms.map(|ms| ms.to_string());
    let flags = format!("{}{}", u8::from(session.archived), u8::from(session.orphan));
    hash_of([
        Some(&session.source),
        session.title.as_ref(),
        session.user.as_ref(),
        session.model.as_ref(),
        session.parent_id.as_ref(),
        session.cwd.as_ref(),
        session.git_root.as_ref(),
        session.git_branch.as_ref(),
        session.end_reason.as_ref(),
        started.as_ref(),
        Some(&flags),
    ])
}

fn hash_of<const N: usize>(texts: [Option<&String>; N]) -> u64 {
    let mut hasher = Xxh3::new();
    for text in texts {
        // The length keeps neighbours apart; an absent text differs from an empty one.
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        hasher.update(&length.to_le_bytes());
        hasher.update(text.map_or(&[], |text| text.as_bytes()));
    }
    hasher.digest()
}

/// A borrowed field value.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldValue<'a> {
    Text(&'a str),
    Unsigned(u64),
    Signed(i64),
}

impl<'a> Value<'a> for FieldValue<'a> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = std::iter::Empty<(&'a str, Self)>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        match *self {
            Self::Text(text) => ReferenceValueLeaf::Str(text).into(),
            Self::Unsigned(number) => ReferenceValueLeaf::U64(number).into(),
            Self::Signed(number) => ReferenceValueLeaf::I64(number).into(),
        }
    }
}

impl Document for Doc {
    type Value<'a> = FieldValue<'a>;
    type FieldsValuesIter<'a> = std::vec::IntoIter<(TantivyField, FieldValue<'a>)>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        let fields = &self.fields;
        let mut values = vec![
            (fields.session_ord, FieldValue::Unsigned(self.session_ord)),
            (fields.flags, FieldValue::Unsigned(self.flags)),
            (fields.hash, FieldValue::Unsigned(self.hash)),
        ];
        match &self.body {
            Body::Message(message) => message_values(fields, message, &mut values),
            Body::Session(session) => session_values(fields, session, &mut values),
        }
        values.into_iter()
    }
}

fn message_values<'a>(
    fields: &Fields,
    message: &'a Message,
    values: &mut Vec<(TantivyField, FieldValue<'a>)>,
) {
    values.push((fields.key, FieldValue::Signed(message.id)));
    values.push((fields.id, FieldValue::Signed(message.id)));
    values.push((fields.role, FieldValue::Text(&message.role)));
    values.push((fields.timestamp, FieldValue::Signed(message.timestamp_ms.unwrap_or(NO_TIME))));
    values.extend(message.tools.iter().map(|tool| (fields.tool, FieldValue::Text(tool))));
    for field in Field::ALL {
        let text = message.text(field);
        if !text.is_empty() {
            values.push((fields.text(field), FieldValue::Text(text)));
            values.push((fields.has, FieldValue::Unsigned(field as u64)));
        }
    }
}

fn session_values<'a>(
    fields: &Fields,
    session: &'a Session,
    values: &mut Vec<(TantivyField, FieldValue<'a>)>,
) {
    values.push((fields.kind, FieldValue::Unsigned(1)));
    // Every document has these three, so that their columns are dense and quick to read.
    values.push((fields.id, FieldValue::Signed(0)));
    values.push((fields.role, FieldValue::Text("")));
    values.push((fields.session_key, FieldValue::Unsigned(xxh3_64(session.id.as_bytes()))));
    values.push((fields.session_id, FieldValue::Text(&session.id)));
    values.push((fields.source, FieldValue::Text(&session.source)));
    values.push((fields.timestamp, FieldValue::Signed(session.started_ms.unwrap_or(NO_TIME))));
    if session.title.is_some() {
        values.push((fields.has, FieldValue::Unsigned(Field::Title as u64)));
    }
    let optional = [
        (fields.title_text, &session.title),
        (fields.text(Field::Title), &session.title),
        (fields.user, &session.user),
        (fields.model, &session.model),
        (fields.parent_id, &session.parent_id),
        (fields.cwd, &session.cwd),
        (fields.git_root, &session.git_root),
        (fields.git_branch, &session.git_branch),
        (fields.end_reason, &session.end_reason),
    ];
    for (field, text) in optional {
        values.extend(text.as_deref().map(|text| (field, FieldValue::Text(text))));
    }
}
