"""An agent's archive as the agent writes it: the demo's half year, and rows that a test appends."""
import json
import sqlite3
import subprocess
import time

# What an archive may hold of markup and addresses; all of it is text.
HOSTILE = (
    "<script>window.hurt = 1</script> <img src=x onerror=\"window.hurt = 2\"> "
    "<a href=\"javascript:window.hurt=3\">javascript:window.hurt=3</a> &lt;b&gt; \"' </article></main> "
    "<svg/onload=window.hurt=4> <style>body{display:none}</style> {{7*7}} ${7*7}"
)
# What most often makes a page wider than a phone.
UNBROKEN = "unbroken" * 400


class Archive:
    """A connection that stays open and writes into the log, beside whoever reads."""

    def __init__(self, path):
        self.path = path
        self.database = sqlite3.connect(path, isolation_level=None)
        assert self.database.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)

    def session(self, id, title=None, source="cli"):
        row = (id, source, title, "example-large", time.time(), "/home/dev/src/ferry")
        self.database.execute(
            "INSERT INTO sessions (id, source, title, model, started_at, cwd) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        return id

    def append(self, session, role="assistant", content="", reasoning=None, calls=None, tool=None, at=None):
        """Appends a message and returns its id. `calls` are pairs of a tool and its arguments."""
        called = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for n, (name, given) in enumerate(calls or [])
        ]
        row = (session, role, content, reasoning, json.dumps(called) if called else None, tool, at or time.time())
        return self.database.execute(
            "INSERT INTO messages (session_id, role, content, reasoning, tool_calls, tool_name, timestamp) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)", row
        ).lastrowid

    def one(self, query, *given):
        return self.database.execute(query, given).fetchone()


def demo(aft, folder):
    """Writes the demo's archive into a folder, and returns its path."""
    subprocess.run([aft, "demo", "--dir", folder], check=True, capture_output=True)
    return folder / "state.db"


def oddities(archive):
    """Appends what the demo has not: other scripts, markup, long lines, and sizes. Returns the ids by name."""
    ids = {}
    archive.session("20260701_090000_emoji1", "Cherry and 樱桃 🍒")
    ids["emoji"] = archive.append("20260701_090000_emoji1", "user", "the 🍒 is ripe, 樱桃熟了")
    archive.session("20260701_100000_hostile", f"Hostile title {HOSTILE}")
    ids["hostile"] = archive.append(
        "20260701_100000_hostile", "assistant", f"hostilesaid {HOSTILE}", reasoning=f"hostilethought {HOSTILE}",
        calls=[("terminal", {"command": f"hostiledid {HOSTILE}"})],
    )
    ids["hostile tool"] = archive.append(
        "20260701_100000_hostile", "tool", f"hostilesaw {HOSTILE}", tool="<img src=x onerror=window.hurt=5>"
    )
    archive.session("20260701_110000_longline", f"Wide {UNBROKEN[:300]}")
    ids["wide"] = archive.append(
        "20260701_110000_longline", "assistant", f"widesaid {UNBROKEN}\n```\nwidecode {UNBROKEN}\n```\n",
        reasoning=f"widethought {UNBROKEN}", calls=[("terminal", {"command": f"widedid {UNBROKEN}"})],
    )
    ids["wide tool"] = archive.append("20260701_110000_longline", "tool", f"widesaw {UNBROKEN}", tool="t" * 200)
    long = archive.session("20260701_120000_lengthy", "A conversation of three thousand messages")
    archive.database.execute("BEGIN")
    for number in range(3000):
        role = "user" if number % 2 == 0 else "assistant"
        archive.append(long, role, f"lengthy message number {number}", at=time.time() - 4000 + number)
    archive.database.execute("COMMIT")
    ids["long middle"] = archive.one("SELECT id FROM messages WHERE content = 'lengthy message number 1500'")[0]
    big = archive.session("20260701_130000_megabyte", "A message of a megabyte")
    ids["megabyte"] = archive.append(big, "tool", "megabyteword and so on\n" * 45_000, tool="terminal")
    return ids
