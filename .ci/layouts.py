"""Checks `aft` on archives that other agents' own packages wrote: python layouts.py AFT

Needs llm and openai-agents. Each package writes conversations with a question, a thought where it keeps
one, a tool call, its result and an answer; aft indexes them, finds each word where it stands, follows what
is appended, and proves index and archive equal. The folder of the archive must not change meanwhile.
"""
import asyncio
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from importlib.metadata import version
from pathlib import Path

AFT = str(Path(sys.argv[1]).resolve())


class Place:
    """An archive in a folder of its own, and the place of its index."""

    def __init__(self, home, name):
        self.folder = Path(home) / name
        self.folder.mkdir()
        self.archive = self.folder / f"{name}.db"
        self.index = Path(home) / f"{name}-index"

    def trace(self):
        def one(path):
            stat = path.stat()
            return path.name, stat.st_ino, stat.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()

        return sorted(one(path) for path in self.folder.iterdir())

    def aft(self, *arguments):
        before = self.trace()
        command = [AFT, "--json", "--archive", str(self.archive), "--index", str(self.index), *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, (arguments, ran.returncode, ran.stdout, ran.stderr)
        assert self.trace() == before, f"aft {arguments} left a trace"
        return json.loads(ran.stdout)

    @contextlib.contextmanager
    def start(self, *arguments):
        command = [AFT, "--json", "--archive", str(self.archive), "--index", str(self.index), *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # Ends with what asked it, also where that failed.
        with subprocess.Popen(command, text=True, env=environment, **pipes) as process:
            try:
                yield process
            finally:
                process.terminate()

    def is_served(self, word):
        """Asks for a word over HTTP, and as an agent's tool."""
        with self.start("serve", "--listen", "127.0.0.1:0") as server:
            address = next(found for line in server.stderr if (found := re.search(r"http://[0-9.:]+", line)))[0]
            with urllib.request.urlopen(f"{address}/api/v1/search?q={word}") as answer:
                assert json.load(answer)["total"]["value"] == 1, word
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "ci", "version": "1"}}
        call = {"name": "search_messages", "arguments": {"query": word}}
        with self.start("mcp") as server:
            for request in (
                {"id": 1, "method": "initialize", "params": hello},
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/call", "params": call},
            ):
                print(json.dumps({"jsonrpc": "2.0", **request}), file=server.stdin, flush=True)
            answers = (json.loads(line) for line in server.stdout)
            answer = next(answer for answer in answers if answer.get("id") == 2)
            assert answer["result"]["structuredContent"]["total"]["value"] == 1, answer

    def finds(self, word, origin, role, session):
        page = self.aft("search", word)
        rows = [hit for hit in page["results"] if hit["message_id"] is not None]
        hits = [(hit["origin"], hit["role"], hit["session_id"]) for hit in rows]
        assert hits == [(origin, role, session)], (word, hits)

    def tells(self, story, session):
        for word, origin, role in story:
            self.finds(word, origin, role, session)

    def is_proven(self, layout, messages, sessions):
        status, verdict = self.aft("status"), self.aft("verify", "--deep")
        assert status["layout"] == layout, status
        assert verdict["equal"] and verdict["archive_rows"] == messages, verdict
        assert status["damaged_rows"] == 0, status
        assert len(self.aft("sessions")["sessions"]) == sessions


def llm_model():
    import llm

    class Keeper(llm.Model):
        model_id = "keeper"
        can_stream = True
        supports_tools = True

        def execute(self, prompt, stream, response, conversation=None):
            from llm.parts import StreamEvent

            if prompt.tools and not prompt.tool_results:
                yield StreamEvent(type="reasoning", chunk="perhaps the buoy drifted", part_index=0)
                call = llm.ToolCall(name="look", arguments={"where": "anchor"}, tool_call_id="c1")
                response.add_tool_call(call)
                yield StreamEvent(type="text", chunk="one moment", part_index=1)
            elif "comet" in (prompt.prompt or ""):
                yield "a meteor rather"
            else:
                yield "it hangs on the pier"

    return Keeper()


def look(where: str) -> str:
    "Looks somewhere."
    return "a sextant lies there"


