#!/usr/bin/env python3
"""Commits by `galley mcp` that are cancelled or asked about, and what their answers say."""

import json
import re
import shutil

import hostile
from terminal_session import wait_until
from test_mcp import McpCase


class Cancelled(McpCase):
    def test_what_is_cancelled_after_its_commit_point_is_committed_and_answered(self):
        begun, may_go = self.scratch / "begun", self.scratch / "may go"
        hook = f"touch '{begun}'; while [ ! -e '{may_go}' ]; do sleep 0.01; done"
        own = self.scratch / "config" / "galley" / "config.toml"
        own.write_text(f'{own.read_text()}[commit]\nbefore_apply = ["/bin/sh", "-c", "{hook}"]\n')
        staged, client = self.connect(), self.connect("--autocommit")
        staged.call("Write", file_path="staged", content="2\n")
        for number, (server, name, arguments) in enumerate((
                (staged, "galley_commit", {}), (staged, "galley_undo", {}),
                (client, "Write", {"file_path": "second", "content": "3\n"})), 1):
            with self.subTest(name):
                slow = server.request("tools/call", {"name": name, "arguments": arguments})
                wait_until(begun.exists)
                server.tell("notifications/cancelled", {"requestId": slow})
                server.ask("ping")
                may_go.touch()
                said = server.answer_to(slow)["result"]
                self.assertFalse(said["isError"], said)
                self.assertIn(f"committed as {number};", self.text(said))
                begun.unlink()
                may_go.unlink()
        self.assertFalse((self.work / "staged").exists())
        self.assertTrue((self.work / "second").exists())


class OpenQuestions(McpCase):
    RULE = '[[policy.rule]]\npaths = ["deploy/"]\ndecision = "ask"\n'
    YES = {"action": "accept", "content": {"approve": True}}

    def asked(self, *options):
        """A client whose change of deploy/x is asked about, and the id of that commit."""
        (self.work / "galley.toml").write_text(self.RULE)
        client = self.connect(*options, capabilities={"elicitation": {}})
        client.answers_later = True
        client.call("Write", file="a-padding.txt", content="x" * 40_000 + "\n")
        client.call("Write", file="deploy/x", content="asked about\n")
        commit = client.request("tools/call", {"name": "galley_commit", "arguments": {}})
        wait_until(lambda: client.questions)
        return client, commit

    def answer(self, client, result):
        client.send({"jsonrpc": "2.0", "id": client.questions[-1]["id"], "result": result})

    def test_the_question_begins_with_the_files_that_the_rule_asks_about(self):
        client, commit = self.asked()
        message = client.questions[0]["params"]["message"]
        self.assertLess(message.index("+asked about"), message.index("b/a-padding.txt"))
        self.answer(client, self.YES)
        self.assertFalse(client.answer_to(commit)["result"]["isError"])

    def test_the_command_that_the_question_names_shows_the_rest_meanwhile(self):
        client, commit = self.asked()
        command = re.search(r"galley (diff --tx \w+)\]", client.questions[0]["params"]["message"])[1]
        self.assertIn(b"x" * 40_000, self.galley(*command.split(), expect=0).stdout)
        self.answer(client, self.YES)
        self.assertFalse(client.answer_to(commit)["result"]["isError"])
        self.assertEqual(len(client.questions), 1)

    def test_calls_that_read_are_answered_meanwhile_and_others_wait_in_order(self):
        client, commit = self.asked()
        self.assertEqual(self.text(client.call("Read", file="a.txt")), "one\ntwo\n")
        self.assertIn("deploy/x", self.text(client.call("galley_status")))
        later = client.request("tools/call", {"name": "Write", "arguments": {"file": "later", "content": "x\n"}})
        self.assertIn("asked about", self.text(client.call("Read", file="deploy/x")))
        self.answer(client, self.YES)
        answers = {}
        self.assertEqual(client.answer_to(commit, answers)["result"]["structuredContent"]["outcome"], "committed")
        self.assertFalse(client.answer_to(later, answers)["result"]["isError"])
        self.assertFalse((self.work / "later").exists())

    def test_a_yes_counts_only_for_what_was_asked(self):
        client, commit = self.asked()
        tx = re.search(r"--tx (\w+)\]", client.questions[0]["params"]["message"])[1]
        self.galley("call", "--tx", tx, "Write", '{"file": "deploy/y", "content": "not asked about\\n"}', expect=0)
        self.answer(client, self.YES)
        wait_until(lambda: len(client.questions) == 2)
        self.assertIn("+not asked about", client.questions[1]["params"]["message"])
        self.answer(client, {"action": "decline"})
        refused = client.answer_to(commit)["result"]
        self.assertIn("; the client or its user refused", self.text(refused))
        self.assertFalse((self.work / "deploy").exists())

    def test_a_cancelled_question_ends_the_commit_and_others_go_on(self):
        client, commit = self.asked()
        client.tell("notifications/cancelled", {"requestId": commit})
        self.assertIn("deploy/x", self.text(client.call("galley_status")))
        question = {"requestId": client.questions[0]["id"]}
        wait_until(lambda: [one["params"] for one in client.notifications if one["method"] == "notifications/cancelled"] == [question])
        self.answer(client, self.YES)
        self.assertTrue(client.call("galley_log")["structuredContent"]["commits"] == [])


