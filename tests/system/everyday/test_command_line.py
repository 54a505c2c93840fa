"""The command line: common habits, help, mistyped words, several patches, dry runs."""

import json

from everyday import EverydayCase, main

# The commands that change something, each with the arguments of its dry run.
DRY_RUNS = {
    "apply": ["apply", "-n", "a.patch"],
    "stage": ["stage", "-n", "a.patch"],
    "commit": ["commit", "-n"],
    "rollback": ["rollback", "-n"],
    "pick": ["pick", "-n", "TX"],
    "undo": ["undo", "-n"],
    "redo": ["redo", "-n"],
    "gc": ["gc", "-n"],
    "recover": ["recover", "-n"],
    "init": ["init", "-n"],
    "trust": ["trust", "-n"],
}


class CommandLineCase(EverydayCase):
    def setUp(self):
        super().setUp()
        self.put("a.txt", "one\ntwo\nthree\n")
        self.put("b.txt", "red\ngreen\nblue\n")
        self.put("src/c.txt", "alpha\nbeta\n")
        self.both = self.patch("both.patch", a=("two", "TWO"), b=("green", "GREEN"))

    def put(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name):
        return (self.work / name).read_text()

    def patch(self, name, **files):
        """Returns a patch of a.txt, b.txt and src/c.txt. Each argument is (a line, its new
        text)."""
        paths = {"a": "a.txt", "b": "b.txt", "c": "src/c.txt"}
        text = ""
        for key, (old, new) in files.items():
            before = self.read(paths[key]).splitlines()
            text += f"--- a/{paths[key]}\n+++ b/{paths[key]}\n@@ -1,{len(before)} +1,{len(before)} @@\n"
            for line in before:
                text += f"-{old}\n+{new}\n" if line == old else f" {line}\n"
        (self.work / name).write_text(text)
        return name


class OneValueAFlag(CommandLineCase):
    def test_only_takes_one_value_and_the_patch_comes_after_it(self):
        """git: `git add --chmod=+x FILE`, `git log --author A PATH`: an option takes one value."""
        self.run_here("apply", "--only", "a.txt", self.both, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("b.txt")), ("one\nTWO\nthree\n", "red\ngreen\nblue\n"))

    def test_only_can_be_repeated(self):
        """git: `git commit --trailer A --trailer B`: a repeatable option is given twice."""
        self.run_here("apply", "--only", "a.txt", "--only", "b.txt", self.both, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("b.txt")), ("one\nTWO\nthree\n", "red\nGREEN\nblue\n"))

    def test_except_takes_one_value(self):
        """git: `:(exclude)b.txt` takes one path out."""
        self.run_here("apply", "--except", "b.txt", self.both, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("b.txt")), ("one\nTWO\nthree\n", "red\ngreen\nblue\n"))

    def test_undo_of_one_path_takes_the_transaction_after_it(self):
        """git: `git restore --source 3 b.txt`: the option takes only one value."""
        self.run_here("apply", self.both, expect=0)
        first = json.loads(self.run_here("--json", "log", expect=0).out)["transactions"][0]["id"]
        self.run_here("apply", self.patch("c.patch", b=("red", "RED")), expect=0)
        self.run_here("undo", "--path", "a.txt", first, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("b.txt")), ("one\ntwo\nthree\n", "RED\nGREEN\nblue\n"))

    def test_undo_of_one_hunk_takes_the_transaction_after_it(self):
        """git: `git restore -p` takes hunks; here the person names them."""
        self.run_here("apply", self.both, expect=0)
        first = json.loads(self.run_here("--json", "log", expect=0).out)["transactions"][0]["id"]
        self.run_here("undo", "--hunk", "a.txt:1", first, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("b.txt")), ("one\ntwo\nthree\n", "red\nGREEN\nblue\n"))


