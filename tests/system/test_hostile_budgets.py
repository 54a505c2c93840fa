"""No input costs more than its limit. Each runs under a memory limit and a time limit of the test.

A hang is a failure (the run times out), and so is an end by a signal or an exception.
"""

import base64
import hashlib
import json
import os
import resource
import subprocess
import sys
import zlib

import hostile
from support import GALLEY

MIB = 1 << 20
MEMORY = 768 * MIB  # address space: the program, its libraries and 512 MB for its own use
SECONDS = 240  # not an assertion about time: only a hang ends here
ONE_STACK = 8 * MIB


def limited(memory=MEMORY, descriptors=None):
    """For preexec_fn: sets the limits under which the program then runs."""

    def enter():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_STACK, (ONE_STACK, ONE_STACK))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    return enter


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def delta(base_size, result_size):
    """Returns a pack delta that repeats the first bytes of its base until the result is full."""
    out = bytearray(varint(base_size) + varint(result_size))
    piece = min(base_size, 0xFFFF)
    left = result_size
    while left:
        size = min(piece, left)
        out += bytes([0x80 | 0x10 | 0x20, size & 0xFF, size >> 8])
        left -= size
    return bytes(out)


def binary_half(kind, content, stated=None):
    deflated = zlib.compress(content, 9)
    lines = [f"{kind} {len(content) if stated is None else stated}"]
    for at in range(0, len(deflated), 52):
        piece = deflated[at:at + 52]
        length = chr(64 + len(piece)) if len(piece) <= 26 else chr(96 + len(piece) - 26)
        padded = piece + b"\0" * (-len(piece) % 4)
        lines.append(length + base64.b85encode(padded).decode())
    return "\n".join(lines) + "\n\n"


def blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Budgets(hostile.HostileCase):
    def bounded(self, *arguments, expect, memory=MEMORY, descriptors=None, stdin=b""):
        """Runs galley under the limits. A refusal has one clear message."""
        result = subprocess.run(
            [GALLEY, "-C", str(self.work), *map(str, arguments)], input=stdin, capture_output=True,
            env={**os.environ, **self.environment}, timeout=SECONDS, check=False,
            preexec_fn=limited(memory, descriptors))
        self.skip_if_unavailable(result.stderr)
        allowed = expect if isinstance(expect, tuple) else (expect,)
        said = result.stderr.decode(errors="replace")[-2000:]
        self.assertIn(result.returncode, allowed, f"{arguments}\n{said}")
        if result.returncode != 0:
            self.assert_one_clear_message(result)
        return result


class BinaryPatches(Budgets):
    def apply(self, patch, expect):
        file = self.scratch / "given.patch"
        file.write_text(patch)
        self.assertLess(file.stat().st_size, 100_000)
        return self.bounded("apply", file, expect=expect)

    def deltas(self, count, result_size):
        """Returns copies of one file of 64 KiB, each followed by a delta that makes it
        `result_size` long."""
        seed = b"\0" * 0x10000
        (self.work / "seed.bin").write_bytes(seed)
        there = binary_half("delta", delta(len(seed), result_size))
        back = binary_half("literal", seed)
        patch = ""
        for number in range(count):
            patch += (f"diff --git a/seed.bin b/copy{number}.bin\nsimilarity index 50%\n"
                      f"copy from seed.bin\ncopy to copy{number}.bin\nGIT binary patch\n{there}{back}")
        return patch

    # Limit: kMaxBinaryPatchBytes of staging/formats/binary_patch.h
    def test_many_deltas_that_state_a_gibibyte_each_are_refused_unread(self):
        result = self.apply(self.deltas(7, 1 << 30), expect=(1, 2, 3))
        self.assertIn(b"binary", result.stderr)
        self.assertFalse((self.work / "copy0.bin").exists())

    def test_deltas_within_the_limit_apply(self):
        self.apply(self.deltas(3, 300_000), expect=0)
        self.assertEqual((self.work / "copy2.bin").read_bytes(), b"\0" * 300_000)

    def test_a_literal_that_states_more_than_its_bytes_can_hold_is_refused_unread(self):
        half = binary_half("literal", b"short", stated=200 * MIB)
        self.apply("diff --git a/big.bin b/big.bin\nnew file mode 100644\nindex "
                   f"{'0' * 40}..{blob(b'short')}\nGIT binary patch\n{half}literal 0\nHcmV?d00001\n\n",
                   expect=(1, 2))

    def test_literals_of_a_gibibyte_in_sum_are_refused_unread(self):
        half = binary_half("literal", b"\0" * 50_000_000)
        patch = "".join(
            f"diff --git a/z{number}.bin b/z{number}.bin\nnew file mode 100644\n"
            f"index {'0' * 40}..{'1' * 40}\nGIT binary patch\n{half.replace('50000000', '900000000')}"
            "literal 0\nHcmV?d00001\n\n" for number in range(1))
        self.apply(patch, expect=(1, 2, 3))


