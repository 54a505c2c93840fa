"""fs.chown stages an owner; the commit sets it, undo and redo too, and nobody may give away more than
chown(2) lets them.

Runs as root and as a plain user (`hostile.main`)."""

import json
import os
import stat
import subprocess
import unittest

import hostile

USER, GROUP, OTHER_GROUP = 12345, 12346, 12347


def owner_of(path):
    info = os.lstat(path)
    return info.st_uid, info.st_gid


class OwnerCase(hostile.HostileCase):
    def chown(self, path, expect=0, **options):
        """Calls fs.chown; `uid` and `gid` are arguments of the call, the rest of the process."""
        ids = {name: options.pop(name) for name in ("uid", "gid") if name in options}
        said = self.galley("--json", "call", "--profile", "aios", "fs.chown", json.dumps({"path": path, **ids}),
                           expect=expect, **options)
        answer = json.loads(said.stdout)
        return answer["data"] if expect == 0 else answer["error"]


@unittest.skipIf(hostile.IS_ROOT, "root may give files away")
class OwnersOfAUser(OwnerCase):
    def test_a_user_gives_nothing_away(self):
        self.write("mine.txt", "mine\n")
        self.galley("begin", expect=0)
        for ids in ({"uid": 0}, {"gid": 0}, {"uid": 0, "gid": 0}, {"gid": OTHER_GROUP}):
            refused = self.chown("mine.txt", expect=1, **ids)
            self.assertEqual(refused["reason"], "owner.not_permitted", refused)
            self.assertIn("have root make this change", refused["message"])
        self.assertFalse(self.chown("mine.txt", uid=os.getuid(), gid=os.getgid())["changed"])
        self.assertEqual(self.galley("diff", expect=0).stdout, b"")