class NamesThatAreMeant(CommandLineCase):
    def test_only_takes_a_directory(self):
        """git: a pathspec names a directory and everything below it."""
        name = self.patch("all.patch", a=("two", "TWO"), c=("beta", "BETA"))
        self.run_here("apply", "--only", "src", name, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("src/c.txt")), ("one\ntwo\nthree\n", "alpha\nBETA\n"))

    def test_except_takes_a_pattern(self):
        """git: `git add '*.txt'`: the program matches a quoted pattern, in every directory."""
        name = self.patch("all.patch", a=("two", "TWO"), c=("beta", "BETA"))
        self.run_here("apply", "--except", "src/*.txt", name, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("src/c.txt")), ("one\nTWO\nthree\n", "alpha\nbeta\n"))

    def test_a_mistyped_only_path_is_an_error_with_a_suggestion(self):
        """git: `git add b.tx` says "pathspec 'b.tx' did not match any files"."""
        for option in ("--only", "--except"):
            with self.subTest(option=option):
                result = self.run_here("apply", option, "b.tx", self.both, expect=2)
                self.assertIn("did you mean 'b.txt'?", result.err)
                self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")

    def test_an_unknown_hunk_is_an_error(self):
        """git: `git add -p` never offers a hunk that does not exist."""
        result = self.run_here("apply", "--only", "a.txt:7", self.both, expect=2)
        self.assertIn("'a.txt' has no hunk '7'", result.err)

    def test_a_hunk_can_be_named_by_its_first_digits(self):
        """git: the first digits of an object's name are enough if they are unique."""
        self.put("long.txt", "".join(f"{i}\n" for i in range(40)))
        (self.work / "long.patch").write_text(
            "--- a/long.txt\n+++ b/long.txt\n@@ -1,3 +1,3 @@\n 0\n-1\n+ONE\n 2\n"
            "@@ -30,3 +30,3 @@\n 29\n-30\n+THIRTY\n 31\n")
        shown = json.loads(self.run_here("--json", "preview", "long.patch", expect=0).out)
        second = shown["edits"]["files"][0]["placed"][1]["id"]
        self.run_here("apply", "--only", "long.txt:" + second[:3], "long.patch", expect=2)
        self.run_here("apply", "--only", "long.txt:" + second[:5], "long.patch", expect=0)
        self.assertIn("\n1\n", self.read("long.txt"))
        self.assertIn("\nTHIRTY\n", self.read("long.txt"))

    def test_a_mistyped_undo_path_is_an_error_with_a_suggestion(self):
        """git: `git checkout HEAD -- a.tx` says that the pathspec did not match."""
        self.run_here("apply", self.both, expect=0)
        result = self.run_here("undo", "--path", "a.tx", expect=2)
        self.assertIn("did you mean 'a.txt'?", result.err)

    def test_diff_of_an_unknown_name_is_an_error(self):
        """git: `git diff nosuch` says that it is neither a revision nor a path."""
        self.run_here("begin", expect=0)
        self.run_here("stage", self.both, expect=0)
        for word in ("nosuch", "HEAD"):
            self.assertIn(f"'{word}'", self.run_here("diff", word, expect=2).err)
        self.assertIn("did you mean 'a.txt'?", self.run_here("diff", "a.tx", expect=2).err)
        self.assertEqual(self.run_here("diff", "src", expect=0).out, "", "it is there, and nothing is proposed")
        self.assertIn("TWO", self.run_here("diff", "a.txt", expect=0).out)

    def test_undo_takes_directories_and_patterns(self):
        """git: `git restore src '*.md'`."""
        for pathspec in ("src", "src/", "s*"):
            with self.subTest(path=pathspec):
                self.run_here("apply", self.patch("all.patch", a=("two", "TWO"), c=("beta", "BETA")), expect=0)
                self.run_here("undo", "--path", pathspec, expect=0)
                self.assertEqual((self.read("a.txt"), self.read("src/c.txt")), ("one\nTWO\nthree\n", "alpha\nbeta\n"))
                self.put("a.txt", "one\ntwo\nthree\n")

    def test_log_takes_directories_and_patterns(self):
        """git: `git log -- src '*.c'`."""
        self.run_here("apply", self.patch("c.patch", c=("beta", "BETA")), expect=0)
        self.run_here("apply", self.patch("a.patch", a=("two", "TWO")), expect=0)
        for pathspec in ("src", "src/*.txt"):
            found = json.loads(self.run_here("--json", "log", "--path", pathspec, expect=0).out)["transactions"]
            self.assertEqual([one["paths"][0]["path"] for one in found], ["src/c.txt"])


