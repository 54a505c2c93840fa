#!/usr/bin/env python3
"""`galley serve --grpc` with a client that is not ours, python3-grpcio."""

import json
import signal
import stat

import grpc
import hostile
from grpc_client import DEADLINE_S, Client, Server, aios
from hostile import HostileCase

DOCUMENT_FIELDS = ["name", "namespace", "version", "description", "input_schema", "output_schema", "required_capabilities",
                   "risk_level", "requires_confirmation", "idempotent", "reversible", "timeout_ms", "rollback_tool"]


class GrpcCase(HostileCase):
    def setUp(self):
        super().setUp()
        self.socket = self.scratch / "galley.sock"

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
        return "--server-config", path

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
        self.assertEqual(list(write.required_capabilities), ["fs:write"])
        self.assertEqual(json.loads(write.input_schema)["type"], "object")
        self.assertGreater(write.timeout_ms, 0)
        only = client.tools.ListTools(aios.ListToolsRequest(namespace="sec")).tools
        self.assertEqual({tool.namespace for tool in only}, {"sec"})

    def test_a_call_is_answered_recorded_and_committed(self):
        client = self.client()
        answer = client.execute("fs.write", {"path": "new.txt", "content": "new\n"}, reason="Writing it")
        self.assertTrue(answer.success, answer.error)
        self.assertEqual(json.loads(answer.output_json)["bytes_written"], 4)
        self.assertRegex(answer.execution_id, r"^exec-\d{8}-\d{6}-[0-9a-z]+$")
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")
        read = client.execute("fs.read", {"path": str(self.work / "new.txt")})
        self.assertEqual(json.loads(read.output_json)["content"], "new\n")
        exported = self.galley("audit", "export", "--format", "aios", expect=0).stdout.decode()
        entry = next(one for one in map(json.loads, exported.splitlines()) if one["execution_id"] == answer.execution_id)
        self.assertEqual((entry["agent"], entry["task_id"], entry["reason"]), ("bot", "task-1", "Writing it"))

    def test_a_failing_tool_is_ok_with_its_code(self):
        client = self.client()
        for tool, arguments, code in [
            ("fs.read", {"path": "missing.txt"}, "ERUNTIME"),
            ("fs.read", {}, "EVALIDATION"),
            ("fs.raed", {}, "EVALIDATION"),
            ("Bash", {"command": "true"}, "EVALIDATION"),
            ("fs.read", {"path": "/etc/passwd"}, "EVALIDATION"),
            ("fs.write", {"path": ".git/config", "content": "x"}, "EPERMISSION"),
        ]:
            with self.subTest(tool=tool, arguments=arguments):
                answer = client.execute(tool, arguments)
                self.assertFalse(answer.success)
                self.assertTrue(answer.error.startswith(code), answer.error)
                self.assertEqual(answer.output_json, b"")


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
        self.assertTrue(client.execute("fs.list", {"path": "."}).success)


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


if __name__ == "__main__":
    hostile.main()
