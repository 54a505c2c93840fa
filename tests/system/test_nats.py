"""`galley-serve-nats`: the tools of a workspace over a real nats-server, as Nachos' ToolRunner serves
them."""

import base64
import binascii
import contextlib
import fcntl
import hashlib
import itertools
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import unittest
from pathlib import Path

import support
from nats_client import LinesOf, NatsClient, NatsServer
from terminal_session import wait_until

PROGRAM = Path(support.GALLEY).parent / "galley-serve-nats"
FILES = "nachos.tool.filesystem"
SESSION = "nachos.tool.transaction.request"


# A program of a tool: publishes on a subject of its own and on another one, and tells the answer.
TELLS = """#!/usr/bin/env python3
import json, os, socket, urllib.parse
url = urllib.parse.urlsplit(os.environ["NATS_URL"])
server = socket.create_connection((url.hostname, url.port))
lines = server.makefile("rb")
lines.readline()
options = {"verbose": False, "user": url.username, "pass": url.password}
server.sendall(b"CONNECT " + json.dumps(options).encode() + b"\\r\\nPUB tools.tell.it 5\\r\\nhello\\r\\n"
               b"PUB tool.filesystem.request 2\\r\\n{}\\r\\nPING\\r\\n")
said = ""
while not said.endswith("PONG\\r\\n"):
    said += lines.readline().decode()
print(json.dumps({"ok": True, "data": {"said": said}}))
"""


def openssl(*arguments, stdin=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=stdin, capture_output=True, check=True).stdout


class Nkey:
    """A key of a user, an account or an operator, as nkeys encode it: base32 of a prefix, the Ed25519
    key and a CRC-16 (https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth)."""

    PREFIXES = {"user": 20 << 3, "account": 0, "operator": 14 << 3}
    SEED = 18 << 3
    DER = bytes.fromhex("302e020100300506032b657004220420")

    def __init__(self, kind="user", seed=None):
        prefix = self.PREFIXES[kind]
        self.private = self.DER + (seed or os.urandom(32))
        public = openssl("pkey", "-inform", "DER", "-pubout", "-outform", "DER", stdin=self.private)
        self.public = self.encoded(bytes([prefix]) + public[-32:])
        self.seed = self.encoded(bytes([self.SEED | prefix >> 5, (prefix & 31) << 3]) + self.private[-32:])

    @staticmethod
    def encoded(raw):
        raw += binascii.crc_hqx(raw, 0).to_bytes(2, "little")
        return base64.b32encode(raw).decode().rstrip("=")

    def token(self, folder, about, kind):
        """Returns a JWT that this key signed about another key, or about itself."""
        claims = {"jti": "x", "iat": 1_700_000_000, "iss": self.public, "name": kind, "sub": about.public,
                  "nats": {"type": kind, "version": 2}}
        if kind == "account":
            claims["nats"]["limits"] = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)
        if kind == "user":
            claims["nats"] |= dict.fromkeys(("subs", "data", "payload"), -1)
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
                 for part in ({"typ": "JWT", "alg": "ed25519-nkey"}, claims)]
        signature = self.signature(folder, b".".join(parts))
        return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()

    def signature(self, folder, said):
        key, text = folder / "key", folder / "text"
        key.write_bytes(self.private)
        text.write_bytes(said)
        return openssl("pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", key, "-in", text)


