//! The tables that FTS5 answers from, as SQL over a copy of an archive: the agent's released layout,
//! its newest one, and the newest with reasoning, which no release ships.

use serde::{Deserialize, Serialize};

/// Something that is built over the copy, in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Piece {
    /// What releases ship: two tables, each with a copy of the text of its own.
    Shipped,
    /// The newest: columns apart, tool outputs cut, no copy of the text.
    V30,
    /// The newest with reasoning as one more column.
    Best,
    /// Its trigrams, which FTS5 needs to find substrings and Han inside a run.
    BestTrigram,
    /// An ordinary index of what decides whether a row counts, so that a match need not look up its
    /// row among the texts.
    BestFlags,
}

/// Which of a layout's tables is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Table {
    /// Words of the released layout.
    ShippedWords,
    /// Trigrams of the released layout.
    ShippedGrams,
    /// Words of the newest layout.
    V30Words,
    /// Trigrams of the newest layout.
    V30Grams,
    /// Words with reasoning.
    BestWords,
    /// Trigrams with reasoning.
    BestGrams,
}

impl Table {
    /// Returns its name in the copy.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ShippedWords => "shipped_words",
            Self::ShippedGrams => "shipped_grams",
            Self::V30Words => "v30_words",
            Self::V30Grams => "v30_grams",
            Self::BestWords => "best_words",
            Self::BestGrams => "best_grams",
        }
    }
}

/// The index of [`Piece::BestFlags`].
pub(crate) const FLAGS: &str = "best_flags";

impl Piece {
    /// Every piece, in the order in which they are built.
    pub const ALL: [Self; 5] = [Self::Shipped, Self::V30, Self::Best, Self::BestTrigram, Self::BestFlags];

    /// Returns its name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::V30 => "v30",
            Self::Best => "best",
            Self::BestTrigram => "best-trigram",
            Self::BestFlags => "best-flags",
        }
    }

    /// Returns the piece of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|piece| piece.name() == name)
    }

    /// Returns the tables and indexes whose pages it takes.
    pub(crate) fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Shipped => &["shipped_words", "shipped_grams"],
            Self::V30 => &["v30_words", "v30_grams"],
            Self::Best => &["best_words"],
            Self::BestTrigram => &["best_grams"],
            Self::BestFlags => &[FLAGS],
        }
    }

    /// Returns the FTS5 tables among them.
    pub(crate) fn tables(self) -> &'static [&'static str] {
        if self == Self::BestFlags { &[] } else { self.parts() }
    }

    /// Returns what it may take on disk with the log of its build, as a multiple of the archive's text.
    pub(crate) fn space_times(self) -> u64 {
        match self {
            Self::Shipped => 10,
            Self::V30 => 4,
            Self::Best | Self::BestFlags => 1,
            Self::BestTrigram => 6,
        }
    }

    /// Returns what makes and fills it.
    pub(crate) fn build_sql(self) -> String {
        match self {
            Self::Shipped => inline("shipped_words", "") + &inline("shipped_grams", ", tokenize = 'trigram'"),
            Self::V30 => V30_VIEWS.to_owned() + V30_TABLES,
            Self::Best => BEST_VIEW.to_owned() + BEST_WORDS,
            Self::BestTrigram => BEST_VIEW.to_owned() + BEST_GRAMS,
            Self::BestFlags => format!(
                "CREATE INDEX {FLAGS} ON messages(id, role, active, compacted, display_kind, session_id, timestamp);"
            ),
        }
    }

    /// Returns the triggers that keep it true to an insert, as the agent has them.
    pub(crate) fn insert_triggers(self) -> String {
        let inline = |table: &str| {
            trigger(
                table,
                &format!("INSERT INTO {table}(rowid, content) VALUES (new.id, {});", joined("new")),
            )
        };
        let from = |table: &str, view: &str, columns: &str| {
            let insert = format!(
                "INSERT INTO {table}(rowid, {columns}) SELECT id, {columns} FROM {view} WHERE id = new.id;"
            );
            trigger(table, &insert)
        };
        match self {
            Self::Shipped => inline("shipped_words") + &inline("shipped_grams"),
            Self::V30 => {
                from("v30_words", "v30_src", "content, tool_name, tool_calls")
                    + &from("v30_grams", "v30_grams_src", "content, tool_name")
            }
            Self::Best => from("best_words", "best_src", BEST_COLUMNS),
            Self::BestTrigram => from("best_grams", "best_src", BEST_COLUMNS),
            Self::BestFlags => String::new(),
        }
    }

    /// Returns what takes the triggers away again.
    pub(crate) fn drop_triggers(self) -> String {
        let drops = self.tables().iter().map(|table| format!("DROP TRIGGER {table}_insert;"));
        drops.collect::<Vec<_>>().concat()
    }
}

