"""Live runs during commits of others. Every command, run and committer is a separate process.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import os
import re
import shutil
import signal
import subprocess
import time

import hostile
from live_shell import PipedShell, TypedShell
from support import GALLEY
from terminal_session import wait_until
from test_run import RunCase

# The whole tree: kinds, modes, links and contents.
TREE = ("find . ( -name .galley -o -name .git ) -prune -o ! -name . -printf '%P %y %m %l\\n' | LC_ALL=C sort;"
        " find . ( -name .galley -o -name .git ) -prune -o -type f -exec sha256sum {} + | LC_ALL=C sort"
        ).replace("( ", "\\( ").replace(" )", " \\)")
LINES = "".join(f"{number}\n" for number in range(1, 10))


def with_lines(**changed):
    """Returns LINES with some lines replaced: l3="three"."""
    return "".join(changed.get(f"l{number}", str(number)) + "\n" for number in range(1, 10))


class ViewCase(RunCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        for name, text in {"lines": LINES, "read": "read\n", "never read": "never\n", "open": "open\n", "gone": "gone\n",
                           "old": "old\n", "listed/a": "a\n", "listed/b": "b\n", "cwd/here": "here\n",
                           "tree/deep/x": "x\n", "tree/y": "y\n", "becomes folder": "file\n", "becomes file/in": "in\n",
                           "script": "#!/bin/sh\n"}.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.work / "link").symlink_to("read")

    def start(self, kind=PipedShell, name="mine"):
        """Starts a shell in a live run. Returns it and the run's transaction."""
        environment = {**os.environ, **self.environment, "TERM": "dumb"}
        shell = kind([GALLEY, "-C", str(self.work), "run", "--name", name, "--", "bash", "--norc", "--noediting"],
                     environment)
        self.addCleanup(shell.close)
        self.assertEqual(shell.do("echo up"), "up\n")
        note = next(one for one in self.notes() if one["name"] == name)
        return shell, note["tx"]

    def patch_of(self, script):
        """Returns the changes that a shell script makes to the tree, as a git patch."""
        copy = self.scratch / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.work, copy, symlinks=True, ignore=shutil.ignore_patterns(".galley"))
        self.git("init", "-q", work=copy)
        self.git("add", "-A", work=copy)
        tree = self.git("write-tree", work=copy).stdout.decode().strip()
        subprocess.run(["sh", "-ec", script], cwd=copy, check=True)
        self.git("add", "-A", work=copy)
        return self.git("diff", "--cached", "-M", "--binary", tree, work=copy).stdout

    def apply(self, script):
        """Commits the changes of the script in another process."""
        self.galley("apply", "-", stdin=self.patch_of(script), expect=0)

    def tree(self):
        return subprocess.run(["sh", "-c", TREE], cwd=self.work, capture_output=True, check=True).stdout.decode()

    def read(self, name):
        return (self.work / name).read_text()

    def begin(self, *arguments):
        """Starts the program without waiting for it."""
        process = subprocess.Popen([GALLEY, "-C", str(self.work), *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**os.environ, **self.environment})
        self.addCleanup(process.stdout.close)
        return process