class JsonDocuments(Budgets):
    # Limit: kMaxJsonValues of tools/json_input.h
    def test_a_document_of_many_values_is_refused_in_little_memory(self):
        for text in (b"[" + b"[]," * 20_000_000 + b"[]]", b"[" + b"0," * 25_000_000 + b"0]",
                     b'[{"path":"a","edits":[' + b'{"old_string":"a","new_string":"b"},' * 1_000_000 + b"{}]}]"):
            for form in ("calls", "edits"):
                result = self.bounded("preview", "--format", form, "-", stdin=text, expect=3)
                self.assertIn(b"values and keys that are read", result.stderr)


class Configuration(Budgets):
    DEEP = {
        "a dotted key": ".".join(["a"] * 30_000) + " = 1\n",
        "a quoted dotted key": ".".join(['"a.b"'] * 8_000) + " = 1\n",
        "a header": "[" + ".".join(["a"] * 30_000) + "]\n",
        "an array header": "[[" + ".".join(["a"] * 30_000) + "]]\n",
        "arrays": "a = " + "[" * 30_000 + "]" * 30_000 + "\n",
        "inline tables": "a = " + "{a=" * 15_000 + "1" + "}" * 15_000 + "\n",
        "inline tables of dotted keys": "a = " + "{a.a.a.a.a.a.a.a=" * 250 + "1" + "}" * 250 + "\n",
        "array header after array header": "".join(
            "[[" + ".".join(["a"] * depth) + "]]\n" for depth in range(1, 300)),
    }

    # Limit: kMaxTomlDepth of engine/policy/toml_document.h
    def test_deeply_nested_keys_give_one_error(self):
        for name, text in self.DEEP.items():
            with self.subTest(shape=name):
                self.write("galley.toml", text)
                for command, status in (("begin", 2), ("status", 0)):
                    result = self.bounded(command, expect=status)
                    self.assertIn(b"galley.toml", result.stderr)
                    self.assertIn(b"nested deeper than", result.stderr)

    def test_a_deep_toml_file_is_a_finding(self):
        self.write("galley.toml", '[[validator]]\nname = "toml"\nbuiltin = "toml"\n')
        for name, text in self.DEEP.items():
            with self.subTest(shape=name):
                patch = f"--- /dev/null\n+++ b/deep.toml\n@@ -0,0 +1,{text.count(chr(10))} @@\n"
                patch += "".join("+" + line + "\n" for line in text.splitlines())
                result = self.bounded("preview", "-", stdin=patch.encode(), expect=1)
                self.assertIn(b"nested deeper than", result.stdout + result.stderr)

    def test_keys_of_an_honest_depth_are_read(self):
        self.write("galley.toml", '[[validator]]\nname = "toml"\nbuiltin = "toml"\npaths = ["*.toml"]\n')
        good = "[a.b.c.d]\n'x.y'.z = { p.q = [[1.5, 2.5], ['[[[']] }\n# [[[[[\ns = '''\n[[[[\n'''\n"
        patch = f"--- /dev/null\n+++ b/good.toml\n@@ -0,0 +1,{good.count(chr(10))} @@\n"
        patch += "".join("+" + line + "\n" for line in good.splitlines())
        self.bounded("preview", "-", stdin=patch.encode(), expect=0)