fn trigger(table: &str, insert: &str) -> String {
    format!("CREATE TRIGGER {table}_insert AFTER INSERT ON messages BEGIN {insert} END;")
}

/// The released layout's one column, of a row by that name.
fn joined(row: &str) -> String {
    format!(
        "coalesce({row}.content, '') || ' ' || coalesce({row}.tool_name, '') || ' ' || coalesce({row}.tool_calls, '')"
    )
}

fn inline(table: &str, options: &str) -> String {
    format!(
        "CREATE VIRTUAL TABLE {table} USING fts5(content{options});
         INSERT INTO {table}(rowid, content) SELECT m.id, {} FROM messages m ORDER BY m.id;",
        joined("m")
    )
}

const V30_VIEWS: &str = "
    CREATE VIEW v30_src AS SELECT id,
        CASE WHEN role = 'tool' THEN substr(coalesce(content, ''), 1, 8192) ELSE content END AS content,
        tool_name, tool_calls
    FROM messages;
    CREATE VIEW v30_grams_src AS SELECT m.id AS id, m.content AS content, m.tool_name AS tool_name
    FROM messages m JOIN sessions s ON s.id = m.session_id
    WHERE m.role <> 'tool' AND s.source NOT IN ('cron', 'subagent');";

const V30_TABLES: &str = "
    CREATE VIRTUAL TABLE v30_words USING fts5(
        content, tool_name, tool_calls, content = 'v30_src', content_rowid = 'id');
    INSERT INTO v30_words(v30_words) VALUES ('rebuild');
    CREATE VIRTUAL TABLE v30_grams USING fts5(
        content, tool_name, content = 'v30_grams_src', content_rowid = 'id', tokenize = 'trigram');
    INSERT INTO v30_grams(v30_grams) VALUES ('rebuild');";

/// The newest layout's view, tool rows cut at 8,192 characters, with reasoning as one more column.
const BEST_VIEW: &str = "
    CREATE VIEW IF NOT EXISTS best_src AS SELECT id,
        CASE WHEN role = 'tool' THEN substr(coalesce(content, ''), 1, 8192) ELSE content END AS content,
        tool_name, tool_calls,
        nullif(trim(coalesce(reasoning, '') || CASE
            WHEN coalesce(reasoning_content, '') = coalesce(reasoning, '') THEN ''
            ELSE ' ' || coalesce(reasoning_content, '') END), '') AS reasoning
    FROM messages;";

const BEST_COLUMNS: &str = "content, tool_name, tool_calls, reasoning";

const BEST_WORDS: &str = "
    CREATE VIRTUAL TABLE best_words USING fts5(
        content, tool_name, tool_calls, reasoning, content = 'best_src', content_rowid = 'id');
    INSERT INTO best_words(best_words) VALUES ('rebuild');";

const BEST_GRAMS: &str = "
    CREATE VIRTUAL TABLE best_grams USING fts5(
        content, tool_name, tool_calls, reasoning, content = 'best_src', content_rowid = 'id',
        tokenize = 'trigram');
    INSERT INTO best_grams(best_grams) VALUES ('rebuild');";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_names_of_their_own() {
        for piece in Piece::ALL {
            assert_eq!(Piece::named(piece.name()), Some(piece));
        }
        assert_eq!(Piece::named("heron"), None);
    }
}
