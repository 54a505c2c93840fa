"""Shared code of tests that open a page in a browser: Debian's Chromium, driven by playwright-core
from npm."""

import json
import os
import shutil
import subprocess
import sys
import unittest
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import ROOT, SystemCase  # noqa: E402

DRIVE = Path(__file__).resolve().parent / "drive.mjs"
DEADLINE_S = 200


@cache
def browser_packages():
    """Returns the folder of the packages, or the reason why no page can be opened here."""
    for program in ("/usr/bin/chromium", "node"):
        if not shutil.which(program):
            return None, f"no {program} is here: scripts/setup review installs it"
    fetched = subprocess.run([ROOT / "scripts" / "browser-packages"], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        return None, f"the browser's driver cannot be fetched: {fetched.stderr.strip()}"
    return fetched.stdout.strip(), ""


class BrowserCase(SystemCase):
    """A test that opens pages. Without a browser it is skipped, with a message."""

    def setUp(self):
        super().setUp()
        self.packages, missing = browser_packages()
        if missing and os.environ.get("GALLEY_REQUIRE_BROWSER") == "1":
            self.fail(f"GALLEY_REQUIRE_BROWSER=1, but {missing}")
        if missing:
            raise unittest.SkipTest(missing)

    def look(self, url, *steps, theme="light", may_complain=False, **more):
        """Opens the page, takes the steps and returns the notes. The page must not log errors."""
        order = {"packages": self.packages, "url": str(url) if "://" in str(url) else Path(url).as_uri(),
                 "theme": theme, "steps": steps, **more}
        done = subprocess.run(["node", DRIVE], input=json.dumps(order), capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertNotIn("failed", found, found)
        self.assertEqual(found["errors"], [])
        # A browser also logs refused requests.
        if not may_complain:
            self.assertEqual(found["console"], [])
        return found
