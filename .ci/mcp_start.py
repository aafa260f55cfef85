"""Measures how soon `aft mcp` answers after its start: python mcp_start.py AFT ARCHIVE [QUERY...]

Builds the index first, then starts the server again and again and takes the time from the start of the
process to the answer to its first call, in milliseconds. Needs nothing but Python.
"""
import json
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 20
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "start", "version": "0"},
}


def first_answer(command, tool, arguments):
    """Returns the milliseconds from start to answer."""
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
    ]
    began = time.perf_counter()
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
    server.stdin.flush()
    while (answer := json.loads(server.stdout.readline())).get("id") != 2:
        pass
    took = (time.perf_counter() - began) * 1_000
    assert not answer["result"].get("isError"), answer
    server.stdin.close()
    server.wait()
    return took


def main(aft, archive, queries):
    calls = [("index_status", {}), ("list_sessions", {}), ("get_session", {"id": None})]
    calls += [("search_messages", {"query": query}) for query in queries or ["error", "why did the build fail"]]
    with tempfile.TemporaryDirectory() as index:
        place = [aft, "--archive", archive, "--index", index]
        subprocess.run([*place, "index", "--progress", "none"], check=True, capture_output=True)
        sessions = subprocess.run([*place, "--json", "sessions", "-n", "1"], check=True, capture_output=True)
        calls[2][1]["id"] = json.loads(sessions.stdout)["sessions"][0]["id"]
        for tool, arguments in calls:
            times = sorted(first_answer([*place, "mcp"], tool, arguments) for _ in range(RUNS))
            print(
                f"{tool} {json.dumps(arguments, ensure_ascii=False)}: median {statistics.median(times):.1f} ms"
                f" [{times[0]:.1f}–{times[-1]:.1f}] of {RUNS}"
            )


main(sys.argv[1], sys.argv[2], sys.argv[3:])
