"""galley check with damaged, missing, huge or many git objects: one clear answer, and nothing is
changed."""

import hashlib
import json
import os
import random
import shutil
import stat
import subprocess
import unittest
import zlib

from support import GALLEY, snapshot
from test_check import WHO, CheckCase


def emptied(data):
    return data[:0]


def cut_short(data):
    return data[: len(data) * 2 // 3]


def flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1:]


class Damaged(CheckCase):
    """Damages every object of a repository in turn, loose or in a pack."""

    ASKED = (("check", "--staged"), ("check", "--range", "HEAD~1..HEAD"), ("check", "--commit", "HEAD"),
             ("hook", "run", "pre-commit"))

    def setUp(self):
        super().setUp()
        self.commit(self.repo, {"sub/b.json": '{"a": 1}\n', "a.txt": "".join(f"line {i}\n" for i in range(300))})
        self.put(self.repo, {"sub/b.json": '{"a": 2}\n', "a.txt": "".join(f"line {i}\n" for i in range(1, 300))})
        self.run_git(self.repo, "add", "-A")
        self.run_git(self.repo, "status")

    def loose(self, name):
        """Returns the file of an object."""
        found = self.run_git(self.repo, "rev-parse", name).decode().strip()
        return self.repo / ".git" / "objects" / found[:2] / found[2:]

    def write(self, path, data):
        path.chmod(0o644)
        path.write_bytes(data)

    def ask(self, words):
        return self.galley("--json", *words, work=self.repo, env=WHO)

    def tells_of_damage(self, words, reason="git.object_damaged", status=3):
        before = snapshot(self.repo, with_times=True, skip=())
        done = self.ask(words)
        self.assertEqual(done.returncode, status, done.stdout)
        said = json.loads(done.stdout)
        self.assertEqual((said["ok"], said["reason"]), (False, reason), said)
        self.assertNotIn("\n", said["message"])
        self.assertEqual(snapshot(self.repo, with_times=True, skip=()), before)
        return said

    def test_a_damaged_loose_object_is_reported_as_damaged(self):
        needed = {":sub/b.json": ("--staged", "pre-commit"), "HEAD:sub/b.json": None, "HEAD^{tree}": None,
                  "HEAD:sub": None, "HEAD": None, "HEAD~1^{tree}": ("--range", "--commit"),
                  "HEAD~1:a.txt": ("--range", "--commit")}
        for name, by in needed.items():
            path = self.loose(name)
            whole = path.read_bytes()
            for damage in (emptied, cut_short, flipped):
                self.write(path, damage(whole))
                for words in self.ASKED:
                    if by is not None and not set(by) & set(words):
                        continue
                    with self.subTest(name, damage=damage.__name__, words=words):
                        said = self.tells_of_damage(words)
                        self.assertIn("damaged", said["message"])
                        self.assertIn("git fsck", said["message"])
            self.write(path, whole)
        for words in self.ASKED:
            self.assertEqual(self.ask(words).returncode, 0)

    def test_the_error_names_the_damaged_file(self):
        path = self.loose(":sub/b.json")
        self.write(path, cut_short(path.read_bytes()))
        self.assertIn("sub/b.json", self.tells_of_damage(("check", "--staged"))["message"])
        for words in (("check", "--staged"), ("hook", "run", "pre-commit")):
            people = self.galley(*words, work=self.repo, env=WHO, expect=3)
            self.assert_one_clear_message(people)
            self.assertEqual(len(people.stderr.splitlines()), 1, people.stderr)

    def test_a_deleted_object_is_reported_as_missing(self):
        self.loose(":sub/b.json").unlink()
        said = self.tells_of_damage(("check", "--staged"), "git.object_missing", 1)
        self.assertIn("sub/b.json", said["message"])

    def test_an_unreadable_object_is_reported_by_name(self):
        if os.geteuid() == 0:
            self.skipTest("root reads everything")
        self.loose(":sub/b.json").chmod(0)
        self.assertIn("may not be read",
                      self.tells_of_damage(("check", "--staged"), "git.object_missing", 1)["message"])

    def test_a_flipped_byte_in_a_pack_never_changes_the_verdict(self):
        self.run_git(self.repo, "repack", "-adq")
        self.run_git(self.repo, "status")
        [pack] = (self.repo / ".git" / "objects" / "pack").glob("*.pack")
        whole = pack.read_bytes()
        usual = {words: json.loads(self.ask(words).stdout) for words in self.ASKED}
        draw = random.Random(14)
        told = 0
        for _ in range(25):
            at = draw.randrange(12, len(whole) - 20)
            self.write(pack, whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1:])
            words = draw.choice(self.ASKED)
            before = snapshot(self.repo, with_times=True, skip=())
            done = self.ask(words)
            said = json.loads(done.stdout)
            with self.subTest(at=at, words=words):
                self.assertEqual(snapshot(self.repo, with_times=True, skip=()), before)
                if done.returncode == 0:
                    self.assertEqual(self.without_times(said), self.without_times(usual[words]))
                else:
                    told += 1
                    self.assertEqual((done.returncode, said["reason"]), (3, "git.object_damaged"), said)
        self.assertGreater(told, 5)

    @classmethod
    def without_times(cls, value):
        if isinstance(value, dict):
            return {key: cls.without_times(one) for key, one in value.items() if not key.endswith("_ms")}
        return [cls.without_times(one) for one in value] if isinstance(value, list) else value

    def test_the_commit_that_a_hook_judges_is_not_made(self):
        self.galley("hook", "install", "--hook", "pre-commit", work=self.repo, expect=0)
        path = self.loose(":sub/b.json")
        self.write(path, cut_short(path.read_bytes()))
        # git itself refreshes its index before it runs the hook.
        before = self.what_counts()
        folder = os.path.dirname(GALLEY)
        done = subprocess.run(["git", "-C", self.repo, "commit", "-qm", "x"], capture_output=True, check=False,
                              env={**os.environ, **self.environment, **WHO, "PATH": f"{folder}:{os.environ['PATH']}"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"damaged", done.stderr)
        self.assertEqual(self.what_counts(), before)

    def what_counts(self):
        return (snapshot(self.repo, with_times=True), self.run_git(self.repo, "ls-files", "-s"),
                self.run_git(self.repo, "for-each-ref"), self.run_git(self.repo, "rev-parse", "HEAD"))

    def test_the_error_before_gits_fatal_line_is_shown(self):
        said = self.check(self.repo, expect=3, env={"GIT_CONFIG_COUNT": "1"})
        self.assertIn("missing config key GIT_CONFIG_KEY_0", said["message"])

    def test_an_index_that_git_does_not_take_is_one_message(self):
        index = self.repo / ".git" / "index"
        whole = index.read_bytes()
        for name, data in {"cut short": whole[:9], "no index": b"X" + whole[1:]}.items():
            index.write_bytes(data)
            with self.subTest(name):
                self.assertIn("index", self.tells_of_damage(("check", "--staged"), "git.failed")["message"])


class Huge(CheckCase):
    """A commit with a file of 2 GiB."""

    SIZE = 2 << 30

    def huge_blob(self, repo):
        """Writes the object as git would, but without 2 GiB of memory: zeros, deflated one MiB at a
        time."""
        head, block = b"blob %d\0" % self.SIZE, bytes(1 << 20)
        name, adler = hashlib.sha1(head), zlib.adler32(head)
        deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
        first = deflate.compress(head) + deflate.flush(zlib.Z_FULL_FLUSH)
        repeated = deflate.compress(block) + deflate.flush(zlib.Z_FULL_FLUSH)
        for _ in range(self.SIZE // len(block)):
            name.update(block)
            adler = zlib.adler32(block, adler)
        found = name.hexdigest()
        path = repo / ".git" / "objects" / found[:2] / found[2:]
        path.parent.mkdir(exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"\x78\x01" + first)
            for _ in range(self.SIZE // len(block)):
                file.write(repeated)
            file.write(deflate.flush() + adler.to_bytes(4, "big"))
        return found

    def setUp(self):
        super().setUp()
        name = self.huge_blob(self.repo)
        with open(self.repo / "huge.bin", "wb") as file:
            file.truncate(self.SIZE)
        self.run_git(self.repo, "update-index", "--add", "--cacheinfo", f"100644,{name},huge.bin")
        self.assertEqual(self.run_git(self.repo, "cat-file", "-s", ":huge.bin").strip(), b"%d" % self.SIZE)

    def everything(self):
        huge = os.lstat(self.repo / "huge.bin")
        kept = self.scratch / "huge.bin"
        (self.repo / "huge.bin").rename(kept)  # check must not hash it here
        found = snapshot(self.repo, with_times=True, skip=("objects",))
        kept.rename(self.repo / "huge.bin")
        names = sorted(os.listdir(self.repo / ".git" / "objects"))
        return found, names, (huge.st_size, huge.st_blocks, huge.st_mtime_ns, huge.st_ino, stat.S_IMODE(huge.st_mode))

    def refused(self, *words):
        before = self.everything()
        child = subprocess.Popen([GALLEY, "-C", self.repo, "--json", *words], stdout=subprocess.PIPE,
                                 env={**os.environ, **self.environment, **WHO})
        said = json.loads(child.stdout.read())
        child.stdout.close()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual((child.returncode, said["ok"], said["reason"]), (3, False, "limit.file_size"), said)
        self.assertIn("huge.bin", said["message"])
        self.assertIn(str(self.SIZE), said["message"])
        self.assertLess(used.ru_maxrss, 100 << 10, "KiB: it was read")
        self.assertEqual(self.everything(), before)

    def test_a_huge_file_is_refused_unread_and_nothing_is_touched(self):
        self.refused("check", "--staged")
        self.refused("hook", "run", "pre-commit")
        self.run_git(self.repo, "commit", "-qm", "huge", "--no-verify")
        self.refused("check", "--commit", "HEAD")
        self.refused("check", "--range", "HEAD~1..HEAD")


class Many(CheckCase):
    """A range of 5,000 files."""

    COUNT = 5000

    def setUp(self):
        super().setUp()
        lines = ["commit refs/heads/many\ncommitter a <a@b> 0 +0000\ndata 0\nfrom refs/heads/main\n"]
        for number in range(self.COUNT):
            lines.append(f"M 100644 inline d{number % 50}/f{number}.json\ndata <<E\n{{\"n\": {number}}}\nE\n")
        self.run_git(self.repo, "fast-import", "--quiet", stdin="".join(lines).encode())

    def test_a_large_range_has_one_reader_for_each_core(self):
        cores = min(len(os.sched_getaffinity(0)), 16)
        if cores < 2:
            self.skipTest("one core has nothing to share")
        seen, folder, real = self.scratch / "seen", self.scratch / "bin", shutil.which("git")
        seen.mkdir()
        folder.mkdir()
        # Each reader waits for the others before it answers. A single reader waits in vain and
        # counts as one.
        (folder / "git").write_text(f"""#!/bin/bash
for word; do
  test "$word" = --batch || continue
  : > {seen}/$$
  for try in $(seq 200); do
    there=({seen}/*)
    test ${{#there[@]}} -ge {cores} && break
    sleep 0.1
  done
  break
done
exec {real} "$@"
""")
        (folder / "git").chmod(0o755)
        said = self.check(self.repo, "--range", "main..many", env={"PATH": f"{folder}:{os.environ['PATH']}"})
        files = [one for one in said["changes"] if one["path"].endswith(".json")]
        self.assertEqual((said["ok"], len(files)), (True, self.COUNT))
        self.assertEqual(len(list(seen.iterdir())), cores)


class ManyPaths(CheckCase):
    """A few small trees that name each other have 10^8 paths."""

    # Limit: kMaxChanges of base/limits.h
    def test_trees_of_too_many_paths_are_refused_before_git_walks_them(self):
        blob = self.run_git(self.repo, "rev-parse", "main:a.txt").decode().strip()
        file = self.run_git(self.repo, "mktree", stdin=f"100644 blob {blob}\tx\n".encode()).decode().strip()
        nothing = self.run_git(self.repo, "mktree", stdin=b"").decode().strip()
        for leaf in (file, nothing):
            tree = leaf
            for _ in range(8):
                lines = "".join(f"040000 tree {tree}\t{name}\n" for name in "abcdefghij")
                tree = self.run_git(self.repo, "mktree", stdin=lines.encode()).decode().strip()
            commit = self.run_git(self.repo, "commit-tree", "-p", "main", "-m", "many", tree).decode().strip()
            for source in (["--commit", commit], ["--range", f"main..{commit}"]):
                said = self.check(self.repo, *source, expect=3, env={"GALLEY_GIT_TIMEOUT": "5"})
                self.assertEqual(said["reason"], "limit.changes", said)


if __name__ == "__main__":
    unittest.main()
