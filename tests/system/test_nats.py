"""`galley-serve-nats`: the tools of a workspace over a real nats-server, as Nachos' ToolRunner serves
them."""

import itertools
import json
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

import support
from nats_client import LinesOf, NatsClient, NatsServer, nats_server_program

PROGRAM = Path(support.GALLEY).parent / "galley-serve-nats"
FILES = "nachos.tool.filesystem"
SESSION = "nachos.tool.transaction.request"


class NatsCase(support.SystemCase):
    def setUp(self):
        super().setUp()
        (self.work / "workspace").mkdir()
        (self.work / "workspace" / "a.txt").write_text("one\n")
        self.numbers = itertools.count(1)

    def start_server(self, configuration=""):
        server = NatsServer(self.scratch / "nats", configuration)
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


if __name__ == "__main__":
    unittest.main()