class SeveralPatches(CommandLineCase):
    def test_two_patches_are_applied_in_order_as_one_transaction(self):
        """git: `git apply a.patch b.patch` applies both, in order."""
        first = self.patch("1.patch", a=("two", "TWO"))
        self.put("a.txt", "one\nTWO\nthree\n")
        second = self.patch("2.patch", a=("TWO", "2"), b=("green", "GREEN"))
        self.put("a.txt", "one\ntwo\nthree\n")
        self.run_here("apply", first, second, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("b.txt")), ("one\n2\nthree\n", "red\nGREEN\nblue\n"))
        self.assertEqual(len(json.loads(self.run_here("--json", "log", expect=0).out)["transactions"]), 1)

    def test_if_the_second_patch_does_not_fit_nothing_is_written(self):
        """git: `git apply` would write the first patch; here it is all or nothing."""
        first = self.patch("1.patch", a=("two", "TWO"))
        (self.work / "2.patch").write_text("--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n none of\n-this\n+that\n")
        result = self.run_here("apply", first, "2.patch", expect=1)
        self.assertIn("2.patch", result.err)
        self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")

    def test_a_name_in_the_second_patch_counts_for_only(self):
        """git: `git apply --include=b.txt a.patch b.patch` looks at both."""
        first = self.patch("1.patch", a=("two", "TWO"))
        second = self.patch("2.patch", b=("green", "GREEN"))
        self.run_here("apply", "--only", "b.txt", first, second, expect=0)
        self.assertEqual((self.read("a.txt"), self.read("b.txt")), ("one\ntwo\nthree\n", "red\nGREEN\nblue\n"))


    def test_two_patches_are_staged_or_neither(self):
        """git: `git apply --cached` of two; here neither is staged when one does not fit."""
        first = self.patch("1.patch", a=("two", "TWO"))
        second = self.patch("2.patch", b=("green", "GREEN"))
        (self.work / "3.patch").write_text("--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n none of\n-this\n+that\n")
        self.run_here("begin", expect=0)
        self.run_here("stage", first, "3.patch", expect=1)
        self.assertEqual(self.run_here("diff", "--name-status", expect=0).out, "")
        self.run_here("stage", first, second, expect=0)
        self.run_here("commit", expect=0)
        self.assertEqual((self.read("a.txt"), self.read("b.txt")), ("one\nTWO\nthree\n", "red\nGREEN\nblue\n"))


class Help(CommandLineCase):
    def test_help_takes_a_command(self):
        """git: `git help apply` and `git apply --help` are the same."""
        by_name = self.run_here("help", "apply", expect=0).out
        self.assertEqual(by_name, self.run_here("apply", "--help", expect=0).out)
        self.assertTrue(by_name.startswith("usage: galley apply [options] [FILE...]\n"), by_name)
        self.assertIn("Examples:", by_name)
        self.assertIn("--reason", by_name)

    def test_help_takes_a_file_and_a_table_of_its_keys(self):
        """git: `git help config` lists every variable."""
        keys = self.run_here("help", "galley.toml", expect=0).out
        self.assertIn("\n  policy.rule.decision\n", keys)
        rule = self.run_here("help", "policy.rule", expect=0).out
        self.assertIn("\n  policy.rule.paths\n", rule)
        self.assertNotIn("policy.default", rule)
        for quote in "\"'":
            named = self.run_here("help", f"[tools.{quote}fs.read{quote}]", expect=0).out
            self.assertEqual(named, self.run_here("help", "tools.fs", expect=0).out)
            self.assertIn("tools.NAME.enabled", self.run_here("help", f"tools.{quote}a.b{quote}.enabled", expect=0).out)
        self.assertIn("usage: galley policy", self.run_here("help", "policy", expect=0).out)
        self.assertIn("unattended", self.run_here("help", "config.toml", expect=0).out)

    def test_short_help_is_short(self):
        """git: `git apply -h` prints the usage, `--help` prints the manual."""
        short = self.run_here("apply", "-h", expect=0).out
        full = self.run_here("apply", "--help", expect=0).out
        self.assertTrue(short.startswith("usage: galley apply [options] [FILE...]\n"))
        self.assertLess(len(short.splitlines()), len(full.splitlines()))
        self.assertNotIn("Examples:", short)

    def test_help_takes_a_member_of_a_group(self):
        """gh: `gh help pr list`."""
        self.assertTrue(self.run_here("help", "tools", "show", expect=0).out.startswith(
            "usage: galley tools show [options] NAME\n"))

    def test_every_usage_line_has_the_whole_command(self):
        """git: `usage: git stash push [...]`."""
        for command in (["exec"], ["policy", "test"], ["undo"], ["call"]):
            self.assertTrue(self.run_here(*command, "-h", expect=0).out.startswith(
                "usage: galley " + " ".join(command) + " [options]"))

    def test_galley_without_arguments_prints_its_usage(self):
        """git: `git` alone prints its usage and fails."""
        result = self.run_here(expect=2)
        self.assertTrue(result.err.startswith("usage: galley [options] COMMAND"))

    def test_help_of_a_mistyped_command_suggests_a_command(self):
        """cargo: "no such command: `biuld`. Did you mean `build`?"."""
        result = self.run_here("help", "aply", expect=2)
        self.assertIn("did you mean 'apply'?", result.err)


