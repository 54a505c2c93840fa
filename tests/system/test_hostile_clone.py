"""A clone of a repository that is hostile in every way at once, used as a new user would use it."""

import json
import os
import unittest

import hostile
from journal_forgery import FILE, LINK, Side, forge_state
from support import snapshot

PATCH = b"--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-one\n+two\n"


class Clone(hostile.HostileCase):
    def setUp(self):
        super().setUp()
        self.mark = self.scratch / "mark"
        self.upstream = self.scratch / "upstream"
        self.upstream.mkdir()
        touch = f'["sh", "-c", "touch {self.mark}; touch $HOME/mark"]'
        files = {
            "README.md": "one\n",
            ".gitignore": "*a" * 200 + "b\n!/src/\n",
            "src/code.c": "int main;\n",
            "src/galley.toml": f'[commit]\nbefore_apply = {touch}\n[policy]\ndefault = "allow"\n',
            "evil\x1b[2J\u202ename": "x\n",
            "galley.toml": f"""
[commit]
before_apply = {touch}
after_apply = {touch}
[sandbox]
fallback = "copy"
network = true
environment = ["HOSTILE_SECRET"]
max_memory_bytes = "1 TiB"
[[validator]]
name = "steals\\u001b[2J"
command = ["sh", "-c", "cp /proc/self/environ {self.mark}"]
network = true
keep = ["build"]
environment = {{ A = "b" }}
""",
        }
        for name, text in files.items():
            path = self.upstream / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        os.symlink("/etc", self.upstream / "build")  # the path that `keep` names
        forge_state(self.upstream, {
            "forged": (Side(), Side(FILE, b"#!/bin/sh\n", mode=0o755)),
            "way-out": (Side(), Side(LINK, b"/etc")),
        })
        (self.upstream / ".galley" / "undo" / "keep").write_text("")
        self.git("init", "-q", work=self.upstream)
        self.git("add", "-f", ".", work=self.upstream)
        self.git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x", work=self.upstream)
        self.work = self.scratch / "clone"
        self.git("clone", "-q", self.upstream, self.work, work=self.scratch)
        self.secret = {"HOSTILE_SECRET": "hunter2"}

    def outside(self):
        return {name: snapshot(self.scratch / name, skip=()) for name in ("home", "upstream")}

    def test_nothing_of_the_clone_runs_and_each_command_names_untrusted_parts(self):
        outside, inside = self.outside(), snapshot(self.work, skip=(".git",))
        commands = ((["status"], 0), (["preview", "-"], 1), (["apply", "-"], 1), (["log"], 0), (["doctor"], 1),
                    (["undo"], 1), (["begin"], 1), (["exec", "--", "true"], 2), (["gc"], 0), (["recover"], 0),
                    (["query", "select 1"], (0, 1)), (["validate"], 2), (["audit", "verify"], 0))
        for below in (".", "src"):
            for arguments, status in commands:
                with self.subTest(command=arguments, below=below):
                    stdin = PATCH if "-" in arguments else b""
                    result = self.galley(*arguments, work=self.work / below, stdin=stdin, env=self.secret)
                    said = result.stderr.decode(errors="replace")
                    expected = status if isinstance(status, tuple) else (status, 1)
                    self.assertIn(result.returncode, expected, said)
                    self.assertIn("not trusted", said)
                    self.assertNotIn("\x1b", said + result.stdout.decode(errors="replace"))
                    if result.returncode == 0:
                        self.assertIn(f"galley -C {self.work / below} trust", said)
                    self.assertNotIn(b"hunter2", result.stdout + result.stderr)
        self.assertFalse(self.mark.exists())
        self.assertEqual(self.outside(), outside)
        self.assertEqual(snapshot(self.work, skip=(".git",)), inside)

    def test_the_clone_can_be_used_after_its_state_is_moved_away(self):
        os.rename(self.work / ".galley", self.scratch / "not-mine")
        outside = self.outside()
        etc = os.lstat("/etc").st_mtime_ns
        # The validator would judge every change, but it is not trusted, so nothing is committed.
        refused = self.galley("--json", "apply", "-", stdin=PATCH, env=self.secret, expect=1)
        self.assertEqual(json.loads(refused.stdout)["reason"], "gate.not_trusted")
        text = (self.work / "galley.toml").read_text()
        (self.work / "galley.toml").write_text(text[:text.index("[[validator]]")])
        applied = self.galley("apply", "-", stdin=PATCH, env=self.secret, work=self.work / "src", expect=0)
        self.assertIn("before_apply", applied.stderr.decode())
        self.assertEqual((self.work / "README.md").read_text(), "two\n")
        self.galley("begin", expect=0)
        ran = self.galley("exec", "--", "sh", "-c", "env; echo made > made", env=self.secret, expect=0)
        self.assertNotIn(b"hunter2", ran.stdout)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "made").read_text(), "made\n")
        self.galley("undo", expect=0)
        self.galley("undo", "1", expect=0)
        self.assertEqual((self.work / "README.md").read_text(), "one\n")
        self.assertFalse(self.mark.exists())
        self.assertFalse((self.work / "forged").exists())
        self.assertEqual(self.outside(), outside)
        self.assertEqual(os.lstat("/etc").st_mtime_ns, etc)


if __name__ == "__main__":
    hostile.main()
