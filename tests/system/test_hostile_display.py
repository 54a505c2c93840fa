"""A person sees what is really there: no character hides, no text forges a line, no denied file is
shown."""

import base64
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

import hostile
from support import GALLEY

# Pairs: the text in a file, a name or a message, and its form on a terminal.
HIDDEN = [
    ("\u202e", "<U+202E>"), ("\u2066", "<U+2066>"), ("\u2069", "<U+2069>"), ("\u200e", "<U+200E>"),
    ("\u061c", "<U+061C>"), ("\u200b", "<U+200B>"), ("\u200d", "<U+200D>"), ("\u2060", "<U+2060>"),
    ("\ufeff", "<U+FEFF>"), ("\u00ad", "<U+00AD>"), ("\u3164", "<U+3164>"), ("\uffa0", "<U+FFA0>"),
    ("\U000e0041", "<U+E0041>"), ("\u009b", "<U+009B>"), ("\x1b", "\\x1b"), ("\x07", "\\x07"),
    ("\x7f", "\\x7f"), ("\udcff", "\\xff"), ("\r", "^M"),
]
RAW = "x".join(raw for raw, _ in HIDDEN) + "[8mend"
SHOWN = "x".join(shown for _, shown in HIDDEN) + "[8mend"
RAW_BYTES = RAW.encode("utf-8", "surrogateescape")
FORGED = "transaction 77  2026-01-01T00:00:00Z  by admin"