class FromAnotherTerminal(ViewCase):
    def looked_at_and_committed(self, kind):
        shell, tx = self.start(kind)
        shell.do("sed -i s/3/three/ lines; echo new > new; rm gone; mv old moved")
        before = self.tree()
        listed = next(one for one in self.open_transactions() if one["tx"] == tx)
        self.assertEqual((listed["run"]["name"], listed["run"]["live"], listed["changes"]), ("mine", True, 5), listed)
        self.assertEqual(self.staged(tx), "D\tgone\nM\tlines\nR100\told\tmoved\nA\tnew\n")
        self.assertIn(b"-3\n+three\n", self.galley("diff", "--tx", tx, expect=0).stdout)
        self.assertIn(b"the gate approves", self.galley("validate", "--tx", tx, expect=0).stdout)
        self.assertEqual(self.tree(), before)
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.tree(), shell.do(TREE))
        self.assertEqual(self.staged(tx), "")
        shell.do("sed -i s/7/seven/ lines; echo newer > newer")
        self.assertEqual(self.staged(tx), "M\tlines\nA\tnewer\n")
        second = self.galley("diff", "--tx", tx, expect=0).stdout
        self.assertIn(b"-7\n+seven\n", second)
        self.assertNotIn(b"-3\n", second)
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.read("lines"), with_lines(l3="three", l7="seven"))
        self.assertEqual(shell.finish(), 0)
        self.assertEqual((self.open_transactions(), self.notes()), ([], []))
        self.galley("audit", "verify", expect=0)

    def test_a_run_continues_after_a_commit_as_a_checkpoint(self):
        self.looked_at_and_committed(PipedShell)

    def test_a_commit_is_a_checkpoint_on_a_terminal_too(self):
        self.looked_at_and_committed(TypedShell)

    def test_changes_after_the_last_commit_are_kept_at_the_end(self):
        shell, tx = self.start()
        shell.do("sed -i s/3/three/ lines")
        self.galley("commit", "--tx", tx, expect=0)
        shell.do("sed -i s/7/seven/ lines")
        shell.finish()
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.read("lines"), with_lines(l3="three", l7="seven"))

    def test_undo_of_the_runs_own_commit_does_not_change_its_view(self):
        shell, tx = self.start()
        shell.do("sed -i s/3/three/ lines; echo new > new")
        self.galley("commit", "--tx", tx, expect=0)
        self.galley("undo", expect=0)
        self.assertEqual(self.read("lines"), LINES)
        self.assertEqual(shell.do("cat lines new"), with_lines(l3="three") + "new\n")
        shell.do("sed -i s/7/seven/ lines")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.read("lines"), with_lines(l7="seven"))
        self.assertFalse((self.work / "new").exists())