class Documents(Budgets):
    """Bombs for the built-in validators give a finding or none, but never exceed memory or time."""

    CONFIG = "".join(f'[[validator]]\nname = "{name}"\nbuiltin = "{name}"\n' for name in ("json", "yaml", "xml", "toml"))
    BOMBS = {
        "arrays.json": "[" * 2_000_000,
        "objects.json": '{"a":' * 1_000_000,
        "keys.json": "{" + ",".join(f'"{n}":0' for n in range(600_000)) + "}",
        "number.json": "1" * 4_000_000,
        "flow.yaml": "[" * 200_000,
        "maps.yaml": "{a: " * 100_000,
        "sequence.yaml": "- " * 100_000,
        "keys.yaml": "? " * 100_000,
        "aliases.yaml": "a0: &a0 [x]\n" + "".join(
            f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 60)),
        "anchors.yaml": "".join(f"- &a{n} x\n" for n in range(100_000)),
        "scalar.yaml": "a: |\n" + " x\n" * 300_000,
        "deep.xml": "<a>" * 500_000,
        "wide.xml": "<a>" + "<b/>" * 500_000 + "</a>",
        "entities.xml": '<!DOCTYPE a [<!ENTITY b "' + "x" * 1000 + '">' + "".join(
            f'<!ENTITY b{n} "{"&b;" * 100}">' for n in range(50)) + "]><a>&b49;</a>",
        "declarations.xml": "<!DOCTYPE a [" + "<!A " * 300_000,
        "keys.toml": "".join(f"a{n}.b.c = 1\n" for n in range(100_000)),
        "arrays.toml": "a = [" + "[]," * 300_000 + "]\n",
    }

    def test_bombs_are_judged_within_the_limits(self):
        self.write("galley.toml", self.CONFIG)
        for name, text in self.BOMBS.items():
            with self.subTest(bomb=name):
                lines = text.splitlines()
                patch = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{len(lines)} @@\n"
                patch += "".join("+" + line + "\n" for line in lines)
                self.bounded("preview", "-", stdin=patch.encode(), expect=(0, 1))


class Queries(Budgets):
    BOMBS = {
        "one value": "select zeroblob(2000000000)",
        "one row": "select " + ", ".join(["zeroblob(15000000)"] * 400),
        "one row of text": "select " + ", ".join(["printf('%.*c', 15000000, 'x')"] * 400),
        "many rows": "with recursive t(n) as (select 1 union all select n + 1 from t) "
                     "select zeroblob(15000000) from t",
        "a sort": "with recursive t(n) as (select 1 union all select n + 1 from t) "
                  "select n, printf('%.*c', 100000, 'x') from t order by n desc",
        "a growing value": "with recursive t(s) as (select 'x' union all select s || s from t) select s from t",
        "a group": "with recursive t(n) as (select 1 union all select n + 1 from t) "
                   "select group_concat(printf('%.*c', 100000, 'x')) from t",
        "rows without an end": "with recursive t(n) as (select 1 union all select n from t) select count(*) from t",
    }

    # Limit: kMaxQueryValueBytes of engine/history/index.h
    def test_no_answer_takes_more_than_its_limit(self):
        self.galley("apply", hostile.ROOT / "fixtures/patches/good/01-discounts.patch", expect=0)
        for name, sql in self.BOMBS.items():
            with self.subTest(query=name):
                result = self.bounded("query", sql, expect=(0, 2, 3))
                self.assertLess(len(result.stdout), 200 * MIB)

    def test_an_honest_query_is_answered(self):
        self.galley("apply", hostile.ROOT / "fixtures/patches/good/01-discounts.patch", expect=0)
        result = self.bounded("query", "select count(*) from transactions", expect=0)
        self.assertEqual(result.stdout.split()[-1], b"1")


