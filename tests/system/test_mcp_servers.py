#!/usr/bin/env python3
"""Servers of the Model Context Protocol whose tools Galley calls: a double that misbehaves in each
way, `galley mcp` itself, and two servers from npm."""

import functools
import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from mcp_client import McpClient
from support import GALLEY, ROOT, SystemCase

HERE = ROOT / "tests" / "system"
DOUBLE = HERE / "mcp_server_double.py"


@functools.cache
def npm_servers():
    """Returns the folder node_modules with the servers from npm, or the reason why there is
    none."""
    if shutil.which("node") is None:
        return None, "there is no node"
    result = subprocess.run([ROOT / "scripts" / "fetch-npm-tools", "mcp-servers"], capture_output=True, check=False, timeout=600)
    folder = result.stdout.decode().strip()
    return (Path(folder).parent if folder else None), result.stderr.decode(errors="replace").strip()


class ServerCase(SystemCase):
    def setUp(self):
        super().setUp()
        self.need_walls()
        self.folder = self.scratch / "server"
        self.folder.mkdir()
        self.double = self.folder / DOUBLE.name
        shutil.copy(DOUBLE, self.double)

    def add(self, how="good", *options, name="srv", expect=0, **more):
        return self.galley("--json", "tools", "add", "--mcp", name, "--readable", self.folder, *options, "--",
                           "python3", self.double, how, self.folder, expect=expect, **more)

    def begin(self):
        self.galley("begin", expect=0)

    def call(self, tool, expect=0, options=(), **arguments):
        """Returns the result of a call as JSON. The arguments are those of the tool."""
        result = self.galley("--json", "call", *options, tool, json.dumps(arguments), expect=expect)
        return json.loads(result.stdout)

    def failed(self, tool="srv.echo", options=(), **arguments):
        """Returns `CODE reason` and the message of a call that fails."""
        error = self.call(tool, expect=(1, 2, 3), options=options, **arguments)["error"]
        return f"{error['code']} {error['reason']}", error["message"]

    def text(self, result):
        return result["data"]["content"][0]["text"]

    def staged(self):
        return self.galley("diff", expect=0).stdout.decode()

    def reason(self, result):
        return json.loads(result.stdout)["reason"]


