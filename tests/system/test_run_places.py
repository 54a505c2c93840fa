"""Paths of a program in galley run or exec: the person's own path, a linked work tree of git, a
folder that does not exist yet. Also the message if the walls keep it from something.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import json
import os
import subprocess
import unittest

import hostile
from support import GALLEY, snapshot
from test_run import RunCase


class OwnPath(RunCase):
    def setUp(self):
        super().setUp()
        self.link = self.scratch / "way" / "to it"
        self.link.parent.mkdir()
        self.link.symlink_to(self.work)
        (self.work / "a.txt").write_text("text\n")

    def from_link(self, *arguments, folder="", expect=0):
        place = f"{self.link}{folder}"
        ran = subprocess.run([GALLEY, *map(str, arguments)], cwd=place, capture_output=True, stdin=subprocess.DEVNULL,
                             env={**os.environ, **self.environment, "PWD": place}, check=False, timeout=120)
        self.assertEqual(ran.returncode, expect, ran.stderr.decode())
        return ran.stdout.decode()

    def test_both_paths_of_a_linked_folder_exist_in_a_run(self):
        self.from_link("begin")
        script = f"cat '{self.link}/a.txt' '{self.work}/a.txt'; echo more >> '{self.link}/a.txt'"
        for door in ("run", "exec"):
            for folder in ("", "/src"):
                with self.subTest(door=door, folder=folder):
                    self.assertEqual(self.from_link(door, *(["--drop"] if door == "run" else []), "--", "sh", "-c", script,
                                                    folder=folder).splitlines()[0], "text")
        self.assertIn("M\ta.txt", self.galley("diff", "--name-status", expect=0).stdout.decode())

    def test_both_paths_exist_if_an_option_names_the_link(self):
        for option, env in ((str(self.link), {}), ("to it", {"PWD": str(self.link.parent)})):
            ran = subprocess.run([GALLEY, "-C", option, "run", "--drop", "--", "cat", f"{self.link}/a.txt"], capture_output=True,
                                 cwd=self.link.parent, stdin=subprocess.DEVNULL, env={**os.environ, **self.environment, **env},
                                 check=False, timeout=120)
            self.assertEqual((ran.stdout, ran.returncode), (b"text\n", 0), ran.stderr)

    def test_both_paths_exist_if_the_link_leads_to_a_folder_below(self):
        (self.work / "src/b.txt").write_text("text\n")
        below = self.link.parent / "below"
        below.symlink_to(self.work / "src")
        for link, file, name in ((below, f"{below}/b.txt", "src/b.txt"), (self.link, f"{self.link}/a.txt", "a.txt")):
            self.link = link
            self.from_link("begin")
            with self.subTest(link=link):
                script = f"cat '{file}'; echo more >> '{file}'"
                for door in (("run", "--drop"), ("exec",)):
                    self.assertEqual(self.from_link(*door, "--", "sh", "-c", script).splitlines()[0], "text")
                self.assertIn("more", self.from_link("call", "Read", json.dumps({"file_path": file})))
                self.assertIn("more", self.from_link("call", "Bash", json.dumps({"command": f"cat '{file}'"})))
                self.assertIn(name, self.from_link("call", "Glob", json.dumps({"pattern": "*.txt", "path": str(link)})))
                self.from_link("call", "Edit", json.dumps({"file_path": file, "old_string": "more", "new_string": "less"}))
                self.assertIn("+less", self.from_link("diff", file))
                self.from_link("rollback")

    def test_a_path_that_does_not_lead_to_the_folder_is_ignored(self):
        for told in ("", "relative", "/", "/nowhere", "/etc", "/proc/self/cwd", str(self.link) + "/.", str(self.scratch)):
            with self.subTest(told=told):
                ran = self.galley("run", "--drop", "--", "cat", "a.txt", env={"PWD": told}, expect=0)
                self.assertEqual(ran.stdout, b"text\n")


class WorkTree(RunCase):
    """Several agents, each in its own linked work tree."""

    def setUp(self):
        super().setUp()
        self.main = self.scratch / "main repo"
        self.main.mkdir()
        (self.main / "file").write_text("one\n")
        self.git("init", "-q", "-b", "main", work=self.main)
        self.git("add", "-A", work=self.main)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "first", work=self.main)
        self.git("worktree", "add", "-q", self.scratch / "tree", work=self.main)
        self.work = self.scratch / "tree"
        self.before = snapshot(self.main)

    COMMIT = ("git status --short; echo two > file; git add -A && "
              "git -c user.name=A -c user.email=a@example.com commit -qm second; git log --format=%s")

    def test_git_works_in_a_run_on_a_repository_that_is_dropped(self):
        ran = self.galley("run", "--", "sh", "-c", self.COMMIT, expect=0)
        self.assertEqual(ran.stdout, b"second\nfirst\n")
        self.assertIn(b"git: refs/heads/tree has 1 new commit made inside", ran.stderr)
        self.assertEqual(snapshot(self.main), self.before)
        self.assertEqual(self.staged(self.open_transactions()[0]["tx"]), "M\tfile\n")

    def test_git_reads_in_a_command_and_writes_nothing(self):
        self.galley("begin", expect=0)
        ran = self.galley("exec", "--", "sh", "-c", "git log --format=%s; echo new > new; git status --short; git add -A 2>/dev/null "
                          f"&& echo added; echo x > '{self.main}/.git/x'; echo x > '{self.main}/file'")
        self.assertEqual(ran.stdout, b"first\n?? new\n")
        self.assertEqual(snapshot(self.main), self.before)

    def test_a_resumed_run_has_its_repository(self):
        self.galley("run", "--", "sh", "-c", self.COMMIT, expect=0)
        tx = self.open_transactions()[0]["tx"]
        ran = self.galley("run", "--resume", tx, "--", "git", "log", "--format=%s", expect=0)
        self.assertEqual(ran.stdout, b"first\n")

    def test_a_file_that_names_a_repository_shows_nothing_of_it(self):
        victim, forged = self.scratch / "private", self.scratch / "from an archive"
        forged.mkdir()
        self.git("clone", "-q", self.main, victim)
        for shape in ("direct", "linked", "own"):
            with self.subTest(shape=shape):
                named = victim / ".git"
                if shape != "direct":
                    named = victim / ".git/worktrees/x" if shape == "own" else forged / "git"
                    named.mkdir(parents=True, exist_ok=True)
                    (named / "HEAD").write_text("ref: refs/heads/main\n")
                    (named / "commondir").write_text("../..\n" if shape == "own" else f"{victim}/.git\n")
                    (named / "gitdir").write_text(f"{self.work}/.git\n" if shape == "own" else f"{forged}/.git\n")
                (forged / ".git").write_text(f"gitdir: {named}\n")
                ran = self.galley("run", "--drop", "--", "ls", victim / ".git", work=forged)
                self.assertNotIn(b"config", ran.stdout)

    def test_a_repository_that_only_shares_another_one_shows_nothing_of_it(self):
        victim, forged, named = (self.scratch / name for name in ("private", "from an archive", "its repository"))
        self.git("clone", "-q", self.main, victim)
        named.mkdir()
        (named / "HEAD").write_text("ref: refs/heads/main\n")
        (named / "config").write_text(f"[core]\n\tworktree = {forged}\n")
        (named / "commondir").write_text(f"{victim}/.git\n")
        forged.mkdir()
        (forged / ".git").write_text(f"gitdir: {named}\n")
        ran = self.galley("run", "--drop", "--", "ls", victim / ".git", work=forged)
        self.assertNotIn(b"config", ran.stdout)


class Explained(RunCase):
    """The summary names what the walls kept a program from, and the remedy."""

    def doors(self, *command, expect=1):
        self.galley("begin", expect=0)
        for door in (("run", "--drop"), ("exec",)):
            yield self.galley(*door, "--", *command, expect=expect).stderr.decode()

    def test_the_summary_names_a_folder_that_cannot_be_renamed(self):
        for said in self.doors("python3", "-c", "import os; os.rename('src', 'lib')"):
            self.assertIn("mv OLD NEW, then git add -A OLD NEW", said)

    def test_a_file_that_cannot_be_linked_is_not_explained_as_a_renamed_folder(self):
        program = ("import os; f = os.open('.', os.O_TMPFILE | os.O_RDWR); "
                   "os.link(f'/proc/self/fd/{f}', 'linked', follow_symlinks=True)")
        for said in self.doors("python3", "-c", program):
            self.assertIn("cross-device link", said)
            self.assertNotIn("renamed", said)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_the_summary_names_a_file_of_another_user(self):
        foreign = self.work / "foreign.txt"
        foreign.write_text("text\n")
        os.chown(foreign, 1000, 33)
        foreign.chmod(0o660)
        closed = self.work / "closed/folder"
        closed.mkdir(parents=True)
        (closed / "file").write_text("text\n")
        os.chown(closed, 33, 1000)
        closed.chmod(0o750)
        for name, said in (("foreign.txt", "'foreign.txt' belongs to 1000:33 with mode 0660"),
                           ("closed/folder/file", "'closed/folder' belongs to 33:1000 with mode 0750")):
            for door in self.doors("cat", name):
                self.assertIn(said, door)
                self.assertIn("chown or chmod it", door)
            called = self.galley("call", "Bash", json.dumps({"command": f"cat {name}"}), expect=0).stdout.decode()
            self.assertIn(said, called)
            self.galley("rollback", expect=0)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_words_of_a_command_tell_nothing_of_files_outside(self):
        outside = self.scratch / "outside"
        outside.mkdir()
        (outside / "file").write_text("text\n")
        os.chown(outside / "file", 1000, 33)
        (outside / "file").chmod(0o640)
        (self.work / "link").symlink_to(outside)
        self.galley("begin", expect=0)
        for name in ("../outside/file", "./../outside/file", "link/file", f"{self.work}/link/file"):
            command = json.dumps({"command": f"echo 'cat: {name}: Permission denied' >&2"})
            self.assertNotIn(b"1000:33", self.galley("call", "Bash", command, expect=0).stdout)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_the_summary_names_a_file_that_only_its_owner_can_write_in_the_sandbox(self):
        user, group = 12345, 12346
        for name, owner in (("theirs", 1000), ("folder", 1000), ("grouped", user)):
            path = self.work / name
            if name == "theirs":
                path.write_text("text\n")
            else:
                path.mkdir()
            os.chown(path, owner, group)
            path.chmod(0o770)
        os.chown(self.work, user, user)
        self.work.parent.chmod(0o755)
        member = {"user": user, "group": user, "extra_groups": [group], "env": {"HOME": str(self.work), "TMPDIR": "/tmp"}}
        way_out = "mv {0} {0}.old && cp -r {0}.old {0}"
        for file, named, remedy in (("theirs", "'theirs' belongs to 1000:12346 with mode 0770", way_out.format("theirs")),
                                    ("folder/new", "'folder' belongs to 1000:12346", way_out.format("folder")),
                                    ("grouped/new", "'grouped' belongs to 12345:12346", "sg GROUP -c")):
            with self.subTest(file=file):
                said = self.galley("run", "--drop", "--", "sh", "-c", f"echo x >> {file}", **member).stderr.decode()
                self.assertIn("Value too large", said)
                self.assertIn(named, said)
                self.assertIn(remedy, said)
                if remedy.startswith("mv"):
                    subprocess.run(remedy, shell=True, cwd=self.work, check=True, user=user, group=user, extra_groups=[group])
                    self.galley("run", "--drop", "--", "sh", "-c", f"echo x >> {file}", expect=0, **member)

    def test_errors_that_also_occur_outside_are_not_mentioned(self):
        (self.work / "shut").write_text("text\n")
        (self.work / "shut").chmod(0)
        for said in self.doors("sh", "-c", "cat shut /etc/shadow; false"):
            self.assertNotIn("belongs to", said)


class NotThere(RunCase):
    def test_a_refused_run_leaves_nothing_in_a_folder_that_all_others_are_below(self):
        """A `.galley` there would make it the workspace of all folders below it that have none of their own."""
        script = 'mount -t tmpfs none /opt; cd /opt; "$0" run -- true; echo "status $?"; ls -A'
        ran = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, GALLEY],
                             env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        self.assertEqual(ran.stdout.decode().splitlines(), ["status 1"], ran.stderr.decode())
        self.assertIn("commands cannot be run in the workspace '/opt'", ran.stderr.decode())


class NotThereYet(RunCase):
    def test_a_layer_can_cover_a_folder_that_the_host_lacks(self):
        for folder in (self.scratch / ".npm", self.scratch / "a/b/c"):
            with self.subTest(folder=folder):
                script = f"cat '{folder}/cache' 2>/dev/null; echo kept > '{folder}/cache'"
                self.galley("run", "--layer", folder, "--", "sh", "-c", script, expect=0)
                tx = self.open_transactions()[0]["tx"]
                self.assertEqual(self.galley("run", "--resume", tx, "--", "sh", "-c", script, expect=0).stdout, b"kept\n")
                self.assertFalse(folder.exists())
                self.galley("rollback", "--tx", tx, expect=0)

    def test_a_layer_on_an_unusable_path_is_refused(self):
        (self.scratch / "link").symlink_to("nowhere")
        for folder in (self.scratch / "link", self.scratch / "link/below", "/etc/new", "/new/../etc/new", self.work / "new"):
            with self.subTest(folder=folder):
                self.galley("run", "--layer", folder, "--", "true", expect=2)


class Kept(RunCase):
    def test_a_sparse_file_stays_sparse(self):
        self.galley("run", "--", "sh", "-c", "echo data > sparse; truncate -s 30M sparse", expect=0)
        tx = self.open_transactions()[0]["tx"]

        def kept():
            return sum(path.stat().st_blocks * 512 for path in (self.work / ".galley").rglob("*") if path.is_file())

        self.assertLess(kept(), 4 << 20)
        self.galley("commit", "--tx", tx, expect=0)
        sparse = (self.work / "sparse").stat()
        self.assertEqual(sparse.st_size, 30 << 20)
        self.assertLess(sparse.st_blocks * 512, 4 << 20)
        self.assertLess(kept(), 4 << 20)

    def test_a_run_that_was_attached_from_its_start_is_listed_as_attached(self):
        shell = self.shell("--name", "mine")
        self.assertEqual([one["run"]["attached"] for one in self.open_transactions()], [True])
        self.assertIn(b"attached", self.galley("status", expect=0).stdout)
        self.assertNotIn(b"detached", self.galley("status", expect=0).stdout)
        shell.type("exit\n")
        shell.finish()


if __name__ == "__main__":
    hostile.main()