class Mistyped(CommandLineCase):
    def test_a_mistyped_option_gets_a_suggestion(self):
        """cargo: "unexpected argument '--relase' found; a similar argument exists: '--release'"."""
        for words, meant in ((["--reson", "x", "apply", "both.patch"], "--reason"),
                             (["apply", "--onyl", "a.txt", "both.patch"], "--only"),
                             (["undo", "--dry-rum"], "--dry-run"),
                             (["apply", "--jsn", "both.patch"], "--json")):
            with self.subTest(words=words):
                self.assertIn(f"did you mean '{meant}'?", self.run_here(*words, expect=2).err)
                self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")

    def test_a_mistyped_command_gets_a_suggestion(self):
        """git: "git: 'statsu' is not a git command. The most similar command is status"."""
        self.assertIn("did you mean 'status'?", self.run_here("statsu", expect=2).err)
        self.assertIn("did you mean 'show'?", self.run_here("tools", "shwo", expect=2).err)

    def test_the_error_names_an_extra_argument(self):
        """cargo: "unexpected argument 'x' found" with the usage line."""
        result = self.run_here("blame", "a.txt", "b.txt", expect=2)
        self.assertIn("'b.txt' is one argument too many", result.err)
        self.assertIn("usage: galley blame [options] PATH", result.err)
        self.assertIn("name a transaction with --tx ID", self.run_here("rollback", "0123", expect=2).err)

    def test_with_json_the_answer_is_one_document(self):
        """gh: with --json the output is JSON."""
        document = json.loads(self.run_here("--json", "apply", "--onyl", "a.txt", expect=2).out)
        self.assertEqual(document["reason"], "usage")


class NothingIsIgnored(CommandLineCase):
    def test_apply_with_a_line_option_shows_the_diff(self):
        """git: `git log -U5` shows the diff, as -p would."""
        for option in ("-U1", "--word-diff", "-w", "-b", "--color-moved"):
            with self.subTest(option=option):
                result = self.run_here("apply", option, self.both, expect=0)
                self.assertIn("TWO", result.out)
                self.run_here("undo", expect=0)
        self.assertNotIn("TWO", self.run_here("apply", self.both, expect=0).out)

    def test_options_that_contradict_each_other_are_refused(self):
        """git: `git add -u -A`: "options '-u' and '-A' cannot be used together"."""
        for words in (["trust", "--show", "--revoke"], ["trust", "--list", "--show"],
                      ["exec", "--network", "--deterministic", "--", "true"], ["validate", "--budget", "5"]):
            with self.subTest(words=words):
                self.assertIn(f"usage: galley {words[0]}", self.run_here(*words, expect=2).err)


