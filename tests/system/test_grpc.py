#!/usr/bin/env python3
"""`galley serve --grpc` with a client that is not ours, python3-grpcio."""

import asyncio
import concurrent.futures
import json
import os
import queue
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time
import unittest
from pathlib import Path

import grpc
import grpc_client
import hostile
from grpc_client import DEADLINE_S, Client, Server, aios, galley_aios, v1
from google.protobuf.descriptor import FieldDescriptor
from hostile import HostileCase
from support import GALLEY, ROOT
from terminal_session import is_running, wait_until

DOCUMENT_FIELDS = ["name", "namespace", "version", "description", "input_schema", "output_schema", "required_capabilities",
                   "risk_level", "requires_confirmation", "idempotent", "reversible", "timeout_ms", "rollback_tool"]
MESSAGES = {  # the fields in the order of their numbers, which begin with 1
    "ExecuteRequest": "string tool_name, string agent_id, string task_id, bytes input_json, string reason",
    "ExecuteResponse": "bool success, bytes output_json, string error, string execution_id, int64 duration_ms",
    "ListToolsRequest": "string namespace, string agent_id",
    "GetToolRequest": "string name, string agent_id",
    "RollbackRequest": "string execution_id, string reason, string agent_id",
    "RegisterRequest": "message tool, string handler_address, string agent_id, bool persist"}
TYPES = {FieldDescriptor.TYPE_STRING: "string", FieldDescriptor.TYPE_BYTES: "bytes", FieldDescriptor.TYPE_BOOL: "bool",
         FieldDescriptor.TYPE_INT64: "int64", FieldDescriptor.TYPE_MESSAGE: "message"}
RISKS = {  # of the document: the risk, and whether a call is reversible
    "fs.read": ("low", False), "fs.write": ("medium", True), "fs.delete": ("high", True), "fs.list": ("low", False),
    "fs.stat": ("low", False), "fs.mkdir": ("low", True), "fs.move": ("medium", True), "fs.copy": ("low", True),
    "fs.chmod": ("medium", True), "fs.chown": ("medium", True), "fs.symlink": ("low", True), "fs.search": ("low", False),
    "fs.disk_usage": ("low", False), "sec.grant": ("critical", True), "sec.revoke": ("medium", True), "sec.audit": ("low", False)}


class GrpcCase(HostileCase):
    def setUp(self):
        super().setUp()
        self.socket = self.scratch / "galley.sock"
        own = self.home / ".config" / "galley" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'trusted_folders = ["{self.scratch}"]\nunattended = true\n')

    def serve(self, *options, address=None):
        server = Server(self.work, address or f"unix:{self.socket}", *options, env=self.environment)
        self.addCleanup(server.end, signal.SIGKILL)
        return server

    def client(self, *options, **more):
        client = Client(self.serve(*options, **more).address)
        self.addCleanup(client.close)
        return client

    def config(self, text):
        path = self.scratch / "server.toml"
        path.write_text(text)
        path.chmod(0o644)
        return "--server-config", path

    def status_of_other(self, method, request=""):
        """Calls the tool registry as another user."""
        other = ["setpriv", f"--reuid={hostile.OTHER_USER}", f"--regid={hostile.OTHER_USER}", "--clear-groups"]
        script = Path(grpc_client.__file__).with_name("grpc_call.py")
        said = subprocess.run([*other, sys.executable, "-B", script, f"unix:{self.socket}", method, request], capture_output=True,
                              check=False, env={**os.environ, "HOME": "/", "PYTHONPATH": str(script.parent)}, timeout=DEADLINE_S)
        return said.stdout.decode().strip() or said.stderr.decode()

    def refused(self, code, call, *arguments, **options):
        """Checks the status of a call that is not answered, and returns its text."""
        with self.assertRaises(grpc.RpcError) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        return caught.exception.details()