class WhileOthersCommit(ViewCase):
    EVERYTHING = ("echo other > read; echo other > 'never read'; echo other > open; rm gone; mv old fresh; "
                  "echo n > listed/new; rm listed/b; rm -r cwd; mkdir -p made/deep; echo m > made/deep/file; "
                  "mv tree branch; rm 'becomes folder'; mkdir 'becomes folder'; echo f > 'becomes folder/f'; "
                  "rm -r 'becomes file'; echo f > 'becomes file'; rm link; ln -s lines link; chmod +x script")

    LOOK = "cat read gone old link; ls listed tree; cat fresh listed/new made made/deep"

    def test_the_view_of_a_run_stays_consistent(self):
        for kind, look in ((PipedShell, self.LOOK), (PipedShell, ":"), (TypedShell, self.LOOK)):
            with self.subTest(kind=kind.__name__, look=look):
                before = self.tree()
                shell, tx = self.start(kind)
                shell.do(look + "; exec 5<open; cd cwd")
                self.apply(self.EVERYTHING)
                after = self.tree()
                self.assertEqual(shell.do("cat <&5; cat here; ls; pwd; cd .."), f"open\nhere\nhere\n{self.work}/cwd\n")
                self.assertEqual((shell.do(TREE), self.staged(tx)), (before, ""))
                self.galley("undo", expect=0)
                self.assertEqual((shell.do(TREE), self.tree()), (before, before))
                self.galley("redo", expect=0)
                self.assertEqual((shell.do(TREE), self.tree()), (before, after))
                shell.finish()
                self.assertEqual(self.notes(), [])
                self.galley("undo", expect=0)
                self.assertEqual(self.tree(), before)

    def test_names_that_others_created_are_free_in_the_run(self):
        shell, tx = self.start()
        shell.do("cat listed/new made/deep/file fresh")
        self.apply("echo n > listed/new; mkdir -p made/deep; echo m > made/deep/file; mv old fresh")
        self.assertEqual(shell.do("mkdir -p made/deep; echo mine | tee listed/new made/deep/file fresh"), "mine\n")
        refused = self.galley("commit", "--tx", tx, expect=1)
        named = re.findall(rb"conflict: '([^']*)'", refused.stdout + refused.stderr)
        self.assertEqual(named, [b"fresh", b"listed/new", b"made/deep/file"])
        self.assertEqual(shell.do("cat listed/new made/deep/file fresh old"), "mine\nmine\nmine\nold\n")
        self.assertEqual(shell.do("mv made/deep/file made/deep/beside; rm listed/new fresh; ls made/deep"), "beside\n")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual((self.read("made/deep/file"), self.read("made/deep/beside")), ("m\n", "mine\n"))
        self.assertEqual((self.read("listed/new"), self.read("fresh")), ("n\n", "old\n"))

    def test_folders_that_the_run_made_show_nothing_of_others(self):
        shell, tx = self.start()
        shell.do("rm -r listed; mkdir listed made; echo c > listed/c; echo mine > made/mine")
        self.apply("echo n > listed/new; mkdir made; echo theirs > made/theirs")
        self.assertEqual(shell.do("ls listed made"), "listed:\nc\n\nmade:\nmine\n")
        self.assertEqual(self.staged(tx), "D\tlisted/a\nD\tlisted/b\nA\tlisted/c\nA\tmade/mine\n")
        self.galley("commit", "--tx", tx, expect=0)
        listed = {name: sorted(os.listdir(self.work / name)) for name in ("listed", "made")}
        self.assertEqual(listed, {"listed": ["c", "new"], "made": ["mine", "theirs"]})
        self.assertEqual((shell.do("ls listed made"), self.staged(tx)), ("listed:\nc\n\nmade:\nmine\n", ""))

    def test_other_lines_merge_and_the_same_line_is_a_named_conflict(self):
        shell, tx = self.start()
        shell.do("cat lines")
        self.apply("sed -i s/1/one/ lines")
        shell.do("sed -i s/9/nine/ lines")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.read("lines"), with_lines(l1="one", l9="nine"))
        self.assertEqual(shell.do("cat lines"), with_lines(l9="nine"))
        self.apply("sed -i s/5/theirs/ lines")
        shell.do("sed -i s/5/mine/ lines; echo beside > beside")
        refused = self.galley("commit", "--tx", tx, expect=1)
        self.assertIn(b"lines", refused.stdout + refused.stderr)
        self.assertEqual(self.read("lines"), with_lines(l1="one", l5="theirs", l9="nine"))
        self.assertFalse((self.work / "beside").exists())
        self.assertEqual(self.staged(tx), "A\tbeside\nM\tlines\n")
        self.assertEqual(shell.do("cat lines"), with_lines(l5="mine", l9="nine"))
        shell.do("sed -i s/mine/theirs/ lines")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.read("lines") + self.read("beside"), with_lines(l1="one", l5="theirs", l9="nine") + "beside\n")

    def test_lines_appended_to_an_open_file_are_changes_of_the_run(self):
        shell, tx = self.start()
        shell.do("exec 6>>lines; echo 10 >&6")
        self.apply("sed -i s/1/one/ lines")
        shell.do("echo 11 >&6; exec 6>&-")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.read("lines"), with_lines(l1="one") + "10\n11\n")

    def test_an_undo_during_a_run_does_not_change_its_view(self):
        self.apply("sed -i s/1/one/ lines; echo n > new")
        shell, tx = self.start()
        self.galley("undo", expect=0)
        self.assertEqual(shell.do("cat lines new; sed -i s/9/nine/ lines"), with_lines(l1="one") + "n\n")
        self.assertEqual(self.staged(tx), "M\tlines\n")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.read("lines"), with_lines(l9="nine"))
        self.assertFalse((self.work / "new").exists())


