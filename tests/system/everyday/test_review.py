"""A person reads the staged changes, keeps some of them and commits, on the terminal; diff's views
for this."""

import json
import re
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from everyday import EverydayCase  # noqa: E402
from support import GALLEY  # noqa: E402

LINES = [f"line {i}\n" for i in range(1, 41)]
ASKS = "Keep this change"


class Reviewed(EverydayCase):
    """Changes: two hunks in long.txt, the first with two changes close together, and a new file."""

    def setUp(self):
        super().setUp()
        (self.work / "long.txt").write_text("".join(LINES))
        changed = list(LINES)
        changed[4], changed[7], changed[30] = "five\n", "eight\n", "thirty-one\n"
        self.galley("begin", expect=0)
        for path, text in (("long.txt", "".join(changed)), ("new.txt", "fresh\n")):
            self.galley("call", "Write", json.dumps({"file_path": path, "content": text}), expect=0)

    def review(self, *answers, expect=0, env=None):
        """Types one answer to each question."""
        typed = [(ASKS if not isinstance(answer, tuple) else answer[0],
                  (answer if not isinstance(answer, tuple) else answer[1]) + "\n") for answer in answers]
        return self.on_terminal("review", "--tty", typed=typed, expect=expect, env=env)

    def staged(self):
        return self.galley("diff", expect=0).stdout.decode()

    def text(self, name):
        path = self.work / name
        return path.read_text() if path.exists() else None


