"""Bad input: one clear message, the right exit status, and an unchanged tree."""

import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from support import GALLEY, PATCHES, SystemCase, need_own_mounts, snapshot

GOOD = PATCHES / "good" / "01-discounts.patch"

# The exit statuses that each hostile patch may have: 1 refused, 2 malformed.
HOSTILE = {
    "absolute.patch": (1, 2), "bad-binary.patch": (1, 2), "create-existing.patch": (1,),
    "directory.patch": (1,), "empty.patch": (1, 2), "galley-directory.patch": (1, 2),
    "garbage.patch": (2,), "git-directory.patch": (1, 2), "git-directory-case.patch": (1, 2),
    "huge-counts.patch": (1, 2), "huge-start.patch": (1, 2), "long-name.patch": (1, 2),
    "missing-file.patch": (1,), "name-with-nul.patch": (1, 2), "nested-git-directory.patch": (1, 2),
    "no-patch.patch": (2,), "parent-directory.patch": (1, 2), "parent-inside.patch": (1, 2),
    "sage-directory.patch": (1, 2), "second-file-fails.patch": (1,), "symlink-outside.patch": (1, 2),
    "through-new-symlink.patch": (1, 2), "through-symlink.patch": (1,), "truncated.patch": (1, 2),
}  # fmt: skip


def one_line_patch(path, before=b"", after=b"owned\n"):
    lines = before.count(b"\n")
    start = b"@@ -0,0 +1 @@\n" if not before else b"@@ -1,%d +1 @@\n" % lines
    old = b"/dev/null" if not before else b"a/" + path
    removed = b"".join(b"-" + line + b"\n" for line in before.splitlines())
    return b"--- " + old + b"\n+++ b/" + path + b"\n" + start + removed + b"+" + after


