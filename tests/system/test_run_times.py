"""Published files, and those in the views of commands, keep the order in which they were written, because make relies
on it.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import json
import os
import shutil
import subprocess

import hostile
from support import GALLEY
from test_run import RunCase

# A source, a file generated from it, and a file generated from that. The order is not alphabetical.
MAKEFILE = "all: a_out.c\na_out.c: b_mid.h\n\tcp b_mid.h a_out.c\nb_mid.h: z_grammar.y\n\tcp z_grammar.y b_mid.h\n"
NAMES = ("z_grammar.y", "b_mid.h", "a_out.c")


class Order(RunCase):
    def setUp(self):
        super().setUp()
        (self.work / "Makefile").write_text(MAKEFILE)
        for name in NAMES:
            (self.work / name).write_text("old\n")

    def doors(self, script):
        """Commits the changes of a script with each command, and yields the published times."""
        for turn, door in enumerate((("run", "--commit"), ("run",), ("exec",))):
            if door == ("exec",):
                self.galley("begin", expect=0)
            self.galley(*door, "--", "sh", "-ec", f"turn={turn}\n{script}", expect=0)
            if "--commit" not in door:
                self.galley("commit", "--tx", self.open_transactions()[0]["tx"], expect=0)
            yield [(self.work / name).stat().st_mtime_ns for name in NAMES]

    def written_in_order(self, names):
        return "".join(f"echo new $turn > {name}; touch -d '2001-01-01 00:00:0{second}' {name}\n"
                       for second, name in enumerate(names))

    def test_published_times_are_in_the_order_of_writing(self):
        for grammar, mid, out in self.doors(self.written_in_order(NAMES)):
            self.assertLess(grammar, mid)
            self.assertLess(mid, out)
            if shutil.which("make"):
                subprocess.run(["make", "-q", "-C", str(self.work)], check=True)

    def test_a_stale_output_does_not_become_newer_than_its_source(self):
        for grammar, mid, out in self.doors(self.written_in_order(("a_out.c", "b_mid.h", "z_grammar.y"))):
            self.assertLess(out, mid)
            self.assertLess(mid, grammar)

    def test_equal_times_stay_equal(self):
        script = "".join(f"echo new $turn > {name}; touch -d '2001-01-01 00:00:00' {name}\n" for name in NAMES)
        for times in self.doors(script):
            self.assertEqual(len(set(times)), 1)

    def test_published_times_are_not_those_of_the_layer(self):
        before = (self.work / "Makefile").stat().st_mtime_ns
        for times in self.doors(self.written_in_order(NAMES)):
            self.assertGreater(min(times), before)

    def test_a_resumed_run_gives_staged_files_the_times_that_it_sets(self):
        self.galley("run", "--keep", "--", "sh", "-ec", "turn=1\n" + self.written_in_order(NAMES), expect=0)
        tx = self.open_transactions()[0]["tx"]
        script = "turn=2\n" + self.written_in_order(("a_out.c", "b_mid.h", "z_grammar.y"))
        self.galley("run", "--keep", "--resume", tx, "--", "sh", "-ec", script, expect=0)
        self.galley("commit", "--tx", tx, expect=0)
        grammar, mid, out = ((self.work / name).stat().st_mtime_ns for name in NAMES)
        self.assertLess(out, mid)
        self.assertLess(mid, grammar)

    def test_a_file_edited_after_a_command_is_newer(self):
        self.galley("begin", expect=0)
        self.galley("exec", "--", "sh", "-ec", "turn=1\n" + self.written_in_order(NAMES), expect=0)
        self.galley("call", "Edit", '{"file_path": "z_grammar.y", "old_string": "new", "new_string": "newer"}',
                    "--tx", self.open_transactions()[0]["tx"], expect=0)
        self.galley("commit", expect=0)
        grammar, mid, out = ((self.work / name).stat().st_mtime_ns for name in NAMES)
        self.assertLess(mid, out)
        self.assertLess(out, grammar)


class ViewCase(RunCase):
    """A source and its product, by names that sort the other way than they are written."""

    def setUp(self):
        super().setUp()
        self.git("init", "-q")
        (self.work / ".gitignore").write_text("built/\n")
        (self.work / "a_source").write_text("one\n")

    def exec(self, script, expect=0):
        ran = self.galley("exec", "--begin", "--", "sh", "-ec", script, expect=expect)
        return ran.stdout.decode()

    def run_again(self, script):
        """Runs the script in one run after the other, in the same transaction."""
        resumed = [["--resume", one["tx"]] for one in self.open_transactions()]
        return self.galley("run", "--keep", *sum(resumed, []), "--", "sh", "-ec", script, expect=0).stdout.decode()

    def write(self, text):
        self.galley("call", "Write", json.dumps({"file_path": str(self.work / "a_source"), "content": text}), expect=0)

    def doors(self):
        for door in (self.exec, self.run_again):
            yield door
            self.galley("rollback", expect=0)

    def assert_newer(self, newer, older, door=None):
        self.assertEqual((door or self.exec)(f"find {newer} -newer {older}"), newer + "\n")


class StagedFiles(ViewCase):
    def test_a_source_that_was_written_after_its_product_is_newer(self):
        for door in self.doors():
            door("cp a_source b_product")
            door("echo two > a_source")
            self.assert_newer("a_source", "b_product", door)

    def test_a_source_that_a_tool_wrote_after_its_product_is_newer(self):
        self.exec("cp a_source b_product")
        self.write("two\n")
        self.assert_newer("a_source", "b_product")

    def test_a_source_that_another_program_saved_after_its_product_is_newer(self):
        for door in self.doors():
            door("cp a_source b_product")
            (self.work / "a_source").write_text("saved\n")
            self.assert_newer("a_source", "b_product", door)

    def test_a_product_that_was_made_again_with_the_same_bytes_is_newer(self):
        self.exec("cp a_source source; echo same > product")
        self.exec("echo two > source")
        self.exec("echo same > product; echo x > log")
        self.assert_newer("product", "source")

    def test_a_file_may_have_any_time(self):
        for time in ("@-1000.5", "2300-01-01", "1600-01-01"):
            for door in self.doors():
                door(f"echo a > z; touch -d {time} z")
                self.assertEqual(door("cat z"), "a\n")

    def test_files_have_the_same_time_in_each_command(self):
        for door in self.doors():
            door("echo two > a_source; echo new > made")
            self.galley("call", "Bash", '{"command": "chmod 755 README.md"}', expect=0)
            first, second = (door("stat -c %n:%.Y a_source made README.md") for _ in range(2))
            self.assertEqual(first, second)


class RestoredFiles(ViewCase):
    """A file that has the workspace's content again is newer than what was made from the content before."""

    BUILD = "mkdir -p built; cp a_source built/product"

    def assert_restored(self, door=None):
        self.assert_newer("a_source", "built/product", door)
        self.assertEqual((door or self.exec)("cat a_source"), "one\n")

    def test_after_a_rollback_to_a_savepoint(self):
        self.galley("begin", expect=0)
        self.galley("savepoint", "start", expect=0)
        self.exec("echo two > a_source")
        self.exec(self.BUILD)
        self.galley("rollback", "--to", "start", expect=0)
        self.assert_restored()

    def test_after_a_rollback_of_one_command(self):
        self.exec("echo other > other")
        staged = self.exec_id("echo two > a_source")
        self.exec(self.BUILD)
        self.galley("rollback", "--execution", staged, expect=0)
        self.assert_restored()

    def exec_id(self, script):
        self.exec(script)
        records = (self.work / ".galley/audit.jsonl").read_text().splitlines()
        return [one["execution_id"] for one in map(json.loads, records) if one.get("execution_id")][-1]

    def test_after_a_rollback_to_an_older_staged_content(self):
        self.exec("echo older > a_source")
        self.galley("savepoint", "older", expect=0)
        self.exec("echo two > a_source")
        self.exec(self.BUILD)
        self.galley("rollback", "--to", "older", expect=0)
        self.assert_newer("a_source", "built/product")

    def test_after_a_tool_wrote_the_old_text(self):
        self.galley("begin", expect=0)
        self.write("two\n")
        self.exec(self.BUILD)
        self.write("one\n")
        self.assert_restored()

    def test_after_a_command_wrote_the_old_text(self):
        for door in self.doors():
            door("echo two > a_source")
            door(self.BUILD)
            door("echo one > a_source")
            self.assert_restored(door)

    def test_after_a_run_that_was_looked_at(self):
        self.run_again("echo two > a_source")
        self.run_again(self.BUILD)
        tx = self.open_transactions()[0]["tx"]
        shell = subprocess.Popen([GALLEY, "-C", str(self.work), "run", "--keep", "--resume", tx, "--", "sh"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **self.environment})
        shell.stdin.write(b"echo one > a_source; echo done\n")
        shell.stdin.flush()
        self.assertEqual(shell.stdout.readline(), b"done\n")
        self.assertEqual(self.staged(tx), "")
        shell.communicate(timeout=60)
        self.assert_restored(self.run_again)

    def test_outputs_of_a_command_whose_effects_are_refused_are_dropped(self):
        self.galley("begin", expect=0)
        self.exec(self.BUILD)
        self.exec(f"echo two > a_source; {self.BUILD}; mkfifo pipe", expect=1)
        self.assertEqual(self.exec("cat a_source built/product"), "one\none\n")

    def test_a_save_of_another_program_is_seen(self):
        self.galley("begin", expect=0)
        self.write("two\n")
        self.write("one\n")
        (self.work / "a_source").write_text("saved\n")
        self.assertEqual(self.exec("cat a_source"), "saved\n")

    def test_what_a_command_writes_over_it_is_committed(self):
        for door in self.doors():
            door("echo two > a_source")
            door("echo one > a_source")
            door("echo more >> a_source; echo new > made")
            self.assertEqual(door("cat a_source"), "one\nmore\n")
            self.galley("commit", expect=0)
            self.assertEqual((self.work / "a_source").read_text(), "one\nmore\n")
            self.galley("undo", expect=0)
            self.galley("begin", expect=0)


