"""Every accepted option has an effect. Each option that several commands share is tested with and
without it, on each of these commands.

The commands and their options come from the program's own help. A new option without a row here
fails the test."""

import json
import re
import shutil
import unittest
from pathlib import Path

from support import SystemCase

MOVED = "".join(f"this line moves as one of a long block, number {n}\n" for n in range(6))
OLD = MOVED + "".join(f"stays {n}\n" for n in range(12)) + "some words here\nwhite space\nwhite  more\nend\n"
NEW = ("".join(f"stays {n}\n" for n in range(12)) + MOVED.replace("\n", "\n") +
       "some other here\nwhite\tspace \nwh ite more\nend\n")

# The options that change the display of a change, with their arguments. Each is given to every
# command that has it.
SHOWING = {
    "--stat": ["--stat"],
    "--numstat": ["--numstat"],
    "--name-status": ["--name-status"],
    "--word-diff": ["--word-diff"],
    "--color-moved": ["--color-moved"],
    "--ignore-all-space": ["-w"],
    "--ignore-space-change": ["--ignore-space-change"],
    "-b": ["-b"],
    "--side-by-side": ["--side-by-side"],
    "--hyperlinks": ["--hyperlinks", "always"],
    "--unified": ["-U", "1"],
    "--html": ["--html"],
    "--patch": ["-p"],
    "--oneline": ["--oneline"],
}


# Short or other names that tests use for options.
SHORT = {"--message": "-m", "--dry-run": "-n", "--max-count": "-n", "--interactive": "-i", "--quiet": "-q", "--verbose": "-v"}

CALLED = {"mcp": r"self\.connect"}  # commands that a test calls through this function


class Showing(SystemCase):
    COMMANDS = {
        "preview": ["preview", "change.patch"], "diff": ["diff"], "show": ["show", "2"], "log": ["log", "-p"],
        "undo": ["undo", "-n", "3"], "redo": ["redo", "-n"],
    }

    def setUp(self):
        super().setUp()
        self.environment["COLUMNS"] = "100"
        (self.work / "galley.toml").write_text("")
        self.write(OLD)
        self.write(NEW)
        self.galley("undo", expect=0)
        # The file has its earlier contents, and the undo can itself be undone. One more change is
        # staged.
        self.galley("begin", expect=0)
        self.call(NEW)
        whole = self.galley("diff", expect=0).stdout
        (self.work / "change.patch").write_bytes(whole)

    def call(self, text):
        self.galley("call", "Write", json.dumps({"file_path": "words.txt", "content": text}), expect=0)

    def write(self, text):
        self.galley("begin", expect=0)
        self.call(text)
        self.galley("commit", expect=0)

    def options_of(self, command):
        """Returns the long names (or the only names) of the options that `galley COMMAND -h`
        lists."""
        words = (command,) if isinstance(command, str) else command
        said = self.galley(*words, "-h", expect=0).stdout.decode()
        rows = re.search(r"(?ms)^Options:\n(.*?)(?:\n\n|\Z)", said)[1]
        names = re.findall(r"(?m)^  (-\S.*?)(?:  +\S|$)", rows)
        return [re.findall(r"--?[a-zA-Z][\w-]*", row)[-1] for row in names]

    def shown(self, words):
        command, *rest = words
        return self.galley("--color", "always", command, *rest, expect=(0, 1)).stdout

    def test_each_display_option_changes_the_display(self):
        seen = set()
        for command, words in self.COMMANDS.items():
            without = self.shown(words)
            self.assertIn(b"words.txt", without, command)
            for option in self.options_of(command):
                if option not in SHOWING or SHOWING[option][0] in words:
                    continue
                if (command, option) == ("preview", "--ignore-space-change"):
                    continue  # git apply's option: it affects placing, not display
                seen.add(option)
                with self.subTest(command=command, option=option):
                    self.assertNotEqual(self.shown([words[0], *SHOWING[option], *words[1:]]), without)
        self.assertEqual(seen, set(SHOWING) - {"--patch"}, "a row without an option")

    def test_each_display_option_has_a_row(self):
        """Options that every command shares with `diff` belong to this table."""
        shared = set(self.options_of("diff")) & set(self.options_of("show")) & set(self.options_of("undo"))
        self.assertLessEqual(shared - {"--turn"}, set(SHOWING))  # which selects what is shown