class Calls(ServerCase):
    def test_its_tools_are_called_under_its_name_and_are_on_record(self):
        added = json.loads(self.add().stdout)
        self.assertEqual(added["version"], "2025-11-25")
        self.assertIn("srv.echo", added["tools"])
        self.assertIn(b"srv.echo", self.galley("tools", "list", expect=0).stdout)
        self.begin()
        self.assertEqual(self.text(self.call("srv.echo", text="hello")), "hello")
        self.assertEqual(self.call("srv.count", n=3)["data"]["structuredContent"], {"n": 3})
        records = [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        self.assertEqual([record["kind"] for record in records if record.get("tool") == "srv.echo"], ["begun", "call"])

    def test_files_that_a_server_writes_are_staged_and_not_on_disk(self):
        self.add()
        self.begin()
        self.call("srv.put", path="made.txt", text="new\n")
        self.assertFalse((self.work / "made.txt").exists())
        self.assertIn("+new", self.staged())
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "made.txt").read_text(), "new\n")

    def test_a_server_sees_staged_changes(self):
        self.add()
        self.begin()
        self.call("Write", file="staged.txt", content="proposed")
        self.assertEqual(self.text(self.call("srv.see", path="staged.txt")), "proposed")
        self.assertEqual(self.failed("srv.see", path="no.txt")[0], "ERUNTIME tool.failed")

    def test_writes_of_a_read_only_server_are_dropped(self):
        self.add("good", "--read-only")
        self.begin()
        self.call("srv.put", path="made.txt", text="new\n")
        self.assertEqual(self.staged(), "")
        shown = json.loads(self.galley("--json", "tools", "show", "srv.put", expect=0).stdout)
        self.assertTrue(shown["annotations"]["readOnlyHint"])

    def test_path_rules_apply_to_writes_of_a_server(self):
        (self.work / "galley.toml").write_text('[agents.bot]\ncapabilities = ["fs:read", "exec:*", "fs:write:docs/**"]\n')
        self.add()
        bot = ("--agent", "bot")
        self.galley(*bot, "begin", expect=0)
        refused = json.loads(self.galley("--json", *bot, "call", "srv.put", '{"path": "made.txt", "text": "x"}',
                                         expect=(1, 3)).stdout)
        self.assertEqual(refused["error"]["code"], "EPERMISSION")
        self.assertEqual(self.galley(*bot, "diff", expect=0).stdout, b"")

    def test_arguments_are_validated_before_the_server_starts(self):
        self.add("hang")
        self.begin()
        self.assertEqual(self.failed("srv.count", n="x")[0], "EVALIDATION args.schema")

    def test_a_server_that_ignores_the_end_of_its_input_is_ended_and_its_answer_counts(self):
        self.add("stays")
        self.begin()
        self.call("srv.put", path="made.txt", text="new\n")
        self.assertIn("+new", self.staged())

    def test_a_server_may_ask_for_roots_but_not_for_a_model_or_a_person(self):
        self.add("asks-back")
        self.begin()
        said = self.text(self.call("srv.echo"))
        self.assertIn("file://" + str(self.work), said)
        self.assertIn("-32601", said)

    def test_a_server_gets_only_the_stated_environment_and_named_secrets(self):
        self.add("good", "--env", "COLOUR=blue", "--secret", "API_KEY", env={"API_KEY": "at-adding"})
        self.begin()
        self.assertEqual(self.failed()[0], "EPERMISSION secret.unavailable")
        given = ("--secret", "API_KEY")
        os.environ["API_KEY"] = "s3cr3t-of-the-call"
        self.addCleanup(os.environ.pop, "API_KEY")
        self.assertEqual(self.text(self.call("srv.env", options=given, name="COLOUR")), "blue")
        told = self.text(self.call("srv.env", options=given, name="API_KEY"))
        self.assertNotIn("s3cr3t-of-the-call", told)
        self.assertNotEqual(told, "unset")

    def test_control_characters_in_a_servers_answer_are_removed(self):
        self.add()
        self.begin()
        said = self.text(self.call("srv.echo", text="a\x1b[2Jb\u202ec"))
        self.assertNotIn("\x1b", said)
        self.assertNotIn("\u202e", said)

    def test_two_servers_coexist_and_are_removed_by_name(self):
        self.add(name="one")
        self.add(name="two")
        self.begin()
        self.assertEqual(self.text(self.call("one.echo", text="1")), "1")
        self.assertEqual(self.text(self.call("two.echo", text="2")), "2")
        self.galley("tools", "remove", "one", expect=0)
        listed = self.galley("tools", "list", expect=0).stdout
        self.assertNotIn(b"one.echo", listed)
        self.assertIn(b"two.echo", listed)

    def test_hints_of_a_server_do_not_lower_the_risk(self):
        self.add()
        shown = json.loads(self.galley("--json", "tools", "show", "srv.echo", expect=0).stdout)
        self.assertFalse(shown["annotations"]["readOnlyHint"])
        self.assertTrue(shown["annotations"]["destructiveHint"])
        self.assertEqual(shown["category"], "mcp")
        self.assertIn("fs:write", shown["capabilities"])


