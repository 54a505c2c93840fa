"""Conflicts: their text and JSON, and that a conflict commits nothing."""

import json
import os
import shutil
import subprocess
import sys
import time

import hostile
from support import SystemCase, snapshot

# A journal of this time is recent during the whole test: it is retired after 10 s.
RECENT = time.time() + 3600


class Conflicts(SystemCase):
    def write(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def call(self, tool, arguments, expect=0):
        return json.loads(self.galley("call", tool, json.dumps(arguments), expect=expect).stdout)

    def commit(self, *options, expect):
        document = json.loads(self.galley("--json", "commit", *options, expect=expect).stdout)
        self.assertEqual(document["schema"], "galley.commit/1")
        return document

    def test_serializable_conflicts_on_changed_reads(self):
        self.write("galley.toml", '[commit]\nisolation = "serializable"\n')
        self.write("read.txt", "read\n")
        self.galley("begin", expect=0)
        self.call("read_text_file", {"path": "read.txt"})
        self.call("write_file", {"path": "made.txt", "content": "made\n"})
        self.write("read.txt", "somebody else\n")
        document = self.commit(expect=1)
        self.assertEqual(document["reason"], "conflict.read_changed")
        self.assertEqual([path["path"] for path in document["conflict"]["paths"]], ["read.txt"])
        self.assertFalse((self.work / "made.txt").exists())
        said = self.galley("commit", expect=1).stderr.decode()
        self.assertIn("'read.txt' was changed since it was read", said)
        self.write("read.txt", "read\n")
        self.commit(expect=0)
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")

    def test_a_file_that_becomes_a_folder_keeps_saves_of_other_programs(self):
        """The other program saves as soon as the folder exists, while thousands of files are still
        placed before its own."""
        many = "".join(f"diff --git a/place/a{n} b/place/a{n}\nnew file mode 100644\n--- /dev/null\n+++ b/place/a{n}\n"
                       "@@ -0,0 +1 @@\n+x\n" for n in range(4000))
        patch = ("diff --git a/place b/place\ndeleted file mode 100644\n--- a/place\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
                 + many + "diff --git a/place/last b/place/last\nnew file mode 100644\n--- /dev/null\n+++ b/place/last\n"
                 "@@ -0,0 +1 @@\n+ours\n").encode()
        saver = ("import os, sys\n"
                 "while True:\n"
                 "    try:\n"
                 "        with open('place/last', 'x') as file: file.write('theirs\\n')\n"
                 "        break\n"
                 "    except (NotADirectoryError, FileNotFoundError): pass\n"
                 "    except FileExistsError: sys.exit(1)\n")
        for _ in range(20):
            shutil.rmtree(self.work / "place", ignore_errors=True)
            self.write("place", "old\n")
            other = subprocess.Popen([sys.executable, "-c", saver], cwd=self.work)
            applied = self.galley("apply", "-", stdin=patch)
            if other.wait(60) == 0:
                break
            self.assertEqual(applied.returncode, 0)
        else:
            self.skipTest("the other program was never in time")
        self.assertEqual(applied.returncode, 1, applied.stderr)
        self.assertIn(b"rescue", applied.stderr)
        self.assertEqual((self.work / "place").read_text(), "old\n")
        self.assertIn("theirs\n", [path.read_text() for path in self.own_state("rescue").rglob("last")])

    def test_markers_end_with_the_next_command(self):
        self.edited_on_both_sides()
        said = self.galley("commit", "--conflict=markers", expect=1).stderr.decode().rstrip().splitlines()
        self.assertIn("staged with conflict markers", said[-1])
        self.assertRegex(said[-1], r"edit --tx \w+ a\.txt; then: galley .*commit --tx \w+$")
        self.assertTrue(any("nothing was committed" in line for line in said[:-1]), said)

    def edited_on_both_sides(self):
        """Makes a stored transaction and the workspace change the same line of a.txt."""
        self.write("a.txt", "one\ntwo\nthree\n")
        self.galley("begin", expect=0)
        self.call("Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "deux"})
        self.write("a.txt", "one\nzwei\nthree\n")

    def test_both_sides_are_shown(self):
        self.edited_on_both_sides()
        document = self.commit(expect=1)
        path = document["conflict"]["paths"][0]
        self.assertEqual(path["hunks"], [
            {"line": 2, "base": "two\n", "workspace": "zwei\n", "wanted": "deux\n"}])
        self.assertIn("+zwei", path["diff"])
        text = self.galley("commit", expect=1).stderr.decode()
        for line in ("line 2", "base      two", "workspace zwei", "proposal  deux"):
            self.assertIn(line, text)
        self.assertEqual((self.work / "a.txt").read_text(), "one\nzwei\nthree\n")

    def test_a_dry_run_of_a_commit_finds_its_conflicts(self):
        self.edited_on_both_sides()
        document = json.loads(self.galley("--json", "commit", "-n", expect=1).stdout)
        self.assertEqual(document["schema"], "galley.preview/1")
        real = self.commit(expect=1)
        for name in ("ok", "reason", "message", "conflict"):
            self.assertEqual(document[name], real[name])
        said = self.galley("commit", "-n", expect=1).stderr
        self.assertEqual(said, self.galley("commit", expect=1).stderr)

    def test_a_dry_run_of_a_commit_merges_where_the_commit_does(self):
        self.write("a.txt", "".join(f"{n}\n" for n in range(20)))
        self.galley("begin", expect=0)
        self.call("Edit", {"file_path": "a.txt", "old_string": "\n2\n", "new_string": "\ntwo\n"})
        self.write("a.txt", (self.work / "a.txt").read_text().replace("17", "seventeen"))
        proposal = json.loads(self.galley("--json", "diff", expect=0).stdout)["proposal"]
        for reviewed in ("commit", "--proposal", proposal), ("pick", json.loads(self.galley("--json", "status", expect=0).stdout)["tx"]):
            status = 0 if reviewed[0] == "pick" else 1
            self.galley(*reviewed, "-n", expect=status)
            self.galley(*reviewed, expect=status)
        self.assertIn("two\n", (self.work / "a.txt").read_text())

    def test_a_dry_run_of_a_commit_judges_what_is_merged(self):
        self.write("galley.toml", '[[validator]]\nbuiltin = "json"\n')
        self.write("a.json", '{\n"a": 1,\n"b": 2,\n"c": 3,\n"d": 4,\n"e": 5\n}\n')
        self.galley("begin", expect=0)
        self.call("Edit", {"file_path": "a.json", "old_string": '"a": 1', "new_string": '"a": 11'})
        self.galley("commit", "-n", expect=0)
        self.write("a.json", (self.work / "a.json").read_text().replace('"e": 5', '"e": 5,'))
        for options in ("-n",), ():
            self.assertIn(b"a.json", self.galley("commit", *options, expect=1).stderr)

    def test_a_dry_run_of_a_commit_finds_changed_reads(self):
        self.write("galley.toml", '[commit]\nisolation = "serializable"\n')
        self.write("read.txt", "read\n")
        self.galley("begin", expect=0)
        self.call("read_text_file", {"path": "read.txt"})
        self.call("write_file", {"path": "made.txt", "content": "made\n"})
        self.galley("commit", "-n", expect=0)
        self.write("read.txt", "somebody else\n")
        document = json.loads(self.galley("--json", "commit", "-n", expect=1).stdout)
        self.assertEqual(document["reason"], "conflict.read_changed")

    def test_a_reviewed_proposal_shows_both_sides(self):
        self.edited_on_both_sides()
        reviewed = json.loads(self.galley("--json", "diff", expect=0).stdout)["proposal"]
        document = self.commit("--proposal", reviewed, expect=1)
        self.assertEqual(document["conflict"]["paths"][0]["hunks"][0]["workspace"], "zwei\n")

    def test_markers_are_staged_and_refused_until_they_are_solved(self):
        self.edited_on_both_sides()
        document = self.commit("--conflict=markers", expect=1)
        self.assertEqual([path["path"] for path in document["marked"]], ["a.txt"])
        self.assertEqual((self.work / "a.txt").read_text(), "one\nzwei\nthree\n")
        staged = json.loads(self.galley("--json", "diff", expect=0).stdout)["diff"]
        self.assertIn("+<<<<<<< workspace", staged)
        self.assertIn("+deux", staged)
        refused = self.commit(expect=1)
        self.assertEqual(refused["verdict"]["findings"][0]["path"], "a.txt")
        self.assertIn("conflict", refused["message"])
        fork = json.loads(self.galley("--json", "fork", expect=0).stdout)["tx"]
        self.commit("--tx", fork, expect=1)
        self.galley("rollback", "--tx", fork, expect=0)
        self.call("Write", {"file_path": "a.txt", "content": "one\nzwei, deux\nthree\n"})
        self.commit(expect=0)
        self.assertEqual((self.work / "a.txt").read_text(), "one\nzwei, deux\nthree\n")

    def test_markers_of_a_renamed_file_are_named_where_they_are(self):
        lines = "".join(f"{n}\n" for n in range(1, 10))
        self.write("old.txt", lines)
        self.galley("exec", "--commit", "--", "sh", "-c", "mv old.txt new.txt; sed -i s/5/five/ new.txt", expect=0)
        self.write("new.txt", lines.replace("5", "cinq"))
        document = json.loads(self.galley("--json", "undo", "--conflict=markers", expect=1).stdout)
        self.assertEqual([path["path"] for path in document["marked"]], ["old.txt"])
        self.assertIn(f"edit --tx {document['tx']} old.txt; then", document["message"])
        self.galley("stage", "--tx", document["tx"], stdin=b'{"path": "old.txt", "content": "solved\\n"}', expect=0)
        self.commit("--tx", document["tx"], expect=0)
        self.assertEqual((self.work / "old.txt").read_text(), "solved\n")
        self.assertFalse((self.work / "new.txt").exists())

    def test_markers_are_named_where_a_later_undone_rename_puts_them(self):
        self.write("old.txt", "one\n")
        self.galley("exec", "--commit", "--", "mv", "old.txt", "new.txt", expect=0)
        self.galley("exec", "--commit", "--", "sh", "-c", "echo two >new.txt", expect=0)
        self.write("new.txt", "mine\n")
        document = json.loads(self.galley("--json", "undo", "1", "2", "--conflict=markers", expect=1).stdout)
        self.assertEqual([path["path"] for path in document["marked"]], ["old.txt"])

    def test_a_file_that_several_undos_merged_is_named_once(self):
        self.write("old", "".join(f"{n}\n" for n in range(1, 10)))
        self.galley("exec", "--commit", "--", "mv", "old", "new", expect=0)
        self.galley("exec", "--commit", "--", "sh", "-c", "rm new; seq 9 >new; echo 7 >old", expect=0)
        self.galley("exec", "--commit", "--", "sed", "-i", "s/5/five/", "new", expect=0)
        (self.work / "old").unlink()
        self.write("new", "".join(f"{n}\n" for n in range(1, 10)).replace("5", "cinq"))
        document = json.loads(self.galley("--json", "undo", "3", "2", "1", "--conflict=markers", expect=1).stdout)
        self.assertEqual(document["merged"], ["old: merged with conflict markers"])

    def test_a_folder_replaced_by_a_file_is_a_conflict(self):
        self.write("folder/old.txt", "old\n")
        self.galley("begin", expect=0)
        self.call("Write", {"file_path": "folder/old.txt", "content": "new\n"})
        self.call("Write", {"file_path": "folder/new.txt", "content": "new\n"})
        shutil.rmtree(self.work / "folder")
        self.write("folder", "a file\n")
        self.galley("validate", expect=0)
        document = self.commit(expect=1)
        self.assertEqual(document["reason"], "conflict.changed_on_disk")
        self.assertEqual({path["path"] for path in document["conflict"]["paths"]}, {"folder/new.txt", "folder/old.txt"})
        self.assertEqual((self.work / "folder").read_text(), "a file\n")

    def test_a_folder_replaced_by_a_link_is_a_conflict(self):
        self.write("folder/old.txt", "old\n")
        self.galley("begin", expect=0)
        for name in ("old.txt", "new.txt", "deep/new.txt"):
            self.call("Write", {"file_path": f"folder/{name}", "content": "new\n"})
        (self.work / "folder").rename(self.work / "real")
        (self.work / "folder").symlink_to("real")
        self.galley("validate", expect=0)
        document = self.commit(expect=1)
        self.assertEqual(document["reason"], "conflict.changed_on_disk")
        messages = {path["path"]: path["message"] for path in document["conflict"]["paths"]}
        self.assertLessEqual({"folder/old.txt", "folder/new.txt"}, set(messages))
        for path, message in messages.items():
            self.assertEqual(message, f"'{path}' lies behind a symbolic link now")
        self.assertEqual([path.name for path in (self.work / "real").iterdir()], ["old.txt"])
        self.assertEqual((self.work / "real/old.txt").read_text(), "old\n")

    def test_a_workspace_that_refuses_merges_stages_no_markers(self):
        self.write("galley.toml", '[commit]\non_conflict = "refuse"\n')
        lines = "".join(f"{n}\n" for n in range(1, 10))
        saved = lines.replace("9", "nine")
        self.write("a.txt", lines)
        self.galley("begin", expect=0)
        self.call("Edit", {"file_path": "a.txt", "old_string": "2\n", "new_string": "two\n"})
        self.write("a.txt", saved)
        self.assertNotIn("marked", self.commit("--conflict=markers", expect=1))
        said = self.galley("commit", "--conflict=markers", expect=1).stderr.decode()
        self.assertIn('commit.on_conflict = "refuse"', said)
        self.commit(expect=1)
        self.galley("rollback", expect=0)
        self.galley("exec", "--commit", "--", "sed", "-i", "s/3/three/", "a.txt", expect=0)
        self.write("a.txt", saved.replace("3", "three").replace("7", "seven"))
        for options in ((), ("--conflict=markers",)):
            said = json.loads(self.galley("--json", "undo", *options, expect=1).stdout)
            self.assertEqual(said["conflicts"][0]["path"], "a.txt")
        self.assertIn("three\n", (self.work / "a.txt").read_text())

    def test_a_workspace_that_refuses_merges_keeps_what_was_staged(self):
        """Also if the staged content is in one file already, or if only a file that was read changed."""
        for isolation, saved in (("snapshot", ("a.txt", "A\n")), ("serializable", ("b.txt", "saved\n"))):
            with self.subTest(isolation):
                self.write("galley.toml", f'[commit]\non_conflict = "refuse"\nisolation = "{isolation}"\n')
                self.write("a.txt", "a\n")
                self.write("b.txt", "b\n")
                tx = self.galley("begin", expect=0).stdout.decode().strip()
                self.addCleanup(self.galley, "rollback", "--tx", tx)
                if isolation == "snapshot":
                    self.call("Edit", {"file_path": "a.txt", "old_string": "a", "new_string": "A"})
                    self.call("Edit", {"file_path": "b.txt", "old_string": "b", "new_string": "B"})
                else:
                    self.call("Read", {"file_path": "b.txt"})
                    self.call("Write", {"file_path": "c.txt", "content": "c\n"})
                self.write(*saved)
                before = snapshot(self.work)
                result = self.galley("commit", "--conflict=markers", expect=1)
                self.assertIn(b"nothing is merged, also not with --conflict=markers", result.stderr)
                self.assertNotIn(b"staged the merge", result.stderr)
                self.commit(expect=1)
                self.assertEqual(snapshot(self.work), before)
                self.galley("rollback", expect=0)

    def test_a_merge_without_markers_says_so(self):
        self.write("galley.toml", '[commit]\nisolation = "serializable"\n')
        self.write("a.txt", "".join(f"{n}\n" for n in range(1, 10)))
        self.galley("begin", expect=0)
        self.call("Edit", {"file_path": "a.txt", "old_string": "2\n", "new_string": "two\n"})
        self.write("a.txt", (self.work / "a.txt").read_text().replace("9", "nine"))
        said = self.galley("commit", "--conflict=markers", expect=1).stderr.decode()
        self.assertIn("staged the merge, which has no conflict, in transaction ", said)
        self.assertNotIn(" edit --tx", said)

    def test_a_binary_file_gets_no_markers(self):
        (self.work / "b.bin").write_bytes(b"\0one")
        self.galley("begin", expect=0)
        self.call("Write", {"file_path": "b.bin", "content": "text\n"})
        (self.work / "b.bin").write_bytes(b"\0two")
        document = self.commit("--conflict=markers", expect=1)
        self.assertNotIn("marked", document)
        self.assertEqual((self.work / "b.bin").read_bytes(), b"\0two")
        self.assertIn(b"no markers help here", self.galley("-q", "commit", "--conflict=markers", expect=1).stderr)

    def test_a_resolved_undo_or_redo_counts_as_one(self):
        def resolve(command):
            tx = json.loads(self.galley("--json", command, "--conflict=markers", expect=1).stdout)["tx"]
            self.galley("stage", "--tx", tx, stdin=json.dumps({"path": "f.txt", "content": command}).encode(), expect=0)
            self.galley("commit", "--tx", tx, expect=0)

        self.work = self.scratch / "undone"
        self.work.mkdir()
        for name, text in (("g.txt", "1\n"), ("f.txt", "a\n"), ("f.txt", "b\n")):
            self.galley("apply", stdin=json.dumps({"path": name, "content": text}).encode(), expect=0)
        (self.work / "f.txt").write_text("mine\n")
        resolve("undo")
        self.assertIn(b"undone by 4", self.galley("log", "--oneline", expect=0).stdout)
        (self.work / "f.txt").write_text("other\n")
        resolve("redo")
        self.assertIn(b"undone by 5", self.galley("log", "--oneline", expect=0).stdout)
        self.assertIn(b"nothing", self.galley("redo", expect=1).stderr)
        self.galley("undo", "3", "--conflict=markers", expect=1)

    def test_an_undo_shows_both_sides_and_stages_markers(self):
        self.write("a.txt", "one\ntwo\nthree\n")
        self.galley("begin", expect=0)
        self.call("Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "deux"})
        self.commit(expect=0)
        self.write("a.txt", "one\nzwei\nthree\n")
        document = json.loads(self.galley("--json", "undo", expect=1).stdout)
        self.assertEqual(document["conflicts"][0]["hunks"], [
            {"line": 2, "base": "deux\n", "workspace": "zwei\n", "wanted": "two\n"}])
        self.assertIn("undo      two", self.galley("undo", expect=1).stderr.decode())
        document = json.loads(self.galley("--json", "undo", "--conflict=markers", expect=1).stdout)
        self.assertEqual(document["marked"][0]["path"], "a.txt")
        self.assertEqual((self.work / "a.txt").read_text(), "one\nzwei\nthree\n")
        self.commit("--tx", document["tx"], expect=1)
        said = self.galley("-q", "undo", "--conflict=markers", expect=1).stderr.decode()
        self.assertIn("staged with conflict markers", said)

    def test_log_shows_partial_undos_and_unreadable_journals(self):
        self.write("a.txt", "a\n")
        self.write("b.txt", "b\n")
        self.galley("begin", expect=0)
        self.call("Write", {"file_path": "a.txt", "content": "A\n"})
        self.call("Write", {"file_path": "b.txt", "content": "B\n"})
        self.commit(expect=0)
        self.galley("undo", "1", "--path", "a.txt", expect=0)
        newest, oldest = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]
        self.assertEqual(oldest["partly_undone_by"], [newest["id"]])
        self.assertIn("partly undone by 2", self.galley("log", expect=0).stdout.decode())
        # The state after retirement, which waits for late writers.
        journal = self.work / ".galley" / "undo" / "1.j"
        if not journal.exists():
            (self.work / ".galley" / "j" / "1.j").rename(journal)
        damaged = bytearray(journal.read_bytes())
        damaged[200] ^= 1
        journal.write_bytes(bytes(damaged))
        transactions = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]
        self.assertIn("problem", transactions[-1])
        self.assertIn("cannot be read", self.galley("log", expect=0).stdout.decode())

    def test_a_damaged_journal_of_a_recent_commit_is_reported(self):
        for name in "abc":
            self.write(f"{name}.txt", f"{name}\n")
            self.galley("begin", expect=0)
            self.call("Write", {"file_path": f"{name}.txt", "content": f"{name.upper()}\n"})
            self.commit(expect=0)
            for journal in (self.work / ".galley" / "j").iterdir():
                os.utime(journal, (RECENT, RECENT))
        journal = self.work / ".galley" / "j" / "2.j"
        damaged = bytearray(journal.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        journal.write_bytes(bytes(damaged))
        os.utime(journal, (RECENT, RECENT))
        said = json.loads(self.galley("--json", "log", expect=0).stdout)
        self.assertEqual([entry["id"] for entry in said["transactions"]], ["3", "2", "1"])
        self.assertEqual(said["damaged"], ["2"])
        for arguments in (("log",), ("log", "--agent", "nobody"), ("log", "-n", "1"), ("status",), ("show", "2")):
            with self.subTest(arguments):
                told = self.galley(*arguments)
                text = (told.stdout + told.stderr).decode()
                self.assertIn("journal of transaction 2 is damaged", text)
                self.assertIn(" doctor`", text)
                self.assertEqual(text.count("is damaged"), 1)
        self.assertEqual(json.loads(self.galley("--json", "status", expect=0).stdout)["damaged"], ["2"])
        told = self.galley("doctor").stdout.decode()
        self.assertIn("only a part of its changes may be in the tree", told)
        self.galley("doctor", "--repair")
        self.assertNotIn("damaged", self.galley("log", expect=0).stderr.decode())

    def test_a_state_with_a_damaged_format_is_adopted_again(self):
        self.galley("begin", expect=0)
        self.call("Write", {"file_path": "a.txt", "content": "A\n"})
        self.commit(expect=0)
        file = self.work / ".galley" / "format"
        good = file.read_bytes()
        file.write_bytes(good[:20])
        self.assertIn("recover --adopt", self.galley("log", expect=0).stderr.decode())
        self.galley("undo", expect=1)
        self.galley("recover", "--adopt", expect=0)
        self.assertEqual(file.read_bytes(), good)
        self.galley("undo", expect=0)
        file.write_bytes(b"galley 3 something\n")
        self.galley("recover", "--adopt", expect=1)
        self.assertEqual(file.read_bytes(), b"galley 3 something\n")

    # Limit: kMaxPatchBytes of base/limits.h
    def test_limits_of_the_configuration_hold(self):
        self.write("galley.toml", "[limits]\nmax_file_bytes = 10\nmax_patch_bytes = 400\n")
        self.galley("begin", expect=0)
        arguments = json.dumps({"file_path": "a.txt", "content": "more than ten bytes\n"})
        error = json.loads(self.galley("--json", "call", "Write", arguments, expect=(1, 3)).stdout)["error"]
        self.assertEqual((error["code"], error["reason"]), ("EQUOTA", "limit.file_size"))
        self.assertIn("limits.max_file_bytes allows 10", error["message"])
        new = b"--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+more than ten bytes\n"
        self.assertIn(b"allows 10", self.galley("stage", "-", stdin=new, expect=(1, 3)).stderr)
        self.assertEqual(self.galley("diff", expect=0).stdout, b"")
        self.call("Write", {"file_path": "a.txt", "content": "few\n"})
        self.commit(expect=0)
        patch = b"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-few\n+" + b"x" * 400 + b"\n"
        said = self.galley("apply", "-", stdin=patch, expect=(1, 3)).stderr.decode()
        self.assertIn("limits.max_patch_bytes allows 400", said)


if __name__ == "__main__":
    hostile.main()