@unittest.skipUnless(hostile.IS_ROOT, "only root can give files away")
class OwnersOfRoot(OwnerCase):
    def setUp(self):
        super().setUp()
        self.file = self.write("given.txt", "one\ntwo\n", mode=0o640)
        self.folder = self.work / "folder"
        self.folder.mkdir(mode=0o755)
        self.old = owner_of(self.file)

    def call(self, tool, **arguments):
        self.galley("call", "--profile", "aios", tool, json.dumps(arguments), expect=0)

    def commit(self, *words, expect=0):
        return self.galley("commit", *words, expect=expect)

    def test_the_owner_is_shown_everywhere_and_is_set_by_the_commit(self):
        inode, time = os.stat(self.file).st_ino, os.stat(self.file).st_mtime_ns
        self.galley("begin", expect=0)
        self.assertTrue(self.chown("given.txt", uid=USER, gid=GROUP)["changed"])
        self.assertTrue(self.chown("folder", gid=GROUP)["changed"])
        self.assertEqual(owner_of(self.file), self.old)
        old = "{}:{}".format(*self.old)
        line = f"owner {old} => {USER}:{GROUP} given.txt\n"
        self.assertIn("M\tgiven.txt\n", self.galley("status", expect=0).stdout.decode())
        for words in (("diff",), ("commit", "-n")):
            said = self.galley(*words, expect=0).stdout.decode()
            self.assertIn(line, said, words)
            self.assertIn(f"owner {old} => {self.old[0]}:{GROUP} folder/\n", said, words)
        previewed = json.loads(self.galley("--json", "commit", "-n", expect=0).stdout)
        sides = {one["path"]: one for one in previewed["changes"]}["given.txt"]
        self.assertEqual(sides["operation"], "owner")
        self.assertEqual(sides["before"]["owner"], {"uid": self.old[0], "gid": self.old[1]})
        self.assertEqual(sides["after"]["owner"], {"uid": USER, "gid": GROUP})
        self.assertEqual(json.loads(self.galley("--json", "call", "--profile", "aios", "fs.stat",
                                                '{"path": "given.txt"}', expect=0).stdout)["data"]["uid"], USER)
        self.commit()
        self.assertEqual((owner_of(self.file), owner_of(self.folder)), ((USER, GROUP), (self.old[0], GROUP)))
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o640)
        self.assertEqual(os.stat(self.file).st_mtime_ns, time)
        self.assertNotEqual(os.stat(self.file).st_ino, inode)
        shown = self.galley("show", expect=0).stdout.decode()
        self.assertIn(line, shown)
        self.galley("undo", expect=0)
        self.assertEqual((owner_of(self.file), owner_of(self.folder)), (self.old, self.old))
        self.galley("redo", expect=0)
        self.assertEqual((owner_of(self.file), owner_of(self.folder)), ((USER, GROUP), (self.old[0], GROUP)))
        self.galley("doctor", expect=0)

    def test_the_owner_is_part_of_the_proposal(self):
        ids = set()
        for uid in (USER, USER + 1):
            self.galley("begin", expect=0)
            self.chown("given.txt", uid=uid)
            ids.add(json.loads(self.galley("--json", "commit", "-n", expect=0).stdout)["proposal"])
            self.galley("rollback", expect=0)
        self.assertEqual(len(ids), 2)

    def test_later_edits_and_moves_keep_the_owner(self):
        self.galley("begin", expect=0)
        self.chown("given.txt", uid=USER, gid=GROUP)
        for tool, arguments in (("fs.write", {"path": "given.txt", "content": "three\n"}),
                                ("fs.chmod", {"path": "given.txt", "mode": "0600"}),
                                ("fs.move", {"source": "given.txt", "destination": "moved.txt"})):
            self.galley("call", "--profile", "aios", tool, json.dumps(arguments), expect=0)
        self.commit()
        moved = self.work / "moved.txt"
        self.assertEqual((owner_of(moved), moved.read_text()), ((USER, GROUP), "three\n"))
        self.assertEqual(stat.S_IMODE(os.stat(moved).st_mode), 0o600)
        patch = b"--- a/moved.txt\n+++ b/moved.txt\n@@ -1 +1 @@\n-three\n+four\n"
        self.galley("apply", stdin=patch, expect=0)
        self.assertEqual((owner_of(moved), moved.read_text()), ((USER, GROUP), "four\n"))
        self.galley("undo", expect=0)
        self.galley("undo", expect=0)
        self.assertEqual((owner_of(self.file), self.file.read_text()), (self.old, "one\ntwo\n"))

    def test_a_file_that_was_moved_first_gets_its_owner_back_by_the_undo(self):
        self.galley("begin", expect=0)
        self.call("fs.move", source="given.txt", destination="moved.txt")
        self.chown("moved.txt", uid=USER, gid=GROUP)
        self.commit()
        self.assertEqual(owner_of(self.work / "moved.txt"), (USER, GROUP))
        self.galley("undo", expect=0)
        self.assertEqual((owner_of(self.file), self.file.read_text()), (self.old, "one\ntwo\n"))

    def test_the_undo_of_a_change_of_owner_and_kind(self):
        for path in (self.file, self.folder):
            os.chown(path, USER, GROUP)
        self.galley("begin", expect=0)
        for name in ("given.txt", "folder"):
            self.chown(name, uid=USER + 1)
            self.call("fs.delete", path=name, recursive=True)
        self.call("fs.mkdir", path="given.txt")
        self.call("fs.write", path="folder", content="a file")
        self.commit()
        self.assertEqual((self.file.is_dir(), self.folder.is_file()), (True, True))
        self.galley("undo", expect=0)
        self.assertEqual((owner_of(self.file), self.file.read_text()), ((USER, GROUP), "one\ntwo\n"))
        self.assertEqual((owner_of(self.folder), self.folder.is_dir()), ((USER, GROUP), True))

    def test_a_call_that_set_the_owner_back_is_taken_back(self):
        self.galley("begin", expect=0)
        self.chown("given.txt", uid=USER, gid=GROUP)
        self.chown("given.txt", uid=self.old[0], gid=self.old[1])
        self.assertEqual(self.galley("diff", expect=0).stdout, b"")
        records = [json.loads(line) for line in (self.work / ".galley/audit.jsonl").read_text().splitlines()]
        last = [one["execution_id"] for one in records if one["tool"] == "fs.chown"][-1]
        self.galley("rollback", "--execution", last, expect=0)
        self.assertIn(f"=> {USER}:{GROUP} given.txt\n", self.galley("diff", expect=0).stdout.decode())
        self.commit()
        self.assertEqual(owner_of(self.file), (USER, GROUP))

    def test_the_diff_of_a_turn_has_the_owner_and_the_edit_after_it(self):
        prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "give it", "session_id": "s"}
        agent = ("--agent", "claude", "--session", "s")
        self.galley("--agent", "claude", "agent-hook", stdin=json.dumps(prompt).encode(), expect=0)
        for tool, arguments in (("fs.chown", {"path": "given.txt", "uid": USER, "gid": GROUP}),
                                ("fs.write", {"path": "given.txt", "content": "three\n"})):
            self.galley(*agent, "call", "--begin", "--profile", "aios", tool, json.dumps(arguments), expect=0)
            self.galley(*agent, "commit", expect=0)
        said = self.galley("diff", "--turn", "last", expect=0).stdout.decode()
        self.assertIn("owner {}:{} => {}:{} given.txt\n".format(*self.old, USER, GROUP), said)
        self.assertIn("+three\n", said)

    def test_a_new_file_gets_the_group_that_its_setgid_directory_gets(self):
        self.folder.chmod(0o2755)
        self.galley("begin", expect=0)
        self.chown("folder", gid=GROUP)
        self.call("fs.write", path="folder/new", content="n")
        self.commit()
        self.assertEqual(owner_of(self.folder / "new"), (self.old[0], GROUP))
        self.assertEqual(stat.S_IMODE(os.stat(self.folder).st_mode), 0o2755)

    def test_a_command_in_the_transaction_keeps_the_staged_owner(self):
        self.need_walls()
        self.galley("begin", expect=0)
        self.chown("given.txt", uid=USER, gid=GROUP)
        self.galley("exec", "--", "sh", "-c", "echo three >> given.txt", expect=0)
        self.commit()
        self.assertEqual((owner_of(self.file), self.file.read_text()), ((USER, GROUP), "one\ntwo\nthree\n"))

    def test_a_new_path_gets_both_ids(self):
        self.galley("begin", expect=0)
        self.galley("call", "--profile", "aios", "fs.write", '{"path": "new/a.txt", "content": "a"}', expect=0)
        self.assertEqual(self.chown("new/a.txt", uid=USER, expect=1)["reason"], "owner.incomplete")
        self.chown("new/a.txt", uid=USER, gid=GROUP)
        self.chown("new", uid=USER, gid=GROUP)
        self.assertIn(f"owner {USER}:{GROUP} new/a.txt\n", self.galley("diff", expect=0).stdout.decode())
        self.commit()
        for path in ("new", "new/a.txt"):
            self.assertEqual(owner_of(self.work / path), (USER, GROUP), path)

    def test_no_setuid_bit_is_gained_and_the_undo_says_that_one_is_lost(self):
        self.file.chmod(0o6755)
        self.galley("begin", expect=0)
        self.chown("given.txt", uid=USER, gid=GROUP)
        said = self.commit().stderr.decode()
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o755)
        self.assertIn("'given.txt' could not be given its setuid bit, setgid bit", said)

    def test_an_owner_that_another_program_set_is_a_conflict(self):
        for path in ("given.txt", "folder"):
            self.galley("begin", expect=0)
            self.chown(path, uid=USER)
            os.chown(self.work / path, USER + 5, GROUP)
            said = self.commit(expect=1)
            self.assertIn(f"the owner of '{path}' was changed since it was read", said.stderr.decode())
            self.assertEqual(owner_of(self.work / path), (USER + 5, GROUP))
            self.galley("rollback", expect=0)

    def test_links_and_protected_paths_are_refused(self):
        os.symlink("given.txt", self.work / "link")
        self.galley("begin", expect=0)
        self.assertEqual(self.chown("link", uid=USER, expect=1)["reason"], "path.is_symlink")
        self.assertEqual(self.chown(".galley/format", uid=USER, expect=1)["reason"], "policy.always")
        self.assertEqual(self.galley("diff", expect=0).stdout, b"")

    def test_rules_see_a_change_of_owner(self):
        self.write("galley.toml", '[policy.effects]\nowners = "deny"\n')
        self.galley("begin", expect=0)
        self.chown("given.txt", uid=USER)
        said = self.commit(expect=1)
        self.assertIn("policy.effects.owners", (said.stdout + said.stderr).decode())
        self.assertEqual(owner_of(self.file), self.old)

    def test_a_member_of_a_group_may_give_a_file_to_it(self):
        os.chown(self.work, USER, USER)
        os.chown(self.file, USER, USER)
        os.chmod(self.work.parent, 0o755)
        member = {"user": USER, "group": USER, "extra_groups": [GROUP],
                  "env": {"HOME": str(self.work), "TMPDIR": "/tmp"}}
        self.galley("begin", expect=0, **member)
        for ids in ({"uid": 0}, {"gid": OTHER_GROUP}):
            refused = self.chown("given.txt", expect=1, **ids, **member)
            self.assertEqual(refused["reason"], "owner.not_permitted")
        self.chown("given.txt", gid=GROUP, **member)
        self.galley("commit", expect=0, **member)
        self.assertEqual(owner_of(self.file), (USER, GROUP))
        self.galley("undo", expect=0, **member)
        self.assertEqual(owner_of(self.file), (USER, USER))

    def test_a_user_without_the_right_does_not_commit_what_root_staged(self):
        self.galley("begin", expect=0)
        self.chown("given.txt", uid=USER, gid=GROUP)
        # Root without CAP_CHOWN.
        refused = subprocess.run(
            ["setpriv", "--bounding-set=-chown", "--inh-caps=-chown", hostile.GALLEY, "-C", str(self.work), "commit"],
            env={**os.environ, **self.environment}, capture_output=True, check=False)
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("may not give 'given.txt'", refused.stderr.decode())
        self.assertEqual(owner_of(self.file), self.old)
        self.commit()
        self.assertEqual(owner_of(self.file), (USER, GROUP))


if __name__ == "__main__":
    hostile.main()