class DryRun(CommandLineCase):
    def test_commands_that_change_something_have_a_dry_run(self):
        """git: `git add -n`, `git clean -n`, `cargo publish --dry-run` show the effect first."""
        for command, words in DRY_RUNS.items():
            with self.subTest(command=command):
                self.assertIn("-n, --dry-run", self.run_here(*words[:1], "-h", expect=0).out)

    def test_a_dry_run_writes_nothing(self):
        """git: `git rm -n` removes nothing."""
        name = self.patch("a.patch", a=("one", "ONE"))
        self.run_here("apply", self.both, expect=0)
        self.run_here("undo", expect=0)
        transaction = self.run_here("begin", expect=0).out.strip()
        self.run_here("call", "Write", json.dumps({"file_path": "new.txt", "content": "new\n"}), expect=0)
        for command, words in DRY_RUNS.items():
            with self.subTest(command=command):
                words = [transaction if word == "TX" else word for word in words]
                before = {path: path.read_bytes() for path in self.work.iterdir() if path.is_file()}
                log = self.run_here("--json", "log", expect=0).out
                self.run_here(*words, expect=(0, 1))
                after = {path: path.read_bytes() for path in self.work.iterdir() if path.is_file()}
                self.assertEqual(before, after)
                self.assertEqual(log, self.run_here("--json", "log", expect=0).out)
                self.assertEqual(json.loads(self.run_here("--json", "status", expect=0).out)["tx"], transaction)
        self.assertEqual(name, "a.patch")

    def test_apply_n_does_the_same_as_preview(self):
        """git: `git apply --stat` shows the change; here -n shows the diff and the verdict."""
        self.assertEqual(self.run_here("apply", "-n", self.both, expect=0).out,
                         self.run_here("preview", self.both, expect=0).out)

    def test_apply_only_shows_the_sizes_of_a_change(self):
        """git: `git apply --stat` and `--numstat` change no file."""
        for option in ("--stat", "--numstat"):
            before = {path: path.read_bytes() for path in self.work.iterdir() if path.is_file()}
            shown = self.run_here("preview", option, self.both, expect=0).out
            self.assertEqual(self.run_here("apply", option, self.both, expect=0).out, shown)
            after = {path: path.read_bytes() for path in self.work.iterdir() if path.is_file()}
            self.assertEqual(before, after)

    def test_commit_n_shows_the_diff_and_keeps_the_transaction(self):
        """git: `git commit --dry-run` shows what would be committed."""
        self.run_here("begin", expect=0)
        self.run_here("call", "Write", json.dumps({"file_path": "new.txt", "content": "new\n"}), expect=0)
        self.assertIn("+new", self.run_here("commit", "-n", expect=0).out)
        self.assertFalse((self.work / "new.txt").exists())
        self.run_here("commit", expect=0)
        self.assertEqual(self.read("new.txt"), "new\n")

    def test_rollback_n_lists_the_changes_that_it_would_drop(self):
        """git: `git clean -n` lists what it would remove."""
        self.run_here("begin", expect=0)
        self.run_here("call", "Write", json.dumps({"file_path": "1.txt", "content": "1\n"}), expect=0)
        self.run_here("savepoint", "first", expect=0)
        self.run_here("call", "Write", json.dumps({"file_path": "2.txt", "content": "2\n"}), expect=0)
        whole = self.run_here("rollback", "-n", expect=0)
        self.assertIn("1.txt", whole.out)
        self.assertIn("2 paths staged, 0 would be left", whole.err)
        self.assertIn("1 would be left", self.run_here("rollback", "-n", "--to", "first", expect=0).err)
        self.assertIn("2.txt", self.run_here("diff", "--name-status", expect=0).out)


class Quiet(CommandLineCase):
    def test_quiet_prints_nothing_on_success(self):
        """git: `git commit -q` and `cargo build -q` are silent."""
        result = self.run_here("-q", "apply", self.both, expect=0)
        self.assertEqual((result.out, result.err), ("", ""))
        self.assertEqual(self.read("a.txt"), "one\nTWO\nthree\n")

    def test_quiet_still_prints_errors(self):
        """git: `-q` never hides an error."""
        self.put("a.txt", "something else\n")
        self.assertIn("a.txt", self.run_here("apply", "-q", self.both, expect=1).err)

    def test_no_pager_writes_to_the_terminal(self):
        """git: `git --no-pager log`."""
        self.run_here("apply", self.both, expect=0)
        result = self.on_terminal("--no-pager", "show", env={"PAGER": "echo a pager was started"}, expect=0)
        self.assertNotIn("a pager was started", result.screen)


if __name__ == "__main__":
    main()