class Registry(GrpcCase):
    def test_tools_are_listed_and_shown_with_the_fields_of_the_document(self):
        client = self.client()
        listed = client.tools.ListTools(aios.ListToolsRequest(agent_id="bot")).tools
        names = [tool.name for tool in listed]
        self.assertIn("fs.read", names)
        self.assertIn("sec.grant", names)
        self.assertNotIn("Bash", names)
        self.assertEqual([field.name for field in aios.ToolDefinition.DESCRIPTOR.fields], DOCUMENT_FIELDS)
        for tool in listed:
            self.assertEqual(client.tools.GetTool(aios.GetToolRequest(name=tool.name, agent_id="bot")), tool)
        write = next(tool for tool in listed if tool.name == "fs.write")
        self.assertEqual((write.namespace, write.risk_level, write.reversible), ("fs", "medium", True))
        self.assertEqual((list(write.required_capabilities), write.rollback_tool), (["fs:write"], "fs.delete"))
        self.assertEqual(json.loads(write.input_schema)["type"], "object")
        self.assertGreater(write.timeout_ms, 0)
        only = client.tools.ListTools(aios.ListToolsRequest(namespace="sec")).tools
        self.assertEqual({tool.namespace for tool in only}, {"sec"})
        shown = {tool.name: (tool.risk_level, tool.reversible) for tool in listed}
        self.assertEqual({name: shown[name] for name in RISKS}, RISKS)

    def test_tools_of_the_document_that_galley_does_not_have_are_unknown(self):
        page = (ROOT / "docs" / "specs" / "aios.md").read_text()
        left_out = re.findall(r"^\| `row:([a-z]+\.[a-z_]+)` .*deliberately different", page, re.MULTILINE)
        self.assertIn("process.spawn", left_out)
        client = self.client()
        listed = {tool.name for tool in client.tools.ListTools(aios.ListToolsRequest(agent_id="bot")).tools}
        for name in left_out:
            with self.subTest(name):
                self.assertNotIn(name, listed)
                self.refused(grpc.StatusCode.NOT_FOUND, client.tools.GetTool, aios.GetToolRequest(name=name, agent_id="bot"))
                self.assertFalse(client.execute(name).success)

    def test_messages_have_the_numbers_and_types_of_the_document(self):
        for message, fields in MESSAGES.items():
            given = sorted(getattr(aios, message).DESCRIPTOR.fields, key=lambda field: field.number)
            self.assertEqual([field.number for field in given], list(range(1, len(given) + 1)), message)
            self.assertEqual(", ".join(f"{TYPES[field.type]} {field.name}" for field in given), fields, message)

    def test_a_call_is_answered_recorded_and_committed(self):
        client = self.client()
        answer = client.execute("fs.write", {"path": "new.txt", "content": "new\n"}, reason="Writing it")
        self.assertTrue(answer.success, answer.error)
        self.assertEqual(json.loads(answer.output_json)["bytes_written"], 4)
        self.assertRegex(answer.execution_id, r"^exec-\d{8}-\d{6}-[0-9a-z]+$")
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")
        read = client.execute("fs.read", {"path": str(self.work / "new.txt")})
        self.assertEqual(json.loads(read.output_json)["content"], "new\n")
        exported = self.galley("audit", "export", "aios", expect=0).stdout.decode()
        entry = next(one for one in map(json.loads, exported.splitlines()) if one["execution_id"] == answer.execution_id)
        self.assertEqual((entry["agent"], entry["task_id"], entry["reason"]), ("bot", "task-1", "Writing it"))

    def test_the_first_call_that_only_reads_and_each_failed_one_are_on_record(self):
        (self.work / "a.txt").write_text("one\n")
        client = self.client()
        calls = [("fs.read", {"path": "a.txt"}), ("fs.read", {"path": "gone"}), ("fs.read", {"path": 5}), ("fs.nope", {}),
                 ("Bash", {"command": "ls"})]
        ids = [client.execute(tool, arguments).execution_id for tool, arguments in calls]
        exported = self.galley("audit", "export", "aios", expect=0).stdout.decode()
        self.assertEqual([(entry["execution_id"], entry["tool"]) for entry in map(json.loads, exported.splitlines())],
                         [(each, tool) for each, (tool, _) in zip(ids, calls)])

    def test_a_read_that_cannot_be_recorded_is_answered_with_a_warning(self):
        (self.work / "a.txt").write_text("one\n")
        client = self.client()
        request = client.request("fs.read", {"path": "a.txt"})
        answer, call = client.tools.Execute.with_call(request)
        self.assertEqual((answer.success, call.trailing_metadata()), (True, ()))
        (self.work / ".galley" / "audit.jsonl").unlink()
        (self.work / ".galley" / "audit.jsonl").mkdir()
        answer, call = client.tools.Execute.with_call(request)
        self.assertTrue(answer.success, answer.error)
        self.assertIn("not in the audit log", dict(call.trailing_metadata())["galley-warning"])

    def add_tool(self, answer):
        """Adds a tool that only reads, by its definition."""
        self.need_walls()
        folder = self.scratch / "tool"
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(
            {"name": "nachos-tool-say", "version": "1.0.0", "type": "tool", "description": "For a test.",
             "provides": {"tool": "say", "securityTier": 1}, "executable": "run"}))
        (folder / "run").write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
        (folder / "run").chmod(0o755)
        self.galley("tools", "add", folder, expect=0)
        return self.client("--profile", "native")

    def test_no_program_starts_without_a_record(self):
        client = self.add_tool({"ok": True, "data": {"said": 1}})
        request = client.request("say", {})
        answer = client.tools.Execute(request)
        self.assertEqual((answer.success, json.loads(answer.output_json or "{}")), (True, {"said": 1}), answer.error)
        log = self.work / ".galley" / "audit.jsonl"
        log.unlink()
        log.mkdir()
        for tool, arguments in (("say", {}), ("Bash", {"command": "true"})):
            answer = client.execute(tool, arguments)
            self.assertFalse(answer.success)
            self.assertIn("audit", answer.error)

    def test_a_tool_cannot_write_the_warning_about_the_record(self):
        client = self.add_tool({"ok": True, "data": {}, "warnings": ["this call is not in the audit log: it is"]})
        answer, call = client.tools.Execute.with_call(client.request("say", {}))
        self.assertEqual((answer.success, call.trailing_metadata()), (True, ()), answer.error)

    def test_a_failing_tool_is_ok_with_its_code(self):
        client = self.client()
        for tool, arguments, code in [
            ("fs.read", {"path": "missing.txt"}, "ERUNTIME"),
            ("fs.read", {}, "EVALIDATION"),
            ("fs.raed", {}, "EVALIDATION"),
            ("Bash", {"command": "true"}, "EVALIDATION"),
            ("fs.read", {"path": "/etc/passwd"}, "EPERMISSION"),
            ("fs.write", {"path": ".git/config", "content": "x"}, "EPERMISSION"),
        ]:
            with self.subTest(tool=tool, arguments=arguments):
                answer = client.execute(tool, arguments)
                self.assertFalse(answer.success)
                self.assertTrue(answer.error.startswith(code), answer.error)
                self.assertEqual(answer.output_json, b"")


    def test_a_folder_that_is_replaced_is_neither_read_nor_changed(self):
        client = self.client()
        away = self.work.with_name("away")
        self.work.rename(away)
        self.work.mkdir()
        (self.work / "other.txt").write_text("other\n")
        for tool, arguments in (("fs.read", {"path": "other.txt"}), ("fs.write", {"path": "new.txt", "content": "x"}),
                                ("fs.list", {"path": "."})):
            answer = client.execute(tool, arguments)
            self.assertFalse(answer.success, tool)
            self.assertIn("was moved away or replaced", answer.error)
        self.assertEqual([each.name for each in self.work.iterdir()], ["other.txt"])
        self.assertFalse((away / "new.txt").exists())


class Statuses(GrpcCase):
    def test_malformed_requests_are_refused(self):
        client = self.client()
        bad = grpc.StatusCode.INVALID_ARGUMENT
        for body in (b"{", b"[]", b'{"path": 1, "path": 2}', b"\xff", b"[" * 100_000):
            self.assertIn("input_json", self.refused(bad, client.execute, "fs.read", body))
        self.refused(bad, client.execute, "fs.read", agent="")
        self.refused(bad, client.execute, "fs.read", agent="two words")
        self.refused(bad, client.execute, "", agent="bot")
        self.refused(bad, client.execute, "fs.read", task="t" * 300)
        self.refused(bad, client.execute, "fs.read", reason="r" * 5_000)
        self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, client.execute, "fs.read", b" " * (17 << 20))
        # gRPC itself answers what is not a message.
        self.refused(grpc.StatusCode.UNIMPLEMENTED, client.channel.unary_unary("/aios.tools.ToolRegistry/Execute"), b"\xff\xff")
        self.assertTrue(client.execute("fs.list", {"path": "."}).success)

    def test_a_call_may_have_no_task_and_no_arguments(self):
        client = self.client()
        self.assertTrue(client.execute("fs.list", {"path": "."}, task="").success)
        self.assertIn("EVALIDATION", client.execute("fs.read", b"").error)
        self.assertTrue(client.execute("fs.list", b"").success, "no arguments")


class Sockets(GrpcCase):
    def test_the_file_is_private_is_replaced_when_dead_and_goes_with_the_server(self):
        server = self.serve()
        self.assertEqual(stat.S_IMODE(self.socket.stat().st_mode), 0o600)
        with self.assertRaisesRegex(AssertionError, "in use by another process"):
            self.serve()
        server.end(signal.SIGKILL)
        self.assertTrue(self.socket.exists())
        server = self.serve()
        self.assertEqual(server.end(), 0)
        self.assertFalse(self.socket.exists())
        self.socket.write_text("a file of someone")
        with self.assertRaisesRegex(AssertionError, "not a socket"):
            self.serve()


