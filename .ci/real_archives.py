"""Checks `aft` on archives that the real agent wrote: python real_archives.py AFT DATA

DATA holds `trajectories/*.jsonl.zst`, conversations of agents, one a line. Each set is written
through the agent's own SessionDB class (package hermes-agent), then mirrored, verified, audited
with SQL run here, and searched for a word that stands in one row's reasoning and nowhere else.
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import zstandard

AFT, DATA = sys.argv[1], Path(sys.argv[2])
ROWS_MAX = 4_000


def conversations(name):
    """Yields whole conversations of a set, up to about ROWS_MAX messages."""
    rows = 0
    with open(DATA / "trajectories" / f"{name}.jsonl.zst", "rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read().decode("utf-8")
    for line in text.splitlines():
        conversation = json.loads(line)
        if any(message.get("reasoning") for message in conversation["messages"]):
            yield conversation
            rows += len(conversation["messages"])
        if rows > ROWS_MAX:
            return


def seconds(time):
    if isinstance(time, str):
        return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()
    return time


def write(name, path):
    """Writes a set through the agent's own class."""
    from hermes_state import SessionDB

    database = SessionDB(db_path=path)
    for conversation in conversations(name):
        session = conversation["session_id"]
        database.create_session(session, conversation.get("source") or "cli", cwd=conversation.get("cwd"))
        for message in conversation["messages"]:
            kept = ("content", "tool_name", "tool_calls", "tool_call_id", "reasoning")
            fields = {key: message[key] for key in kept if message.get(key) is not None}
            if message.get("timestamp") is not None:
                fields["timestamp"] = seconds(message["timestamp"])
            database.append_message(session_id=session, role=message["role"], **fields)
    database.close()


def only_thought(path):
    """Returns a row's id and a word that stands in its reasoning and nowhere else."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    said, thought = set(), {}
    word = re.compile(r"[a-z]{8,}")
    for row, content, calls, reasoning in connection.execute(
        "SELECT id, coalesce(content, ''), coalesce(tool_calls, ''), coalesce(reasoning, '') FROM messages"
    ):
        said.update(word.findall(f"{content} {calls}".lower()))
        for found in word.findall(reasoning.lower()):
            thought.setdefault(found, set()).add(row)
    figures = connection.execute(
        "SELECT count(*), sum(trim(coalesce(reasoning, '')) <> ''), sum(length(coalesce(content, ''))),"
        " sum(length(trim(coalesce(reasoning, ''), char(9, 10, 13, 32)))) FROM messages"
    ).fetchone()
    connection.close()
    return next((w, rows) for w, rows in sorted(thought.items()) if w not in said and len(rows) == 1), figures


def aft(path, index, *arguments):
    command = [AFT, "--archive", str(path), "--index", str(index), "--json", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, (command, ran)
    return json.loads(ran.stdout)


def check(name, folder):
    path, index = folder / f"{name}.db", folder / "index"
    write(name, path)
    (word, rows), figures = only_thought(path)
    built = aft(path, index, "index")
    verdict = aft(path, index, "verify")
    assert verdict["equal"] and verdict["archive_rows"] == figures[0], verdict
    # In quotes: as it stands, and no other form of it.
    hit = aft(path, index, "search", f'"{word}"')["results"][0]
    assert hit["origin"] == "thought" and {hit["message_id"]} == rows, (word, rows, hit)
    audit = aft(path, index, "audit")
    ours = [audit[key] for key in ("rows", "rows_with_reasoning", "chars_content", "chars_reasoning")]
    assert ours == list(figures), (ours, figures)
    unsaid = audit["only_in_reasoning"]
    assert all(word["fts"] == {"words": 0, "trigrams": 0, "scan": 0} for word in unsaid)
    print(
        f"{name}: {figures[0]} rows by the agent's own class, {figures[1]} with reasoning;"
        f' "{word}" found in row {hit["message_id"]}, {hit["origin"]}; {len(unsaid)} words never said;'
        f' built in {built["elapsed_ms"] / 1000:.1f} s'
    )


with tempfile.TemporaryDirectory() as folder:
    # Never the user's own agent: the package resolves its home at import.
    os.environ["HERMES_HOME"] = folder
    for trajectories in ("entireio-cli", "getspecstory"):
        check(trajectories, Path(folder))
