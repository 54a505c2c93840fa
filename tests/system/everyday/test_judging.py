"""Verdicts: equal questions get equal answers, a failed validator refuses, findings appear once."""

import json

from everyday import EverydayCase, main

ROUNDS = 50

# Its output differs in each run.
VARYING = 'echo "ran 3 tests in $(date +%s.%N), process $$" >&2'


class Judging(EverydayCase):
    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").unlink()
        (self.work / "note.txt").write_text("first\n")
        self.patch = self.scratch / "m.patch"
        self.write_patch("second")

    def write_patch(self, word):
        self.patch.write_text(f"--- a/note.txt\n+++ b/note.txt\n@@ -1 +1 @@\n-first\n+{word}\n")

    def validator(self, script, more="", command=None):
        words = json.dumps(command or ["sh", "-c", script])
        (self.work / "galley.toml").write_text(
            f'[[validator]]\nname = "check"\ncommand = {words}\ncache = false\n{more}')

    def preview(self, **options):
        result = self.run_here("preview", "--json", self.patch, **options)
        return result.returncode, json.loads(result.out)

    def verdicts(self, rounds=ROUNDS):
        """Returns the answers of `rounds` previews of the same patch, without the command's own
        output."""
        seen = set()
        for _ in range(rounds):
            status, document = self.preview()
            verdict = document["verdict"]
            findings = [(one["rule"], one["severity"], one["message"]) for one in verdict["findings"]]
            seen.add(json.dumps([status, verdict["approved"], findings]))
        return [json.loads(one) for one in seen]

    # --- only_new

    def test_fifty_verdicts_on_an_already_broken_tree_are_equal(self):
        """cargo: `cargo test` gives the same result for the same tree every time."""
        self.validator(f"{VARYING}; exit 1", "only_new = true\n")
        seen = self.verdicts()
        self.assertEqual(len(seen), 1, seen)
        status, approved, findings = seen[0]
        self.assertEqual((status, approved), (0, True))
        [(rule, severity, message)] = findings
        self.assertEqual((rule, severity), ("check.only_status", "note"))
        self.assertIn("ended with status 1 on the unchanged tree too; only the status was compared", message)

    def test_fifty_verdicts_on_a_breaking_change_are_equal(self):
        """cargo: a failing test fails every time."""
        self.validator(f"{VARYING}; grep -q first note.txt", "only_new = true\n")
        seen = self.verdicts()
        self.assertEqual(len(seen), 1, seen)
        status, approved, findings = seen[0]
        self.assertEqual((status, approved), (1, False))
        self.assertIn("ended with status 1", findings[0][2])

    def test_fifty_verdicts_without_only_new_are_equal(self):
        """cargo: the result is the same although times and process ids in the output differ."""
        self.validator(f"{VARYING}; exit 1")
        self.assertEqual(len(self.verdicts()), 1)

    def test_a_changed_exit_status_is_a_new_finding(self):
        """sh: `$?` tells what happened; another number is a different result."""
        self.validator("grep -q first note.txt && exit 1; exit 2", "only_new = true\n")
        status, document = self.preview()
        self.assertEqual(status, 1)
        self.assertIn("ended with status 2", document["verdict"]["findings"][0]["message"])

    # --- validators that cannot judge

    def assert_cannot_judge(self, *words):
        status, document = self.preview()
        self.assertEqual(status, 1, document)
        self.assertEqual(document["verdict"]["reason"], "gate.validator_unavailable", document)
        for word in words:
            self.assertIn(word, document["verdict"]["message"])

    def test_a_missing_python_module_does_not_approve(self):
        """sh: `python3 -m nothing` ends with 1, like a failing test, but it tested nothing."""
        self.validator("", "only_new = true\n", ["/usr/bin/python3", "-m", "no_such_test_tool", "-q"])
        self.assert_cannot_judge("No module named no_such_test_tool")

    def test_a_program_missing_in_make_does_not_approve(self):
        """make: `Error 127` is a missing program, not a failing test."""
        (self.work / "Makefile").write_text("test:\n\t@no-such-test-tool\n")
        self.validator("", "only_new = true\n", ["make", "test"])
        self.assert_cannot_judge("Error 127")

    def test_a_missing_program_does_not_approve(self):
        """sh: 127 means `not found` for every program."""
        self.validator("", "only_new = true\n", ["no-such-test-tool"])
        self.assert_cannot_judge("no program 'no-such-test-tool'")
        self.validator("no-such-test-tool", "only_new = true\n")
        self.assert_cannot_judge("status 127")

    def test_a_test_that_times_out_does_not_approve(self):
        """gh: a check that timed out did not pass."""
        self.validator("sleep 60", "only_new = true\ntimeout_ms = 100\n")
        self.assert_cannot_judge("100 ms")

    def test_an_old_tree_that_cannot_be_judged_is_reported(self):
        """git: `git bisect` skips and reports what cannot be tested."""
        self.validator("grep -q first note.txt && exit 127; exit 1", "only_new = true\n")
        self.assert_cannot_judge("on the unchanged tree")

    # --- the form of a finding

    def test_a_finding_is_shown_once_with_the_output_as_it_was(self):
        """cargo: a failing test shows its output once, line by line."""
        self.validator("printf 'E  assert 1 == 2\\n\\n  at line 7\\n'; echo 'two words' >&2; exit 3")
        result = self.run_here("preview", self.patch, expect=1)
        text = result.out + result.err
        self.assertEqual(text.count("ended with status 3"), 1, text)
        self.assertIn("\n    E  assert 1 == 2\n\n      at line 7\n    two words\n", text)
        self.assertRegex(text, r"\nrefused 1 error \[gate.validator_failed\]\n")

    def test_a_long_output_shows_its_beginning_and_its_end(self):
        """gh: a long log is shortened in the middle, the least important part."""
        self.validator("seq 1 100000; exit 1")
        result = self.run_here("preview", self.patch, expect=1)
        text = result.out + result.err
        self.assertIn("    1\n    2\n", text)
        self.assertIn("    99999\n    100000\n", text)
        self.assertRegex(text, r"\n    \[\.\.\. \d+ bytes left out \.\.\.\]\n")
        self.assertLess(len(text), 20000)

    def test_a_denied_change_is_reported_once(self):
        """git: one error gives one line with the reason."""
        (self.work / "galley.toml").write_text(
            '[[policy.rule]]\npaths = ["*.txt"]\ndecision = "deny"\nreason = "ask Ann"\n')
        result = self.run_here("preview", self.patch, expect=1)
        self.assertEqual((result.out + result.err).count("ask Ann"), 1, result.err)

    def test_a_rule_without_a_name_is_called_by_its_line(self):
        """git: `check-ignore -v` names the file and line of the pattern."""
        (self.work / "galley.toml").write_text(
            '# who may do what\n\n[[policy.rule]]\npaths = ["*.txt"]\ndecision = "deny"\n')
        result = self.run_here("preview", self.patch, expect=1)
        self.assertIn("is denied by the rule at galley.toml:3", result.out + result.err)
        self.assertNotIn("rule 1", result.out + result.err)
        shown = self.run_here("policy", "explain", "note.txt", expect=0)
        self.assertIn("rule at galley.toml:3", shown.out)

    def test_a_folder_is_explained_by_the_rules_for_what_is_in_it(self):
        """git: `check-ignore -v build/` names the pattern that ignores the folder."""
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = [".github/"]\ndecision = "deny"\n')
        for _ in range(2):  # without the folder, and with it
            shown = self.run_here("policy", "explain", ".github/", expect=0).out
            self.assertIn("each path in .github/ that no rule names more closely:", shown)
            self.assertIn("modify: deny", shown)
            (self.work / ".github").mkdir(exist_ok=True)
        self.assertIn("modify: deny", self.run_here("policy", "explain", ".github", expect=0).out)

    # --- the limits of exec

    def test_a_requested_limit_applies_even_if_it_equals_the_default(self):
        """sh: `ulimit -f 1024` applies whatever the number is."""
        (self.work / "galley.toml").write_text('[sandbox]\nmax_output_bytes = "4 MiB"\n')
        self.run_here("begin", expect=0)
        for asked, shown in (([], 3_000_000), (["--output", "1048576"], 1048576), (["--output", "2mb"], 2 << 20)):
            result = self.run_here("exec", *asked, "--", "head", "-c", "3000000", "/dev/zero", expect=0)
            self.assertEqual(len(result.stdout), shown, asked)


