#!/usr/bin/env python3
"""`galley undo --turn last` brings back what an agent's shell removed, through MCP, the ACP proxy, `run` and `exec`. The tests of the
hook do the same there."""

import json
import os
import subprocess
import unittest

from acp_editor import Editor
from mcp_client import McpClient
from support import GALLEY, SystemCase, snapshot

SCRIPT = "rm -rf src .env; sed -i s/one/ONE/ a.txt"


class RemovedByAShell(SystemCase):
    def setUp(self):
        super().setUp()
        self.need_walls()

    def make_tree(self, is_repository):
        self.work = self.scratch / ("repository" if is_repository else "folder")
        (self.work / "src" / "deep").mkdir(parents=True)
        (self.work / "src" / "deep" / "bytes").write_bytes(bytes(range(256)) * 300)
        (self.work / "src" / "run.sh").write_text("#!/bin/sh\n")
        (self.work / "src" / "run.sh").chmod(0o750)
        (self.work / "src" / "link").symlink_to("deep/bytes")
        (self.work / "src" / "python3").symlink_to("/usr/bin/python3")  # as `python3 -m venv` makes it
        (self.work / ".env").write_text("KEY=1\n")
        (self.work / ".env").chmod(0o600)
        (self.work / "a.txt").write_text("one\ntwo\n")
        if is_repository:
            git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", self.work)
            subprocess.run([*git, "init", "-q"], check=True)
            subprocess.run([*git, "add", "src", "a.txt"], check=True)
            subprocess.run([*git, "commit", "-qm", "begin"], check=True)

    def over_mcp(self, *options):
        client = McpClient([GALLEY, "mcp", *options], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        self.assertFalse(client.call("Bash", command=SCRIPT)["isError"])
        if not options:
            self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")

    def check_all_comes_back(self, door):
        for is_repository in (False, True):
            with self.subTest(repository=is_repository):
                self.make_tree(is_repository)
                before = snapshot(self.work)
                door()
                self.assertFalse((self.work / "src").exists())
                self.assertFalse((self.work / ".env").exists())
                # A person goes on meanwhile: in another file, and in another line of the same file.
                (self.work / "mine.txt").write_text("mine\n")
                (self.work / "a.txt").write_text("ONE\ntwo\nthree by me\n")
                self.galley("undo", "--turn", "last", expect=0)
                after = snapshot(self.work)
                self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\nthree by me\n")
                self.assertEqual((self.work / "mine.txt").read_text(), "mine\n")
                for path in ("a.txt", "mine.txt"):
                    after.pop(path)
                    before.pop(path, None)
                self.assertEqual(after, before)
                self.galley("audit", "verify", expect=0)

    def test_an_agent_brings_back_only_the_links_that_it_removed(self):
        self.make_tree(False)
        self.galley("exec", "--commit", "--", "rm", "src/python3", expect=0)
        said = self.galley("--agent", "claude", "undo", "1", expect=1).stderr.decode()
        self.assertIn("outside the workspace", said)
        self.galley("--agent", "claude", "exec", "--commit", "--", "ln", "-s", "/usr/bin/python3", "src/python3", expect=1)
        self.galley("undo", "-n", "1", expect=0)
        self.galley("undo", "1", expect=0)
        self.assertEqual(os.readlink(self.work / "src" / "python3"), "/usr/bin/python3")
        self.galley("--agent", "claude", "exec", "--commit", "--", "rm", "src/python3", expect=0)
        self.galley("--agent", "claude", "undo", expect=0)
        self.assertEqual(os.readlink(self.work / "src" / "python3"), "/usr/bin/python3")
        # Nor does it undo a removal of its own after which a person removed the link again.
        self.galley("--agent", "claude", "exec", "--commit", "--", "rm", "src/python3", expect=0)
        own = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"][0]["id"]
        self.galley("undo", own, expect=0)
        (self.work / "src" / "python3").unlink()
        self.assertIn(b"outside the workspace", self.galley("--agent", "claude", "undo", own, expect=1).stderr)
        self.galley("undo", own, expect=0)
        self.galley("exec", "--commit", "--", "rm", "src/python3", expect=0)
        last = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"][0]["id"]
        self.assertIn(b"outside the workspace", self.galley("--agent", "claude", "undo", last, own, expect=1).stderr)

    def test_a_link_that_an_undo_brought_back_is_no_damage_after_a_restart(self):
        self.make_tree(False)
        boot = self.scratch / "boot"
        boot.write_text("11111111-2222-3333-4444-555555555555\n")
        self.galley("exec", "--commit", "--", "rm", "src/python3", expect=0)
        self.galley("undo", expect=0)
        self.galley("exec", "--commit", "--", "rm", "src/python3", expect=0)
        ran = subprocess.run(["unshare", "-rm", "sh", "-c", f"mount --bind '{boot}' /proc/sys/kernel/random/boot_id && '{GALLEY}' log"],
                             cwd=self.work, env={**os.environ, **self.environment}, capture_output=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertFalse((self.work / "src" / "python3").is_symlink())

    def test_over_mcp_with_a_commit(self):
        self.check_all_comes_back(self.over_mcp)

    def test_over_mcp_with_a_commit_for_each_call(self):
        self.check_all_comes_back(lambda: self.over_mcp("--autocommit"))

    def over_acp(self, *options):
        editor = Editor(self.work, self.environment, *options)
        self.addCleanup(editor.close)
        editor.start()
        editor.prompt(["shell", SCRIPT])
        self.assertEqual(editor.finish()[0], 0)

    def test_over_acp_with_a_commit_for_each_turn(self):
        self.check_all_comes_back(lambda: self.over_acp("--commit", "turn"))

    def test_over_acp_with_a_commit_at_the_end(self):
        self.check_all_comes_back(lambda: self.over_acp("--commit", "session"))

    def test_in_a_run(self):
        self.check_all_comes_back(lambda: self.galley("run", "--commit", "--", "sh", "-c", SCRIPT, expect=0))

    def test_in_exec(self):
        self.check_all_comes_back(lambda: self.galley("exec", "--commit", "--", "sh", "-c", SCRIPT, expect=0))


if __name__ == "__main__":
    unittest.main()