class BadInput(SystemCase):
    def assert_refused(self, *arguments, expect, **options):
        before = self.everything()
        result = self.galley(*arguments, expect=expect, **options)
        self.assert_one_clear_message(result)
        self.assertEqual(self.everything(), before)
        return result

    def everything(self):
        """Returns the whole scratch folder. The root's own time may change, because a refusal is
        recorded in .galley."""
        found = snapshot(self.scratch, with_times=True)
        found["work"] = found["work"][:2]
        return found

    def test_every_hostile_patch_is_listed(self):
        self.assertEqual(set(HOSTILE), {path.name for path in (PATCHES / "hostile").iterdir()})

    def test_hostile_patches_change_nothing(self):
        (self.work / ".git").mkdir()
        (self.work / ".git" / "config").write_text("[core]\n")
        for name, statuses in HOSTILE.items():
            for command in ("preview", "apply"):
                with self.subTest(patch=name, command=command):
                    self.assert_refused(command, PATCHES / "hostile" / name, expect=statuses)
                    self.assertEqual((self.work / ".git" / "config").read_text(), "[core]\n")
                    self.assertFalse(Path("/etc/galley-escaped.txt").exists())

    def test_missing_patch_file_or_directory_is_an_error(self):
        self.assert_refused("apply", "no-such.patch", expect=(1, 2, 3))
        self.assert_refused("apply", str(self.work), expect=(1, 2, 3))

    def test_unknown_command_and_option_are_errors(self):
        self.assert_refused("aply", GOOD, expect=2)
        self.assert_refused("apply", "--no-such-option", GOOD, expect=2)
        self.assert_refused("apply", "--format", "no-such-format", GOOD, expect=2)

    def test_missing_workspace_is_an_error(self):
        result = self.assert_refused("apply", GOOD, work=self.scratch / "none", expect=(1, 2, 3))
        self.assertIn(b"none", result.stderr)

    def test_workspace_that_is_a_file_is_an_error(self):
        self.assert_refused("apply", GOOD, work=self.work / "README.md", expect=(1, 2, 3))

    def test_broken_configuration_names_line_and_column(self):
        (self.work / "galley.toml").write_text("[policy]\ndefault = \n")
        result = self.assert_refused("apply", GOOD, expect=2)
        self.assertRegex(result.stderr, rb"galley\.toml:2:\d+")

    def test_unknown_key_gets_a_suggestion(self):
        (self.work / "galley.toml").write_text('[policy]\ndefualt = "allow"\n')
        result = self.assert_refused("apply", GOOD, expect=2)
        self.assertIn(b"default", result.stderr)

    def test_without_configuration_the_promises_still_hold(self):
        (self.work / "galley.toml").unlink()
        self.galley("apply", GOOD, expect=0)
        self.assert_refused("apply", PATCHES / "hostile" / "parent-directory.patch", expect=(1, 2))

    def test_fifo_device_and_socket_are_refused(self):
        os.mkfifo(self.work / "pipe")
        result = self.assert_refused("apply", "-", stdin=one_line_patch(b"pipe", b"x\n"), expect=1)
        self.assertIn(b"pipe", result.stderr)

    def test_directory_where_a_file_is_named(self):
        result = self.assert_refused("apply", "-", stdin=one_line_patch(b"src", b"x\n"), expect=1)
        self.assertIn(b"src", result.stderr)

    def test_file_where_a_directory_is_named(self):
        self.assert_refused("apply", "-", stdin=one_line_patch(b"README.md/x"), expect=1)

    def test_file_of_more_than_a_gigabyte(self):
        with open(self.work / "huge.bin", "wb") as file:
            file.truncate((1 << 30) + 1)
        before = os.stat(self.work / "huge.bin").st_mtime_ns
        result = self.galley("apply", "-", stdin=one_line_patch(b"huge.bin", b"x\n"), expect=(1, 3))
        self.assert_one_clear_message(result)
        self.assertEqual(os.stat(self.work / "huge.bin").st_mtime_ns, before)

    def test_invalid_utf8_is_kept_or_refused_never_changed(self):
        raw = b"caf\xe9\nline\n"
        (self.work / "latin1.txt").write_bytes(raw)
        self.assert_refused("apply", "-", stdin=one_line_patch(b"new.txt", after=b"caf\xe9\n"), expect=1)
        (self.work / "galley.toml").unlink()
        patch = b"--- a/latin1.txt\n+++ b/latin1.txt\n@@ -1,2 +1,2 @@\n caf\xe9\n-line\n+LINE\n"
        self.galley("apply", "-", stdin=patch, expect=0)
        self.assertEqual((self.work / "latin1.txt").read_bytes(), b"caf\xe9\nLINE\n")

    def test_bytes_of_another_encoding_do_not_go_into_a_utf8_file(self):
        (self.work / "galley.toml").unlink()
        utf8 = "été\nb\n".encode()
        (self.work / "utf8.txt").write_bytes(utf8)
        for document in (b"utf8.txt\n<<<<<<< SEARCH\nb\n=======\nth\xe9\n>>>>>>> REPLACE\n",
                         b"*** Begin Patch\n*** Update File: utf8.txt\n@@\n-b\n+th\xe9\n*** End Patch\n",
                         b"--- a/utf8.txt\n+++ b/utf8.txt\n@@ -2 +2 @@\n-b\n+th\xe9\n"):
            result = self.galley("apply", "-", stdin=document, expect=1)
            self.assertIn(b"patch.encoding", result.stdout + result.stderr)
            self.assertEqual((self.work / "utf8.txt").read_bytes(), utf8)
        # A patch may convert all letters of the file.
        convert = b"--- a/utf8.txt\n+++ b/utf8.txt\n@@ -1,2 +1,2 @@\n-" + utf8[:-2] + b"+\xe9t\xe9\n b\n"
        self.galley("apply", "-", stdin=convert, expect=0)
        self.assertEqual((self.work / "utf8.txt").read_bytes(), b"\xe9t\xe9\nb\n")

    def test_second_committer_waits_and_then_gives_up(self):
        self.galley("apply", GOOD, expect=0)
        (self.work / "galley.toml").write_text("[commit]\nlock_timeout_ms = 200\n")
        with open(self.work / ".galley" / "lock", "rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assert_refused("undo", expect=(1, 3))
        self.galley("undo", expect=0)

    def test_json_errors_are_one_document(self):
        for name in ("no-patch.patch", "parent-directory.patch", "second-file-fails.patch"):
            with self.subTest(patch=name):
                result = self.galley("--json", "apply", PATCHES / "hostile" / name, expect=(1, 2))
                document = json.loads(result.stdout)
                self.assertIn("reason", document.get("error", document))

    def test_call_with_bad_json_or_unknown_tool(self):
        for arguments in (("call", "Write", "{"), ("call", "no_such_tool", "{}"), ("call", "Write", "[]")):
            with self.subTest(arguments=arguments):
                self.galley("begin", expect=0)
                before = snapshot(self.work, with_times=True)
                result = self.galley(*arguments, expect=(1, 2))
                self.assert_one_clear_message(result)
                self.assertEqual(snapshot(self.work, with_times=True), before)
                self.galley("rollback", expect=0)


class WaysOut(SystemCase):
    """The message names what leads on, and that works."""

    def write(self, path, text):
        (self.work / path).write_bytes(text if isinstance(text, bytes) else text.encode())

    def edit(self, path, old, new, expect):
        arguments = json.dumps({"file_path": path, "old_string": old, "new_string": new})
        return self.galley("call", "Edit", arguments, expect=expect)

    def test_an_empty_file(self):
        """An empty old text names its whole content."""
        self.write("e.txt", "")
        self.galley("begin", expect=0)
        self.edit("e.txt", "", "text\n", expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "e.txt").read_text(), "text\n")
        self.edit("e.txt", "", "other\n", expect=1)

    def test_a_patch_in_utf_16(self):
        self.write("f", "a\n")
        patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
        for encoding in ("utf-16", "utf-16-be"):
            mark = "\ufeff" if encoding.endswith("be") else ""
            said = self.galley("apply", stdin=(mark + patch).encode(encoding), expect=2)
            self.assertIn(b"the document is UTF-16; convert it", said.stderr)

    def test_a_patch_behind_a_byte_order_mark(self):
        self.write("f", "a\n")
        patch = ("diff --git a/f b/g\nold mode 100644\nnew mode 100755\nrename from f\nrename to g\n--- a/f\n+++ b/g\n"
                 "@@ -1 +1 @@\n-a\n+b\n")
        said = self.galley("apply", stdin=("\ufeff" + patch).encode(), expect=0)
        self.assertNotIn(b"note:", said.stderr)
        self.assertFalse((self.work / "f").exists())
        self.assertEqual(((self.work / "g").read_text(), (self.work / "g").stat().st_mode & 0o777), ("b\n", 0o755))
        shown = "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-b\n+\ufeffc\n"
        self.assertNotIn(b"note:", self.galley("apply", stdin=("\ufeff" + shown).encode(), expect=0).stderr)
        self.assertEqual((self.work / "g").read_text(), "\ufeffc\n")

    def test_a_series_in_the_wrong_order(self):
        self.write("f.txt", "".join(f"{n}\n" for n in range(30)))
        move = "diff --git a/f.txt b/g.txt\nsimilarity index 100%\nrename from f.txt\nrename to g.txt\n"
        edit = "diff --git a/f.txt b/f.txt\n--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n-0\n+zero\n 1\n"
        mails = [f"commit {digit * 40}\n\n    message\n\n{patch}\n" for digit, patch in (("b", move), ("a", edit))]
        said = self.galley("apply", stdin="".join(mails).encode(), expect=1)
        self.assertIn(b"are its patches in order, the oldest first?", said.stderr)
        self.galley("apply", stdin="".join(reversed(mails)).encode(), expect=0)
        self.assertTrue((self.work / "g.txt").read_text().startswith("zero\n"))

    def test_a_limit_of_file_sizes(self):
        self.write("f", "a\n")
        document = json.dumps({"path": "big", "content": "x" * 5_000_000})
        limit = lambda: (resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)), signal.signal(signal.SIGXFSZ, signal.SIG_DFL))
        said = self.galley("apply", stdin=document.encode(), expect=3, preexec_fn=limit)
        self.assertIn(b"File too large", said.stderr)
        self.galley("begin", expect=0)
        said = self.galley("exec", "--file-size", "1mb", "--", "sh", "-c", "head -c 3000000 /dev/zero > big", expect=(1, 3, 153))
        self.assertIn(b"larger than the limit", said.stderr)

    def test_a_folder_with_a_repository(self):
        self.git("init", "-q", "sub")
        self.galley("begin", expect=0)
        said = self.galley("call", "Delete", json.dumps({"path": "sub", "recursive": True}), expect=1)
        self.assertIn(b"has a protected entry ('.git' or '.galley')", said.stdout + said.stderr)

    def test_a_conflict_about_the_last_line_end(self):
        self.write("f", "a\nb\nc")
        self.galley("begin", expect=0)
        document = json.dumps({"path": "f", "edits": [{"oldText": "c", "newText": "c\nd"}]})
        self.galley("stage", stdin=document.encode(), expect=0)
        self.write("f", "a\nb\nc\n")
        said = self.galley("commit", expect=1)
        self.assertIn(b"base      c (no newline at its end)\n    workspace c\n", said.stderr)


