"""Follows the real agent while it works: python live_agent.py AFT [OPERATIONS]

The agent's own SessionDB class (package hermes-agent) does a mix of everything it can do to an archive,
while `aft watch` follows and another process searches without a pause. The agent is made to fail where
it would have to wait for a lock, and no operation of it may fail; every search must answer, every hit
must be in a row that holds its word; neither the database nor its shared memory is ever open for writing
in the watch (SQLite opens a log so even where it only reads); in the end the index must equal the archive, text by text, and looking leaves no trace on it.
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

if len(sys.argv) < 2:
    sys.exit("usage: live_agent.py AFT [OPERATIONS], by a Python that has the package hermes-agent")
AFT = sys.argv[1]
OPERATIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 600
WORDS = ["harbor", "quorum", "ledger", "beacon", "部署", "失败", "getUserById", "gateway/run.py", "timeout"]
MIX = {"append": 60, "rewind": 8, "restore": 6, "compact": 5, "replace": 4, "clear": 1, "delete": 2, "title": 8}


class Agent:
    """Does one random operation after another, and counts them."""

    def __init__(self, path, seed):
        from hermes_state import SessionDB

        self.random = random.Random(seed)
        self.database = SessionDB(db_path=path)
        # A lock that is held is an error at once, and none is tried again.
        self.database._conn.execute("PRAGMA busy_timeout = 0")
        self.database._WRITE_MAX_RETRIES = 1
        self.sessions, self.made, self.slowest = [], 0, 0.0
        self.done = dict.fromkeys(MIX, 0)

    def step(self):
        if len(self.sessions) < 3 or self.random.random() < 0.05:
            self.made += 1
            self.sessions.append(f"20260901_1003{self.made % 60:02}_{self.made:06x}")
            self.database.create_session(self.sessions[-1], "cli")
        name = self.random.choices(list(MIX), weights=list(MIX.values()))[0]
        session = self.random.choice(self.sessions)
        began = time.monotonic()
        getattr(self, name)(session)
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.done[name] += 1

    def message(self):
        text = " ".join(self.random.choices(WORDS, k=self.random.randint(2, 12)))
        role = self.random.choice(["user", "assistant", "tool"])
        message = {"role": role, "content": text}
        if role == "assistant" and self.random.random() < 0.5:
            message["reasoning"] = " ".join(self.random.choices(WORDS, k=8))
        return message

    def append(self, session):
        self.database.append_message(session_id=session, **self.message())

    def rewind(self, session):
        users = [m for m in self.database.get_messages(session) if m["role"] == "user"]
        if users:
            self.database.rewind_to_message(session, self.random.choice(users)["id"])

    def restore(self, session):
        rows = self.database.get_messages(session, include_inactive=True)
        if rows:
            self.database.restore_rewound(session, self.random.choice(rows)["id"])

    def compact(self, session):
        kept = [{"role": m["role"], "content": m["content"]} for m in self.database.get_messages(session)[-2:]]
        summary = {"role": "user", "content": "[CONTEXT COMPACTION] so far: " + self.message()["content"]}
        self.database.archive_and_compact(session, [summary, *kept])

    def replace(self, session):
        self.database.replace_messages(session, [self.message() for _ in range(self.random.randint(0, 5))])

    def clear(self, session):
        self.database.clear_messages(session)

    def delete(self, session):
        self.database.delete_session(session)
        self.sessions.remove(session)

    def title(self, session):
        self.database.set_session_title(session, f"{self.random.choice(WORDS)} {self.random.random()}")


def search(place, stop, seen):
    """Searches without a pause, and checks every hit against itself."""
    pick = random.Random(1)
    while not stop.is_set():
        word = pick.choice(WORDS)
        ran = subprocess.run([*place, "search", "--no-sync", word], capture_output=True, text=True)
        if ran.returncode != 0:
            seen.append(f"{word}: {ran}")
            return
        page = json.loads(ran.stdout)
        for hit in page["results"]:
            if word not in hit["snippet"]:
                seen.append(f"{word}: {hit}")
        search.count += 1


def open_for_writing(pid, folder):
    """Returns the files below a folder that a process could write, but for a log."""
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            path = descriptor.readlink()
            flags = Path(f"/proc/{pid}/fdinfo/{descriptor.name}").read_text()
        except FileNotFoundError:
            continue
        if path.name.endswith("-wal") or not path.is_relative_to(folder):
            continue
        if int(flags.split("flags:")[1].split()[0], 8) & os.O_ACCMODE:
            found.append(str(path))
    return found


def trace(folder):
    """Returns all that could change about the files of a folder."""
    files = {}
    for path in sorted(folder.iterdir()):
        stat = path.stat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        files[path.name] = (stat.st_ino, stat.st_mode, stat.st_size, stat.st_mtime_ns, digest)
    return files


def main(folder):
    os.environ["HERMES_HOME"] = str(folder / "home")
    archive = folder / "agent" / "state.db"
    archive.parent.mkdir()
    agent = Agent(archive, seed=7)
    agent.step()
    place = [AFT, "--archive", archive, "--index", folder / "index", "--json"]
    assert subprocess.run([*place, "index"], capture_output=True).returncode == 0
    events = (folder / "events").open("w+")
    watch = subprocess.Popen([*place, "watch"], stdout=events, stderr=subprocess.PIPE)
    stop, seen, search.count = threading.Event(), [], 0
    searcher = threading.Thread(target=search, args=(place, stop, seen))
    searcher.start()
    for number in range(OPERATIONS):
        agent.step()
        if number % 10 == 0:
            seen += open_for_writing(watch.pid, archive.parent)
        time.sleep(agent.random.choice([0, 0, 0, 0.02]))
    # Quiet enough for the watch to have looked at everything, then nothing may be left to do.
    time.sleep(4)
    before = trace(archive.parent)
    time.sleep(2)
    stop.set()
    searcher.join()
    verified = subprocess.run([*place, "verify", "--deep"], capture_output=True, text=True)
    assert trace(archive.parent) == before, "watch, searches and verify left a trace"
    watch.terminate()
    assert watch.wait() == 0, watch.stderr.read()
    events.seek(0)
    names = [json.loads(line)["event"] for line in events]
    agent.database.close()
    assert not seen, seen[:3]
    assert verified.returncode == 0, verified
    assert set(names) == {"synced"}, names
    verdict = json.loads(verified.stdout)
    assert not archive.with_name("state.db-wal").exists(), "the agent could not close its log"
    print(f"live agent: {agent.done}, no lock waited for, the slowest {agent.slowest * 1000:.0f} ms; {len(names)} syncs, "
          f"{search.count} searches, {verdict['archive_rows']} rows equal")


with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