class Answers(McpCase):
    def test_a_cut_list_says_how_many_there_are(self):
        self.need_walls()
        client = self.connect()
        made = client.call("Bash", command="for i in $(seq 1200); do echo > g$i; done")
        listed = len(made["structuredContent"]["changes"])
        self.assertEqual(made["structuredContent"]["leftOut"]["/changes"], f"the last {1200 - listed} items")
        self.assertIn("and 1180 more paths", self.text(made))
        for name in ("galley_status", "galley_preview", "galley_validate", "galley_commit", "galley_undo"):
            with self.subTest(name):
                said = client.call(name)
                self.assertEqual(said["structuredContent"]["count"], 1200)
                self.assertEqual(len(said["structuredContent"]["changes"]), 200)
                self.assertTrue("and 1000 more\n" in self.text(said) or name == "galley_preview", self.text(said)[-200:])
        commits = client.call("galley_log")["structuredContent"]["commits"]
        self.assertEqual([one["count"] for one in commits], [1200, 1200])

    def test_the_text_names_an_edit_that_fits_only_inexactly(self):
        (self.work / "t.py").write_text("\tif x:\n\t\treturn 1\n")
        (self.work / "o.txt").write_text("".join(f"l{n}\n" for n in range(100)))
        (self.work / "f.txt").write_text("a\nb\nc\nd\ne\nf\n")
        client = self.connect()
        moved = "--- a/o.txt\n+++ b/o.txt\n@@ -3,3 +3,3 @@\n l49\n-l50\n+L50\n l51\n"
        other = "--- a/f.txt\n+++ b/f.txt\n@@ -1,5 +1,5 @@\n A\n b\n-c\n+C\n d\n e\n"
        for arguments, note in (
                ({"file": "t.py", "old_string": "    if x:\n        return 1\n", "new_string": "    if x:\n        return 2\n"},
                 "note: t.py: edit 1 is at line 1, which fits by white_space\n"),
                ({"file": "o.txt", "patch": moved}, "note: o.txt: edit 1 is at line 50, which fits by offset, offset 47\n"),
                ({"file": "f.txt", "patch": other}, "note: f.txt: edit 1 is at line 1, which fits by fuzz, fuzz 1\n")):
            self.assertIn(note, self.text(client.call("Edit", **arguments)))
        self.assertNotIn("note:", self.text(client.call("Edit", file="a.txt", old_string="one", new_string="ONE")))


class EndedElsewhere(McpCase):
    def test_a_call_says_that_another_terminal_ended_the_transaction_before(self):
        for command in ("rollback", "commit"):
            client = self.connect()
            client.call("Write", file="first", content="1\n")
            tx = client.call("galley_status")["structuredContent"]["tx"]
            self.galley(command, expect=0)
            told = client.call("Write", file="second", content="2\n")
            self.assertEqual(told["structuredContent"]["endedTx"], tx)
            self.assertIn(f"transaction {tx} was committed or dropped elsewhere", self.text(told))
            self.assertNotIn("endedTx", client.call("Write", file="third", content="3\n")["structuredContent"])
            self.assertEqual(client.call("galley_status")["structuredContent"]["count"], 2)
            self.galley("rollback", expect=0)

    def test_after_git_clean_the_server_goes_on_with_a_new_state(self):
        for tool, arguments in (("Write", {"file": "second", "content": "2\n"}), ("galley_commit", {})):
            client = self.connect()
            client.call("Write", file="first", content="1\n")
            tx = client.call("galley_status")["structuredContent"]["tx"]
            self.galley("begin", expect=0)
            shutil.rmtree(self.work / ".galley")
            told = client.call(tool, **arguments)
            self.assertEqual(told["structuredContent"].get("endedTx"), tx, told)
            self.assertIn("`.galley` was removed", json.dumps(client.notifications))
            self.assertIn(f"transaction {tx} was lost: `.galley` was removed", self.text(told))
            client.call("Write", file="third", content="3\n")
            self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
            self.assertTrue((self.work / "third").exists())
            self.assertFalse((self.work / "first").exists())
            self.assertEqual(len(client.call("galley_log")["structuredContent"]["commits"]), 1)
            client.close()
            shutil.rmtree(self.work / ".galley")
            (self.work / "third").unlink()

    def test_a_commit_and_a_rollback_say_it_too_and_begin_nothing(self):
        for tool, said in (("galley_commit", {"outcome": "nothing"}), ("galley_rollback", {"dropped": False})):
            client = self.connect()
            client.call("Write", file="first", content="1\n")
            tx = client.call("galley_status")["structuredContent"]["tx"]
            self.galley("rollback", expect=0)
            told = client.call(tool)
            self.assertEqual(told["structuredContent"], {**said, "endedTx": tx})
            self.assertIn(f"transaction {tx} was committed or dropped elsewhere", self.text(told))
            status = client.call("galley_status")["structuredContent"]
            self.assertEqual((status["tx"], status["open"]), (None, []))


if __name__ == "__main__":
    hostile.main()
