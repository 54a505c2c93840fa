#!/usr/bin/env python3
"""An agent's list of tools applies to everything that the agent can do, not only to tool calls. All
its actions are recorded with their transaction, refusals too."""

import json
import os
import re
import shutil

import hostile
from support import SystemCase

RULES = """
[agents.editor]
tools = ["Read", "Edit"]

[agents.writer]
tools = ["Read", "Edit", "Write"]

[agents.looker]
tools = ["Read"]

[[validator]]
name = "upper"
command = ["sed", "-i", "s/old/new/", "{files}"]
paths = ["*.txt"]
fix = true
"""

CHANGE = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
CREATE = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
REMOVE = "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
MODE = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n"
RENAME = "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n"


class ToolLists(SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        (self.work / "galley.toml").write_text(RULES)
        (self.work / "a.txt").write_text("one\n")

    def by(self, agent, *arguments, expect=0, **options):
        who = ["--agent", agent] if agent else []
        return self.galley(*who, *arguments, expect=expect, **options)

    def begin(self, agent=""):
        return self.by(agent, "begin").stdout.decode().strip()

    def staged(self, tx):
        document = json.loads(self.galley("--json", "diff", "--tx", tx, expect=0).stdout)
        return [change["path"] for change in document["changes"]]

    def records(self):
        log = self.work / ".galley" / "audit.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def refused(self, agent, *arguments, **options):
        said = self.by(agent, "--json", *arguments, expect=1, **options)
        document = json.loads(said.stdout)
        self.assertEqual(document["reason"], "policy.capability", document)
        self.assertIn(f"[agents.{agent}]", document["message"])
        return document["message"]

    def test_a_command_needs_the_tool_bash(self):
        tx = self.begin("editor")
        said = self.refused("editor", "exec", "--", "sh", "-c", "echo x > made.txt")
        self.assertIn("`Bash`", said)
        self.assertEqual(self.staged(tx), [])
        record = self.records()[-1]
        self.assertEqual((record["kind"], record["tool"], record["agent"], record["tx"]), ("exec", "exec", "editor", tx))
        self.assertEqual(record["error"]["reason"], "policy.capability")
        self.assertNotIn("begun", [one["kind"] for one in self.records()])

    def test_the_sandbox_refuses_a_program_after_its_begun_record(self):
        (self.work / "galley.toml").write_text(RULES + '[sandbox]\ndeny = ["touch"]\n')
        self.begin()
        self.galley("exec", "--", "touch", "made", expect=1)
        begun, refused = self.records()[-2:]
        self.assertEqual((begun["kind"], refused["kind"]), ("begun", "exec"))
        self.assertEqual(begun["execution_id"], refused["execution_id"] + "-begun")
        self.assertEqual(refused["error"]["reason"], "command.denied")

    def test_a_document_needs_the_tools_that_would_do_the_same(self):
        tx = self.begin("editor")
        for patch, tool in ((CREATE, "Write"), (REMOVE, "Delete"), (MODE, "Chmod"), (RENAME, "Move")):
            with self.subTest(tool=tool):
                self.assertIn(f"`{tool}`", self.refused("editor", "stage", "-", stdin=patch.encode()))
                self.assertIn(f"`{tool}`", self.refused("editor", "apply", "-", stdin=patch.encode()))
        self.assertEqual(self.staged(tx), [])
        self.by("editor", "stage", "-", stdin=CHANGE.encode())
        self.assertEqual(self.staged(tx), ["a.txt"])
        self.by("writer", "apply", "-", stdin=CREATE.encode())
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")

    def test_an_agent_without_editing_tools_cannot_stage(self):
        tx = self.begin("looker")
        before = len(self.records())
        for command in (("stage", "-"), ("apply", "-"), ("preview", "-")):
            self.assertIn("`Edit`", self.refused("looker", *command, stdin=CHANGE.encode()))
        self.refused("looker", "edit", "a.txt", env={"EDITOR": "sed -i s/one/two/"})
        self.refused("looker", "validate", "--fix")
        self.assertEqual(self.staged(tx), [])
        kinds = [(record["kind"], record["tx"] == tx) for record in self.records()[before:]]
        self.assertEqual(kinds, [("edit", True), ("edit", False), ("call.dry_run", False), ("edit", True), ("fix", True)])
        self.by("looker", "rollback")  # rolling back the agent's own transaction is not an edit

    def test_a_tool_that_the_agent_may_not_call_is_not_listed(self):
        names = [line.split()[0] for line in self.by("looker", "tools", "list").stdout.decode().splitlines()]
        self.assertEqual(names, ["Read"])
        shaped = json.loads(self.by("looker", "tools", "list", "--format", "anthropic").stdout)
        self.assertEqual([tool["name"] for tool in shaped], ["Read"])
        states = {tool["name"]: tool["state"] for tool in json.loads(self.by("looker", "--json", "tools", "list").stdout)["tools"]}
        self.assertEqual((states["Read"]["callable"], states["Write"]["callable"], states["Write"]["reason"]),
                         (True, False, "policy.capability"))
        self.assertIn("Write", self.by("", "tools", "list").stdout.decode())

    def test_undo_and_redo_need_a_tool_that_changes_files(self):
        self.by("", "apply", "-", stdin=CHANGE.encode())
        self.refused("looker", "undo", "1")
        self.by("editor", "undo", "1")
        self.refused("looker", "redo", "1")
        self.assertEqual((self.work / "a.txt").read_text(), "one\n")
        kinds = [(record["kind"], record.get("agent"), "error" in record) for record in self.records()]
        self.assertEqual(kinds, [("edit", None, False), ("commit", None, False), ("undo", "looker", True),
                                 ("undo", "editor", False), ("redo", "looker", True)])

    def test_an_agent_without_editing_tools_cannot_change_others_transactions(self):
        tx = self.begin()
        self.by("", "stage", "--tx", tx, "-", stdin=CHANGE.encode())
        for command in (("savepoint", "mine"), ("rollback",), ("fork",)):
            self.refused("looker", command[0], "--tx", tx, *command[1:])
        self.assertEqual(self.staged(tx), ["a.txt"])
        self.by("editor", "savepoint", "--tx", tx, "one")
        self.by("editor", "rollback", "--tx", tx)

    def test_every_record_names_its_transaction(self):
        tx = self.begin()
        self.by("", "--reason", "because", "stage", "-", stdin=CHANGE.encode())
        self.by("", "savepoint", "one")
        self.by("", "exec", "--", "true")
        self.by("", "rollback", "--to", "one")
        self.by("", "commit")
        seen = [(record["kind"], record["tx"], record.get("reason")) for record in self.records()]
        self.assertEqual(seen, [("edit", tx, "because"), ("savepoint", tx, None), ("begun", tx, None), ("exec", tx, None),
                                ("rollback", tx, None), ("commit", "1", "because")])
        self.assertEqual(self.records()[-1]["open_tx"], tx)
        exported = [json.loads(line) for line in self.by("", "audit", "export", "aios").stdout.splitlines()]
        self.assertEqual(exported[-1]["backup_path"], ".galley/undo/1.j")

    def test_a_call_that_changed_no_file_is_named_when_it_is_to_be_taken_back(self):
        self.begin()
        read = json.loads(self.by("", "--json", "call", "Read", '{"file": "a.txt"}').stdout)["meta"]["executionId"]
        self.by("", "rollback")
        said = json.loads(self.by("", "--json", "rollback", "--execution", read, expect=1).stdout)
        self.assertEqual(said["reason"], "rollback.unknown_execution")
        self.assertIn("a call of 'Read' that changed no file", said["message"])

    def test_a_preview_records_only_its_calls(self):
        self.by("", "apply", "-", stdin=CREATE.encode())
        before = self.records()
        self.by("", "preview", "-", stdin=CHANGE.encode())
        self.by("", "apply", "-n", "--fix", "-", stdin=CHANGE.encode())
        self.assertEqual(self.records(), before)
        calls = [{"tool": "Write", "args": {"file_path": "b.txt", "content": "b\n"}}]
        self.by("", "preview", "--format", "calls", "-", stdin=json.dumps(calls).encode())
        calls[0]["tool"] = "Delete"
        self.by("looker", "preview", "--format", "calls", "-", stdin=json.dumps(calls).encode(), expect=1)
        self.assertEqual([(each["kind"], each["tool"], each.get("agent", ""), "error" in each)
                          for each in self.records()[len(before):]],
                         [("call.dry_run", "Write", "", False), ("call.dry_run", "Delete", "looker", True)])

    def test_a_tried_edit_of_an_agent_is_on_record(self):
        tx = self.begin("editor")
        before = self.records()
        self.by("editor", "preview", "-", stdin=CHANGE.encode())
        self.by("editor", "apply", "-n", "-", stdin=CHANGE.encode())
        self.by("editor", "stage", "--check", "--tx", tx, "-", stdin=CHANGE.encode())
        self.assertEqual([(each["kind"], each["tool"], each["agent"], each["input"]["bytes"]) for each in self.records()[len(before):]],
                         [("call.dry_run", "stage", "editor", len(CHANGE))] * 3)
        self.assertEqual(self.staged(tx), [])

    def test_a_tried_edit_of_an_agent_that_cannot_be_recorded_has_a_warning(self):
        tx = self.begin("writer")
        (self.work / "b.txt").write_text("b\n")
        call = json.dumps({"tool": "Write", "args": {"file_path": "a.txt", "content": "b\n"}})
        self.by("writer", "call", "--tx", tx, "Write", '{"file_path": "b.txt", "content": "c\\n"}')
        wrote = self.records()[-1]["execution_id"]
        tries = [(("preview", "-"), CHANGE), (("--json", "preview", "-"), CHANGE), (("apply", "-n", "-"), CHANGE),
                 (("apply", "--stat", "-"), CHANGE), (("edits", "explain", "-"), CHANGE),
                 (("stage", "--check", "--tx", tx, "-"), CHANGE), (("preview", "--format", "calls", "-"), call),
                 (("rollback", "-n", "--tx", tx, "--execution", wrote), "")]
        log = self.work / ".galley" / "audit.jsonl"
        before = [self.by("writer", *words, stdin=text.encode()).stdout for words, text in tries]
        log.unlink()
        log.mkdir()
        for (words, text), out in zip(tries, before):
            said = self.by("writer", *words, stdin=text.encode())
            self.assertEqual(re.sub(rb"exec-[-0-9a-z]+|[0-9]+ ms", b"", said.stdout), re.sub(rb"exec-[-0-9a-z]+|[0-9]+ ms", b"", out), words)
            self.assertEqual(said.stderr.count(b"warning: this call is not in the audit log: "), 1, (words, said.stderr))
        refused = self.by("looker", "--json", "preview", "-", stdin=CHANGE.encode(), expect=1)
        self.assertEqual(json.loads(refused.stdout)["reason"], "policy.capability")
        self.assertEqual(self.staged(tx), ["b.txt"])

    def test_a_call_that_reaches_no_tool_is_on_record(self):
        self.begin()
        before = self.records()
        self.by("", "call", "Write", '{"file_path": "b.txt", "content": ', expect=2)
        self.by("", "call", "--profile", "aios", "Write", '{"file_path": "b.txt", "content": "b"}', expect=2)
        self.assertEqual([(each["tool"], each["error"]["reason"]) for each in self.records()[len(before):]],
                         [("Write", "json.syntax"), ("Write", "tool.not_in_profile")])

    def test_a_call_that_is_malformed_begins_no_transaction(self):
        self.by("", "rollback", "--tx", self.begin())
        refused = self.by("", "--json", "call", "--begin", "--profile", "aios", "Write", '{"file_path": "b.txt", "content": "b"}', expect=2)
        self.assertEqual(json.loads(refused.stdout)["error"]["reason"], "tool.not_in_profile")
        self.assertEqual((self.records()[-1]["tool"], self.records()[-1]["error"]["reason"]), ("Write", "tool.not_in_profile"))
        self.assertEqual(list(self.own_state("stage").glob("*")), [])

    def test_calls_that_cannot_be_recorded_keep_their_own_error_and_have_a_warning(self):
        tx = self.begin()
        log = self.work / ".galley" / "audit.jsonl"
        log.unlink(missing_ok=True)
        log.mkdir()
        reads = json.dumps([{"tool": "Read", "args": {"file": name}} for name in ("a.txt", "gone.txt")]).encode()
        for words in (("stage", "--tx", tx), ("apply",)):
            said = self.by("", *words, "--format", "calls", "-", stdin=reads, expect=1).stderr.decode()
            self.assertIn("gone.txt", said, words)
            self.assertIn("warning: ", said, words)
        said = self.by("", "call", "Read", '{"file": "gone.txt"}', expect=1).stderr.decode()
        self.assertIn("gone.txt", said)
        self.assertIn("warning: this call is not in the audit log: ", said)

    def test_a_preview_has_no_network_even_if_a_call_has_it(self):
        (self.work / "galley.toml").write_text(
            '[agents.fetcher]\ncapabilities = ["fs:read", "fs:write", "exec:*", "net:host"]\n[sandbox]\nnetwork = true\n')
        here = os.readlink("/proc/self/ns/net")
        call = {"tool": "Bash", "args": {"command": "readlink /proc/self/ns/net > ns.txt"}}
        for words, is_here in ((("preview",), False), (("apply", "-n"), False), (("apply",), True)):
            said = self.by("fetcher", *words, "--format", "calls", "-", stdin=json.dumps([call]).encode())
            self.assertIn(b"ns.txt", said.stdout, words)
            self.assertEqual(here.encode() in said.stdout or (self.work / "ns.txt").exists()
                             and (self.work / "ns.txt").read_text().strip() == here, is_here, said.stdout)

    def test_a_secret_is_named_and_its_value_comes_from_the_environment(self):
        self.begin()
        line = json.dumps({"command": "printf %s $ENV.TOKEN"})
        said = json.loads(self.by("", "--json", "call", "Bash", line, expect=1).stdout)
        self.assertEqual(said["error"]["reason"], "secret.unavailable")
        self.by("", "call", "--secret", "TOKEN", "Bash", line, expect=2)
        said = json.loads(self.by("", "--json", "call", "--secret", "TOKEN", "Bash", line,
                                  env={"TOKEN": "hunter2-and-more"}).stdout)
        self.assertEqual(said["data"]["stdout"], "[REDACTED:env.TOKEN]")
        self.assertNotIn("hunter2", (self.work / ".galley" / "audit.jsonl").read_text())

    def test_a_secret_in_a_file_is_shown_by_a_process_that_was_not_told_it(self):
        config = self.work / "galley.toml"
        config.write_text((config.read_text() if config.exists() else "") + "\n[secrets]\nin_files = true\n")
        self.begin()
        write = json.dumps({"file_path": "key.txt", "content": "$ENV.TOKEN\n"})
        said = self.by("", "--json", "call", "--secret", "TOKEN", "Write", write, env={"TOKEN": "hunter2-and-more"})
        self.assertNotIn(b"hunter2", said.stdout, "the process that was told it shows its placeholder")
        self.assertIn(b"+hunter2-and-more", self.by("", "diff").stdout, "a file is shown as it is")
        self.assertNotIn("hunter2", (self.work / ".galley" / "audit.jsonl").read_text())

    def test_a_dry_call_reports_but_stages_nothing(self):
        tx = self.begin()
        write = json.dumps({"file_path": "b.txt", "content": "b"})
        said = json.loads(self.by("", "--json", "call", "-n", "Write", write).stdout)
        self.assertTrue(said["meta"]["dryRun"])
        edit = json.dumps({"file_path": "a.txt", "old_string": "one", "new_string": "two"})
        report = json.loads(self.by("", "--json", "call", "-n", "Edit", edit).stdout)["data"]["report"]
        self.assertEqual((report["staged"], report["files"][0]["staged"]), (False, False))
        line = json.dumps({"command": "echo b > b.txt"})
        said = json.loads(self.by("", "--json", "call", "-n", "Bash", line).stdout)
        self.assertEqual((said["data"]["staged"], said["data"]["stagedPaths"]), (False, 1))
        self.assertEqual(self.staged(tx), [])

    def test_a_dry_call_is_refused_as_the_call_is(self):
        (self.work / "galley.toml").write_text("[limits]\nmax_file_bytes = 5\n")
        self.begin()
        for tool, arguments in (("Write", {"file": "x", "content": "0123456789"}), ("Bash", {"command": "echo 0123456789 > y"})):
            for options in ((), ("-n",)):
                said = json.loads(self.by("", "--json", "call", *options, tool, json.dumps(arguments), expect=1).stdout)
                self.assertEqual(said["error"]["reason"], "limit.file_size", (tool, options))


if __name__ == "__main__":
    hostile.main()
