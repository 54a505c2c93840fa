"""Undos of parts, of the rest, of several and of undos: what each changes, and that the printed way back takes exactly it back."""

import json
import re

import hostile
from support import snapshot
from test_turns import TurnCase

LINES = "".join(f"{number}\n" for number in range(1, 41))


class ChainCase(TurnCase):
    def commit(self, session="s", **texts):
        """Commits whole new texts of files in one transaction of this session. Returns the id."""
        for path, text in texts.items():
            arguments = json.dumps({"file_path": path, "content": text})
            self.galley("--agent", "claude", "--session", session, "call", "--begin", "Write", arguments, expect=0)
        said = self.galley("--json", "--agent", "claude", "--session", session, "commit", expect=0)
        return json.loads(said.stdout)["receipt"]["id"]

    def back_and_forth(self, *command, words=""):
        """Makes a commit, follows its printed way back, and the way back from there."""
        before = snapshot(self.work)
        said = self.galley(*command, expect=0).stderr.decode()
        after = snapshot(self.work)
        self.assertNotEqual(before, after)
        self.assertIn(words, said)
        for wanted in (before, after):
            [*_, way] = re.findall("`galley (?:-C [^ ]+ )?((?:un|re)do[^`]*)`", said)
            way_back = said
            said = self.galley(*way.split(), expect=0).stderr.decode()
            self.assertEqual(snapshot(self.work), wanted, (way, way_back, said))

    def steps(self, command, *texts):
        """Repeats a command. After each step the file n has the next of the texts."""
        for text in texts:
            self.galley(command, expect=0)
            self.assertEqual(self.read("n"), text)


class Ways(ChainCase):
    def setUp(self):
        super().setUp()
        self.commit(a="1\n", b="1\n", c=LINES)
        self.commit(a="2\n", b="2\n", c=LINES.replace("5\n", "five\n", 1).replace("30\n", "thirty\n"))

    def test_after_an_undo_of_a_part_and_of_the_rest(self):
        for part in (("--path", "a"), ("--hunk", "c:1")):
            with self.subTest(part):
                before = snapshot(self.work)
                self.back_and_forth("undo", "2", *part)
                self.assertIn(b"undid the rest of 2; `galley", self.galley("undo", "2", expect=0).stderr)
                self.assertEqual((self.read("a"), self.read("b"), self.read("c")), ("1\n", "1\n", LINES))
                self.back_and_forth("redo", words="redid a part of 2; ")
                self.galley("redo", expect=0)
                self.assertEqual(snapshot(self.work), before)

    def test_what_git_took_away_is_passed_over_aloud_and_can_be_undone_when_it_is_back(self):
        self.git("init", "-q")
        self.git("config", "user.name", "P")
        self.git("config", "user.email", "p@example.org")
        self.git("add", "-A")
        self.git("commit", "-qm", "all")
        self.commit(new="3\n")
        self.git("stash", "-qu")
        said = self.galley("undo", expect=0).stderr
        self.assertIn(b"3 has no effect here any more", said)
        self.assertEqual(self.read("a"), "1\n")
        self.galley("undo", expect=0)
        self.git("stash", "pop", "-q")
        self.assertIn(b" undo ID` undoes it again", self.galley("undo", expect=1).stderr)
        self.galley("undo", "3", expect=0)
        self.assertFalse((self.work / "new").exists())

    def test_after_an_undo_of_the_rest_of_a_turn(self):
        before = snapshot(self.work)
        self.galley("undo", "2", "--path", "a", expect=0)
        self.back_and_forth("undo", "--turn", "2")
        self.galley("redo", expect=0)
        self.galley("redo", expect=0)
        self.assertEqual(snapshot(self.work), before)

    def test_after_an_undo_of_several(self):
        self.commit(session="t", b="3\n")
        self.back_and_forth("undo", "--session", "s", "--path", "a")
        self.back_and_forth("undo", "--turn", "3")
        self.back_and_forth("undo", "--session", "s")

    def test_after_a_redo_of_a_part(self):
        self.galley("undo", "2", expect=0)
        before = snapshot(self.work)
        self.back_and_forth("undo", "3", "--path", "a", words="redid a part of 2; ")
        self.assertEqual(self.states()["2"], "partly undone")
        self.galley("undo", expect=0)
        self.assertEqual(snapshot(self.work), before)

    def test_after_a_redo_of_which_a_part_was_in_place(self):
        for command in (("undo", "2"), ("redo",), ("undo", "2"), ("undo", "3", "--path", "a")):
            self.galley(*command, expect=0)
        self.back_and_forth("redo", words="redid a part of 2; ")

    def test_after_a_redo_that_follows_a_rename_of_the_folder(self):
        self.galley("exec", "--commit", "--", "sh", "-c", "mkdir d; echo x >d/x; echo y >d/y", expect=0)
        self.galley("exec", "--commit", "--", "rm", "d/y", expect=0)
        self.galley("undo", expect=0)
        self.galley("exec", "--commit", "--", "mv", "d", "e", expect=0)
        self.back_and_forth("redo", words="redid 4; ")

    def test_after_an_undo_of_an_undo_and_its_redo_together(self):
        for command in ("undo", "redo", "undo"):
            self.galley(command, expect=0)
        self.back_and_forth("undo", "4", "3", words="undid 3; ")  # 5 undid what 4 did

    def test_a_redo_of_an_undo_of_which_a_part_came_back_brings_the_rest(self):
        before = snapshot(self.work)
        self.galley("undo", "2", expect=0)
        self.galley("undo", "3", "--path", "a", expect=0)
        self.galley("redo", "3", expect=0)
        self.assertEqual(snapshot(self.work), before)
        self.assertEqual(self.refused("redo", "5")[0], "undo.not_undone")  # a redo is not undone