def check_llm(home):
    import llm
    import sqlite_utils
    from llm.migrations import migrate

    place = Place(home, "llm")
    database = sqlite_utils.Database(place.archive)
    migrate(database)
    conversation = llm_model().conversation(tools=[look])
    chain = conversation.chain("where is the lantern?", system="you keep the harbor")
    chain.text()
    chain.log_to_db(database)
    session = conversation.id
    story = [
        ("harbor", "said", "system"),
        ("lantern", "said", "user"),
        ("buoy", "thought", "assistant"),
        ("anchor", "did", "assistant"),
        ("sextant", "saw", "tool"),
        ("pier", "said", "assistant"),
    ]
    place.tells(story, session)
    place.is_proven("llm", 5, 1)
    shown = place.aft("session", session)["messages"]
    assert [message["role"] for message in shown] == ["system", "user", "assistant", "tool", "assistant"], shown

    fragment = llm_model().conversation()
    for prompt in (conversation, fragment):
        response = prompt.prompt("and the comet?", fragments=["an almanac of the bay"] if prompt is fragment else [])
        response.text()
        response.log_to_db(database)
    assert place.aft("search", "comet")["total"]["value"] == 2
    place.finds("almanac", "said", "user", fragment.id)
    place.is_proven("llm", 9, 2)
    database.conn.close()
    place.is_proven("llm", 9, 2)
    print(f"llm {version('llm')}: 9 messages in 2 sessions, found, followed, proven")


def check_llm_responses(home):
    """Writes a log as llm did before 0.36: only its own migrations up to then, and rows as it logged them."""
    import sqlite_utils
    from llm import migrations

    place = Place(home, "llm-responses")
    database = sqlite_utils.Database(place.archive)
    for migrate in migrations.MIGRATIONS:
        if migrate.__name__ < "m023":
            migrate(database)
    database["conversations"].insert({"id": "harbor", "name": "lantern", "model": "keeper"})

    def respond(number, prompt, response):
        database["responses"].insert({
            "id": f"r{number}", "model": "keeper", "prompt": prompt, "response": response,
            "conversation_id": "harbor", "datetime_utc": f"2026-01-02T03:04:0{number}.5+00:00",
        })

    respond(1, "where is the sextant?", "it hangs on the pier")
    place.finds("sextant", "said", "user", "harbor")
    place.finds("pier", "said", "assistant", "harbor")
    place.is_proven("llm-responses", 2, 1)
    respond(2, "and the comet?", "a meteor rather")
    place.finds("meteor", "said", "assistant", "harbor")
    place.is_proven("llm-responses", 4, 1)
    print(f"llm {version('llm')}, its tables before 0.36: 4 messages, found, followed, proven")


async def check_openai_agents(home):
    from agents import Agent, Runner, SQLiteSession, function_tool
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.run import RunConfig
    from agents.usage import Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
        ResponseReasoningItem,
    )
    from openai.types.responses.response_reasoning_item import Summary

    def said(text):
        content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
        return ResponseOutputMessage(
            id="m", content=content, role="assistant", status="completed", type="message"
        )

    class Keeper(Model):
        turns = [
            [
                ResponseReasoningItem(
                    id="r", type="reasoning",
                    summary=[Summary(text="perhaps the buoy drifted", type="summary_text")],
                ),
                ResponseFunctionToolCall(
                    call_id="c1", name="look_up", arguments='{"where": "anchor"}', type="function_call"
                ),
            ],
            [said("it hangs on the pier")],
            [said("a meteor rather")],
        ]

        async def get_response(self, *arguments, **named):
            return ModelResponse(output=self.turns.pop(0), usage=Usage(), response_id=None)

        def stream_response(self, *arguments, **named):
            raise NotImplementedError

    @function_tool
    def look_up(where: str) -> str:
        return "a sextant lies there"

    place = Place(home, "openai-agents")
    session = SQLiteSession("harbor", place.archive)
    agent = Agent(name="keeper", model=Keeper(), tools=[look_up])
    quiet = RunConfig(tracing_disabled=True)
    await Runner.run(agent, "where is the lantern?", session=session, run_config=quiet)
    story = [
        ("lantern", "said", "user"),
        ("buoy", "thought", "assistant"),
        ("anchor", "did", "assistant"),
        ("sextant", "saw", "tool"),
        ("pier", "said", "assistant"),
    ]
    place.tells(story, "harbor")
    place.is_proven("openai-agents", 5, 1)
    shown = place.aft("session", "harbor")["messages"]
    assert shown[3]["tool_name"] == "look_up", shown

    place.is_served("sextant")
    with place.start("watch") as watch:
        events = (json.loads(line) for line in watch.stdout)
        await Runner.run(agent, "and the comet?", session=session, run_config=quiet)
        next(event for event in events if event["event"] == "synced" and event["work"]["docs_added"] > 0)
    place.finds("comet", "said", "user", "harbor")
    place.finds("meteor", "said", "assistant", "harbor")
    place.is_proven("openai-agents", 7, 1)
    # The agent takes back what was last said.
    await session.pop_item()
    place.aft("index")
    assert place.aft("search", "meteor")["total"]["value"] == 0
    place.is_proven("openai-agents", 6, 1)
    session.close()
    place.is_proven("openai-agents", 6, 1)
    print(f"openai-agents {version('openai-agents')}: 7 messages, found, followed, taken back, proven")


with tempfile.TemporaryDirectory() as home:
    os.environ["LLM_USER_PATH"] = home
    check_llm(home)
    check_llm_responses(home)
    asyncio.run(check_openai_agents(home))