class Display(hostile.HostileCase):
    def setUp(self):
        super().setUp()
        self.environment["PAGER"] = "cat"
        self.write("galley.toml", "")  # its validators would refuse invalid UTF-8
        self.file = self.work / "evil.txt"
        self.file.write_bytes(b"one\ntwo\nthree\n")
        self.patch = (b"--- a/evil.txt\n+++ b/evil.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+" + RAW_BYTES + b"\n three\n")

    def on_terminal(self, *arguments, stdin=b"", answer=None, env=None, stderr=False):
        """Runs the program with stdout (or all three streams) on a pseudo-terminal. Returns the
        output there."""
        master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST  # the terminal itself changes no byte
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm", "PAGER": "cat", "NO_COLOR": "1",
                       **self.environment, **(env or {})}

        def take_terminal():
            os.setsid()
            if answer is not None:  # only a question needs a controlling terminal: when the leader of its
                fcntl.ioctl(slave, termios.TIOCSCTTY, 0)  # session exits, the kernel drops unread output

        process = subprocess.Popen(
            [GALLEY, "-C", str(self.work), *map(str, arguments)], env=environment, stdout=slave,
            stdin=subprocess.PIPE, preexec_fn=take_terminal, pass_fds=[slave],
            stderr=slave if stderr or answer is not None else subprocess.PIPE)
        os.close(slave)
        process.stdin.write(stdin)
        process.stdin.close()
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
            if answer is not None and shown.endswith(b"[y/N/d] "):
                os.write(master, answer)
        os.close(master)
        if process.stderr is not None:
            process.stderr.read()
            process.stderr.close()
        return process.wait(), shown

    def commit_evil(self, *options):
        self.galley(*options, "apply", "-", stdin=self.patch, expect=0)

    def assert_visible(self, shown):
        text = shown.decode("utf-8", "surrogateescape")
        self.assertIn(SHOWN, text)
        for raw, _ in HIDDEN:
            self.assertNotIn(raw, text, f"{raw!r} reached the terminal")

    # --- contents ---------------------------------------------------------------------------

    def test_a_diff_on_a_terminal_shows_every_character(self):
        status, shown = self.on_terminal("preview", "-", stdin=self.patch)
        self.assertEqual(status, 0)
        self.assert_visible(shown)
        _, shown = self.on_terminal("preview", "-", "--word-diff", stdin=self.patch)
        for raw, escape in HIDDEN:
            self.assertIn(escape.encode(), shown)
            self.assertNotIn(raw.encode("utf-8", "surrogateescape"), shown)

    def test_pipes_and_raw_get_exact_bytes(self):
        self.assertIn(b"\n+" + RAW_BYTES + b"\n", self.galley("preview", "-", stdin=self.patch, expect=0).stdout)
        _, shown = self.on_terminal("--raw", "preview", "-", stdin=self.patch)
        self.assertIn(b"\n+" + RAW_BYTES + b"\n", shown)

    def test_colour_marks_what_was_escaped(self):
        self.file.write_bytes(b"one\n<U+202E>\n")
        patch = "--- a/evil.txt\n+++ b/evil.txt\n@@ -1,2 +1,2 @@\n-one\n+\u202e\n <U+202E>\n".encode()
        _, shown = self.on_terminal("--color=always", "preview", "-", stdin=patch)
        self.assertIn(b"\x1b[7m<U+202E>\x1b[27m", shown)
        self.assertIn(b"\n <U+202E>", shown)

    def test_the_pager_is_a_terminal_too(self):
        lines = b"".join(b"+" + RAW_BYTES + b"\n" for _ in range(60))
        patch = b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,60 @@\n" + lines
        paged = self.scratch / "paged"
        for name in ("GALLEY_PAGER", "PAGER"):
            self.on_terminal("preview", "-", stdin=patch, env={name: f"cat > {paged}"})
            self.assert_visible(paged.read_bytes())

    def test_show_diff_blame_and_undo_show_every_character(self):
        self.commit_evil()
        for arguments in (("show",), ("blame", "evil.txt"), ("undo", "--dry-run")):
            with self.subTest(arguments=arguments):
                status, shown = self.on_terminal(*arguments)
                self.assertEqual(status, 0)
                self.assert_visible(shown)
                self.assertIn(RAW_BYTES, self.galley(*arguments, expect=0).stdout)
        tx = self.galley("begin", expect=0).stdout.decode().strip()
        call = json.dumps({"file_path": "new.txt", "content": "a\u202eb\u200bc\x1b"})
        self.galley("call", "--tx", tx, "Write", call, expect=0)
        _, shown = self.on_terminal("diff", "--tx", tx)
        self.assertIn(b"+a<U+202E>b<U+200B>c\\x1b", shown)
        self.assertIn("+a\u202eb\u200bc\x1b".encode(), self.galley("diff", "--tx", tx, expect=0).stdout)

    def test_a_carriage_return_before_a_line_end_is_shown(self):
        patch = b"--- a/evil.txt\n+++ b/evil.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+two\r\n three\n"
        _, shown = self.on_terminal("preview", "-", stdin=patch)
        self.assertIn(b"\n+two^M\n", shown)
        _, shown = self.on_terminal("--color=always", "preview", "-", stdin=patch)
        self.assertNotIn(b"\r", shown)

    def test_json_on_a_terminal_is_ascii_and_exact(self):
        self.commit_evil("--reason", "a\u202eb\x9bc")
        _, shown = self.on_terminal("--json", "log")
        self.assertTrue(shown.isascii())
        self.assertNotIn(b"\x1b", shown)
        self.assertEqual(json.loads(shown)["transactions"][0]["message"], "a\u202eb\x9bc")

    def test_names_are_quoted_in_diffs_and_summaries(self):
        patch = "--- /dev/null\n+++ b/in\u202evoice.txt\n@@ -0,0 +1 @@\n+x\n".encode()
        for options in ((), ("--stat",), ("--name-status",), ("--numstat",)):
            for shown in (self.on_terminal("preview", "-", *options, stdin=patch)[1],
                          self.galley("preview", "-", *options, stdin=patch, expect=0).stdout):
                self.assertIn(b"in\\342\\200\\256voice.txt", shown)
                self.assertNotIn("\u202e".encode(), shown)

    def test_a_finding_and_a_conflict_cannot_control_the_terminal(self):
        self.write("galley.toml", '[[validator]]\nname = "j"\nbuiltin = "json"\n')
        patch = ('--- /dev/null\n+++ b/in\u202e\u200b.json\n@@ -0,0 +1 @@\n+{"a\u202e": \x1b[8m}\n').encode()
        status, shown = self.on_terminal("preview", "--stat", "-", stdin=patch, stderr=True, answer=None)
        self.assertEqual(status, 1)
        self.assertIn(b"json", shown)
        self.assertNotIn("\u202e".encode(), shown)
        self.assertNotIn(b"\x1b", shown)

    def test_the_question_before_a_commit_shows_every_character(self):
        self.write("galley.toml", '[[policy.rule]]\nname = "r"\npaths = ["*.txt"]\ndecision = "ask"\n'
                                  'reason = "look\\u202E\\u001b[8m\\nCommit proposal"\n')
        (self.scratch / "p").write_bytes(self.patch)
        status, shown = self.on_terminal("apply", self.scratch / "p", answer=b"n\n")
        self.assertEqual(status, 1)
        self.assertIn(b"look<U+202E>\\x1b[8m\\nCommit proposal", shown)
        self.assertNotIn(b"\x1b[8m", shown)
        self.assertEqual(self.file.read_bytes(), b"one\ntwo\nthree\n")

    # --- lines --------------------------------------------------------------------------------

    def test_an_agent_and_a_reason_cannot_forge_a_line(self):
        evil = f"good\n{FORGED}\r\n\u2028{FORGED}"
        self.commit_evil("--agent", evil, "--reason", evil)
        self.galley("--agent", evil, "--reason", evil, "begin", expect=0)
        for arguments in (("log",), ("show",), ("status",), ("blame", "evil.txt"), ("undo", "--dry-run"),
                          ("query", "SELECT agent, message FROM transactions")):
            with self.subTest(arguments=arguments):
                result = self.galley(*arguments, expect=0)
                for line in (result.stdout + result.stderr).splitlines():
                    self.assertFalse(line.lstrip().startswith(b"transaction 77 "), line)
        exact = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"][0]
        self.assertEqual((exact["agent"], exact["message"]), (evil, evil))
        exported = self.galley("audit", "export", "aios", expect=0).stdout
        for line in exported.split(b"\n")[:-1]:
            json.loads(line)

    def test_names_cannot_forge_a_line_on_stderr(self):
        self.galley("begin", expect=0)
        evil = "x\ngalley: committed 77\r\x1b[2K"
        quoted = '"a/x\\ngalley: committed 77"'
        patch = f"--- {quoted}\n+++ {quoted}\n@@ -1 +1 @@\n-a\n+b\n".encode()
        for arguments, stdin in ((("savepoint", evil), b""), (("rollback", "--to", evil), b""),
                                 (("apply", "-"), patch), (("blame", evil), b""), (("show", evil), b""),
                                 (("call", evil, "{}"), b""), (("call", "Read", json.dumps({"path": evil})), b""),
                                 (("--config", evil, "log"), b""), ((evil,), b"")):
            with self.subTest(arguments=arguments):
                result = self.galley(*arguments, stdin=stdin)
                self.assertNotIn(b"\x1b", result.stderr)
                for line in result.stderr.splitlines():
                    self.assertFalse(line.startswith(b"galley: committed 77"), line)

    def test_every_character_of_a_commands_output_is_shown(self):
        self.need_walls()
        tx = self.galley("begin", expect=0).stdout.decode().strip()
        script = r"printf 'a\342\200'; printf '\256b\033[8mc\377\n'"
        _, shown = self.on_terminal("exec", "--tx", tx, "--", "sh", "-c", script)
        self.assertIn(b"a<U+202E>b\\x1b[8mc\\xff\n", shown)
        result = self.galley("exec", "--tx", tx, "--", "sh", "-c", script, expect=0)
        self.assertEqual(result.stdout, b"a\xe2\x80\xaeb\x1b[8mc\xff\n")
        _, shown = self.on_terminal("--raw", "exec", "--tx", tx, "--", "sh", "-c", script)
        self.assertEqual(shown, result.stdout)


