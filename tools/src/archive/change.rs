//! Changes rows after they were written, in each way the agent (0.19.0) does. What a mirror
//! can see of each change, in the largest id, the count and the flags, is tested below.

use rusqlite::params_from_iter;

use super::{Message, Writer};

impl Writer {
    /// Takes back every live message from `from_id` on (`/undo`). Returns how many; counts the
    /// rewind even when that is none. Fails on shapes without `active`.
    pub fn rewind(&mut self, session_id: &str, from_id: i64) -> rusqlite::Result<usize> {
        self.transaction(|writer| {
            let count = writer.connection.execute(
                "UPDATE messages SET active = 0 WHERE session_id = ?1 AND id >= ?2 AND active = 1",
                (session_id, from_id),
            )?;
            writer.connection.execute(
                "UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?1",
                [session_id],
            )?;
            Ok(count)
        })
    }

    /// Makes every message from `from_id` on live again, compacted ones too. Returns how many.
    /// Touches no session row, so only the flags tell.
    pub fn restore(&mut self, session_id: &str, from_id: i64) -> rusqlite::Result<usize> {
        self.connection.execute(
            "UPDATE messages SET active = 1 WHERE session_id = ?1 AND id >= ?2 AND active = 0",
            (session_id, from_id),
        )
    }

    /// Summarizes a session in place: all live rows become compacted, `messages` (the summary
    /// and the turns kept) are written anew under new ids. Returns those.
    pub fn compact(&mut self, session_id: &str, messages: &[Message]) -> rusqlite::Result<Vec<i64>> {
        self.transaction(|writer| {
            writer.connection.execute(
                "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ?1 AND active = 1",
                [session_id],
            )?;
            writer.refill(session_id, messages)
        })
    }

    /// Deletes all rows of a session and writes `messages` under new ids (an edit, `/retry`).
    /// Returns those ids.
    pub fn replace(&mut self, session_id: &str, messages: &[Message]) -> rusqlite::Result<Vec<i64>> {
        self.transaction(|writer| {
            let delete = "DELETE FROM messages WHERE session_id = ?1";
            writer.connection.execute(delete, [session_id])?;
            writer.refill(session_id, messages)
        })
    }

    /// Deletes all rows of a session and keeps the session.
    pub fn clear(&mut self, session_id: &str) -> rusqlite::Result<()> {
        self.replace(session_id, &[]).map(|_| ())
    }

    /// Deletes a session, its rows and the sessions delegated from it; other children lose
    /// their parent. Returns false if there is no such session.
    pub fn delete_session(&mut self, session_id: &str) -> rusqlite::Result<bool> {
        self.transaction(|writer| {
            let mut doomed = writer.delegated_from(session_id)?;
            doomed.push(session_id.to_owned());
            let marks = vec!["?"; doomed.len()].join(", ");
            for statement in [
                "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id",
                "DELETE FROM messages WHERE session_id",
            ] {
                let statement = format!("{statement} IN ({marks})");
                writer.connection.execute(&statement, params_from_iter(&doomed))?;
            }
            let statement = format!("DELETE FROM sessions WHERE id IN ({marks})");
            Ok(writer.connection.execute(&statement, params_from_iter(&doomed))? > 0)
        })
    }

    /// Names a session; blank text takes the name away. Fails if another session has it.
    pub fn set_title(&mut self, session_id: &str, title: &str) -> rusqlite::Result<()> {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = Some(title).filter(|title| !title.is_empty());
        let update = "UPDATE sessions SET title = ?2 WHERE id = ?1";
        self.connection.execute(update, (session_id, title))?;
        Ok(())
    }

    fn refill(&mut self, session_id: &str, messages: &[Message]) -> rusqlite::Result<Vec<i64>> {
        let mut ids = Vec::with_capacity(messages.len());
        for message in messages {
            ids.push(self.insert(session_id, message)?);
        }
        let calls = messages.iter().map(Message::calls_count).sum();
        self.set_counts(session_id, messages.iter().map(|_| 1).sum(), calls)?;
        Ok(ids)
    }

