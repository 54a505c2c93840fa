"""`galley exec` stages exactly what the same command changes in a copy."""

import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time
import unittest
from pathlib import Path

import hostile
from support import GALLEY, SystemCase, need_own_mounts, serve_files, snapshot

TREE = r"""
mkdir -p src/lib/deep docs empty/inner assets
for i in 1 2 3 4 5; do echo "file $i" > src/lib/f$i.c; echo "deep $i" > src/lib/deep/d$i.h; done
printf 'crlf\r\nline\r\n' > docs/crlf.txt; head -c 5000 /dev/zero > assets/zero.bin
ln -s ../src/lib/f1.c docs/link; ln -s nowhere docs/dangling; printf 'no newline' > docs/bare
echo '#!/bin/sh' > src/tool; chmod 755 src/tool; chmod 600 docs/crlf.txt; : > 'docs/with space'
"""

SCRIPTS = [
    # Creates, edits, deletes, renames directories, and changes modes and links, all at once.
    "mkdir -p new/deep; echo made > new/deep/file; echo more >> src/lib/f1.c; rm src/lib/f2.c; mv src/lib/deep moved; "
    "chmod 755 src/lib/f3.c; chmod 644 src/tool; chmod 700 docs; ln -s ../moved new/link; ln -sf f4.c docs/link; "
    "rm docs/dangling; rmdir empty/inner; mv docs/bare 'docs/na\u00efve name'",
    "mv src source; mkdir -p src/lib; echo again > src/lib/f1.c; rm -r assets; echo file > assets",
    "rm -rf docs; echo now a file > docs; rm src/tool; mkdir src/tool; echo in > src/tool/in; rm -r empty",
    "sed -i s/file/FILE/ src/lib/*.c; touch src/lib/f3.c; cp src/lib/f4.c c4; mv c4 src/lib/f4.c; truncate -s 9 assets/zero.bin",
    "rm -rf ./*; mkdir -p only/this; echo left > only/this/file",
    "true",
]

KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


