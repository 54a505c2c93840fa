"""Shared code of tests with agents: a workspace, installed agents or a reason why not, and a check
for leftovers."""

import os
import sys
import unittest

import agents
from agents import ROOT

sys.path[:0] = [str(ROOT / "tests" / "system"), str(ROOT / "tests" / "system" / "everyday")]

from everyday import EverydayCase  # noqa: E402
from model_server import Say  # noqa: E402
from support import skip_for_walls, snapshot  # noqa: E402

# This is set in CI, where npm answers. A test that would be skipped without its agent then fails.
REQUIRES_AGENTS = os.environ.get("GALLEY_REQUIRE_AGENTS") == "1"
lacking_network = "the test did not begin by main()"


class AgentCase(EverydayCase):
    """`self.work` is the demo project, and it is trusted. A person must be on a terminal to say
    yes."""

    def setUp(self):
        super().setUp()
        own = self.scratch / "config" / "galley" / "config.toml"
        own.write_text(f'trusted_folders = ["{self.scratch}"]\n')
        if lacking_network:
            skip_for_walls(lacking_network)
        self.addCleanup(self.assert_nothing_runs_on)

    def agent(self, kind, url):
        """Returns an agent with its own home. If npm does not answer, the test is skipped."""
        if kind.path() is None:
            reason, is_fault = kind.lacking()
            if REQUIRES_AGENTS and is_fault:
                self.fail(f"GALLEY_REQUIRE_AGENTS=1, but there is no {kind.name}: {reason}")
            raise unittest.SkipTest(f"{kind.name} did not run: {reason}")
        return kind(self.scratch / kind.name, url)

    @staticmethod
    def reading(script, text):
        """Returns the script, which gets each result through `text`, without the wrapping of the agent."""
        def read():
            told = script()
            turn = next(told)
            while not isinstance(turn, Say):
                shown = yield turn
                turn = told.send(text(shown))
            yield turn

        return read

    def check(self, model, ran):
        """Checks that the script and the agent ran to their ends."""
        said = f"{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}"
        try:
            model.check()
        except AssertionError as error:
            self.fail(f"{error}\nthe agent ended with {ran.returncode}:\n{said}")
        self.assertEqual(ran.returncode, 0, said)

    def assert_same_tree(self, one, other):
        """Compares every bit, with modes and links, except Galley's own state."""
        found, expected = snapshot(one), snapshot(other)
        self.assertEqual({path: found.get(path) for path in set(found) | set(expected)},
                         {path: expected.get(path) for path in set(found) | set(expected)})

    def assert_nothing_runs_on(self):
        left = agents.end_neighbours()
        self.assertFalse(left, f"still running: {left}")


def main():
    """Fetches the agents, then gives up the network for good."""
    global lacking_network
    agents.fetched()
    lacking_network = agents.keep_to_loopback()
    unittest.main(verbosity=1)
