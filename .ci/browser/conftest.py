"""One server over one archive for all tests that only read, and a browser that lets no fault pass silently."""
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))
from archive import Archive, demo, oddities  # noqa: E402

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]
DESKTOP = {"width": 1440, "height": 900}
LAPTOP = {"width": 1100, "height": 800}
PHONE = {"width": 390, "height": 844}
# Machines may be slow; nothing is measured, and whatever is waited for usually is there at once.
PATIENCE_MS = 30_000

expect.set_options(timeout=PATIENCE_MS)


class Site:
    """`aft serve` over an archive, on a port of its own."""

    def __init__(self, archive, index):
        command = [os.environ["AFT"], "--archive", archive, "--index", index, "serve", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                self.at = found[0]
                break
        else:
            raise AssertionError(f"aft serve ended: {said}")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def asked(self, address):
        """Asks the API what a page is compared with."""
        with urlopen(self.at + address) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        assert self.process.wait(30) == 0, "aft serve must end well"


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The demo's archive with the oddities in it, and their ids."""
    path = demo(os.environ["AFT"], tmp_path_factory.mktemp("archive"))
    archive = Archive(path)
    ids = oddities(archive)
    archive.database.close()
    return path, ids


@pytest.fixture(scope="session")
def site(written):
    path, _ = written
    site = Site(path, path.parent / "index")
    yield site
    site.close()


@pytest.fixture(scope="session")
def ids(written):
    return written[1]


@pytest.fixture
def growing(written, tmp_path):
    """A server and an archive of its own, which the test may write to."""
    path = shutil.copy(written[0], tmp_path / "state.db")
    archive = Archive(path)
    site = Site(path, tmp_path / "index")
    yield site, archive
    site.close()
    archive.database.close()


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Visits:
    """Opens pages, and keeps what went wrong on them: errors, breaches of the policy, and requests elsewhere."""

    def __init__(self, chromium, site):
        self.chromium, self.site, self.contexts, self.faults, self.expected = chromium, site, [], [], []

    def __call__(self, address="/", size=DESKTOP, dark=False, script=True, touch=False):
        context = self.chromium.new_context(
            viewport=size, color_scheme="dark" if dark else "light", java_script_enabled=script, has_touch=touch,
            base_url=self.site.at, locale="en-GB", timezone_id="Asia/Shanghai",
        )
        context.set_default_timeout(PATIENCE_MS)
        self.contexts.append(context)
        context.expose_binding("breached", lambda _, what: self.faults.append(f"policy: {what}"))
        context.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => breached(`${e.violatedDirective} ${e.blockedURI}`))"
        )
        page = context.new_page()
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self.heard)
        page.on("request", self.asked)
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        return page

    def heard(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text} at {message.location.get('url')}")

    def asked(self, request):
        if not request.url.startswith(self.site.at + "/"):
            self.faults.append(f"request elsewhere: {request.url}")

    def expect_fault(self, pattern):
        """Says what a test provokes; everything else that goes wrong fails it."""
        self.expected.append(pattern)

    def close(self):
        for context in self.contexts:
            context.close()
        return [fault for fault in self.faults if not any(re.search(known, fault) for known in self.expected)]


@pytest.fixture
def visit(chromium, site):
    visits = Visits(chromium, site)
    yield visits
    faults = visits.close()
    assert not faults, faults


@pytest.fixture
def follow(chromium, growing):
    """Like `visit`, where the test may write to the archive."""
    visits = Visits(chromium, growing[0])
    yield visits
    faults = visits.close()
    assert not faults, faults
