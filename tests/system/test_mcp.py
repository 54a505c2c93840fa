#!/usr/bin/env python3
"""`galley mcp`: both versions of the protocol, transactions behind the tools, and hostile or dying
clients."""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess

import hostile
from mcp_client import STATELESS, McpClient
from support import GALLEY, SystemCase
from terminal_session import is_running, wait_until

NEWEST = "2025-11-25"


class McpCase(SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        (self.work / "a.txt").write_text("one\ntwo\n")
        self.clients = []

    def tearDown(self):
        for client in self.clients:
            if client.process.poll() is None:
                client.process.kill()
            client.close()
        super().tearDown()

    def connect(self, *options, **how):
        client = McpClient([GALLEY, "mcp", *options], self.work, env={**os.environ, **self.environment}, **how)
        self.clients.append(client)
        return client

    def stateless(self, *options, capabilities=None):
        return self.connect(*options, version=None, capabilities=capabilities)

    def text(self, result):
        return result["content"][0]["text"]


class Handshake(McpCase):
    def test_a_version_that_is_known_is_echoed_and_another_gets_the_newest(self):
        for asked, answered in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), (NEWEST, NEWEST),
                                ("2099-01-01", NEWEST), (STATELESS, NEWEST)):
            client = self.connect(version=asked)
            self.assertEqual(client.hello["result"]["protocolVersion"], answered)
            self.assertEqual(client.hello["result"]["serverInfo"]["name"], "galley")
            self.assertEqual(client.close(), 0)

    def test_the_version_of_the_server_is_that_of_the_program(self):
        client = self.connect()
        said = self.galley("--version").stdout.decode()
        self.assertIn(client.hello["result"]["serverInfo"]["version"], said)

    def test_tools_have_schemas_and_hints_in_one_order(self):
        client = self.connect()
        first = client.ask("tools/list")["result"]["tools"]
        again = client.ask("tools/list")["result"]["tools"]
        self.assertEqual(first, again)
        names = [tool["name"] for tool in first]
        self.assertEqual(len(names), len(set(names)))
        for name in ("Read", "Edit", "galley_begin", "galley_status", "galley_diff", "galley_preview",
                     "galley_validate", "galley_commit", "galley_rebase", "galley_resolve", "galley_output", "galley_rollback", "galley_undo", "galley_log"):
            self.assertIn(name, names)
        for tool in first:
            self.assertEqual(tool["inputSchema"]["type"], "object", tool["name"])
            self.assertEqual(tool["outputSchema"]["type"], "object", tool["name"])
            self.assertEqual(set(tool["annotations"]),
                             {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})
            self.assertTrue(tool["description"])

    def test_the_list_of_tools_is_short(self):
        client = self.connect()
        sizes = {}
        for tool in client.ask("tools/list")["result"]["tools"]:
            tool.pop("outputSchema")
            sizes[tool["name"]] = len(json.dumps(tool, separators=(",", ":"), ensure_ascii=False).encode()) + 1
        self.assertLessEqual(sum(sizes.values()), 12_000, sizes)

    def test_input_schemas_have_no_alternatives_at_the_top_level(self):
        for profile in ("claude", "openai", "gemini", "mcp-fs", "native", "sage", "tenex"):
            for tool in self.connect("--profile", profile).ask("tools/list")["result"]["tools"]:
                self.assertFalse({"anyOf", "oneOf", "allOf"} & tool["inputSchema"].keys(), (profile, tool["name"]))
        client = self.connect()
        tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
        self.assertTrue(tools["Read"]["description"].endswith(" Needs file; or file_path."))
        wrong = client.call("Read", offset=1)  # the calls are judged by the whole schema
        self.assertEqual(wrong["structuredContent"]["error"]["reason"], "args.schema")

    def add_tool(self, **schemas):
        folder = self.scratch / "pack"
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps({
            "name": "pack-t", "version": "1.0.0", "type": "tool", "provides": {"tool": "t"}, "description": "For a test.",
            "executable": "run", **schemas}))
        (folder / "run").write_text("#!/bin/sh\nprintf '{\"ok\": true, \"data\": {}}'\n")
        (folder / "run").chmod(0o755)
        self.galley("tools", "add", folder, expect=0)

    def tool(self, name):
        return next(tool for tool in self.connect().ask("tools/list")["result"]["tools"] if tool["name"] == name)

    def test_arguments_that_only_alternatives_describe_are_in_the_description(self):
        branches = [{"properties": {"kind": {"const": "a"}, "path": {"type": "string"}}, "required": ["path"]},
                    {"properties": {"kind": {"const": "b"}, "line": {"type": "integer"}}, "required": ["line"]}]
        rest = {"type": "object", "properties": {"kind": {"type": "string"}}, "if": {"required": ["x"]},
                "then": {"required": ["y"]}, "not": {"required": ["z"]}}
        self.add_tool(input_schema={**rest, "oneOf": branches})
        shown = self.tool("t")
        rest["properties"]["tx"] = {"type": "string"}
        self.assertEqual(shown["inputSchema"], rest)
        said = json.dumps({"oneOf": branches}, separators=(",", ":"))
        self.assertEqual(shown["description"], f"For a test. The arguments also match {said}.")

    def test_a_prefix_keeps_names_apart_from_those_of_the_agent(self):
        client = self.connect("--prefix", "galley_")
        names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
        for name in ("galley_Read", "galley_Edit", "galley_Bash", "galley_commit"):
            self.assertIn(name, names)
        self.assertNotIn("Read", names)
        self.assertIn("one", self.text(client.call("galley_Read", file="a.txt")))
        wrong = client.ask("tools/call", {"name": "Read", "arguments": {"file": "a.txt"}})
        self.assertIn("did you mean 'galley_Read'?", wrong["error"]["message"])
        said = json.loads(self.galley("--json", "mcp", "--prefix", "my tools/", expect=2).stdout)
        self.assertEqual(said["reason"], "usage.mcp_prefix")

    def test_notices_are_logged_once_and_the_level_is_obeyed(self):
        (self.work / "galley.toml").write_text('[[validator]]\nname = "mine"\ncommand = ["true"]\n')
        (self.scratch / "config" / "galley" / "config.toml").write_text("")  # nobody trusts it
        for level, expected in (("warning", 1), ("error", 0)):
            client = self.connect()
            self.assertEqual(client.ask("logging/setLevel", {"level": level})["result"], {})
            client.call("Read", file="a.txt")
            client.call("Write", file="b.txt", content="x\n")
            logged = [each["params"] for each in client.notifications if each["method"] == "notifications/message"]
            told = [each for each in logged if "galley trust" in each["data"]]
            self.assertEqual(len(told), expected, logged)
        self.assertEqual(client.ask("logging/setLevel", {"level": "loud"})["error"]["code"], -32602)

    def test_an_unknown_tool_of_the_command_line_is_an_error(self):
        said = json.loads(self.galley("--json", "mcp", "--tools", "Read", "--tools", "Wriet", expect=2).stdout)
        self.assertEqual(said["reason"], "tool.unknown")
        self.assertIn("'Wriet'; did you mean 'Write'?", said["message"])

    def test_the_schema_of_answers_holds_for_errors_too(self):
        client = self.connect()
        wrong = client.call("Edit", file_path="a.txt", old_string="none", new_string="x")["structuredContent"]
        tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
        forms = tools["Edit"]["outputSchema"]["anyOf"]
        self.assertIn({"type": "object", "properties": {"error": {"type": "object"}}, "required": ["error"]}, forms)
        self.assertEqual(list(wrong), ["error"])

    def test_the_schema_of_answers_has_the_bytes_that_are_not_utf8(self):
        (self.work / os.fsdecode(b"n\xe9.txt")).write_text("needle\n")
        client = self.connect()
        tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
        for name, arguments in (("Glob", {"pattern": "*"}), ("Grep", {"pattern": "needle"})):
            answer = client.call(name, **arguments)["structuredContent"]
            self.assertEqual(list(answer["not_utf8"].values()), ["bukudHh0"])
            known = tools[name]["outputSchema"]["anyOf"][0]["properties"]
            self.assertEqual(answer.keys() - known.keys(), set())

    def test_a_schema_of_answers_may_have_not_utf8_itself(self):
        self.add_tool(output_schema={"type": "object", "properties": {"not_utf8": True}})
        known = self.tool("t")["outputSchema"]["anyOf"][0]["properties"]
        self.assertEqual(known["not_utf8"], {"type": "object"})

    def test_an_unknown_tool_is_an_error_of_the_protocol_and_a_wrong_argument_one_of_the_call(self):
        client = self.connect()
        unknown = client.ask("tools/call", {"name": "Raed", "arguments": {}})
        self.assertEqual(unknown["error"]["code"], -32602)
        self.assertIn("Read", unknown["error"]["message"])
        wrong = client.call("Read", file=7)
        self.assertTrue(wrong["isError"])
        self.assertEqual(wrong["structuredContent"]["error"]["reason"], "args.schema")
        self.assertIn("args.schema", self.text(wrong))
        self.assertEqual(client.ask("no/such")["error"]["code"], -32601)
        self.assertEqual(client.ask("ping")["result"], {})

    def test_cancelling_what_was_answered_changes_nothing(self):
        client = self.connect()
        client.call("Write", file="new.txt", content="new\n")
        client.tell("notifications/cancelled", {"requestId": client.last_id})
        self.assertIn("new.txt", self.text(client.call("galley_status")))


