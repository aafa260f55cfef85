//! The layout of the index: which fields documents have and how they are stored.
//! `schema/index.json` states the same, and a test compares them.

use tantivy::schema::{
    Field as TantivyField, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};

use tantivy::Term;
use xxhash_rust::xxh3::xxh3_64;

use crate::model::Field;

use super::tokenizer::TOKENIZER;

/// The layout's number. An index of another number is rebuilt, never guessed at.
pub const FORMAT: u32 = 3;

/// The `timestamp` of a document whose time is unknown; sorts before every time.
pub const NO_TIME: i64 = i64::MIN;

/// The bits of a document's `flags`.
pub mod flag {
    /// The row is part of the live conversation.
    pub const ACTIVE: u64 = 1;
    /// The row was summarised away and is still part of the record.
    pub const COMPACTED: u64 = 1 << 1;
    /// The row is scaffolding that no person saw.
    pub const HIDDEN: u64 = 1 << 2;
    /// Another row of the session is the same message; that one is shown.
    pub const COPY: u64 = 1 << 3;
    /// The row could be read only in part.
    pub const DAMAGED: u64 = 1 << 4;
    /// The document is a session, not a message.
    pub const SESSION: u64 = 1 << 5;
    /// The session has messages and no row of its own.
    pub const ORPHAN: u64 = 1 << 6;
    /// The person put the session away.
    pub const ARCHIVED: u64 = 1 << 7;
    /// The row is a summary that compaction wrote.
    pub const SUMMARY: u64 = 1 << 8;

    /// Tells whether a search shows a message without being asked for hidden ones.
    #[must_use]
    pub const fn is_visible(flags: u64) -> bool {
        flags & (ACTIVE | COMPACTED) != 0 && flags & HIDDEN == 0
    }

    /// Tells whether a message is one of its session's list: visible, and no copy of another.
    #[must_use]
    pub const fn is_listed(flags: u64) -> bool {
        is_visible(flags) && flags & COPY == 0
    }
}

/// The handles of every field.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// A message's id, to look it up and to delete it; on message documents only.
    pub key: TantivyField,
    /// The same id, to read it back; 0 on session documents.
    pub id: TantivyField,
    /// The session's number: on every document.
    pub session_ord: TantivyField,
    /// See [`flag`].
    pub flags: TantivyField,
    /// Milliseconds since 1970, [`NO_TIME`] where unknown. On a session: when it started.
    pub timestamp: TantivyField,
    /// Hash of a message's text, or of what a session row says.
    pub hash: TantivyField,
    /// The role, as stored; empty on session documents.
    pub role: TantivyField,
    /// The exact names of the tools that a message called or that answered; several to a document.
    pub tool: TantivyField,
    /// 1 on session documents, absent on others: their list.
    pub kind: TantivyField,
    /// The number of each searchable field that the document has: its list's length is the number
    /// of documents to average that field's length over.
    pub has: TantivyField,
    /// Hash of a session's id, to look it up and to replace it; on session documents only. An id of any
    /// length has one, where a term of the id itself could be too long.
    pub session_key: TantivyField,
    /// The archive's id of a session.
    pub session_id: TantivyField,
    /// A session's source.
    pub source: TantivyField,
    /// A session's title, as it stands.
    pub title_text: TantivyField,
    /// A session's owner.
    pub user: TantivyField,
    /// A session's model.
    pub model: TantivyField,
    /// A session's parent.
    pub parent_id: TantivyField,
    /// A session's working folder.
    pub cwd: TantivyField,
    /// A session's checkout.
    pub git_root: TantivyField,
    /// A session's branch.
    pub git_branch: TantivyField,
    /// Why a session ended.
    pub end_reason: TantivyField,
    text: [TantivyField; Field::ALL.len()],
}

impl Fields {
    /// Builds the schema and its handles.
    pub(super) fn build() -> (Schema, Self) {
        let mut schema = Schema::builder();
        let fast = NumericOptions::default().set_fast();
        let attribute = TextOptions::default().set_fast("raw");
        let text = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(TOKENIZER)
                .set_index_option(IndexRecordOption::WithFreqsAndPositions),
        );
        let fields = Self {
            key: schema.add_i64_field("key", NumericOptions::default().set_indexed()),
            id: schema.add_i64_field("id", fast.clone()),
            session_ord: schema.add_u64_field("session_ord", fast.clone().set_indexed()),
            flags: schema.add_u64_field("flags", fast.clone()),
            timestamp: schema.add_i64_field("timestamp", fast.clone()),
            hash: schema.add_u64_field("hash", fast),
            role: schema.add_text_field("role", attribute.clone()),
            tool: schema.add_text_field("tool", attribute.clone()),
            kind: schema.add_u64_field("kind", NumericOptions::default().set_indexed()),
            has: schema.add_u64_field("has", NumericOptions::default().set_indexed()),
            session_key: schema.add_u64_field("session_key", NumericOptions::default().set_indexed()),
            session_id: schema.add_text_field("session_id", attribute.clone()),
            source: schema.add_text_field("source", attribute.clone()),
            title_text: schema.add_text_field("title_text", attribute.clone()),
            user: schema.add_text_field("user", attribute.clone()),
            model: schema.add_text_field("model", attribute.clone()),
            parent_id: schema.add_text_field("parent_id", attribute.clone()),
            cwd: schema.add_text_field("cwd", attribute.clone()),
            git_root: schema.add_text_field("git_root", attribute.clone()),
            git_branch: schema.add_text_field("git_branch", attribute.clone()),
            end_reason: schema.add_text_field("end_reason", attribute),
            text: Field::ALL.map(|field| schema.add_text_field(field.name(), text.clone())),
        };
        (schema.build(), fields)
    }

    /// Returns the term under which a session's document is found.
    #[must_use]
    pub fn session_term(&self, id: &str) -> Term {
        Term::from_field_u64(self.session_key, xxh3_64(id.as_bytes()))
    }

    /// Returns the handle of a searchable field.
    #[must_use]
    pub fn text(&self, field: Field) -> TantivyField {
        self.text[field as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_stand_in_the_order_of_the_fields() {
        let (schema, fields) = Fields::build();
        for field in Field::ALL {
            assert_eq!(schema.get_field_name(fields.text(field)), field.name());
        }
    }
}