class Steps(ChainCase):
    def drop_all_but(self, kept):
        (self.work / "galley.toml").write_text(f"[history]\nkeep_transactions = {kept}\n")
        for journal in (self.work / ".galley" / "j").glob("*.j"):  # the state after retirement
            journal.rename(self.work / ".galley" / "undo" / journal.name)
        self.galley("gc", expect=0)

    def test_a_hunk_of_a_path_that_was_not_changed_names_the_nearest(self):
        self.commit(note="1\n")
        reason, message = self.refused("undo", "--hunk", "nose:1")
        self.assertEqual(reason, "undo.unknown_path")
        self.assertIn("did not change 'nose'; did you mean 'note'", message)

    def test_an_undo_passes_over_what_has_no_effect_any_more(self):
        for number in (1, 2, 3):
            self.commit(n=f"{number}\n")
        (self.work / "n").write_text("2\n")  # a person took 3 back
        self.steps("undo", "1\n", None)
        self.steps("redo", "1\n", "2\n")
        self.assertEqual(self.refused("redo")[0], "history.nothing_to_redo")

    def test_what_had_nothing_to_undo_is_named_and_not_counted(self):
        for name in ("a", "b", "c"):
            self.commit(**{name: "1\n"})
        (self.work / "b").unlink()
        said = self.galley("undo", "1", "2", "3", expect=0).stderr.decode()
        self.assertIn("2 has no effect here any more and is undone with it", said)
        self.assertIn("undid 2 transactions; ", said)
        self.galley("redo", expect=0)
        (self.work / "c").unlink()
        self.assertIn("undid 1; ", self.galley("undo", "--session", "s", expect=0).stderr.decode())
        self.assertEqual((self.read("a"), self.read("c")), (None, None))

    def test_a_redo_passes_over_what_has_no_effect_any_more(self):
        for number in (1, 2, 3):
            self.commit(n=f"{number}\n")
        self.steps("undo", "2\n", "1\n")
        (self.work / "n").write_text("2\n")  # a person brought 2 back
        self.steps("redo", "3\n")
        self.steps("undo", "2\n", "1\n", None)

    def test_parts_that_are_all_of_a_transaction_undo_it(self):
        self.commit(n="1\n", m="1\n")
        self.commit(n="2\n", m="2\n")
        for path in ("n", "m"):
            self.galley("undo", "--path", path, expect=0)
        self.steps("undo", None)
        self.steps("redo", "1\n", "1\n", "2\n")
        self.assertEqual(self.read("m"), "2\n")

    def test_the_undo_of_a_session_is_not_that_of_another(self):
        self.commit(a="1\n")
        self.commit(session="t", b="1\n")
        self.galley("--session", "s", "undo", expect=0)
        self.assertEqual((self.read("a"), self.read("b")), (None, "1\n"))
        self.galley("undo", expect=0)
        self.assertEqual(self.refused("redo", "--session", "t")[0], "history.nothing_to_redo")
        self.galley("redo", "--session", "s", expect=0)
        self.galley("redo", expect=0)
        self.galley("undo", "--session", "s", "--turn", "last", expect=0)
        self.assertEqual((self.read("a"), self.read("b")), (None, "1\n"))
        self.assertEqual(self.refused("undo", "--session", "s", "--turn", "2")[0], "turn.session")

    def test_the_way_back_from_a_redo_of_what_gc_dropped(self):
        self.commit(n="1\n")
        self.galley("undo", expect=0)
        self.drop_all_but(1)
        self.back_and_forth("redo", words="redid 1; ")

    def test_a_redo_is_in_effect_after_gc_dropped_the_original(self):
        self.commit(n="1\n")
        self.galley("undo", expect=0)
        self.galley("redo", expect=0)
        self.drop_all_but(1)
        self.assertEqual(self.refused("redo")[0], "history.nothing_to_redo")
        self.steps("undo", None)
        self.assertEqual(self.refused("undo")[0], "history.nothing_to_undo")
        self.steps("redo", "1\n")
        self.steps("undo", None)


class LastTurn(ChainCase):
    def test_a_prompt_that_changed_nothing_is_the_last_turn(self):
        own = ("--agent", "claude", "--session", "s")
        for prompt in ("do it", "explain it"):
            self.prompt(prompt)
            if prompt == "do it":
                self.commit(n="1\n")
        for command in ("undo", "show", "diff"):
            reason, message = self.refused(command, "--turn", "last")
            self.assertEqual(reason, "turn.no_change")
            self.assertIn("--turn 1", message)
        # The turn in which the agent itself is asked to take something back is not meant.
        self.galley(*own, "undo", "--turn", "last", expect=0)
        self.assertEqual(self.read("n"), None)
        self.prompt("redo it")
        self.galley(*own, "redo", "--turn", "last", expect=0)
        self.prompt("hm")
        self.prompt("take it back")
        self.assertEqual(self.refused(*own, "undo", "--turn", "last")[0], "turn.no_change")
        self.galley(*own, "undo", "--turn", "1", expect=0)


if __name__ == "__main__":
    hostile.main()