class Environment(SystemCase):
    """Errors of the machine: permissions, space, a read-only disk."""

    def test_read_only_directory_as_an_unprivileged_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become somebody else")
        os.chmod(self.scratch, 0o755)
        for folder, folders, files in os.walk(self.work):
            os.chown(folder, 65534, 65534)
            for name in files:
                os.lchown(os.path.join(folder, name), 65534, 65534)
        os.chmod(self.work / "parcels", 0o555)
        before = snapshot(self.work, with_times=True)
        # The program may be in a folder that other users cannot read.
        program = self.scratch / "galley"
        shutil.copy(GALLEY, program)
        patch = self.scratch / "good.patch"
        shutil.copy(GOOD, patch)
        os.chmod(patch, 0o644)
        result = subprocess.run(
            [program, "-C", self.work, "apply", patch], capture_output=True, check=False,
            user=65534, group=65534, extra_groups=[], cwd="/")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(b"parcels", result.stderr)
        self.assert_one_clear_message(result)
        self.assertEqual(snapshot(self.work, with_times=True), before)

    def test_a_search_leaves_out_what_the_user_may_not_read_and_names_it(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become somebody else")
        os.chmod(self.scratch, 0o755)
        shutil.rmtree(self.work)
        (self.work / "closed" / "inner").mkdir(parents=True)
        (self.work / "open").mkdir()
        for name in ("open/a.py", "open/closed.py", "closed/b.py"):
            (self.work / name).write_text("import needle\n")
        for path in (self.work, self.work / "open", self.work / "open" / "a.py"):
            os.chown(path, 65534, 65534)
        os.chmod(self.work / "closed", 0o700)
        os.chmod(self.work / "open" / "closed.py", 0o600)
        program = self.scratch / "galley"
        shutil.copy(GALLEY, program)
        home = self.scratch / "home"
        home.mkdir()
        os.chown(home, 65534, 65534)

        def call(tool, expect=0, **arguments):
            ran = subprocess.run(
                [program, "-C", self.work, "--json", "call", "--profile", "mcp-fs" if "_" in tool else "native", tool,
                 json.dumps(arguments)],
                capture_output=True, check=False, user=65534, group=65534, extra_groups=[], cwd="/",
                env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home)})
            self.assertEqual(ran.returncode, expect, ran.stdout + ran.stderr)
            return json.loads(ran.stdout)

        subprocess.run([program, "-C", self.work, "begin"], check=True, capture_output=True, user=65534, group=65534,
                       extra_groups=[], cwd="/", env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home)})
        closed = "left out, because you may not read it: "
        found = call("Grep", pattern="needle")
        self.assertEqual(found["data"]["filenames"], ["open/a.py"])
        self.assertEqual(found["meta"]["warnings"], [closed + "closed, open/closed.py"])
        found = call("Glob", pattern="*.py")
        self.assertEqual(found["data"]["filenames"], ["open/a.py", "open/closed.py"])
        self.assertEqual(found["meta"]["warnings"], [closed + "closed"])
        self.assertNotIn("warnings", call("Glob", pattern="*.py", path="open")["meta"])
        self.assertEqual(call("directory_tree", path=".")["meta"]["warnings"], [closed + "closed"])
        # What a call names must be readable, and the error says what is not.
        for tool, arguments in (("Grep", {"pattern": "needle", "path": "closed"}),
                                ("Grep", {"pattern": "needle", "path": "open/closed.py"})):
            refused = call(tool, expect=1, **arguments)["error"]
            self.assertIn(arguments["path"], refused["message"])

    def in_small_file_system(self, script, size):
        need_own_mounts()
        mount = self.scratch / "small"
        mount.mkdir()
        whole = f"mount -t tmpfs -o size={size} small {mount} && cp -a {self.work}/. {mount} && cd {mount} && {script}"
        return subprocess.run(["unshare", "-Urm", "sh", "-c", whole], capture_output=True, check=False)

    def test_full_disk(self):
        patch = self.scratch / "big.patch"
        line = b"+" + b"x" * 99 + b"\n"
        patch.write_bytes(b"--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,20000 @@\n" + line * 20000)
        state = "find . -path ./.galley -prune -o -type f -print0 | sort -z | xargs -0 sha256sum"
        result = self.in_small_file_system(
            f"{state} > {self.scratch}/before; {GALLEY} apply {patch} 2> {self.scratch}/said > /dev/null; "
            f"echo $?; {state} > {self.scratch}/after; {GALLEY} apply {GOOD} > /dev/null; echo $?", "1m")
        statuses = result.stdout.split()
        self.assertEqual(statuses[0], b"3", result.stderr)
        self.assertEqual(statuses[1], b"0", result.stderr)
        said = (self.scratch / "said").read_text()
        self.assertIn("No space left", said)
        self.assertIn(f"{self.scratch}/small/.galley/", said)
        self.assertEqual((self.scratch / "before").read_text(), (self.scratch / "after").read_text())

    def test_read_only_file_system(self):
        result = self.in_small_file_system(
            f"mount -o remount,bind,ro . && {GALLEY} apply {GOOD}; echo $?", "4m")
        self.assertEqual(result.stdout.split()[-1], b"3", result.stderr)
        self.assertIn(b"ead-only", result.stderr)


if __name__ == "__main__":
    unittest.main()
