#!/usr/bin/env python3
"""`galley mcp` keeps no memory of the calls that it answered."""

import os
import re
import sys
import unittest
from pathlib import Path

from mcp_client import McpClient
from support import GALLEY, ROOT, SystemCase

sys.path.insert(0, str(ROOT / "bench"))
import mcp_bench  # noqa: E402  # the folder has to be known first

# Memory does not vary like time: the same calls allocate the same pages.
MOST_IDLE_KIB = 15 * 1024
MOST_GROWTH = 1.2


class Memory(SystemCase):
    def test_memory_after_ten_thousand_calls_equals_memory_after_a_hundred(self):
        server = mcp_bench.Galley(GALLEY, self.scratch)
        idle, early, late = mcp_bench.memory(server, (0, 100, 10_000))
        self.assertLess(idle, MOST_IDLE_KIB)
        self.assertLess(late, early * MOST_GROWTH)


class LongLines(SystemCase):
    """The cost of one line with any contents: the longest accepted line, and a line that is too
    long."""

    MOST_KIB = 320 * 1024
    LIMIT = 16 << 20

    def cost(self, line):
        """Returns the answer to the line, and the peak memory of the server."""
        client = McpClient([GALLEY, "-C", self.work, "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        client.send_raw(line)
        answer = client.next(timeout=200)
        status = (Path("/proc") / str(client.process.pid) / "status").read_text()
        return answer, int(re.search(r"VmHWM:\s*(\d+)", status)[1])

    @staticmethod
    def call(arguments):
        return (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"Write","arguments":' + arguments + b"}}")

    # Limit: kMaxMessageBytes of server/mcp/server.h
    def test_the_longest_message_needs_bounded_memory(self):
        size = self.LIMIT - 200
        shapes = {"a text": b'{"file_path":"a.txt","content":"' + b"x" * size + b'"}',
                  "lines": b'{"file_path":"a.txt","content":"' + b"x\\n" * (size // 3) + b'"}',
                  "lists": b'{"a":[' + b"[]," * 240_000 + b"[]]}",
                  "keys": b"{" + b",".join(b'"%020d":[]' % n for n in range(120_000)) + b"}"}
        for name, arguments in shapes.items():
            with self.subTest(shape=name):
                answer, peak = self.cost(self.call(arguments))
                self.assertEqual(answer["id"], 7, str(answer)[:300])
                self.assertLess(peak, self.MOST_KIB)

    # Limit: kMaxMessageValues of tools/mcp/rpc_message.h
    def test_a_message_with_too_many_values_is_refused(self):
        answer, peak = self.cost(self.call(b'{"a":[' + b"[]," * 5_000_000 + b"[]]}"))
        self.assertIn("250000 values", answer["error"]["message"])
        self.assertLess(peak, 160 * 1024)

    # Limit: kMaxMessageBytes of server/mcp/server.h
    def test_a_message_over_the_limit_is_refused_unread(self):
        for content in (b"x", b"x\\n"):
            line = self.call(b'{"file_path":"a.txt","content":"' + content * (60_000_000 // len(content)) + b'"}')
            answer, peak = self.cost(line)
            self.assertIn("at most 16 MiB", answer.get("error", answer)["message"])
            self.assertLess(peak, 96 * 1024)


if __name__ == "__main__":
    unittest.main()
