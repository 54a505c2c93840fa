"""An option that is accepted has an effect: each option that several commands share, with and without it, on each of them.

The commands and their options are those of the program's own table, as its help prints it: one that is new there and
has no row here fails."""

import json
import re
import unittest

from support import SystemCase

MOVED = "".join(f"this line moves as one of a long block, number {n}\n" for n in range(6))
OLD = MOVED + "".join(f"stays {n}\n" for n in range(12)) + "some words here\nwhite space\nwhite  more\nend\n"
NEW = ("".join(f"stays {n}\n" for n in range(12)) + MOVED.replace("\n", "\n") +
       "some other here\nwhite\tspace \nwh ite more\nend\n")

# What shows a change, by option; each is given to every command that has it.
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
        # The file is as it was before, and an undo can be taken back; one more change is staged.
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
        """The long names, or the only ones, of what `galley COMMAND -h` lists."""
        said = self.galley(command, "-h", expect=0).stdout.decode()
        rows = re.search(r"(?ms)^Options:\n(.*?)(?:\n\n|\Z)", said)[1]
        names = re.findall(r"(?m)^  (-\S.*?)(?:  +\S|$)", rows)
        return [re.findall(r"--?[a-zA-Z][\w-]*", row)[-1] for row in names]

    def shown(self, words):
        command, *rest = words
        return self.galley("--color", "always", command, *rest, expect=(0, 1)).stdout

    def test_each_option_that_shows_a_change_shows_it_otherwise(self):
        seen = set()
        for command, words in self.COMMANDS.items():
            without = self.shown(words)
            self.assertIn(b"words.txt", without, command)
            for option in self.options_of(command):
                if option not in SHOWING or SHOWING[option][0] in words:
                    continue
                if (command, option) == ("preview", "--ignore-space-change"):
                    continue  # git apply's option of that name: where an edit fits, not how it is shown
                seen.add(option)
                with self.subTest(command=command, option=option):
                    self.assertNotEqual(self.shown([words[0], *SHOWING[option], *words[1:]]), without)
        self.assertEqual(seen, set(SHOWING) - {"--patch"}, "a row without an option")

    def test_none_of_them_is_without_a_row(self):
        """What every command shares with `diff` is of this family."""
        shared = set(self.options_of("diff")) & set(self.options_of("show")) & set(self.options_of("undo"))
        self.assertLessEqual(shared, set(SHOWING))


class Bounds(SystemCase):
    """What bounds a command, of `exec` and of `at`: the same command with and without the option."""

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
    }

    def setUp(self):
        super().setUp()
        self.need_walls()
        (self.work / "galley.toml").write_text("")
        self.galley("begin", expect=0)
        self.galley("call", "Write", '{"file_path": "a.txt", "content": "a\\n"}', expect=0)
        self.galley("commit", expect=0)
        self.galley("begin", expect=0)

    def test_each_bounds_both(self):
        for command in (["exec"], ["at", "1"]):
            for option, (words, script) in self.OPTIONS.items():
                with self.subTest(command=command[0], option=option):
                    with_it = self.galley(command[0], *words, *command[1:], "--", "sh", "-c", script)
                    if option == "--cpu":  # without it the command takes twenty seconds
                        self.assertNotEqual(with_it.returncode, 0, with_it)
                        continue
                    without = self.galley(*command, "--", "sh", "-c", script)
                    said = [(one.returncode, one.stdout) for one in (with_it, without)]
                    self.assertNotEqual(*said, with_it.stderr)

    def test_what_git_ignores_is_proposed_when_it_is_asked_for(self):
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


class Records(SystemCase):
    def test_what_is_said_of_a_call_is_on_record(self):
        self.galley("begin", expect=0)
        said = {"--session": "s-1", "--task": "t-2", "--goal": "g-3", "--call-id": "c-4"}
        words = [word for pair in said.items() for word in pair]
        self.galley("call", *words, "Write", '{"file_path": "a.txt", "content": "a\\n"}', expect=0)
        records = "".join(path.read_text(errors="replace") for path in (self.work / ".galley").rglob("*") if path.is_file())
        for option, value in said.items():
            self.assertIn(value, records, option)


if __name__ == "__main__":
    unittest.main()