class Bounds(SystemCase):
    """Limits of a command, for `exec` and `at`: the same command with and without the option."""

    OPTIONS = {
        "--timeout": (["--timeout", "0.2"], "sleep 5"),
        "--cpu": (["--cpu", "1"], "timeout 20 sh -c 'while :; do :; done' & wait; true"),
        "--processes": (["--processes", "3"], "for n in 1 2 3 4 5 6 7 8; do sleep 0.3 & done; wait"),
        "--memory": (["--memory", "16mb"], "python3 -c 'print(len(bytearray(200_000_000)))'"),
        "--file-size": (["--file-size", "4kb"], "head -c 100000 /dev/zero > big"),
        "--written": (["--written", "64kb"], "for n in 1 2 3 4 5 6 7 8; do head -c 60000 /dev/urandom > f$n; done"),
        "--output": (["--output", "20"], "seq 1 1000"),
        "--deterministic": (["--deterministic"], "date +%s%N"),
        "--network": (["--network"], "true"),
        "--verbose": (["-v"], "true"),
    }

    def setUp(self):
        super().setUp()
        self.need_walls()
        (self.work / "galley.toml").write_text("")
        self.galley("begin", expect=0)
        self.galley("call", "Write", '{"file_path": "a.txt", "content": "a\\n"}', expect=0)
        self.galley("commit", expect=0)
        self.galley("begin", expect=0)

    def test_each_limit_option_applies_to_exec_and_at(self):
        for command in (["exec"], ["at", "1"]):
            for option, (words, script) in self.OPTIONS.items():
                with self.subTest(command=command[0], option=option):
                    with_it = self.galley(command[0], *words, *command[1:], "--", "sh", "-c", script)
                    if option == "--cpu":  # without it the command takes twenty seconds
                        self.assertNotEqual(with_it.returncode, 0, with_it)
                        continue
                    without = self.galley(*command, "--", "sh", "-c", script)
                    said = [(one.returncode, one.stdout, one.stderr if option == "--verbose" else b"")
                            for one in (with_it, without)]
                    self.assertNotEqual(*said, with_it.stderr)

    def test_one_above_the_configuration_is_refused(self):
        (self.work / "galley.toml").write_text("[sandbox]\nmax_cpu_seconds = 100\n")
        for option, value, key in (("--timeout", "1e6", "timeout_ms"), ("--cpu", "101", "max_cpu_seconds"),
                                   ("--processes", "513", "max_processes"), ("--memory", "5gb", "max_memory_bytes"),
                                   ("--file-size", "2gb", "max_file_bytes"), ("--written", "5gb", "max_written_bytes"),
                                   ("--output", "2mb", "max_output_bytes")):
            for command in (["exec"], ["at", "1"]):
                with self.subTest(option=option, command=command[0]):
                    refused = self.galley(command[0], option, value, *command[1:], "--", "true", expect=2)
                    self.assertIn(f"{option} asks for ".encode(), refused.stderr)
                    self.assertIn(f"sandbox.{key} allows ".encode(), refused.stderr)

    def test_ignored_files_are_proposed_with_propose_ignored(self):
        self.git("init", "-q")
        (self.work / ".gitignore").write_text("*.log\n")
        for words, wanted in ((["exec"], False), (["exec", "--propose-ignored"], True)):
            self.galley(*words, "--", "sh", "-c", "echo > out.log", expect=0)
            self.assertEqual("out.log" in self.galley("diff", "--name-status", expect=0).stdout.decode(), wanted)
        self.galley("rollback", expect=0)
        for words, wanted in ((["run", "--keep"], False), (["run", "--keep", "--propose-ignored"], True)):
            self.galley(*words, "--", "sh", "-c", "echo > out.log; echo > plain", expect=0)
            tx = json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"][0]["tx"]
            self.assertEqual("out.log" in self.galley("diff", "--tx", tx, "--name-status", expect=0).stdout.decode(), wanted)
            self.galley("rollback", "--tx", tx, expect=0)


