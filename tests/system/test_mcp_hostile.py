#!/usr/bin/env python3
"""`galley mcp` with clients that lie, flood, stop reading or disappear. With both protocol
versions, a message gets one answer or none, and the server survives."""

import json
import signal
import threading
import unittest

from mcp_client import STATELESS
from test_mcp import McpCase

META = {"io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {}}
IDS = ("null", "1.5", "1e400", "true", "[]", "{}", '[{"a":1}]', "18446744073709551616", "-9223372036854775809")


class EachEra(McpCase):
    """Runs the tests with each protocol version."""

    def eras(self):
        yield self.connect()
        yield self.stateless()

    def params(self, client, params):
        return params if client.version else {**params, "_meta": META}

    def line(self, client, identity, method, **params):
        """Returns a request as text. Its id is this text."""
        return (f'{{"jsonrpc":"2.0","id":{identity},"method":{json.dumps(method)},'
                f'"params":{json.dumps(self.params(client, params))}}}').encode()

    def until(self, client, identity):
        """Returns all answers before the answer to this request."""
        seen = []
        while True:
            message = client.next()
            self.assertIsNotNone(message, "the server ended")
            if message.get("id") == identity:
                return seen
            seen.append(message)

    def assert_lives(self, client):
        """The server answers and ends normally. Returns its other messages."""
        seen = self.until(client, client.request("tools/list", identity="alive"))
        self.assertEqual(client.close(), 0)
        while (message := client.next()) is not None:  # other requests ran in parallel
            seen.append(message)
        return seen

    def test_ids_of_other_types_are_errors_without_an_id(self):
        for client in self.eras():
            for identity in IDS:
                client.send_raw(self.line(client, identity, "tools/list"))
            seen = self.assert_lives(client)
            self.assertEqual(len(seen), len(IDS))
            for message in seen:
                self.assertIn("error", message)
                self.assertNotIn("id", message)

    def test_a_message_over_the_limit_gets_an_error_with_its_id(self):
        """Some clients write the id first, others last."""
        long = json.dumps({"name": "Write", "arguments": {"file_path": "a.txt", "content": '\\"id":7}' + "x" * (17 << 20) + '\\"id":8}'}})
        for line, identity in ((f'{{"jsonrpc":"2.0","id":"first","method":"tools/call","params":{long}}}', "first"),
                               (f'{{"method":"tools/call","params":{long},"jsonrpc":"2.0","id":41}}', 41),
                               (f'{{"method":"tools/call","params":{long},"jsonrpc":"2.0","id": "last" }}', "last"),
                               (f'{{"method":"tools/call","jsonrpc":"2.0","params":{long}}}', None)):
            client = self.connect()
            client.send_raw(line.encode())
            seen, = self.assert_lives(client)
            self.assertEqual(seen.get("id"), identity)
            self.assertIn("16 MiB", seen["error"]["message"])

    def test_batches_are_one_error_each_whatever_is_in_them(self):
        for client in self.eras():
            one = self.line(client, 1, "tools/list").decode()
            for batch in ("[]", f"[{one}]", f"[{one},{one}]", f"[[{one}]]", "[" + ",".join([one] * 500) + "]"):
                client.send_raw(batch.encode())
            seen = self.assert_lives(client)
            self.assertEqual([(each["error"]["code"], "id" in each) for each in seen], [(-32600, False)] * 5)

    def test_depth_bombs_are_one_error_each(self):
        for client in self.eras():
            for depth in (200, 5_000, 1_000_000):
                client.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}")
                client.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * depth + b"]" * depth + b"}")
            self.assertEqual(len(self.assert_lives(client)), 6)

    def test_a_hundred_megabytes_are_one_error(self):
        for client in self.eras():
            client.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
            for _ in range(100):
                client.process.stdin.write(b"x" * (1 << 20))
            client.send_raw(b'"}}')
            self.assertEqual([each["error"]["code"] for each in self.assert_lives(client)], [-32600])

    def test_repeated_ids_get_one_answer_each(self):
        for client in self.eras():
            for _ in range(50):
                client.send_raw(self.line(client, 7, "tools/call", name="Read", arguments={"file": "a.txt"}))
                client.send_raw(self.line(client, '"7"', "tools/call", name="Read", arguments={"file": "a.txt"}))
            seen = self.assert_lives(client)
            self.assertEqual(len(seen), 100, "each message has one answer")
            for message in seen:
                if message.get("id") is None:
                    self.assertEqual(message["error"]["code"], -32600)
                else:
                    self.assertIn(message["id"], (7, "7"))

    def test_cancelling_anything_at_any_time_answers_nothing(self):
        for client in self.eras():
            for identity in (1, "1", None, 1.5, {}, [], "never", -1):
                client.tell("notifications/cancelled", {"requestId": identity})
            client.tell("notifications/cancelled")
            self.assertEqual(self.assert_lives(client), [])

    def test_a_call_that_is_cancelled_again_and_again_has_at_most_one_answer(self):
        for client in self.eras():
            for identity in range(100, 160):
                client.send_raw(self.line(client, identity, "tools/call", name="Write",
                                          arguments={"file": f"{identity}.txt", "content": "x\n"}))
                for _ in range(3):
                    client.tell("notifications/cancelled", {"requestId": identity})
            seen = [message["id"] for message in self.assert_lives(client)]
            self.assertEqual(len(seen), len(set(seen)))

    def test_answers_to_questions_that_were_not_asked_are_ignored(self):
        for client in self.eras():
            for identity in (1, "galley-1", "x"):
                client.send({"jsonrpc": "2.0", "id": identity, "result": {"action": "accept", "content": {"approve": True}}})
                client.send({"jsonrpc": "2.0", "id": identity, "error": {"code": 1, "message": "no"}})
            self.assertEqual(self.assert_lives(client), [])

    def test_a_client_that_reads_late_gets_every_answer_once(self):
        for client in self.eras():
            reading = threading.Event()
            real = client.messages.put

            def late(message, real=real, reading=reading):
                reading.wait(60)
                real(message)

            client.messages.put = late
            text = "x" * 2000
            asked = list(range(1000, 1400))

            def send(client=client, asked=asked, text=text):
                for identity in asked:
                    client.send_raw(self.line(client, identity, "no/such/" + text))

            sender = threading.Thread(target=send)
            sender.start()
            sender.join(timeout=2)  # now the pipes are full, or everything was sent
            reading.set()
            sender.join(timeout=60)
            seen = self.assert_lives(client)
            self.assertEqual(sorted(message["id"] for message in seen), asked)


