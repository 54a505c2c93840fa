"""Checks the tasks as a whole: there are enough of them, and each names the habit that it
follows."""

import importlib.machinery
import importlib.util
import re
import unittest
from pathlib import Path

FEWEST_TASKS = 60
PEERS = ("apt|brew|cargo|cmake|cp|diff|docker|eslint|fsck|gh|git|go|gzip|hg|"
         "less|ls|make|npm|patch|pytest|python|rustup|sh|svn|tar")


def load_runner():
    path = str(Path(__file__).resolve().parent / "run")
    loader = importlib.machinery.SourceFileLoader("everyday_run", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("everyday_run", loader))
    loader.exec_module(module)
    return module


class Tasks(unittest.TestCase):
    def setUp(self):
        runner = load_runner()
        self.tasks = [(runner.words_of(task), runner.habit_of(task)) for task in runner.tasks()]

    def test_there_are_enough_tasks(self):
        self.assertGreaterEqual(len({words for words, _ in self.tasks}), FEWEST_TASKS)

    def test_each_names_the_tool_whose_habit_it_follows(self):
        nameless = [f"{words}: {habit!r}" for words, habit in self.tasks
                    if not re.match(rf"({PEERS})( [a-z=-]+)*(, ({PEERS})( [a-z=-]+)*)*: \S", habit)]
        self.assertEqual(nameless, [])


if __name__ == "__main__":
    unittest.main()