NUMBERS = "one two three four five six seven eight nine".split()
FILE = "".join(word + "\n" for word in NUMBERS)


def patch_of(name="a.txt", first=2, old="five", new="FIVE", prefixes=("a/", "b/"), context=3, head=None):
    """Returns a diff of one line of FILE."""
    at = NUMBERS.index(old)
    before, after = NUMBERS[at - context:at], NUMBERS[at + 1:at + 1 + context]
    lines = [f" {line}" for line in before] + [f"-{old}", f"+{new}"] + [f" {line}" for line in after]
    count = 2 * context + 1
    head = head or f"@@ -{first},{count} +{first},{count} @@"
    return f"--- {prefixes[0]}{name}\n+++ {prefixes[1]}{name}\n{head}\n" + "".join(line + "\n" for line in lines)


TWO_FILES = patch_of() + patch_of("b.txt")

# For `preview`, `apply` and `stage`: the option, and an edit that it affects.
EDITING = {
    "--format": (["--format", "apply_patch"], patch_of()),
    "--strict": (["--strict"], patch_of(first=3)),
    "--check": (["--check"], patch_of()),
    "--reverse": (["-R"], patch_of(old="five", new="FIVE").replace("-five\n+FIVE", "-FIVE\n+five")),
    "--recount": (["--recount"], patch_of(head="@@ -2,8 +2,8 @@")),
    "--complete": (["--complete"], patch_of(head="@@ -2,8 +2,8 @@")),
    "--truncated": (["--truncated"], patch_of(head="@@ -2,9 +2,9 @@")),
    "--unidiff-zero": (["--unidiff-zero"], "--- a/a.txt\n+++ b/a.txt\n@@ -4,0 +5 @@\n+new\n"),
    "--ignore-space-change": (["--ignore-space-change"], patch_of("a.py").replace("-five", "-  five")),
    "--allow-empty": (["--allow-empty"], ""),
    "--reject": (["--reject"], patch_of() + patch_of("b.txt").replace("-five", "-5")),
    "-p": (["-p2"], patch_of(prefixes=("a/sub/", "b/sub/"))),
    "-C": (["-C", "3"], patch_of().replace(" two", " 2")),
    "--whitespace": (["--whitespace=error"], patch_of(new="FIVE ")),
    "--directory": (["--directory=sub"], patch_of()),
    "--include": (["--include=b.txt"], TWO_FILES),
    "--exclude": (["--exclude=b.txt"], TWO_FILES),
    "--only": (["--only", "b.txt"], TWO_FILES),
    "--except": (["--except", "b.txt"], TWO_FILES),
}