class GoneAway(McpCase):
    def assert_sound(self):
        """The started transaction is complete or absent, and nothing blocks the next one."""
        self.galley("log", expect=0)  # recovers
        written = {path.name for path in self.work.glob("new-*.txt")}
        self.assertIn(len(written), (0, 20))
        self.galley("doctor", expect=(0, 1))
        if not written:
            self.galley("commit", expect=0)
            self.assertEqual(len(list(self.work.glob("new-*.txt"))), 20)

    def stage(self, client):
        for i in range(20):
            client.call("Write", file=f"new-{i}.txt", content=f"{i}\n")

    def test_a_client_that_vanishes_in_a_commit_leaves_all_of_it_or_nothing(self):
        (self.work / "galley.toml").write_text('[[validator]]\nname = "slow"\ncommand = ["sleep", "1"]\n')
        self.need_walls()
        client = self.connect()
        self.stage(client)
        client.request("tools/call", {"name": "galley_commit", "arguments": {}})
        client.process.stdin.close()
        client.process.stdout.close()
        client.process.wait(timeout=60)
        self.assertGreaterEqual(client.process.returncode, 0, "no signal ended it")
        self.assert_sound()

    def test_a_server_that_is_killed_in_a_commit_leaves_all_of_it_or_nothing(self):
        client = self.connect()
        self.stage(client)
        client.request("tools/call", {"name": "galley_commit", "arguments": {}})
        client.process.send_signal(signal.SIGKILL)
        client.process.wait(timeout=60)
        self.assert_sound()


