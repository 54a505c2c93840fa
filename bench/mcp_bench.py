#!/usr/bin/env python3
"""Measures `galley mcp` against the file server of the protocol's authors
(@modelcontextprotocol/server-filesystem, from npm), both on stdio, in turns.

  bench/mcp_bench.py [--galley PROGRAM] [--quick]

Each call is sent after the answer to the one before. galley stages writes and records them; the
other server replaces the file; neither flushes. bench/compare prints the same tables.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES = 100
MANY_CALLS = 10_000
PART = 1 << 20
NOTIFICATION = b'{"jsonrpc":"2.0","method":'


def fetched():
    """Returns the folder of npm's packages, or None if npm does not answer."""
    got = subprocess.run([ROOT / "scripts" / "fetch-npm-tools", "mcp-servers"], stdout=subprocess.PIPE, text=True,
                         check=False)
    return Path(got.stdout.strip()).parent if got.returncode == 0 else None


def line_of(identity, method, params):
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode() + b"\n"


def text_of(number):
    """Returns a file of LINES lines, one of which contains the number."""
    lines = ["a line of a file of middling length\n"] * LINES
    lines[LINES // 2] = f"word {number}\n"
    return "".join(lines)


class Server:
    """A server on two pipes, with a minimal client, because the client's time counts for both
    servers."""

    def __init__(self, command, folder, environment=None):
        self.folder = folder
        self.begun = time.perf_counter()
        self.process = subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {})})
        self.sent, self.got = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.last_id = 0

    def ask_line(self, line):
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self.sent, rest):]
        answer = b""
        while not answer.endswith(b"\n"):
            more = os.read(self.got, PART)
            if not more:
                raise SystemExit(f"mcp_bench: a server ended with {self.process.wait()}")
            answer += more
            if answer.startswith(NOTIFICATION) and answer.endswith(b"\n"):
                # A notification is not an answer. The answer may follow it, or may come later.
                answer = answer.splitlines(keepends=True)[-1]
                answer = b"" if answer.startswith(NOTIFICATION) else answer
        return answer

    def ask(self, method, params):
        self.last_id += 1
        return self.ask_line(line_of(self.last_id, method, params))

    def hello(self):
        """Returns the milliseconds from the start to the list of tools."""
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "mcp_bench", "version": "1"}})
        os.write(self.sent, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.ask("tools/list", {})
        return (time.perf_counter() - self.begun) * 1000

    def lines_of(self, calls):
        """Returns calls (tool, arguments) in the form that is sent. They are made before the
        measurement."""
        lines = []
        for tool, arguments in calls:
            self.last_id += 1
            lines.append(line_of(self.last_id, "tools/call", {"name": tool, "arguments": arguments}))
        return lines

    def run(self, calls):
        """Makes calls one after another and returns how many seconds they took."""
        lines = self.lines_of(calls)
        begun = time.perf_counter()
        answers = [self.ask_line(line) for line in lines]
        took = time.perf_counter() - begun
        for answer in answers:
            if b'"isError":true' in answer or b'"error":' in answer[:60]:
                raise SystemExit(f"mcp_bench: a call failed: {answer[:500].decode(errors='replace')}")
        return took

    def resident_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Galley:
    """The same work in the tool calls of each server."""

    name = "galley"

    def __init__(self, program, scratch):
        self.folder = scratch / "galley"
        self.folder.mkdir()
        (self.folder / "galley.toml").write_text("")
        self.command = [program, "mcp"]
        self.environment = {f"XDG_{kind}_HOME": str(scratch / kind) for kind in ("CONFIG", "STATE", "CACHE")}

    def start(self):
        return Server(self.command, self.folder, self.environment)

    def read(self, _):
        return "Read", {"file_path": "file.txt"}

    def write(self, number):
        return "Write", {"file_path": "file.txt", "content": text_of(number)}

    def edit(self, number):
        return "Edit", {"file_path": "file.txt", "old_string": f"word {number}\n", "new_string": f"word {number + 1}\n"}


class NpmServer:
    name = "npm"

    def __init__(self, modules, scratch):
        self.folder = scratch / "npm"
        self.folder.mkdir()
        self.file = str(self.folder / "file.txt")
        program = modules / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
        self.command = ["node", program, self.folder]

    def start(self):
        return Server(self.command, self.folder)

    def read(self, _):
        return "read_text_file", {"path": self.file}

    def write(self, number):
        return "write_file", {"path": self.file, "content": text_of(number)}

    def edit(self, number):
        return "edit_file", {"path": self.file, "edits": [{"oldText": f"word {number}\n", "newText": f"word {number + 1}\n"}]}


def rates(contenders, verb, rounds, calls):
    """Returns calls per second of each contender in each round. The rounds of both alternate."""
    servers = {each.name: each.start() for each in contenders}
    found = {each.name: [] for each in contenders}
    for each in contenders:
        (each.folder / "file.txt").write_text(text_of(0))
        servers[each.name].hello()
        servers[each.name].run([each.read(0)])  # an agent reads a file before it changes it
    for turn in range(rounds + 1):
        for each in contenders[::-1] if turn % 2 else contenders:
            first = turn * calls
            took = servers[each.name].run([getattr(each, verb)(number) for number in range(first, first + calls)])
            if turn > 0:  # the first round is a warm-up
                found[each.name].append(calls / took)
    for server in servers.values():
        server.close()
    return found


def starts(contenders, rounds):
    found = {each.name: [] for each in contenders}
    for turn in range(rounds + 1):
        for each in contenders[::-1] if turn % 2 else contenders:
            server = each.start()
            ms = server.hello()
            server.close()
            if turn > 0:
                found[each.name].append(ms)
    return found


def memory(contender, marks):
    """Returns resident KiB after each given number of calls, in hundreds. Of ten calls, one edits
    and one writes."""
    (contender.folder / "file.txt").write_text(text_of(0))
    server = contender.start()
    server.hello()
    verbs = [contender.read] * 8 + [contender.edit, contender.write]
    found = []
    done = edited = 0
    for mark in marks:
        while done < mark:
            made = []
            for count in range(100):
                verb = verbs[count % len(verbs)]
                made.append(verb(edited))
                edited += verb == contender.edit
            server.run(made)
            done += 100
        found.append(server.resident_kib())
    server.close()
    return found


def ratio(found, upper, lower):
    return statistics.median(a / b for a, b in zip(found[upper], found[lower]))


def measure(galley, is_quick):
    """Returns everything, or None if npm does not answer: rates by verb, starts, memory."""
    modules = fetched()
    if modules is None:
        return None
    rounds, calls, many = (3, 30, 500) if is_quick else (15, 200, MANY_CALLS)
    with tempfile.TemporaryDirectory(prefix="galley-mcp-bench-") as scratch:
        ours, theirs = Galley(galley, Path(scratch)), NpmServer(modules, Path(scratch))
        return {
            "rates": {verb: rates([ours, theirs], verb, rounds, calls) for verb in ("read", "write", "edit")},
            "starts": starts([ours, theirs], rounds),
            "memory": memory(ours, (0, many)),
            "npm memory": memory(theirs, (0,)),
            "calls": many,
        }


def tables(found, target, number):
    """Returns pairs of a head and its rows, with `target` and `number` of bench/compare."""
    rows = []
    for verb, rate in found["rates"].items():
        gain = ratio(rate, "galley", "npm")
        rows.append([f"{verb}, {LINES} lines", number(statistics.median(rate["galley"])),
                     number(statistics.median(rate["npm"])), f"{gain:.1f}",
                     target(f"mcp {verb}, galley / npm", gain, least=5)])
    yield ["calls a second", "galley", "npm server", "galley / npm", "target"], rows
    gain = ratio(found["starts"], "npm", "galley")
    yield (["start to the list of tools, ms", "galley", "npm server", "npm / galley", "target"],
           [["cold start", number(statistics.median(found["starts"]["galley"])),
             number(statistics.median(found["starts"]["npm"])), f"{gain:.1f}",
             target("mcp cold start, npm / galley", gain, least=10)]])
    idle, last = (kib / 1024 for kib in found["memory"])
    yield (["resident memory, MiB", "galley", "target", "npm server"],
           [["idle", number(idle), target("mcp idle MiB", idle, most=15), number(found["npm memory"][0] / 1024)],
            [f"after {found['calls']:,} calls", number(last), target("mcp memory after the calls / idle", last / idle, most=1.2),
             ""]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--galley", type=Path, default=ROOT / "build" / "galley")
    parser.add_argument("--quick", action="store_true", help="few calls: does it run at all?")
    options = parser.parse_args()
    found = measure(options.galley.resolve(), options.quick)
    if found is None:
        print("mcp_bench: did not run: npm does not answer")
        return 0

    def target(_, value, most=None, least=None):
        reached = value <= most if most is not None else value >= least
        return f"{'≤' if most is not None else '≥'} {most or least}: {'yes' if reached else 'no'}"

    for head, rows in tables(found, target, lambda value: f"{value:,.1f}"):
        for row in [head, *rows]:
            print("  ".join(f"{cell:<34}" if at == 0 else f"{cell:>14}" for at, cell in enumerate(row)))
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