class TwoRuns(ViewCase):
    def test_both_commit_and_each_keeps_its_view(self):
        (one, first), (other, second) = self.start(name="one"), self.start(name="other")
        one.do("sed -i s/1/one/ lines; rm gone")
        other.do("sed -i s/9/nine/ lines; mv tree branch")
        self.galley("commit", "--tx", first, expect=0)
        self.galley("commit", "--tx", second, expect=0)
        self.assertEqual(self.read("lines"), with_lines(l1="one", l9="nine"))
        self.assertEqual(one.do("cat lines tree/y"), with_lines(l1="one") + "y\n")
        self.assertEqual(other.do("cat lines gone branch/deep/x"), with_lines(l9="nine") + "gone\nx\n")
        self.assertEqual((self.staged(first), self.staged(second)), ("", ""))

    def test_both_commit_at_the_same_moment(self):
        (one, first), (other, second) = self.start(name="one"), self.start(name="other")
        for turn in range(5):
            one.do(f"sed -i '1s/.*/one {turn}/' lines; echo {turn} > 'one {turn}'")
            other.do(f"sed -i '9s/.*/nine {turn}/' lines; echo {turn} > 'other {turn}'")
            committers = [self.begin("commit", "--tx", tx) for tx in (first, second)]
            for committer in committers:
                said = committer.stdout.read()
                self.assertEqual(committer.wait(), 0, said)
            self.assertEqual(self.read("lines"), with_lines(l1=f"one {turn}", l9=f"nine {turn}"))
            self.assertEqual(self.read(f"one {turn}") + self.read(f"other {turn}"), f"{turn}\n{turn}\n")
        self.assertEqual((one.do("echo o*[0-9]"), self.staged(first)), ("one 0 one 1 one 2 one 3 one 4\n", ""))
        self.galley("audit", "verify", expect=0)


class Killed(ViewCase):
    def test_a_supervisor_killed_after_a_foreign_commit_loses_nothing(self):
        shell, tx = self.start()
        shell.do("sed -i s/3/three/ lines")
        self.galley("commit", "--tx", tx, expect=0)
        self.apply("sed -i s/1/one/ lines; rm gone; echo n > new; mv tree branch")
        shell.do("sed -i s/9/nine/ lines; echo mine > mine")
        self.assertEqual(self.kill_supervisor(shell, self.only_note()), 3)
        self.assertEqual(self.staged(tx), "M\tlines\nA\tmine\n")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual(self.read("lines"), with_lines(l1="one", l3="three", l9="nine"))
        names = {one.name for one in self.work.iterdir()}
        self.assertEqual(names & {"mine", "new", "gone", "tree", "branch"}, {"mine", "new", "branch"})

    def test_a_committer_can_be_killed_at_any_moment(self):
        """First another's change, then the run's own. Each is complete or absent, and the run's
        view does not change."""
        shell, tx = self.start()
        for turn in range(2, 42, 5):
            view, before = shell.do(TREE), self.tree()
            (self.scratch / "patch").write_bytes(self.patch_of(f"sed -i '1s/.*/one {turn}/' lines; echo n > 'theirs {turn}'"))
            self.killed_after(turn, "apply", self.scratch / "patch")
            self.status()
            self.assertIn((self.read("lines").startswith(f"one {turn}\n"), (self.work / f"theirs {turn}").exists()),
                          ((True, True), (False, False)))
            self.assertEqual(shell.do(TREE), view)
            if self.tree() == before:
                self.galley("apply", self.scratch / "patch", expect=0)
            shell.do(f"sed -i '9s/.*/nine {turn}/' lines; echo {turn} > 'mine {turn}'")
            self.killed_after(turn, "commit", "--tx", tx)
            self.status()
            is_in = (self.work / f"mine {turn}").exists()
            self.assertEqual(self.read("lines").endswith(f"nine {turn}\n"), is_in)
            self.assertEqual(self.staged(tx), "" if is_in else f"M\tlines\nA\tmine {turn}\n")
            self.galley("commit", "--tx", tx, expect=0)
            self.assertEqual(self.read("lines"), with_lines(l1=f"one {turn}", l9=f"nine {turn}"))
        self.galley("audit", "verify", expect=0)

    def killed_after(self, milliseconds, *arguments):
        process = self.begin(*arguments)
        time.sleep(milliseconds / 1000)
        process.kill()
        process.wait()
        wait_until(lambda: self.is_free(self.work / ".galley" / "lock"), "a dead process holds its lock")


if __name__ == "__main__":
    hostile.main()
