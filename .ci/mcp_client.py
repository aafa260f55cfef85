"""Checks `aft mcp` with the protocol's official Python client (package mcp): python mcp_client.py AFT

The client checks every result against the tool's output schema by itself, and is run in both of its
ways to open a session: with the handshake of older protocols, and with the newest it knows.
"""
import asyncio
import subprocess
import sys
import tempfile

from mcp import Client, ClientSession, StdioServerParameters, stdio_client

AFT = sys.argv[1]


async def check(call, tools):
    assert [tool.name for tool in tools] == ["search_messages"], tools
    assert tools[0].annotations.read_only_hint, tools
    result = await call("search_messages", {"query": "deploy", "in": ["thought"], "limit": 3})
    page = result.structured_content
    assert not result.is_error and page["results"], result
    assert all(hit["origin"] == "thought" for hit in page["results"]), page
    assert f'of {page["total"]["value"]} in total' in result.content[0].text, result
    refused = await call("search_messages", {"query": "deploy", "limit": 51})
    assert refused.is_error and refused.structured_content["error"]["kind"] == "usage", refused
    return page


async def main(folder):
    server = StdioServerParameters(
        command=AFT, args=["mcp", "--archive", f"{folder}/state.db", "--index", f"{folder}/index"]
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        hello = await session.initialize()
        page = await check(session.call_tool, (await session.list_tools()).tools)
    async with Client(stdio_client(server)) as client:
        await check(client.call_tool, (await client.list_tools()).tools)
        newest = client.protocol_version
    hit = page["results"][0]
    print(
        f"mcp client: {hello.server_info.name} {hello.server_info.version} by {hello.protocol_version}"
        f' and {newest}; "deploy" in {page["total"]["value"]} thoughts, the first #{hit["message_id"]};'
        f" limit 51 refused"
    )


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([AFT, "demo", "--dir", folder], check=True, capture_output=True)
    asyncio.run(main(folder))
