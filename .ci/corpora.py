"""Checks that the real agent opens generated corpora: python corpora.py CORPUS

CORPUS is the example program `corpus` of the tools. For each schema and shape a small corpus is
written, opened by the agent's own SessionDB class (package hermes-agent), and read back through it;
its own search must find a word planted in content, and none planted in reasoning.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = sys.argv[1]
ROWS = 1_500
TEXTS = ("role", "content", "reasoning", "tool_name", "tool_call_id")


def generate(path, schema, shape, *options):
    truth = path.with_suffix(".json")
    command = [CORPUS, path, "--schema", schema, "--shape", shape, "--rows", ROWS, "--truth", truth, *options]
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert ran.returncode == 0, (command, ran)
    return json.loads(ran.stdout), json.loads(truth.read_text())


def rows(path):
    """Returns what the file holds, read without the agent."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    read = connection.execute(f"SELECT id, session_id, {', '.join(TEXTS)}, tool_calls FROM messages ORDER BY id")
    messages = [dict(row) for row in read]
    connection.close()
    return messages


def check(path, schema, shape, *options):
    from hermes_state import SessionDB

    summary, truth = generate(path, schema, shape, *options)
    before = rows(path)
    assert len(before) == summary["rows"] == ROWS
    database = SessionDB(db_path=path)
    seen = {}
    for session in dict.fromkeys(row["session_id"] for row in before):
        assert database.get_session(session), session
        for message in database.get_messages(session):
            seen[message["id"]] = message
    for row in before:
        message = seen.pop(row["id"])
        assert all(message[name] == row[name] for name in TEXTS), (row, message)
        calls = json.loads(row["tool_calls"]) if row["tool_calls"] else None
        assert (message["tool_calls"] or None) == calls, (row, message)
    assert not seen, seen
    found = {"content": 0, "reasoning": 0}
    for planted in truth["planted"]:
        if planted["origin"] in ("said", "thought") and planted["source"] not in ("subagent", "tool"):
            hits = [hit["id"] for hit in database.search_messages(planted["token"], limit=5)]
            assert hits == ([planted["message_id"]] if planted["origin"] == "said" else []), (planted, hits)
            found[planted["field"]] += 1
    assert found["content"] >= 3 and found["reasoning"] >= 3, found
    database.close()
    connection = sqlite3.connect(path)
    verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
    version = connection.execute("SELECT version FROM schema_version").fetchone()[0]
    columns = len(connection.execute("PRAGMA table_info(messages)").fetchall())
    connection.close()
    assert verdict == "ok" and len(rows(path)) == ROWS, verdict
    print(
        f"{schema} {shape}{' with full text' if options else ''}: {ROWS} rows read back, {found['content']} planted"
        f" words of content found, {found['reasoning']} of reasoning not; afterwards version {version},"
        f" {columns} columns, integrity ok"
    )


with tempfile.TemporaryDirectory() as folder:
    # Never the user's own agent: the package resolves its home at import.
    os.environ["HERMES_HOME"] = folder
    for schema in ("v6", "v11", "v22", "v30"):
        for shape in ("a", "b"):
            check(Path(folder) / f"{schema}-{shape}.db", schema, shape)
    check(Path(folder) / "fts.db", "v22", "a", "--fts")