class Identity(GrpcCase):
    def test_a_caller_speaks_only_for_the_agents_of_its_principal(self):
        client = self.client(*self.config(f"[[principal]]\nuid = {os.geteuid()}\nagents = ['aios-agent-*', 'bot']\n"))
        denied = grpc.StatusCode.PERMISSION_DENIED
        for agent in ("bot", "aios-agent-system"):
            self.assertTrue(client.execute("fs.list", {"path": "."}, agent=agent).success)
        for agent in ("root", "aios-agent", "botx", "*"):
            self.refused(denied, client.execute, "fs.write", {"path": "x", "content": "x"}, agent=agent)
            self.refused(denied, client.tools.ListTools, aios.ListToolsRequest(agent_id=agent))
            self.refused(denied, client.transactions.Begin, v1.TransactionRequest(agent_id=agent, task_id="t"))
        self.assertFalse((self.work / "x").exists())

    def test_without_rights_nothing_is_registered_or_approved(self):
        client = self.client()
        denied = grpc.StatusCode.PERMISSION_DENIED
        request = aios.RegisterRequest(tool={"name": "custom.x"}, handler_address="unix:/nowhere", agent_id="bot")
        self.refused(denied, client.tools.Register, request)
        self.refused(denied, client.approvals.Answer, v1.AnswerRequest(id="call-1", approve=True))
        self.refused(denied, lambda: next(client.approvals.Questions(v1.QuestionsRequest())))

    @unittest.skipUnless(hostile.IS_ROOT, "only root can be two users")
    def test_other_users_cannot_connect_or_are_unknown(self):
        self.scratch.chmod(0o755)
        self.serve()
        self.assertEqual(self.status_of_other("ListTools"), "UNAVAILABLE")  # the mode of the file
        os.chmod(self.socket, 0o666)
        self.assertEqual(self.status_of_other("ListTools"), "UNAUTHENTICATED")  # its user is known to the kernel

    def test_the_configuration_of_the_server_is_checked(self):
        for text, said in [("commit = 'sometimes'", "each_call"), ("[[principal]]\nuid = 1\nsubject = 'CN=a'\nagents = ['a']\n", "either"),
                           ("[[principal]]\nagents = ['a']\n", "either"), ("[principals]\n", "unknown"),
                           ("[[principal]]\nuid = 1\n[[principal]]\nuid = 1\n", "another principal"),
                           ("[[principal]]\nuid = 1\nrights = ['all']\n", "approve")]:
            with self.subTest(text), self.assertRaisesRegex(AssertionError, said):
                self.serve(*self.config(text))
        self.galley("serve", expect=2)
        self.galley("serve", "--grpc", f"unix:{self.socket}", "--nats", "nats://127.0.0.1:1", expect=2)
        self.galley("--agent", "bot", "serve", "--grpc", f"unix:{self.socket}", expect=2)
        self.galley("serve", "--grpc", "nowhere", expect=2)
        self.galley("serve", "--grpc", f"unix:{self.socket}", "--profile", "nothing", expect=2)

    def test_the_files_of_the_server_are_outside_the_workspace(self):
        _, outside = self.config(f"[[principal]]\nuid = {os.geteuid()}\nagents = ['bot']\n")
        inside, link = self.work / "server.toml", self.scratch / "link.toml"
        shutil.copy(outside, inside)
        link.symlink_to(inside)
        for file in (inside, link):
            with self.assertRaisesRegex(AssertionError, "is inside the workspace"):
                self.serve("--server-config", file)

    def test_a_file_that_other_users_can_change_is_not_used(self):
        option, file = self.config(f"[[principal]]\nuid = {os.geteuid()}\nagents = ['bot']\n")
        for mode in (0o666, 0o620, 0o602):
            file.chmod(mode)
            with self.subTest(oct(mode)), self.assertRaisesRegex(AssertionError, f"chmod go-w {file}"):
                self.serve(option, file)
        file.chmod(0o644)
        self.assertEqual(self.serve(option, file).end(), 0)
        if not hostile.IS_ROOT:
            return
        os.chown(file, hostile.OTHER_USER, -1)
        with self.assertRaisesRegex(AssertionError, f"other users can change '{file}'"):
            self.serve(option, file)

    def test_a_program_that_is_not_installed_is_named_with_its_package(self):
        alone = self.scratch / "bin" / "galley"
        alone.parent.mkdir()
        shutil.copy(GALLEY, alone)
        for option, address, package in (("--grpc", f"unix:{self.socket}", "grpc"), ("--nats", "nats://127.0.0.1:1", "nats")):
            said = subprocess.run([alone, "-C", self.work, "serve", option, address], capture_output=True, check=False,
                                  env={**os.environ, **self.environment}, timeout=DEADLINE_S)
            self.assertNotEqual(said.returncode, 0)
            self.assert_one_clear_message(said)
            for name in (f"galley-serve-{package}", f"galley-{package}", f"GALLEY_WITH_{package.upper()}"):
                self.assertIn(name, said.stderr.decode())


class CertificateCase(GrpcCase):
    """Over TCP, a principal is the subject of a client certificate."""

    def setUp(self):
        super().setUp()
        self.make_authority("ours")
        self.make_authority("foreign")
        self.make_certificate("server", "ours", "/CN=localhost")
        for name in ("agent", "boss", "stranger"):
            self.make_certificate(name, "ours", f"/O=example/CN={name}")
        self.make_certificate("fake", "foreign", "/O=example/CN=agent")

    def openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=self.scratch)

    def make_authority(self, name):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
                     "-keyout", f"{name}-ca.key", "-out", f"{name}-ca.pem", "-days", "2")

    def make_certificate(self, name, authority, subject):
        (self.scratch / "names").write_text("subjectAltName=DNS:localhost\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", subject, "-keyout",
                     f"{name}.key", "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}-ca.pem", "-CAkey", f"{authority}-ca.key",
                     "-CAcreateserial", "-out", f"{name}.pem", "-days", "2", "-extfile", "names")

    def serve_tls(self, more="", rights="[]"):
        (self.scratch / "server.key").chmod(0o600)
        return self.serve(*self.config(f"""{more}
[tls]
certificate = "{self.scratch}/server.pem"
key = "{self.scratch}/server.key"
client_authority = "{self.scratch}/ours-ca.pem"
[[principal]]
subject = "CN=agent,O=example"
agents = ["bot"]
rights = {rights}
[[principal]]
subject = "CN=boss,O=example"
agents = ["chief"]
rights = ["approve"]
"""), address="localhost:0")

    def connect(self, server, name):
        read = lambda file: (self.scratch / file).read_bytes()
        credentials = grpc.ssl_channel_credentials(read("ours-ca.pem"), *((read(f"{name}.key"), read(f"{name}.pem")) if name else ()))
        client = Client(server.address, credentials)
        self.addCleanup(client.close)
        return client