class Letters(Reviewed):
    def test_keep_and_leave_out(self):
        """git add -p: y keeps, n leaves out; the kept changes are committed."""
        result = self.review("y", "n", "y", ("Commit proposal", "y"))
        self.assertIn("(1/3)", result.screen)
        self.assertIn("five\n", self.text("long.txt"))
        self.assertNotIn("thirty-one", self.text("long.txt"))
        self.assertEqual(self.text("new.txt"), "fresh\n")

    def test_no_to_the_last_question_commits_nothing(self):
        """git add -p: nothing is committed without a yes."""
        self.review("y", "n", "y", ("Commit proposal", "n"))
        self.assertEqual(self.text("long.txt"), "".join(LINES))
        self.assertNotIn("thirty-one", self.staged())
        self.assertIn("+five", self.staged())

    def test_left_out_changes_can_be_restored(self):
        """git stash: left out changes can be restored."""
        before = self.staged()
        self.review("n", "q")
        self.assertNotEqual(self.staged(), before)
        self.galley("rollback", "--to", "before-review", expect=0)
        self.assertEqual(self.staged(), before)

    def test_no_progress_is_written_while_a_person_thinks(self):
        """git add -p: the question is the last thing on the screen."""
        def after_a_while(letter):
            time.sleep(1)  # a line of progress is written after half a second
            return letter + "\n"

        screen = self.on_terminal("review", "--tty", typed=[
            (ASKS, lambda: after_a_while("y")), (ASKS, "n\n"), (ASKS, "y\n"),
            ("Commit proposal", lambda: after_a_while("n"))], expect=0).screen
        self.assertNotIn("galley review", screen)

    def test_quit_keeps_what_is_undecided(self):
        """git add -p: q ends, and earlier decisions stay."""
        self.review("n", "q")
        self.assertNotIn("five", self.staged())
        self.assertIn("thirty-one", self.staged())
        self.assertEqual(self.text("long.txt"), "".join(LINES))

    def test_all_and_none_of_a_file(self):
        """git add -p: a and d decide for the rest of the file."""
        self.review("d", "y", ("Commit proposal", "y"))
        self.assertEqual(self.text("long.txt"), "".join(LINES))
        self.assertEqual(self.text("new.txt"), "fresh\n")

    def test_keep_the_rest_of_a_file(self):
        """git add -p: a keeps the rest of the file."""
        self.review("a", "n", ("Commit proposal", "y"))
        self.assertIn("thirty-one", self.text("long.txt"))
        self.assertIsNone(self.text("new.txt"))

    def test_split(self):
        """git add -p: s splits a change into smaller ones."""
        result = self.review("s", "n", "y", "y", "y", ("Commit proposal", "y"))
        self.assertIn("Split into 2 changes", result.screen)
        self.assertIn("(2/4)", result.screen)
        self.assertIn("line 5\n", self.text("long.txt"))
        self.assertIn("eight\n", self.text("long.txt"))

    def test_a_change_that_cannot_be_split_is_reported(self):
        """git add -p: says that a change cannot be split."""
        result = self.review("J", "s", "q")
        self.assertIn("cannot be split", result.screen)

    def test_go_search_and_step(self):
        """git add -p: g, /, j, J, k and K go to other changes."""
        result = self.review("g 3", "/thirty", "K", "J", "J", "k", "J", "J", "j", "q")
        places = re.findall(r"\((\d)/3", result.screen)
        self.assertEqual(places, ["1", "3", "2", "1", "2", "3", "2", "3", "3", "3"])
        self.assertIn("no later change", result.screen)

    def test_go_to_an_unknown_change_is_reported(self):
        """git add -p: reports a wrong number."""
        result = self.review("g 9", "g", ("Go to which", "2"), "q")
        self.assertIn("changes 1 to 3", result.screen)
        self.assertIn("(2/3)", result.screen)

    def test_help(self):
        """git add -p: ? explains each letter, and so does an unknown letter."""
        result = self.review("?", "z", "q")
        self.assertEqual(result.screen.count("y - keep this change"), 2)

    def test_edit(self):
        """git add -p: e opens the editor; the saved text is proposed."""
        editor = self.scratch / "editor"
        editor.write_text("#!/bin/sh\nsed -i s/thirty-one/31st/ \"$1\"\n")
        editor.chmod(0o755)
        self.review("n", "e", "y", "y", ("Commit proposal", "y"), env={"EDITOR": str(editor)})
        self.assertIn("31st\n", self.text("long.txt"))
        self.assertIn("line 5\n", self.text("long.txt"))

    def propose_equal_changes(self):
        """Stages the same change at three places of one file."""
        lines = [f"line {i}\n" for i in range(60)]
        for at in (5, 25, 45):
            lines[at] = "call(1)\n"
        (self.work / "equal.txt").write_text("".join(lines))
        self.galley("rollback", expect=0)
        self.galley("begin", expect=0)
        text = "".join(lines).replace("call(1)", "call(2)")
        self.galley("call", "Write", json.dumps({"file_path": "equal.txt", "content": text}), expect=0)

    def calls(self):
        return re.findall(r"call\(\d\)", self.text("equal.txt"))

    def test_equal_changes_are_decided_one_by_one(self):
        """git add -p: each hunk is a question, also if it is equal to another one."""
        self.propose_equal_changes()
        self.review("y", "n", "y", ("Commit proposal", "y"))
        self.assertEqual(self.calls(), ["call(2)", "call(1)", "call(2)"])

    def test_equal_changes_are_decided_again_when_one_of_them_was_edited(self):
        """git add -p: a decision never moves to another hunk."""
        self.propose_equal_changes()
        editor = self.scratch / "editor"
        editor.write_text("#!/bin/sh\nsed -i s/2/3/ \"$1\"\n")
        editor.chmod(0o755)
        self.review("J", "n", "g 1", "e", "y", "y", "y", ("Commit proposal", "y"), env={"EDITOR": str(editor)})
        self.assertEqual(self.calls(), ["call(3)", "call(2)", "call(2)"])

    def test_what_is_staged_during_a_review_is_not_committed(self):
        """gh pr merge --match-head-commit: only what was reviewed is merged."""
        editor = self.scratch / "editor"
        staged = json.dumps({"file_path": "unseen.txt", "content": "unseen\n"})
        editor.write_text(f"#!/bin/sh\n'{GALLEY}' -C '{self.work}' call Write '{staged}' > /dev/null\n")
        editor.chmod(0o755)
        result = self.review("e", "y", "y", "y", ("Commit proposal", "y"), env={"EDITOR": str(editor)}, expect=1)
        self.assertIn("something else is staged than what was shown", result.screen)
        self.assertIsNone(self.text("unseen.txt"))
        self.assertEqual(self.text("long.txt"), "".join(LINES))

    def test_leaving_out_everything_commits_nothing(self):
        """git add -p: if nothing is chosen, nothing is committed."""
        result = self.review("d", "n")
        self.assertIn("nothing is left to commit", result.screen)
        self.assertEqual(self.staged(), "")

    def test_modes_deletions_and_binary_files_are_asked_about_as_a_whole(self):
        """git add -p: a change without lines is one question."""
        (self.work / "gone.txt").write_text("x\n")
        (self.work / "data.bin").write_bytes(b"\0old")
        self.galley("rollback", expect=0)
        self.galley("begin", expect=0)
        self.galley("exec", "--", "sh", "-c", "rm gone.txt; chmod +x long.txt; printf '\\0new' > data.bin", expect=0)
        self.review("n", "y", "n", ("Commit proposal", "y"))
        self.assertEqual((self.work / "data.bin").read_bytes(), b"\0old")
        self.assertIsNone(self.text("gone.txt"))
        self.assertEqual((self.work / "long.txt").stat().st_mode & 0o111, 0)

    def test_file_contents_cannot_control_the_terminal(self):
        """less: control characters of a file are escaped."""
        self.stage_new("a\u202e", "\x1b[2J\u202e\n")
        result = self.review("q")
        self.assertIn("<U+202E>", result.screen)
        self.assertNotIn("\x1b[2J", result.screen)
        self.assertNotIn("\u202e", result.screen)

    def test_the_gate_judges_the_kept_changes(self):
        """git commit: a hook can still refuse the chosen changes."""
        (self.work / "galley.toml").write_text('[[validator]]\nname = "json"\nbuiltin = "json"\npaths = ["*.json"]\n')
        self.galley("call", "Write", '{"file_path": "a.json", "content": "{"}', expect=0)
        result = self.review("y", "y", "y", "y", ("Commit proposal", "y"), expect=1)
        self.assertIn("json.syntax", result.screen)
        self.assertEqual(self.text("long.txt"), "".join(LINES))