class Stateless(McpCase):
    def test_discover_returns_versions_capabilities_and_their_lifetime(self):
        client = self.stateless()
        result = client.ask("server/discover")["result"]
        self.assertEqual(result["supportedVersions"], [STATELESS])
        self.assertEqual(result["resultType"], "complete")
        self.assertIn("tools", result["capabilities"])
        self.assertIsInstance(result["ttlMs"], int)
        self.assertIn(result["cacheScope"], ("private", "public"))
        self.assertEqual(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "galley")

    def test_every_result_says_that_it_is_complete(self):
        client = self.stateless()
        for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            result = client.ask(method)["result"]
            self.assertEqual(result["resultType"], "complete", method)
            self.assertIn("ttlMs", result)
        self.assertEqual(client.call("Read", file="a.txt")["resultType"], "complete")

    def test_a_request_without_its_version_or_abilities_is_refused(self):
        client = self.stateless()
        client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        self.assertEqual(client.answer_to(1)["error"]["code"], -32602)
        client.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list",
                     "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS}}})
        self.assertEqual(client.answer_to(2)["error"]["code"], -32602)

    def test_another_version_is_refused_with_the_list_of_discover(self):
        client = self.stateless()
        answer = client.ask("tools/list", meta={"io.modelcontextprotocol/protocolVersion": "1999-01-01"})
        self.assertEqual(answer["error"]["code"], -32022)
        supported = client.ask("server/discover")["result"]["supportedVersions"]
        self.assertEqual(answer["error"]["data"]["supported"], supported)

    def test_methods_of_the_handshake_are_refused(self):
        client = self.stateless()
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
            self.assertEqual(client.ask(method)["error"]["code"], -32601, method)

    def test_a_transaction_is_named_by_its_handle(self):
        client = self.stateless()
        tx = client.call("galley_begin", message="why")["structuredContent"]["tx"]
        client.call("Write", file="one.txt", content="1\n", tx=tx)
        other = client.call("galley_begin")["structuredContent"]["tx"]
        client.call("Write", file="two.txt", content="2\n", tx=other)
        self.assertIn("one.txt", self.text(client.call("galley_diff", tx=tx)))
        self.assertNotIn("two.txt", self.text(client.call("galley_diff", tx=tx)))
        self.assertEqual(client.call("galley_commit", tx=tx)["structuredContent"]["outcome"], "committed")
        self.assertTrue((self.work / "one.txt").exists())
        self.assertFalse((self.work / "two.txt").exists())

    def test_a_call_that_leaves_nothing_staged_leaves_no_transaction(self):
        client = self.connect("--profile", "mcp-fs")
        edit = {"path": "a.txt", "edits": [{"oldText": "two", "newText": "2"}]}
        self.assertFalse(client.call("edit_file", **edit, dryRun=True)["isError"])
        self.assertTrue(client.call("edit_file", path="a.txt", edits=[{"oldText": "none", "newText": "2"}])["isError"])
        self.assertTrue(wait_until(lambda: b"no transaction is open" in self.galley("status").stderr))
        self.galley("begin", expect=0)
        self.galley("call", "Write", '{"file": "p.txt", "content": "p"}', expect=0)
        mine = client.call("galley_begin")["structuredContent"]["tx"]
        client.call("edit_file", **edit, dryRun=True)
        ended = self.connect()
        ended.call("Bash", command="true")
        ended.close()
        stages = json.loads(self.galley("--json", "status", expect=0).stdout)
        self.assertIn(mine, json.dumps(stages), "a transaction that was asked for stays")
        self.assertEqual(len(list((self.work / ".galley" / "stage").glob("*/*"))), 2)

    def test_the_beginning_of_a_handle_names_the_transaction_that_is_open(self):
        client = self.stateless()
        tx = client.call("galley_begin")["structuredContent"]["tx"]
        for name, handle in (("one.txt", tx), ("two.txt", tx[:-1]), ("three.txt", tx[:4])):
            written = client.call("Write", file=name, content="1\n", tx=handle)
            self.assertFalse(written["isError"], written)
        self.assertIn("two.txt", self.text(client.call("galley_diff", tx=tx)))
        unknown = client.call("galley_diff", tx=tx + "0")
        self.assertIn("stage.not_found", json.dumps(unknown))

    def test_a_subscription_gets_only_what_it_asked_for(self):
        client = self.stateless()
        tx = client.call("galley_begin")["structuredContent"]["tx"]
        uri = f"galley://tx/{tx}/diff"
        stream = client.request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        client.call("Write", file="one.txt", content="1\n", tx=tx)
        methods = [each["method"] for each in client.notifications]
        self.assertEqual(methods[0], "notifications/subscriptions/acknowledged")
        self.assertIn("notifications/resources/updated", methods)
        for each in client.notifications:
            self.assertEqual(each["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], stream)
            self.assertIn(each["params"].get("uri", uri), (uri,))


    def test_a_subscription_of_a_file_hears_of_each_change(self):
        client = self.connect()
        tx = client.call("galley_begin")["structuredContent"]["tx"]
        uri = f"galley://tx/{tx}/files/a%20b.txt"
        client.ask("resources/subscribe", {"uri": uri})

        def told(name, **arguments):
            client.notifications.clear()
            client.call(name, **arguments)
            return [each["params"].get("uri") for each in client.notifications if each["method"].endswith("/updated")]

        self.assertEqual(told("Write", file="a b.txt", content="1\n"), [uri])
        self.assertEqual(told("galley_status"), [])
        self.assertEqual(told("galley_rebase"), [uri])
        self.assertEqual(told("galley_rollback", paths=["a b.txt"]), [uri])
        self.assertEqual(told("galley_rollback"), [uri])


class Editing(McpCase):
    def test_an_edit_reaches_the_disk_at_the_commit_and_can_be_undone(self):
        client = self.connect()
        edited = client.call("Edit", file_path="a.txt", old_string="one", new_string="1")
        self.assertFalse(edited["isError"])
        self.assertIn("-one\n+1\n", self.text(edited))
        self.assertIn("not on disk", self.text(edited))
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")
        self.assertEqual(client.call("Read", file="a.txt")["structuredContent"]["content"], "1\ntwo\n")
        committed = client.call("galley_commit")
        self.assertEqual(committed["structuredContent"]["outcome"], "committed")
        self.assertEqual((self.work / "a.txt").read_text(), "1\ntwo\n")
        self.assertEqual(client.call("galley_log")["structuredContent"]["commits"][0]["paths"][0]["path"], "a.txt")
        client.call("galley_undo")
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")

    def test_an_undo_without_an_id_takes_back_only_commits_of_this_session(self):
        client = self.connect()
        for name in ("one.txt", "two.txt"):
            client.call("Write", file_path=name, content="x\n")
            client.call("galley_commit")
        other = self.connect("--autocommit")
        other.call("Write", file_path="other.txt", content="y\n")
        for name in ("two.txt", "one.txt"):
            self.assertEqual(client.call("galley_undo")["structuredContent"]["outcome"], "committed")
            self.assertFalse((self.work / name).exists())
        nothing = client.call("galley_undo")
        self.assertEqual(nothing["structuredContent"]["error"]["reason"], "history.nothing_to_undo")
        self.assertIn("'id'", self.text(nothing))
        self.assertTrue((self.work / "other.txt").exists())
        self.assertEqual(other.call("galley_undo")["structuredContent"]["outcome"], "committed")
        self.assertFalse((self.work / "other.txt").exists())

    def test_an_undo_without_an_id_finds_commits_of_an_earlier_connection_of_the_session(self):
        for name in ("one.txt", "two.txt"):
            client = self.connect("--session", "s")
            client.call("Write", file_path=name, content="x\n")
            client.call("galley_commit")
            client.close()
        self.connect("--session", "other", "--autocommit").call("Write", file_path="other.txt", content="y\n")
        client = self.connect("--session", "s")
        for name in ("two.txt", "one.txt"):
            self.assertEqual(client.call("galley_undo")["structuredContent"]["outcome"], "committed")
            self.assertFalse((self.work / name).exists())
        self.assertEqual(client.call("galley_undo")["structuredContent"]["error"]["reason"], "history.nothing_to_undo")
        self.assertTrue((self.work / "other.txt").exists())

    def test_an_edit_that_does_not_fit_has_each_text_once_in_each_form(self):
        client = self.connect()
        (self.work / "b.txt").write_text("".join(f"int value{number} = compute({number});\n" for number in range(20)))
        old = "int value3 = compute(3);\nint value4 = computer(4);\nint value5 = compute(5);\n"
        wrong = client.call("Edit", file_path="b.txt", old_string=old, new_string=old.replace("int", "long"))
        error = wrong["structuredContent"]["error"]
        self.assertEqual(error["message"], "b.txt: 1 of 1 edits do not fit")
        self.assertIn("computer(4);-]", self.text(wrong))
        self.assertEqual(json.dumps(error).count("value5 = compute(5)"), 3, "found, expected and the words")
        self.assertLess(len(json.dumps(wrong)), 1_700)

    def test_a_correction_is_once_in_each_form(self):
        client = self.connect()
        (self.work / "b.txt").write_text("".join(f"int value{number} = compute({number});\n" for number in range(20)))
        old = "int value3 = compute(3);\nint value4 = computes(4);\nint value5 = compute(5);\n"
        wrong = client.call("Edit", file_path="b.txt", old_string=old, new_string=old.replace("int value5 = compute(5);", "long five;"))
        error = wrong["structuredContent"]["error"]
        self.assertEqual(json.dumps(error).count("long five"), 1, error)
        self.assertEqual(self.text(wrong).count("long five"), 1, self.text(wrong))
        self.assertTrue({"expected", "word_diff", "rebased"}.isdisjoint(error["details"]["files"][0]["failed"][0]))
        self.assertLess(len(json.dumps(wrong)), 2_500)
        self.assertFalse(client.call("Edit", **error["details"]["correction"])["isError"])

    def test_an_own_commit_that_others_took_back_is_passed_over(self):
        client = self.connect()
        for name in ("one.txt", "two.txt"):
            client.call("Write", file_path=name, content="x\n")
            client.call("galley_commit")
        self.galley("undo", expect=0)
        self.assertFalse((self.work / "two.txt").exists())
        client.call("galley_undo")
        self.assertFalse((self.work / "one.txt").exists())

    def test_a_write_that_would_drop_a_save_shows_the_save_in_both_forms(self):
        client = self.connect()
        client.call("Read", file="a.txt")
        (self.work / "a.txt").write_text("one\nby a person\ntwo\n")
        wrong = client.call("Write", file_path="a.txt", content="ONE\ntwo\n")
        self.assertTrue(wrong["isError"])
        error = wrong["structuredContent"]["error"]
        self.assertEqual(error["reason"], "file.changed_since_read")
        self.assertEqual(self.text(wrong).count("+by a person"), 1)
        self.assertIn("\n one\n+by a person\n two\n", error["details"]["diff"])
        self.assertEqual(error["details"]["structuredPatch"][0]["lines"], [" one", "+by a person", " two"])

    def test_an_edit_that_does_not_fit_says_the_place_in_both_forms(self):
        client = self.connect()
        (self.work / "b.txt").write_text("".join(f"line number {i} of many\n" for i in range(30)))
        wrong = client.call("Edit", file_path="b.txt", old_string="line number 7 of many\nline nummer 8 of many\n",
                            new_string="7\n8\n")
        self.assertTrue(wrong["isError"])
        for said in (self.text(wrong), json.dumps(wrong["structuredContent"])):
            self.assertIn("b.txt", said)
            self.assertIn("line number 8 of many", said)

    def test_a_refused_edit_comes_back_as_it_fits_in_both_forms(self):
        client = self.connect()
        (self.work / "b.txt").write_text("".join(f"line number {i} of many\n" for i in range(30)))
        wrong = client.call("Edit", file_path="b.txt", old_string="line number 7 of all\nline number 8 of many\nline number 9 of many\n",
                            new_string="line number 7 of all\neight\nline number 9 of many\n")
        self.assertTrue(wrong["isError"])
        again = wrong["structuredContent"]["error"]["details"]["correction"]
        self.assertEqual(again["file_path"], "b.txt")
        self.assertIn(json.dumps(again, separators=(",", ":")), self.text(wrong))
        self.assertFalse(client.call("Edit", **again)["isError"])
        client.call("galley_commit")
        self.assertEqual((self.work / "b.txt").read_text().splitlines()[6:10],
                         ["line number 6 of many", "line number 7 of many", "eight", "line number 9 of many"])

    def test_a_line_number_of_a_file_that_changed_since_it_was_shown_is_refused(self):
        client = self.connect("--tools", "Read", "--tools", "str_replace_based_edit_tool", "--autocommit")
        client.call("Read", file="a.txt")
        (self.work / "a.txt").write_text("by a person\none\ntwo\n")
        insert = {"command": "insert", "path": "a.txt", "insert_line": 1, "insert_text": "new\n"}
        wrong = client.call("str_replace_based_edit_tool", **insert)
        self.assertEqual(wrong["structuredContent"]["error"]["reason"], "file.changed_since_read")
        self.assertIn("+by a person", self.text(wrong))
        client.call("Read", file="a.txt")
        self.assertFalse(client.call("str_replace_based_edit_tool", **{**insert, "insert_line": 2})["isError"])
        self.assertEqual((self.work / "a.txt").read_text(), "by a person\none\nnew\ntwo\n")

    def test_changes_of_a_command_are_listed_before_its_output(self):
        self.need_walls()
        client = self.connect()
        said = self.text(client.call("Bash", command="echo out; echo new > new.txt"))
        self.assertIn("exit 0\ncreate new.txt\n[stdout]\nout\n", said)
        # As in a shell, whose last command may only look for something.
        failed = client.call("Bash", command="echo kept > kept.txt; exit 3")
        self.assertTrue(failed["structuredContent"]["staged"])
        self.assertIn("\nexit 3; its changes are kept\ncreate kept.txt\n", self.text(failed))
        self.assertTrue(self.text(client.call("Bash", command="exit 3")).endswith("\nexit 3\n"))
        quiet = self.text(client.call("Bash", command="echo out"))
        self.assertIn("exit 0\nout\n", quiet)

    def test_a_command_whose_effects_are_refused_is_an_error(self):
        client = self.connect()
        said = client.call("Bash", command="mkfifo pipe; echo out; echo lost > new.txt")
        self.assertTrue(said["isError"])
        self.assertIn("nothing that it changed is staged: 'pipe' is a FIFO", self.text(said))
        self.assertIn("out", json.dumps(said["structuredContent"]))
        self.assertFalse(client.call("Bash", command="test ! -e new.txt")["isError"])
        self.assertEqual(self.galley("call", "Bash", '{"command": "mkfifo pipe"}', "--begin", expect=1).returncode, 1)

    def test_what_a_command_did_that_is_not_staged_is_named(self):
        self.git("init", "-q")
        client = self.connect()
        (self.work / ".gitignore").write_text("build/\n")
        said = self.text(client.call("Bash", command="mkdir build; echo 1 > build/x; git init -q sub; echo out"))
        self.assertIn("note: git ignores 'build'", said)
        self.assertIn("note: what it wrote in 'sub/.git' is dropped", said)
        self.assertTrue(said.endswith("[stdout]\nout\n"), said)

    def test_an_undo_is_taken_back_as_its_answer_says(self):
        client = self.connect("--autocommit")
        for name in ("b.txt", "c.txt"):
            client.call("Write", file_path=name, content="1\n")
        told = self.text(client.call("galley_undo"))
        self.assertFalse((self.work / "c.txt").exists())
        id = re.search("galley_undo with id ([0-9]+) takes it back", told)[1]
        client.call("galley_undo", id=id)
        self.assertEqual((self.work / "c.txt").read_text(), "1\n")

    # Limit: kMaxShownOutput of server/session/long_output.h
    def test_a_long_output_is_shown_with_its_end_and_its_middle_comes_by_ranges(self):
        self.need_walls()
        client = self.connect()
        whole = "".join(f"{n} compiled\n" for n in range(1, 9001)) + "error: the last line\n"
        said = client.call("Bash", command="for n in $(seq 9000); do echo $n compiled; done; echo error: the last line; exit 1")
        data = said["structuredContent"]
        for shown in (self.text(said), data["stdout"]):
            self.assertIn("1 compiled\n2 compiled\n", shown)
            self.assertTrue(shown.endswith("9000 compiled\nerror: the last line\n"), shown[-200:])
        self.assertLess(len(self.text(said)), 21_000)
        self.assertIn(f"galley_output with id {data['kept']}", self.text(said))
        read, offset = "", 0
        while offset is not None:
            page = client.call("galley_output", id=data["kept"], offset=offset)["structuredContent"]
            read += page["output"]
            offset = page.get("nextOffset")
        self.assertEqual(read, whole)
        start = int(re.search(r"bytes of stdout from offset (\d+) on are left out here", data["stdout"])[1])
        part = client.call("galley_output", id=data["kept"], stream="stdout", offset=start, length=40)["structuredContent"]
        self.assertTrue(whole[start:].startswith(part["output"]))
        self.assertLessEqual(len(part["output"]), 40)
        self.assertEqual(part["bytes"], len(whole))

    def test_a_long_output_of_a_call_that_commits_is_kept_with_the_connection(self):
        self.need_walls()
        client = self.connect("--autocommit")
        for command in ("seq 9000", "seq 9000 >&2; exit 1"):
            said = client.call("Bash", command=command)["structuredContent"]
            said = said.get("error", {}).get("details", said)
            stream = "stdout" if command == "seq 9000" else "stderr"
            page = client.call("galley_output", id=said["kept"], stream=stream, offset=20_000, length=20)
            self.assertEqual(page["structuredContent"]["output"],
                             "".join(f"{n}\n" for n in range(1, 9001))[20_000:20_020])
        for _ in range(16):
            client.call("Bash", command="seq 9000")
        gone = client.call("galley_output", id=said["kept"], stream="stderr")
        self.assertEqual(gone["structuredContent"]["error"]["reason"], "output.not_found")

    def test_an_output_is_dropped_with_its_transaction_and_is_for_the_agent_that_called(self):
        self.need_walls()
        (self.work / "galley.toml").write_text('[agents.one]\n[agents.two]\n')
        client = self.connect("--agent", "one")
        said = client.call("Bash", command="seq 9000 >&2; echo x > new.txt")["structuredContent"]
        tx = client.call("galley_status")["structuredContent"]["tx"]
        self.assertTrue(client.call("galley_output", id=said["kept"], stream="stderr")["structuredContent"]["output"])
        for client, arguments, reason in (
                (client, {"id": said["kept"]}, "output.not_found"),
                (client, {"id": "../../overlay"}, "output.name"),
                (client, {"id": said["kept"], "stream": "overlay"}, "args.schema"),
                (self.connect("--agent", "two"), {"id": said["kept"], "stream": "stderr", "tx": tx}, "output.not_found")):
            self.assertEqual(client.call("galley_output", **arguments)["structuredContent"]["error"]["reason"], reason)
        client = self.clients[0]
        client.call("galley_commit")
        gone = client.call("galley_output", id=said["kept"], stream="stderr")
        self.assertEqual(gone["structuredContent"]["error"]["reason"], "output.not_found")
        self.assertEqual(list((self.work / ".galley" / "stage").rglob("outputs")), [])

    def test_an_edit_is_answered_without_repeated_texts(self):
        client = self.connect()
        said = client.call("Edit", file_path="a.txt", old_string="one", new_string="1")
        self.assertEqual(json.dumps(said).count("@@ -1,2 +1,2 @@"), 2, "once in each form")
        self.assertEqual(set(said["structuredContent"]), {"applied", "filePath", "diff", "changes", "staged"})
        self.assertLess(len(json.dumps(said, separators=(",", ":"))), 600)
        (self.work / "b.txt").write_text("  deep\n  more\n")
        inexact = client.call("Edit", file_path="b.txt", old_string="deep\nmore\n", new_string="x\nmore\n")
        self.assertIn("report", inexact["structuredContent"], "where it was put inexactly is told")

    def test_reading_begins_no_transaction(self):
        client = self.connect()
        self.assertIn("one", self.text(client.call("Read", file="a.txt")))
        self.assertEqual(client.call("galley_status")["structuredContent"]["tx"], None)
        self.assertFalse((self.work / ".galley").exists())

    def test_a_call_outside_of_a_transaction_is_on_record(self):
        self.galley("begin", expect=0)
        self.galley("rollback", expect=0)
        client = self.connect()
        client.call("Read", file="a.txt")
        client.call("Read", file="gone.txt")
        client.call("Read", file=5)
        self.assertIn("error", client.ask("tools/call", {"name": "Raed", "arguments": {"file": "a.txt"}}))
        records = [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        self.assertEqual([(each["kind"], each["tool"], each.get("error", {}).get("reason")) for each in records[1:]],
                         [("call", "Read", None), ("call", "Read", "path.not_found"), ("call", "Read", "args.schema"),
                          ("call", "Raed", "tool.unknown")])

    def test_a_read_that_cannot_be_recorded_is_answered_with_a_warning(self):
        self.galley("begin", expect=0)
        self.galley("rollback", expect=0)
        (self.work / ".galley" / "audit.jsonl").unlink()
        (self.work / ".galley" / "audit.jsonl").mkdir()
        client = self.connect()
        for _ in range(2):
            said = client.call("Read", file="a.txt")
            self.assertFalse(said["isError"])
            self.assertIn("warning: this call is not in the audit log: ", self.text(said))
            self.assertIn("one", self.text(said))
        self.assertIn("path.not_found", self.text(client.call("Read", file="gone.txt")))
        self.assertTrue(client.call("Bash", command="true")["isError"], "a program is not started without a record")

    def test_a_refusal_names_rule_and_place_and_leaves_the_transaction_open(self):
        (self.work / "galley.toml").write_text('[[validator]]\nbuiltin = "json"\n')
        client = self.connect()
        client.call("Write", file="a.json", content="{\n")
        refused = client.call("galley_commit")
        self.assertTrue(refused["isError"])
        self.assertEqual(refused["structuredContent"]["outcome"], "refused")
        finding = refused["structuredContent"]["verdict"]["findings"][0]
        self.assertEqual((finding["path"], finding["rule"]), ("a.json", "json.syntax"))
        self.assertIn("a.json:", self.text(refused))
        client.call("Write", file="a.json", content="{}\n")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")

    def test_a_refusal_has_each_text_once_in_each_form(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\nname = "keys stay"\npaths = ["keys/"]\ndecision = "deny"\n'
                                               '[[validator]]\nbuiltin = "json"\n')
        (self.work / "keys").mkdir()
        for client, name in itertools.product((self.connect(), self.connect("--autocommit")), ("keys/a", "a.json")):
            refused = client.call("Bash", command=f"echo {{, > {name}")
            if not refused["isError"]:
                refused = client.call("galley_commit")
            finding, = refused["structuredContent"]["verdict"]["findings"]
            for said in (self.text(refused), json.dumps(refused["structuredContent"], ensure_ascii=False)):
                self.assertEqual(said.count(finding["message"]), 1, said)
                if "remedy" in finding:
                    self.assertEqual(said.count(finding["remedy"]), 1, said)
            if client.call("galley_status")["structuredContent"]["tx"]:
                client.call("galley_rollback")

    def test_a_message_forges_no_entry_of_the_log(self):
        client = self.connect()
        client.call("galley_begin", message="mine\n99 2026-11-30T02:03:16Z commit theirs")
        self.assertEqual(self.text(client.call("galley_status")).count("\n99 "), 0)
        client.call("Write", file_path="b.txt", content="b\n")
        client.call("galley_commit")
        self.assertEqual(self.text(client.call("galley_log")).count("\n"), 2)

    def test_with_autocommit_nothing_is_begun_and_the_disk_is_read(self):
        session = ("--agent", "bot", "--session", "s")
        self.galley(*session, "begin", expect=0)
        self.galley(*session, "call", "Write", '{"file_path": "a.txt", "content": "staged\\n"}', expect=0)
        client = self.connect("--autocommit", *session)
        self.assertNotIn("galley_begin", [tool["name"] for tool in client.ask("tools/list", {})["result"]["tools"]])
        refused = client.call("galley_begin")
        self.assertEqual(refused["structuredContent"]["error"]["reason"], "stage.autocommit")
        self.assertIn("one\n", client.call("Read", file_path="a.txt")["content"][0]["text"])
        self.assertFalse(client.call("Edit", file_path="a.txt", old_string="one", new_string="ONE")["isError"])

    def test_autocommit_puts_each_call_on_disk_or_leaves_no_trace_of_it(self):
        (self.work / "galley.toml").write_text('[[validator]]\nbuiltin = "json"\n')
        client = self.connect("--autocommit")
        self.assertFalse(client.call("Write", file="a.json", content="{}\n")["isError"])
        self.assertEqual((self.work / "a.json").read_text(), "{}\n")
        self.assertTrue(client.call("Write", file="a.json", content="{")["isError"])
        self.assertEqual((self.work / "a.json").read_text(), "{}\n")
        self.assertEqual(self.galley("status", expect=0).stdout.decode().count("{"), 0)

    # Limit: kMaxResultText of server/session/call_results.h
    # Limit: kMaxStructuredPage of server/session/call_results.h
    def test_long_diffs_come_in_pages_that_make_the_whole(self):
        client = self.connect()
        client.call("Write", file="long.txt", content="".join(f"line {i}\n" for i in range(9000)))
        whole, offset = "", 0
        while True:
            shown = client.call("galley_diff", offset=offset)
            page = shown["structuredContent"]
            self.assertLessEqual(len(page["diff"]), 30_000)
            self.assertTrue(self.text(shown).endswith(page["diff"]), "the text leaves nothing of the page out")
            whole += page["diff"]
            if "nextOffset" not in page:
                break
            offset = page["nextOffset"]
        self.assertEqual(len(whole.encode()), page["bytes"])
        self.assertEqual(whole.count("\n+line "), 9000)

    # Limit: kMaxPageText of server/session/call_results.h
    def test_a_long_file_is_read_in_pages_that_say_their_lines(self):
        lines = [f"line {i}\n" for i in range(1, 9001)]
        (self.work / "long.txt").write_text("".join(lines))
        client = self.connect()
        read, offset = [], 1
        while offset <= len(lines):
            text = self.text(client.call("Read", file_path="long.txt", offset=offset))
            first, last, rest = re.match(r"\[lines (\d+) to (\d+) of 9000; the rest: offset (\d+)\]\n", text).groups() \
                if text.startswith("[lines") else (str(offset), "9000", "9001")
            self.assertLessEqual(len(text), 30_000)
            self.assertEqual((int(first), int(rest)), (offset, int(last) + 1))
            read += text.splitlines(keepends=True)[1 if text.startswith("[lines") else 0:]
            offset = int(rest)
        self.assertEqual(read, lines)

    def test_a_line_longer_than_a_page_does_not_hide_the_next_line(self):
        (self.work / "long.txt").write_text("first\n" + "é" * 30_000 + "\nlast\n")
        client = self.connect()
        said = [self.text(client.call("Read", file_path="long.txt", **at)) for at in ({}, {"offset": 2}, {"offset": 3})]
        self.assertEqual(said[0], "[lines 1 to 1 of 3; the rest: offset 2]\nfirst\n")
        self.assertRegex(said[1], r"\A\[line 2 of 3 without its last 30500 bytes, which a command shows: "
                                  r"sed -n 2p long.txt \| tail -c 30501; the next line: offset 3\]\né{14750}\Z")
        self.assertEqual(said[2], "last\n")

    def test_the_rest_of_a_long_line_is_shown_by_the_named_command_and_in_both_forms(self):
        (self.work / "a b.txt").write_text("first\n" + "x" * 50_000 + "y" * 900 + "\nlast\n")
        client = self.connect()
        answer = client.call("Read", file_path="a b.txt")
        self.assertEqual((answer["structuredContent"]["leftOut"]["/content"], answer["structuredContent"]["numLines"]),
                         ("lines 1 to 1 of 3; the rest: offset 2", 1))
        answer = client.call("Read", file_path="a b.txt", offset=2)
        shown = answer["structuredContent"]
        note = shown["leftOut"]["/content"]
        self.assertEqual(self.text(answer), f"[{note}]\n{shown['content']}")
        command = re.match(r"line 2 of 3 without its last \d+ bytes, which a command shows: (.*); the next line: offset 3", note)[1]
        rest = subprocess.run(command, shell=True, cwd=self.work, capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown["content"] + rest, "x" * 50_000 + "y" * 900 + "\n")

    def test_the_arguments_for_the_rest_of_a_file_are_those_of_the_tool(self):
        lines = [f"line {i:0>100}\n" for i in range(500)]
        (self.work / "long.txt").write_text("".join(lines))
        for tool, more, rest in (("read_text_file", {}, {"tail": 222}),
                                 ("str_replace_based_edit_tool", {"command": "view"}, {"view_range": [262, -1]})):
            client = self.connect("--tools", tool)
            first = self.text(client.call(tool, path="long.txt", **more))
            said = " ".join([*rest, json.dumps(*rest.values())])
            self.assertIn(f" of 500; the rest: {said}]\n", first)
            second = self.text(client.call(tool, path="long.txt", **more, **rest))
            self.assertEqual(re.findall(r"line \d{100}\n", first + second), lines)

    def test_the_rules_for_an_agent_hold(self):
        (self.work / "galley.toml").write_text('[agents.looker]\ntools = ["Read"]\n')
        client = self.connect("--agent", "looker")
        denied = client.call("Write", file="a.txt", content="x")
        self.assertEqual(denied["structuredContent"]["error"]["code"], "EPERMISSION")
        listed = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
        self.assertEqual([name for name in listed if not name.startswith("galley_")], ["Read"])

    # Limit: kMaxCompletedPaths of server/session/workspace_features.h
    # Limit: kMaxListedCommits of server/session/workspace_features.h
    def test_resources_prompts_and_completion_show_the_transaction(self):
        client = self.connect()
        tx = client.call("galley_begin")["structuredContent"]["tx"]
        client.call("Write", file="new.txt", content="new\n")
        uris = [each["uri"] for each in client.ask("resources/list")["result"]["resources"]]
        self.assertIn(f"galley://tx/{tx}/diff", uris)
        diff = client.ask("resources/read", {"uri": f"galley://tx/{tx}/diff"})["result"]["contents"][0]
        self.assertIn("+new", diff["text"])
        file = client.ask("resources/read", {"uri": f"galley://tx/{tx}/files/new.txt"})["result"]["contents"][0]
        self.assertEqual(file["text"], "new\n")
        missing = client.ask("resources/read", {"uri": "galley://tx/nothing/diff"})
        self.assertEqual(missing["error"]["code"], -32602)
        prompt = client.ask("prompts/get", {"name": "review_transaction", "arguments": {"tx": tx}})["result"]
        self.assertIn("+new", prompt["messages"][0]["content"]["text"])
        found = client.ask("completion/complete", {"ref": {"type": "ref/prompt", "name": "review_transaction"},
                                                   "argument": {"name": "tx", "value": tx[:2]}})["result"]
        self.assertIn(tx, found["completion"]["values"])


class Asking(McpCase):
    RULES = '[[policy.rule]]\npaths = ["notes.txt"]\ndecision = "ask"\n'

    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text(self.RULES)

    def test_a_client_that_can_be_asked_is_asked_and_its_yes_commits(self):
        client = self.connect(capabilities={"elicitation": {}})
        client.answers["elicitation/create"] = {"action": "accept", "content": {"approve": True}}
        client.call("Write", file="notes.txt", content="x\n")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual(len(client.questions), 1)

    def test_a_change_that_needs_approval_is_announced_when_staged(self):
        client = self.connect()
        said = client.call("Write", file="notes.txt", content="x\n")
        rule = "notes.txt: create needs an approval by the rule at galley.toml:1"
        self.assertEqual(said["structuredContent"]["needsApproval"], [rule])
        self.assertIn(rule, self.text(said))
        self.assertNotIn("needsApproval", client.call("Write", file="free.txt", content="x\n")["structuredContent"])

    # Limit: kMaxAnnounced of engine/pipeline/inner_transaction.h
    def test_few_of_many_such_changes_are_announced(self):
        self.need_walls()
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["n*"]\ndecision = "ask"\n')
        said = self.connect().call("Bash", command="touch n1 n2 n3 n4 n5 n6 n7")
        self.assertEqual(len(said["structuredContent"]["needsApproval"]), 5)

    def test_the_question_shows_the_diff_and_each_answer_is_called_what_it_is(self):
        client = self.connect(capabilities={"elicitation": {}})
        client.call("Write", file="notes.txt", content="x\n")
        declined, unasked = "; the client or its user refused", "no person could be asked"
        for answer, expected in (({"action": "accept", "content": {"approve": False}}, "; the client's user refused"),
                                 ({"action": "decline"}, declined), ({"action": "cancel"}, declined),
                                 ({"action": 7}, unasked), (None, unasked)):
            client.answers["elicitation/create"] = answer
            refused = self.text(client.call("galley_commit"))
            self.assertIn("@@ -0,0 +1 @@\n+x\n", client.questions[-1]["params"]["message"])
            self.assertIn(expected, refused)
            self.assertEqual("no person could be asked" in refused, expected == unasked, answer)
            self.assertIn("galley approve", refused)

    def test_the_question_shows_characters_that_control_a_terminal_as_text(self):
        client = self.connect(capabilities={"elicitation": {}})
        client.answers["elicitation/create"] = {"action": "decline"}
        client.call("Write", file="notes.txt", content="\x1b[2J\x1b[H\u202ex\n" + "more\n" * 2000)
        tx = client.call("galley_status")["structuredContent"]["tx"]
        client.call("galley_commit")
        message = client.questions[-1]["params"]["message"]
        self.assertNotRegex(message, "[\x1b\u202e]")
        self.assertIn("+\\x1b[2J\\x1b[H<U+202E>x\n", message)
        self.assertTrue(message.endswith(f" more bytes: galley diff --tx {tx}]\n"), message[-80:])

    def test_a_declined_question_does_not_commit(self):
        client = self.connect(capabilities={"elicitation": {}})
        client.answers["elicitation/create"] = {"action": "decline"}
        client.call("Write", file="notes.txt", content="x\n")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "refused")
        self.assertFalse((self.work / "notes.txt").exists())

    def test_a_client_that_cannot_be_asked_is_told_how_a_person_says_yes(self):
        client = self.connect()
        client.call("Write", file="notes.txt", content="x\n")
        refused = client.call("galley_commit")
        self.assertEqual(refused["structuredContent"]["outcome"], "refused")
        self.assertIn("no person could be asked", self.text(refused))
        approval = refused["structuredContent"]["approval"]
        for said in (self.text(refused), approval["how"]):
            self.assertIn(f"galley approve {approval['id']}; then send the same call again", said)
        self.galley("approve", approval["id"], expect=0)
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")

    def test_a_person_can_approve_the_proposal_of_an_agents_transaction(self):
        client = self.connect("--agent", "bot")
        client.call("Write", file="notes.txt", content="x\n")
        approval = client.call("galley_commit")["structuredContent"]["approval"]["id"]
        self.galley("approve", "0" * 12, expect=(1, 2))
        self.galley("approve", approval, expect=0)
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        undone = client.call("galley_undo")
        self.assertEqual(undone["structuredContent"]["outcome"], "refused")
        self.assertNotIn("the transaction stays open", self.text(undone))
        self.galley("approve", undone["structuredContent"]["approval"]["id"], expect=0)
        self.assertEqual(client.call("galley_undo")["structuredContent"]["outcome"], "committed")
        self.assertFalse((self.work / "notes.txt").exists())

    def test_a_call_that_a_mode_asks_about_is_asked_about_and_runs_after_a_yes(self):
        (self.work / "galley.toml").write_text('[policy]\nmode = "strict"\n')
        client = self.connect(capabilities={"elicitation": {}})
        client.answers["elicitation/create"] = {"action": "decline"}
        declined = client.call("Write", file="new.txt", content="x\n")
        self.assertEqual(declined["structuredContent"]["error"]["reason"], "call.not_confirmed")
        # A client that declines without asking did not ask a person, so a person can still approve.
        self.galley("approve", re.search(r"galley approve (call-[0-9a-f]+);", self.text(declined))[1], expect=0)
        self.assertFalse(client.call("Write", file="new.txt", content="x\n")["isError"])
        self.assertTrue(client.call("Write", file="new.txt", content="x\n")["isError"], "a yes is for once")
        client.answers["elicitation/create"] = {"action": "accept", "content": {"approve": True}}
        self.assertFalse(client.call("Write", file="new.txt", content="x\n")["isError"])
        later = self.stateless(capabilities={"elicitation": {}})
        log = self.work / ".galley" / "audit.jsonl"
        before = log.read_text()
        asked = later.ask("tools/call", {"name": "Write", "arguments": {"file": "b.txt", "content": "x\n"}})["result"]
        self.assertEqual(asked["resultType"], "input_required")
        self.assertEqual(log.read_text(), before, "nobody has said no yet")
        alone = self.connect()
        told = alone.call("Write", file="other.txt", content="x\n")
        self.assertEqual(told["structuredContent"]["error"]["reason"], "call.needs_confirmation")
        self.assertIn("galley approve", self.text(told))

    def test_a_stateless_client_is_asked_by_the_result_and_sends_the_call_again(self):
        client = self.stateless(capabilities={"elicitation": {}})
        tx = client.call("galley_begin")["structuredContent"]["tx"]
        client.call("Write", file="notes.txt", content="x\n", tx=tx)
        call = {"name": "galley_commit", "arguments": {"tx": tx}}
        asked = client.ask("tools/call", call)["result"]
        self.assertEqual(asked["resultType"], "input_required")
        (key, question), = asked["inputRequests"].items()
        self.assertEqual(question["method"], "elicitation/create")
        self.assertFalse((self.work / "notes.txt").exists())
        log = self.work / ".galley" / "audit.jsonl"
        kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
        self.assertNotIn("refusal", kinds, "nobody has said no yet")
        answers = {key: {"action": "accept", "content": {"approve": True}}}
        forged = client.ask("tools/call", {**call, "inputResponses": answers,
                                           "requestState": asked["requestState"][:-4] + "AAA="})
        self.assertEqual(forged["error"]["code"], -32602)
        done = client.ask("tools/call", {**call, "inputResponses": answers, "requestState": asked["requestState"]})
        self.assertEqual(done["result"]["structuredContent"]["outcome"], "committed")
        self.assertTrue((self.work / "notes.txt").exists())


class Hostile(McpCase):
    LINES = (b"", b"{", b"[]", b"null", b"7", b'"x"', b"{}", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
             b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
             b'{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}',
             b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":7}',
             b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', b'{"jsonrpc":"2.0","id":1,"result":{}}',
             b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"\xff\xfe", b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
             b"[" * 100_000, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
             b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":7,"arguments":[]}}')

    # Limit: kMaxWorkers of server/mcp/server.h
    def test_no_line_ends_the_server_and_none_gets_two_answers(self):
        client = self.connect()
        for line in self.LINES:
            client.send_raw(line)
        marker = client.request("ping", identity="marker")
        seen = []
        while True:
            message = client.next()
            if message.get("id") == marker:
                break
            seen.append(message)
        self.assertLessEqual(len(seen), len(self.LINES))
        for message in seen:
            self.assertIn("error", message, message)
        self.assertEqual(client.close(), 0)

    def test_a_line_over_the_message_limit_is_skipped_and_reported(self):
        client = self.connect()
        client.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
        for _ in range(70):
            client.process.stdin.write(b"x" * (1 << 20))
        client.send_raw(b'"}}')
        answer = client.next()
        self.assertEqual(answer["error"]["code"], -32600)
        self.assertEqual(client.ask("ping")["result"], {})

    def test_a_client_that_dies_leaves_a_transaction_that_can_be_resumed(self):
        client = self.connect()
        client.call("Write", file="new.txt", content="new\n")
        client.process.send_signal(signal.SIGKILL)
        client.process.wait()
        shown = json.loads(self.galley("--json", "diff", expect=0).stdout)
        self.assertEqual([change["path"] for change in shown["changes"]], ["new.txt"])
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")

    def test_another_terminal_looks_at_and_commits_what_a_live_server_staged(self):
        client = self.connect()
        tx = client.call("Write", file="new.txt", content="new\n")
        status = json.loads(self.galley("--json", "status", expect=0).stdout)
        self.assertEqual(len(status["transactions"]), 1)
        self.galley("commit", expect=0)
        self.assertTrue((self.work / "new.txt").exists())
        self.assertFalse(tx["isError"])
        # The server's own transaction was closed, so the next call begins another.
        client.call("Write", file="other.txt", content="other\n")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")

    def test_commits_of_others_in_a_workspace_without_state_are_seen(self):
        client = self.connect()
        self.assertEqual(client.call("galley_log")["structuredContent"]["commits"], [])
        self.assertFalse((self.work / ".galley").exists())
        self.galley("begin", expect=0)
        self.galley("call", "Write", '{"file": "new.txt", "content": "new"}', expect=0)
        self.galley("commit", expect=0)
        commits = client.call("galley_log")["structuredContent"]["commits"]
        self.assertEqual(len(commits), 1)
        self.assertEqual(client.call("galley_undo", id=str(commits[0]["id"]))["structuredContent"]["outcome"], "committed")
        self.assertFalse((self.work / "new.txt").exists())

    def test_edits_sent_without_waiting_are_made_in_order(self):
        client = self.connect()
        client.call("Write", file="count.txt", content="0\n")
        sent = [client.request("tools/call", {"name": "Edit", "arguments":
                                              {"file": "count.txt", "old_string": f"{n}\n", "new_string": f"{n + 1}\n"}})
                for n in range(100)]
        for _ in sent:
            self.assertFalse(client.next()["result"]["isError"])
        self.assertIn("100", self.text(client.call("Read", file="count.txt")))

    def test_the_end_of_the_input_ends_the_server_after_the_pending_requests(self):
        lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
                  "params": {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}},
                 {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "Read", "arguments": {"file": "a.txt"}}}]
        ran = subprocess.run([GALLEY, "mcp"], cwd=self.work, env={**os.environ, **self.environment}, capture_output=True, check=False,
                             input="".join(json.dumps(line) + "\n" for line in lines).encode(), timeout=60)
        self.assertEqual(ran.returncode, 0)
        answers = [json.loads(line) for line in ran.stdout.splitlines()]
        self.assertEqual([answer["id"] for answer in answers], [1, 2])
        self.assertEqual(ran.stderr, b"")

    def test_commands_of_different_transactions_run_side_by_side(self):
        self.need_walls()
        # All programs of a workspace share one gibibyte, and each command may take it all by default.
        (self.work / "galley.toml").write_text('[tools.Bash]\nmax_memory_bytes = "256MB"\n')
        client = self.connect()
        transactions = [client.call("galley_begin")["structuredContent"]["tx"] for _ in range(2)]
        words = [f"300.{os.getpid()}{number}" for number in range(2)]
        slow = [client.request("tools/call", {"name": "Bash", "arguments": {"command": f"sleep {word}", "tx": tx}})
                for word, tx in zip(words, transactions)]
        wait_until(lambda: all(is_running(f"sleep {word}") for word in words))
        # A call of the first transaction waits for its command, and that of no other.
        behind = client.request("tools/call", {"name": "Read", "arguments": {"file": "a.txt", "tx": transactions[0]}})
        self.assertFalse(client.call("galley_log")["isError"])
        client.tell("notifications/cancelled", {"requestId": slow[0]})
        self.assertFalse(client.answer_to(behind)["result"]["isError"])
        self.assertFalse(is_running(f"sleep {words[0]}"))
        self.assertTrue(is_running(f"sleep {words[1]}"))
        client.tell("notifications/cancelled", {"requestId": slow[1]})
        wait_until(lambda: not is_running(f"sleep {words[1]}"))
        self.assertEqual(client.close(), 0)

    def test_what_is_cancelled_before_its_commit_is_not_committed(self):
        self.need_walls()
        client = self.connect("--autocommit")
        self.assertFalse(client.call("Write", file_path="first", content="1\n")["isError"])
        staged = self.connect()
        self.assertFalse(staged.call("Write", file_path="staged", content="2\n")["isError"])
        word = f"300.{os.getpid()}"
        (self.work / "galley.toml").write_text(f'[[validator]]\nname = "slow"\ncommand = ["sleep", "{word}"]\ntimeout_ms = 60000\n')
        self.galley("trust", expect=0)
        for server, name, arguments in ((staged, "galley_commit", {}), (client, "galley_undo", {}),
                                        (client, "Write", {"file_path": "second", "content": "3\n"})):
            with self.subTest(name):
                server.close()
                server = self.connect(*(["--autocommit"] if server is client else []))
                if name == "galley_undo":
                    arguments = {"id": "1"}
                if name == "galley_commit":
                    arguments = {"tx": json.loads(self.galley("--json", "status", "--all", expect=0).stdout)["transactions"][0]["tx"]}
                slow = server.request("tools/call", {"name": name, "arguments": arguments})
                wait_until(lambda: is_running(f"sleep {word}"))
                server.tell("notifications/cancelled", {"requestId": slow})
                wait_until(lambda: not is_running(f"sleep {word}"))
                self.assertEqual(server.close(timeout=30), 0)
        self.assertEqual(sorted(path.name for path in self.work.iterdir() if path.name in ("first", "staged", "second")), ["first"])
        self.assertEqual(len(json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]), 1)

    def test_a_cancelled_command_is_stopped_and_gets_no_answer(self):
        self.need_walls()
        client = self.connect()
        word = f"sleep 60.{os.getpid()}"
        slow = client.request("tools/call", {"name": "Bash", "arguments": {"command": f"echo x > new.txt; {word}"}})
        wait_until(lambda: is_running(word))
        client.tell("notifications/cancelled", {"requestId": slow})
        self.assertEqual(client.call("galley_status")["structuredContent"]["changes"], [])
        wait_until(lambda: not is_running(word))
        self.assertFalse((self.work / "new.txt").exists())
        status = client.request("galley", identity="after")
        self.assertEqual(client.answer_to(status)["error"]["code"], -32601)
        self.assertEqual(client.close(timeout=30), 0)


if __name__ == "__main__":
    hostile.main()