class AfterACommand(Budgets):
    """Reading the changes of a command obeys the command's own deadline."""

    def exec(self, script, expect, timeout_ms=30_000, config="", **options):
        self.write("galley.toml", f"[sandbox]\ntimeout_ms = {timeout_ms}\n{config}")
        stages = self.own_state("stage")
        if not stages.exists() or not list(stages.iterdir()):
            self.galley("begin", expect=0)
        # A sandbox needs memory for its helper's own threads and processes.
        return self.bounded("exec", "--", "python3", "-c", script, expect=expect, memory=8 << 30, **options)

    def test_many_names_of_one_sparse_file_are_hashed_once(self):
        self.exec("import os\n"
                  "open('a0', 'w').truncate(1 << 24)\n"
                  "for n in range(1, 2000): os.link('a0', f'a{n}')\n", expect=0, timeout_ms=60_000)
        self.bounded("rollback", expect=0)

    def test_a_file_is_hashed_once_and_each_name_staged(self):
        self.exec("import os\nopen('a0', 'w').write('x')\n"
                  "for n in range(1, 41): os.link('a0', f'a{n}')\n", expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "a40").read_text(), "x")

    # Limit: kReadBackGrace of staging/sandbox/command_runner.h
    def test_sparse_files_past_the_deadline_are_dropped_and_reported(self):
        result = self.exec("for n in range(60): open(f'a{n}', 'w').truncate(1 << 30)\n", expect=3,
                           timeout_ms=3000)
        self.assertIn(b"read", result.stderr)
        self.exec("open('good', 'w').write('x')", expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "good").read_text(), "x")
        self.assertFalse((self.work / "a0").exists())

    # Limit: kMaxFileBytes of base/ignore_rules.h
    def test_an_ignore_pattern_without_an_end_costs_nothing(self):
        self.git("init", "-q")
        self.write(".gitignore", "*a" * 300 + "b\n" + ("**/" + "*a" * 60 + "\n") * 2000 + "build/\n")
        self.exec("import os\nos.mkdir('build')\nopen('build/x', 'w').write('x')\n"
                  "open('a' * 250, 'w').write('x')\nopen('good', 'w').write('x')\n", expect=0)
        self.galley("commit", expect=0)
        self.assertTrue((self.work / "good").exists())
        self.assertFalse((self.work / "build").exists())

    def test_an_excludes_file_that_is_a_fifo_is_ignored(self):
        self.git("init", "-q")
        os.mkfifo(self.scratch / "fifo")
        for name in ("core.excludesFile", "include.path"):
            with self.subTest(key=name):
                self.git("config", name, self.scratch / "fifo")
                self.write(".gitignore", "build/\n")
                self.exec("import os\nos.makedirs('build', exist_ok=True)\nopen('build/x', 'w').write('x')\n"
                          f"open('{name}', 'w').write('x')\n", expect=0)
                self.galley("commit", expect=0)
                self.assertTrue((self.work / name).exists())
                self.assertFalse((self.work / "build").exists())