class BrokenConfiguration(EverydayCase):
    """The effect of an unreadable galley.toml on the commands."""

    BROKEN = '[policy]\ndefault = "allow"\n[polcy.effects\n'

    def setUp(self):
        super().setUp()
        own = self.scratch / "config" / "galley" / "config.toml"
        own.write_text(own.read_text() + "edits_configuration = true\n")
        (self.work / "galley.toml").write_text('[policy]\ndefault = "allow"\n')
        (self.work / "note.txt").write_text("first\n")
        self.change("note.txt", "first", "second")

    def change(self, name, old, new, expect=0):
        (self.scratch / "m.patch").write_text(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{old}\n+{new}\n")
        return self.run_here("apply", self.scratch / "m.patch", expect=expect)

    def break_it(self):
        (self.work / "galley.toml").write_text(self.BROKEN)

    def test_an_unreadable_configuration_is_not_committed(self):
        """git: `git config` refuses to write a value that it could not read again."""
        before = (self.work / "galley.toml").read_bytes()
        (self.scratch / "m.patch").write_text(
            "--- a/galley.toml\n+++ b/galley.toml\n@@ -1,2 +1,3 @@\n [policy]\n default = \"allow\"\n"
            "+colour = \"green\"\n")
        result = self.run_here("apply", self.scratch / "m.patch", expect=1)
        self.assertIn("galley.toml:3:1", result.err)
        self.assertIn("gate.bad_configuration", result.err)
        self.assertEqual((self.work / "galley.toml").read_bytes(), before)

    def test_a_configuration_with_an_invalid_pattern_is_not_committed(self):
        """git: an invalid pattern is refused when it is written, not at the next use."""
        (self.scratch / "m.patch").write_text(
            "--- a/galley.toml\n+++ b/galley.toml\n@@ -1,2 +1,5 @@\n [policy]\n default = \"allow\"\n"
            "+[[validator]]\n+builtin = \"forbidden_text\"\n+patterns = [\"(\"]\n")
        self.run_here("apply", self.scratch / "m.patch", expect=1)

    def test_a_valid_configuration_is_committed(self):
        """git: `git config` accepts a valid value."""
        self.change("galley.toml", "[policy]", "[policy]  # ours")

    def test_commands_that_only_read_warn_and_continue(self):
        """git: `git log` works despite a broken hook or .gitattributes."""
        self.break_it()
        for arguments in (["log"], ["status"], ["show", "1"], ["blame", "note.txt"], ["doctor"],
                          ["recover", "-n"], ["audit", "verify"], ["rescue", "list"]):
            result = self.run_here(*arguments)
            self.assertIn(result.returncode, (0, 1), f"{arguments}: {result.err}")
            self.assertRegex(result.err, r"warning: galley.toml:3:\d+: ", arguments)
        self.assertIn("note.txt", self.run_here("show", "1", expect=0).out)
        self.assertRegex(self.run_here("doctor", expect=1).out,
                         r"(?m)^error +configuration +galley.toml:3:(\d+): .*\n +correct galley.toml:3:\1$")

    def test_commands_that_change_something_stop(self):
        """git: `git commit` stops if it cannot read the configuration."""
        self.break_it()
        result = self.change("note.txt", "second", "third", expect=2)
        self.assertIn("galley.toml:3:", result.err)
        self.assertEqual((self.work / "note.txt").read_text(), "second\n")

    def test_a_person_undoes_a_change(self):
        """git: `git revert` needs no configuration; here a person is asked."""
        self.break_it()
        refused = self.run_here("undo", "1", expect=1)
        self.assertEqual((self.work / "note.txt").read_text(), "second\n")
        self.assertIn("no person could be asked, so it is refused", refused.err)
        result = self.on_terminal("undo", "1", typed=[("[y/N", "y\n")], expect=0)
        self.assertIn("warning: galley.toml:3:", result.screen)
        self.assertEqual((self.work / "note.txt").read_text(), "first\n")

    def test_a_person_undoes_the_change_that_broke_it(self):
        """git: `git revert` of the commit that broke the configuration repairs it."""
        (self.work / "rules.toml").write_text("[[rules]]\nid = 'a'\nregex = 'a'\n")
        (self.scratch / "m.patch").write_text(
            "--- a/galley.toml\n+++ b/galley.toml\n@@ -1,2 +1,5 @@\n [policy]\n default = \"allow\"\n"
            "+[[validator]]\n+builtin = \"secrets\"\n+rules_file = \"rules.toml\"\n")
        self.run_here("apply", self.scratch / "m.patch", expect=0)
        (self.work / "rules.toml").write_text("[[rules\n")  # it was valid when it was committed
        self.assertNotEqual(self.change("note.txt", "second", "third", expect=(1, 2, 3)).returncode, 0)
        self.assertIn("warning: ", self.run_here("log", expect=0).err)
        self.on_terminal("undo", "2", typed=[("[y/N", "y\n")], expect=0)
        self.assertEqual((self.work / "galley.toml").read_text(), '[policy]\ndefault = "allow"\n')
        self.assertNotIn("warning", self.run_here("log", expect=0).err)

    def test_an_agent_can_do_nothing_with_a_broken_configuration(self):
        """gh: if branch rules are unreadable, a bot merges nothing."""
        self.break_it()
        refused = self.run_here("undo", "1", "--agent", "bot", expect=1)
        self.assertEqual((self.work / "note.txt").read_text(), "second\n")
        self.assertIn("agents.*", refused.err)
        shown = self.run_here("show", "1", "--agent", "bot")
        self.assertNotIn("second", shown.out)
        for rules in (self.BROKEN, '[agents."*"]\ncapabilities = ["fs:read"]\n'):
            (self.work / "galley.toml").write_text(rules)
            refused = self.run_here("init", "--force", "--agent", "bot", expect=1)
            self.assertIn("only a person may write galley.toml", refused.err)
            self.assertEqual((self.work / "galley.toml").read_text(), rules)

    def test_init_replaces_the_broken_configuration(self):
        """git: `git init` in a repository repairs missing parts."""
        self.break_it()
        self.run_here("init", "--force", expect=0)
        self.assertNotIn("warning", self.run_here("log", expect=0).err)


if __name__ == "__main__":
    main()
