#!/usr/bin/env python3
"""`galley mcp` over HTTP: sessions, stateless clients, wrong requests, and the end of the server."""

import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time

import hostile
from mcp_client import STATELESS
from mcp_http import CAPABILITIES_KEY, DEADLINE_S, HANDSHAKE, VERSION_KEY, HttpClient, HttpServer, events_of
from support import GALLEY, SystemCase
from terminal_session import end_processes, is_running, wait_until


class HttpCase(SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        (self.work / "a.txt").write_text("one\ntwo\n")

    def serve(self, *options, cwd=None):
        server = HttpServer([GALLEY, "mcp", *(options or ["--http"])], cwd or self.work, {**os.environ, **self.environment})
        self.addCleanup(self.stop, server)
        return server

    @staticmethod
    def stop(server):
        if server.process.poll() is None:
            server.end(signal.SIGKILL)

    @staticmethod
    def start_commands(client, words, ask):
        """Each word sleeps in a transaction of its own; returns the threads that wait for the answers."""
        places = [client.call("galley_begin")["structuredContent"]["tx"] for _ in words]
        threads = []
        for number, (word, tx) in enumerate(zip(words, places)):
            call = {"name": "Bash", "arguments": {"command": f"sleep {word}; echo ended {word}", "tx": tx, "timeout": 120000}}
            threads.append(threading.Thread(target=ask, args=(number, call)))
            threads[-1].start()
            wait_until(lambda name=word: is_running(f"sleep {name}"))
        return threads

    def refusal(self, *options, expect=2):
        return json.loads(self.galley("--json", "mcp", *options, expect=expect).stdout)


class Sessions(HttpCase):
    def test_a_session_edits_commits_undoes_and_ends(self):
        server = self.serve()
        client = HttpClient(server)
        self.assertEqual(client.hello["result"]["protocolVersion"], HANDSHAKE)
        self.assertGreater(len(client.ask("tools/list")["result"]["tools"]), 10)
        client.call("Edit", file_path="a.txt", old_string="one", new_string="ONE")
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")
        self.assertIn("+ONE", client.call("galley_diff")["structuredContent"]["diff"])
        committed = client.call("galley_commit")["structuredContent"]
        self.assertEqual((self.work / "a.txt").read_text(), "ONE\ntwo\n")
        self.assertEqual(client.call("galley_undo")["structuredContent"]["outcome"], "committed")
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")
        answer, _ = server.ask("DELETE", headers={"Mcp-Session-Id": client.session})
        self.assertEqual(answer.status, 200)
        answer, text = server.ask("POST", body="{}", headers={"Mcp-Session-Id": client.session})
        self.assertEqual(answer.status, 400)
        answer, text = server.ask("GET", headers={"Mcp-Session-Id": client.session})
        self.assertEqual(answer.status, 404)
        self.assertIn("initialize", text)
        self.assertTrue(committed["id"])

    def test_each_session_has_its_own_transaction_and_its_own_record(self):
        server = self.serve()
        clients = [HttpClient(server), HttpClient(server)]
        for number, client in enumerate(clients):
            client.call("Write", file_path=f"{number}.txt", content="x\n")
        for number, client in enumerate(clients):
            self.assertEqual([change["path"] for change in client.call("galley_status")["structuredContent"]["changes"]],
                             [f"{number}.txt"])
        for client in clients:
            client.call("galley_commit")
        commits = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]
        sessions = {commit["session"] for commit in commits}
        self.assertEqual(len(sessions), 2, commits)
        self.assertTrue(all(session.startswith("mcp-") for session in sessions))
        # galley_undo without an id takes back only this session's.
        clients[0].call("galley_undo")
        self.assertFalse((self.work / "0.txt").exists())
        self.assertTrue((self.work / "1.txt").exists())

    def test_a_client_that_names_a_session_shares_its_transaction_with_the_command_line(self):
        (self.work / "b.txt").write_text("b\n")
        for options in ([], ["--unix", str(self.work.parent / "socket")]):
            client = HttpClient(self.serve(*options), agent_session="s-1")
            client.call("Edit", file_path="a.txt", old_string="one", new_string="ONE")
            self.galley("--session", "s-1", "call", "Edit", '{"file_path": "b.txt", "old_string": "b", "new_string": "B"}',
                        expect=0)
            self.assertEqual([change["path"] for change in client.call("galley_status")["structuredContent"]["changes"]],
                             ["a.txt", "b.txt"])
            self.galley("--session", "s-1", "commit", expect=0)
            self.assertEqual((self.work / "a.txt").read_text(), "ONE\ntwo\n")
            client.call("Write", file_path="c.txt", content="c\n")
            client.call("galley_commit")
            commits = json.loads(self.galley("--json", "log", "--session", "s-1", expect=0).stdout)["transactions"]
            self.assertEqual(len(commits), 2, commits)
            self.galley("undo", "--session", "s-1", expect=0)
            self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")
            shutil.rmtree(self.work / ".galley")

    def test_a_bad_name_of_a_session_is_refused_with_the_reason(self):
        server = self.serve()
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": HANDSHAKE}}
        for bad in ("two words", "x" * 129, "caf\u00e9"):
            answer, text = server.ask("POST", body=json.dumps(hello), headers={"Galley-Session": bad})
            self.assertEqual(answer.status, 400, text)
            self.assertIn("at most 128 printable ASCII characters", json.loads(text)["error"]["message"])
        answer, text = server.ask("POST", body=json.dumps(hello), headers={"Galley-Session": ""})
        self.assertEqual(answer.status, 200, text)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {VERSION_KEY: STATELESS}}}
        answer, text = server.ask("POST", body=json.dumps(call), headers={
            "Galley-Session": "s", "MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/list"})
        self.assertEqual(answer.status, 400, text)
        self.assertIn("'tx'", json.loads(text)["error"]["message"])

    def test_the_rules_of_the_agent_hold_for_every_client(self):
        (self.work / "galley.toml").write_text('[agents.bot]\ncapabilities = ["fs:read", "fs:write:docs/**"]\n')
        server = self.serve("--http", "--agent", "bot")
        for client in (HttpClient(server), HttpClient(server, version=None)):
            wrong = client.call("Write", file_path="src.txt", content="x\n")
            self.assertTrue(wrong["isError"], wrong)

    def test_questions_and_progress_come_before_the_answer(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\nname = "look"\npaths = ["a.txt"]\ndecision = "ask"\n')
        server = self.serve()
        client = HttpClient(server, capabilities={"elicitation": {}})
        asked = []
        client.answers["elicitation/create"] = lambda params: asked.append(params) or {
            "action": "accept", "content": {"approve": True}}
        client.call("Edit", file_path="a.txt", old_string="one", new_string="ONE")
        said = client.call("galley_commit")
        self.assertEqual(len(asked), 1, said)
        self.assertIn("+ONE", asked[0]["message"])
        self.assertEqual((self.work / "a.txt").read_text(), "ONE\ntwo\n")

    def test_notifications_of_a_session_come_on_its_one_stream(self):
        server = self.serve()
        client, other = HttpClient(server), HttpClient(server)
        tx = client.call("galley_begin")["structuredContent"]["tx"]
        stream = client.listen()
        self.addCleanup(stream.connection.close)
        answer, _ = server.ask("GET", headers={"Mcp-Session-Id": client.session})
        self.assertEqual(answer.status, 409)
        uri = f"galley://tx/{tx}/diff"
        self.assertEqual(client.ask("resources/subscribe", {"uri": uri})["result"], {})
        other.call("Write", file_path="b.txt", content="x\n")
        client.call("Edit", file_path="a.txt", old_string="one", new_string="ONE")
        for message in events_of(stream):
            if message["method"] == "notifications/resources/updated":
                break
        self.assertEqual(message["params"]["uri"], uri)

    def test_a_client_that_is_killed_disturbs_no_other(self):
        server = self.serve()
        dying, other = HttpClient(server), HttpClient(server)
        answer = dying.server.connect()
        body = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
            "name": "Bash", "arguments": {"command": "echo begun > b.txt; sleep 2; echo done >> b.txt"}}})
        answer.request("POST", "/mcp", body, {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json",
                                              "Accept": "application/json, text/event-stream", "Mcp-Session-Id": dying.session})
        answer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, as after kill -9
        answer.close()
        other.call("Edit", file_path="a.txt", old_string="one", new_string="ONE")
        self.assertEqual(other.call("galley_commit")["structuredContent"]["outcome"], "committed")
        # The call of the session goes on, as the protocol wants: its client may come back.
        wait_until(lambda: "done" in str(dying.call("Read", file_path="b.txt")))

    def test_a_cancelled_call_ends_without_an_answer_and_others_go_on(self):
        server = self.serve()
        client = HttpClient(server)
        words = [f"300.{os.getpid()}", f"301.{os.getpid()}"]
        ended = [[], []]
        threads = self.start_commands(client, words, lambda number, call: ended[number].append(
            client.finish(client.begin("tools/call", call))))
        client.tell({"method": "notifications/cancelled", "params": {"requestId": client.last_id}})
        threads[1].join(timeout=DEADLINE_S)
        self.assertEqual(ended, [[], [None]])
        self.assertFalse(is_running(f"sleep {words[1]}"))
        end_processes("sleep", words[0])
        threads[0].join(timeout=DEADLINE_S)
        self.assertIn(f"ended {words[0]}", str(ended[0]))

    # Limit: kMaxSessions of server/mcp/http_door.h
    def test_the_longest_unused_session_ends_when_there_are_too_many(self):
        server = self.serve()
        first, watched = HttpClient(server), HttpClient(server)
        stream = watched.listen()
        self.addCleanup(stream.connection.close)
        first.call("Write", file_path="b.txt", content="x\n")
        for _ in range(31):
            last = HttpClient(server)
        answer, _ = server.ask("GET", headers={"Mcp-Session-Id": first.session})
        self.assertEqual(answer.status, 404)
        self.assertEqual(watched.ask("ping")["result"], {})
        self.assertEqual(last.ask("ping")["result"], {})
        # What it staged is kept.
        self.assertIn("b.txt", self.galley("diff", expect=0).stdout.decode())