class FirstNonce:
    """Relays connections to a server, and gives the first client a nonce that the server did not choose."""

    def __init__(self, server, nonce):
        self.to, self.nonce, self.clients = server.port, nonce, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"nats://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # the listener is closed
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client):
        self.clients += 1
        is_first = self.clients == 1
        with client, socket.create_connection(("127.0.0.1", self.to)) as server, server.makefile("rb") as lines:
            greeting = lines.readline()
            if is_first:
                greeting = re.sub(rb'"nonce":"[^"]*"', b'"nonce":"%s"' % self.nonce, greeting)
            client.sendall(greeting)
            threading.Thread(target=self._copy, args=(client.recv, server), daemon=True).start()
            self._copy(lines.read1, client)

    @staticmethod
    def _copy(read, to):
        with contextlib.suppress(OSError):  # either side is closed
            while piece := read(65536):
                to.sendall(piece)
            to.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def make_certificates(folder, host="localhost"):
    """Makes an authority and two certificates of it, `server` and `client`, for a host."""
    folder.mkdir()
    new = ["req", "-newkey", "rsa:2048", "-nodes", "-batch"]
    openssl(*new, "-x509", "-subj", "/CN=authority", "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
    for name in ("server", "client"):
        request = openssl(*new, "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{host}",
                          "-keyout", folder / f"{name}.key")
        openssl("x509", "-req", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial",
                "-copy_extensions", "copy", "-out", folder / f"{name}.pem", stdin=request)
        (folder / f"{name}.key").chmod(0o600)


class NatsCase(support.SystemCase):
    def setUp(self):
        super().setUp()
        (self.work / "workspace").mkdir()
        (self.work / "workspace" / "a.txt").write_text("one\n")
        self.numbers = itertools.count(1)

    def start_server(self, configuration="", **options):
        server = NatsServer(self.scratch / "nats", configuration, **options)
        self.addCleanup(server.stop)
        return server

    def start_door(self, server, config=None, address=None):
        """Starts the program and waits until it serves."""
        arguments = [PROGRAM, "--workspace", self.work, "--address", address or server.address]
        if config is not None:
            file = self.scratch / "serve.toml"
            file.write_text(config)
            arguments += ["--config", file]
        door = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env={**os.environ, **self.environment})
        door.log = LinesOf(door)
        self.addCleanup(self.end, door)
        door.log.wait_for("serving ")
        return door

    def end(self, door, with_signal=signal.SIGTERM):
        if door.poll() is None:
            door.send_signal(with_signal)
        status = door.wait(60)
        door.log.text()
        return status

    def kill(self, server, door):
        """Afterwards the server sends no request to the door that nobody would answer."""
        before = server.connections()
        self.end(door, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: server.connections() < before))

    @staticmethod
    def times_asleep(door):
        """Returns how often each thread waited for another."""
        status = {task: (task / "status").read_text() for task in Path(f"/proc/{door.pid}/task").iterdir()}
        return {task.name: int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", text)[1]) for task, text in status.items()}

    def client(self, server, **options):
        client = NatsClient(server.port, **options)
        self.addCleanup(client.close)
        return client

    def call_of(self, session="s1", call=None, **parameters):
        """A request of the document."""
        call = call or f"c{next(self.numbers)}"
        return {"id": f"r-{call}", "payload": {"sessionId": session, "callId": call, **parameters}}

    def serve(self, config=None):
        """Returns the server, the door and a client."""
        server = self.start_server()
        return server, self.start_door(server, config), self.client(server)


class Calls(NatsCase):
    def test_a_call_of_the_file_system_is_answered_in_the_envelope_and_committed(self):
        _, _, client = self.serve()
        request = self.call_of(action="write", path="workspace/b.txt", content="new\n")
        for subject in (f"{FILES}.request", "tool.filesystem.request"):
            with self.subTest(subject):
                answer = client.request(subject, request)
                self.assertEqual(sorted(answer), ["correlationId", "id", "payload", "source", "timestamp", "type"])
                self.assertRegex(answer["id"], r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
                self.assertRegex(answer["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
                self.assertEqual((answer["source"], answer["type"]), ("filesystem", "tool.response"))
                self.assertEqual(answer["correlationId"], request["id"])
                self.assertEqual((answer["payload"]["success"], answer["payload"]["result"]), (True, {"written": True}))
                self.assertIsInstance(answer["payload"]["metadata"]["duration"], int)
                self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "new\n")


    def test_errors_have_the_codes_of_the_document(self):
        (self.work / "workspace" / "data.json").write_text("{}\n")
        (self.work / "galley.toml").write_text('[policy]\nprotected = ["workspace/locked/**"]\n[[validator]]\nbuiltin = "json"\n')
        _, _, client = self.serve()
        for parameters, code, says in (
                ({"action": "read"}, "VALIDATION_ERROR", "path"),
                ({"action": "read", "path": "README.md"}, "VALIDATION_ERROR", "Path README.md is not in allowed directories"),
                ({"action": "read", "path": "../outside.txt"}, "POLICY_DENIED", "out of the workspace"),
                ({"action": "read", "path": "/etc/passwd"}, "POLICY_DENIED", "outside the workspace"),
                ({"action": "read", "path": "workspace/../../outside"}, "POLICY_DENIED", "out of the workspace"),
                ({"action": "write", "path": "workspace/x"}, "VALIDATION_ERROR", "content is required for write action"),
                ({"action": "read", "path": "workspace/gone.txt"}, "EXECUTION_ERROR", "gone.txt"),
                ({"action": "write", "path": "workspace/locked/x", "content": "x"}, "POLICY_DENIED", "locked"),
                ({"action": "write", "path": "workspace/data.json", "content": "{"}, "POLICY_DENIED", "json")):
            with self.subTest(**parameters):
                payload = client.request(f"{FILES}.request", self.call_of(**parameters))["payload"]
                self.assertEqual((payload["success"], payload["error"]["code"]), (False, code), payload)
                self.assertIn(says, payload["error"]["message"])
                self.assertNotIn("result", payload)
        records = map(json.loads, (self.work / ".galley" / "audit.jsonl").read_text().splitlines())
        self.assertEqual([each["call_id"] for each in records if each["kind"] == "call"], [f"c{i}" for i in range(1, 10)])
        self.assertEqual((self.work / "workspace" / "data.json").read_text(), "{}\n")
        self.assertFalse((self.work / "workspace" / "locked").exists())

    def test_a_folder_that_is_replaced_is_neither_read_nor_changed(self):
        _, _, client = self.serve()
        staged = {"action": "write", "path": "workspace/staged.txt", "content": "x"}
        for subject, parameters in ((SESSION, {"action": "begin"}), (f"{FILES}.request", staged)):
            self.assertTrue(client.request(subject, self.call_of("s2", **parameters))["payload"]["success"])
        away = self.work.with_name("away")
        self.work.rename(away)
        (self.work / "workspace").mkdir(parents=True)
        (self.work / "workspace" / "other.txt").write_text("other\n")
        for subject, session, parameters in (
                (f"{FILES}.request", "s1", {"action": "read", "path": "workspace/other.txt"}), (f"{FILES}.request", "s1", staged),
                (f"{FILES}.request", "s2", staged), (SESSION, "s2", {"action": "commit"}), (SESSION, "s3", {"action": "begin"})):
            with self.subTest(session=session, **parameters):
                payload = client.request(subject, self.call_of(session, **parameters))["payload"]
                self.assertFalse(payload["success"])
                self.assertIn("was moved away or replaced", payload["error"]["message"])
        self.assertEqual([each.name for each in (self.work / "workspace").iterdir()], ["other.txt"])
        self.assertFalse((away / "workspace" / "new.txt").exists())

    def test_what_is_not_a_request_is_answered_without_an_envelope(self):
        _, _, client = self.serve()
        for text in (b"", b"{", b"null", b"\xff\xfe", b"[" * 5000, b'{"id": 1, "id": 2}'):
            with self.subTest(text=text[:20]):
                answer = client.request(f"{FILES}.request", text)
                self.assertEqual(sorted(answer), ["error", "success"])
                self.assertEqual((answer["success"], answer["error"]["code"]), (False, "INTERNAL_ERROR"))
                self.assertTrue(answer["error"]["message"])

    def test_a_request_without_parameters_reaches_no_tool(self):
        _, _, client = self.serve()
        for text in (b"[]", b"{}", b"7", b'{"id": 1, "payload": []}', b'{"id": 1}'):
            with self.subTest(text=text):
                answer = client.request(f"{FILES}.request", text)
                self.assertEqual((answer["type"], answer["payload"]["error"]["code"]), ("tool.response", "VALIDATION_ERROR"))

    def test_ids_are_taken_out_and_are_on_record(self):
        _, _, client = self.serve()
        write = self.call_of("session 7", "call 9", action="write", path="workspace/b.txt", content="x")
        read = self.call_of("session 7", "call 10", action="read", path="workspace/a.txt")
        for request in (write, read):
            self.assertTrue(client.request(f"{FILES}.request", request)["payload"]["success"])
        lines = [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        calls = {line["call_id"]: line for line in lines if line["kind"] == "call"}
        self.assertEqual(sorted(calls), ["call 10", "call 9"])
        for line in calls.values():
            self.assertEqual((line["session_id"], line["agent"], line["tool"]), ("session 7", "nachos", "filesystem"))
        for wrong in ({"sessionId": "", "callId": "c"}, {"callId": "c"}, {"sessionId": "s", "callId": 7},
                      {"sessionId": "s\n", "callId": "c"}, {"sessionId": "s ", "callId": "c"}, {"sessionId": "s", "callId": "c" * 129}):
            with self.subTest(wrong):
                answer = client.request(f"{FILES}.request", {"id": [1], "payload": {"action": "read", "path": "workspace/a.txt", **wrong}})
                self.assertEqual(answer["payload"]["error"]["code"], "VALIDATION_ERROR")
                self.assertEqual(answer["correlationId"], [1])

    def test_a_request_without_an_id_has_an_answer_without_one(self):
        _, _, client = self.serve()
        request = self.call_of(action="read", path="workspace/a.txt")
        del request["id"]
        answer = client.request(f"{FILES}.request", request)
        self.assertNotIn("correlationId", answer)
        self.assertEqual(answer["payload"]["result"], "one\n")

    def test_a_call_that_is_delivered_twice_is_made_once(self):
        _, _, client = self.serve()
        request = self.call_of(call="same", action="write", path="workspace/b.txt", content="new\n")
        first = client.request(f"{FILES}.request", request)
        (self.work / "workspace" / "b.txt").write_text("by another program\n")
        second = client.request(f"{FILES}.request", request)
        self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "by another program\n")
        self.assertEqual((first["payload"]["metadata"].pop("cached"), second["payload"]["metadata"].pop("cached")), (False, True))
        self.assertEqual(second["payload"], first["payload"])
        self.assertNotEqual(second["id"], first["id"])
        other = client.request(f"{FILES}.request", self.call_of(call="same", action="delete", path="workspace/b.txt"))
        self.assertEqual(other["payload"]["error"]["code"], "VALIDATION_ERROR")
        self.assertIn("same", other["payload"]["error"]["message"])
        self.assertTrue((self.work / "workspace" / "b.txt").exists())
        elsewhere = client.request(f"{FILES}.request", self.call_of("s2", "same", action="read", path="workspace/b.txt"))
        self.assertEqual(elsewhere["payload"]["result"], "by another program\n")


class Flow(NatsCase):
    """The steps of the document's diagram: the request, the policy, the tool, and the result."""

    def test_an_allowed_request_is_delivered_and_a_denied_one_is_answered(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\nname = "no notes"\npaths = ["workspace/notes/**"]\ndecision = "deny"\n')
        _, _, client = self.serve()
        allowed = client.request("tool.filesystem.request", self.call_of(action="write", path="workspace/b.txt", content="x"))
        denied = client.request("tool.filesystem.request", self.call_of(action="write", path="workspace/notes/b.txt", content="x"))
        self.assertEqual(allowed["payload"]["result"], {"written": True})
        self.assertEqual(denied["payload"]["error"]["code"], "POLICY_DENIED")
        self.assertIn("no notes", denied["payload"]["error"]["message"])
        self.assertEqual((denied["source"], denied["type"]), ("filesystem", "tool.response"))
        self.assertFalse((self.work / "workspace" / "notes").exists())

    def test_the_security_mode_decides_about_the_tier_of_the_tool(self):
        (self.work / "galley.toml").write_text('[policy]\nmode = "strict"\n')
        _, _, client = self.serve()
        payload = client.request(f"{FILES}.request", self.call_of(action="write", path="workspace/b.txt", content="x"))["payload"]
        self.assertEqual(payload["error"]["code"], "POLICY_DENIED")
        self.assertFalse((self.work / "workspace" / "b.txt").exists())


class Discovery(NatsCase):
    def test_manifests_are_published_at_the_start_and_on_request(self):
        server = self.start_server()
        client = self.client(server)
        heard = client.subscribe("nachos.tool.manifests")
        self.start_door(server)
        published = json.loads(client.next(heard)[2])
        shown = json.loads(self.galley("tools", "show", "filesystem", "--profile", "nachos", "--manifest", expect=0).stdout)
        self.assertEqual(published, [shown])
        self.assertEqual(published[0]["provides"], {"tool": "filesystem", "securityTier": 2})
        self.assertEqual(client.request("nachos.tool.manifests", b""), published)

    def test_health_and_validation_have_subjects_of_their_own(self):
        _, _, client = self.serve()
        self.assertEqual(client.request(f"{FILES}.health", b""), {"healthy": True})
        folder = self.work / "workspace"
        folder.rename(self.work / "elsewhere")
        ill = client.request(f"{FILES}.health", b"")
        self.assertEqual((ill["healthy"], ill["error"].partition(":")[0]), (False, "Workspace not accessible"))
        (self.work / "elsewhere").rename(folder)
        self.assertEqual(client.request(f"{FILES}.health", b""), {"healthy": True})
        good = self.call_of(action="read", path="workspace/a.txt")
        self.assertEqual(client.request(f"{FILES}.validate", good), {"valid": True})
        bad = client.request(f"{FILES}.validate", self.call_of(action="jump", path="workspace/a.txt"))
        self.assertEqual(bad["valid"], False)
        self.assertIn("action", bad["errors"][0])
        self.assertEqual(client.request(f"{FILES}.validate", b"{")["error"]["code"], "INTERNAL_ERROR")
        for action, valid in (("commit", True), ("comit", False)):
            told = client.request("nachos.tool.transaction.validate", self.call_of(action=action))
            self.assertEqual(told["valid"], valid, told)

    def test_a_tool_of_a_person_is_served_with_its_manifest_and_its_secrets(self):
        folder = self.scratch / "tool"
        folder.mkdir()
        manifest = {"name": "nachos-tool-echo", "version": "1.0.0", "type": "tool", "description": "For a test.",
                    "provides": {"tool": "pack.echo", "securityTier": 1}, "executable": "run", "secrets": ["KEY"]}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        (folder / "run").write_text("#!/bin/sh\n[ \"$KEY\" = hush-hush-hush ] && printf '{\"ok\": true, \"data\": {\"knew\": true}}'\n")
        (folder / "run").chmod(0o755)
        self.galley("tools", "add", folder, expect=0)
        secrets = self.scratch / "secrets"
        secrets.write_text("KEY=hush-hush-hush\n")
        secrets.chmod(0o600)
        _, _, client = self.serve(f'secrets_file = "{secrets}"\n')
        self.assertIn(manifest, client.request("nachos.tool.manifests", b""))
        answer = client.request("nachos.tool.pack_echo.request", self.call_of())
        self.skip_if_unavailable(json.dumps(answer).encode())
        self.assertTrue(answer["payload"]["success"], answer)
        self.assertEqual((answer["source"], answer["payload"]["result"]), ("pack.echo", {"knew": True}), answer)

    def test_a_tools_program_gets_an_address_with_subjects_of_its_own(self):
        (self.work / "galley.toml").write_text('[sandbox]\nnetwork = true\n[agents.nachos]\n'
                                               'capabilities = ["fs:read", "exec:*", "net:host"]\n')
        folder = self.scratch / "tool"
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(
            {"name": "nachos-tool-tell", "version": "1.0.0", "type": "tool", "description": "For a test.",
             "provides": {"tool": "tell", "securityTier": 1}, "executable": "run", "secrets": ["NATS_URL"],
             "capabilities": {"network": {"egress": ["*"]}}}))
        (folder / "run").write_text(TELLS)
        (folder / "run").chmod(0o755)
        self.galley("tools", "add", folder, expect=0)
        server = self.start_server('authorization { users: [ { user: all, password: all }, { user: tool, password: tool-tool, '
                                   'permissions: { publish: "tools.tell.>", subscribe: "tools.tell.>" } } ] }')
        secrets = self.scratch / "secrets"
        secrets.write_text(f"NATS_URL=nats://tool:tool-tool@127.0.0.1:{server.port}\n")
        secrets.chmod(0o600)
        self.start_door(server, f'secrets_file = "{secrets}"\n', f"nats://all:all@127.0.0.1:{server.port}")
        client = self.client(server, user="all", password="all")
        heard = client.subscribe("tools.tell.>")
        answer = client.request("nachos.tool.tell.request", self.call_of())
        self.skip_if_unavailable(json.dumps(answer).encode())
        self.assertTrue(answer["payload"]["success"], answer)
        self.assertIn("Permissions Violation for Publish to \"tool.filesystem.request\"", answer["payload"]["result"]["said"])
        self.assertEqual(client.next(heard)[2], b"hello")


class Sessions(NatsCase):
    """A session that asks for one transaction with an explicit commit."""

    def transaction(self, client, action, session="s1"):
        return client.request(SESSION, self.call_of(session, action=action))["payload"]

    def write(self, client, text, session="s1", **more):
        return client.request(f"{FILES}.request", self.call_of(session, **{"action": "write", "path": "workspace/b.txt", "content": text, **more}))["payload"]

    def read(self, client, session="s1"):
        return client.request(f"{FILES}.request", self.call_of(session, action="read", path="workspace/b.txt"))["payload"]

    def test_nothing_is_on_disk_before_the_commit(self):
        _, _, client = self.serve()
        self.assertTrue(self.transaction(client, "begin")["result"]["transaction"])
        self.assertTrue(self.write(client, "staged\n")["success"])
        self.assertEqual(self.read(client)["result"], "staged\n")
        self.assertFalse(self.read(client, "another")["success"])
        self.assertFalse((self.work / "workspace" / "b.txt").exists())
        self.assertEqual(self.transaction(client, "commit")["result"], {"committed": True})
        self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "staged\n")
        self.assertEqual(self.transaction(client, "commit")["error"]["code"], "EXECUTION_ERROR")
        self.write(client, "committed by itself\n")
        self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "committed by itself\n")

    def test_a_rollback_drops_what_was_staged(self):
        _, _, client = self.serve()
        first = self.transaction(client, "begin")["result"]
        self.assertEqual(self.transaction(client, "begin")["result"], first)
        self.write(client, "staged\n")
        self.assertEqual(self.transaction(client, "rollback")["result"], {"rolledBack": True})
        self.assertFalse(self.read(client)["success"])
        self.transaction(client, "begin")
        self.assertEqual(self.transaction(client, "commit")["result"], {"committed": False})

    def test_calls_that_do_not_wait_for_answers_run_in_order(self):
        _, _, client = self.serve()
        for number in range(10):
            session, path = f"s{number}", f"workspace/{number}.txt"
            # The first request takes long to read.
            calls = [(SESSION, self.call_of(session, action="begin", more=[0] * 300_000)),
                     (f"{FILES}.request", self.call_of(session, action="write", path=path, content="x")),
                     (SESSION, self.call_of(session, action="rollback"))]
            replies = [client.start_request(subject, json.dumps(call).encode()) for subject, call in calls]
            answers = [client.reply_to(reply)["payload"] for reply in replies]
            self.assertEqual([answer["success"] for answer in answers], [True] * 3, answers)
            self.assertFalse((self.work / path).exists())

    def test_open_transactions_have_a_limit(self, config=None):
        _, _, client = self.serve(config)
        for number in range(256):
            self.assertTrue(self.transaction(client, "begin", f"s{number}")["success"])
        request = self.call_of("one more", action="begin")
        self.assertIn("transactions are open", client.request(SESSION, request)["payload"]["error"]["message"])
        self.assertTrue(self.write(client, "without one\n", "one more")["success"])
        self.transaction(client, "rollback", "s0")
        self.assertTrue(client.request(SESSION, request)["payload"]["success"])

    def test_a_refused_commit_leaves_the_transaction_open(self):
        (self.work / "galley.toml").write_text('[[validator]]\nbuiltin = "json"\n')
        _, _, client = self.serve()
        self.transaction(client, "begin")
        path = {"path": "workspace/b.json"}
        self.write(client, "{", **path)
        refused = self.transaction(client, "commit")
        self.assertEqual(refused["error"]["code"], "POLICY_DENIED")
        self.assertIn("b.json", json.dumps(refused["error"]["details"]))
        self.write(client, "{}", **path)
        self.assertEqual(self.transaction(client, "commit")["result"], {"committed": True})

    def test_the_configuration_can_ask_every_session_to_commit(self):
        _, _, client = self.serve('commit = "session"\n')
        self.assertFalse(self.read(client)["success"])
        self.assertTrue(self.write(client, "staged\n")["success"])
        self.assertFalse((self.work / "workspace" / "b.txt").exists())
        self.assertEqual(self.transaction(client, "commit")["result"], {"committed": True})

    def test_a_session_goes_on_after_the_death_of_its_process(self):
        server, door, client = self.serve()
        self.transaction(client, "begin")
        self.write(client, "staged\n")
        self.kill(server, door)
        self.start_door(server)
        self.assertEqual(self.read(client)["result"], "staged\n")
        self.assertEqual(self.transaction(client, "commit")["result"], {"committed": True})


class Group(NatsCase):
    """Several processes of one queue group that share sessions and results in JetStream."""

    write, read, transaction = Sessions.write, Sessions.read, Sessions.transaction

    def serve_both(self):
        server, door, client = self.serve("jetstream = true\n")
        return server, [door, self.start_door(server, "jetstream = true\n")], client

    def test_the_calls_of_a_session_reach_the_process_that_holds_it(self):
        _, _, client = self.serve_both()
        self.transaction(client, "begin")
        for number in range(20):
            written = self.write(client, f"{number}\n")
            self.assertTrue(written["success"], written)
            self.assertEqual(self.read(client)["result"], f"{number}\n")
        self.assertEqual(self.transaction(client, "commit")["result"], {"committed": True})
        self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "19\n")
        self.assertEqual(self.transaction(client, "commit")["error"]["code"], "EXECUTION_ERROR")

    def test_a_session_goes_on_when_its_holder_is_killed(self):
        server, doors, client = self.serve_both()
        for number in range(6):
            self.transaction(client, "begin", f"s{number}")
            self.assertTrue(self.write(client, "x", f"s{number}", path=f"workspace/{number}.txt")["success"])
        self.kill(server, doors[0])
        for number in range(6):
            read = client.request(f"{FILES}.request", self.call_of(f"s{number}", action="read", path=f"workspace/{number}.txt"))
            self.assertEqual(read["payload"]["result"], "x")
            self.assertEqual(self.transaction(client, "commit", f"s{number}")["result"], {"committed": True})

    def test_a_call_that_did_not_run_may_be_made_again(self):
        Sessions.test_open_transactions_have_a_limit(self, "jetstream = true\n")

    def test_a_lease_that_names_no_process_is_taken(self):
        server, door, client = self.serve("jetstream = true\n")
        leases = client.subscribe("$KV.galley-sessions-galley.*")
        for number, text in enumerate((b"x y 3\r\nPUB z 0", b"", b"a.>", b"A" * 32, b"f" * 33)):
            session = f"s{number}"
            self.transaction(client, "begin", session)
            self.assertTrue(self.write(client, "x", session, path=f"workspace/{number}.txt")["success"])
            client.publish(client.next(leases)[0], text)
            self.assertEqual(client.next(leases)[2], text)
        self.end(door)
        self.start_door(server, "jetstream = true\n")
        for name in range(number + 1):
            self.assertEqual(self.transaction(client, "commit", f"s{name}")["result"], {"committed": True})

    def test_a_call_that_is_delivered_twice_is_made_once_by_all(self):
        server, doors, client = self.serve_both()
        for number in range(10):
            request = self.call_of(action="write", path=f"workspace/{number}.txt", content="x")
            self.assertTrue(client.request(f"{FILES}.request", request)["payload"]["success"])
            (self.work / "workspace" / f"{number}.txt").unlink()
            again = client.request(f"{FILES}.request", request)["payload"]
            self.assertEqual((again["result"], again["metadata"]["cached"]), ({"written": True}, True))
        for door in doors:
            self.end(door)
        self.start_door(server, "jetstream = true\n")
        self.assertTrue(client.request(f"{FILES}.request", request)["payload"]["metadata"]["cached"])
        other = client.request(f"{FILES}.request", {**request, "payload": {**request["payload"], "content": "y"}})
        self.assertEqual(other["payload"]["error"]["code"], "VALIDATION_ERROR")
        self.assertEqual(list((self.work / "workspace").glob("[0-9].txt")), [])

    def test_buckets_that_were_deleted_are_made_again(self):
        _, _, client = self.serve("jetstream = true\n")
        buckets = [f"KV_galley-{name}-galley" for name in ("sessions", "calls")]

        def delete():
            for bucket in buckets:
                self.assertTrue(client.request(f"$JS.API.STREAM.DELETE.{bucket}", b"")["success"])

        delete()
        self.assertEqual(client.request(f"{FILES}.health", b""), {"healthy": True})
        for bucket in buckets:
            self.assertIn("config", client.request(f"$JS.API.STREAM.INFO.{bucket}", b""))
        delete()
        request = self.call_of(action="write", path="workspace/b.txt", content="x")
        for is_cached in (False, True):
            self.assertEqual(client.request(f"{FILES}.request", request)["payload"]["metadata"]["cached"], is_cached)

    def test_calls_at_once_after_buckets_were_deleted_are_all_made(self):
        for rule in ("each call", "session"):
            with self.subTest(rule):
                server, door, client = self.serve(f'jetstream = true\ncalls_at_once = 8\ncommit = "{rule}"\n')
                for name in ("sessions", "calls"):
                    self.assertTrue(client.request(f"$JS.API.STREAM.DELETE.KV_galley-{name}-galley", b"")["success"])
                requests = [self.call_of(f"{rule[0]}{number}", action="write", path=f"workspace/{number}.txt", content="x") for number in range(8)]
                replies = [client.start_request(f"{FILES}.request", json.dumps(request).encode()) for request in requests]
                answers = [client.reply_to(reply)["payload"] for reply in replies]
                self.assertEqual([answer for answer in answers if not answer["success"]], [])
                self.end(door)
                server.stop()

    def test_a_call_whose_process_died_is_not_made_again(self):
        (self.work / "galley.toml").write_text("[commit]\nlock_timeout_ms = 3600000\n")
        server, door, client = self.serve("jetstream = true\n")
        lock = Limits.hold_commits(self, client)
        request = self.call_of("s2", action="write", path="workspace/b.txt", content="x")
        noted = client.subscribe("$KV.galley-calls-galley.*")
        client.start_request(f"{FILES}.request", json.dumps(request).encode())
        client.next(noted)
        self.kill(server, door)
        lock.close()
        self.start_door(server, "jetstream = true\n")
        again = client.request(f"{FILES}.request", request)["payload"]
        self.assertEqual(again["error"]["code"], "EXECUTION_ERROR")
        self.assertIn("has not told its result", again["error"]["message"])
        self.assertFalse((self.work / "workspace" / "b.txt").exists())


