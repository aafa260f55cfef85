#!/usr/bin/env python3
"""Asks `aft serve` what Schemathesis makes of its contract, and checks every answer by it.

    http_contract.py AFT SECONDS

Starts AFT over a demo archive and runs all checks of Schemathesis (pip install schemathesis) for so long.
Rules between parameters, and texts that must be dates and such, are what OpenAPI cannot state in a schema:
they stand in the descriptions, and in REFUSED below. A request that fits the schemas must be answered, or
break one of these rules and be told so in its words. The stream of events is left out, since it does not
end: the tests over HTTP read it.
"""
import os
import re
import subprocess
import sys
import tempfile
import threading
from urllib.parse import parse_qsl, urlsplit

# What a request that fits the schemas is refused for, as the error says it, and when that is true of its
# parameters.
REFUSED = [
    (r"a branch is a name inside a workspace", lambda q: q.get("branch") and not q.get("workspace")),
    (r"parameter workspace: ", lambda q: q.get("workspace")),
    (r"parameter since: .* is not a date", lambda q: q.get("since")),
    (r"parameter until: .* is not a date", lambda q: q.get("until")),
    (r"offset \+ limit must not exceed 10000", lambda q: number(q, "offset") + number(q, "limit", 10) > 10_000),
    (r"cursor", lambda q: q.get("cursor")),
    (r"parameter slice: give a slice or a search", lambda q: q.get("slice") and q.get("search")),
    (r"parameter limit: it belongs to search", lambda q: q.get("limit") and not q.get("search")),
    (r"parameter offset: it belongs to search", lambda q: q.get("offset") and not q.get("search")),
    (r"audit an empty word", lambda q: q.get("word") and not q["word"].strip()),
    (r"[0-9]+ sessions begin like that", lambda _: True),
]


def number(query, name, default=0):
    return int(query.get(name) or default)


def run(aft, seconds):
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([aft, "demo", "--dir", place], check=True, stdout=subprocess.DEVNULL)
        archive = ["--archive", f"{place}/state.db", "--index", f"{place}/index"]
        serving = subprocess.Popen(
            [aft, *archive, "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
        )
        try:
            address = re.search(r"http://([0-9.:]+)", next(line for line in serving.stderr if "http://" in line))
            # Nothing that it says later may fill the pipe and stop it.
            threading.Thread(target=serving.stderr.read, daemon=True).start()
            here = os.path.dirname(os.path.abspath(__file__))
            return subprocess.run(
                [
                    os.path.join(os.path.dirname(sys.executable), "schemathesis"), "run",
                    f"http://{address[1]}/openapi.json",
                    f"--max-time={seconds}", "--continue-on-failure", "--generation-database=none",
                    "--checks=all", "--exclude-checks=positive_data_acceptance,negative_data_rejection",
                    "--exclude-path=/api/v1/events",
                ],
                env={**os.environ, "PYTHONPATH": here, "SCHEMATHESIS_HOOKS": "http_contract"},
                cwd=place,
            ).returncode
        finally:
            serving.terminate()
            serving.wait()


def add_checks():
    import schemathesis
    from schemathesis.specs.openapi.checks import negative_data_rejection

    @schemathesis.check
    def refused_if_it_does_not_fit(ctx, response, case):
        """Fails where a request is answered that does not fit the schemas, unless it has an empty value,
        which is as if it were left out."""
        sent = parse_qsl(urlsplit(response.request.url).query, keep_blank_values=True)
        if response.status_code != 200 or all(value for _, value in sent):
            return negative_data_rejection(ctx, response, case)

    @schemathesis.check
    def refused_for_what_is_documented(ctx, response, case):
        """Fails where a request that fits the schemas is refused for something else than REFUSED."""
        is_valid = case.meta is not None and case.meta.generation.mode.is_positive
        # An id that nothing has is a valid one; what is gone or busy is the state's, not the request's.
        if not is_valid or response.status_code in (200, 304, 404, 410, 503):
            return
        message = response.json()["error"]["message"]
        query = dict(case.query or {})
        is_documented = any(re.search(said, message, re.DOTALL) and holds(query) for said, holds in REFUSED)
        if response.status_code == 400 and is_documented:
            return
        raise AssertionError(f"a valid request is refused: {response.status_code} {message}")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], int(sys.argv[2])))
else:
    add_checks()
