"""Tests the page of `aft serve` in a real browser: python browser.py AFT [pytest's own arguments]

Needs /usr/bin/chromium and the packages pytest, playwright and axe-playwright-python; downloads no browser.
The tests lie in `browser/`; with SCREENS=1 they also leave pictures of every kind of page in `target/screens`.
"""
import os
import sys
from pathlib import Path

import pytest

if len(sys.argv) < 2:
    sys.exit(__doc__)
os.environ["AFT"] = str(Path(sys.argv[1]).resolve())
tests = Path(__file__).parent / "browser"
sys.dont_write_bytecode = True
sys.exit(pytest.main([str(tests), "--rootdir", str(tests), "-p", "no:cacheprovider", "-q", *sys.argv[2:]]))
