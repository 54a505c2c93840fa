#!/usr/bin/env python3
"""`galley mcp` keeps nothing of the calls that it answered."""

import sys
import unittest

from support import GALLEY, ROOT, SystemCase

sys.path.insert(0, str(ROOT / "bench"))
import mcp_bench  # noqa: E402  # the folder has to be known first

# Memory is a fact and not a time: the same calls make the same pages.
MOST_IDLE_KIB = 15 * 1024
MOST_GROWTH = 1.2


class Memory(SystemCase):
    def test_ten_thousand_calls_later_it_is_what_it_was_after_a_hundred(self):
        server = mcp_bench.Galley(GALLEY, self.scratch)
        idle, early, late = mcp_bench.memory(server, (0, 100, 10_000))
        self.assertLess(idle, MOST_IDLE_KIB)
        self.assertLess(late, early * MOST_GROWTH)


if __name__ == "__main__":
    unittest.main()
