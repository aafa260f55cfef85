"""Checks `aft mcp`, and `/mcp` of `aft serve`, with the protocol's official Python client (package mcp): python mcp_client.py AFT

Lists and calls every tool on the demo's archive, in both of the client's ways to open a session: with the
handshake of older protocols, and with the newest it knows. The client checks every result against the
tool's output schema by itself. --transcript prints each call, how its answer begins, and how large the
answer is: in tokens of o200k_base where the package bpe-openai is installed.
"""
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile

from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

try:
    from bpe_openai import get_encoding

    o200k = get_encoding("o200k_base")
except ImportError:
    o200k = None

SHORT = (",", ":")
AFT = sys.argv[1]
TRANSCRIPT = "--transcript" in sys.argv[2:]
TOOLS = [
    "search_messages",
    "search_reasoning",
    "get_message",
    "get_session",
    "list_sessions",
    "index_status",
]


def size(text):
    """Says how large a text is: in tokens where a tokenizer is installed."""
    size = f"{len(text.encode())} bytes"
    return size if o200k is None else f"{len(o200k.encode(text))} tokens, {size}"


def show(name, arguments, result):
    text = result.content[0].text
    structured = json.dumps(result.structured_content, ensure_ascii=False, separators=SHORT)
    print(f"\n> {name} {json.dumps(arguments, ensure_ascii=False)}")
    for line in text.splitlines()[:8]:
        print(f"  {line[:150]}")
    print(f"  as text {size(text)}; as JSON {size(structured)}")


async def check(call, tools):
    assert [tool.name for tool in tools] == TOOLS, tools
    for tool in tools:
        assert tool.annotations.read_only_hint and tool.annotations.idempotent_hint, tool
        assert not tool.annotations.open_world_hint and tool.output_schema, tool

    answers = []

    async def answer(name, arguments):
        result = await call(name, arguments)
        assert not result.is_error, result
        answers.append(result.structured_content)
        if TRANSCRIPT:
            show(name, arguments, result)
        return result

    async def refused(name, arguments, kind):
        result = await call(name, arguments)
        assert result.is_error and result.structured_content["error"]["kind"] == kind, result

    result = await answer("search_messages", {"query": "deploy", "in": ["thought"], "limit": 3})
    page = result.structured_content
    assert page["results"], page
    assert all(hit["origin"] == "thought" for hit in page["results"]), page
    assert f'of {page["total"]["value"]} in total' in result.content[0].text, result
    hit = page["results"][0]
    await answer("search_messages", {"query": "why did the deploy fail"})
    await answer("search_messages", {"query": "deploy", "group": "session", "facets": ["source", "role"]})
    merged = await answer("search_messages", {"queries": ["deploy failed", "rollback", "lock order"], "limit": 5})
    assert all(hit["found_by"] for hit in merged.structured_content["results"]), merged
    small = await answer("search_messages", {"query": "deploy", "limit": 20, "max_tokens": 600})
    assert small.structured_content["truncated"]["hits_left_out"] > 0, small
    assert "to keep to max_tokens 600" in small.content[0].text, small
    thought = await answer("search_reasoning", {"query": "deploy", "limit": 3})
    assert thought.structured_content["results"] == page["results"], thought
    message = await answer("get_message", {"id": hit["message_id"], "before": 2, "after": 2})
    assert hit["message_id"] in [one["message_id"] for one in message.structured_content["messages"]], message
    await answer("get_session", {"id": hit["session_id"]})
    last = await answer("get_session", {"id": hit["session_id"], "slice": "-5:"})
    assert len(last.structured_content["messages"]) <= 5, last
    inside = await answer("get_session", {"id": hit["session_id"], "search": "deploy"})
    assert inside.structured_content["total"] > 0, inside
    await answer("list_sessions", {})
    status = await answer("index_status", {})
    assert status.structured_content["index"]["state"] == "ready", status
    await refused("search_messages", {"query": "deploy", "limit": 51}, "usage")
    await refused("search_messages", {}, "usage")
    await refused("get_message", {"id": 10**9}, "not-found")
    await refused("get_session", {"id": "none"}, "not-found")
    return answers


async def check_drop_in(server):
    """Calls the tool of Hermes in its four modes."""
    async with Client(stdio_client(server)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["session_search"]

        async def answer(arguments, mode):
            result = await client.call_tool("session_search", arguments)
            assert not result.is_error and result.structured_content["mode"] == mode, result
            assert json.loads(result.content[0].text) == result.structured_content, result
            if TRANSCRIPT:
                show("session_search", arguments, result)
            return result.structured_content

        found = (await answer({"query": "deploy", "limit": "2"}, "discover"))["results"][0]
        thought = await answer({"query": "deploy", "include_reasoning": True, "limit": 1}, "discover")
        assert thought["results"][0]["origin"], thought
        around = {"session_id": found["session_id"], "around_message_id": found["match_message_id"]}
        await answer(around, "scroll")
        await answer({"session_id": found["session_id"]}, "read")
        await answer({}, "browse")
        missing = await client.call_tool("session_search", {"session_id": "none"})
        assert missing.is_error and missing.structured_content["success"] is False, missing


@contextlib.contextmanager
def served(arguments):
    """Serves over HTTP, and gives the address of the tools."""
    command = [AFT, *arguments, "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield server.stderr.readline().split(" at ")[1].split(";")[0] + "/mcp"
        finally:
            server.terminate()


def same(answers, others):
    """Compares answers but for how long they took."""
    steady = [[{**one, "elapsed_ms": 0, "sync_ms": 0} for one in some] for some in (answers, others)]
    return steady[0] == steady[1]


async def main(folder):
    arguments = ["mcp", "--archive", f"{folder}/state.db", "--index", f"{folder}/index"]
    server = StdioServerParameters(command=AFT, args=arguments)
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        hello = await session.initialize()
        answers = await check(session.call_tool, (await session.list_tools()).tools)
    async with Client(stdio_client(server)) as client:
        await check(client.call_tool, (await client.list_tools()).tools)
        newest = client.protocol_version
    with served(arguments[1:]) as url:
        async with streamable_http_client(url) as streams, ClientSession(*streams[:2]) as session:
            over_http = await session.initialize()
            assert over_http.protocol_version == hello.protocol_version, over_http
            assert same(await check(session.call_tool, (await session.list_tools()).tools), answers)
        async with Client(url) as client:
            assert same(await check(client.call_tool, (await client.list_tools()).tools), answers)
            assert client.protocol_version == newest, client.protocol_version
    await check_drop_in(StdioServerParameters(command=AFT, args=[*arguments, "--tools", "session_search"]))
    page = answers[0]
    hit = page["results"][0]
    print(
        f"mcp client: {hello.server_info.name} {hello.server_info.version} by {hello.protocol_version}"
        f" and {newest}, over pipes and HTTP; {len(TOOLS)} tools and session_search listed and called, every answer valid;"
        f' "deploy" in {page["total"]["value"]} thoughts, the first #{hit["message_id"]}'
    )


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([AFT, "demo", "--dir", folder], check=True, capture_output=True)
    asyncio.run(main(folder))