class Exec(SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.shell(TREE, self.work)

    def shell(self, script, folder):
        subprocess.run(["sh", "-ec", "umask 022; " + script], cwd=folder, check=True, capture_output=True)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_a_folder_of_another_group_is_named_with_a_remedy(self):
        user, own, other = 12345, 12345, 12346
        folder = self.work / "shared"
        folder.mkdir()
        for path, group in ((self.work, own), (folder, other)):
            os.chown(path, user, group)
        os.chmod(self.work.parent, 0o755)
        member = {"user": user, "group": own, "extra_groups": [other], "env": {"HOME": str(self.work)}}
        in_group = {**member, "group": other, "extra_groups": [own]}
        command = ["exec", "--", "sh", "-c", "echo x > shared/made"]
        self.galley("begin", expect=0, **member)
        said = self.galley(*command, **member).stderr
        self.assertIn(b"Value too large", said)
        self.assertIn(b"sg GROUP -c", said)
        self.galley(*command, expect=0, **in_group)
        self.assertIn(b"+++ b/shared/made", self.galley("diff", expect=0, **member).stdout)

    def run_staged(self, script):
        self.galley("begin", expect=0)
        return self.galley("exec", "--", "sh", "-ec", script, expect=0)

    def staged(self):
        """Returns the change set as {path: (before, after)}, with nodes in the form of
        snapshot()."""
        document = json.loads(self.galley("diff", "--json", expect=0).stdout)
        return {change["path"]: (self.node(change["before"]), self.node(change["after"]))
                for change in document["changes"]}

    def node(self, node):
        kind = node["kind"]
        if kind == "absent":
            return None
        if kind == "symlink":
            return ("symlink", node["sha256"])
        mode = int(node["mode"], 8)
        return (kind, mode, node["sha256"]) if kind == "file" else (kind, mode)

    def nodes(self, folder):
        found = {}
        for path, entry in snapshot(folder).items():
            kind = KINDS[entry[0]]
            if kind == "symlink":
                found[path] = (kind, hashlib.sha256(os.fsencode(entry[1])).hexdigest())
            else:
                found[path] = (kind, *entry[1:])
        return found

    def differences(self, before, after):
        old, new = self.nodes(before), self.nodes(after)
        return {path: (old.get(path), new.get(path)) for path in {*old, *new} if old.get(path) != new.get(path)}

    def test_staged_changes_are_what_the_command_does_to_a_copy(self):
        for script in SCRIPTS:
            with self.subTest(script=script):
                untouched = snapshot(self.work, with_times=True)
                copy = self.scratch / "copy"
                subprocess.run(["cp", "-a", self.work, copy], check=True)
                shutil.rmtree(copy / ".galley", ignore_errors=True)
                self.shell(script, copy)
                self.run_staged(script)
                staged = self.staged()
                self.assertEqual(staged, self.differences(self.work, copy))
                self.assertEqual(snapshot(self.work, with_times=True), untouched)

                # The diff is complete: applied to the old tree, it gives the copy's files.
                text = self.galley("diff", expect=0).stdout
                patched = self.scratch / "patched"
                shutil.copytree(self.work, patched, symlinks=True, ignore=shutil.ignore_patterns(".galley"))
                if text:
                    self.git("apply", "-p1", "-", work=patched, stdin=text)
                files = {path: node for path, node in self.nodes(copy).items() if node[0] != "directory"}
                self.assertEqual({path: self.git_sees(node) for path, node in self.nodes(patched).items()
                                  if node[0] != "directory"},
                                 {path: self.git_sees(node) for path, node in files.items()})

                # diff -r, which compares only contents and links, finds no other difference.
                found = subprocess.run(["diff", "-rq", "--no-dereference", "--exclude=.galley", self.work, copy],
                                       capture_output=True, check=False, text=True)
                by_content = {path for path, (old, new) in staged.items()
                              if (old and old[:1] + old[2:]) != (new and new[:1] + new[2:]) or
                              (old and old[0] == "symlink" and old != new)}
                self.assertEqual(bool(found.stdout), bool(by_content), found.stdout)

                self.galley("commit", expect=0)
                self.assertEqual(self.nodes(self.work), self.nodes(copy))
                if staged:
                    self.galley("undo", expect=0)
                self.assertEqual(snapshot(self.work), {path: entry[:len(entry) - 2] for path, entry in untouched.items()})
                shutil.rmtree(copy)
                shutil.rmtree(patched)

    @staticmethod
    def git_sees(node):
        return node if node[0] == "symlink" else (node[0], node[1] & 0o100, node[2])

    def test_ignored_outputs_last_as_long_as_the_transaction(self):
        self.git("init", "-q")
        (self.work / ".gitignore").write_text("build/\n*.o\n")
        places = {}
        for end in ("rollback", "commit"):
            with self.subTest(end=end):
                self.galley("begin", expect=0)
                self.galley("exec", "--", "sh", "-c", "mkdir build; echo one > build/out; echo o > src/a.o; echo > made",
                            expect=0)
                result = self.galley("exec", "--", "sh", "-c", "cat build/out src/a.o; echo two > build/out", expect=0)
                self.assertEqual(result.stdout, b"one\no\n")
                # Dropped effects include the ignored outputs.
                self.galley("exec", "--", "sh", "-c", "rm -r build; exit 1", expect=1)
                result = self.galley("exec", "--", "cat", "build/out", expect=0)
                self.assertEqual(result.stdout, b"two\n")
                self.assertEqual(set(self.staged()), {"made"})
                stage = next(self.own_state("stage").iterdir())
                places[end] = (stage / "scratch-home").read_text().strip()
                self.assertTrue(os.path.isdir(places[end]))
                self.galley(end, expect=0)
                self.assertFalse(os.path.exists(places[end]))
        self.assertFalse((self.work / "build").exists())
        self.galley("begin", expect=0)
        self.galley("exec", "--", "cat", "build/out", expect=1)

    def test_gc_removes_the_ignored_outputs_of_an_abandoned_transaction(self):
        self.git("init", "-q")
        (self.work / ".gitignore").write_text("build/\n")
        self.galley("begin", expect=0)
        self.galley("exec", "--", "sh", "-c", "mkdir build; echo one > build/out; echo made > made", expect=0)
        stage = next(self.own_state("stage").iterdir())
        place = (stage / "scratch-home").read_text().strip()
        self.galley("gc", expect=0)
        self.assertTrue(os.path.isdir(place))  # it is open and new
        long_ago = time.time() - 30 * 24 * 3600
        for path in [*stage.rglob("*"), stage]:
            os.utime(path, (long_ago, long_ago), follow_symlinks=False)
        self.galley("gc", "--dry-run", expect=0)
        self.assertTrue(os.path.isdir(place))
        self.galley("gc", expect=0)
        self.assertFalse(os.path.exists(place))
        self.assertFalse(stage.exists())

    def test_a_command_that_changes_nothing_leaves_the_stored_stage_as_it_is(self):
        self.galley("begin", expect=0)
        stored = next(self.own_state("stage").iterdir()) / "overlay"
        before = stored.stat()
        self.galley("exec", "--", "ls", expect=0)
        after = stored.stat()
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))
        self.galley("exec", "--", "sh", "-c", "echo x > made", expect=0)
        self.assertEqual(set(self.staged()), {"made"})

    def test_a_failed_command_is_kept_only_when_asked(self):
        self.galley("begin", expect=0)
        self.galley("exec", "--", "sh", "-c", "echo x > made; exit 7", expect=7)
        self.assertEqual(self.staged(), {})
        self.galley("exec", "--keep-on-failure", "--", "sh", "-c", "echo x > made; exit 7", expect=7)
        self.assertEqual(set(self.staged()), {"made"})

    def test_limits_are_enforced_and_named(self):
        self.galley("begin", expect=0)
        result = self.galley("exec", "--timeout", "0.3", "--", "sleep", "600", expect=3)
        self.assertIn(b"300 ms", result.stderr)
        result = self.galley("exec", "--memory", "50mb", "--", "python3", "-c",
                             "x = bytearray(400 << 20); import time; time.sleep(600)", expect=(1, 3))
        self.assertTrue(b"memory" in result.stderr.lower(), result.stderr)
        self.assertLess(len(json.loads(self.galley("exec", "--json", "--output", "1kb", "--", "seq", "100000",
                                                   expect=0).stdout)["stdout"]), 2048)
        self.galley("exec", "--memory", "lots", "--", "true", expect=2)
        self.galley("exec", "--timeout", "-1", "--", "true", expect=2)

    def test_a_timeout_beyond_the_configured_one_is_refused_before_anything_runs(self):
        self.galley("begin", expect=0)
        result = self.galley("exec", "--timeout", "200", "--", "touch", "made", expect=2)
        self.assertIn(b"sandbox.timeout_ms allows 120000", result.stderr)
        self.assertEqual(self.staged(), {})
        self.galley("exec", "--timeout", "120", "--", "touch", "made", expect=0)
        self.assertEqual(set(self.staged()), {"made"})
        (self.work / "galley.toml").write_text("[sandbox]\ntimeout_ms = 200000\n")
        self.galley("trust", expect=0)
        self.galley("exec", "--timeout", "200", "--", "touch", "later", expect=0)
        self.assertEqual(set(self.staged()), {"made", "later"})

    def test_every_limit_beyond_the_configured_one_is_refused_before_anything_runs(self):
        (self.work / "galley.toml").write_text("[sandbox]\nmax_cpu_seconds = 9\n")
        self.galley("begin", expect=0)
        for option, value, key in (("--cpu", "10", "max_cpu_seconds"), ("--memory", "900gb", "max_memory_bytes"),
                                   ("--processes", "9999999", "max_processes"), ("--file-size", "900gb", "max_file_bytes"),
                                   ("--written", "900gb", "max_written_bytes"), ("--output", "900gb", "max_output_bytes")):
            refused = json.loads(self.galley("--json", "exec", option, value, "--", "touch", "made", expect=2).stdout)
            self.assertEqual(refused["reason"], "exec.limit")
            self.assertIn(f"sandbox.{key} allows", refused["message"])
        self.assertEqual(self.staged(), {})

    def test_deterministic_commands_say_the_same_twice(self):
        self.galley("begin", expect=0)
        first = self.galley("exec", "--deterministic", "--", "sh", "-c", "env | sort; date +%Z", expect=0).stdout
        self.assertIn(b"SOURCE_DATE_EPOCH=", first)
        self.assertEqual(self.galley("exec", "--deterministic", "--", "sh", "-c", "env | sort; date +%Z",
                                     env={"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"}, expect=0).stdout, first)

    def test_deterministic_commands_have_a_fixed_clock(self):
        self.galley("begin", expect=0)
        line = "date -u +%F; python3 -c 'import time; print(int(time.time()))'; sleep 0.05; date -u +%F-%s"
        said = self.galley("exec", "--deterministic", "--", "sh", "-c", line, expect=0).stdout
        self.assertEqual(said, b"1980-01-01\n315532800\n1980-01-01-315532800\n")
        told = json.loads(self.galley("--json", "exec", "--deterministic", "--", "sh", "-c", line, expect=0).stdout)
        self.assertIn("the clock of static programs that it starts", told["unchecked"])

    def test_the_clock_of_a_deterministic_command_is_no_loss(self):
        """libfaketime leaves a file of its own in the command's temporary directory."""
        self.galley("begin", expect=0)
        said = self.galley("exec", "--deterministic", "--", "sh", "-c", "date > seen", expect=0).stderr
        self.assertNotIn(b"temporary directory", said)
        said = self.galley("exec", "--deterministic", "--", "sh", "-c", "date > /tmp/mine", expect=0).stderr
        self.assertIn(b"with /tmp/mine: write", said)

    def test_without_libfaketime_a_deterministic_command_is_refused(self):
        need_own_mounts()
        folder = next(Path("/usr/lib").glob("*/faketime"), None)
        if folder is not None:
            hidden = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", "sh", "-c", f"mount -t tmpfs none {folder} && exec \"$@\"", "sh"]
            self.galley("begin", expect=0)
            line = [GALLEY, "-C", self.work, "--json", "exec", "--deterministic", "--", "sh", "-c", "date > seen"]
            result = subprocess.run([*hidden, *map(str, line)], env={**os.environ, **self.environment},
                                    capture_output=True, check=False, timeout=60)
            self.assertEqual(result.returncode, 1, result)
            refused = json.loads(result.stdout)
            self.assertEqual(refused["reason"], "sandbox.no_fixed_clock")
            self.assertIn("install the package libfaketime", refused["message"])
            self.assertEqual(self.staged(), {})

    @unittest.skipUnless(os.geteuid() == 0, "the sandbox needs a namespace of its own user")
    def test_a_full_temporary_directory_is_named(self):
        full = self.scratch / "full"
        full.mkdir()
        small = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=300k none {full} && exec \"$@\"", "sh"]
        for script, is_told in (("head -c 2500000 /dev/zero > cut; echo done", True), ("echo x > whole", False)):
            line = [GALLEY, "-C", self.work, "exec", "--commit", "--", "sh", "-c", script]
            said = subprocess.run([*small, *map(str, line)], env={**os.environ, **self.environment, "TMPDIR": str(full)},
                                  capture_output=True, check=False, timeout=60)
            self.assertEqual(said.returncode, 0, said)
            self.assertEqual(f"less than 64 KiB is left in {full}/".encode() in said.stderr, is_told, said)

    def test_a_static_program_is_refused_as_a_deterministic_command(self):
        program = self.work / "static"
        (self.scratch / "static.c").write_text("#include <stdio.h>\n#include <time.h>\n"
                                               'int main(void) { printf("%ld\\n", (long)time(0)); return 0; }\n')
        built = subprocess.run(["gcc", "-static", "-o", program, self.scratch / "static.c"], capture_output=True, check=False)
        if built.returncode != 0:
            self.skipTest(f"no static program can be built: {built.stderr.decode(errors='replace')}")
        self.galley("begin", expect=0)
        self.galley("exec", "--", "./static", expect=0)
        result = self.galley("exec", "--deterministic", "--json", "--", "./static", expect=1)
        self.assertEqual(json.loads(result.stdout)["reason"], "sandbox.no_fixed_clock")

    def test_a_wrong_value_is_named_also_before_a_program(self):
        said = self.galley("exec", "--timeout", "0", "--", "true", expect=2).stderr.decode()
        self.assertIn("--timeout", said.splitlines()[0])
        self.assertNotIn("no option", said)
        said = self.galley("--timeout", "3", "exec", "--", "true", expect=2).stderr.decode()
        self.assertIn("'--timeout' belongs behind 'galley exec'", said)
        for option, value, what in (("--timeout", "x", "a number of seconds above 0"), ("--timeout", "inf", "a number of seconds above 0"),
                                    ("--output", "-5", "a size: a number of bytes"), ("--memory", "9xb", "a size: a number of bytes")):
            said = self.galley("exec", f"{option}={value}", "--", "true", expect=2).stderr.decode()
            self.assertIn(f"{option}: '{value}' is not {what}", said.splitlines()[0])
        self.assertIn("'--timeout' needs a value", self.galley("exec", "--timeout", expect=2).stderr.decode())

    def test_an_option_that_only_a_run_has_is_named_with_it(self):
        for option in ("--layer", "--resume"):
            said = self.galley("exec", option, "/tmp", "--", "true", expect=2).stderr.decode()
            self.assertIn(f"'galley exec' has no option '{option}'; use 'galley run', which has it\n", said)

    def test_calls_of_a_document_are_on_record_without_a_commit(self):
        self.galley("begin", expect=0)
        self.galley("rollback", expect=0)
        records = self.work / ".galley/audit.jsonl"
        for command, status in (("true", 0), ("false", 1)):
            before = len(records.read_text().splitlines())
            calls = json.dumps([{"tool": "Bash", "args": {"command": command}}])
            self.galley("apply", "--format", "calls", "-", stdin=calls.encode(), expect=status)
            kinds = [json.loads(line)["kind"] for line in records.read_text().splitlines()[before:]]
            self.assertEqual(kinds[:2], ["begun", "call"], command)

    def test_a_failed_command_fails_its_document_and_stages_nothing(self):
        calls = json.dumps([{"tool": "Write", "args": {"file_path": "w", "content": "w"}},
                            {"tool": "Bash", "args": {"command": "echo b > b; exit 3"}}])
        self.galley("begin", expect=0)
        said = json.loads(self.galley("--json", "apply", "--format", "calls", "-", stdin=calls.encode(), expect=1).stdout)
        self.assertEqual(said["reason"], "calls.command_failed")
        self.assertFalse((self.work / "w").exists() or (self.work / "b").exists())
        self.assertEqual(json.loads(self.galley("--json", "diff", expect=0).stdout)["changes"], [])

    def test_committed_commands_keep_what_they_did_before_they_failed(self):
        self.galley("exec", "--commit", "--", "sh", "-c", "echo a > a; exit 3", expect=3)
        self.assertEqual((self.work / "a").read_text(), "a\n")
        self.galley("exec", "--commit", "--drop-on-failure", "--", "sh", "-c", "echo b > b; exit 3", expect=3)
        self.assertFalse((self.work / "b").exists())
        self.galley("exec", "--commit", "--drop-on-failure", "--", "sh", "-c", "echo c > c", expect=0)
        self.assertTrue((self.work / "c").exists())
        said = self.galley("exec", "--drop-on-failure", "--", "true", expect=2).stderr.decode()
        self.assertIn("--commit", said)

    def test_an_ignored_output_does_not_hide_a_file_that_git_has_since(self):
        self.make_repository(".env\n*.log\n")
        self.galley("exec", "--begin", "--", "sh", "-c", "echo mine > .env; echo mine > z.log", expect=0)
        for name in (".env", "z.log"):
            (self.work / name).write_text("theirs\n")
            self.git("add", "-f", name)
        for script in ("echo more >> .env", "rm z.log"):
            said = self.galley("exec", "--", "sh", "-c", script, expect=1).stderr.decode()
            self.assertIn("is a file that git does not ignore", said)
        self.galley("exec", "--", "sh", "-c", "echo new > other", expect=0)
        self.galley("commit", expect=0)
        for name in (".env", "z.log"):
            self.assertEqual((self.work / name).read_text(), "theirs\n")

    def test_what_is_not_staged_is_named(self):
        self.make_repository("build/")
        script = "mkdir build; echo 1 > build/x; echo 1 > build/y; git init -q sub; git init -q two; echo 2 > sub/f"
        for option in ("--begin", "--commit"):
            said = self.galley("exec", option, "--", "sh", "-c", script, expect=0).stderr.decode()
            self.assertIn("git ignores 'build', which it changed: not proposed", said)
            self.assertIn("what it wrote in 'sub/.git', 'two/.git' is dropped", said)
            said = self.galley("exec", option, "--", "sh", "-c", "mkdir build; echo 1 > build/x", expect=0).stderr.decode()
            self.assertIn("git ignores 'build", said)

    def test_bits_of_a_folder_that_are_not_staged_are_named(self):
        self.need_walls()
        (self.work / "shared").mkdir()
        says = b"setuid, setgid and sticky bits of directories are never changed: new, shared"
        for arguments in (("exec", "--commit"), ("run", "--commit")):
            done = self.galley(*arguments, "--", "sh", "-c", "chmod +t shared; mkdir -p new; chmod 1777 new; echo x >> file", expect=0)
            self.assertIn(says, done.stderr)
            self.assertEqual([(self.work / name).stat().st_mode & 0o7777 for name in ("shared", "new")], [0o755, 0o777])
        self.assertNotIn(b"sticky", self.galley("exec", "--commit", "--", "sh", "-c", "chmod 700 shared", expect=0).stderr)

    def test_a_workspace_that_its_owner_may_not_write_is_seen_as_it_is(self):
        self.need_walls()
        below = self.work / "below"
        below.mkdir()
        (below / "b").write_text("b\n")
        self.galley("exec", "--commit", "--", "sh", "-c", "echo x > file", expect=0)
        for folder in (below, self.work):
            folder.chmod(0o555)
            self.addCleanup(folder.chmod, 0o755)
        script = ("stat -c %a . below; touch new 2>&- || echo no; touch below/new 2>&- || echo no; rm -f file 2>&- || echo no; "
                  "echo more >> below/b; echo more >> file")
        for arguments in (("exec", "--begin"), ("run", "--keep")):
            for _ in range(2):
                done = self.galley(*arguments, "--", "sh", "-c", script, expect=0)
                self.assertEqual(done.stdout, b"555\n555\nno\nno\nno\n")
                [one] = json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"]
                self.assertEqual(one["changes"], 2)
                self.galley("rollback", "--tx", one["tx"], expect=0)
        self.assertEqual([path.name for path in self.work.glob("**/new")], [])
        self.work.chmod(0o755)
        shutil.rmtree(self.work / ".galley")

    def test_effects_are_handled_as_usual_after_the_reader_of_the_output_ended(self):
        self.need_walls()
        for option, outcome in (("--commit", b"is kept"), ("--begin", b"is dropped"), ("--keep-on-failure", b"is kept")):
            name = "made" + option
            line = [GALLEY, "exec", option, "--", "sh", "-c", f"echo x > {name}; yes"]
            piped = ["bash", "-c", 'set -o pipefail; "$@" | head -n 1', "-", *line]
            result = subprocess.run(piped, cwd=self.work, env={**os.environ, **self.environment},
                                    capture_output=True, check=False, timeout=60)
            self.assertEqual((result.stdout, result.returncode), (b"y\n", 128 + signal.SIGPIPE), result.stderr)
            self.assertIn(b"the reader of the output ended", result.stderr)
            self.assertIn(outcome, result.stderr)
        self.assertTrue((self.work / "made--commit").exists())
        self.assertEqual(set(self.staged()), {"made--keep-on-failure"})

    def test_a_message_without_a_reader_does_not_lose_the_commit(self):
        self.need_walls()
        for command in ("exec", "run"):
            # The file in /tmp causes a message before the commit.
            script = f"echo first; read line; echo x > made-{command}; echo x > /tmp/left"
            process = self.start(command, "--commit", "--", "sh", "-c", script)
            self.assertEqual(process.stdout.readline(), b"first\n")
            process.stdout.close()
            process.stdin.write(b"\n")
            process.stdin.close()
            self.assertNotEqual(process.wait(timeout=60), -signal.SIGPIPE)
            self.assertTrue((self.work / f"made-{command}").exists(), command)

    def start(self, *arguments, **options):
        """Starts galley with pipes; its two output streams are the same one."""
        process = subprocess.Popen([GALLEY, *arguments], cwd=self.work, env={**os.environ, **self.environment},
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_every_signal_that_ends_it_keeps_the_changes_and_leaves_no_files(self):
        self.need_walls()
        self.environment["TMPDIR"] = str(self.scratch / "temporary")
        (self.scratch / "temporary").mkdir(mode=0o1777)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            name = f"made-{number}"
            process = self.start("exec", "--commit", "--", "sh", "-c", f"echo x > {name}; echo first; exec sleep 60")
            self.assertEqual(process.stdout.readline(), b"first\n")
            process.send_signal(number)
            said = process.stdout.read()
            self.assertEqual(process.wait(timeout=60), 128 + number, said)
            self.assertTrue((self.work / name).exists(), said)
            self.assertEqual(os.listdir(self.scratch / "temporary"), [])

    def test_a_signal_that_the_caller_ignores_does_not_end_it(self):
        self.need_walls()
        for command, number in itertools.product(("exec", "run"), (signal.SIGHUP, signal.SIGINT)):
            name = f"made-{command}-{number}"
            process = self.start(command, "--commit", "--", "sh", "-c", f"echo first; read line; echo x > {name}",
                                 preexec_fn=lambda ignored=number: signal.signal(ignored, signal.SIG_IGN))
            self.assertEqual(process.stdout.readline(), b"first\n")
            process.send_signal(number)
            process.stdin.write(b"\n")
            process.stdin.close()
            said = process.stdout.read()
            self.assertEqual(process.wait(timeout=60), 0, said)
            self.assertTrue((self.work / name).exists(), said)

    def test_a_commit_of_a_command_at_its_time_limit_has_a_true_status(self):
        said = self.galley("exec", "--commit", "--timeout", "1", "--", "sh", "-c", "echo x > made; sleep 60",
                           expect=128 + signal.SIGKILL).stderr
        self.assertIn(b"the time limit stopped the command; what it changed before is kept", said)
        self.assertTrue((self.work / "made").exists())

    def test_the_streams_have_names(self):
        script = "echo 1 > /dev/stdout; echo 2 > /dev/fd/1; echo 3 | tee /dev/stderr > /dev/null; cat /dev/stdin"
        for command in (("exec", "--begin"), ("run", "--drop")):
            said = self.galley(*command, "--", "sh", "-ec", script, stdin=b"in\n", expect=0)
            self.assertEqual(said.stdout, b"1\n2\nin\n")
            self.assertIn(b"3\n", said.stderr)

    def test_a_command_has_pseudo_terminals_of_its_own(self):
        self.need_walls()
        script = "import os, pty; own, its = pty.openpty(); os.write(own, b'typed\\n'); print(os.ttyname(its), os.read(its, 9))"
        said = self.galley("exec", "--begin", "--", "/usr/bin/python3", "-c", script, expect=0).stdout
        self.assertEqual(said, b"/dev/pts/0 b'typed\\n'\n")

    def test_a_filter_of_its_own_does_not_hide_that_a_program_is_inside(self):
        program = (
            "import ctypes, os, struct, sys\n"
            "class Program(ctypes.Structure):\n"
            "    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_void_p)]\n"
            "lines = ((32, 0, 0, 0), (21, 0, 1, 308), (6, 0, 0, 0x50026), (6, 0, 0, 0x7FFF0000))  # setns: ENOSYS\n"
            "code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *line) for line in lines))\n"
            "program = Program(len(lines), ctypes.addressof(code))\n"
            "assert ctypes.CDLL(None).prctl(22, 2, ctypes.byref(program), 0, 0) == 0\n"
            "os.environ.pop('GALLEY_SANDBOX')\n"
            "os.execv(sys.argv[1], sys.argv[1:])\n")
        shutil.copy(GALLEY, self.work / "galley")
        said = self.galley("exec", "--begin", "--", "python3", "-c", program, "./galley", "init", expect=(1, 2))
        self.assertIn(b"inside a command that Galley runs", said.stderr)

    def test_an_absolute_link_into_the_workspace_is_named_so(self):
        said = self.galley("exec", "--commit", "--", "ln", "-s", self.work / "src/tool", "link", expect=1).stderr.decode()
        self.assertIn(f"link: error: the symbolic link has an absolute target ({self.work}/src/tool)", said)
        self.assertIn("as ln -sr does", said)
        self.galley("exec", "--commit", "--", "ln", "-sr", self.work / "src/tool", "link", expect=0)

    def test_words_of_a_program_at_a_wall_have_a_remedy(self):
        self.make_repository("build/")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
        self.galley("begin", expect=0)
        for script, remedy in (("echo 2 > src/tool; git stash", "run git outside of Galley"),
                               ("echo 2 > src/tool; git add src/tool", "run git outside of Galley"),
                               ("echo '==1==ERROR: AddressSanitizer failed to allocate 0xdf' >&2", "sandbox.max_memory_bytes = 0"),
                               ("python3 -c 'bytearray(5 << 40)'", "memory is limited by sandbox.max_memory_bytes"),
                               ("echo 'sh: fork: Resource temporarily unavailable' >&2", "sandbox.max_processes")):
            said = self.galley("exec", "--", "sh", "-c", script).stderr.decode()
            self.assertIn(remedy, said)

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_that_cannot_be_written_has_a_remedy(self):
        os.chmod(self.work / "docs", 0o555)
        script = "chmod u+w docs; echo x > docs/new; chmod u-w docs"
        said = self.galley("exec", "--commit", "--", "sh", "-ec", script, expect=3).stderr.decode()
        self.assertIn("make it writable and commit again: chmod u+rwx docs", said)
        os.chmod(self.work / "docs", 0o755)

    def test_a_directory_that_the_command_closed_is_committed(self):
        for command in ("exec", "run"):
            script = f"mkdir -p shut/in; echo {command} > shut/in/file; echo {command} > docs/new; chmod 0 shut/in; chmod 600 docs"
            self.galley(command, "--commit", "--", "sh", "-ec", script, expect=0)
            for path, mode in (("docs", 0o600), ("shut/in", 0)):
                self.assertEqual((self.work / path).stat().st_mode & 0o777, mode)
                os.chmod(self.work / path, 0o755)
            self.assertEqual((self.work / "docs/new").read_text(), command + "\n")
            self.assertEqual((self.work / "shut/in/file").read_text(), command + "\n")

    def test_the_mask_of_an_acl_gives_the_group_no_rights(self):
        (self.work / "secret").write_text("s\n")
        uid = self.work.stat().st_uid  # the only one that the sandbox maps
        os.chmod(self.work / "secret", 0o600)
        if subprocess.run(["setfacl", "-m", f"u:{uid}:rw", self.work / "secret"], capture_output=True, check=False).returncode:
            self.skipTest("setfacl is missing, or the file system has no ACLs")
        self.galley("exec", "--commit", "--", "sh", "-ec", "cp -p secret copy; cp -p secret c; mv c src/tool", expect=0)
        for path in ("copy", "src/tool"):
            self.assertEqual((self.work / path).stat().st_mode & 0o777, 0o600, path)
        self.galley("exec", "--commit", "--", "sh", "-ec", "echo x >> secret; mv copy renamed", expect=0)
        said = subprocess.run(["getfacl", "-cpn", self.work / "secret"], capture_output=True, check=True, text=True).stdout
        self.assertIn(f"user:{uid}:rw-\ngroup::---\nmask::rw-", said)
        self.galley("exec", "--commit", "--", "mv", "secret", "moved", expect=0)
        said = subprocess.run(["getfacl", "-cpn", self.work / "moved"], capture_output=True, check=True, text=True).stdout
        self.assertIn(f"user:{uid}:rw-\ngroup::---\nmask::rw-", said)

    def test_a_file_that_was_cut_off_at_the_limit_is_not_committed(self):
        whole = "head -c 1048576 /dev/zero > whole"
        self.galley("exec", "--commit", "--file-size", "1mb", "--", "sh", "-c", whole, expect=0)
        for setting in ("", "trap '' XFSZ; "):
            script = setting + "head -c 1048577 /dev/zero > cut; exit 0"
            said = self.galley("exec", "--commit", "--file-size", "1mb", "--", "sh", "-c", script, expect=3).stderr.decode()
            self.assertIn("refused: cut reached the limit of 1048576 bytes", said)
            self.assertFalse((self.work / "cut").exists())
        self.assertTrue((self.work / "whole").exists())

    def in_one_transaction(self, *scripts, expect=0):
        """Returns what the last of the commands said."""
        self.galley("begin", expect=0)
        for script in scripts:
            said = self.galley("exec", "--", "sh", "-ec", script, expect=expect)
        return said.stdout.decode()

    def make_repository(self, ignored):
        subprocess.run(["git", "init", "-q"], cwd=self.work, check=True)
        (self.work / ".gitignore").write_text(ignored + "\n")

    def test_a_deleted_output_is_gone_for_the_next_command(self):
        self.make_repository("build/")
        (self.work / "build").mkdir()
        (self.work / "build" / "old.o").touch()
        said = self.in_one_transaction("touch build/x.o build/y.o", "rm build/x.o build/old.o", "ls build; cp -r build copy; rm -r build copy; ls")
        self.assertEqual(said.split("\n", 1)[0], "y.o")
        self.assertNotIn("build", said)

    def test_outputs_do_not_come_back_with_their_folder(self):
        self.make_repository("out/*")
        said = self.in_one_transaction("mkdir out; echo stale > out/old.o; echo k > k", "rm -r out; echo file > out",
                                       "rm out; mkdir out; echo new > out/new.o", "ls out")
        self.assertEqual(said, "new.o\n")

    def test_a_new_folder_with_outputs_keeps_its_mode(self):
        self.make_repository("*.o")
        self.assertEqual(self.in_one_transaction("mkdir -m 700 out; echo o > out/x.o", "stat -c %a out"), "700\n")

    def test_a_folder_in_the_place_of_a_link_can_be_emptied(self):
        (self.work / "x").mkdir()
        (self.work / "b").symlink_to("x")
        self.in_one_transaction("rm b; mkdir -p b/sub; echo hi > b/sub/f", "rm -r b/sub; echo kept > other")
        self.galley("commit", expect=0)
        self.assertEqual((list((self.work / "b").iterdir()), (self.work / "other").read_text()), ([], "kept\n"))

    def test_a_folder_that_was_moved_into_a_deleted_one_stays(self):
        for name in ("d", "moved"):
            (self.work / name).mkdir()
            (self.work / name / "f").write_text(f"{name}\n")
        time.sleep(1)  # the file is older than the command
        command = subprocess.Popen([GALLEY, "-C", self.work, "exec", "--commit", "--", "sh", "-c", "rm -r d; echo > gone; sleep 1; mkdir d"],
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **self.environment})
        time.sleep(0.5)
        (self.work / "moved").rename(self.work / "d" / "moved")
        said = command.communicate(timeout=60)[1]
        self.assertEqual(command.returncode, 1, said)
        self.assertIn(b"changed on disk while the command ran", said)
        self.assertEqual((self.work / "d" / "moved" / "f").read_text(), "moved\n")

    def test_a_file_does_not_grow_without_being_written(self):
        script = "import os\nf = os.open('f', os.O_RDWR | os.O_CREAT)\nos.posix_fallocate(f, 0, 5000)\nprint(os.fstat(f).st_size)"
        self.assertEqual(self.galley("exec", "--begin", "--", "python3", "-c", script, expect=0).stdout, b"5000\n")
        said = self.galley("exec", "--", "fallocate", "-n", "-l", "100M", "f", expect=1).stderr
        self.assertIn(b"unsupported", said)

    def test_a_status_like_that_of_a_limit_is_the_programs_own(self):
        for status in (152, 153):
            said = self.galley("exec", "--begin", "--keep-on-failure", "--", "sh", "-c", f"echo x > f{status}; exit {status}", expect=status)
            self.assertIn(b"1 path staged", said.stderr)

    def test_a_folder_for_temporary_files_in_the_workspace_is_named(self):
        (self.work / "tmp").mkdir()
        said = self.galley("exec", "--begin", "--", "true", env={"TMPDIR": str(self.work / "tmp")}, expect=1)
        self.assertIn(b"TMPDIR is in the workspace", said.stderr)

    def test_a_command_that_is_refused_leaves_no_transaction_of_its_own(self):
        self.galley("exec", "--begin", "--timeout", "200000", "--", "true", expect=2)
        self.assertEqual(list((self.work / ".galley/stage").glob("*")), [])
        self.galley("exec", "--begin", "--", "sh", "-c", "echo a > a; exit 3", expect=3)
        self.galley("exec", "--begin", "--timeout", "200000", "--", "true", expect=2)
        self.assertEqual(len(list((self.work / ".galley/stage").glob("*"))), 1)

    # Limit: kMaxFixedRandomBytes of staging/sandbox/helper/request.h
    def test_deterministic_commands_see_the_same_random_bytes(self):
        self.galley("begin", expect=0)
        line = "head -c 16 /dev/urandom | od -An -tx1; head -c 16 /dev/random | od -An -tx1; head -c 100000 /dev/urandom | wc -c"
        line += "; python3 -c 'import os, uuid; print(os.urandom(16).hex(), uuid.uuid4())'; mktemp -u"
        line += "; cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id"
        # Without libfaketime, programs ask the kernel.
        line += "; env -u LD_PRELOAD python3 -c 'import os; print(os.urandom(16).hex(), os.urandom(16).hex())'"
        first, second = (self.galley("exec", "--deterministic", "--", "sh", "-c", line, expect=0).stdout
                         for _ in range(2))
        self.assertEqual(first, second)
        self.assertIn(b"65536", first.split())
        self.assertNotEqual(first.split()[0:16], [b"00"] * 16)
        drawn = [word for word in first.split() if re.fullmatch(rb"[0-9a-f]{32}", word)]
        self.assertEqual((len(drawn), len(set(drawn)), b"0" * 32 in drawn), (3, 3, False))
        other = self.galley("exec", "--", "sh", "-c", "head -c 16 /dev/urandom | od -An -tx1", expect=0).stdout
        self.assertNotEqual(other.split(), first.split()[:16])

    def test_deterministic_commands_have_the_same_addresses(self):
        self.galley("begin", expect=0)
        line = "cut -d' ' -f1 /proc/self/maps; python3 -c 'print(id(object()), list({object for object in (str, int, dict, set)}))'"
        runs = [self.galley("exec", "--deterministic", "--", "sh", "-c", line, expect=0).stdout for _ in range(3)]
        self.assertEqual(runs, runs[:1] * 3)
        others = {self.galley("exec", "--", "sh", "-c", line, expect=0).stdout for _ in range(3)}
        self.assertGreater(len(others), 1)

    def test_command_rules_apply_to_every_way_to_run_commands(self):
        (self.work / "galley.toml").write_text(
            '[sandbox]\nallow = ["sh", "git", "/usr/bin/env"]\ndeny = ["git push", "env -i"]\n'
            '[agents.bot]\ncapabilities = ["fs:read", "fs:write", "exec:git"]\n')
        self.galley("begin", expect=0)
        self.galley("exec", "--", "sh", "-c", "true", expect=0)
        self.galley("exec", "--", "env", "git", "--version", expect=0)
        self.galley("exec", "--", "env", "true", expect=126)
        for command in (["cat", "docs/bare"], ["git", "push", "x"], ["/usr/bin/git", "push"], ["env", "-i", "true"]):
            self.galley("exec", "--", *command, expect=1)
        call = json.loads(self.galley("--json", "call", "Bash", '{"command": "git", "args": ["push"]}', expect=1).stdout)
        self.assertEqual(call["error"]["reason"], "command.denied")
        self.galley("rollback", expect=0)
        self.galley("--agent", "bot", "begin", expect=0)
        call = json.loads(self.galley("--agent", "bot", "--json", "call", "Bash", '{"command": "true"}', expect=1).stdout)
        self.assertEqual(call["error"]["reason"], "command.no_capability")
        self.galley("--agent", "bot", "call", "Bash", '{"command": "git", "args": ["--version"]}', expect=0)

    def test_a_line_of_the_tool_bash_runs_in_bash(self):
        if not shutil.which("bash"):
            self.skipTest("there is no bash")
        line = "set -o pipefail; words=(o k); [[ 1 == 1 ]] && source <(echo 'echo \"${words[*]}\" > made')"
        self.galley("begin", expect=0)
        self.galley("call", "Bash", json.dumps({"command": line}), expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "made").read_text(), "o k\n")

    def test_a_line_of_the_tool_bash_obeys_the_rules_for_sh(self):
        line = json.dumps({"command": "echo in ${BASH_VERSION:-sh}"})
        (self.work / "galley.toml").write_text('[sandbox]\nallow = ["sh"]\n')
        self.galley("begin", expect=0)
        self.assertIn("in sh", self.galley("call", "Bash", line, expect=0).stdout.decode())
        (self.work / "galley.toml").write_text('[sandbox]\ndeny = ["sh"]\n')
        self.assertIn("'sh' is denied by 'sh'", self.galley("call", "Bash", line, expect=1).stderr.decode())

    def test_allowed_hosts_are_all_that_a_command_reaches(self):
        folder = self.scratch / "served"
        folder.mkdir()
        (folder / "page").write_text("a page\n")
        host = f"127.0.0.2:{serve_files(self, folder, '127.0.0.2')}"
        other = host.replace("127.0.0.2", "127.0.0.3")
        lines = (f"curl -sS http://{host}/page; curl -sSp http://{host}/page; curl -sS http://{other}/page; "
                 f"curl -sS --noproxy '*' http://{host}/page; cat /proc/net/dev | wc -l")
        command = ["exec", "--allow-host", host, "--", "sh", "-c", lines]
        self.galley("begin", expect=0)
        self.assertIn(b"sandbox.network = true", self.galley(*command, expect=1).stderr)
        (self.work / "galley.toml").write_text("[sandbox]\nnetwork = true\n")
        self.galley("trust", expect=0)
        ran = self.galley(*command, expect=0)
        refusal = f"{other} is not an allowed host: allow it with --allow-host {other}\n"
        self.assertEqual(ran.stdout.decode(), f"a page\na page\ngalley: {refusal}3\n")
        self.assertIn(refusal, ran.stderr.decode())
        self.assertIn(b"Couldn't connect", ran.stderr)
        self.assertIn(b"is not a host", self.galley("exec", "--allow-host", "https://a.org/", "--", "true", expect=2).stderr)
        self.galley("exec", "--network", "--allow-host", "a.org", "--", "true", expect=2)
        said = self.galley("run", "--drop", "--allow-host", host, "--", "sh", "-c", lines, expect=0)
        self.assertIn(refusal, said.stderr.decode())
        self.assertEqual(said.stdout.count(b"a page"), 2)

    def test_an_allowed_host_may_be_this_machine(self):
        folder = self.scratch / "served"
        folder.mkdir()
        (folder / "page").write_text("a page\n")
        port = serve_files(self, folder, "127.0.0.1")
        (self.work / "galley.toml").write_text("[sandbox]\nnetwork = true\n")
        self.galley("trust", expect=0)
        self.galley("begin", expect=0)
        for host, other in (("localhost", "127.0.0.1"), ("127.0.0.1", "localhost")):
            with self.subTest(host=host):
                lines = f"curl -sS http://{host}:{port}/page; echo $NO_PROXY"
                ran = self.galley("exec", "--allow-host", f"{host}:{port}", "--", "sh", "-c", lines, expect=0)
                self.assertEqual(ran.stdout.decode(), f"a page\n{other},::1\n")
        ran = self.galley("exec", "--allow-host", f"*.localhost:{port}", "--", "sh", "-c", "echo $NO_PROXY", expect=0)
        self.assertEqual(ran.stdout, b"localhost,127.0.0.1,::1\n")

    def test_refused_effects_are_not_ok(self):
        for options in (["--begin"], ["--commit"]):
            ran = self.galley("--json", "exec", *options, "--", "sh", "-c", "mkfifo pipe; echo x > made", expect=1)
            said = json.loads(ran.stdout)
            self.assertEqual((said["ok"], said["reason"], said["staged"]), (False, "command.effects", False))
            self.assertIn("'pipe'", said["message"])

    def test_programs_of_a_call_have_the_memory_of_their_tool(self):
        self.galley("begin", expect=0)
        line = ("for i in 1 2; do python3 -c 'import time; x = bytearray(700 << 20); time.sleep(600)' & done; "
                "wait")
        call = json.loads(self.galley("--json", "call", "Bash", json.dumps({"command": line}), expect=1).stdout)
        self.assertEqual((call["error"]["code"], call["error"]["reason"]), ("EQUOTA", "sandbox.quota_memory"))

    def test_a_call_narrows_what_its_commands_may_start_and_do(self):
        self.galley("begin", expect=0)
        line = json.dumps({"command": "cat ../docs/bare; echo $LANGUAGE > made"})
        allowed = ["--cwd", "src", "--env", "LANGUAGE=fr", "--program", "sh", "--session", "s-1"]
        (self.work / "src").mkdir(exist_ok=True)
        call = json.loads(self.galley("--json", "call", *allowed, "Bash", line, expect=0).stdout)
        self.assertIn("cat", call["data"]["stderr"])
        self.assertEqual(call["data"]["stdout"], "")
        self.assertEqual(set(self.staged()), {"src/made"})
        self.assertGreater(call["meta"]["peakMemoryBytes"], 0)
        for options, reason in ((["--program", "cat"], "capability.missing"),
                                (["--capability", "fs:read"], "capability.missing"),
                                (["--capability", "exec:*"], "capability.missing"),
                                (["--env", "PATH=/tmp"], "call.environment"),
                                (["--cwd", "nowhere"], "call.cwd"),
                                (["--cwd", "/etc"], "path.outside")):
            call = json.loads(self.galley("--json", "call", *options, "Bash", '{"command": "echo x > other"}').stdout)
            self.assertEqual(call["error"]["reason"], reason, options)
        self.assertEqual(set(self.staged()), {"src/made"})
        self.galley("call", "--env", "novalue", "Bash", "{}", expect=2)
        records = [json.loads(one) for one in (self.work / ".galley/audit.jsonl").read_text().splitlines()]
        context = [one["context"] for one in records if one.get("session_id") == "s-1" and one["kind"] == "call"]
        self.assertEqual(context, [{"cwd": "src", "environment": {"LANGUAGE": "fr"}, "only_programs": ["sh"]}])