class Editing(SystemCase):
    """An edit with and without the option, each time on a separate tree."""

    def setUp(self):
        super().setUp()
        self.count = 0
        (self.work / "galley.toml").write_text("")
        (self.work / "sub").mkdir()
        for name in ("a.txt", "b.txt", "sub/a.txt", "a.py"):
            (self.work / name).write_text(FILE)

    def outcome(self, command, options, document):
        """Returns the status, the output, and the real or proposed tree."""
        self.count += 1
        work = self.scratch / f"tree {self.count}"
        shutil.copytree(self.work, work, symlinks=True)
        if command == "stage":
            self.galley("begin", work=work, expect=0)
        said = self.galley(*command.split(), *options, "-", work=work, stdin=document.encode())
        diff = self.galley("diff", work=work, expect=0).stdout if command == "stage" else b""
        texts = [(work / name).read_text() for name in ("a.txt", "b.txt", "sub/a.txt")]
        return said.returncode, re.sub(rb"(?m)^committed \d+$", b"", said.stdout), diff, texts

    def options_of(self, command):
        return Showing.options_of(self, command.split())

    def test_each_changes_what_an_edit_does(self):
        for command in ("preview", "apply", "stage", "edits explain"):
            options = {option: row for option, row in EDITING.items() if (command, option) != ("edits explain", "--check")}
            self.assertLessEqual(set(options), set(self.options_of(command)))
            for option, (words, document) in options.items():
                with self.subTest(command=command, option=option):
                    self.assertNotEqual(self.outcome(command, words, document), self.outcome(command, [], document))

    def test_the_id_of_a_place_chooses_it(self):
        (self.work / "a.txt").write_text("a\nx\nb\na\nx\nb\n")
        document = "--- a/a.txt\n+++ b/a.txt\n@@ ... @@\n a\n-x\n+y\n b\n"
        said = json.loads(self.galley("--json", "preview", "-", stdin=document.encode(), expect=1).stdout)
        place = said["edits"]["files"][0]["failed"][0]["candidates"][1]["id"]
        for command in ("preview", "apply", "stage", "edits explain"):
            with self.subTest(command):
                self.assertEqual(self.outcome(command, ["--choose", place], document)[0], 0)

    def test_an_id_must_choose_a_place_in_one_of_the_documents(self):
        (self.work / "a.txt").write_text("a\nx\nb\na\nx\nb\n")
        first, second = self.scratch / "first.diff", self.scratch / "second.diff"
        first.write_text("--- a/a.txt\n+++ b/a.txt\n@@ ... @@\n a\n-x\n+y\n b\n")
        second.write_text("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n")
        said = json.loads(self.galley("--json", "preview", first, expect=1).stdout)
        place = said["edits"]["files"][0]["failed"][0]["candidates"][1]["id"]
        self.galley("preview", "--choose", place, first, second, expect=0)
        gone = "a\nx\nb\na\nz\nb\n"
        (self.work / "a.txt").write_text(gone)
        said = self.galley("--json", "apply", "--choose", place, first, second, expect=1).stdout
        self.assertEqual(json.loads(said)["reason"], "patch.choice_void")
        self.assertEqual((self.work / "a.txt").read_text(), gone)
        self.assertFalse((self.work / "new.txt").exists())

    def test_each_display_option_changes_the_display_of_apply(self):
        document = patch_of(new="fi ve") + patch_of("b.txt", new="FIVE five")
        plain = self.outcome("apply", ["-U3"], document)[1]
        for option, words in SHOWING.items():
            if option not in self.options_of("apply") or option in ("--unified", "--color-moved", "-b", "--ignore-all-space"):
                continue
            with self.subTest(option):
                self.assertNotEqual(self.outcome("apply", words + (["-U3"] if option == "--hyperlinks" else []), document)[1], plain)
        self.assertNotEqual(self.outcome("apply", ["-U1"], document)[1], plain)


