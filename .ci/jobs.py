"""Measures a job of many archives in trouble, and kills it: python jobs.py AFT [--kills 50] [--archives 20]

Archives of mixed size, schema and agent are written by seed; one of them is damaged, one is not there, of one
another process holds the lock of its index for ever, and one may only be read. A job rebuilds all of them
within a budget of memory, while one is served, written to and searched, and others are searched by new
processes. It must say what became of each, pass its budget at no moment, and no answer may fail or hold
less than one before it. Then further jobs are killed at random moments: every index must answer and equal
its archive, and the next run must finish, build nothing again that was done, and be proven. Between them
indexes are rolled back under readers, and killed in that too. Prints the figures as JSON.
"""
import argparse
import contextlib
import fcntl
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

LAYOUTS = Path(__file__).parent.parent / "tests" / "layouts"
# Rows of the smallest archive.
ROWS_MIN = 300
WORDS = "the harbor lantern holds a chart of every quay and pier where the tide table was read twice".split()
# What is written into the archive that is served, and never taken back.
SEQUENCE = "sequoiadendron"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("aft", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--archives", type=int, default=20)
    parser.add_argument("--rows", type=int, default=20_000, help="of the largest archive")
    parser.add_argument("--memory", type=int, default=600, help="MB")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Fleet:
    """The archives by name, their index root, and how `aft` is run on them."""

    def __init__(self, home, given):
        self.home, self.aft_path, self.memory = Path(home), given.aft.resolve(), given.memory
        self.index, self.manifest = self.home / "index", self.home / "jobs.toml"
        self.random = random.Random(given.seed)
        self.paths, self.folders = {}, {}
        self.write(max(given.archives, 8), given.rows)

    def write(self, count, large):
        writers = [self.corpus(schema, shape) for schema in ("v22", "v6", "v11", "v30") for shape in "ab"]
        writers += [self.openai_agents, self.llm, self.llm_responses]
        for number in range(count):
            rows = round(ROWS_MIN * (large / ROWS_MIN) ** (number / (count - 1)))
            # The largest is the one that is served and written to.
            write = writers[(count - 1 - number) % len(writers)]
            name = f"a{number:02}"
            path = self.home / name / "state.db"
            path.parent.mkdir()
            write(path, rows)
            self.paths[name] = path
        names = list(self.paths)
        self.served = names[-1]
        self.damaged, self.missing, self.held, self.sealed = self.random.sample(names[count // 3 : -1], 4)
        with open(self.paths[self.damaged], "r+b") as file:
            file.seek(100)
            file.write(b"\xff" * (os.path.getsize(self.paths[self.damaged]) - 100))
        self.paths[self.missing].unlink()
        self.paths[self.sealed].chmod(0o444)
        self.paths[self.sealed].parent.chmod(0o555)
        self.sound = [name for name in names if name not in (self.damaged, self.missing)]
        tables = (f'[[archive]]\npath = "{name}/state.db"\nname = "{name}"\n' for name in names)
        self.manifest.write_text("".join(tables))

    def corpus(self, schema, shape):
        def write(path, rows):
            program = self.aft_path.parent / "examples" / "corpus"
            options = ["--schema", schema, "--shape", shape, "--rows", rows, "--seed", rows]
            subprocess.run([str(part) for part in (program, path, *options)], check=True, capture_output=True)

        return write

    def text(self, number):
        return " ".join(self.random.choices(WORDS, k=60)) + f" number{number} the"

    def database(self, path, layout):
        database = sqlite3.connect(path)
        tables = [line for line in re.split(r";\n", (LAYOUTS / layout).read_text()) if "CREATE" in line]
        database.executescript(";".join(tables))
        return database

    def openai_agents(self, path, rows):
        with contextlib.closing(self.database(path, "openai-agents.sql")) as database, database:
            database.execute("INSERT INTO agent_sessions VALUES ('s', '2026-01-02 03:04:05', '2026-01-02 03:04:05')")
            items = ((json.dumps({"role": "user", "content": self.text(number)}),) for number in range(rows))
            into = "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES"
            database.executemany(f"{into} ('s', ?, '2026-01-02 03:04:05')", items)

    def llm(self, path, rows):
        time_of = "2026-01-02T03:04:05+00:00"
        with contextlib.closing(self.database(path, "llm.sql")) as database, database:
            database.execute("INSERT INTO threads VALUES ('s', 'a talk', NULL, NULL, ?)", (time_of,))
            for number in range(0, rows, 2):
                before, asked, answered = f"h{number}", f"h{number + 1}", f"h{number + 2}"
                database.execute("INSERT INTO messages VALUES (?, ?, 'user', NULL)", (asked, before if number else None))
                database.execute("INSERT INTO messages VALUES (?, ?, 'assistant', NULL)", (answered, asked))
                for told in (asked, answered):
                    part = "INSERT INTO parts (message_hash, position, type, text) VALUES (?, 0, 'text', ?)"
                    database.execute(part, (told, self.text(number)))
                turn = (f"t{number}", "s", asked, answered, "echo", time_of)
                database.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)", turn)

    def llm_responses(self, path, rows):
        with contextlib.closing(self.database(path, "llm-responses.sql")) as database, database:
            database.execute("INSERT INTO conversations VALUES ('s', 'a talk', 'echo')")
            into = "INSERT INTO responses (id, model, prompt, response, conversation_id, datetime_utc) VALUES"
            told = ((f"r{number}", self.text(number), self.text(number)) for number in range(0, rows, 2))
            database.executemany(f"{into} (?, 'echo', ?, ?, 's', '2026-01-02T03:04:05+00:00')", told)

    def command(self, *given, name=None):
        archive = ["--archive", self.paths[name]] if name else []
        return [str(part) for part in (self.aft_path, "--json", "--index", self.index, *archive, *given)]

    def aft(self, *given, name=None, codes=(0,)):
        ran = subprocess.run(self.command(*given, name=name), capture_output=True, text=True)
        assert ran.returncode in codes, (name, given, ran.returncode, ran.stdout, ran.stderr)
        return json.loads(ran.stdout) if ran.stdout else None

    def job(self):
        flags = ["--manifest", self.manifest, "--jobs", 2, "--memory", self.memory, "--nice", 0]
        return self.command("reindex", *flags)

    def folder(self, name):
        """The folder of an archive's index, which is there."""
        if name not in self.folders:
            self.folders[name] = Path(self.aft("status", name=name)["index_folder"]).parent
        return self.folders[name]

    def live(self, name):
        folder = self.folder(name)
        return str(folder / (folder / "current").read_text().strip())

    def finish(self):
        """Runs the job to its end, in which all succeed that can."""
        ran = subprocess.run(self.job(), capture_output=True, text=True)
        assert ran.returncode == 7, (ran.returncode, ran.stdout, ran.stderr)
        return json.loads(ran.stdout)

    def journal(self):
        journals = list((self.index / "jobs").glob("*.json"))
        return json.loads(journals[0].read_text()) if journals else None

    def is_proven(self, name):
        total = self.aft("search", "the", name=name)["total"]["value"]
        verdict = self.aft("verify", name=name)
        assert total > 0 and verdict["equal"], (name, total, verdict)


def asked_over_http(address, query):
    with urllib.request.urlopen(f"{address}/api/v1/search?q={query}") as answer:
        return json.load(answer)


class Readers:
    """Searches without a pause while something happens: a server that was there before, an archive's agent that
    writes to it, and new processes. What an answer holds may not become less."""

    def __init__(self, fleet):
        self.fleet, self.answers, self.slowest, self.written = fleet, 0, 0.0, 0
        self.most, self.failures, self.done = {}, [], threading.Event()
        # Of its own: threads take turns as they like, and kills are to come in the order of the seed.
        self.random = random.Random(1)

    def __enter__(self):
        self.server = subprocess.Popen(
            self.fleet.command("serve", "--listen", "127.0.0.1:0", name=self.fleet.served),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        self.address = next(found for line in self.server.stderr if (found := re.search(r"http://[0-9.:]+", line)))[0]
        threading.Thread(target=self.server.stderr.read, daemon=True).start()
        loops = (self.ask_the_server, self.ask_anew)
        self.threads = [threading.Thread(target=self.over_and_over, args=[ask]) for ask in loops]
        self.threads.append(threading.Thread(target=self.write))
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join()
        self.server.terminate()
        self.server.wait()
        assert not self.failures, self.failures[:3]

    def over_and_over(self, ask):
        while not self.done.is_set():
            began = time.monotonic()
            try:
                ask()
            except Exception as failure:
                self.failures.append(f"{ask.__name__}: {failure!r}")
                return
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.answers += 1

    def holds_as_much(self, what, page):
        found = (page["total"]["value"], page["index"]["rows"])
        before = self.most.get(what, (0, 0))
        assert found >= before and found[1] >= before[1], f"{what}: {before}, then {found}"
        self.most[what] = found

    def ask_the_server(self):
        for query in ("the", SEQUENCE):
            self.holds_as_much(("served", query), asked_over_http(self.address, query))

    def ask_anew(self):
        name = self.random.choice(self.fleet.sound)
        page = self.fleet.aft("search", "the", name=name)
        self.holds_as_much((name, "the"), page)

    def write(self):
        with contextlib.closing(sqlite3.connect(self.fleet.paths[self.fleet.served], timeout=30)) as database:
            session = database.execute("SELECT id FROM sessions LIMIT 1").fetchone()[0]
            while not self.done.wait(0.02):
                with database:
                    row = (session, f"{SEQUENCE} {self.written} the", time.time())
                    into = "INSERT INTO messages (session_id, role, content, timestamp)"
                    database.execute(f"{into} VALUES (?, 'user', ?, ?)", row)
                self.written += 1


def anonymous_mb(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found[1]) * 1024 / 1e6 if found else 0


def measured(fleet):
    """Runs one job whole, and returns its report and its figures."""
    with open(fleet.folder(fleet.held) / "lock", "a") as lock, Readers(fleet) as readers:
        fcntl.flock(lock, fcntl.LOCK_EX)
        began = time.monotonic()
        with tempfile.TemporaryFile("w+") as printed:
            job = subprocess.Popen(fleet.job(), stdout=printed, stderr=subprocess.DEVNULL)
            peak = 0
            while job.poll() is None:
                peak = max(peak, anonymous_mb(job.pid))
                time.sleep(0.01)
            took = time.monotonic() - began
            printed.seek(0)
            report = json.loads(printed.read())
        assert job.returncode == 7, (job.returncode, report)
    states = {entry["name"]: (entry["state"], (entry["error"] or {}).get("kind")) for entry in report["archives"]}
    expected = dict.fromkeys(fleet.paths, ("done", None)) | {
        fleet.damaged: ("failed", "archive-unavailable"),
        fleet.missing: ("missing", "archive-unavailable"),
        fleet.held: ("failed", "index-locked"),
    }
    assert states == expected, {name: states[name] for name in states if states[name] != expected[name]}
    for entry in report["archives"]:
        assert entry["error"] is None or entry["error"]["hint"], entry
    assert peak <= fleet.memory, f"{peak:.0f} MB of {fleet.memory} MB"
    assert readers.most[("served", SEQUENCE)][0] > 0, "what was written meanwhile was found meanwhile"
    return {
        "job_s": round(took, 1), "rows": report["totals"]["rows"], "text_bytes": report["totals"]["text_bytes"],
        "anonymous_mb_peak": round(peak), "answers": readers.answers,
        "slowest_answer_s": round(readers.slowest, 2), "rows_written_meanwhile": readers.written,
        # Root may write whatever the permissions say.
        "read_only_binds": os.geteuid() != 0,
    }


def done_by(fleet, journal, live):
    """The archives that a killed job had done: written down, or swapped in and not written down any more."""
    entries = {entry["name"]: entry for entry in journal["archives"]}
    swapped = {name for name in fleet.sound if entries[name]["index_folder"] == live[name]}
    written = {name for name in entries if entries[name]["state"] == "done"}
    assert written <= swapped, (written - swapped, journal)
    return written, swapped


def killed(fleet, took, figures):
    """Kills a job somewhere, looks at every index, and lets the next run finish."""
    with Readers(fleet) as readers:
        with subprocess.Popen(fleet.job(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(fleet.random.uniform(0, took))
            job.send_signal(signal.SIGKILL)
    figures["answers"] += readers.answers
    figures["slowest_answer_s"] = max(figures["slowest_answer_s"], round(readers.slowest, 2))
    journal = fleet.journal()
    live = {name: fleet.live(name) for name in fleet.sound}
    for name in fleet.sound:
        fleet.is_proven(name)
    report = fleet.finish()
    entries = {entry["name"]: entry for entry in report["archives"]}
    assert all(entries[name]["state"] == "done" for name in fleet.sound), report
    if journal["ended_ms"] is not None:
        # It had not begun, or had ended: the next is a job of its own.
        return
    figures["cut_short"] += 1
    assert report["started_ms"] == journal["started_ms"], "it is the same job"
    written, swapped = done_by(fleet, journal, live)
    for name in fleet.sound:
        entry = entries[name]
        assert entry["ran"] == (name not in swapped), (name, entry, journal)
        if name in swapped:
            assert entry["index_folder"] == live[name] == fleet.live(name), entry
        elif entry["rows_written"] < entry["rows"]:
            figures["gone_on_with"] += 1
    figures["done_before"] += len(swapped)
    figures["swapped_and_not_written_down"] += len(swapped - written)


def rolled_back(fleet, figures):
    """Goes back and forth under readers, killed on the way now and then."""
    name = fleet.random.choice([fleet.served, fleet.random.choice(fleet.sound)])
    with Readers(fleet) as readers:
        for _ in range(4):
            if fleet.random.random() < 0.5:
                with subprocess.Popen(fleet.command("reindex", "--rollback", name=name), stdout=subprocess.DEVNULL) as back:
                    time.sleep(fleet.random.uniform(0, 0.05))
                    back.send_signal(signal.SIGKILL)
                figures["rollbacks_killed"] += 1
            # One that was killed between two pointers may leave none to go back to.
            fleet.aft("reindex", "--rollback", name=name, codes=(0, 3))
            figures["rollbacks"] += 1
    figures["answers"] += readers.answers
    fleet.is_proven(name)


def main():
    given = arguments()
    with tempfile.TemporaryDirectory() as home:
        fleet = Fleet(home, given)
        try:
            for name in fleet.sound:
                fleet.aft("index", name=name)
            figures = measured(fleet)
            print(json.dumps(figures), flush=True)
            began = time.monotonic()
            fleet.finish()
            took = time.monotonic() - began
            names = ["cut_short", "done_before", "swapped_and_not_written_down", "gone_on_with", "rollbacks"]
            figures |= dict.fromkeys([*names, "rollbacks_killed"], 0)
            for number in range(given.kills):
                killed(fleet, took, figures)
                if number % 5 == 0:
                    rolled_back(fleet, figures)
                print(number + 1, json.dumps(figures), flush=True)
            for name in fleet.sound:
                assert fleet.aft("verify", "--deep", name=name)["equal"], name
        finally:
            fleet.paths[fleet.sealed].parent.chmod(0o755)
        print(json.dumps({"archives": len(fleet.paths), "kills": given.kills, "seed": given.seed} | figures))


main()