class Hostile(ServerCase):
    WAYS = (("hang", "ETIMEOUT tool.timeout"), ("flood", "EQUOTA limit.tool_output"),
            ("flood-lines", "EQUOTA limit.tool_output"), ("asks", "EQUOTA limit.tool_output"),
            ("die", "ERUNTIME tool.exit"), ("killed", "ERUNTIME tool.exit"), ("garbage", "ERUNTIME tool.output"),
            ("batch", "ERUNTIME tool.output"), ("deep", "ERUNTIME tool.output"), ("other-id", "ERUNTIME tool.output"),
            ("no-content", "ERUNTIME tool.output"), ("refuses", "ERUNTIME tool.failed"),
            ("memory", "EQUOTA sandbox.quota_memory"), ("writes-first", "ERUNTIME tool.exit"))

    def test_each_bad_behaviour_has_its_reason_and_stages_nothing(self):
        self.begin()
        for how, expected in self.WAYS:
            with self.subTest(how=how):
                # A flood must be detected by its size, even if the machine writes it slowly.
                self.add(how, "--timeout", "60")
                options = ("--timeout", "2") if how == "hang" else ()
                self.assertEqual(self.failed("srv.put", options, path="made.txt", text="x")[0], expected)
                self.assertEqual(self.staged(), "")
        self.add("lies")
        self.assertEqual(self.failed("srv.count", n=1)[0], "ERUNTIME tool.output")

    def test_a_server_that_misbehaves_at_the_start_is_not_added(self):
        for how, expected in (("silent", "tool.timeout"), ("old", "tool.output")):
            with self.subTest(how=how):
                result = self.add(how, "--timeout", "2" if how == "silent" else "60", expect=(1, 2, 3))
                self.assertEqual(self.reason(result), expected)
        self.assertEqual(self.reason(self.galley("--json", "tools", "add", "--mcp", "no", "--", "/no/such/program",
                                                 expect=(1, 2, 3))), "sandbox.program_not_found")
        self.assertNotIn(b"srv.", self.galley("tools", "list", expect=0).stdout)

    def test_a_server_that_answers_twice_is_rejected(self):
        result = self.add("twice", expect=(0, 1, 2, 3))
        if result.returncode == 0:
            # Adding needs only the list of tools, so nothing after the list was read.
            self.begin()
            self.assertEqual(self.failed()[0], "ERUNTIME tool.output")

    def test_unusable_tools_are_left_out_with_a_reason(self):
        added = json.loads(self.add("odd").stdout)
        left_out = {each["name"]: each["reason"] for each in added["left_out"]}
        self.assertEqual(left_out, {"odd": "tool.schema", "bad name!": "tool.name", "none": "tool.schema"})
        listed = self.galley("tools", "list", expect=0).stdout
        self.assertIn(b"srv.echo", listed)
        self.assertNotIn(b"srv.odd", listed)

    def test_a_server_that_fails_repeatedly_is_suspended(self):
        self.add("garbage")
        client = McpClient([GALLEY, "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        reasons = [client.call("srv.echo", text="x")["structuredContent"]["error"]["reason"] for _ in range(4)]
        self.assertEqual(reasons, ["tool.output"] * 3 + ["tool.unhealthy"])

    def test_a_cancelled_call_ends_the_server(self):
        self.add("hang", "--timeout", "60")
        client = McpClient([GALLEY, "mcp"], self.work, env={**os.environ, **self.environment})
        slow = client.request("tools/call", {"name": "srv.echo", "arguments": {}})
        client.tell("notifications/cancelled", {"requestId": slow})
        self.assertEqual(client.ask("ping")["result"], {})
        self.assertEqual(client.close(timeout=30), 0)


class Trust(ServerCase):
    def test_a_definition_that_changed_is_refused_until_a_person_says_yes_again(self):
        for change in ("added", "renamed", "described"):
            with self.subTest(change=change):
                (self.folder / "changed").unlink(missing_ok=True)
                self.add()
                self.galley("begin", expect=0)
                self.call("srv.see", path="README.md")
                (self.folder / "changed").write_text(change)
                reason, message = self.failed("srv.see", path="README.md")
                self.assertEqual(reason, "EPERMISSION tool.definition_changed")
                self.assertIn("galley tools trust srv", message)
                shown = json.loads(self.galley("--json", "tools", "trust", "srv", expect=0).stdout)
                self.assertTrue(shown["changes"])
                self.call("srv.see", path="README.md")
                self.galley("rollback", expect=0)

    def test_a_server_that_changes_during_a_call_stages_nothing(self):
        self.add("changes-meanwhile")
        self.begin()
        self.assertEqual(self.failed("srv.put", path="made.txt", text="x")[0], "EPERMISSION tool.definition_changed")
        self.assertEqual(self.staged(), "")

    def test_adding_needs_a_person(self):
        own = self.scratch / "config" / "galley" / "config.toml"
        own.write_text("")
        self.assertEqual(self.reason(self.add(expect=1, start_new_session=True)), "person.no_terminal")
        shown = json.loads(self.add("good", "-n").stdout)
        self.assertFalse(shown["added"])
        self.add(env={"GALLEY_TRUST": shown["hash"]}, start_new_session=True)
        self.assertIn(b"srv.echo", self.galley("tools", "list", expect=0).stdout)

    def test_adding_a_server_is_refused_inside_exec(self):
        self.assertEqual(self.reason(self.add(expect=1, env={"GALLEY_SANDBOX": "1"})), "person.inside_exec")
        self.add()
        result = self.galley("--json", "tools", "trust", "srv", expect=1, env={"GALLEY_SANDBOX": "1"})
        self.assertEqual(self.reason(result), "person.inside_exec")

    def test_a_server_is_trusted_for_one_workspace_only(self):
        self.add()
        other = self.scratch / "other"
        other.mkdir()
        self.assertNotIn(b"srv.", self.galley("tools", "list", work=other, expect=0).stdout)

    # Limit: kMaxRecordBytes of tools/mcp/trusted_mcp_server.h
    def test_a_record_of_another_workspace_or_of_no_sense_trusts_nothing(self):
        self.add()
        record, = (self.scratch / "state" / "galley" / "tools").rglob("mcp-srv.json")
        sound = record.read_text()
        for text in ("", "{}", "[" * 100000, sound.replace('"root":"', '"root":"/other'), sound.replace("srv", "svr")):
            record.write_text(text)
            self.assertNotIn(b"srv.", self.galley("tools", "list", expect=0).stdout)
        record.write_text(sound)
        self.assertIn(b"srv.echo", self.galley("tools", "list", expect=0).stdout)

    def test_adding_a_server_shows_all_of_it_without_control_characters(self):
        shown = self.galley("tools", "add", "-n", "--mcp", "srv", "--readable", self.folder, "--env", "A=\x1b[2J", "--",
                            "python3", self.double, "good", expect=0).stdout.decode()
        for words in ("srv: the MCP server double 1", "runs python3", f"sees {self.folder}", "srv.echo: Says it again.",
                      "what it writes is staged", "# hash "):
            self.assertIn(words, shown)
        self.assertNotIn("\x1b", shown)

    def test_wrong_arguments_of_add_and_trust_are_errors(self):
        for words, reason in ((("--mcp", "a/b", "--", "true"), "tool.name"),
                              (("--mcp", "a", "--env", "x", "--", "true"), "usage.mcp_server"),
                              (("one", "two"), "usage.one_folder")):
            result = self.galley("--json", "tools", "add", *words, expect=(1, 2))
            self.assertEqual(self.reason(result), reason)
        self.assertEqual(self.reason(self.galley("--json", "tools", "trust", "no", expect=2)), "tool.unknown")


class Real(ServerCase):
    def add_npm(self, name, package, *arguments):
        modules, why = npm_servers()
        if modules is None:
            raise unittest.SkipTest(f"this did not run: {why}")
        main = modules / "@modelcontextprotocol" / package / "dist" / "index.js"
        node = Path(shutil.which("node")).resolve()
        seen = () if str(node).startswith("/usr/") else ("--readable", node.parent.parent)
        added = self.galley("--json", "tools", "add", "--mcp", name, "--readable", modules, *seen, "--memory", "1000mb", "--timeout", "60",
                            "--", node, main, *arguments, expect=0)
        return json.loads(added.stdout)

    def test_the_file_system_server_of_npm_works_on_the_staged_tree(self):
        added = self.add_npm("fs", "server-filesystem", ".")
        self.assertIn("fs.write_file", added["tools"])
        self.assertEqual(added["left_out"], [])
        self.begin()
        path = str(self.work / "made.txt")
        self.call("fs.write_file", path=path, content="one\ntwo\n")
        self.assertFalse((self.work / "made.txt").exists())
        self.call("fs.edit_file", path=path, edits=[{"oldText": "two", "newText": "2"}])
        self.assertIn("+2", self.staged())
        self.assertIn(str(self.work), self.text(self.call("fs.list_allowed_directories")))
        self.assertEqual(self.failed("fs.read_text_file", path="/etc/passwd")[0], "ERUNTIME tool.failed")

    def test_the_server_of_npm_with_everything_works(self):
        added = self.add_npm("every", "server-everything")
        self.assertIn("every.echo", added["tools"])
        self.begin()
        self.assertIn("hello", self.text(self.call("every.echo", message="hello")))
        self.assertIn("5", self.text(self.call("every.get-sum", a=2, b=3)))

    def test_galley_mcp_is_asked_without_a_handshake(self):
        program = Path(GALLEY).resolve()
        added = json.loads(self.galley("--json", "tools", "add", "--mcp", "inner", "--readable", program.parent, "--",
                                       program, "mcp", expect=0).stdout)
        self.assertEqual(added["version"], "2026-07-28")
        self.begin()
        self.call("Write", file="staged.txt", content="proposed\n")
        read = self.call("inner.Read", file="staged.txt")
        self.assertIn("proposed", self.text(read))


if __name__ == "__main__":
    unittest.main()
