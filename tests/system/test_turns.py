"""Turns of agents, taken back and brought back: one, several together, and a part of them."""

import json
import os

import hostile
from mcp_client import McpClient
from support import GALLEY, SystemCase, snapshot


class TurnCase(SystemCase):
    def prompt(self, text, session="s"):
        report = {"hook_event_name": "UserPromptSubmit", "prompt": text, "session_id": session}
        self.galley("--agent", "claude", "agent-hook", stdin=json.dumps(report).encode(), expect=0)

    def apply(self, patch, session="s"):
        said = self.galley("--json", "--agent", "claude", "--session", session, "apply", stdin=patch.encode(), expect=0)
        return json.loads(said.stdout)["receipt"]["id"]

    def write(self, path, text, session="s"):
        """Commits a whole new text of a file as this session. Returns the id."""
        arguments = json.dumps({"file_path": path, "content": text})
        self.galley("--agent", "claude", "--session", session, "call", "--begin", "Write", arguments, expect=0)
        said = self.galley("--json", "--agent", "claude", "--session", session, "commit", expect=0)
        return json.loads(said.stdout)["receipt"]["id"]

    def read(self, path):
        file = self.work / path
        return file.read_text() if file.exists() else None

    def states(self, session="s"):
        turns = json.loads(self.galley("--json", "turns", "--session", session, expect=0).stdout)["turns"]
        return {turn["id"]: turn["state"] for turn in turns}

    def refused(self, *arguments):
        before = snapshot(self.work)
        said = json.loads(self.galley("--json", *arguments, expect=(1, 2)).stdout)
        self.assertEqual(snapshot(self.work), before)
        return said["reason"], said["message"]


class Pruned(TurnCase):
    def test_the_undo_of_a_session_is_refused_without_all_of_it(self):
        self.prompt("one")
        for name in ("a", "b", "c"):
            self.write(name, "agent\n")
        for journal in (self.work / ".galley" / "j").glob("*.j"):  # the state after retirement
            journal.rename(self.work / ".galley" / "undo" / journal.name)
        (self.work / "galley.toml").write_text("[history]\nkeep_transactions = 2\n")
        self.galley("gc", expect=0)
        reason, message = self.refused("undo", "--session", "s")
        self.assertEqual(reason, "undo.incomplete")
        self.assertIn("no longer has transactions 1 of", message)
        self.assertIn("undo 3 2", message)
        said = self.galley("undo", "--turn", "last", expect=0).stderr.decode()
        self.assertIn("no longer has transactions 1 of", said)
        self.assertEqual(self.read("c"), None)


