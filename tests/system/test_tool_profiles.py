#!/usr/bin/env python3
"""A profile decides which tools are listed, and their names in the list."""

import json
import shutil
import unittest

import hostile
from support import SystemCase


class ToolProfiles(SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        (self.work / "etc").mkdir()
        (self.work / "etc" / "hosts").write_text("one\n")

    def names(self, *options):
        document = json.loads(self.galley(*options, "--json", "tools", "list", expect=0).stdout)
        return [tool["name"] for tool in document["tools"]]

    def listed(self, profile):
        said = self.galley("--json", "tools", "list", "--profile", profile, expect=0).stdout
        return [tool["name"] for tool in json.loads(said)["tools"]]

    def test_a_profile_determines_the_listed_tools(self):
        aios = self.listed("aios")
        self.assertEqual(len(aios), 16)
        self.assertTrue(all(name.startswith(("fs.", "sec.")) for name in aios), aios)
        self.assertEqual(self.listed("nachos"), ["filesystem"])
        self.assertEqual(self.listed("sage"), ["Read", "Write", "Edit", "Bash", "GraphQuery"])
        self.assertIn("git_status", self.listed("tenex"))
        self.assertEqual(len(self.names()), 27)

    def test_a_tool_is_called_by_the_names_of_the_profile(self):
        self.galley("begin", expect=0)
        said = self.galley("call", "--profile", "aios", "fs.read", '{"path": "etc/hosts"}', expect=0).stdout
        self.assertEqual(json.loads(said)["data"]["content"], "one\n")
        refused = self.galley("--json", "call", "--profile", "aios", "Read", '{"file": "etc/hosts"}', expect=2)
        self.assertEqual(json.loads(refused.stdout)["error"]["reason"], "tool.not_in_profile")
        unknown = self.galley("--json", "call", "--profile", "aios", "fs.raed", '{"path": "etc/hosts"}', expect=2)
        self.assertIn("did you mean 'fs.read'?", unknown.stdout.decode())

    def test_an_unknown_profile_gets_a_suggestion(self):
        said = self.galley("tools", "list", "--profile", "aois", expect=2)
        self.assertIn("did you mean 'aios'?", said.stderr.decode())

    def test_the_profile_of_an_agent_holds_without_the_option_and_is_not_widened_by_it(self):
        (self.work / "galley.toml").write_text('[agents.fixer]\nprofile = "aios"\n')
        self.assertEqual(len(self.names("--agent", "fixer")), 16)
        self.galley("--agent", "fixer", "begin", expect=0)
        for words in ((), ("--profile", "native")):
            refused = self.galley("--agent", "fixer", "--json", "call", *words, "Bash", '{"command": "true"}', expect=2)
            self.assertIn("tool.not_in_profile", refused.stdout.decode())

    def test_an_agent_whose_profile_runs_no_program_has_no_shell_by_another_door(self):
        for profile in ("aios", "nachos", "mcp-fs"):
            (self.work / "galley.toml").write_text(f'[agents.fixer]\nprofile = "{profile}"\n')
            tx = self.galley("--agent", "fixer", "begin", expect=0).stdout.decode().strip()
            for words in (("exec", "--tx", tx), ("run",)):
                refused = self.galley("--agent", "fixer", "--json", *words, "--", "touch", "made", expect=1)
                self.assertEqual(json.loads(refused.stdout)["reason"], "command.no_shell", refused.stdout)
            self.galley("--agent", "fixer", "rollback", "--tx", tx, expect=0)
        (self.work / "galley.toml").write_text('[agents.fixer]\nprofile = "claude"\n')
        tx = self.galley("--agent", "fixer", "begin", expect=0).stdout.decode().strip()
        self.galley("--agent", "fixer", "exec", "--tx", tx, "--", "touch", "made", expect=0)

    def test_changes_by_a_profile_tool_are_committed_like_edits(self):
        self.galley("begin", expect=0)
        self.galley("call", "--profile", "aios", "fs.write",
                    '{"path": "etc/hosts", "content": "two\\n", "backup": true}', expect=0)
        self.galley("call", "--profile", "nachos", "filesystem",
                    '{"action": "write", "path": "workspace/new.txt", "content": "n"}', expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "etc" / "hosts").read_text(), "two\n")
        self.assertEqual((self.work / "workspace" / "new.txt").read_text(), "n")
        backups = list((self.work / "var" / "lib" / "aios" / "backups").iterdir())
        self.assertEqual([path.read_text() for path in backups], ["one\n"])
        self.galley("undo", expect=0)
        self.assertEqual((self.work / "etc" / "hosts").read_text(), "one\n")
        self.assertFalse((self.work / "var").exists())

    def answer(self, tool, arguments, *options):
        said = self.galley("call", "--profile", "tenex", *options, tool, json.dumps(arguments), expect=0).stdout
        return json.loads(said)["data"]

    def test_git_shows_the_tree_as_it_is_proposed(self):
        self.git("init", "-q", "-b", "main", ".")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first")
        self.galley("begin", expect=0)
        self.answer("write_file", {"path": "etc/hosts", "content": "two\n"})
        self.answer("write_file", {"path": "new.txt", "content": "new\n"})
        status = self.answer("git_status", {})
        self.assertEqual((status["branch"], status["clean"]), ("main", False))
        self.assertEqual({(entry["worktree"], entry["path"]) for entry in status["entries"]},
                         {("M", "etc/hosts"), ("?", "new.txt")})
        diff = self.answer("git_diff", {"path": "etc"})["diff"]
        self.assertIn("-one\n+two\n", diff)
        self.assertEqual((self.work / "etc" / "hosts").read_text(), "one\n")
        self.assertEqual(self.git("status", "--porcelain").stdout.decode().replace("?? .galley/\n", ""), "")

    def test_a_command_of_tenex_is_a_line_of_the_shell(self):
        self.galley("begin", expect=0)
        ran = self.answer("run_command", {"command": "echo $((1 + 1)) | tee made; echo bad >&2", "cwd": "etc"})
        self.assertEqual((ran["stdout"], ran["stderr"], ran["exitCode"]), ("2\n", "bad\n", 0))
        self.assertEqual(self.answer("read_file", {"path": "etc/made"})["content"], "2\n")
        self.assertEqual(self.answer("run_command", {"command": "exit 3"})["exitCode"], 3)
        self.assertFalse((self.work / "etc" / "made").exists())

    def test_a_configuration_of_the_repository_runs_nothing_on_the_host(self):
        mark = self.scratch / "ran"
        self.git("init", "-q", "-b", "main", ".")
        for name, value in (("core.fsmonitor", f"touch {mark}"), ("diff.external", f"touch {mark}")):
            self.git("config", name, value)
        self.galley("begin", expect=0)
        self.answer("write_file", {"path": "etc/hosts", "content": "two\n"})
        self.answer("git_status", {})
        self.answer("git_diff", {})
        self.assertFalse(mark.exists())

    @unittest.skipUnless(shutil.which("ctags"), "needs ctags")
    def test_definitions_come_from_ctags_and_not_from_its_options_in_the_tree(self):
        mark = self.scratch / "ran"
        (self.work / ".ctags.d").mkdir()
        (self.work / ".ctags.d" / "a.ctags").write_text(f"--output-format=json\n--_interactive\n--totals={mark}\n")
        (self.work / "a.py").write_text("def area(r):\n    return r\n\narea(1)\n")
        self.galley("begin", expect=0)
        found = self.answer("find_references", {"symbol": "area"})
        self.assertEqual(found["definitionsFrom"], "ctags")
        self.assertEqual(found["definitions"], [{"path": "a.py", "line": 1, "kind": "function"}])
        self.assertEqual([place["line"] for place in found["references"]], [1, 4])


if __name__ == "__main__":
    hostile.main()
