"""Commands of several processes at the same time, for which no lock is held for long: each one that
exits with 0 has had its effect, and each other one has one plain message."""

import json
import os
import subprocess
import unittest

from support import GALLEY, SystemCase

ROUNDS = 12
HOOKS = ("pre-commit", "post-commit")
ASKS = '[[policy.rule]]\nname = "r"\npaths = ["asked/"]\ndecision = "ask"\n'
CHANGED = "changed while this command ran, so it was not written; run the command again"


class AtOnce(SystemCase):
    def setUp(self):
        super().setUp()
        self.home = self.scratch / "home"
        self.home.mkdir()
        self.environment["HOME"] = str(self.home)
        self.git("init", "-q")

    def at_once(self, *commands):
        """Starts the commands together. Returns the exit status and the messages of each one."""
        started = [subprocess.Popen([GALLEY, "-C", self.work, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env={**os.environ, **self.environment})
                   for words in commands]
        ended = [(one, *one.communicate(timeout=60)) for one in started]
        return [(one.returncode, said.decode() + errors.decode()) for one, said, errors in ended]

    def all_succeed(self, *commands):
        for status, said in self.at_once(*commands):
            self.assertEqual(status, 0, said)

    def assert_no_new_files(self, folder):
        left = [name for name in os.listdir(folder) if name.endswith(".new") or "galley-new" in name]
        self.assertEqual(left, [])

    def test_the_configuration_is_written_and_trusted(self):
        for _ in range(ROUNDS):
            self.all_succeed(*[("init", "--force", "--enable")] * 4)
            self.assertTrue((self.work / "galley.toml").read_text().endswith("\n"))
            self.all_succeed(*[("trust",)] * 4)
            listed = self.galley("trust", "--list", expect=0).stdout.decode()
            self.assertIn(str(self.work), listed)
            self.assert_no_new_files(self.work)

    def test_hooks_are_installed_and_the_earlier_one_is_kept(self):
        hooks = self.work / ".git" / "hooks"
        for _ in range(ROUNDS):
            for old in hooks.iterdir():
                old.unlink()
            earlier = hooks / "pre-commit"
            earlier.write_text("#!/bin/sh\nexit 0\n")
            earlier.chmod(0o755)
            (hooks / "pre-commit.galley-new").write_text("half")  # of a killed process
            self.all_succeed(*[("hook", "install")] * 4)
            for name in HOOKS:
                self.assertIn("galley", (hooks / name).read_text())
            self.assertEqual((hooks / "pre-commit.before-galley").read_text(), "#!/bin/sh\nexit 0\n")
            self.assert_no_new_files(hooks)

    def test_hooks_are_removed_and_the_earlier_one_comes_back(self):
        hooks = self.work / ".git" / "hooks"
        earlier = hooks / "pre-commit"
        for _ in range(ROUNDS):
            earlier.write_text("#!/bin/sh\nexit 0\n")
            earlier.chmod(0o755)
            self.galley("hook", "install", expect=0)
            self.all_succeed(*[("hook", "uninstall")] * 4)
            self.assertEqual(earlier.read_text(), "#!/bin/sh\nexit 0\n")
            self.assertEqual({name for name in os.listdir(hooks) if not name.endswith(".sample")}, {"pre-commit"})

    def test_a_tool_is_added_and_removed(self):
        folder = self.scratch / "tool"
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(
            {"name": "p", "version": "1.0.0", "type": "tool", "provides": {"tool": "t"}, "description": "For a test.",
             "executable": "run"}))
        (folder / "run").write_text("#!/bin/sh\n")
        (folder / "run").chmod(0o755)
        for number in range(ROUNDS):
            if number % 3 == 0:  # another content of the same tool
                (folder / "data").write_text(str(number))
            self.all_succeed(*[("tools", "add", folder), ("tools", "list")] * 3)
            self.assertIn(b"\nt ", b"\n" + self.galley("tools", "list", expect=0).stdout)
            kept = [name for _, folders, _ in os.walk(self.scratch / "state") for name in folders]
            self.assertEqual([name for name in kept if name.endswith(".new")], [])
            self.assertEqual(kept.count("files"), 1, kept)
        ends = self.at_once(*[("tools", "remove", "t")] * 3)
        self.assertIn(0, [status for status, _ in ends], ends)
        for status, said in ends:
            self.assertTrue(status == 0 or "'t'" in said, said)

    def test_one_proposal_is_approved(self):
        (self.work / "galley.toml").write_text(ASKS)
        for number in range(ROUNDS):
            edit = json.dumps([{"path": "asked/a.txt", "content": f"{number}\n"}])
            self.galley("stage", "--begin", stdin=edit.encode(), expect=0)
            shown = json.loads(self.galley("--json", "validate", expect=1).stdout)
            self.all_succeed(*[("approve", shown["proposal"])] * 4)
            self.galley("-q", "commit", expect=0)
            self.assertEqual((self.work / "asked" / "a.txt").read_text(), f"{number}\n")

    def test_one_transaction_is_begun(self):
        commands = []
        for name in "abcdef":
            edit = self.scratch / f"{name}.json"
            edit.write_text(json.dumps([{"path": f"{name}.txt", "content": name}]))
            commands.append(("stage", "--begin", edit))
        for _ in range(ROUNDS):
            ends = self.at_once(*commands)
            shown = json.loads(self.galley("--json", "status", expect=0).stdout)
            self.assertEqual(len(shown["transactions"]), 1, ends)
            staged = {change["path"] for change in shown["changes"]}
            for (status, said), name in zip(ends, "abcdef"):
                self.assertEqual(f"{name}.txt" in staged, status == 0, said)
                if status != 0:
                    self.assertIn("another process works on transaction", said)
            self.galley("rollback", expect=0)

    def test_a_transaction_that_ends_meanwhile_is_passed_over(self):
        no_own = ("no transaction is open here", "another process works on transaction", "open transactions; name one")
        looks = [("status",), ("diff",), ("savepoint", "s"), ("validate",)]
        for _ in range(ROUNDS):
            self.galley("begin", expect=0)
            for status, said in self.at_once(*looks, ("rollback",), *looks, ("begin",)):
                if status != 0:
                    self.assertTrue(any(text in said for text in no_own), said)
            for one in json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"]:
                self.galley("rollback", "--tx", one["tx"], expect=0)

    def test_a_log_names_what_a_gc_prunes_meanwhile(self):
        (self.work / "galley.toml").write_text("[history]\nkeep_transactions = 2\n")
        for options in ([], ["--stat"], ["--oneline"]):
            for number in range(4):
                text = f"line {number} of a file that no pipe holds {options}\n"
                (self.scratch / "edit.json").write_text(json.dumps([{"path": f"{number}.txt", "content": text * 20_000}]))
                self.galley("apply", self.scratch / "edit.json", expect=0)
            for journal in (self.work / ".galley" / "j").iterdir():
                os.utime(journal, (0, 0))  # so old that it is retired
            listing = subprocess.Popen([GALLEY, "-C", self.work, "log", "-p", *options], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env={**os.environ, **self.environment})
            self.addCleanup(listing.kill)
            shown = listing.stdout.read(1)  # it has its list, and waits for a reader of the first diff
            self.assertIn(b"(count)", self.galley("gc", expect=0).stdout)
            more, said = listing.communicate(timeout=60)
            self.assertEqual(listing.returncode, 0, said)
            self.assertIn(b"+line 3 of", shown + more)
            self.assertNotIn(b"+line 0 of", shown + more)
            self.assertIn(b"was pruned from the history", said)

    def test_no_entry_of_an_agent_is_lost(self):
        settings = self.work / ".gemini" / "settings.json"
        programs = self.scratch / "bin"
        programs.mkdir()
        (programs / "galley").symlink_to(os.path.realpath(GALLEY))
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        for _ in range(ROUNDS):
            settings.unlink(missing_ok=True)
            ends = self.at_once(*[("agents", "install", "gemini", part, "--yes") for part in ("--mcp", "--hook")])
            text = settings.read_text()
            for (status, said), entry in zip(ends, ("mcpServers", "agent-hook")):
                self.assertEqual(entry in text, status == 0, said)
                if status != 0:
                    self.assertIn(CHANGED, " ".join(said.split()))
            json.loads(text)
            self.assertIn(0, [status for status, _ in ends])
            self.assert_no_new_files(settings.parent)

    def test_quiet_exec_says_why_it_staged_nothing(self):
        self.need_walls()
        (self.work / "shared.txt").write_text("old\n")
        # The command waits at a pipe outside of the tree until the file has changed on disk.
        running = subprocess.Popen(
            [GALLEY, "-C", self.work, "-q", "exec", "--commit", "--", "sh", "-c",
             "cat shared.txt > /dev/null; echo mine > shared.txt; echo ready; read line; echo $line >> shared.txt"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **self.environment})
        self.addCleanup(running.kill)
        self.assertEqual(running.stdout.readline(), b"ready\n")
        (self.work / "shared.txt").write_text("of an editor\n")
        _, said = running.communicate(b"go\n", timeout=60)
        self.assertNotEqual(running.returncode, 0)
        self.assertIn(b"shared.txt", said)
        self.assertEqual((self.work / "shared.txt").read_text(), "of an editor\n")


if __name__ == "__main__":
    unittest.main()