class FullOutput(hostile.HostileCase):
    def to_full(self, *arguments, stdin=b""):
        with open("/dev/full", "wb") as full:
            return subprocess.run([GALLEY, "-C", str(self.work), *map(str, arguments)], input=stdin, stdout=full,
                                  stderr=subprocess.PIPE, env={**os.environ, **self.environment}, check=False)

    def test_every_command_that_cannot_write_its_result_fails(self):
        good = b"--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+x\n"
        bad = b"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n"
        self.galley("apply", "-", stdin=good, expect=0)
        tx = self.galley("begin", expect=0).stdout.decode().strip()
        self.galley("call", "Write", '{"file_path": "w.txt", "content": "w"}', expect=0)
        texts = [("log",), ("show",), ("status",), ("blame", "n.txt"), ("diff",), ("doctor",), ("tools", "list"),
                 ("tools", "show", "Write"), ("audit", "verify"), ("audit", "export", "aios"), ("--help",),
                 ("--version",), ("policy", "explain", "x"), ("query", "SELECT 1"), ("begin",), ("validate", "--tx", tx),
                 ("fork", "--tx", tx), ("init", "--dry-run"), ("call", "--tx", tx, "List", '{"path": "."}'),
                 ("undo", "--dry-run")]
        for arguments in texts:
            with self.subTest(arguments=arguments):
                result = self.to_full(*arguments)
                self.assertEqual(result.returncode, 3, result.stderr)
        for arguments, stdin in ((("preview", "-"), bad), (("apply", "-"), bad), (("show", "99"), b""),
                                 (("blame", "none"), b""), (("commit", "--proposal", "0" * 64), b""), (("no-command",), b""),
                                 (("undo", "99"), b""), (("rollback", "--to", "none"), b""), (("log",), b""),
                                 (("gc",), b""), (("recover",), b""), (("rescue", "list"), b"")):
            with self.subTest(arguments=arguments, json=True):
                result = self.to_full("--json", *arguments, stdin=stdin)
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertIn(b"standard output", result.stderr)

    def test_the_outcome_of_a_commit_is_reported_on_stderr(self):
        for number, options in enumerate(((), ("--json",))):
            patch = f"--- /dev/null\n+++ b/n{number}.txt\n@@ -0,0 +1 @@\n+x\n".encode()
            result = self.to_full(*options, "apply", "-", stdin=patch)
            self.assertEqual(result.returncode, 3)
            newest = json.loads(self.galley("--json", "log", "-n", "1", expect=0).stdout)["transactions"][0]
            self.assertEqual(newest["paths"][0]["path"], f"n{number}.txt")
            self.assertIn(f"transaction {newest['id']} is committed".encode(), result.stderr)
            self.assertTrue((self.work / f"n{number}.txt").exists())