class Certificates(CertificateCase):
    def test_only_known_certificates_may_call(self):
        with self.assertRaisesRegex(AssertionError, "needs certificates"):
            self.serve(address="localhost:0")
        server = self.serve_tls()
        agent = self.connect(server, "agent")
        self.assertTrue(agent.execute("fs.write", {"path": "x", "content": "x"}).success)
        self.refused(grpc.StatusCode.PERMISSION_DENIED, agent.execute, "fs.list", {"path": "."}, agent="chief")
        stranger = self.connect(server, "stranger")
        self.refused(grpc.StatusCode.UNAUTHENTICATED, stranger.execute, "fs.list", {"path": "."})
        for name in ("fake", None):
            self.refused(grpc.StatusCode.UNAVAILABLE, self.connect(server, name).execute, "fs.list", {"path": "."})
        plain = Client(server.address)
        self.addCleanup(plain.close)
        self.refused(grpc.StatusCode.UNAVAILABLE, plain.execute, "fs.list", {"path": "."})

    def test_a_high_risk_is_asked_and_answered_by_another_principal(self):
        (self.work / "galley.toml").write_text("[policy]\nmode = 'strict'\n")
        server = self.serve_tls()
        agent, boss = self.connect(server, "agent"), self.connect(server, "boss")
        wanted = {"path": "new.txt", "content": "x"}
        alone = agent.execute("fs.write", wanted)
        self.assertRegex(alone.error, "^EPERMISSION: the call call-[0-9a-f]+ .* needs a person's approval")
        agent.transactions.Begin(v1.TransactionRequest(agent_id="bot", task_id="task-2"))
        stored = agent.execute("fs.write", wanted, task="task-2")
        self.assertRegex(stored.error, "galley approve call-")
        questions = boss.approvals.Questions(v1.QuestionsRequest())
        questions.initial_metadata()  # from here on it listens
        for says_yes in (False, True):
            call = agent.start("fs.write", wanted)
            question = next(questions)
            self.assertEqual((question.agent_id, question.tool_name, json.loads(question.input_json)), ("bot", "fs.write", {**wanted, "backup": False}))
            self.assertRegex(question.id, "^call-[0-9a-f]+$")
            self.refused(grpc.StatusCode.PERMISSION_DENIED, agent.approvals.Answer, v1.AnswerRequest(id=question.id, approve=True))
            boss.approvals.Answer(v1.AnswerRequest(id=question.id, approve=says_yes))
            answer = call.result()
            self.assertEqual(answer.success, says_yes, answer.error)
            self.assertEqual((self.work / "new.txt").exists(), says_yes)
        self.refused(grpc.StatusCode.NOT_FOUND, boss.approvals.Answer, v1.AnswerRequest(id="call-0", approve=True))
        # Calls that wait leave threads for others, and end with the last listener.
        calls = [agent.start("fs.write", {**wanted, "path": f"{n}.txt"}, task=f"many-{n}") for n in range(32)]
        waiting = [next(questions) for _ in range(8)]
        wait_until(lambda: sum(call.done() for call in calls) == 32 - 8)
        boss.approvals.Answer(v1.AnswerRequest(id=waiting[0].id, approve=True), timeout=DEADLINE_S)
        wait_until(lambda: sum(call.done() for call in calls) == 32 - 7)
        questions.cancel()
        self.assertEqual(sum(call.result().success for call in calls), 1)
        questions = boss.approvals.Questions(v1.QuestionsRequest())
        questions.initial_metadata()
        # A question ends with its call.
        self.refused(grpc.StatusCode.DEADLINE_EXCEEDED, agent.execute, "fs.write", wanted, timeout=1)
        self.assertEqual(server.end(), 0, "an open stream of questions does not hold up the end")


    def test_a_deletion_is_asked_where_another_principal_listens(self):
        server = self.serve_tls()
        agent, boss = self.connect(server, "agent"), self.connect(server, "boss")
        for name in ("new.txt", "alone.txt"):
            (self.work / name).write_text("x\n")
        self.assertTrue(agent.execute("fs.delete", {"path": "alone.txt"}).success, "nobody listens")
        questions = boss.approvals.Questions(v1.QuestionsRequest())
        questions.initial_metadata()  # from here on it listens
        for says_yes in (False, True):
            call = agent.start("fs.delete", {"path": "new.txt"})
            question = next(questions)
            self.assertEqual(question.tool_name, "fs.delete")
            boss.approvals.Answer(v1.AnswerRequest(id=question.id, approve=says_yes))
            self.assertEqual(call.result().success, says_yes)
            self.assertEqual((self.work / "new.txt").exists(), not says_yes)
        questions.cancel()

    def test_a_principal_with_the_right_grants_what_another_one_approves(self):
        wanted = {"agent": "bot", "capability": "audit:read"}
        agent = self.connect(self.serve_tls(), "agent")
        for tool in ("sec.grant", "sec.revoke", "sec.audit"):
            self.assertRegex(agent.execute(tool, {} if tool == "sec.audit" else wanted).error, "^EPERMISSION", tool)
        server = self.serve_tls(rights='["sec:grant"]')
        agent, boss = self.connect(server, "agent"), self.connect(server, "boss")
        self.assertRegex(agent.execute("sec.grant", wanted).error, "^EPERMISSION: the call call-.* needs a person's approval")
        questions = boss.approvals.Questions(v1.QuestionsRequest())
        questions.initial_metadata()
        for tool, is_granted in (("sec.grant", True), ("sec.revoke", False)):
            for says_yes in (False, True):
                call = agent.start(tool, wanted)
                question = next(questions)
                self.assertEqual((question.agent_id, question.tool_name, json.loads(question.input_json)), ("bot", tool, wanted))
                boss.approvals.Answer(v1.AnswerRequest(id=question.id, approve=says_yes))
                self.assertEqual(call.result().success, says_yes, call.result().error)
            self.assertEqual(json.loads(call.result().output_json), {**wanted, "granted": is_granted})
            audit = agent.execute("sec.audit")
            self.assertEqual(audit.success, is_granted, audit.error)
        call = agent.start("sec.grant", {"agent": "bot", "capability": "sec:grant"})
        boss.approvals.Answer(v1.AnswerRequest(id=next(questions).id, approve=True))
        self.assertRegex(call.result().error, "^EPERMISSION")
        records = [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        granted = [one["reason"] for one in records if (one["kind"], one["tool"]) == ("call", "sec.grant") and "output" in one]
        self.assertEqual(granted, ["asked by the agent 'bot': a test"])


class Ends(GrpcCase):
    """Calls that do not end by themselves. `native` has a tool that runs commands."""

    def setUp(self):
        super().setUp()
        self.need_walls()
        self.server = self.serve("--profile", "native")
        self.caller = Client(self.server.address)
        self.addCleanup(self.caller.close)

    def sleep(self, seconds, more=""):
        # No other program of this machine has this argument.
        return {"command": f"echo begun; sleep {seconds}; {more}", "timeout": 100_000}

    def begin(self, arguments):
        """Starts a call and returns when its command runs."""
        events = self.caller.transactions.Execute(self.caller.request("Bash", arguments), timeout=DEADLINE_S)
        self.assertTrue(next(events).stdout.startswith(b"begun\n"))
        return events

    def test_a_deadline_stops_the_command(self):
        mark = f"9{os.getpid()}.1"
        self.refused(grpc.StatusCode.DEADLINE_EXCEEDED, self.caller.execute, "Bash", self.sleep(mark, "echo x > x"), timeout=3)
        wait_until(lambda: not is_running(f"sleep {mark}"))
        self.assertFalse((self.work / "x").exists())

    def test_a_client_that_leaves_stops_the_command(self):
        mark = f"9{os.getpid()}.2"
        events = self.begin(self.sleep(mark, "echo x > x"))
        self.assertTrue(is_running(f"sleep {mark}"))
        events.cancel()
        wait_until(lambda: not is_running(f"sleep {mark}"))
        events = self.begin(self.sleep(mark))
        self.caller.close()
        wait_until(lambda: not is_running(f"sleep {mark}"))
        self.assertFalse((self.work / "x").exists())

    def test_a_client_that_does_not_read_holds_up_no_other(self):
        mark = f"9{os.getpid()}.4"
        events = self.begin({"command": f"echo begun; head -c 100M /dev/zero; echo x > x; sleep {mark}", "timeout": 100_000})
        self.assertEqual(set(next(events).stdout), {0})
        other = Client(self.server.address)
        self.addCleanup(other.close)
        (self.work / "a.txt").write_text("one\n")
        self.assertTrue(other.execute("Read", {"file_path": "a.txt"}, task="other").success)
        used = next(line for line in Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
        self.assertLess(int(used.split()[1]), 300 << 10, used)
        events.cancel()
        wait_until(lambda: not is_running("head -c 100M /dev/zero") and not is_running(f"sleep {mark}"))
        self.assertFalse((self.work / "x").exists())

    def test_sigterm_lets_calls_end_and_takes_no_more(self):
        events = self.begin(self.sleep(2, "echo x > x"))
        self.server.process.send_signal(signal.SIGTERM)
        self.assertTrue(list(events)[-1].response.success)
        self.assertEqual(self.server.end(), 0)
        self.assertEqual((self.work / "x").read_text(), "x\n")
        self.assertTrue(self.is_refused())

    def test_sigterm_stops_calls_that_take_too_long(self):
        mark = f"9{os.getpid()}.4"
        events = self.begin(self.sleep(mark, "echo x > x"))
        self.assertEqual(self.server.end(), 0)
        self.assertRaises(grpc.RpcError, lambda: list(events))
        self.assertFalse(is_running(f"sleep {mark}"))
        self.assertFalse((self.work / "x").exists())

    @unittest.skipUnless(hostile.IS_ROOT, "only root can be two users")
    def test_sigterm_ends_a_server_that_can_make_no_thread(self):
        user = hostile.OTHER_USER + 1  # no other process of it counts for the limit
        place = self.scratch / "of-another"
        for folder in (place, place / "work", place / "home"):
            folder.mkdir()
            os.chown(folder, user, user)
        self.scratch.chmod(0o755)
        _, file = self.config(f"[[principal]]\nuid = {os.geteuid()}\nagents = ['bot']\n")
        server = Server(place / "work", f"unix:{place}/s", "--server-config", file, env={**self.environment, "HOME": str(place / "home")},
                        user=("prlimit", "--nproc=40", "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"))
        self.addCleanup(server.end, signal.SIGKILL)
        client = Client(server.address)
        self.addCleanup(client.close)
        for call in [client.start("fs.search", {"path": ".", "pattern": "x"}, task=f"many-{n}", timeout=5) for n in range(60)]:
            call.exception()  # some may be lost
        self.assertIn(server.end(), (0, 3), server.said)  # 3: gRPC did not end

    def is_refused(self):
        try:
            self.caller.execute("List", {"path": "."}, timeout=5)
        except grpc.RpcError:
            return True
        return False

    def test_too_many_calls_are_refused(self):
        mark = f"9{os.getpid()}.3"
        clients = [Client(self.server.address) for _ in range(3)]
        calls = []
        try:
            calls = [clients[n % 3].start("Bash", self.sleep(mark), task=str(n)) for n in range(120)]
            wait_until(lambda: sum(call.done() for call in calls) >= 120 - 96)
            codes = [call.code() for call in calls if call.done()]
            self.assertEqual(set(codes), {grpc.StatusCode.RESOURCE_EXHAUSTED})
        finally:
            for call in calls:
                call.cancel()
            for client in clients:
                client.close()
        wait_until(lambda: not is_running(f"sleep {mark}"))
        wait_until(lambda: not self.is_refused())


class Transactions(GrpcCase):
    def state(self, call, task="task-1", agent="bot", success=True):
        state = call(v1.TransactionRequest(agent_id=agent, task_id=task, reason="Writing notes"))
        self.assertEqual(state.success, success, state.error)
        return state

    def write(self, client, name, text="x\n", **more):
        answer = client.execute("fs.write", {"path": name, "content": text}, **more)
        self.assertTrue(answer.success, answer.error)
        return answer.execution_id

    def test_calls_of_a_task_are_staged_until_its_commit(self):
        client = self.client(*self.config(f"commit = 'explicit'\n[[principal]]\nuid = {os.geteuid()}\nagents = ['*']\n"))
        self.write(client, "a.txt")
        self.write(client, "b.txt")
        self.write(client, "other.txt", task="task-2")
        self.assertFalse((self.work / "a.txt").exists())
        self.assertEqual(json.loads(client.execute("fs.read", {"path": "a.txt"}).output_json)["content"], "x\n")
        shown = self.state(client.transactions.Preview)
        self.assertIn("+++ b/a.txt", shown.diff)
        self.assertNotIn("other.txt", shown.diff)
        committed = self.state(client.transactions.Commit)
        self.assertEqual(((self.work / "a.txt").read_text(), (self.work / "b.txt").read_text()), ("x\n", "x\n"))
        self.assertFalse((self.work / "other.txt").exists())
        entry = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"][0]
        self.assertEqual((entry["id"], entry["agent"]), (committed.transaction, "bot"))
        self.state(client.transactions.Rollback, task="task-2")
        self.assertFalse((self.work / "other.txt").exists())
        self.assertIn("begin one", self.state(client.transactions.Commit, success=False).error)

    def test_a_call_that_the_profile_refuses_begins_no_transaction(self):
        client = self.client(*self.config(f"commit = 'explicit'\n[[principal]]\nuid = {os.geteuid()}\nagents = ['*']\n"))
        answer = client.execute("Bash", {"command": "true"})
        self.assertIn("Bash", answer.error)
        self.assertTrue(answer.execution_id)
        self.assertIn("begin one", self.state(client.transactions.Commit, success=False).error)
        self.write(client, "a.txt")
        self.assertFalse(client.execute("Bash", {"command": "true"}).success)
        self.state(client.transactions.Commit)
        self.assertTrue((self.work / "a.txt").exists())

    def test_begin_holds_back_the_calls_of_one_task(self):
        client = self.client()
        self.state(client.transactions.Begin)
        self.write(client, "a.txt")
        self.write(client, "b.txt", task="task-2")
        self.assertFalse((self.work / "a.txt").exists())
        self.assertTrue((self.work / "b.txt").exists())
        # A person may end it, too.
        self.galley("--agent", "bot", "commit", expect=0)
        self.assertTrue((self.work / "a.txt").exists())
        self.write(client, "c.txt")
        self.assertTrue((self.work / "c.txt").exists())

    def test_a_task_goes_on_after_a_restart_of_the_server(self):
        for rule in ("each_call", "explicit"):
            for task in ("task-1", "x" * 200):
                with self.subTest(rule=rule, task=task):
                    options = self.config(f"commit = '{rule}'\n[[principal]]\nuid = {os.geteuid()}\nagents = ['*']\n")
                    server = self.serve(*options)
                    client = Client(server.address)
                    self.state(client.transactions.Begin, task=task)
                    self.write(client, "a.txt", rule + task, task=task)
                    wrong = self.write(client, "wrong.txt", task=task)
                    client.close()
                    server.end()
                    server = self.serve(*options)
                    client = Client(server.address)
                    self.write(client, "b.txt", rule + task, task=task)
                    self.assertFalse((self.work / "b.txt").exists())
                    self.assertTrue(client.tools.Rollback(aios.RollbackRequest(execution_id=wrong, agent_id="bot")).success)
                    self.state(client.transactions.Commit, task=task)
                    client.close()
                    server.end()
                    self.assertEqual([path.read_text() for path in (self.work / "a.txt", self.work / "b.txt")], [rule + task] * 2)
                    self.assertFalse((self.work / "wrong.txt").exists())
                    for path in ("a.txt", "b.txt"):
                        (self.work / path).unlink()

    def test_the_commits_of_a_task_are_taken_back_together(self):
        client = self.client()
        self.write(client, "a.txt")
        self.write(client, "other.txt", task="task-2")
        self.write(client, "b.txt")
        self.galley("undo", "--session", "aios-task-1", expect=0)
        self.assertEqual(sorted(path.name for path in self.work.glob("*.txt")), ["other.txt"])

    def test_a_refused_commit_says_why_and_leaves_no_trace(self):
        (self.work / "galley.toml").write_text("[[validator]]\nname = 'json'\nbuiltin = 'json'\n")
        client = self.client()
        answer = client.execute("fs.write", {"path": "bad.json", "content": "{"})
        self.assertFalse(answer.success)
        self.assertTrue(answer.error.startswith("EPERMISSION"), answer.error)
        self.assertFalse((self.work / "bad.json").exists())
        self.state(client.transactions.Begin)
        self.write(client, "bad.json", "{")
        self.assertTrue(self.state(client.transactions.Preview, success=False).findings)
        refused = self.state(client.transactions.Commit, success=False)
        self.assertTrue(refused.error.startswith("EPERMISSION"))
        self.assertIn("bad.json", "".join(refused.findings))

    def test_a_folder_that_is_replaced_is_neither_read_nor_changed(self):
        client = self.client()
        done = self.write(client, "a.txt")
        self.state(client.transactions.Begin, task="open")
        self.write(client, "b.txt", task="open")
        away = self.work.with_name("away")
        self.work.rename(away)
        for is_replaced in (False, True):
            if is_replaced:
                self.work.mkdir()
                (self.work / "a.txt").write_text("other\n")
            told = [client.execute(tool, arguments, task=task).error for task in ("task-1", "open")
                    for tool, arguments in (("fs.read", {"path": "a.txt"}), ("fs.write", {"path": "c.txt", "content": "c"}),
                                            ("fs.list", {"path": "."}), ("sec.audit", {}))]
            told += [self.state(call, task=task, success=False).error for call, task in (
                (client.transactions.Begin, "new"), (client.transactions.Preview, "open"), (client.transactions.Commit, "open"),
                (client.transactions.Rollback, "open"))]
            told.append(client.tools.Rollback(aios.RollbackRequest(execution_id=done, agent_id="bot")).error)
            for number, error in enumerate(told):
                self.assertIn("was moved away or replaced", error, (number, is_replaced))
        self.assertEqual({path.name: path.read_text() for path in self.work.iterdir()}, {"a.txt": "other\n"})
        self.assertFalse((away / "c.txt").exists())
        shutil.rmtree(self.work)
        away.rename(self.work)
        self.state(client.transactions.Commit, task="open")
        self.assertEqual((self.work / "b.txt").read_text(), "x\n")

    def test_one_execution_is_taken_back(self):
        client = self.client()
        done = self.write(client, "a.txt")
        taken = client.tools.Rollback(aios.RollbackRequest(execution_id=done, reason="wrong"))
        self.assertEqual((taken.success, list(taken.execution_ids)), (True, [done]), taken.error)
        self.assertFalse((self.work / "a.txt").exists())
        self.state(client.transactions.Begin)
        first, second = self.write(client, "a.txt"), self.write(client, "b.txt")
        self.assertTrue(client.tools.Rollback(aios.RollbackRequest(execution_id=first)).success)
        self.state(client.transactions.Commit)
        self.assertFalse((self.work / "a.txt").exists())
        self.assertTrue(client.tools.Rollback(aios.RollbackRequest(execution_id=second, agent_id="bot")).success)
        self.assertFalse((self.work / "b.txt").exists())
        read = client.execute("fs.list", {"path": "."}).execution_id
        for unknown in (read, "exec-20200101-000000-aaaaaa", "exec-1"):
            for agent in ("bot", ""):
                refused = client.tools.Rollback(aios.RollbackRequest(execution_id=unknown, agent_id=agent))
                self.assertFalse(refused.success)
                self.assertRegex(refused.error, "^E[A-Z]+: .")
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, client.tools.Rollback, aios.RollbackRequest(execution_id="", agent_id="bot"))

    @unittest.skipUnless(hostile.IS_ROOT, "only root can be two users")
    def test_a_principal_takes_back_only_calls_of_its_agents(self):
        self.scratch.chmod(0o755)
        principals = f"[[principal]]\nuid = {os.geteuid()}\nagents = ['bot']\n[[principal]]\nuid = {hostile.OTHER_USER}\nagents = ['eve']\n"
        server = self.serve(*self.config(principals))
        client = Client(server.address)
        self.addCleanup(client.close)
        os.chmod(self.socket, 0o666)
        committed = self.write(client, "a.txt")
        self.state(client.transactions.Begin)
        staged = self.write(client, "b.txt")
        for execution in (committed, staged):
            self.assertEqual(self.as_other(execution), "PERMISSION_DENIED")
        self.state(client.transactions.Commit)
        client.close()
        server.end()
        self.serve(*self.config(principals))
        os.chmod(self.socket, 0o666)
        self.assertEqual(self.as_other(committed), "PERMISSION_DENIED", "the record names the agent, too")
        self.assertEqual(((self.work / "a.txt").read_text(), (self.work / "b.txt").read_text()), ("x\n", "x\n"))

    @unittest.skipUnless(hostile.IS_ROOT, "only root can be two users")
    def test_a_principal_uses_up_only_its_own_share_of_open_tasks(self):
        users = (os.geteuid(), hostile.OTHER_USER, *range(100_000, 100_062))  # 64 principals
        client = self.client(*self.config("".join(f"[[principal]]\nuid = {user}\nagents = ['*']\n" for user in users)))
        self.scratch.chmod(0o755)
        os.chmod(self.socket, 0o666)
        for number in range(15):  # a 64th of 1,000
            self.state(client.transactions.Begin, task=f"task-{number}")
        said = self.state(client.transactions.Begin, task="one-more", success=False).error
        self.assertIn("15 tasks of this principal", said)
        request = v1.TransactionRequest(agent_id="eve", task_id="mine", reason="Mine").SerializeToString()
        answer = bytes.fromhex(self.status_of_other("galley.v1.Transactions/Begin", request.hex()))
        self.assertTrue(v1.TransactionState.FromString(answer).success)
        self.state(client.transactions.Rollback, task="task-0")
        self.state(client.transactions.Begin, task="one-more")

    def as_other(self, execution):
        """Returns the status of a rollback by another user, who speaks for eve."""
        request = aios.RollbackRequest(execution_id=execution, agent_id="eve", reason="mine").SerializeToString()
        return self.status_of_other("Rollback", request.hex())

    def test_the_stream_has_the_output_and_ends_with_the_answer(self):
        self.need_walls()
        client = self.client("--profile", "native")
        events = list(client.transactions.Execute(client.request("Bash", {"command": "echo one; echo two >&2; echo x > made; sleep 0.2"})))
        self.assertEqual(b"".join(event.stdout for event in events), b"one\n")
        self.assertEqual(b"".join(event.stderr for event in events), b"two\n")
        self.assertTrue(events[-1].response.success, events[-1].response.error)
        self.assertGreaterEqual(events[-1].response.duration_ms, 200)
        self.assertEqual((self.work / "made").read_text(), "x\n")


class Health(GrpcCase):
    def test_health_and_reflection_are_those_of_grpc(self):
        client = self.client()
        check = client.channel.unary_unary("/grpc.health.v1.Health/Check")
        name = b"aios-tools"
        self.assertEqual(check(bytes([0x0A, len(name)]) + name), b"\x08\x01", "SERVING")
        self.refused(grpc.StatusCode.NOT_FOUND, check, b"\x0a\x05other")
        reflect = client.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        services = next(reflect(iter([b"\x3a\x01*"])))
        for service in (b"aios.tools.ToolRegistry", b"galley.v1.Transactions", b"galley.v1.Approvals"):
            self.assertIn(service, services)


def of_document(field):
    """Returns a program of aiOS' document, to the byte."""
    samples = json.loads((ROOT / "fixtures" / "specs" / "aios.json").read_text())["samples"]
    return next(sample[field] for sample in samples if field in sample)


class Telemetry(GrpcCase):
    def test_calls_are_counted_and_traced(self):
        spans, metrics = self.scratch / "spans.jsonl", self.scratch / "metrics.sock"
        config = f"metrics = 'unix:{metrics}'\nspans = '{spans}'\n[[principal]]\nuid = {os.geteuid()}\nagents = ['*']\n"
        client = self.client(*self.config(config))
        done = client.execute("fs.list", {"path": "."})
        self.assertFalse(client.execute("fs.read", {"path": "missing.txt"}).success)
        with socket.socket(socket.AF_UNIX) as scraper:
            scraper.connect(str(metrics))
            scraper.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = scraper.makefile().read()
        for line in ('galley_calls_total{outcome="ok"} 1', 'galley_calls_total{outcome="ERUNTIME"} 1', "galley_calls_in_work 0"):
            self.assertIn(f"\n{line}\n", text)
        told = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in spans.read_text().splitlines()]
        self.assertEqual(told[0]["traceId"], told[1]["traceId"], "both are of one task")
        attributes = {one["key"]: one["value"]["stringValue"] for one in told[0]["attributes"]}
        self.assertEqual(attributes, {"galley.outcome": "ok", "galley.tool": "fs.list", "galley.task": "task-1", "galley.agent": "bot",
                                      "galley.execution": done.execution_id})