class Limits(NatsCase):
    def hold_commits(self, client):
        """Makes every commit wait until the returned file is closed."""
        client.request(f"{FILES}.request", self.call_of(action="write", path="workspace/first.txt", content="x"))
        lock = open(self.work / ".galley" / "lock", "rb+")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def start_write(self, client, name, session=None):
        request = self.call_of(session or name, action="write", path=f"workspace/{name}.txt", content="x")
        return client.start_request(f"{FILES}.request", json.dumps(request).encode())

    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text("[commit]\nlock_timeout_ms = 3600000\n")

    def test_a_request_that_is_too_large_is_answered(self):
        server = self.start_server("max_payload: 8388608")
        self.start_door(server, 'most_request_bytes = "1 KiB"\n')
        client = self.client(server)
        answer = client.request(f"{FILES}.request", self.call_of(action="write", path="workspace/b.txt", content="x" * 4_000_000))
        self.assertEqual(answer["error"]["code"], "INTERNAL_ERROR")
        self.assertIn("the limit is 1024", answer["error"]["message"])
        self.assertFalse((self.work / "workspace" / "b.txt").exists())
        self.assertTrue(client.request(f"{FILES}.request", self.call_of(action="read", path="workspace/a.txt"))["payload"]["success"])

    def test_an_answer_that_is_too_large_says_so(self):
        (self.work / "workspace" / "large.txt").write_text("x" * 900_000)
        server = self.start_server("max_payload: 65536")
        self.start_door(server)
        payload = self.client(server).request(f"{FILES}.request", self.call_of(action="read", path="workspace/large.txt"))["payload"]
        self.assertFalse(payload["success"])
        self.assertIn("takes at most 65536", payload["error"]["message"])

    def test_a_request_without_a_reply_subject_is_done(self):
        _, _, client = self.serve()
        request = self.call_of(action="write", path="workspace/b.txt", content="x")
        client.publish(f"{FILES}.request", json.dumps(request).encode())
        read = client.request(f"{FILES}.request", self.call_of(action="read", path="workspace/b.txt"))
        self.assertEqual(read["payload"]["result"], "x")

    def test_no_answer_goes_where_the_caller_may_not_publish(self):
        _, door, client = self.serve()
        heard = client.subscribe(">")
        subjects = ["$JS.API.STREAM.PURGE.x", "$KV.galley-sessions-galley.x", "nachos.holder.x.ping", "tool.filesystem.request",
                    "galley.jobs", "a.*", "a.>", "a..b", ".a", "a.", "a.\x01"]
        for path in ("a.txt", "b.txt"):
            write = {"action": "write", "path": f"workspace/{path}", "content": "x"}
            for subject in subjects if path == "b.txt" else ("an.ordinary.subject",):
                client.publish(f"{FILES}.request", json.dumps(self.call_of(**write)).encode(), subject)
            client.request(f"{FILES}.request", self.call_of(action="read", path="workspace/a.txt"))
        client.flush()
        told = {message[0] for message in client.messages[heard]}
        self.assertIn("an.ordinary.subject", told)
        self.assertEqual(told & set(subjects), set())
        self.assertFalse((self.work / "workspace" / "b.txt").exists())
        self.end(door)
        self.assertEqual(door.log.text().count("no answer may go to "), len(subjects))

    def test_nothing_serves_an_unknown_tool(self):
        _, _, client = self.serve()
        with self.assertRaisesRegex(AssertionError, "nothing serves"):
            client.request("nachos.tool.browser.request", self.call_of())

    def test_requests_beyond_the_queue_are_refused_at_once(self):
        _, _, client = self.serve("calls_at_once = 1\nmost_waiting = 3\n")
        lock = self.hold_commits(client)
        replies = [self.start_write(client, f"n{number}") for number in range(10)]
        for reply in replies[3:]:
            answer = client.reply_to(reply)
            self.assertEqual(answer["error"]["code"], "INTERNAL_ERROR")
            self.assertIn("send it again later", answer["error"]["message"])
        lock.close()
        for reply in replies[:3]:
            self.assertEqual(client.reply_to(reply)["payload"]["result"], {"written": True})
        self.assertEqual(sorted(path.name for path in (self.work / "workspace").glob("n*")), ["n0.txt", "n1.txt", "n2.txt"])

    def test_calls_one_after_the_other_wake_few_threads(self):
        """The worker that ended a call last makes the next one, so its memory is still in the caches of the processor."""
        calls, workers = 100, 16
        _, door, client = self.serve(f"calls_at_once = {workers}\n")

        def read():
            client.request(f"{FILES}.request", self.call_of(action="read", path="workspace/a.txt"))

        read()
        before = self.times_asleep(door)
        for _ in range(calls):
            read()
        woken = [task for task, times in self.times_asleep(door).items() if times - before.get(task, 0) >= calls // workers]
        self.assertLess(len(woken), workers)

    def test_messages_that_wait_to_be_freed_take_little_memory(self):
        """Messages are freed together, but not so many large ones."""
        _, door, client = self.serve()
        request = {"id": "x", "payload": "A" * 500_000}

        def resident_kib():
            return int(re.search(r"\nVmRSS:\s*(\d+)", Path(f"/proc/{door.pid}/status").read_text())[1])

        for _ in range(10):
            self.assertFalse(client.request(f"{FILES}.request", request)["payload"]["success"])
        before = resident_kib()
        for _ in range(50):
            client.request(f"{FILES}.request", request)
        self.assertLess(resident_kib() - before, 10_000)

    def test_a_session_that_waits_holds_up_no_other(self):
        _, _, client = self.serve("calls_at_once = 2\n")
        lock = self.hold_commits(client)
        replies = [self.start_write(client, f"n{number}", "one session") for number in range(5)]
        read = client.request(f"{FILES}.request", self.call_of("another", action="read", path="workspace/a.txt"))
        self.assertEqual(read["payload"]["result"], "one\n")
        lock.close()
        for reply in replies:
            self.assertTrue(client.reply_to(reply)["payload"]["success"])

    def test_sigterm_answers_what_was_accepted(self):
        _, door, client = self.serve()
        lock = self.hold_commits(client)
        reply = self.start_write(client, "last")
        client.flush()
        read = client.request(f"{FILES}.request", self.call_of("another", action="read", path="workspace/a.txt"))
        self.assertTrue(read["payload"]["success"])
        door.send_signal(signal.SIGTERM)
        while b"503" not in self.probe(client):
            pass
        lock.close()
        self.assertEqual(client.reply_to(reply)["payload"]["result"], {"written": True})
        self.assertEqual(self.end(door), 0)
        self.assertIn("ended", door.log.text())

    def test_calls_that_wait_at_the_end_are_told_to_come_again(self):
        _, door, client = self.serve("calls_at_once = 2\ndrain_ms = 1\n")
        lock = self.hold_commits(client)
        first, *later = [self.start_write(client, f"n{number}", "one session") for number in range(3)]
        client.request(f"{FILES}.request", self.call_of("another", action="read", path="workspace/a.txt"))
        door.send_signal(signal.SIGTERM)
        for reply in later:
            self.assertIn("the server ends: send the request again", client.reply_to(reply)["error"]["message"])
        lock.close()
        self.assertIn("payload", client.reply_to(first))
        self.assertEqual(self.end(door), 0)
        self.assertEqual(list((self.work / "workspace").glob("n[12].txt")), [])

    def probe(self, client):
        """Returns the headers of the reply to a request about the health: 503 if nothing serves it."""
        reply = client.start_request(f"{FILES}.health", b"")
        while True:
            for message in client.messages[client.inbox_number]:
                if message[0] == reply:
                    client.messages[client.inbox_number].remove(message)
                    return message[1]
            client._take()

    def test_a_call_survives_a_restart_of_the_server(self):
        server, door, client = self.serve()
        lock = self.hold_commits(client)
        request = self.call_of(action="write", path="workspace/b.txt", content="x")
        client.publish(f"{FILES}.request", json.dumps(request).encode(), "nobody.hears.it")
        self.assertTrue(client.request(f"{FILES}.request", self.call_of("s2", action="read", path="workspace/a.txt"))["payload"]["success"])
        again = server.restarted()
        self.addCleanup(again.stop)
        door.log.wait_for("connected to the NATS server again")
        lock.close()
        second = self.client(again).request(f"{FILES}.request", request)["payload"]
        self.assertEqual((second["result"], second["metadata"]["cached"]), ({"written": True}, True))


class Connections(NatsCase):
    def start_failing(self, address, config=""):
        file = self.scratch / "serve.toml"
        file.write_text(config)
        return subprocess.run([PROGRAM, "--workspace", self.work, "--address", address, "--config", file], capture_output=True,
                              env={**os.environ, **self.environment}, timeout=60, check=False)

    def test_a_server_that_is_not_there_is_named(self):
        server = self.start_server()
        server.stop()
        failed = self.start_failing(f"nats://me:hush@127.0.0.1:{server.port}")
        self.assertEqual(failed.returncode, 3)
        self.assert_one_clear_message(failed)
        self.assertIn(f"nats://127.0.0.1:{server.port}".encode(), failed.stderr)
        self.assertNotIn(b"hush", failed.stderr)

    def test_a_password_is_in_no_message(self):
        server = self.start_server('authorization { user: me, password: "hush" }')
        failed = self.start_failing(f"nats://me:hushed@127.0.0.1:{server.port}")
        self.assertEqual(failed.returncode, 3)
        self.assertNotIn(b"hush", failed.stderr)
        door = self.start_door(server, address=f"nats://me:hush@127.0.0.1:{server.port}")
        client = self.client(server, user="me", password="hush")
        self.assertEqual(client.request(f"{FILES}.health", b""), {"healthy": True})
        self.end(door)
        self.assertNotIn("hush", door.log.text())

    def test_a_program_of_the_host_does_not_get_the_connection(self):
        config, seen = self.scratch / "config" / "galley" / "config.toml", self.scratch / "seen"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'[commit]\nafter_apply = ["/bin/sh", "-c", "ls -l /proc/$$/fd > {seen}"]\n')
        _, _, client = self.serve()
        self.assertTrue(client.request(f"{FILES}.request", self.call_of(action="write", path="workspace/b.txt", content="x"))["payload"]["success"])
        self.assertIn(" 1 -> ", seen.read_text())
        self.assertNotIn("socket:", seen.read_text())

    def test_a_seed_of_an_nkey_lets_it_in(self):
        own = Nkey()
        server = self.start_server(f"authorization {{ users: [{{ nkey: {own.public} }}, {{ user: me, password: it }}] }}")
        file = self.scratch / "seed"
        file.write_text(own.seed)
        config = f'[connection]\nnkey = "{own.public}"\nnkey_seed = "{file}"\n'
        file.chmod(0o644)
        failed = self.start_failing(server.address, config)
        self.assertEqual(failed.returncode, 1)
        self.assertIn(b"chmod 600", failed.stderr)
        file.chmod(0o600)
        self.start_door(server, config)
        client = self.client(server, user="me", password="it")
        self.assertEqual(client.request(f"{FILES}.health", b""), {"healthy": True})

    def test_a_signature_that_begins_with_a_zero_is_made_again(self):
        own, nonce = Nkey(seed=hashlib.sha256(b"1").digest()), b"BNaL5QjMGQSw1ng"
        self.assertEqual(own.signature(self.scratch, nonce)[0], 0)
        server = self.start_server(f"authorization {{ users: [{{ nkey: {own.public} }}, {{ user: me, password: it }}] }}")
        file = self.scratch / "seed"
        file.touch(0o600)
        file.write_text(own.seed)
        relay = FirstNonce(server, nonce)
        self.addCleanup(relay.close)
        self.start_door(server, f'[connection]\nnkey = "{own.public}"\nnkey_seed = "{file}"\n', relay.address)
        client = self.client(server, user="me", password="it")
        self.assertEqual(client.request(f"{FILES}.health", b""), {"healthy": True})

    def test_a_credentials_file_lets_it_in(self):
        operator, account, user = Nkey("operator"), Nkey("account"), Nkey()
        server = self.start_server(
            f"operator: {operator.token(self.scratch, operator, 'operator')}\nresolver: MEMORY\n"
            f"resolver_preload: {{ {account.public}: {operator.token(self.scratch, account, 'account')} }}", has_jetstream=False)
        file = self.scratch / "user.creds"
        file.touch(0o600)
        file.write_text(f"-----BEGIN NATS USER JWT-----\n{account.token(self.scratch, user, 'user')}\n------END NATS USER JWT------\n\n"
                        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n")
        self.assertEqual(self.start_failing(server.address).returncode, 3)
        self.assertIn(b"jetstream", self.start_failing(server.address, f'jetstream = true\n[connection]\ncredentials = "{file}"\n').stderr)
        door = self.start_door(server, f'[connection]\ncredentials = "{file}"\n')
        self.assertEqual(self.end(door), 0)
        self.assertNotIn(user.seed, door.log.text())

    def test_both_sides_show_their_certificate(self):
        folder = self.scratch / "tls"
        make_certificates(folder)
        server = self.start_server(f'tls {{ cert_file: "{folder}/server.pem", key_file: "{folder}/server.key", '
                                   f'ca_file: "{folder}/ca.pem", verify: true }}')
        address = f"tls://localhost:{server.port}"
        failed = self.start_failing(address, f'[connection]\nca = "{folder}/ca.pem"\n')
        self.assertEqual(failed.returncode, 3)
        own = f'certificate = "{folder}/client.pem"\nkey = "{folder}/client.key"\n'
        other = self.scratch / "other"
        make_certificates(other)
        failed = self.start_failing(address, f'[connection]\nca = "{other}/ca.pem"\n{own}')
        self.assertEqual(failed.returncode, 3)
        self.start_door(server, f'[connection]\nca = "{folder}/ca.pem"\n{own}', address)
        context = ssl.create_default_context(cafile=folder / "ca.pem")
        context.load_cert_chain(folder / "client.pem", folder / "client.key")
        self.assertEqual(self.client(server, tls=context).request(f"{FILES}.health", b""), {"healthy": True})

    def test_a_server_needs_only_the_documented_subjects(self):
        page = (support.ROOT / "docs" / "nats.md").read_text()
        alone, shared = (part.split("```")[0] for part in page.split("```conf\n")[1:])
        users = f"{{ user: all, password: x }}, {{ user: alone, password: x, {alone} }}, {{ user: shared, password: x, {shared} }}"
        server = self.start_server(f"authorization {{ users: [ {users} ] }}")
        client = self.client(server, user="all", password="x")
        heard = client.subscribe("nachos.tool.manifests")

        def address_of(user):
            return f"nats://{user}:x@127.0.0.1:{server.port}"

        for user, config in (("alone", ""), ("shared", "jetstream = true\n")):
            doors = [self.start_door(server, config, address_of(user)) for _ in range(2 if config else 1)]
            while not (published := client.next(heard)[2]):
                pass  # the request of the round before
            self.assertEqual(json.loads(published)[0]["provides"]["tool"], "filesystem")
            self.assertEqual(client.request("nachos.tool.manifests", b"")[0]["provides"]["tool"], "filesystem")
            self.assertEqual(client.request(f"{FILES}.health", b""), {"healthy": True})
            for number in range(5):
                session = f"{user}{number}"
                begun = client.request(SESSION, self.call_of(session, action="begin"))["payload"]
                self.assertTrue(begun["success"], begun)
                write = self.call_of(session, action="write", path=f"workspace/{session}.txt", content="x")
                self.assertTrue(client.request(f"{FILES}.validate", write)["valid"])
                for subject in (f"{FILES}.request", "tool.filesystem.request"):
                    self.assertTrue(client.request(subject, write)["payload"]["success"])
                self.assertEqual(client.request(SESSION, self.call_of(session, action="commit"))["payload"]["result"], {"committed": True})
            for door in doors:
                self.assertEqual(self.end(door), 0)
                self.assertNotIn("ermission", door.log.text())
        self.assertEqual([line for line in server.log.lines if "Violation" in line], [])

    def test_an_address_with_tls_sends_nothing_in_plain_text(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            heard = []

            def listen():
                while True:
                    try:
                        client, _ = listener.accept()
                    except OSError:
                        return
                    with client, contextlib.suppress(ConnectionError):  # a client that wants TLS leaves
                        client.sendall(b'INFO {"server_id":"X","version":"2.9.10","proto":1,"max_payload":1048576,"headers":true}\r\n')
                        heard.append(client.recv(4096))

            thread = threading.Thread(target=listen)
            thread.start()
            address = f"tls://user:secret@127.0.0.1:{listener.getsockname()[1]}"
            for words in (["jobs"], ["submit"], ["serve"]):
                self.galley(*words, "--nats", address, stdin=b"{}", expect=(2, 3))
            self.galley("jobs", "--nats", address.replace("tls:", "http:"), expect=2)
            self.galley("jobs", "--nats", address.replace("tls:", "nats:"), expect=3)
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            self.assertEqual([b"secret" in text for text in heard], [False] * (len(heard) - 1) + [True])

    def test_a_server_with_a_certificate_that_the_machine_knows_needs_no_setting(self):
        folder = self.scratch / "tls"
        make_certificates(folder)
        server = self.start_server(f'tls {{ cert_file: "{folder}/server.pem", key_file: "{folder}/server.key" }}')
        address = f"tls://localhost:{server.port}"
        self.assertEqual(self.start_failing(address).returncode, 3)
        self.environment["SSL_CERT_FILE"] = f"{folder}/ca.pem"
        self.start_door(server, "", address)

    def test_a_certificate_of_another_host_is_refused(self):
        folder = self.scratch / "tls"
        make_certificates(folder, "elsewhere.example")
        server = self.start_server(f'tls {{ cert_file: "{folder}/server.pem", key_file: "{folder}/server.key" }}')
        failed = self.start_failing(f"tls://localhost:{server.port}", f'[connection]\nca = "{folder}/ca.pem"\n')
        self.assertEqual(failed.returncode, 3)

    def test_a_configuration_that_cannot_be_used_is_refused(self):
        inside = self.work / "seed"
        for config, says, status in (
                ("users = 1\n", "serve.toml:1:1", 2),
                ("calls_at_once = 0\n", "between 1 and 64", 2),
                ('[connection]\ncredentials = "here"\n', "absolute path", 2),
                ('[connection]\nnkey = "U"\n', "nkey_seed", 2),
                (f'secrets_file = "{inside}"\n', "inside the workspace", 1)):
            with self.subTest(config):
                failed = self.start_failing("nats://127.0.0.1:1", config)
                self.assertEqual(failed.returncode, status, failed.stderr)
                self.assertIn(says.encode(), failed.stderr)
        self.assertEqual(self.start_failing("http://127.0.0.1:1").returncode, 2)

    def test_no_file_of_the_configuration_is_inside_the_workspace(self):
        link, file_link, inside = self.scratch / "link", self.scratch / "file_link", self.work / "inside"
        inside.write_text("x=y\n")
        inside.chmod(0o600)
        link.symlink_to(self.work)
        file_link.symlink_to(inside)
        for config in (f'secrets_file = "{link}/inside"\n', f'secrets_file = "{file_link}"\n', f'[connection]\nca = "{inside}"\n',
                       f'[connection]\ncertificate = "{inside}"\nkey = "{link}/inside"\n', f'spans = "{link}/new"\n',
                       f'metrics = "unix:{link}/new"\n'):
            with self.subTest(config):
                failed = self.start_failing("nats://127.0.0.1:1", config)
                self.assertEqual(failed.returncode, 1, failed.stderr)
                self.assertIn(b"inside the workspace", failed.stderr)

    def test_a_configuration_of_the_person_replaces_that_of_the_workspace(self):
        (self.work / "galley.toml").write_text('[tools.filesystem]\nconfig = {allowedPaths = "."}\n')
        (self.work / "docs").mkdir(exist_ok=True)
        (self.work / "docs" / "d.txt").write_text("d\n")
        own = self.scratch / "own.toml"
        own.write_text('[tools.filesystem]\nconfig = {allowedPaths = "docs"}\n')
        _, _, client = self.serve(f'galley_toml = "{own}"\nagent = "reader"\n')
        read = client.request(f"{FILES}.request", self.call_of(action="read", path="docs/d.txt"))
        self.assertEqual(read["payload"]["result"], "d\n")
        outside = client.request(f"{FILES}.request", self.call_of(action="read", path="workspace/a.txt"))
        self.assertEqual(outside["payload"]["error"]["code"], "VALIDATION_ERROR")


if __name__ == "__main__":
    unittest.main()