class Denied(hostile.HostileCase):
    """An agent whose profile denies `fs:read` of a folder does not see its contents."""

    SECRET = "".join(f"hidden-{number}\n" for number in range(1, 30))

    def setUp(self):
        super().setUp()
        self.write("galley.toml", '[agents.bot]\ncapabilities = ["fs:read", "fs:write", "!fs:read:secrets/"]\n')
        self.write("secrets/key", self.SECRET)
        self.write("open.txt", "open-1\nopen-2\n")
        self.edit = (b"--- a/secrets/key\n+++ b/secrets/key\n@@ -10 +10 @@\n-hidden-10\n+mine\n"
                     b"--- a/open.txt\n+++ b/open.txt\n@@ -1,2 +1,2 @@\n-open-1\n+opened\n open-2\n")

    def both(self, *arguments, stdin=b"", expect=0):
        """Returns what the bot sees as text and as JSON, on stdout and stderr."""
        text = self.galley("--agent", "bot", *arguments, stdin=stdin, expect=expect)
        document = self.galley("--agent", "bot", "--json", *arguments, stdin=stdin, expect=expect)
        return text, document

    def assert_hidden(self, *results):
        for result in results:
            self.assertNotIn(b"hidden-", result.stdout + result.stderr)

    def test_the_diff_of_an_agents_edit_hides_the_denied_file(self):
        for options in ((), ("-U", "100"), ("--word-diff",)):
            text, document = self.both("preview", "--unidiff-zero", *options, "-", stdin=self.edit)
            self.assert_hidden(text, document)
            self.assertIn(b"+opened" if not options[-1:] == ("--word-diff",) else b"opened", text.stdout)
            self.assertIn(b"left out: secrets/key", text.stderr)
            self.assertEqual(json.loads(document.stdout)["left_out"], ["secrets/key"])
        person = self.galley("preview", "--unidiff-zero", "-", stdin=self.edit, expect=0)
        self.assertIn(b"-hidden-10", person.stdout)
        summary = self.galley("--agent", "bot", "preview", "--unidiff-zero", "--stat", "-", stdin=self.edit, expect=0)
        self.assertIn(b"secrets/key", summary.stdout)
        result = self.galley("--agent", "bot", "--json", "apply", "--unidiff-zero", "-", stdin=self.edit, expect=0)
        self.assert_hidden(result)
        self.assertIn("mine\n", (self.work / "secrets/key").read_text())

    def test_an_edit_that_does_not_fit_is_answered_without_the_text(self):
        for hunk in (b"@@ -9,3 +9,3 @@\n hidden-9\n-hidden-X\n+mine\n hidden-11\n",
                     b"@@ -1,2 +1,2 @@\n-hidden-8\n+mine\n hidden-1O\n"):
            patch = b"--- a/secrets/key\n+++ b/secrets/key\n" + hunk
            text, document = self.both("preview", "-", stdin=patch, expect=1)
            for result in (text, document):
                self.assertNotIn(b"hidden-10", result.stdout + result.stderr)
                self.assertNotIn(b"hidden-12", result.stdout + result.stderr)
        tx = self.galley("--agent", "bot", "begin", expect=0).stdout.decode().strip()
        call = json.dumps({"file_path": "secrets/key", "old_string": "hidden-9\nhidden-X\n", "new_string": "y"})
        result = self.galley("--agent", "bot", "call", "--tx", tx, "Edit", call, expect=1)
        self.assertNotIn(b"hidden-10", result.stdout + result.stderr)
        person = self.galley("preview", "-", stdin=b"--- a/secrets/key\n+++ b/secrets/key\n"
                             b"@@ -9,3 +9,3 @@\n hidden-9\n-hidden-X\n+mine\n hidden-11\n", expect=1)
        self.assertIn(b"hidden-10", person.stderr)

    def test_tools_that_write_and_search_do_not_show_a_denied_file(self):
        tx = self.galley("--agent", "bot", "begin", expect=0).stdout.decode().strip()
        for tool, arguments, status in (("Write", {"file_path": "secrets/key", "content": "mine\n"}, 0),
                                        ("Grep", {"pattern": "hidden"}, 0), ("Read", {"file_path": "secrets/key"}, 1),
                                        ("Copy", {"from": "secrets/key", "to": "copy"}, (1, 2)),
                                        ("Delete", {"path": "secrets/key"}, 0)):
            with self.subTest(tool=tool):
                result = self.galley("--agent", "bot", "call", "--tx", tx, tool, json.dumps(arguments), expect=status)
                self.assert_hidden(result)
        result = self.galley("--agent", "bot", "call", "--tx", tx, "Grep", '{"pattern": "open-1"}', expect=0)
        self.assertIn(b"open.txt", result.stdout)

    def test_history_and_the_work_of_others_do_not_show_a_denied_file(self):
        self.galley("apply", "--unidiff-zero", "-", stdin=self.edit, expect=0)
        tx = self.galley("begin", expect=0).stdout.decode().strip()
        write = {"file_path": "secrets/key", "content": self.SECRET.replace("hidden-20", "hidden-20b")}
        self.galley("call", "--tx", tx, "Write", json.dumps(write), expect=0)
        for arguments, status in ((("show",), 0), (("undo", "--dry-run", "1"), 0), (("blame", "secrets/key"), 1),
                                  (("diff", "--tx", tx), (0, 1)), (("log",), 0), (("status", "--tx", tx), 0),
                                  (("query", "SELECT * FROM changes"), 0), (("validate", "--tx", tx), (0, 1)),
                                  (("audit", "export", "aios"), 1), (("rescue", "show", "x"), 1)):
            with self.subTest(arguments=arguments):
                self.assert_hidden(*self.both(*arguments, expect=status))
        self.assertIn(b"+opened", self.galley("--agent", "bot", "show", expect=0).stdout)
        self.assertIn(b"opened", self.galley("--agent", "bot", "blame", "open.txt", expect=0).stdout)
        self.assertIn(b"-hidden-10", self.galley("show", expect=0).stdout)
        self.assertIn(b"hidden-9", self.galley("blame", "secrets/key", expect=0).stdout)

    def test_a_conflict_does_not_show_a_denied_file(self):
        self.galley("apply", "--unidiff-zero", "-", stdin=self.edit, expect=0)
        self.write("secrets/key", self.SECRET.replace("hidden-10\n", "hidden-ten\n"))
        text, document = self.both("undo", "1", expect=1)
        self.assert_hidden(text, document)
        self.assertIn(b"secrets/key", text.stderr)

    def test_copying_a_denied_file_by_a_patch_is_refused_without_its_text(self):
        patch = (b"diff --git a/secrets/key b/copy\nsimilarity index 90%\ncopy from secrets/key\ncopy to copy\n"
                 b"--- a/secrets/key\n+++ b/copy\n@@ -1,2 +1,2 @@\n-hidden-1\n+mine\n hidden-2\n")
        text, document = self.both("preview", "-", stdin=patch, expect=1)
        for result in (text, document):
            self.assertNotIn(b"hidden-3", result.stdout + result.stderr)
        self.galley("--agent", "bot", "apply", "-", stdin=patch, expect=1)
        self.assertFalse((self.work / "copy").exists())

    def test_a_staged_copy_does_not_show_a_denied_file_under_another_name(self):
        misfit = b"copy\n```\n<<<<<<< SEARCH\nhidden-X1\n=======\nx\n>>>>>>> REPLACE\n```\n"
        for verb in (b"copy", b"rename"):
            header = (b"diff --git a/secrets/key b/copy\nsimilarity index 100%\n" +
                      verb + b" from secrets/key\n" + verb + b" to copy\n")
            with self.subTest(verb=verb):
                # One answer in two parts: the second does not fit the result of the first.
                text, document = self.both("preview", "-", stdin=header + b"\n" + misfit, expect=1)
                for result in (text, document):
                    self.assertNotIn(b"hidden-1\n", result.stdout + result.stderr)
                    self.assertNotIn(b"hidden-2", result.stdout + result.stderr)
                    self.assertNotIn(b"hidden-1\\n", result.stdout + result.stderr)
                # The same in two steps.
                self.galley("--agent", "bot", "begin", expect=0)
                result = self.galley("--agent", "bot", "stage", "-", stdin=header, expect=1)
                self.assertIn(b"may not be read", result.stderr)
                result = self.galley("--agent", "bot", "--json", "stage", "-", stdin=misfit, expect=1)
                self.assertNotIn(b"hidden-1\\n", result.stdout + result.stderr)
                read = json.dumps({"file_path": "copy"})
                result = self.galley("--agent", "bot", "call", "Read", read, expect=(1, 2))
                self.assert_hidden(result)
                self.galley("--agent", "bot", "rollback", expect=0)