class SparseFiles(Budgets):
    """A sparse file of a command must cost neither its size on disk nor its size in memory."""

    MOST_KIB = 160 * 1024

    # A process starts with the peak memory of its parent, so a small parent starts it.
    STARTER = ("import os, sys\n"
               "process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)\n"
               "_, status, used = os.wait4(process, 0)\n"
               "print(used.ru_maxrss, file=sys.stderr)\n"
               "sys.exit(os.waitstatus_to_exitcode(status))\n")

    def peak(self, *words, expect=0):
        """Returns the program's output and its peak memory in KiB."""
        ran = subprocess.run([sys.executable, "-S", "-c", self.STARTER, GALLEY, "-C", str(self.work), *words],
                             capture_output=True, text=True, errors="replace", env={**os.environ, **self.environment})
        self.assertEqual(ran.returncode, expect, ran.stdout[-2000:] + ran.stderr[-2000:])
        return ran.stdout + ran.stderr, int(ran.stderr.splitlines()[-1])

    # Gets the processes that the program leaves, and so all that they have read.
    READER = ("import ctypes, os, subprocess, sys\n"
              "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER\n"
              "status = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)\n"
              "for child in open(f'/proc/self/task/{os.getpid()}/children').read().split():\n"
              "    os.kill(int(child), 9)\n"
              "    os.waitpid(int(child), 0)\n"
              "print(open('/proc/self/io').readline().split()[1])\n"
              "sys.exit(status)\n")

    def test_the_holes_of_a_sparse_file_are_not_read(self):
        self.write("galley.toml", "")
        for number, words in enumerate((("run", "--commit"), ("exec", "--commit"))):
            with self.subTest(command=words):
                ran = subprocess.run([sys.executable, "-S", "-c", self.READER, GALLEY, "-C", str(self.work), *words, "--",
                                      "truncate", "-s", "300M", f"big{number}.bin"], capture_output=True, text=True,
                                     env={**os.environ, **self.environment}, timeout=SECONDS)
                self.skip_if_unavailable(ran.stderr.encode())
                self.assertEqual(ran.returncode, 0, ran.stderr[-2000:])
                self.assertEqual((self.work / f"big{number}.bin").stat().st_size, 300 * MIB)
                self.assertLess(int(ran.stdout.splitlines()[-1]), 100 * MIB)
        self.galley("begin", expect=0)
        self.galley("exec", "--", "truncate", "-s", "300M", "shown.bin", expect=0)
        shown = self.galley("exec", "--", "stat", "-c", "%s %b", "shown.bin", expect=0).stdout.split()
        self.assertEqual(int(shown[0]), 300 * MIB)
        self.assertLess(int(shown[1]) * 512, MIB, "its holes were written")

    # Limit: kMaxDiffedBytes of staging/overlay/proposal_diff.h
    def test_a_sparse_file_is_read_in_little_memory(self):
        self.write("galley.toml", "")
        self.galley("begin", expect=0)
        self.galley("exec", "--", "truncate", "-s", "300M", "big.bin", expect=0)
        for words, wanted in ((("status",), "A\tbig.bin"), (("diff",), "Binary files /dev/null and b/big.bin differ"),
                              (("diff", "--stat"), "314572800 bytes"), (("diff", "--numstat"), "-\t-\tbig.bin")):
            with self.subTest(command=words):
                text, peak = self.peak(*words)
                self.assertIn(wanted, text)
                self.assertLess(peak, self.MOST_KIB)
        for tool, arguments in (("Read", {"file_path": "big.bin"}),
                                ("Edit", {"file_path": "big.bin", "old_string": "a", "new_string": "b"})):
            text, peak = self.peak("call", tool, json.dumps(arguments), expect=1)
            self.assertIn("more than the 268435456 of a file that is read here", text)
            self.assertLess(peak, self.MOST_KIB)
        mode = "diff --git a/big.bin b/big.bin\nold mode 100644\nnew mode 100600\n"  # needs no place
        self.assertIn('"applied": true', self.peak("call", "Edit", json.dumps({"file_path": "big.bin", "patch": mode}))[0])
        text, peak = self.peak("commit")
        self.assertLess(peak, self.MOST_KIB)
        self.assertEqual((self.work / "big.bin").stat().st_size, 300 * MIB)
        text, peak = self.peak("log", "--stat")
        self.assertLess(peak, self.MOST_KIB)
        self.galley("undo", expect=0)
        self.assertFalse((self.work / "big.bin").exists())
        text, peak = self.peak("redo")
        self.assertLess(peak, self.MOST_KIB)
        self.assertEqual((self.work / "big.bin").stat().st_size, 300 * MIB)

    # Limit: kMaxHeldBytes of staging/overlay/overlay.h
    def test_a_sparse_file_of_the_workspace_is_hashed_and_copied_in_little_memory(self):
        self.write("galley.toml", "")
        with open(self.work / "big.bin", "wb") as big:
            big.truncate(300 * MIB)
        for tool, arguments in (("Copy", {"source": "big.bin", "destination": "copy.bin"}), ("Delete", {"path": "big.bin"})):
            with self.subTest(tool=tool):
                _, peak = self.peak("call", "--begin", tool, json.dumps(arguments))
                self.assertLess(peak, self.MOST_KIB)
                self.galley("rollback", expect=0)
        self.galley("begin", expect=0)
        self.galley("call", "Delete", '{"path": "big.bin"}', expect=0)
        _, peak = self.peak("commit")
        self.assertLess(peak, self.MOST_KIB)
        _, peak = self.peak("undo")
        self.assertLess(peak, self.MOST_KIB)
        back = (self.work / "big.bin").stat()
        self.assertEqual(back.st_size, 300 * MIB)
        self.assertLess(back.st_blocks * 512, MIB, "its holes were written")

    def test_a_command_without_a_transaction_makes_a_sparse_file_in_little_memory(self):
        self.write("galley.toml", "")
        _, peak = self.peak("exec", "--commit", "--", "truncate", "-s", "300M", "big.bin")
        self.assertLess(peak, self.MOST_KIB)
        self.assertEqual((self.work / "big.bin").stat().st_size, 300 * MIB)
        self.assertLess((self.work / "big.bin").stat().st_blocks * 512, MIB, "its holes were written")

    def test_an_undo_of_a_new_sparse_file_reads_it_in_little_memory(self):
        self.write("galley.toml", "")
        self.galley("exec", "--commit", "--", "truncate", "-s", "300M", "big.bin", expect=0)
        for words in (("undo", "-n"), ("undo",)):
            with self.subTest(command=words):
                _, peak = self.peak(*words)
                self.assertLess(peak, self.MOST_KIB)

    def test_an_undo_of_a_change_in_a_large_file_reads_it_in_little_memory(self):
        self.write("galley.toml", "")
        self.galley("exec", "--commit", "--", "truncate", "-s", "300M", "big.bin", expect=0)
        self.galley("exec", "--commit", "--", "sh", "-c", "printf x | dd of=big.bin bs=1 seek=9 conv=notrunc", expect=0)
        for words, byte in ((("undo",), b"\0"), (("redo",), b"x")):
            with self.subTest(command=words):
                _, peak = self.peak(*words)
                self.assertLess(peak, self.MOST_KIB)
                with open(self.work / "big.bin", "rb") as big:
                    self.assertEqual(big.read(10)[9:], byte)
                    self.assertEqual(os.fstat(big.fileno()).st_size, 300 * MIB)
                    self.assertLess(os.fstat(big.fileno()).st_blocks * 512, 2 * MIB, "its holes were written")

    def test_a_check_of_a_work_tree_with_a_sparse_file_takes_little_memory(self):
        self.write("galley.toml", "")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
        with open(self.work / "big.bin", "wb") as big:
            big.truncate(300 * MIB)
        text, peak = self.peak("check", "--worktree")
        self.assertIn("the gate approves", text)
        self.assertLess(peak, self.MOST_KIB)

    def test_a_file_that_is_too_large_for_a_read_is_refused_before_it_is_read(self):
        self.write("galley.toml", "")
        with open(self.work / "big.bin", "wb") as big:
            big.truncate(300 * MIB)
        ran, peak = self.peak("call", "--begin", "Read", '{"file_path": "big.bin"}', expect=1)
        self.assertIn("that is read here", ran)
        self.assertLess(peak, self.MOST_KIB)


