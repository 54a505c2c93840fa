"""Runs and commands propose files that git tracks, even if ignore files match them.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import json
import subprocess
import time

import hostile
from test_run import RunCase


class Tracked(RunCase):
    def setUp(self):
        super().setUp()
        (self.work / ".gitignore").write_text("dist/\n*.log\n")
        for name, text in (("dist/app.js", "old\n"), ("dist/sub/lib.js", "old\n"), ("kept.log", "old\n")):
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git = ["git", "-C", str(self.work), "-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "-f", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "first"], check=True)
        (self.work / "dist/built.js").write_text("built\n")

    def doors(self, script, *options):
        """Yields the staged changes of a script, for each command that can run it."""
        for door in ("run", "exec"):
            if door == "exec":
                self.galley("begin", expect=0)
            self.galley(door, *options, "--", "sh", "-ec", script, expect=0)
            tx = self.open_transactions()[0]["tx"]
            yield self.staged(tx)
            self.galley("rollback", "--tx", tx, expect=0)

    def test_an_edit_of_a_tracked_file_is_proposed(self):
        for staged in self.doors("for f in dist/app.js dist/sub/lib.js kept.log; do echo new > $f; done; "
                                     "echo x > dist/new.js; echo x > other.log"):
            self.assertEqual(staged, "M\tdist/app.js\nM\tdist/sub/lib.js\nM\tkept.log\n")

    def test_the_summary_names_what_is_ignored(self):
        said = self.galley("run", "--drop", "--", "sh", "-c", "echo x > a.log; echo x > b.log", expect=0).stderr.decode()
        self.assertRegex(said, r"ignored by git and not proposed: [ab]\.log and 1 more path\n")

    def test_the_document_names_what_is_ignored(self):
        """Also where nothing else was changed, so that nothing is kept."""
        for script, count, ignored in (("echo x > only.log", 1, "only.log"), ("echo x > a.log; echo x > b.log; echo x > new.txt", 2, "[ab].log"),
                                       ("echo x > new.txt", 0, None)):
            with self.subTest(script):
                document = json.loads(self.galley("--json", "run", "--commit", "--", "sh", "-c", script, expect=0).stdout)
                self.assertEqual(document["end"], "committed" if "new.txt" in script else "dropped")
                self.assertEqual(document.get("ignored_paths"), count)
                self.assertEqual("first_ignored" in document, count > 0)
                self.assertRegex(document.get("first_ignored", ""), f"^{ignored or ''}$")
                (self.work / "new.txt").unlink(missing_ok=True)

    def test_a_deletion_of_a_tracked_file_is_proposed(self):
        for staged in self.doors("rm dist/app.js; rm kept.log"):
            self.assertEqual(staged, "D\tdist/app.js\nD\tkept.log\n")

    def test_a_build_that_empties_its_folder_proposes_tracked_files(self):
        for staged in self.doors("rm -rf dist; mkdir dist; echo new > dist/app.js; echo new > dist/built.js"):
            self.assertEqual(staged.replace("D\tdist/sub\n", ""), "M\tdist/app.js\nD\tdist/sub/lib.js\n")

    def test_a_deleted_folder_stays_with_its_ignored_files(self):
        for staged in self.doors("rm -r dist"):
            self.assertEqual(staged.replace("D\tdist/sub\n", ""), "D\tdist/app.js\nD\tdist/sub/lib.js\n")
        self.galley("run", "--commit", "--", "rm", "-r", "dist", expect=0)
        self.assertEqual([path.name for path in (self.work / "dist").iterdir()], ["built.js"])
        self.galley("undo", expect=0)
        self.assertEqual((self.work / "dist/sub/lib.js").read_text(), "old\n")

    def test_a_moved_folder_keeps_its_ignored_files(self):
        (self.work / "app").mkdir()
        (self.work / "app/x.log").write_text("log\n")
        (self.work / "app/x.c").write_text("code\n")
        self.galley("exec", "--commit", "--", "mv", "app", "server", expect=0)
        self.assertEqual((self.work / "server/x.log").read_text(), "log\n")
        self.galley("run", "--commit", "--", "mv", "server", "dist/", expect=0)
        self.assertEqual((self.work / "dist/server/x.log").read_text(), "log\n")
        self.assertEqual((self.work / "dist/server/x.c").read_text(), "code\n")
        self.assertFalse((self.work / "server").exists())
        self.galley("undo", expect=0)
        self.assertEqual((self.work / "server/x.log").read_text(), "log\n")

    def test_ignored_files_are_proposed_on_request(self):
        for staged in self.doors("echo x > dist/new.js; echo x > other.log", "--propose-ignored"):
            self.assertEqual(staged, "A\tdist/new.js\nA\tother.log\n")
        for staged in self.doors("echo x > dist/new.js; echo x > other.log; echo x > plain"):
            self.assertEqual(staged, "A\tplain\n")

    def test_a_search_finds_tracked_files_that_are_ignored(self):
        self.galley("begin", expect=0)
        found = self.galley("call", "Grep", '{"pattern": "old", "output_mode": "files_with_matches"}', expect=0).stdout.decode()
        for name in ("dist/app.js", "dist/sub/lib.js", "kept.log"):
            self.assertIn(name, found)
        self.assertNotIn("dist/built.js", self.galley("call", "Glob", '{"pattern": "**/*.js"}', expect=0).stdout.decode())

    def test_tracked_files_of_repositories_below_are_proposed(self):
        origin = self.scratch / "origin"
        for folder in (origin, self.work / "nest", self.work / "dist/nest"):
            (folder / "o").mkdir(parents=True)
            (folder / "o/t").write_text("old\n")
            (folder / "o/u").write_text("old\n")
            (folder / ".gitignore").write_text("o/\n")
            self.git("init", "-q", work=folder)
            self.git("add", "-f", ".gitignore", "o/t", work=folder)
            self.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "first", work=folder)
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "sm")
        for staged in self.doors("for n in nest sm dist/nest; do echo new > $n/o/t; echo new > $n/o/u; done; echo new > nest/n"):
            self.assertEqual(staged, "A\tnest/n\nM\tnest/o/t\nM\tsm/o/t\n")
        for staged in self.doors("rm -r nest/o sm/o"):
            self.assertEqual(staged.replace("D\tsm/o\n", ""), "D\tnest/o/t\nD\tsm/o/t\n")


class AfterARun(RunCase):
    # Limit: kMaxIgnoreTime of engine/calls/guarded_runner.h
    def test_ignore_rules_without_an_end_keep_it_in_its_layer(self):
        self.git("init", "-q")
        (self.work / ".gitignore").write_text(("*a" * 60 + "[b]\n") * 8000)
        script = "import os\nfor n in range(3000): open('a' * 200 + str(n), 'w').close()"
        began = time.monotonic()
        ran = self.galley("run", "--", "python3", "-c", script)
        self.assertLess(time.monotonic() - began, 100)
        self.assertIn(b"make the .gitignore files smaller", ran.stderr)
        (self.work / ".gitignore").write_text("")
        tx = self.open_transactions()[0]["tx"]
        self.galley("commit", "--tx", tx, expect=0)
        self.assertTrue((self.work / ("a" * 200 + "2999")).exists())


if __name__ == "__main__":
    hostile.main()