class Asked(Reviewed):
    def test_needs_a_terminal(self):
        """gh: a command that asks a person needs a terminal."""
        result = self.run_here("review", "--tty", stdin="y\ny\ny\ny\n", expect=1)
        self.assertIn("terminal", result.err)
        self.assertIn("five", self.staged())

    def test_an_agent_reviews_nothing(self):
        """gh pr: an author cannot approve their own proposal."""
        result = self.run_here("--agent", "bot", "review", "--tty", expect=1)
        self.assertIn("leave out --agent", result.err)

    def test_a_review_answers_a_rule_that_asks(self):
        """gh pr: an approving review is the approval."""
        (self.work / "galley.toml").write_text('[[policy.rule]]\nname = "ask"\npaths = ["*"]\ndecision = "ask"\n')
        self.review("y", "y", "y", ("Commit proposal", "y"))
        self.assertIn("five\n", self.text("long.txt"))


class Shown(Reviewed):
    def test_side_by_side(self):
        """diff -y: old lines are next to new ones, as wide as the terminal."""
        result = self.on_terminal("--no-pager", "--color=never", "diff", "--side-by-side", expect=0)
        self.assertRegex(result.screen, r"(?m)^   5 line 5 +\| +5 five$")
        self.assertLessEqual(max(map(len, result.screen.splitlines())), 100)

    def test_quiet_reports_by_the_exit_status(self):
        """git diff --quiet: status 1 if something differs, and no output."""
        result = self.run_here("diff", "--quiet", expect=1)
        self.assertEqual((result.out, result.err), ("", ""))
        self.run_here("diff", "--quiet", "README.md", expect=0)

    def test_quiet_preview_reports_by_the_exit_status(self):
        """git diff --quiet: the status is the verdict."""
        patch = "--- a/long.txt\n+++ b/long.txt\n@@ -1 +1 @@\n-line 1\n+one\n"
        result = self.run_here("preview", "--quiet", "--unidiff-zero", stdin=patch, expect=0)
        self.assertEqual((result.out, result.err), ("", ""))

    def test_arguments_after_dashes_are_paths(self):
        """git diff: arguments after -- are paths."""
        result = self.run_here("diff", "--", "new.txt", expect=0)
        self.assertIn("new.txt", result.out)
        self.assertNotIn("long.txt", result.out)
        patch = self.run_here("diff", expect=0).out
        (self.scratch / "a.patch").write_text(patch)
        result = self.run_here("preview", self.scratch / "a.patch", "--", "new.txt", expect=0)
        self.assertIn("+fresh", result.out)
        self.assertNotIn("five", result.out)

    def test_links_open_an_editor(self):
        """ls --hyperlink: places are links on request."""
        result = self.run_here("diff", "--hyperlinks=always", expect=0)
        self.assertRegex(result.out, rf"\x1b\]8;;file://[^/]*{self.work}/long.txt\x1b\\@@ ")
        result = self.run_here("diff", "--hyperlinks=always", "--side-by-side", expect=0,
                               env={"GALLEY_EDITOR_LINK": "vscode"})
        self.assertIn(f"vscode://file{self.work}/long.txt:2:1\x1b\\", result.out)

    def test_no_links_where_none_are_wanted(self):
        """ls --hyperlink=auto: no links in a pipe or on an unknown terminal."""
        self.assertNotIn("\x1b]8", self.run_here("diff", expect=0).out)
        self.assertNotIn("\x1b]8", self.on_terminal("--no-pager", "diff", expect=0).screen)
        self.assertIn("\x1b]8", self.on_terminal("--no-pager", "diff", expect=0, env={"VTE_VERSION": "6800"}).screen)

    def test_a_hostile_name_cannot_end_a_link(self):
        """ls --hyperlink: names in an address are encoded."""
        name = "a;b %\\ \u202e\u0090]8;;?"  # the last character is not allowed in paths of Windows
        self.need_walls()
        self.run_here("exec", "--", "sh", "-c", 'echo x > "$1"', "sh", name, expect=0)
        out = self.run_here("diff", "--hyperlinks=always", expect=0).out
        self.assertIn("/a%3Bb%20%25%5C%20%E2%80%AE%C2%90%5D8%3B%3B%3F\x1b\\", out)

    def test_a_page_is_not_printed_on_a_terminal(self):
        """gzip: binary output is not written to a terminal."""
        result = self.on_terminal("diff", "--html", expect=2)
        self.assertIn("--html=FILE", result.screen)


if __name__ == "__main__":
    unittest.main()