class OneId(SystemCase):
    def test_a_copy_in_a_user_namespace_with_one_id_names_the_way_out(self):
        need_own_mounts()
        (self.work / "galley.toml").write_text('[sandbox]\nfallback = "copy"\n')
        told = subprocess.run(["unshare", "-Urmpf", "--mount-proc", GALLEY, "-C", self.work, "exec", "--begin", "--", "true"],
                              capture_output=True, check=False, env={**os.environ, **self.environment})
        self.assertNotEqual(told.returncode, 0)
        self.assertIn(b"run galley outside", told.stderr)

    def test_a_run_of_root_in_a_user_namespace_names_the_way_out(self):
        self.need_walls()
        environment = {**os.environ, **self.environment}
        line = ["sh", "-c", 'exec unshare "$1" -m "$2" -C "$3" run --drop -- true', "sh"]
        told = subprocess.run([*line, "-Ur", GALLEY, self.work], capture_output=True, check=False, env=environment)
        self.assertIn(b"unshare --map-current-user", told.stderr)
        self.assertNotIn(b"unprivileged_userns_clone", told.stderr)
        if os.geteuid() != 0:
            told = subprocess.run([*line, "--map-current-user", GALLEY, self.work], capture_output=True, check=False,
                                  env=environment)
            self.assertEqual(told.returncode, 0, told.stderr)


if __name__ == "__main__":
    hostile.main()
