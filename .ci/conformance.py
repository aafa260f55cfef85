#!/usr/bin/env python3
"""Asks Hermes' own session_search and ours the same calls on the same archives, and compares the answers
member by member.

  python .ci/conformance.py AFT [--show N] [--conversations FILE]

Needs hermes-agent==0.19.0. Archives are made in a temporary folder by the package itself, of made-up
conversations, or of real ones from a file of JSON lines (.jsonl.zst, with zstandard). A difference
must fall under one of RULES, each with the reason why it can be defended; any other one fails the run.
Sentences for people (message, warning, hint, error, the snippet of a title) are our own words: they must
be there where theirs are, and errors must be of the same kind.
"""
import atexit
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

AFT = str(Path(sys.argv[1]).resolve())
SHOW = int(sys.argv[sys.argv.index("--show") + 1]) if "--show" in sys.argv else 0
CONVERSATIONS = sys.argv[sys.argv.index("--conversations") + 1] if "--conversations" in sys.argv else None
HOME = Path(tempfile.mkdtemp(prefix="conformance-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ["HERMES_HOME"] = str(HOME)
os.environ["TZ"] = "Europe/Berlin"
time.tzset()
logging.disable(logging.CRITICAL)

from hermes_state import SessionDB  # noqa: E402
from tools import session_search_tool as tool  # noqa: E402

RULES = {
    "found-all-words": "a message holds every word of the query, which their tokens, escapes or cleaning hide from them",
    "found-relaxed": "no message holds every word; ours shows those that hold some, marked as relaxed, where theirs is empty",
    "found-malformed": "FTS5 refuses the query and theirs is silently empty; to ours every text is a query",
    "found-title-words": "no message holds the words and a session's title does; theirs knows whole titles only",
    "found-other-profile": "their read-only handle answers every search of another profile with nothing",
    "found-out-of-context": "the current lineage's message was summed up or reset away, so the model cannot see it",
    "missing-syntax": "theirs matches a key, an id or an escape of stored JSON, or a terminal's control sequence, which nobody said or did",
    "missing-scan-ors": "their scan for short CJK words takes any of the words; ours wants all of them first",
    "missing-contraction": "theirs takes the letters before an apostrophe for a word; ours takes you'd for one word and not for you",
    "missing-part": "what NOT excludes stands there as a part of a name, which is found here",
    "missing-taken-back": "their scan finds rows that the person took back",
    "beyond-scan": "theirs looks at 300 rows and no further; ours at all",
    "ranked": "both reach the limit; ours is among their matches and theirs among ours, in another order",
    "other-message": "another message of the same conversation matches as well and ranks higher here",
    "taken-back": "a row that the person took back is shown by theirs and not by ours",
    "capped": "a long content or call is cut, and says so and how long it was",
    "no-fall-through": "a session of another profile is read only where the call names that profile",
    "summary-bookend": "a summary that compaction wrote is no opening and no ending of a conversation",
    "picture-bookend": "a message with a picture has a length of 0 in their SQL, and is one end of its session",
    "copy": "of a row that compaction wrote again, ours shows the live one",
    "clean-preview": "the first message holds a picture, which hides its text from their SQL, or a terminal's control sequences",
    "preview-by-id": "the first message is that of the lowest id, the order of the conversation; theirs goes by clocks, which step back",
    "list-survives": "one broken model_config fails their whole list",
    "list-current": "their list shows the current conversation where the session that asks is not its last link",
    "list-filled": "theirs looks at five sessions more than it shows, ours at all of them",
    "never-raises": "theirs raises where ours answers",
    "link-prefix": "a link is understood with its @session: too",
    "snippet-without-marks": "their scan marks no word; ours does",
    "notes": "ours says how it read an odd query",
    "query-cut": "a query that is repeated is cut at 1,000 characters and marked, so that an answer has a bound",
}

# --- Archives.

T0 = 1_767_225_600.0
TOPICS = {
    "harbour": "crane berth tide pilot quay mooring ballast freight".split(),
    "kitchen": "oven flour yeast dough butter whisk simmer braise".split(),
    "garden": "tulip compost hedge pruning seedling trellis mulch spade".split(),
    "compiler": "parser lexer token closure borrow inference codegen linker".split(),
    "network": "router packet latency gateway subnet firewall socket proxy".split(),
    "music": "chord tempo violin cadence octave timbre rhythm sonata".split(),
    "finance": "ledger invoice margin dividend audit accrual hedge budget".split(),
    "astronomy": "nebula quasar orbit parallax eclipse telescope redshift comet".split(),
}
FILL = "we should look at the {a} again because the {b} changed after the {c} was done".split()


class Maker:
    """Writes one archive with the agent's own methods, each row a minute after the one before."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db, self.clock, self.rows = SessionDB(db_path=path), T0, {}

    def session(self, sid, source="cli", title=None, started=None, **more):
        self.clock += 3600
        self.db.create_session(sid, source, model=more.pop("model", "model-a"), **more)
        if title:
            self.db.set_session_title(sid, title)
        self.sql("UPDATE sessions SET started_at = ? WHERE id = ?", (started or self.clock, sid))
        self.rows[sid] = []

    def say(self, sid, role, content, **more):
        self.clock += 60
        row = self.db.append_message(session_id=sid, role=role, content=content, timestamp=self.clock, **more)
        self.rows[sid].append(row)
        return row

    def talk(self, sid, lines):
        for at, line in enumerate(lines):
            self.say(sid, "assistant" if at % 2 else "user", line)

    def sql(self, statement, values=()):
        self.db._execute_write(lambda connection: connection.execute(statement, values))


def call_of(name, arguments, cid="call_1"):
    return [{"id": cid, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]


def fill_topics(maker):
    names, seed = list(TOPICS), 7
    for number in range(32):
        topic = names[number % len(names)]
        words, sid = TOPICS[topic], f"20260101_{number:06d}_{topic[:6]}"
        maker.session(sid, source=["cli", "telegram", "discord"][number % 3], title=f"{topic} talk {number}")
        for turn in range(6 + number * 3 % 40):
            seed = (seed * 1103515245 + 12345) % 2**31
            a, b, c = (words[(seed >> shift) % len(words)] for shift in (3, 9, 15))
            text = " ".join(FILL).format(a=a, b=b, c=c)
            if turn % 5 == 3:
                maker.say(sid, "assistant", "", tool_calls=call_of("terminal", {"command": f"grep {a} notes"}))
                maker.say(sid, "tool", f"output about {b} and {c}: ok", tool_name="terminal", tool_call_id="call_1")
            maker.say(sid, "assistant" if turn % 2 else "user", f"{text} number {turn}")


def fill_default(maker):
    fill_topics(maker)
    # Compression: three links, the last one live.
    maker.session("20260201_000001_chain1", title="Migration of the archive")
    maker.talk("20260201_000001_chain1", [f"the zebrafish migration step {n}" for n in range(14)])
    maker.db.end_session("20260201_000001_chain1", "compression")
    maker.session("20260201_000002_chain2", parent_session_id="20260201_000001_chain1", title="Migration of the archive #2")
    maker.talk("20260201_000002_chain2", ["[CONTEXT COMPACTION] earlier: zebrafish " + "x" * 200] + [f"middle wombat part {n}" for n in range(9)])
    maker.db.end_session("20260201_000002_chain2", "compression")
    maker.session("20260201_000003_chain3", parent_session_id="20260201_000002_chain2")
    maker.talk("20260201_000003_chain3", [f"last lemur part {n}" for n in range(7)])
    # A branch, a delegation, a reset.
    maker.session("20260202_000001_trunk", title="Trunk")
    maker.talk("20260202_000001_trunk", ["the okapi plan", "fine", "more okapi", "done"])
    maker.db.end_session("20260202_000001_trunk", "branched")
    maker.session("20260202_000002_branch", parent_session_id="20260202_000001_trunk", model_config={"_branched_from": "20260202_000001_trunk"}, title="Trunk branch")
    maker.talk("20260202_000002_branch", ["on the branch the narwhal appears", "yes", "narwhal again"])
    maker.session("20260202_000003_deleg", source="subagent", parent_session_id="20260202_000001_trunk", model_config={"_delegate_from": "20260202_000001_trunk"})
    maker.talk("20260202_000003_deleg", ["delegated pangolin work", "pangolin done"])
    maker.session("20260203_000001_before", source="telegram", title="Before the reset")
    maker.talk("20260203_000001_before", ["the axolotl question", "axolotl answer", "thanks"])
    maker.db.end_session("20260203_000001_before", "session_reset")
    maker.session("20260203_000002_after", source="telegram", parent_session_id="20260203_000001_before")
    maker.talk("20260203_000002_after", ["something quite new", "a capybara", "sure"])
    # Timers.
    for number in range(14):
        sid = f"20260204_{number:06d}_cron"
        maker.session(sid, source="cron")
        maker.talk(sid, ["nightly report run", "report nightly done", "nightly cronspecial word"])
    maker.session("20260205_000001_person", title="About the report")
    maker.talk("20260205_000001_person", ["what did the nightly say", "the nightly report was late"])
    maker.session("20260205_000002_tools", source="tool", title="Hidden integration")
    maker.talk("20260205_000002_tools", ["integration marmoset call", "marmoset done"])
    # Taken back, and compacted in place.
    maker.session("20260206_000001_rewind", title="Rewound")
    maker.talk("20260206_000001_rewind", [f"ibex line {n} 撤回甲乙" if n >= 6 else f"ibex line {n}" for n in range(10)])
    maker.db.rewind_to_message("20260206_000001_rewind", maker.rows["20260206_000001_rewind"][6])
    maker.talk("20260206_000001_rewind", ["ibex after the undo", "ok"])
    maker.session("20260206_000002_compact", title="Compacted in place")
    maker.talk("20260206_000002_compact", [f"quokka fact {n}" for n in range(20)])
    maker.db.archive_and_compact("20260206_000002_compact", [
        {"role": "user", "content": "[CONTEXT COMPACTION] quokka facts were told"},
        {"role": "user", "content": "quokka fact 18"}, {"role": "assistant", "content": "quokka fact 19"}])
    maker.talk("20260206_000002_compact", ["what now", "the tapir is next"])
    # What only tools said, only thoughts hold, only arguments hold.
    maker.session("20260207_000001_tools", title="Tool rows")
    maker.say("20260207_000001_tools", "user", "run the probe")
    maker.say("20260207_000001_tools", "assistant", "", tool_calls=call_of("terminal", {"command": "echo 部署脚本 deploycheck"}))
    maker.say("20260207_000001_tools", "tool", "soulmachine says hello", tool_name="terminal", tool_call_id="call_1")
    maker.say("20260207_000001_tools", "assistant", "all fine", reasoning="the hidden clue is portreason 7781")
    maker.say("20260207_000001_tools", "tool", '{"function": "other"}', tool_name="other_tool", tool_call_id="call_2")
    # Scripts.
    maker.session("20260208_000001_han", title="大别山进度")
    maker.talk("20260208_000001_han", ["今天的聊天记录记忆断裂问题很严重", "大别山项目的进度", "去桂林看漓江游船", "好的，大别山下周开会"])
    maker.session("20260208_000002_han")
    maker.talk("20260208_000002_han", ["漓江项目怎么样", "昨晚写入失败", "记忆没有问题"])
    maker.session("20260208_000003_rus")
    maker.talk("20260208_000003_rus", ["едем в субботу на озеро", "хорошо", "ёлка и café naïve"])
    # Pictures and long rows.
    maker.session("20260209_000001_image", title="Picture")
    image = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUg" * 900
    maker.say("20260209_000001_image", "user", [{"type": "text", "text": "look at this flamingo"}, {"type": "image_url", "image_url": {"url": image}}])
    maker.talk("20260209_000001_image", ["is it pink", "yes it is"] + [f"more talk {n}" for n in range(16)] + ["the flamingo is pink"])
    maker.say("20260209_000001_image", "user", [{"type": "text", "text": "short parts stay"}])
    maker.session("20260209_000002_long", title="Long rows")
    maker.say("20260209_000002_long", "user", "start " + "lorem ipsum " * 200)
    maker.talk("20260209_000002_long", [f"step {n}" for n in range(9)])
    maker.say("20260209_000002_long", "user", "manatee " + "word " * 16_000)
    maker.say("20260209_000002_long", "assistant", "", tool_calls=call_of("write_file", {"path": "big.txt", "text": "z" * 100_000}))
    maker.say("20260209_000002_long", "tool", "written " * 900, tool_name="write_file", tool_call_id="call_1")
    maker.say("20260209_000002_long", "assistant", "manatee done")
    maker.session("20260209_000003_many", title="Many rows")
    maker.talk("20260209_000003_many", [f"counting gecko {n}" for n in range(75)])
    # Punctuation.
    maker.session("20260210_000001_marks", title="fingerprint-login")
    maker.talk("20260210_000001_marks", [
        "it's the parser's fault", "edit gateway/run.py now", "ticket #4821 reopened", "index arr[0] bad",
        "the chat-send helper", "send the chat log", "see my-app.config.ts", "call sp_newest here",
        "TODO: fix the hinge", "mail dev@example.com", "disk at 87% today", "bump to v2.5.1", "call getUserById",
        "port to C# please", "shipped 🚀 today", "deployments failing again"])
    maker.session("20260210_000002_parts", title="AN-94 parts")
    maker.talk("20260210_000002_parts", ["which parts fit", "all of them"])
    maker.session("20260210_000003_server", title="Building the Modpack Server")
    maker.talk("20260210_000003_server", ["how much memory", "eight gigabytes"])
    # Odd ones.
    maker.session("weird id %_ ünï", title="Odd id")
    maker.talk("weird id %_ ünï", ["a numbat lives here", "numbat indeed"])
    maker.session("20260211_000001_empty", title="Empty shell")
    maker.session("20260211_000002_away", title="Put away")
    maker.talk("20260211_000002_away", ["an aardvark was here", "gone"])
    maker.db.set_session_archived("20260211_000002_away", True)
    maker.session("20260211_000003_iso", title="Text time")
    maker.talk("20260211_000003_iso", ["a coelacanth by ISO", "old"])
    maker.sql("UPDATE sessions SET started_at = '2026-04-09T12:00:00' WHERE id = '20260211_000003_iso'")
    maker.session("20260211_000004_user", user_id="alice", model=None)
    maker.talk("20260211_000004_user", ["the secret word is platypus", "noted"])


def make():
    maker = Maker(HOME / "state.db")
    fill_default(maker)
    maker.db.close()
    work = Maker(HOME / "profiles" / "work" / "state.db")
    work.session("20260301_000001_work", title="Work only")
    work.talk("20260301_000001_work", ["the walrus works here", "walrus noted", "and a crane too"])
    work.db.close()
    odd = Maker(HOME / "profiles" / "odd" / "state.db")
    odd.session("20260302_000001_odd", title="Odd config")
    odd.talk("20260302_000001_odd", ["broken configuration", "yes"])
    odd.sql("UPDATE sessions SET model_config = '{oops' WHERE id = '20260302_000001_odd'")
    odd.db.close()
    (HOME / "profiles" / "empty").mkdir()
    return maker.rows, work.rows


# --- Calls.

def calls(rows, work_rows):
    """Returns (arguments, current session) by the dozen."""
    made = []

    def add(current=None, **arguments):
        made.append((arguments, current))

    for topic, words in TOPICS.items():
        add(query=words[0], limit=10)
        add(query=f"{words[0]} {words[1]}")
        add(query=f"{words[2]} {words[3]} {words[4]}", limit="5")
        add(query=f"{words[5]} OR {words[6]}", sort="newest", limit=10)
        add(query=f"{words[1]} NOT {words[2]}", limit=10)
    for word in ["zebrafish", "wombat", "lemur", "okapi", "narwhal", "pangolin", "axolotl", "capybara", "marmoset",
                 "ibex", "quokka", "tapir", "flamingo", "manatee", "gecko", "numbat", "aardvark", "coelacanth", "platypus"]:
        add(query=word, limit=10)
    for query in ["nightly", "nightly report", "cronspecial", "report", "soulmachine", "portreason", "deploycheck", "部署脚本",
                  "大别山", "记忆断裂", "桂林", "大别山 项目", "广西 OR 桂林 OR 漓江", "昨晚", "项目", "甲乙", "суббот*", "суббота", "елка", "cafe",
                  "it's", "gateway/run.py", "#4821", "arr[0]", "chat-send", '"chat send"', "my-app.config.ts", "sp_new*",
                  "sp_newest", "TODO: fix", "error:timeout", "dev@example.com", "87%", "v2.5.1", "2.5.1", "getuserbyid", "C#", "🚀",
                  "why did the deployment fail", "what error did go vet report for the lexer?", "lattice OR OR lattice",
                  "AND x", "NOT x", '"', "(", "*", "NEAR(crane, berth)", '"crane" AND "berth"', "cra* ber*", "crane AND",
                  '"we should look at the crane"', '"look at the" oven', "xyzzyplugh", "terminal", "function", "crane NOT crane",
                  "a" * 3000, '"' * 500]:
        add(query=query)
    for title in ["Migration of the archive", "`fingerprint-login`", '"Trunk"', "AN-94 parts", "an94", "modpack", "Empty shell",
                  "Hidden integration", "大别山进度", "Odd id", "Put away", "harbour talk 0", "migration of the archive", "Trunk branch"]:
        add(query=title)
    add(query="nightly report", sort="newest", limit=10)
    add(query="nightly report", sort="oldest", limit=10)
    add(query="crane", sort="OLDEST", limit=10)
    add(query="crane", sort="sideways")
    for limit in [0, -1, None, "x", 9999, "7", 2.9, True]:
        add(query="hedge", limit=limit)
    for roles in ["user", "assistant", "tool", "user,assistant,tool", " user , ", ",", "nobody", None, 5]:
        add(query="ballast", role_filter=roles, limit=10)
        add(query="soulmachine", role_filter=roles)
    chain = [f"20260201_00000{n}_chain{n}" for n in (1, 2, 3)]
    for query in ["zebrafish", "wombat", "lemur"]:
        for current in chain[1:]:
            add(query=query, current=current)
    add(query="axolotl", current="20260203_000002_after")
    add(query="capybara", current="20260203_000002_after")
    add(query="okapi", current="20260202_000002_branch")
    add(query="quokka", current="20260206_000002_compact")
    add(query="tapir", current="20260206_000002_compact")
    add(query="Migration of the archive", current=chain[2])
    add(query="crane", current="20260101_000000_harbou", limit=10)
    # Browsing.
    for limit in [None, 1, 5, 10, "4", 99]:
        add(limit=limit)
    add(query="   ")
    add(query=None, limit=10, current=chain[2])
    add(query=12, limit=10)
    add(limit=10, current="20260203_000002_after")
    add(limit=10, current="20260206_000002_compact")
    add(limit=10, profile="work")
    add(limit=10, profile="odd")
    add(limit=10, profile="empty")
    # Scrolling.
    many = rows["20260209_000003_many"]
    for anchor, window in [(many[0], 5), (many[40], None), (many[40], 20), (many[-1], 3), (many[7], "2"), (many[30], 99), (many[30], 0), (many[3], "x")]:
        add(session_id="20260209_000003_many", around_message_id=anchor, window=window)
    add(session_id="20260209_000003_many", around_message_id=str(many[5]))
    add(session_id=" 20260209_000003_many ", around_message_id=float(many[5]))
    add(session_id="20260209_000003_many", around_message_id="five")
    add(session_id="20260209_000003_many", around_message_id=10**9)
    add(session_id="20260209_000003_many", around_message_id=10**25)
    add(session_id="20260209_000003_many", around_message_id=rows["20260210_000001_marks"][0])
    add(session_id="20260209_000003_many", around_message_id=many[5], query="ignored", limit="x")
    add(session_id="no_such", around_message_id=many[5])
    add(session_id=chain[0], around_message_id=rows[chain[2]][2])
    add(session_id=chain[2], around_message_id=rows[chain[0]][2])
    add(session_id=chain[1], around_message_id=rows[chain[1]][4])
    add(session_id=chain[0], around_message_id=rows[chain[0]][2], current=chain[2])
    add(session_id=chain[2], around_message_id=rows[chain[2]][2], current=chain[2])
    add(session_id="20260203_000001_before", around_message_id=rows["20260203_000001_before"][0], current="20260203_000002_after")
    add(session_id="20260206_000001_rewind", around_message_id=rows["20260206_000001_rewind"][4])
    add(session_id="20260206_000001_rewind", around_message_id=rows["20260206_000001_rewind"][7])
    add(session_id="20260206_000002_compact", around_message_id=rows["20260206_000002_compact"][3])
    add(session_id="20260206_000002_compact", around_message_id=rows["20260206_000002_compact"][3], current="20260206_000002_compact")
    add(session_id="20260207_000001_tools", around_message_id=rows["20260207_000001_tools"][1])
    add(session_id="20260209_000002_long", around_message_id=rows["20260209_000002_long"][10])
    add(session_id="20260209_000001_image", around_message_id=rows["20260209_000001_image"][0])
    add(session_id="weird id %_ ünï", around_message_id=rows["weird id %_ ünï"][0])
    add(session_id="work/20260301_000001_work", around_message_id=work_rows["20260301_000001_work"][1])
    add(session_id="20260101_000000_harbou", around_message_id=rows["20260101_000000_harbou"][4], window=9)
    # Reading.
    for sid in ["20260209_000003_many", "20260210_000001_marks", chain[0], chain[2], "20260206_000001_rewind", "20260206_000002_compact",
                "20260207_000001_tools", "20260209_000001_image", "20260209_000002_long", "weird id %_ ünï", "20260211_000001_empty",
                "20260211_000002_away", "20260211_000003_iso", "20260211_000004_user", "20260202_000003_deleg", "no_such", "%", "20260209"]:
        add(session_id=sid)
    add(session_id="20260301_000001_work")
    add(session_id="20260301_000001_work", profile="work")
    add(session_id="work/20260301_000001_work")
    add(session_id="@session:work/20260301_000001_work")
    add(session_id="work/20260301_000001_work", profile="Default")
    add(session_id="default/20260210_000001_marks")
    add(session_id="20260210_000001_marks", profile="WORK")
    add(session_id="20260210_000001_marks", profile="nobody")
    add(session_id="20260210_000001_marks", profile="../work")
    add(session_id="20260210_000001_marks", profile="empty")
    add(session_id="nobody/20260210_000001_marks")
    add(session_id=7, query="crane")
    add(session_id=chain[2], current=chain[2])
    # A mix.
    seed, vocabulary = 11, sorted({w for words in TOPICS.values() for w in words}) + ["quokka", "gecko", "nightly", "ibex", "number", "grep"]

    def pick(options):
        nonlocal seed
        seed = (seed * 1103515245 + 12345) % 2**31
        return options[(seed >> 8) % len(options)]

    shapes = ["{} {}", "{} OR {}", "{} NOT {}", "{} AND {}", '"{} again"', "{}*", "{} {} OR {}", '"the {}" {}', "{} {} {} {}", "{}-{}"]
    for _ in range(120):
        add(query=pick(shapes).format(*(pick(vocabulary) for _ in range(4))), limit=pick([1, 3, 5, 10]), sort=pick([None, "newest", "oldest"]),
            role_filter=pick([None, "user", "assistant", "user,assistant,tool", "tool"]))
    # Other profiles.
    add(query="walrus", profile="work")
    add(query="walrus")
    add(query="Work only", profile="work")
    add(query="crane", profile="work", limit=10)
    add(query="crane", profile="empty")
    return made


# --- Real conversations.

def conversations(rows_max=6_000):
    import zstandard

    with open(CONVERSATIONS, "rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read().decode("utf-8")
    rows = 0
    for line in text.splitlines():
        yield json.loads(line)
        rows += len(json.loads(line)["messages"])
        if rows > rows_max:
            return


def make_real():
    from datetime import datetime

    db, rows = SessionDB(db_path=HOME / "state.db"), {}
    for conversation in conversations():
        sid = conversation["session_id"]
        db.create_session(sid, conversation.get("source") or "cli", model=conversation.get("model"), cwd=conversation.get("cwd"))
        rows[sid] = []
        for message in conversation["messages"]:
            fields = {key: message[key] for key in ("content", "tool_name", "tool_calls", "tool_call_id", "reasoning") if message.get(key) is not None}
            stamp = message.get("timestamp")
            if stamp is not None:
                fields["timestamp"] = datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() if isinstance(stamp, str) else stamp
            rows[sid].append(db.append_message(session_id=sid, role=message["role"], **fields))
    db.close()
    return rows


def calls_real(rows, count=300):
    """Queries of words that stand in a message, and slices around it."""
    import random

    choose, made = random.Random(5), []
    db = SessionDB()
    texts = [(r[0], r[1], r[2]) for r in db._conn.execute("SELECT id, session_id, content FROM messages WHERE role IN ('user', 'assistant') AND length(content) > 20")]
    db.close()
    for number in range(count):
        row, sid, text = choose.choice(texts)
        words = [w for w in re.findall(r"\w+", text)[:400] if len(w) > 2 and not w.isdigit()]
        if len(words) < 5:
            continue
        at = choose.randrange(len(words) - 3)
        some = choose.sample(words, 3)
        query = choose.choice([words[at], " ".join(words[at:at + 2]), " ".join(some[:2]), " ".join(some), f"{some[0]} OR {some[1]}", f"{some[0]} NOT {some[1]}",
                               f"{words[at][:4]}*", '"' + " ".join(words[at:at + 3]) + '"', " ".join(text.split()[:8])])
        made.append(({"query": query, "limit": choose.choice([1, 3, 10]), "sort": choose.choice([None, None, "newest", "oldest"])}, choose.choice([None, None, sid])))
        if number % 10 == 0:
            made.append(({"session_id": sid, "around_message_id": row, "window": choose.randrange(1, 21)}, None))
            made.append(({"session_id": sid}, None))
    return made + [({"limit": limit}, None) for limit in (1, 5, 10)]


# --- The two tools.

class Theirs:
    def __init__(self):
        self.db = SessionDB()

    def call(self, a, current):
        try:
            return json.loads(tool.session_search(
                query=a.get("query") or "", role_filter=a.get("role_filter"), limit=a.get("limit", 3),
                session_id=a.get("session_id"), around_message_id=a.get("around_message_id"), window=a.get("window", 5),
                sort=a.get("sort"), profile=a.get("profile"), db=self.db, current_session_id=current))
        except Exception as error:  # the agent would see it as a failed call
            return {"error": f"raised {type(error).__name__}: {error}", "success": False}

    def matches(self, a):
        """Every row that their search takes for a match, as far as they look."""
        roles = [r.strip() for r in a["role_filter"].split(",") if r.strip()] if isinstance(a.get("role_filter"), str) else []
        return self.db.search_messages(query=a["query"].strip(), role_filter=roles or ["user", "assistant"],
                                       exclude_sources=["subagent", "tool"], limit=300, sort=a.get("sort"))

    def refuses(self, query):
        try:
            self.db._conn.execute("SELECT 1 FROM messages_fts WHERE messages_fts MATCH ?", (self.db._sanitize_fts5_query(query),)).fetchone()
        except Exception:
            return True
        return False

    def row(self, message_id):
        row = self.db._conn.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        return dict(row) if row else None

    def root(self, sid):
        return tool._resolve_to_parent(self.db, sid)


class Ours:
    def __init__(self):
        command = [AFT, "--archive", str(HOME / "state.db"), "--index", str(HOME / "index"), "hermes", "session-search", "--lines", "--wait", "60"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def call(self, a, current):
        line = dict(a, **({"current_session_id": current} if current else {}))
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


# --- Comparing.

ERRORS = [("not-found", r"session_id not found"), ("not-in-session", r"around_message_id .* not in session_id"),
          ("current", r"scroll re(jected|fused)"), ("anchor", r"around_message_id|integer"), ("profile", r"^profile|^Profile"),
          ("raised", r"^raised|^failed to load messages: Python"), ("list", r"list recent")]
OWN_WORDS = {"message", "warning", "hint", "error"}


def kind_of(answer):
    return next((kind for kind, pattern in ERRORS if re.search(pattern, answer["error"])), answer["error"])


def folded(text):
    text = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in text if not unicodedata.combining(c))


def words_of(text):
    return re.findall(r"\w+", folded(text).replace("_", " "))


def said(row):
    """What a row says to a person: text of its parts, names and argument values of its calls."""
    content = SessionDB._decode_content(row["content"])
    if isinstance(content, list):
        content = " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    parts = [content or "", row["tool_name"] or ""]

    def leaves(value):
        if isinstance(value, dict):
            for inner in value.values():
                leaves(inner)
        elif isinstance(value, list):
            for inner in value:
                leaves(inner)
        elif isinstance(value, str):
            parts.append(value)

    for one in json.loads(row["tool_calls"] or "[]"):
        parts.append(one["function"]["name"])
        try:
            leaves(json.loads(one["function"]["arguments"]))
        except ValueError:
            parts.append(one["function"]["arguments"])
    return folded(" ".join(parts))


def without_dangling(words):
    """Leaves out an operator at an end, in either case, that joins nothing."""
    is_operator = lambda w: w in ("AND", "OR", "NOT")
    if len(words) > 1 and is_operator(words[0].upper()) and not is_operator(words[1]):
        words = words[1:]
    if len(words) > 1 and is_operator(words[-1].upper()) and not is_operator(words[-2]):
        words = words[:-1]
    return words


def holds(row, query, every=True):
    """Tells whether a row holds the words of a query; a word may stand in a longer one."""
    positive = re.sub(r"\bNOT\s+\S+", " ", " ".join(without_dangling(query.split()))).split()
    words = words_of(" ".join(w for w in positive if w not in ("AND", "OR"))) or words_of(query)
    some = " OR " in query or not every
    text = re.sub(r"\x1b\[[0-9;?]*[a-z]", "", said(row))
    joined = re.sub(r"\W|_", "", text)
    test = any if some else all
    symbols = [c for c in query if unicodedata.category(c) == "So"]
    # Another form of a word, where some words are enough.
    begins = lambda w: w if every else w[:max(3, len(w) - 4)]
    return (bool(words) and test(begins(w) in text or begins(w) in joined for w in words)) or any(s in text for s in symbols)


class Judge:
    def __init__(self, theirs, ours):
        self.theirs, self.ours = theirs, ours

    def judge(self, a, current):
        """Returns the mode, the rules that differences fall under, what none covers, and whether only the order differs."""
        self.found, self.bad, self.reordered = set(), [], False
        t, o = self.theirs.call(a, current), self.ours.call(a, current)
        self.a, self.current, self.db = a, current, self.db_of(a)
        mode = o.get("mode") or t.get("mode") or ("scroll" if a.get("around_message_id") is not None else "read" if a.get("session_id") else "browse" if not a.get("query") else "discover")
        if "error" in t or "error" in o:
            self.errors(t, o)
        elif mode == "discover":
            self.discover(t, o)
        elif mode == "browse":
            self.browse(t, o)
        else:
            self.slice(t, o)
        return mode, self.found, self.bad, self.reordered, t, o

    def db_of(self, a):
        profile = (a.get("profile") or (a["session_id"].split("/")[0] if isinstance(a.get("session_id"), str) and "/" in a["session_id"] else "") or "default").strip().lower().removeprefix("@session:")
        path = HOME / "state.db" if profile == "default" else HOME / "profiles" / profile / "state.db"
        return SessionDB(db_path=path) if path.exists() and profile != "default" else self.theirs.db

    def row(self, message_id):
        row = self.db._conn.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        return dict(row) if row else None

    def taken_back(self, message_id):
        row = self.row(message_id)
        return row["active"] == 0 and row["compacted"] == 0

    def differ(self, rule, holds_, what):
        if holds_:
            assert rule in RULES, rule
            self.found.add(rule)
        else:
            self.bad.append(f"{rule}? {what}")

    def errors(self, t, o):
        if "error" in t and "error" in o:
            if kind_of(t) == "raised":
                return self.differ("never-raises", True, t["error"])
            if kind_of(t) != kind_of(o):
                self.bad.append(f"errors differ: {t['error']} | {o['error']}")
            return None
        sid = self.a.get("session_id") if isinstance(self.a.get("session_id"), str) else ""
        if "error" in t:
            if kind_of(t) == "raised":
                return self.differ("never-raises", True, t["error"])
            if kind_of(t) == "list":
                return self.differ("list-survives", self.a.get("profile") == "odd", t["error"])
            if kind_of(t) == "current":
                return self.out_of_context(o)
            return self.differ("link-prefix", sid.startswith("@session:"), t["error"])
        if "profile" in t:
            return self.differ("no-fall-through", kind_of(o) == "not-found", o["error"])
        anchor = self.a.get("around_message_id")
        return self.differ("taken-back", kind_of(o) == "not-in-session" and self.taken_back(int(anchor)), o["error"])

    def left_context(self, sid, message_id):
        row = self.row(message_id)
        session = self.db.get_session(sid)
        return (row and row["active"] == 0 and row["compacted"] == 1) or session["end_reason"] in ("compression", "session_reset")

    def out_of_context(self, o):
        self.differ("found-out-of-context", self.left_context(o["session_id"], o["around_message_id"]), "in the current lineage")

    # Messages.

    def same(self, t, o, skip=()):
        for key in sorted(set(t) | set(o)):
            if key in skip:
                continue
            if key in OWN_WORDS:
                if (key in t) != (key in o) and key != "hint":
                    self.bad.append(f"{key} in one only: {t.get(key)} | {o.get(key)}")
            elif t.get(key, "absent") != o.get(key, "absent"):
                self.bad.append(f"{key}: {short(t.get(key, 'absent'))} | {short(o.get(key, 'absent'))}")

    def messages(self, t, o, bookend=False):
        """Compares messages by id, in order."""
        t_ids, o_ids = [m["id"] for m in t], [m["id"] for m in o]
        missing = [i for i in t_ids if i not in o_ids]
        extra = [i for i in o_ids if i not in t_ids]
        if missing and all(self.taken_back(i) for i in missing):
            self.found.add("taken-back")
            missing = []
        elif missing and bookend and self.is_bookend_shift(missing, extra):
            missing = extra = []
        if missing or (extra and "taken-back" not in self.found):
            self.bad.append(f"ids: {t_ids} | {o_ids}")
        if o_ids != sorted(o_ids):
            self.bad.append(f"order: {o_ids}")
        theirs = {m["id"]: m for m in t}
        for message in o:
            if message["id"] in theirs:
                self.message(theirs[message["id"]], message)

    def is_bookend_shift(self, missing, extra):
        """A summary left out, or a picture taken in, moves the other places of an end."""
        rows = [self.row(i) for i in missing + extra]
        summary = any((row["content"] or "").startswith("[CONTEXT COMPACTION") for row in rows)
        picture = any((row["content"] or "").startswith("\x00json:") for row in rows)
        if summary:
            self.found.add("summary-bookend")
        if picture:
            self.found.add("picture-bookend")
        return summary or picture

    def message(self, t, o):
        cut = {"content_truncated", "original_content_chars", "tool_calls_truncated", "original_tool_calls_chars"}
        skip = set(cut)
        if o.get("content_truncated"):
            skip.add("content")
            whole = t["content"] if isinstance(t["content"], str) else json.dumps(t["content"], ensure_ascii=False, separators=(",", ":"))
            is_prefix = not isinstance(t["content"], str) or "base64," in whole or re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", whole).startswith(o["content"].rstrip("…"))
            self.differ("capped", o["original_content_chars"] == len(whole) > len(o["content"]) - 1 and is_prefix, f"content of {o['id']} {whole[:99]!r} {o['content'][:99]!r} {len(whole)} {o['original_content_chars']}")
        if o.get("tool_calls_truncated"):
            skip.add("tool_calls")
            whole = json.dumps(t["tool_calls"], ensure_ascii=False, separators=(",", ":"))
            names = [c["function"]["name"] for c in t["tool_calls"]][: len(o["tool_calls"])]
            same_names = names == [c["function"]["name"] for c in o["tool_calls"]]
            self.differ("capped", o["original_tool_calls_chars"] == len(whole) and same_names, f"calls of {o['id']}")
        self.same(t, o, skip)

    def slice(self, t, o):
        self.messages(t["messages"], o["messages"])
        skip = {"messages"} | ({"messages_before", "messages_after"} if "taken-back" in self.found else set())
        self.same(t, o, skip)

    # Lists.

    def browse(self, t, o):
        self.same(t, o, {"results", "count"})
        limit = clamp(self.a.get("limit", 3), 3, 10)
        t_ids, o_ids = [r["session_id"] for r in t["results"]], [r["session_id"] for r in o["results"]]
        if self.current and any(self.theirs.root(i) == self.theirs.root(self.current) for i in t_ids if i not in o_ids):
            self.found.add("list-current")
            t_ids = [i for i in t_ids if i in o_ids]
        if len(o_ids) > len(t_ids):
            self.differ("list-filled", "list-current" in self.found or len(o_ids) <= limit, "more than the limit")
        if t_ids != o_ids[: len(t_ids)] or len(o_ids) > limit or o["count"] != len(o_ids):
            self.bad.append(f"sessions: {t_ids} | {o_ids}")
        theirs = {r["session_id"]: r for r in t["results"]}
        for result in o["results"]:
            other = theirs.get(result["session_id"])
            if other:
                self.same(other, result, {"preview"})
            if other and other["preview"] != result["preview"]:
                row = self.db._conn.execute("SELECT content FROM messages WHERE session_id = ? AND role = 'user' ORDER BY timestamp, id LIMIT 1", (result["session_id"],)).fetchone()
                first = self.db._conn.execute("SELECT content FROM messages WHERE session_id = ? AND role = 'user' AND content <> '' ORDER BY id LIMIT 1", (result["session_id"],)).fetchone()
                if first and first[0] != row[0]:
                    self.differ("preview-by-id", words_of(first[0])[:3] == words_of(result["preview"])[:3], result["preview"])
                    continue
                self.differ("clean-preview", row and (row[0].startswith("\x00json:") or "\x1b" in row[0]) and result["preview"], f"{row[0][:200]!r} {result}")

    # Results of a query.

    def discover(self, t, o):
        self.same(t, o, {"results", "count", "sessions_searched", "message", "relaxed", "notes", "query"})
        if o["query"] != t["query"]:
            is_cut = o["query"].endswith("…") and len(o["query"]) == 1_001 and t["query"].startswith(o["query"][:-1])
            self.differ("query-cut", is_cut, f"{o['query'][:99]} {len(o['query'])}")
        if "notes" in o:
            self.found.add("notes")
        if o["count"] != len(o["results"]) or (not o["results"] and "message" not in o):
            self.bad.append("a count that is none, or silence")
        limit = clamp(self.a.get("limit", 3), 3, 10)
        if len(o["results"]) > limit:
            self.bad.append("more than the limit")
        sources = [r["source"] == "cron" for r in o["results"]]
        if sources != sorted(sources):
            self.bad.append("a timer's session before a person's")
        lineage = lambda r: r.get("parent_session_id", r["session_id"])
        t_by, o_by = {lineage(r): r for r in t["results"]}, {lineage(r): r for r in o["results"]}
        if len(o_by) != len(o["results"]):
            self.bad.append("a lineage twice")
        both_full = len(t["results"]) == len(o["results"]) == limit
        for key in o_by.keys() - t_by.keys():
            self.only_ours(o, o_by[key], both_full)
        for key in t_by.keys() - o_by.keys():
            self.only_theirs(t_by[key], key, both_full or len(o["results"]) == limit)
        for key in t_by.keys() & o_by.keys():
            self.result(t_by[key], o_by[key])
        shared = [k for k in t_by if k in o_by]
        if shared != [k for k in o_by if k in t_by]:
            if self.a.get("sort") in ("newest", "oldest"):
                self.bad.append(f"order by time: {shared}")
            self.reordered = True

    def only_ours(self, o, r, both_full):
        query, what = self.a["query"], f"only ours: {r['session_id']} {r['snippet']!r}"
        row = self.row(r["match_message_id"])
        is_current = self.current and self.theirs.root(r["session_id"]) == self.theirs.root(self.current)
        if r["matched_role"] in ("session_title", "session_id") and not is_current:
            title = re.sub(r"\W|_", "", folded(r["title"] or ""))
            return self.differ("found-title-words", all(w in title for w in words_of(query)), what)
        if self.db is not self.theirs.db:
            return self.differ("found-other-profile", holds(row, query), what)
        if is_current:
            return self.differ("found-out-of-context", self.left_context(r["session_id"], r["match_message_id"]), what)
        if o.get("relaxed"):
            rule = "found-malformed" if self.theirs.refuses(query) else "found-relaxed"
            marked = [w for m in re.findall(r">>>(.*?)<<<", r["snippet"], re.S) for w in words_of(m)]
            is_some = holds(row, query, every=False) or any(m in w or w in m for m in marked for w in words_of(query))
            return self.differ(rule, "message" in o and is_some, what)
        if self.theirs.refuses(query):
            return self.differ("found-malformed", holds(row, query), what)
        matches = self.theirs.matches(self.a)
        is_theirs = any(self.theirs.root(m["session_id"]) == self.theirs.root(r["session_id"]) for m in matches)
        if not is_theirs and len(matches) == 300:
            return self.differ("beyond-scan", holds(row, query), what)
        if is_theirs:
            return self.differ("ranked", both_full or bool(self.a.get("sort")), what)
        return self.differ("found-all-words", holds(row, query), what)

    def only_theirs(self, r, key, is_full):
        query, what = self.a["query"], f"only theirs: {r['session_id']} {r['snippet'][:120]!r}"
        if r["match_message_id"] is None or r["matched_role"] == "session_title":
            self.bad.append(what)
            return None
        row = self.row(r["match_message_id"])
        if self.taken_back(row["id"]):
            return self.differ("missing-taken-back", True, what)
        if not holds(row, query):
            is_scan = self.theirs.db._contains_cjk(query) and holds(row, query, every=False)
            return self.differ("missing-scan-ors" if is_scan else "missing-syntax", is_scan or bool(row["tool_calls"]) or row["content"].startswith("\x00json:") or "\x1b" in row["content"], what)
        stands = lambda w: re.search(rf"(?<![\w'’]){re.escape(w)}(?![\w'’])", said(row))
        joined = lambda w: re.search(rf"{re.escape(w)}['’]\w|\w['’]{re.escape(w)}", said(row))
        if any(joined(w) for w in words_of(query)) and not all(stands(w) for w in words_of(query)) and not self.is_ours(row):
            return self.differ("missing-contraction", True, what)
        if is_full:
            return self.differ("ranked", self.is_ours(row), what)
        excluded = [w for part in re.findall(r"\bNOT\s+(\S+)", query) for w in words_of(part)]
        if excluded:
            return self.differ("missing-part", any(w in said(row) for w in excluded), what)
        self.bad.append(what)
        return None

    def is_ours(self, row):
        """Tells whether ours finds a row too: asked of the moment it was written in."""
        from datetime import datetime, timezone

        at = lambda seconds: datetime.fromtimestamp(seconds, timezone.utc).isoformat()
        moment = {"limit": 10, "sort": None, "after": at(row["timestamp"] - 0.002), "before": at(row["timestamp"] + 0.002)}
        results = self.ours.call(dict(self.a, **moment), self.current)["results"]
        return any(r.get("parent_session_id", r["session_id"]) == self.theirs.root(row["session_id"]) for r in results)

    def result(self, t, o):
        skip = {"snippet", "bookend_start", "messages", "bookend_end", "messages_before", "messages_after"}
        if (t["session_id"], t["match_message_id"]) != (o["session_id"], o["match_message_id"]):
            row = self.row(o["match_message_id"])
            matched = any(m["id"] == row["id"] for m in self.theirs.matches(self.a)) or holds(row, self.a["query"])
            mine, other = self.row(o["match_message_id"]), self.row(t["match_message_id"])
            is_copy = other["compacted"] == 1 and mine["active"] == 1 and mine["content"] == other["content"]
            self.differ("copy" if is_copy else "other-message", matched, f"message {o['match_message_id']} of {o['session_id']}")
            skip |= {"session_id", "match_message_id", "matched_role", "parent_session_id"}
            if o["matched_role"] != row["role"] or o["session_id"] != row["session_id"]:
                self.bad.append(f"role or session of {o['match_message_id']}")
            # What theirs would show around our message.
            view = self.db.get_anchored_view(o["session_id"], o["match_message_id"], window=5, bookend=3)
            shape = lambda part, anchor=None: [json.loads(json.dumps(tool._shape_message(m, anchor_id=anchor))) for m in view[part]]
            t = dict(t, messages=shape("window", o["match_message_id"]), bookend_start=shape("bookend_start"), bookend_end=shape("bookend_end"),
                     messages_before=view["messages_before"], messages_after=view["messages_after"])
        elif o["matched_role"] == "session_title":
            if o["title"] not in o["snippet"]:
                self.bad.append("a title that is not its snippet")
        else:
            self.snippet(t["snippet"], o["snippet"])
        self.same(t, o, skip)
        self.messages(t["messages"], o["messages"])
        shown = {m["id"] for m in o["messages"]} if "taken-back" in self.found else set()
        for part in ("bookend_start", "bookend_end"):
            # Where rows that were taken back leave a window, it reaches what was an end.
            self.messages([m for m in t[part] if m["id"] not in shown], o[part], bookend=True)
        if "taken-back" not in self.found:
            for key in ("messages_before", "messages_after"):
                if t[key] != o[key]:
                    self.bad.append(f"{key}: {t[key]} | {o[key]}")

    def snippet(self, t, o):
        """Windows differ; what is marked must be the same words."""
        segments = lambda text: [words_of(m) for m in re.findall(r">>>(.*?)<<<", text, re.S)]
        flat = lambda text: {w for words in segments(text) for w in words}
        other, asked = flat(t), set(words_of(self.a["query"]))
        related = lambda w: any(w.startswith(x) or x.startswith(w) or w in x or x in w for x in other | asked)
        if not segments(o):
            self.bad.append(f"nothing is marked: {o!r}")
        elif not other:
            self.differ("snippet-without-marks", True, t)
        elif not all(any(map(related, words)) for words in segments(o) if words):
            self.bad.append(f"marks: {other} | {segments(o)}")


def clamp(value, default, most):
    try:
        value = value if isinstance(value, int) else int(value)
    except (TypeError, ValueError):
        value = default
    return max(1, min(value, most))


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 160 else text[:160] + "…"


def main():
    wanted = calls_real(make_real()) if CONVERSATIONS else calls(*make())
    theirs, ours = Theirs(), Ours()
    judge, table, by_rule, failed, agree = Judge(theirs, ours), defaultdict(Counter), defaultdict(list), 0, []
    for number, (a, current) in enumerate(wanted):
        mode, found, bad, reordered, t, o = judge.judge(a, current)
        name = short({**a, **({"current": current} if current else {})})
        if bad:
            failed += 1
            print(f"UNDEFENDED {number} {mode} {name}\n    " + "\n    ".join(bad))
        kind = "undefended" if bad else "defended" if found else "order" if reordered else "same"
        table[mode][kind] += 1
        for rule in found:
            by_rule[rule].append(name)
        if mode == "discover" and t.get("results") and o.get("results") and not a.get("sort"):
            agree.append(t["results"][0]["session_id"] == o["results"][0]["session_id"])
        if len(json.dumps(o, ensure_ascii=False)) > 110_000:
            failed += 1
            print(f"TOO LONG {number} {name}")
    ours.close()
    print(f"\n| mode | calls | same | same, other order by rank | defended | undefended |\n|---|---|---|---|---|---|")
    total = Counter()
    for mode in ["discover", "scroll", "read", "browse"]:
        counts = table[mode]
        total += counts
        print(f"| {mode} | {sum(counts.values())} | {counts['same']} | {counts['order']} | {counts['defended']} | {counts['undefended']} |")
    print(f"| all | {sum(total.values())} | {total['same']} | {total['order']} | {total['defended']} | {total['undefended']} |")
    print(f"\nthe best session of a query is theirs in {sum(agree)} of {len(agree)} answers")
    print("\n| defended by | calls | because |\n|---|---|---|")
    for rule, names in sorted(by_rule.items(), key=lambda item: -len(item[1])):
        print(f"| {rule} | {len(names)} | {RULES[rule]} |")
        for name in names[:SHOW]:
            print(f"    {name}")
    if failed or sum(total.values()) < 150:
        sys.exit(1)


main()