class Stateless(HttpCase):
    def test_changes_are_found_by_the_transaction_that_an_answer_names(self):
        server = self.serve()
        one, two = HttpClient(server, version=None), HttpClient(server, version=None)
        first = one.call("Write", file_path="one.txt", content="x\n")["structuredContent"]["tx"]
        second = two.call("Write", file_path="two.txt", content="x\n")["structuredContent"]["tx"]
        self.assertNotEqual(first, second)
        for tool in ("galley_commit", "galley_diff", "galley_rollback"):
            wrong = one.call(tool)
            self.assertEqual(wrong["structuredContent"]["error"]["reason"], "stage.which", wrong)
        self.assertTrue(one.call("galley_undo")["isError"])
        # A call that fails leaves no transaction that nobody could name.
        self.assertTrue(one.call("Edit", file_path="a.txt", old_string="no such", new_string="x")["isError"])
        self.assertEqual({each["tx"] for each in one.call("galley_status")["structuredContent"]["open"]}, {first, second})
        one.call("Edit", file_path="one.txt", old_string="x", new_string="y", tx=first)
        self.assertEqual(one.call("galley_commit", tx=first)["structuredContent"]["outcome"], "committed")
        self.assertEqual((self.work / "one.txt").read_text(), "y\n")
        self.assertFalse((self.work / "two.txt").exists())

    def test_no_client_takes_back_the_commit_of_another_unless_it_names_it(self):
        server = self.serve()
        one, two = HttpClient(server, version=None), HttpClient(server, version=None)
        tx = one.call("Write", file_path="one.txt", content="x\n")["structuredContent"]["tx"]
        commit = one.call("galley_commit", tx=tx)["structuredContent"]["id"]
        wrong = two.call("galley_undo")
        self.assertIn("'id'", wrong["structuredContent"]["error"]["message"], wrong)
        self.assertTrue((self.work / "one.txt").exists())
        self.assertEqual(two.call("galley_undo", id=commit)["structuredContent"]["outcome"], "committed")
        self.assertFalse((self.work / "one.txt").exists())

    def test_what_one_client_has_read_no_other_has_seen(self):
        server = self.serve()
        one, two = HttpClient(server, version=None), HttpClient(server, version=None)
        tx = one.call("galley_begin")["structuredContent"]["tx"]
        self.assertIn("one", str(one.call("Read", file_path="a.txt", tx=tx)))
        (self.work / "a.txt").write_text("one\nby a person\ntwo\n")
        self.assertIn("by a person", str(two.call("Read", file_path="a.txt")))
        other = two.call("galley_begin")["structuredContent"]["tx"]
        self.assertIn("by a person", str(two.call("Read", file_path="a.txt", tx=other)))
        one.call("Write", file_path="a.txt", content="ONE\ntwo\n", tx=tx)  # based on what this one has read
        ended = one.call("galley_commit", tx=tx)
        self.assertEqual(ended["structuredContent"]["outcome"], "conflict", ended)
        self.assertIn("by a person", (self.work / "a.txt").read_text())
        self.assertFalse(two.call("Write", file_path="a.txt", content="ONE\n", tx=other)["isError"])
        self.assertEqual(two.call("galley_commit", tx=other)["structuredContent"]["outcome"], "committed")

    def test_a_call_that_stages_nothing_leaves_no_transaction(self):
        client = HttpClient(self.serve(), version=None)
        said = client.call("Bash", command="echo said")
        self.assertIn("said", str(said))
        self.assertNotIn("tx", said["structuredContent"])
        self.assertEqual(client.call("galley_status")["structuredContent"]["open"], [])

    def test_a_client_that_leaves_leaves_no_transaction(self):
        server = self.serve()
        word = f"300.{os.getpid()}"
        connection = server.connect()
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "Bash", "arguments": {"command": f"echo x > b.txt; sleep {word} || true; sleep 0.2"},
            "_meta": {VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}}}}
        connection.request("POST", "/mcp", json.dumps(body), {
            "Authorization": f"Bearer {server.token}", "Content-Type": "application/json", "Accept": "*/*",
            "MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "Bash"})
        wait_until(lambda: is_running(f"sleep {word}"))
        connection.close()
        client = HttpClient(server, version=None)
        wait_until(lambda: client.call("galley_status")["structuredContent"]["open"] == [])

    def test_equal_ids_of_several_clients_do_not_meet(self):
        server = self.serve()
        results = []

        def read(number):
            client = HttpClient(server, version=None)
            (self.work / f"{number}.txt").write_text(f"text {number}\n")
            results.append(f"text {number}" in str(client.call("Read", file_path=f"{number}.txt")))

        threads = [threading.Thread(target=read, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=DEADLINE_S)
        self.assertEqual(results, [True] * 12)

    def test_a_client_that_leaves_cancels_its_call(self):
        server = self.serve()
        word = f"300.{os.getpid()}"
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "Bash", "arguments": {"command": f"sleep {word}"},
            "_meta": {VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}}}}
        connection = server.connect()
        connection.request("POST", "/mcp", json.dumps(body), {
            "Authorization": f"Bearer {server.token}", "Content-Type": "application/json", "Accept": "*/*",
            "MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "Bash"})
        wait_until(lambda: is_running(f"sleep {word}"))
        connection.close()
        wait_until(lambda: not is_running(f"sleep {word}"))

    def test_headers_repeat_the_message(self):
        server = self.serve()
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "Read", "arguments": {"file_path": "a.txt"}, "_meta": {VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}}}}
        right = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "Read"}
        for change, status in (({}, 200), ({"Mcp-Name": "=?base64?UmVhZA==?="}, 200), ({"Mcp-Name": "Write"}, 400),
                               ({"Mcp-Name": None}, 400), ({"Mcp-Name": "=?base64?!?="}, 400), ({"Mcp-Method": None}, 400),
                               ({"Mcp-Method": "TOOLS/CALL"}, 400), ({"MCP-Protocol-Version": None}, 400),
                               ({"MCP-Protocol-Version": HANDSHAKE}, 400)):
            answer, text = server.ask("POST", body=json.dumps(message), headers={**right, **change})
            self.assertEqual(answer.status, status, (change, text))
            if status == 400:
                self.assertEqual(json.loads(text)["error"]["code"], -32020, change)
                self.assertEqual(json.loads(text)["id"], 1)

    def test_a_subscription_hears_what_other_clients_change(self):
        server = self.serve()
        client = HttpClient(server, version=None)
        tx = client.call("galley_begin")["structuredContent"]["tx"]
        uri = f"galley://tx/{tx}/diff"
        stream = HttpClient(server, version=None).begin("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        self.addCleanup(stream.connection.close)
        heard = events_of(stream)
        self.assertEqual(next(heard)["method"], "notifications/subscriptions/acknowledged")
        client.call("Write", file_path="b.txt", content="x\n", tx=tx)
        self.assertEqual(next(heard)["params"]["uri"], uri)


class WrongRequests(HttpCase):
    def test_each_wrong_request_gets_one_clear_error(self):
        server = self.serve("--http", "127.0.0.1:0")
        port = server.host.split(":")[1]
        hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": HANDSHAKE}})
        session = HttpClient(server).session
        cases = (
            (401, {"headers": {"Authorization": None}}, "Authorization: Bearer"),
            (401, {"headers": {"Authorization": "Bearer " + "0" * 64}}, "Authorization: Bearer"),
            (200, {"headers": {"Authorization": f"bearer {server.token}"}}, "serverInfo"),
            (200, {"headers": {"Authorization": f"BEARER {server.token}"}}, "serverInfo"),
            (401, {"headers": {"Authorization": f"Bearer {server.token.upper()}"}}, "Authorization: Bearer"),
            (403, {"headers": {"Host": "evil.example"}}, "Host or Origin"),
            (403, {"headers": {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"}}, "Host or Origin"),
            (403, {"headers": {"Origin": "https://evil.example"}}, "Host or Origin"),
            (403, {"headers": {"Origin": "null"}}, "Host or Origin"),
            (200, {"headers": {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}}, "serverInfo"),
            (404, {"path": "/"}, "/mcp"),
            (404, {"path": "/mcp/other"}, "/mcp"),
            (405, {"method": "PUT"}, "POST"),
            (405, {"method": "OPTIONS"}, "POST"),
            (405, {"method": "GET"}, "Mcp-Session-Id"),
            (415, {"headers": {"Content-Type": "text/plain"}}, "application/json"),
            (406, {"headers": {"Accept": "application/json"}}, "text/event-stream"),
            (406, {"headers": {"Accept": "application/json, image/*"}}, "text/event-stream"),
            (406, {"headers": {"Accept": "application/json-seq, text/*"}}, "application/json"),
            (415, {"headers": {"Content-Type": "application/json-patch+json"}}, "application/json"),
            (200, {"headers": {"Content-Type": "Application/JSON ; charset=UTF-8"}}, "serverInfo"),
            (200, {"headers": {"Accept": "Application/Json;q=0.9 ,TEXT/Event-Stream"}}, "serverInfo"),
            (200, {"headers": {"Accept": "application/*, text/*; q=0.5"}}, "serverInfo"),
            (200, {"headers": {"Accept": "text/html, */*;q=0.1"}}, "serverInfo"),
            (400, {"body": "{"}, "JSON"),
            (400, {"body": "[]"}, "-32600"),
            (400, {"body": ""}, "-32700"),
            (400, {"body": json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})}, "initialize"),
            (400, {"body": json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize"})}, "protocolVersion"),
            (400, {"headers": {"MCP-Protocol-Version": STATELESS}}, VERSION_KEY),
            (404, {"headers": {"Mcp-Session-Id": "0" * 32}}, "initialize"),
            (400, {"headers": {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2024-01-01"}}, "MCP-Protocol-Version"),
            (200, {"body": iter([hello[:9].encode(), hello[9:].encode()])}, "serverInfo"),  # sent in chunks
            (400, {"headers": {"Transfer-Encoding": "chunked", "Content-Length": "5"}, "body": b"0\r\n\r\n"}, "Content-Length"),
            (501, {"headers": {"Transfer-Encoding": "gzip"}, "body": b"x"}, "chunked"),
            (413, {"headers": {"Content-Length": str((16 << 20) + 1)}, "body": None}, "16 MiB"),
            (413, {"headers": {"X": "x" * 20_000}}, "16 KiB"),
        )
        for status, asked, text in cases:
            asked = {"method": "POST", "body": hello, **asked}
            answer, said = server.ask(**asked)
            self.assertEqual(answer.status, status, (asked, said))
            self.assertIn(text, said, asked)
            self.assertIsNone(answer.getheader("Access-Control-Allow-Origin"))
            if status != 200:
                self.assertIn("error", json.loads(said), asked)
        self.assertEqual(HttpClient(server).ask("ping")["result"], {})

    def test_a_field_on_two_lines_is_a_list_and_one_that_is_no_list_is_named(self):
        server = self.serve()
        name, port = server.host.split(":")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": HANDSHAKE}})
        for fields, status, said in (
                ("Accept: application/json\r\nX-Forwarded-For: 1\r\nAccept: text/event-stream\r\nX-Forwarded-For: 2\r\n", 200, "serverInfo"),
                ("Accept: */*\r\nMcp-Session-Id: 1\r\nMcp-Session-Id: 2\r\n", 400, "mcp-session-id")):
            with socket.create_connection((name, int(port)), timeout=DEADLINE_S) as peer:
                peer.sendall((f"POST /mcp HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {server.token}\r\n"
                              f"Content-Type: application/json\r\n{fields}Content-Length: {len(body)}\r\n\r\n{body}").encode())
                answer = http.client.HTTPResponse(peer)
                answer.begin()
                self.assertEqual(answer.status, status)
                self.assertIn(said, answer.read().decode())

    def test_bytes_that_are_not_http_end_nothing(self):
        server = self.serve()
        name, port = server.host.split(":")
        for sent in (b"\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\0" * 20_000, b"\x16\x03\x01\x02\0" * 10 + b"\r\n\r\n"):
            with socket.create_connection((name, int(port)), timeout=DEADLINE_S) as peer:
                peer.sendall(sent)
                self.assertTrue(peer.recv(100).startswith(b"HTTP/1.1 4"), sent)
        halves = []
        for _ in range(40):
            half = socket.create_connection((name, int(port)), timeout=DEADLINE_S)
            self.addCleanup(half.close)
            half.sendall(b"POST /mcp HTTP/1.1\r\nHost: x")
            halves.append(half)
        self.assertEqual(HttpClient(server).ask("ping")["result"], {})

    def test_a_client_that_waits_with_its_body_is_told_to_continue(self):
        server = self.serve()
        name, port = server.host.split(":")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": HANDSHAKE}})
        for token, said in ((server.token, b"HTTP/1.1 100 Continue\r\n\r\n"), ("0" * 64, b"HTTP/1.1 401 ")):
            with socket.create_connection((name, int(port)), timeout=DEADLINE_S) as peer:
                peer.sendall((f"POST /mcp HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {token}\r\n"
                              "Content-Type: application/json\r\nAccept: */*\r\nExpect: 100-continue\r\n"
                              f"Content-Length: {len(body)}\r\n\r\n").encode())
                self.assertTrue(peer.recv(100).startswith(said), token)
                if token == server.token:
                    peer.sendall(body.encode())
                    self.assertTrue(peer.recv(100).startswith(b"HTTP/1.1 200 "))

    def test_hostile_messages_end_no_session(self):
        client = HttpClient(self.serve())
        for line in ('{"jsonrpc":"2.0","id":{},"method":1}', "[" * 10_000, '"\\ud800"'):
            answer, _ = client.server.ask("POST", body=line, headers=client.headers({}))
            self.assertIn(answer.status, (200, 202, 400), line[:100])
        self.assertEqual(client.ask("ping")["result"], {})


class Addresses(HttpCase):
    def test_a_token_file_is_private_and_its_token_is_not_printed(self):
        file = self.scratch / "token"
        token = "t" * 40
        file.write_text(token + "\n")
        file.chmod(0o644)
        self.assertEqual(self.refusal("--http", "--token-file", str(file), expect=1)["reason"], "file.not_private")
        file.chmod(0o600)
        process = subprocess.Popen([GALLEY, "mcp", "--http", "--token-file", file], cwd=self.work, stderr=subprocess.PIPE,
                                   env={**os.environ, **self.environment})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        host = process.stderr.readline().decode().split("/")[2]
        server = HttpServer.__new__(HttpServer)
        server.host, server.socket, server.token, server.paths = host, None, token, ["/mcp"]
        self.assertEqual(HttpClient(server).ask("ping")["result"], {})
        process.send_signal(signal.SIGTERM)
        self.assertNotIn(token, process.stderr.read().decode())
        process.stderr.close()
        file.write_text("short\n")
        self.assertEqual(self.refusal("--http", "--token-file", str(file), expect=2)["reason"], "usage.token")

    def test_only_this_machine_is_served(self):
        for address in ("0.0.0.0:0", "192.168.0.1:80", "example.org:80", "127.0.0.1", "127.0.0.1:", "x", "127.0.0.1:99999"):
            self.assertEqual(self.refusal("--http", address)["reason"], "listener.address", address)

    def test_options_of_one_client_are_refused(self):
        self.assertEqual(self.refusal("--http", "0", "--session", "one")["reason"], "usage.mcp_http")
        self.galley("mcp", "--workspace", ".", expect=2)
        self.galley("mcp", "--http", "0", "--unix", "s", expect=2)
        self.galley("mcp", "--token-file", "t", expect=2)

    def test_a_socket_file_needs_no_token_and_is_removed(self):
        file = self.scratch / "mcp.sock"
        server = self.serve("--unix", str(file))
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        client = HttpClient(server)
        client.call("Edit", file_path="a.txt", old_string="one", new_string="ONE")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual(server.ask("POST", body="{}", headers={"Origin": "http://localhost"})[0].status, 403)
        said = self.refusal("--unix", str(file), expect=1)
        self.assertEqual(said["reason"], "listener.file")
        self.assertEqual(server.end(signal.SIGKILL), -9)
        again = self.serve("--unix", str(file))
        self.assertEqual(HttpClient(again).ask("ping")["result"], {})
        self.assertEqual(again.end(), 0)
        self.assertFalse(file.exists())

    def test_a_state_that_is_not_trusted_is_named_at_the_start(self):
        first = self.serve()
        client = HttpClient(first)
        client.call("Write", file_path="b.txt", content="x\n")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual(first.end(), 0)
        copy = self.scratch / "copy"
        shutil.copytree(self.work, copy, symlinks=True)
        server = self.serve(cwd=copy)
        self.assertEqual(len([line for line in server.said if "not trusted" in line]), 1, server.said)
        HttpClient(server)
        self.assertEqual([line for line in self.serve().said if "not trusted" in line], [])

    def test_several_workspaces_have_their_own_paths(self):
        other = self.scratch / "other"
        other.mkdir()
        (other / "o.txt").write_text("other\n")
        server = self.serve("--http", "0", "--workspace", str(self.work), "--workspace", str(other), cwd=self.scratch)
        self.assertEqual(sorted(server.paths), sorted([f"/mcp/{self.work.name}", "/mcp/other"]))
        here, there = HttpClient(server, f"/mcp/{self.work.name}"), HttpClient(server, "/mcp/other")
        self.assertIn("one", str(here.call("Read", file_path="a.txt")))
        self.assertTrue(here.call("Read", file_path="o.txt")["isError"])
        there.call("Edit", file_path="o.txt", old_string="other", new_string="OTHER")
        there.call("galley_commit")
        self.assertEqual((other / "o.txt").read_text(), "OTHER\n")
        answer, _ = server.ask("GET", "/mcp/other", headers={"Mcp-Session-Id": here.session})
        self.assertEqual(answer.status, 404)
        same = self.scratch / "deep" / "other"
        same.mkdir(parents=True)
        said = self.refusal("--http", "0", "--workspace", str(other), "--workspace", str(same))
        self.assertEqual(said["reason"], "usage.workspace")
        many = [word for _ in range(17) for word in ("--workspace", str(other))]
        self.assertEqual(self.refusal("--http", "0", *many)["reason"], "usage.workspace")


class End(HttpCase):
    def test_a_signal_lets_a_short_call_end_and_stops_a_long_one(self):
        server = self.serve()
        client = HttpClient(server)
        done = []
        words = [f"300.{os.getpid()}", f"301.{os.getpid()}"]
        threads = self.start_commands(client, words, lambda _, call: done.append(str(client.ask("tools/call", call))))
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)  # a server that does not wait has stopped both calls now
        wait_until(lambda: end_processes("sleep", words[1]))
        self.assertEqual(server.status(), 0)
        for thread in threads:
            thread.join(timeout=DEADLINE_S)
        self.assertEqual(len([one for one in done if f"ended {words[1]}" in one]), 1, done)
        self.assertFalse(is_running(f"sleep {words[0]}"))


if __name__ == "__main__":
    hostile.main()