class Telling(SystemCase):
    """Messages that are given with -m, and options of log."""

    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text("")

    def newest(self):
        return json.loads(self.galley("--json", "log", "-n", "1", expect=0).stdout)["transactions"][0]

    def put(self, name, *options, command="apply"):
        document = json.dumps([{"path": name, "content": f"{name}\n"}]).encode()
        self.galley(command, *options, "--format", "edits", "-", stdin=document, expect=0)

    def test_each_command_with_a_message_option_stores_the_message(self):
        self.put("a", "-m", "of apply")
        self.assertIn("of apply", json.dumps(self.newest()))
        self.galley("begin", "-m", "of begin", expect=0)
        self.put("b", command="stage")
        self.galley("commit", expect=0)
        self.assertIn("of begin", json.dumps(self.newest()))
        self.galley("begin", expect=0)
        self.put("c", command="stage")
        self.galley("commit", "--message", "of commit", expect=0)
        self.assertIn("of commit", json.dumps(self.newest()))
        for command in ("undo", "redo"):
            self.galley(command, "-m", f"of {command}", expect=0)
            self.assertIn(f"of {command}", json.dumps(self.newest()))
        self.galley("begin", expect=0)
        self.put("d", command="stage")
        fork = self.galley("fork", expect=0).stdout.decode().split()[-1]
        self.galley("pick", fork, "-m", "of pick", expect=0)
        self.assertIn("of pick", json.dumps(self.newest()))

    def test_each_log_option_changes_the_log(self):
        for number, agent in enumerate(("one", "two", "one")):
            self.put(f"{agent}{number}", "--agent", agent, "-m", f"number {number}")
        whole = self.galley("log", expect=0).stdout
        rows = {"--max-count": ["-n", "1"], "--path": ["--path", "two1"], "--since": ["--since", "2200-01-01"],
                "--until": ["--until", "2000-01-01"], "--grep": ["--grep", "number 1"], "--date": ["--date", "relative"]}
        for option, words in rows.items():
            with self.subTest(option):
                self.assertNotEqual(self.galley("log", *words, expect=0).stdout, whole)
        self.assertNotEqual(self.galley("log", "--agent", "two", expect=0).stdout, whole)

    def test_an_option_that_needs_another_is_refused_without_it(self):
        self.put("a")
        for option in ("--word-diff", "--color-moved", "-w", "-b", "--side-by-side"):
            with self.subTest(option):
                self.assertIn(b"requires --patch", self.galley("log", option, expect=2).stderr)
                for shows in ("-p", "--stat"):
                    self.galley("log", shows, option, expect=0)
        self.assertEqual(self.galley("log", "-U5", expect=0).stdout, self.galley("log", "-p", "-U5", expect=0).stdout)
        self.assertIn(b"requires --verdict or --verify", self.galley("check", "--key", "none", expect=2).stderr)
        self.assertIn(b"--transcript", self.galley("apply", "-n", "--transcript", "t", "none", expect=2).stderr)

    def test_a_number_that_is_none_is_refused_with_what_is_allowed(self):
        for words in (("log", "-n", "-1"), ("log", "-n", "x"), ("diff", "-U", "x"), ("apply", "-p", "x", "f")):
            with self.subTest(words):
                said = self.galley(*words, expect=2).stderr.decode()
                self.assertRegex(said, r"^galley: '--?[a-z]+' takes a whole number, 0 or more\n")
        said = self.galley("diff", "-U", "9" * 12, expect=2).stderr.decode()
        self.assertRegex(said, r"^galley: '--?[a-z]+' has too large a number\n")

    def test_a_reason_that_is_too_long_is_named(self):
        said = json.loads(self.galley("--json", "begin", "-m", "x" * 70_000, expect=3).stdout)
        self.assertEqual(said["reason"], "limit.journal_text")
        self.assertIn("the reason (-m)", said["message"])
        self.assertEqual(json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"], [])
        self.galley("begin", "-m", "short", expect=0)
        self.assertEqual(len(list((self.work / ".galley").rglob("stage/**/overlay"))), 1)  # only of the second

    def test_the_status_of_an_unknown_transaction_is_refused(self):
        self.galley("status", "--tx", "none", expect=1)
        tx = self.galley("begin", expect=0).stdout.decode().strip()
        for command in ("status", "diff"):
            said = json.loads(self.galley("--json", command, "--tx", "none", expect=1).stdout)
            self.assertEqual(said["reason"], "stage.not_found")
        self.galley("status", "--tx", tx, expect=0)

    def test_turns_are_what_was_asked_for(self):
        for number, session in enumerate(("one", "two", "one")):
            self.put(f"{session}{number}", "--session", session, "-m", f"number {number}")
        whole = self.galley("turns", expect=0).stdout
        self.assertEqual(len(whole.splitlines()), 3)
        for words in (["--limit", "1"], ["--session", "two"], ["--date", "relative"]):
            with self.subTest(words[0]):
                self.assertNotEqual(self.galley("turns", *words, expect=0).stdout, whole)
        self.assertIn(b"number 1", self.galley("log", "--session", "two", expect=0).stdout)
        self.assertNotIn(b"number 2", self.galley("log", "--session", "two", expect=0).stdout)

    def test_an_approval_names_its_author(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["a"]\ndecision = "ask"\n')
        self.galley("begin", expect=0)
        self.put("a", command="stage")
        proposal = json.loads(self.galley("--json", "commit", "-n").stdout)["proposal"]
        self.galley("approve", proposal, "--by", "ann of sales", expect=0)
        self.galley("commit", expect=0)
        self.assertIn("ann of sales", (self.work / ".galley" / "audit.jsonl").read_text())

    def test_a_call_has_its_own_time_and_none(self):
        self.need_walls()
        self.galley("begin", expect=0)
        for words, line in ((["--timeout", "200"], "sleep 5; echo slept"), (["--deterministic"], "date +%s%N")):
            with self.subTest(words=words):
                said = [self.galley("call", *some, "Bash", json.dumps({"command": line})) for some in (words, [])]
                self.assertNotEqual(*[(one.returncode, one.stdout) for one in said])

    def test_a_replay_is_given_the_secret_of_its_transcript(self):
        self.need_walls()
        words = ["Bash", json.dumps({"command": "test $ENV.TOKEN = in-the-test && touch made"})]
        secret = {"env": {"TOKEN": "in-the-test"}}
        self.galley("call", "--begin", "--secret", "TOKEN", "--transcript", self.scratch / "t", *words, expect=0, **secret)
        self.galley("rollback", expect=0)
        self.galley("begin", expect=0)
        for options, expected in (([], (1, 2, 3)), (["--secret", "TOKEN"], 0)):
            self.galley("replay", *options, self.scratch / "t", expect=expected, **secret)

    def test_a_bisection_names_the_refused_pieces_within_its_time(self):
        self.need_walls()
        (self.work / "galley.toml").write_text(
            '[[validator]]\nname = "slow"\ncommand = ["sh", "-c", "sleep 0.6; ! test -e bad"]\ncache = false\n')
        self.galley("begin", expect=0)
        for name in ("a", "b", "bad", "c", "d"):
            self.put(name, command="stage")
        said = [self.galley("--json", "validate", *words, expect=1).stdout
                for words in ([], ["--bisect"], ["--bisect", "--budget", "1"])]
        self.assertEqual(len(set(said)), 3)


class EveryOption(SystemCase):
    """Every option of every command has a test: a row here, or a test that names command and
    option."""

    def rows(self, *words):
        said = self.galley(*words, "-h", expect=0).stdout.decode()
        members = re.search(r"(?ms)^Commands:\n(.*?)(?:\n\n|\Z)", said)
        if members:
            return [row for name in re.findall(r"(?m)^  ([a-z-]+)  ", members[1]) for row in self.rows(*words, name)]
        if "\nOptions:\n" not in said:
            return []
        return [(" ".join(words), option) for option in Showing.options_of(self, words)]

    def test_each_option_has_a_test(self):
        commands = re.findall(r"(?m)^  ([a-z][a-z-]+)  ", self.galley("help", expect=0).stdout.decode())
        rows = {row for command in commands for row in self.rows(command)}
        self.assertGreater(len(rows), 300)
        here = {(command, option) for command in ("preview", "apply", "stage") for option in EDITING}
        here |= {(command, option) for command in (*Showing.COMMANDS, "apply") for option in SHOWING}
        here |= {(command, option) for command in ("exec", "at") for option in Bounds.OPTIONS}
        sources = [path.read_text() for path in Path(__file__).parent.rglob("*.py")]
        for command, option in sorted(rows - here):
            words = [re.compile(rf"""["' ]{re.escape(word)}["' ,]|self\.{word}\(|{CALLED.get(word, word)}\(""")
                     for word in command.split()]
            name = re.compile(rf"""["' ]{re.escape(option)}["'= ,]""")
            short = SHORT.get(option)
            with self.subTest(command=command, option=option):
                self.assertTrue(any(all(word.search(text) for word in words) and
                                    (name.search(text) or (short and re.search(rf"""["' ]{short}["' ,]""", text)))
                                    for text in sources))


class Records(SystemCase):
    def test_the_options_that_describe_a_call_are_on_record(self):
        self.galley("begin", expect=0)
        said = {"--session": "s-1", "--task": "t-2", "--goal": "g-3", "--call-id": "c-4"}
        words = [word for pair in said.items() for word in pair]
        self.galley("call", *words, "Write", '{"file_path": "a.txt", "content": "a\\n"}', expect=0)
        records = "".join(path.read_text(errors="replace") for path in (self.work / ".galley").rglob("*") if path.is_file())
        for option, value in said.items():
            self.assertIn(value, records, option)


if __name__ == "__main__":
    unittest.main()
