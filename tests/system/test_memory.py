#!/usr/bin/env python3
"""`galley mcp` keeps no memory of the calls that it answered, and a preview uses large pages."""

import mmap
import os
import random
import re
import resource
import subprocess
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


def page_faults(work, of=resource.RUSAGE_SELF):
    """Returns the page faults that a call causes here, or in the processes that it waits for."""
    before = resource.getrusage(of).ru_minflt
    work()
    return resource.getrusage(of).ru_minflt - before


def need_large_pages():
    def touch():
        with mmap.mmap(-1, 8 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
            block.madvise(mmap.MADV_HUGEPAGE)
            for at in range(0, len(block), mmap.PAGESIZE):
                block[at] = 1

    if page_faults(touch) > (8 << 20) / mmap.PAGESIZE / 2:
        raise unittest.SkipTest("the kernel gives no large pages here")


class Preview(SystemCase):
    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.tree, check=True, stdout=subprocess.PIPE).stdout

    def test_a_preview_of_many_files_takes_few_page_faults(self):
        need_large_pages()
        words = random.Random(1)
        self.tree = self.scratch / "many"
        self.tree.mkdir()
        self.git("init", "-q")
        for i in range(600):
            lines = [f"value {words.random()} of line {line}\n" for line in range(600)]
            (self.tree / f"{i}.txt").write_text("".join(lines))
        self.git("add", "-A")
        for path in self.tree.glob("*.txt"):
            path.write_text(path.read_text().replace("of line 300\n", "of another line\n"))
        patch = self.scratch / "many.patch"
        patch.write_bytes(self.git("diff"))
        self.git("checkout", "-q", ".")
        faults = page_faults(lambda: self.galley("preview", patch, work=self.tree, expect=0), resource.RUSAGE_CHILDREN)
        self.assertLess(faults, 2_000)  # both sides of the files have 10,000 pages of 4 KiB


if __name__ == "__main__":
    unittest.main()