class Ranges(TurnCase):
    def setUp(self):
        super().setUp()
        for number in (1, 2, 3):
            self.prompt(f"prompt {number}")
            self.write(f"n{number}", "own\n")
            self.write("all", "".join(f"{n}\n" for n in range(1, number + 1)))
            if number == 1:
                self.write("other", "of another session\n", session="t")
        # 1 and 2, 4 and 5, 6 and 7 are the turns of s, and 3 is that of t.
        self.assertEqual(list(self.states()), ["6", "4", "1"])

    def test_an_unknown_session_is_an_error_that_names_those_like_it(self):
        self.write("named", "own\n", session="session-one")
        self.prompt("nothing changed", session="begun")
        known = {"session-on": "session-one", "SESSION-ONE": "session-one", "sess": "session-one", "w" * 20: None}
        for command in (["log"], ["turns"], ["undo"], ["undo", "--turn", "last"]):
            for typed, meant in known.items():
                with self.subTest(command, typed=typed):
                    reason, message = self.refused(*command, "--session", typed)
                    self.assertEqual(reason, "history.unknown_session")
                    self.assertEqual("did you mean 'session-one'" in message, meant is not None, message)
        for command in ("log", "turns"):
            self.galley(command, "--session", "begun", expect=0)

    def test_turns_of_a_range_are_taken_back_and_brought_back_together(self):
        whole = snapshot(self.work)
        for names in ("4..6", "5..last", "4..7"):
            with self.subTest(names):
                (self.work / "mine").write_text("a person's\n")
                self.galley("undo", "--turn", names, expect=0)
                self.assertEqual([self.read(path) for path in ("n1", "n2", "n3", "all", "other", "mine")],
                                 ["own\n", None, None, "1\n", "of another session\n", "a person's\n"])
                self.assertEqual(self.states(), {"6": "undone", "4": "undone", "1": "open"})
                (self.work / "mine").unlink()
                said = self.galley("redo", "--turn", "4..6", expect=0)
                self.assertIn(b"undo --turn 4..6`", said.stdout + said.stderr)
                self.assertEqual(snapshot(self.work), whole)
                self.assertEqual(set(self.states().values()), {"open"})
        self.galley("audit", "verify", expect=0)

    def test_diff_and_show_take_a_range_too(self):
        diff = self.galley("diff", "--turn", "4..6", expect=0).stdout
        self.assertIn(b" 1\n+2\n+3\n", diff)
        self.assertNotIn(b"other", diff)
        shown = json.loads(self.galley("--json", "show", "--turn", "1..4", expect=0).stdout)
        self.assertEqual((shown["turn"], [one["id"] for one in shown["transactions"]]), ("1..4", ["1", "2", "4", "5"]))

    def test_show_of_a_turn_takes_paths(self):
        shown = json.loads(self.galley("--json", "show", "--turn", "4..6", "n3", expect=0).stdout)
        self.assertEqual([one["id"] for one in shown["transactions"]], ["6"])
        text = self.galley("show", "--turn", "4..6", "--", "n2", expect=0).stdout
        self.assertIn(b"+++ b/n2\n", text)
        self.assertNotIn(b"+++ b/all\n", text)
        for command in ("show", "diff"):
            reason, message = self.refused(command, "--turn", "4..6", "n4")
            self.assertEqual(reason, "undo.unknown_path")
            self.assertIn("turn 4..6 did not change 'n4'", message)
            self.galley(command, "--turn", "4..6", "n1", expect=0)  # it is there, but not changed
        said = self.galley("show", "--turn", "4..6", "n1", expect=0).stderr
        self.assertIn(b"turn 4..6 changes nothing at the paths that were named", said)

    def test_without_a_last_turn_to_show_nothing_speaks_of_an_undo(self):
        self.galley("undo", "--turn", "1..6", "--session", "s", expect=0)
        self.galley("undo", "3", expect=0)
        for command in ("show", "diff"):
            message = self.refused(command, "--turn", "last")[1]
            self.assertIn("there is no last turn", message)
            self.assertNotIn("undo", message)

    def test_a_turn_that_was_undone_with_others_names_the_way_back(self):
        self.galley("undo", "--turn", "4..6", expect=0)
        reason, message = self.refused("redo", "--turn", "4")
        self.assertEqual(reason, "undo.of_more")
        self.assertIn("also undid 7, 6;", message)
        self.assertIn("galley redo 8", message)
        self.galley("redo", "8", expect=0)
        self.assertEqual(self.read("all"), "1\n2\n3\n")

    def test_bad_ranges_are_one_error_with_the_way_out(self):
        for name, words in (("6..1", "write the range as 1..6"), ("1..", "3..5"), ("..4", "3..5"),
                            ("1..3", "one command for each session"), ("3..6", "one command for each session")):
            with self.subTest(name):
                for command in ("undo", "redo", "diff", "show"):
                    reason, message = self.refused(command, "--turn", name)
                    self.assertEqual(reason, "turn.range")
                    self.assertIn(words, message)
        self.assertEqual(self.refused("undo", "--turn", "1..99")[0], "history.not_found")
        self.assertEqual(self.refused("undo", "--turn", "1..2..3")[0], "history.bad_id")

    def test_a_range_of_one_turn_is_that_turn(self):
        self.galley("undo", "--turn", "6..7", expect=0)
        self.assertEqual(self.read("n3"), None)
        self.galley("redo", "--turn", "6", expect=0)
        self.assertEqual(self.read("n3"), "own\n")