DEEP = ("import os\n"
        "for n in range(5000):\n"
        "    os.mkdir('d')\n"
        "    os.chdir('d')\n"
        "open('bottom', 'w').write('x')\n")


class DeepTrees(Budgets):
    """Five thousand levels, with 64 descriptors and a stack of eight megabytes."""

    def bounded(self, *arguments, **options):
        options.setdefault("descriptors", 64)
        return super().bounded(*arguments, **{**options, "memory": 8 << 30})

    def setUp(self):
        super().setUp()
        # Python's own removal is recursive.
        self.addCleanup(subprocess.run, ["rm", "-rf", str(self.scratch)], check=False)

    def begin(self):
        self.galley("begin", expect=0)

    # Limit: kMaxComponents of include/galley/path.h
    def test_a_deep_tree_that_a_command_made_is_refused_and_cleared(self):
        for where in ("os.mkdir('top'); os.chdir('top')", "pass"):
            self.begin()
            result = self.bounded("exec", "--", "python3", "-c", f"import os\n{where}\n{DEEP}", expect=(1, 3))
            self.assertIn(b"256 components", result.stderr)
            self.bounded("status", expect=0)
            self.bounded("exec", "--", "python3", "-c", "open('good', 'w').write('x')", expect=0)
            self.bounded("rollback", expect=0)
            self.bounded("gc", expect=0)

    def test_a_deep_tree_of_ignored_outputs_does_no_harm(self):
        self.git("init", "-q")
        self.write(".gitignore", "build/\n")
        self.begin()
        for _ in range(2):
            self.bounded("exec", "--", "python3", "-c",
                         f"import os\nos.makedirs('build', exist_ok=True); os.chdir('build')\n"
                         f"if not os.path.exists('d'):\n    " + DEEP.replace("\n", "\n    ").rstrip(), expect=(0, 1))
        self.bounded("exec", "--", "python3", "-c", "open('good', 'w').write('x')", expect=0)
        self.bounded("status", expect=0)
        self.bounded("commit", expect=0)
        self.bounded("gc", expect=0)
        self.assertTrue((self.work / "good").exists())

    def test_a_deep_tree_in_the_workspace_does_not_stop_a_search(self):
        subprocess.run(["python3", "-c", DEEP], cwd=self.work, check=True, timeout=SECONDS)
        self.write("needle.txt", "needle\n")
        self.begin()
        result = self.bounded("call", "Grep", '{"pattern": "needle"}', expect=0)
        self.assertIn(b"needle.txt", result.stdout)
        self.bounded("call", "directory_tree", '{"path": "."}', expect=0)
        self.bounded("exec", "--", "python3", "-c", "open('good', 'w').write('x')", expect=0)
        self.bounded("commit", expect=0)

    def test_a_deep_tree_in_an_abandoned_stage_is_removed(self):
        self.begin()
        self.bounded("exec", "--", "python3", "-c", "open('good', 'w').write('x')", expect=0)
        stage = next(self.own_state("stage").iterdir())
        subprocess.run(["python3", "-c", DEEP], cwd=stage, check=True, timeout=SECONDS)
        self.bounded("status", expect=0)
        self.bounded("rollback", expect=0)
        self.assertEqual(list(self.own_state("stage").iterdir()), [])


if __name__ == "__main__":
    hostile.main()