    /// Finds the delegates of a session and theirs. Set union, so a cycle ends the walk; the
    /// session itself is left out even if one of its delegates delegated back to it.
    fn delegated_from(&self, session_id: &str) -> rusqlite::Result<Vec<String>> {
        let mut query = self.connection.prepare(
            "WITH RECURSIVE
               origin(id, marked, parent) AS (
                 SELECT id, CASE WHEN json_valid(model_config)
                            THEN json_extract(model_config, '$._delegate_from') END,
                        parent_session_id FROM sessions),
               doomed(id) AS (
                 SELECT ?1
                 UNION
                 SELECT origin.id FROM origin JOIN doomed
                 ON origin.marked = doomed.id
                 OR (origin.parent = doomed.id AND origin.marked IS NOT NULL))
             SELECT id FROM doomed WHERE id <> ?1",
        )?;
        query.query_map([session_id], |row| row.get(0))?.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{Fts, Session, Shape};

    /// A session `s` with rows 1 to 4, and `change` done to it; then what a mirror can read:
    /// largest id, count, live rows, compacted rows, and the session's own counters.
    fn check(change: impl FnOnce(&mut Writer), expect: [i64; 4], counters: &str) {
        let mut writer = Writer::memory(Shape::V22, Fts::Hermes).expect("create");
        writer.session(&Session::new("s")).expect("session");
        for text in ["one", "two", "three", "four"] {
            writer.message("s", &Message::user(text)).expect("message");
        }
        change(&mut writer);
        let seen: rusqlite::Result<[i64; 4]> = writer.connection().query_row(
            "SELECT COALESCE(MAX(id), 0), COUNT(*), COALESCE(SUM(active), 0),
             COALESCE(SUM(compacted), 0) FROM messages",
            [],
            |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]),
        );
        assert_eq!(seen.expect("counts"), expect);
        let session: Option<String> = writer
            .connection()
            .query_row("SELECT group_concat(message_count || ' ' || rewind_count) FROM sessions", [], |row| {
                row.get(0)
            })
            .expect("counters");
        assert_eq!(session.as_deref().unwrap_or("gone"), counters);
    }

    #[test]
    fn rewind_flips_the_tail_and_is_counted() {
        check(|w| assert_eq!(w.rewind("s", 3).expect("rewind"), 2), [4, 4, 2, 0], "4 1");
        check(|w| assert_eq!(w.rewind("s", 9).expect("rewind"), 0), [4, 4, 4, 0], "4 1");
    }

    #[test]
    fn restore_flips_back_and_is_not_counted() {
        let change = |w: &mut Writer| {
            w.rewind("s", 2).expect("rewind");
            assert_eq!(w.restore("s", 3).expect("restore"), 2);
        };
        check(change, [4, 4, 3, 0], "4 1");
    }

    #[test]
    fn compact_keeps_the_old_rows_and_adds_new_ones() {
        let change = |w: &mut Writer| {
            let ids = w.compact("s", &[Message::user("[CONTEXT COMPACTION] x"), Message::user("four")]);
            assert_eq!(ids.expect("compact"), [5, 6]);
        };
        check(change, [6, 6, 2, 4], "2 0");
    }

    #[test]
    fn restore_revives_compacted_rows() {
        let change = |w: &mut Writer| {
            w.compact("s", &[Message::user("summary")]).expect("compact");
            w.restore("s", 1).expect("restore");
        };
        check(change, [5, 5, 5, 4], "1 0");
    }

    #[test]
    fn replace_never_reuses_ids() {
        let change = |w: &mut Writer| {
            assert_eq!(w.replace("s", &[Message::user("again")]).expect("replace"), [5]);
        };
        check(change, [5, 1, 1, 0], "1 0");
    }

    #[test]
    fn clear_keeps_the_session() {
        check(|w| w.clear("s").expect("clear"), [0, 0, 0, 0], "0 0");
    }

    #[test]
    fn delete_takes_delegates_and_orphans_the_rest() {
        let change = |w: &mut Writer| {
            let child = |id: &str, config: Option<&str>| Session {
                parent_session_id: Some("s".to_owned()),
                model_config: config.map(str::to_owned),
                ..Session::new(id)
            };
            w.session(&child("helper", Some(r#"{"_delegate_from": "s"}"#))).expect("session");
            w.session(&child("branch", Some("{oops"))).expect("session");
            w.message("helper", &Message::user("five")).expect("message");
            w.message("branch", &Message::user("six")).expect("message");
            assert!(w.delete_session("s").expect("delete"));
            assert!(!w.delete_session("s").expect("delete"));
        };
        check(change, [6, 1, 1, 0], "1 0");
    }

    #[test]
    fn titles_are_cleaned_and_unique() {
        let change = |w: &mut Writer| {
            w.set_title("s", "  Two \n words ").expect("title");
            w.session(&Session::new("t")).expect("session");
            assert!(w.set_title("t", "Two words").is_err());
            w.set_title("s", " ").expect("title");
            w.set_title("t", "Two words").expect("title");
        };
        check(change, [4, 4, 4, 0], "4 0,0 0");
    }
}