class Commands(TurnCase):
    def turns_over(self, *options):
        """What `turns` lists after calls of a server with these options."""
        client = McpClient([GALLEY, "--session", "s", "mcp", *options], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        if not options:
            self.assertFalse(client.call("galley_begin", message="the reason")["isError"])
        for command in ("echo 1 > n", "cat n", "echo 2 > m"):
            self.assertFalse(client.call("Bash", command=command)["isError"])
        self.assertFalse(client.call("Write", file_path="w", content="echo 3 > n")["isError"])
        if not options:
            self.assertFalse(client.call("galley_commit")["isError"])
        return json.loads(self.galley("--json", "turns", expect=0).stdout)["turns"]

    def test_commands_of_a_server_are_listed(self):
        self.need_walls()
        [turn] = self.turns_over()
        self.assertEqual((turn["prompt"], turn["commands"]), ("the reason", ["echo 1 > n", "echo 2 > m"]))
        shown = self.galley("turns", expect=0).stdout.decode().splitlines()
        self.assertTrue(shown[0].endswith("  the reason"), shown)
        self.assertEqual(shown[1:], ["      $ echo 1 > n", "      $ echo 2 > m"])

    def test_commands_of_a_server_that_commits_each_call_are_listed(self):
        self.need_walls()
        self.assertEqual([turn["commands"] for turn in self.turns_over("--autocommit")], [[], ["echo 2 > m"], ["echo 1 > n"]])

    def test_a_command_that_was_rolled_back_is_not_listed(self):
        self.need_walls()
        own = ("--agent", "claude", "--session", "s")
        self.galley(*own, "begin", expect=0)
        self.galley(*own, "call", "Bash", json.dumps({"command": "echo 1 > n"}), expect=0)
        self.galley(*own, "savepoint", "here", expect=0)
        self.galley(*own, "call", "Bash", json.dumps({"command": "echo 2 > m"}), expect=0)
        self.galley(*own, "rollback", "--to", "here", expect=0)
        self.galley(*own, "call", "Bash", json.dumps({"command": "echo 3 > k"}), expect=0)
        self.galley(*own, "commit", expect=0)
        [turn] = json.loads(self.galley("--json", "turns", expect=0).stdout)["turns"]
        self.assertEqual(turn["commands"], ["echo 1 > n", "echo 3 > k"])


class Size(TurnCase):
    def test_a_list_of_at_most_none_is_empty_as_of_git_log(self):
        self.write("a", "1\n")
        for words in (("log", "-n", "0"), ("log", "-0"), ("turns", "-n", "0")):
            with self.subTest(words):
                said = self.galley(*words, expect=0)
                self.assertEqual((said.stdout, said.stderr), (b"", b""))
                told = json.loads(self.galley("--json", *words, expect=0).stdout)
                self.assertEqual(told["turns" if "turns" in words else "transactions"], [])
        told = json.loads(self.galley("--json", "agents", "status", "-n", "0", expect=0).stdout)
        self.assertEqual((told["sessions"], told["more_sessions"]), ([], 1))

    def test_a_turn_takes_disk_in_proportion_to_what_it_changed(self):
        for number in range(30):
            (self.work / f"big{number}").write_bytes(os.urandom(1 << 20))

        def used():
            return sum(path.lstat().st_size for path in (self.work / ".galley").rglob("*"))

        self.prompt("one")
        self.write("a", "1\n")
        before = used()
        self.prompt("two")
        ran = self.galley("--agent", "claude", "--session", "s", "exec", "--commit", "--", "sh", "-c",
                          "echo 2 > a; cat big* | wc -c", expect=0)
        self.assertEqual(ran.stdout.strip(), b"%d" % (30 << 20))
        self.assertEqual((self.read("a"), len(self.states())), ("2\n", 2))
        self.assertLess(used() - before, 1 << 20)


class Redo(TurnCase):
    def test_a_turn_that_was_undone_piece_by_piece_comes_back_whole(self):
        for name in "abc":
            self.write(name, name)
        self.prompt("first")
        for name in "abc":
            self.write(name, f"{name} changed")
        after = snapshot(self.work)
        self.galley("undo", "6", expect=0)
        self.galley("undo", "4", expect=0)
        self.galley("undo", "--path", "b", "5", expect=0)
        self.assertEqual((self.work / "b").read_text(), "b")
        self.galley("redo", "--turn", "4", expect=0)
        self.assertEqual(snapshot(self.work), after)
        self.assertEqual(self.refused("redo", "--turn", "4")[0], "undo.not_undone")

    def test_the_last_undone_turn(self):
        self.assertEqual(self.write("a", "1"), "1")
        self.assertEqual(self.refused("redo", "--turn", "last")[0], "history.nothing_to_redo")
        self.write("b", "2", session="t")
        for _ in range(2):
            self.galley("undo", "--turn", "1", expect=0)
            self.assertEqual(self.read("a"), None)
            self.galley("redo", "--turn", "last", expect=0)
            self.assertEqual((self.read("a"), self.read("b")), ("1", "2"))

    def test_a_hooked_agent_means_its_own_last_turn(self):
        self.write("a", "1")
        self.write("b", "2", session="t")
        for session, turn in (("s", "1"), ("t", "2")):
            self.galley("--agent", "claude", "--session", session, "undo", "--turn", turn, expect=0)
        self.galley("--agent", "claude", "--session", "s", "redo", "--turn", "last", expect=0)
        self.assertEqual((self.read("a"), self.read("b")), ("1", None))

    def test_an_undo_of_the_turn_itself_is_what_it_did(self):
        self.prompt("try it")
        self.write("a", "1")
        self.galley("--agent", "claude", "--session", "s", "undo", expect=0)
        self.write("b", "2")
        self.galley("undo", "--turn", "1", expect=0)
        self.galley("redo", "--turn", "1", expect=0)
        self.assertEqual((self.read("a"), self.read("b")), (None, "2"))

    def test_a_later_save_in_the_same_lines_is_a_conflict_that_changes_nothing(self):
        self.write("a", "old\n")
        self.write("b", "old\n")
        self.prompt("again")
        self.write("a", "new\n")
        self.write("b", "new\n")
        self.galley("undo", "--turn", "3", expect=0)
        (self.work / "b").write_text("mine\n")
        reason, _ = self.refused("redo", "--turn", "3")
        self.assertEqual(reason, "undo.conflict")
        self.assertEqual((self.read("a"), self.read("b")), ("old\n", "mine\n"))


class Parts(TurnCase):
    def setUp(self):
        super().setUp()
        self.prompt("one")
        self.write("src/a.c", "a\n")
        self.write("src/b.c", "b\n")
        self.write("docs/a.md", "a\n")
        self.prompt("two")
        self.write("src/a.c", "a\nmore\n")
        self.write("docs/a.md", "changed\n")

    def test_a_path_of_a_turn_is_taken_back_and_the_rest_stays(self):
        self.galley("undo", "--turn", "4", "--path", "src", expect=0)
        self.assertEqual((self.read("src/a.c"), self.read("docs/a.md")), ("a\n", "changed\n"))
        self.assertEqual(self.states(), {"4": "partly undone", "1": "open"})
        said = self.galley("--json", "redo", "--turn", "4", expect=0)
        self.assertEqual(json.loads(said.stdout)["ok"], True)
        self.assertEqual(self.read("src/a.c"), "a\nmore\n")
        self.assertEqual(self.states(), {"4": "open", "1": "open"})

    def test_old_content_that_a_validator_refuses_now_comes_back_to_a_person_with_a_warning(self):
        (self.work / "old.json").write_text("{broken\n")
        self.prompt("three")
        self.write("old.json", "{}\n")
        self.write("docs/a.md", "again\n")
        (self.work / "galley.toml").write_text('[[validator]]\nbuiltin = "json"\n')
        self.galley("--agent", "claude", "undo", "--turn", "last", "--session", "s", expect=1)
        self.assertEqual(self.read("docs/a.md"), "again\n")
        undone = self.galley("undo", "--turn", "last", "--session", "s", expect=0).stderr.decode()
        self.assertRegex(undone, r"warning: old\.json:1: .*accepted, because the undo brings back only earlier content")
        self.assertEqual((self.read("old.json"), self.read("docs/a.md")), ("{broken\n", "changed\n"))
        # What the undo itself makes, by a merge with later text, is judged.
        self.write("list.json", "[1,\n2,\n3,\n4,\n5]\n")
        last = self.write("list.json", "[1,\n2,\n3,\n4]\n")
        (self.work / "list.json").write_text("[1\n2,\n3,\n4]\n")
        self.assertEqual(self.refused("undo", last)[0], "gate.validator_failed")

    def test_a_test_suite_that_fails_on_what_comes_back_does_not_stop_a_person(self):
        self.prompt("three")
        self.write("tests.txt", "fixed\n")
        self.write("docs/a.md", "again\n")
        self.write("new.txt", "1\n2\n3\n4\n5\n6\n")
        check = '[[validator]]\nname = "suite"\ncommand = ["sh", "-c", "%s"]\n'
        (self.work / "galley.toml").write_text(check % "grep fixed tests.txt && test -e new.txt")
        self.galley("trust", expect=0)
        undo = ("undo", "--turn", "last", "--session", "s")
        self.assertIn(b"[suite]", self.galley("--agent", "claude", *undo, expect=1).stderr)
        self.assertEqual(self.read("tests.txt"), "fixed\n")
        undone = self.galley(*undo, expect=0).stderr.decode()
        self.assertRegex(undone, r"warning: .*status 2 \[suite\]: accepted, because the undo brings back only earlier content\n")
        self.assertEqual([self.read(path) for path in ("tests.txt", "docs/a.md", "new.txt")], [None, "changed\n", None])
        # A suite that cannot run, and what an undo makes by a merge, are judged.
        self.galley("redo", expect=0)
        (self.work / "galley.toml").write_text('[[validator]]\nname = "suite"\ncommand = ["no-such-program"]\n')
        self.galley("trust", expect=0)
        self.assertEqual(self.refused(*undo)[0], "gate.validator_unavailable")
        (self.work / "galley.toml").write_text("")
        last = self.write("new.txt", "changed\n2\n3\n4\n5\n6\n")
        (self.work / "new.txt").write_text("changed\n2\n3\n4\n5\nlater\n")
        (self.work / "galley.toml").write_text(check % "grep changed new.txt")
        self.galley("trust", expect=0)
        self.assertEqual(self.refused("undo", last)[0], "gate.validator_failed")

    def test_a_rule_refuses_an_undo_of_its_paths_and_the_rest_can_be_named(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\nname = "docs stay"\npaths = ["docs/"]\ndecision = "deny"\n')
        self.galley("undo", "--turn", "4", expect=1)
        self.assertNotEqual(self.read("src/a.c"), "a\n")
        self.galley("undo", "--turn", "4", "--path", "src/a.c", expect=0)
        self.assertEqual((self.read("src/a.c"), self.read("docs/a.md")), ("a\n", "changed\n"))

    def test_a_path_over_several_transactions(self):
        for options in (("--turn", "1..4"), ("--session", "s")):
            with self.subTest(options):
                self.galley("undo", *options, "--path", "src/a.c", expect=0)
                self.assertEqual([self.read(path) for path in ("src/a.c", "src/b.c", "docs/a.md")],
                                 [None, "b\n", "changed\n"])
                self.galley("redo", "--turn", "1..4", expect=0)
                self.assertEqual(self.read("src/a.c"), "a\nmore\n")
        # Then the rest can be taken back as well.
        self.galley("undo", "--turn", "1..4", "--path", "src/*.c", expect=0)
        self.galley("undo", "--session", "s", expect=0)
        self.assertEqual([self.read(path) for path in ("src/a.c", "src/b.c", "docs/a.md")], [None] * 3)
        self.galley("redo", "--turn", "1..4", expect=0)
        self.assertEqual([self.read(path) for path in ("src/a.c", "src/b.c", "docs/a.md")], [None, None, "changed\n"])
        self.galley("redo", "--turn", "1..4", expect=0)
        self.assertEqual([self.read(path) for path in ("src/a.c", "src/b.c", "docs/a.md")],
                         ["a\nmore\n", "b\n", "changed\n"])

    def test_a_file_that_was_renamed_is_meant_by_each_of_its_names(self):
        self.prompt("three")
        moved = self.apply("diff --git a/src/a.c b/lib/a.c\nsimilarity index 100%\nrename from src/a.c\nrename to lib/a.c\n")
        self.write("lib/a.c", "a\nmore\nand more\n")
        before = snapshot(self.work)
        for name in ("src/a.c", "lib/a.c"):
            with self.subTest(name):
                self.galley("undo", "--turn", f"4..{moved}", "--path", name, expect=0)
                self.assertEqual([self.read(path) for path in ("src/a.c", "lib/a.c", "docs/a.md")], ["a\n", None, "changed\n"])
                self.galley("redo", "--turn", f"4..{moved}", expect=0)
                self.assertEqual(snapshot(self.work), before)

    def test_an_unknown_path_names_the_nearest(self):
        reason, message = self.refused("undo", "--turn", "1..4", "--path", "src/a.cc")
        self.assertEqual(reason, "undo.unknown_path")
        self.assertIn("src/a.c'", message)
        reason, message = self.refused("undo", "--turn", "1", "src/a.c")
        self.assertEqual(reason, "undo.together")
        self.assertIn("--path", message)

    def test_a_part_of_several_is_on_record_also_in_the_index(self):
        self.galley("undo", "--turn", "1..4", "--path", "src/a.c", expect=0)
        def partly():
            log = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]
            return {one["id"]: one["partly_undone_by"] for one in log if one.get("partly_undone_by")}
        self.assertEqual(partly(), {"1": ["6"], "4": ["6"]})
        for number in range(35):
            self.write("x", str(number) + os.urandom(2).hex())
        self.assertEqual(partly(), {"1": ["6"], "4": ["6"]})
        self.galley("redo", "6", expect=0)
        self.assertEqual(partly(), {})


if __name__ == "__main__":
    hostile.main()