class KeptProducts(ViewCase):
    """A validator that keeps what it builds judges what is proposed, not what it built of another proposal."""

    CHECK = ("test ! -e stop; test -e a_source; if ! test -e kept/product || find a_source -newer kept/product | grep -q .; "
             "then cp a_source kept/product; echo built >> kept/log; fi; grep -q good kept/product")

    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text(
            f"[[validator]]\nname = 'check'\ncommand = ['sh', '-ec', '{self.CHECK}']\nkeep = ['kept']\ncache = false\n")

    def judge(self, script, expect):
        """Judges what the script proposes, and drops it."""
        self.exec(script)
        self.galley("validate", expect=expect)
        self.galley("rollback", expect=0)

    def test_a_bad_tree_does_not_pass_by_a_product_of_a_dropped_proposal(self):
        (self.work / "a_source").write_text("bad\n")
        self.judge("echo good > a_source", expect=0)
        self.judge("echo more > other", expect=1)

    def test_a_good_tree_is_not_refused_by_a_product_of_a_dropped_proposal(self):
        (self.work / "a_source").write_text("good\n")
        self.judge("echo bad > a_source", expect=1)
        self.judge("echo more > stop", expect=1)  # it ends before it builds
        self.judge("echo more > other", expect=0)

    def test_a_source_that_comes_back_with_its_old_time_is_judged(self):
        (self.work / "a_source").write_text("bad\n")
        self.judge("echo good > a_source", expect=0)
        (self.work / "a_source").rename(self.scratch / "away")
        self.judge("echo more > other", expect=1)
        (self.scratch / "away").rename(self.work / "a_source")
        self.judge("echo more > other", expect=1)

    MADE = "for i in $(seq 120); do echo $i > made$i; done"

    def test_after_a_large_dropped_proposal_everything_is_built_again(self):
        (self.work / "big").write_bytes(bytes(17 << 20))
        for large in (self.MADE, "echo more >> big"):
            (self.work / "a_source").write_text("bad\n")
            self.judge(f"echo good > a_source; {large}", expect=0)
            for _ in range(2):
                self.judge("echo more > other", expect=1)
                self.assertEqual(self.kept("*/log"), "built\n")
                self.assertEqual(len(self.kept("*.seen").splitlines()), 3, "nothing is left of the large proposal")

    def test_after_a_large_commit_only_what_is_older_is_built_again(self):
        self.exec(f"echo good > a_source; {self.MADE}")
        self.galley("validate", expect=0)
        self.galley("commit", expect=0)
        self.judge("echo bad > a_source", expect=1)
        self.assertEqual(self.kept("*/log"), "built\nbuilt\n")

    def kept(self, pattern):
        return "".join(one.read_text() for one in (self.work / ".galley" / "keep").glob(f"*/{pattern}"))

    def test_two_proposals_that_alternate_are_judged_each_by_itself(self):
        names = ("--agent", "first"), ("--agent", "second")
        for name, text in zip(names, ("good", "bad")):
            self.galley(*name, "exec", "--begin", "--", "sh", "-ec", f"echo {text} > a_source", expect=0)
        for _ in range(2):
            self.galley(*names[0], "validate", expect=0)
            self.galley(*names[1], "validate", expect=1)

    def test_what_did_not_change_is_not_built_again(self):
        self.exec("echo good > a_source")
        self.galley("validate", expect=0)
        self.exec("echo more > other")
        self.galley("validate", expect=0)
        self.assertEqual(self.kept("*/log"), "built\n")


if __name__ == "__main__":
    hostile.main()