class Python(GrpcCase):
    """The package galley_aios."""

    def setUp(self):
        super().setUp()
        self.galley("grant", "bot", "custom:my_tool", expect=0)
        right = f"[[principal]]\nuid = {os.geteuid()}\nagents = ['*']\nrights = ['tool:register']\n"
        self.address = self.serve(*self.config(right)).address

    def test_the_snippets_of_the_document_run_unchanged(self):
        names = {"FsReadResult": galley_aios.FsReadResult, "my_handler_function": lambda given: {"sum": given["a"] + given["b"]}}
        (self.work / "notes.txt").write_text("some notes\n")

        async def use():
            galley_aios.connect(self.address, "bot", "task-1")
            try:
                await check()
            finally:
                await galley_aios.tool_registry.close()

        async def check():
            names.update(tool_client=galley_aios.tool_client, tool_registry=galley_aios.tool_registry)
            register = textwrap.indent(of_document("registration"), "    ")
            exec(of_document("document_client") + "async def register():\n" + register, names)
            result = await names["fs_read"]("notes.txt")
            self.assertEqual((result.content, result.size), ("some notes\n", 11))
            (self.work / "big.txt").write_text("a line\n" * 700_000)
            self.assertEqual((await names["fs_read"]("big.txt")).size, 4_900_000)
            await names["register"]()
            called = await galley_aios.tool_client.execute("custom.my_tool", {"a": 1, "b": 2})
            self.assertEqual(called.output, {"sum": 3})

        asyncio.run(use())

    def test_a_registered_tool_obeys_the_rules_and_ends_with_its_program(self):
        client = Client(self.address)
        self.addCleanup(client.close)

        async def fail(given):
            raise ValueError(f"no {given['a']}")

        async def use():
            galley_aios.connect(self.address, "bot")
            try:
                await check()
            finally:
                await galley_aios.tool_registry.close()

        async def check():
            registry, schema = galley_aios.tool_registry, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
            await registry.register("custom.bad", "Fails", schema, fail)
            await registry.register("custom.my_tool", "Adds", schema, lambda given: {"b": given["a"] + 1}, output_schema={
                "type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}, required_capabilities=["custom:my_tool"],
                risk_level="low")
            shown = await asyncio.to_thread(client.tools.GetTool, aios.GetToolRequest(name="custom.my_tool", agent_id="bot"))
            self.assertEqual((shown.risk_level, list(shown.required_capabilities)), ("low", ["custom:my_tool"]))
            ask = lambda *words, **more: asyncio.to_thread(client.execute, *words, **more)
            self.assertEqual(json.loads((await ask("custom.my_tool", {"a": 1})).output_json), {"b": 2})
            self.assertIn("EVALIDATION", (await ask("custom.my_tool", {"a": "x"})).error)
            self.assertIn("EPERMISSION", (await ask("custom.my_tool", {"a": 1}, agent="other")).error)
            self.assertIn("ValueError: no 7", (await ask("custom.bad", {"a": 7})).error)
            listed = await asyncio.to_thread(client.tools.ListTools, aios.ListToolsRequest(namespace="custom", agent_id="bot"))
            self.assertEqual([tool.name for tool in listed.tools], ["custom.bad", "custom.my_tool"])
            for name in ("fs.read", "mytool", "custom.", "custom. x"):
                with self.assertRaisesRegex(galley_aios.ToolError, "EVALIDATION"):
                    await registry.register(name, "No", schema, fail)
            # What is registered stays if what should replace it is refused.
            with self.assertRaises(galley_aios.ToolError):
                await registry.register("custom.my_tool", "No", {"type": 5}, fail)
            self.assertEqual(json.loads((await ask("custom.my_tool", {"a": 2})).output_json), {"b": 3})

        asyncio.run(use())
        wait_until(lambda: not client.tools.ListTools(aios.ListToolsRequest(namespace="custom")).tools)
        self.assertFalse(client.execute("custom.my_tool", {"a": 1}).success)

    @staticmethod
    def start_handler(point, answer):
        """Starts the program of a tool: `answer` gets the request and its context."""
        program = grpc.server(concurrent.futures.ThreadPoolExecutor())
        execute = lambda *call: aios.ExecuteResponse(success=True, output_json=json.dumps(answer(*call)).encode())
        method = grpc.unary_unary_rpc_method_handler(execute, aios.ExecuteRequest.FromString, aios.ExecuteResponse.SerializeToString)
        program.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("aios.tools.ToolHandler", {"Execute": method})])
        program.add_insecure_port(point)
        program.start()
        return program

    def test_callers_that_leave_put_out_no_tool_for_others(self):
        client, called = Client(self.address), queue.Queue()
        self.addCleanup(client.close)
        point = f"unix:{self.scratch}/handler.sock"

        def answer(request, context):
            called.put(None)
            while context.is_active() and b"wait" in request.input_json:
                time.sleep(0.05)
            return {}

        program = self.start_handler(point, answer)
        self.addCleanup(lambda: program.stop(None).wait())
        tool = {"name": "custom.slow", "description": "x", "input_schema": b'{"type": "object"}', "risk_level": "low"}
        self.assertTrue(client.tools.Register(aios.RegisterRequest(tool=tool, handler_address=point, agent_id="bot")).accepted)
        for _ in range(4):
            call = client.start("custom.slow", {"wait": True})
            called.get(timeout=60)
            call.cancel()
        for _ in range(4):
            with self.assertRaises(grpc.RpcError):
                client.execute("custom.slow", {"wait": True}, timeout=1)
        said = client.execute("custom.slow")
        self.assertTrue(said.success, said.error)

    def test_a_tool_that_persists_outlives_its_program(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        point = f"unix:{self.scratch}/handler.sock"
        start = lambda answer: self.start_handler(point, lambda *_: {"said": answer})

        def register(name, persist):
            tool = {"name": name, "description": "x", "input_schema": b'{"type": "object"}'}
            said = client.tools.Register(aios.RegisterRequest(tool=tool, handler_address=point, agent_id="bot", persist=persist))
            self.assertTrue(said.accepted, said.error)

        listed = lambda: [tool.name for tool in client.tools.ListTools(aios.ListToolsRequest(namespace="custom")).tools]
        first = start("first")
        register("custom.short", False)
        register("custom.long", True)
        self.assertEqual(json.loads(client.execute("custom.long").output_json), {"said": "first"})
        first.stop(None).wait()
        wait_until(lambda: listed() == ["custom.long"])
        self.assertRegex(client.execute("custom.long").error, "^E[A-Z]+: ")
        second = start("second")
        self.addCleanup(lambda: second.stop(None).wait())
        register("custom.other", False)
        self.assertEqual(json.loads(client.execute("custom.long").output_json), {"said": "second"})
        self.assertFalse(client.execute("custom.short").success)

    def test_only_a_socket_of_the_caller_is_called(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        tool = {"name": "custom.x", "description": "x", "input_schema": b'{"type": "object"}'}
        for address in ("unix:relative", "localhost:1", "", "unix:", f"unix:{self.scratch}/nothing"):
            said = client.tools.Register(aios.RegisterRequest(tool=tool, handler_address=address, agent_id="bot"))
            self.assertFalse(said.accepted, address)
            self.assertRegex(said.error, "^E(VALIDATION|RUNTIME): ")

    def test_a_definition_that_means_nothing_is_refused(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        program = self.start_handler(point := f"unix:{self.scratch}/handler.sock", lambda *_: {})
        self.addCleanup(lambda: program.stop(None).wait())
        tool = {"name": "custom.x", "description": "x", "input_schema": b'{"type": "object"}'}
        register = lambda **more: client.tools.Register(aios.RegisterRequest(tool={**tool, **more}, handler_address=point, agent_id="bot"))
        for more in ({"timeout_ms": -1}, {"namespace": "fs"}):
            self.assertRegex(register(**more).error, "^EVALIDATION: ")
        self.assertTrue(register(timeout_ms=0, namespace="custom").accepted)

if __name__ == "__main__":
    hostile.main()