class Lists(McpCase):
    def test_clients_are_notified_when_a_person_adds_or_removes_a_tool(self):
        folder = self.scratch / "tool"
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(
            {"name": "pack-t", "version": "1.0.0", "type": "tool", "provides": {"tool": "t"}, "description": "For a test.",
             "executable": "run"}))
        (folder / "run").write_text("#!/bin/sh\n")
        (folder / "run").chmod(0o755)
        client = self.connect()
        names = lambda: {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]}  # noqa: E731
        self.assertNotIn("t", names())
        self.galley("tools", "add", folder, expect=0)
        client.call("Read", file="a.txt")
        self.assertEqual([each["method"] for each in client.notifications], ["notifications/tools/list_changed"])
        self.assertIn("t", names())
        self.galley("tools", "remove", "t", expect=0)
        self.assertNotIn("t", names())
        self.assertEqual(len(client.notifications), 2)

    def test_clients_are_notified_of_new_and_closed_transactions_and_commits(self):
        client = self.connect()
        told = lambda: [each["method"] for each in client.notifications].count("notifications/resources/list_changed")  # noqa: E731
        client.call("Read", file="a.txt")
        self.assertEqual(told(), 0)
        client.call("Write", file="new.txt", content="x\n")
        self.assertEqual(told(), 1, "a transaction began")
        client.call("Write", file="other.txt", content="x\n")
        self.assertEqual(told(), 1)
        client.call("galley_commit")
        self.assertEqual(told(), 2, "it became a commit")

    def test_paths_are_completed_in_folders_as_the_transaction_has_them(self):
        (self.work / "src" / "deep").mkdir(parents=True)
        (self.work / "src" / "deep" / "main.c").write_text("x\n")
        client = self.connect()
        tx = client.call("galley_begin")["structuredContent"]["tx"]
        client.call("Write", file="src/deep/staged.c", content="x\n")

        def completed(value, **context):
            asked = {"ref": {"type": "ref/resource", "uri": "galley://tx/{tx}/files/{+path}"},
                     "argument": {"name": "path", "value": value}}
            return client.ask("completion/complete", {**asked, **context})["result"]["completion"]["values"]

        self.assertEqual(completed("s"), ["src/"])
        self.assertEqual(completed("src/"), ["src/deep/"])
        self.assertEqual(completed("src/deep/"), ["src/deep/main.c", "src/deep/staged.c"])
        self.assertEqual(completed("src/deep/st", context={"arguments": {"tx": tx}}), ["src/deep/staged.c"])
        self.assertEqual(completed("../"), [])
        self.assertEqual(completed("src/", context={"arguments": {"tx": "no-such"}}), [])


class LongAnswers(McpCase):
    def test_both_forms_of_a_long_answer_fit_the_limit_of_clients(self):
        for i in range(3000):
            (self.work / f"file-with-a-rather-long-name-{i:05}.txt").write_text("x\n")
        (self.work / "long.txt").write_text("".join(f"line {i} of a long file\n" for i in range(20_000)))
        client = self.connect("--tools", "Read", "--tools", "Glob", "--tools", "List")
        for result in (client.call("Read", file="long.txt"), client.call("Glob", pattern="*.txt"), client.call("List", path=".")):
            self.assertLessEqual(len(self.text(result)), 31_000)
            self.assertLessEqual(len(json.dumps(result["structuredContent"], ensure_ascii=False)), 40_000)
        read = client.call("Read", file="long.txt")["structuredContent"]
        self.assertEqual(next(iter(read)), "leftOut")
        self.assertIn("/content", read["leftOut"])
        self.assertTrue(read["content"].startswith("line 0 of"))

    def test_a_preview_says_where_the_rest_of_its_diff_begins(self):
        client = self.connect()
        client.call("Write", file="long.txt", content="".join(f"line {i}\n" for i in range(9000)))
        shown = client.call("galley_preview")["structuredContent"]
        rest = client.call("galley_diff", offset=shown["nextOffset"])["structuredContent"]["diff"]
        whole = client.call("galley_diff")["structuredContent"]["diff"]
        self.assertTrue(whole.startswith(shown["diff"]) or shown["diff"].startswith(whole))
        last = int(shown["diff"].rstrip("\n").rsplit(" ", 1)[1])
        self.assertTrue(rest.startswith(f"+line {last + 1}\n"))


class Secrets(McpCase):
    def test_a_named_secret_reaches_a_command_and_nothing_else(self):
        self.need_walls()
        self.environment["API_KEY"] = "s3cr3t-of-this-test"
        plain = self.connect().call("Bash", command="echo $ENV.API_KEY")
        self.assertTrue(plain["isError"])
        file = self.scratch / "secrets"
        file.write_text("API_KEY=s3cr3t-of-this-test\n")
        file.chmod(0o600)
        for options in (("--secret", "API_KEY"), ("--secrets", str(file))):
            given = self.connect(*options)
            result = given.call("Bash", command="test $ENV.API_KEY = s3cr3t-of-this-test && echo same; echo $ENV.API_KEY")
            self.assertIn("same", self.text(result))
            self.assertNotIn("s3cr3t-of-this-test", json.dumps(result))


if __name__ == "__main__":
    unittest.main()