class Pruned(hostile.HostileCase):
    def test_undo_of_a_pruned_transaction_says_so(self):
        self.write("galley.toml", "[history]\nkeep_transactions = 1\n")
        for number in range(68):  # more journals than can wait for retirement
            patch = f"--- /dev/null\n+++ b/n{number}.txt\n@@ -0,0 +1 @@\n+x\n".encode()
            self.galley("apply", "-", stdin=patch, expect=0)
        self.galley("gc", expect=0)
        for arguments in (("undo", "1"), ("show", "1"), ("redo", "1")):
            with self.subTest(arguments=arguments):
                result = self.galley(*arguments, expect=1)
                self.assertIn(b"transaction 1 was pruned from the history", result.stderr)
        self.assertTrue(Path(self.work / "n0.txt").exists())
        self.galley("undo", expect=0)
        self.assertFalse((self.work / "n67.txt").exists())


class NamesThatAreNotText(hostile.HostileCase):
    def test_json_has_the_bytes_of_names_that_are_not_text(self):
        (self.work / "galley.toml").write_text("")
        name = b"caf\xe9~/x.txt"
        patch = b'--- /dev/null\n+++ "b/caf\\351~/x.txt"\n@@ -0,0 +1 @@\n+caf\xe9\n'

        def exact(*words, **options):
            document = json.loads(self.galley("--json", *words, expect=0, **options).stdout)
            return {pointer: base64.b64decode(text, validate=True) for pointer, text in document["not_utf8"].items()}, document

        found, document = exact("preview", "-", stdin=patch)
        self.assertEqual(found["/changes/1/path" if len(document["changes"]) > 1 else "/changes/0/path"], name)
        self.assertIn(b"+caf\xe9\n", found["/diff"])
        self.assertFalse(document["diff_is_exact"])
        self.galley("apply", "-", stdin=patch, expect=0)
        self.assertTrue(os.path.exists(os.fsencode(self.work) + b"/" + name))
        for words in (["log"], ["show", "1"]):
            self.assertIn(name, [text.rstrip(b"/") for text in exact(*words)[0].values()], words)
        # If every text is UTF-8, there is no such member.
        self.assertNotIn("not_utf8", json.loads(self.galley("--json", "status", expect=0).stdout))


if __name__ == "__main__":
    hostile.main()
