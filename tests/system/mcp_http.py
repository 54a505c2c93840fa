"""A server of `galley mcp --http` or `--unix`, and its clients, for tests."""

import http.client
import json
import re
import socket
import subprocess

from mcp_client import STATELESS

DEADLINE_S = 60
HANDSHAKE = "2025-11-25"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"


class HttpServer:
    """Starts `galley mcp` and reads from stderr where it serves."""

    def __init__(self, command, cwd, env):
        self.process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.paths, self.host, self.socket, self.token = [], None, None, None
        self.said = []  # other lines before the last address
        while self.token is None:
            line = self.process.stderr.readline().decode().rstrip("\n")
            address = re.fullmatch(r"http://(127\.[0-9.]+:\d+)(/.*)", line)
            file = re.fullmatch(r"(/.+) (/mcp.*)", line)
            if address:
                self.host = address[1]
                self.paths.append(address[2])
            elif file:
                self.socket = file[1]
                self.paths.append(file[2])
                self.token = ""
            elif line.startswith("Authorization: Bearer "):
                self.token = line.split(" ")[2]
            elif line:
                self.said.append(line)
            else:
                raise AssertionError("the server ended: " + self.process.stderr.read().decode())

    def connect(self):
        connection = http.client.HTTPConnection(self.host or "localhost", timeout=DEADLINE_S)
        if self.socket:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(DEADLINE_S)
            connection.sock.connect(self.socket)
        return connection

    def ask(self, method, path=None, body=None, headers=None):
        """Returns the answer and its whole text."""
        answer = self.send(method, path, body, headers)
        text = answer.read().decode()
        answer.connection.close()
        return answer, text

    def send(self, method, path=None, body=None, headers=None):
        """Returns the answer when its head is there. None among the headers leaves one out."""
        known = {"Authorization": f"Bearer {self.token}" if self.token else None, "Content-Type": "application/json",
                 "Accept": "application/json, text/event-stream", **(headers or {})}
        connection = self.connect()
        connection.request(method, path or self.paths[0], body, {name: value for name, value in known.items() if value is not None})
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def end(self, signal=15):
        self.process.send_signal(signal)
        return self.status()

    def status(self):
        status = self.process.wait(timeout=DEADLINE_S)
        self.process.stdout.close()
        self.process.stderr.close()
        return status


def events_of(answer):
    """The messages of a stream of events, as they arrive."""
    for line in answer:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


class HttpClient:
    """One session. If `version` is None, it uses the stateless protocol."""

    def __init__(self, server, path=None, version=HANDSHAKE, capabilities=None, agent_session=None):
        self.server, self.path, self.version = server, path, version
        self.capabilities = capabilities or {}
        self.answers = {}  # the result that each question gets, by its method
        self.notifications = []
        self.last_id = 0
        self.session = None
        self.agent_session = agent_session  # of hooks and commands
        if version:
            self.hello = self.ask("initialize", {"protocolVersion": version, "capabilities": self.capabilities,
                                                 "clientInfo": {"name": "test", "version": "1"}})
            self.tell({"method": "notifications/initialized"})

    def headers(self, message):
        if self.version:
            return {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version,
                    "Galley-Session": self.agent_session}
        params = message.get("params", {})
        return {"MCP-Protocol-Version": STATELESS, "Mcp-Method": message["method"],
                "Mcp-Name": params.get("name", params.get("uri"))}

    def tell(self, message):
        message = {"jsonrpc": "2.0", **message}
        answer, text = self.server.ask("POST", self.path, json.dumps(message), self.headers(message))
        assert (answer.status, text) == (202, ""), (answer.status, text)

    def begin(self, method, params=None):
        """Sends a request. Returns the open answer."""
        self.last_id += 1
        params = dict(params or {})
        if not self.version:
            params["_meta"] = {VERSION_KEY: STATELESS, CAPABILITIES_KEY: self.capabilities}
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        answer = self.server.send("POST", self.path, json.dumps(message), self.headers(message))
        self.session = answer.getheader("Mcp-Session-Id") or self.session
        return answer

    def finish(self, answer):
        """Reads an answer to its end, and answers questions in it. Returns the message."""
        found = None
        if answer.getheader("Content-Type").startswith("application/json"):
            found = json.loads(answer.read())
        else:
            for message in events_of(answer):
                if "method" not in message:
                    found = message
                elif "id" in message:
                    result = self.answers[message["method"]]
                    self.tell({"id": message["id"], "result": result(message["params"]) if callable(result) else result})
                else:
                    self.notifications.append(message)
        answer.connection.close()
        return found

    def ask(self, method, params=None):
        return self.finish(self.begin(method, params))

    def call(self, tool, **arguments):
        """Returns the result of a tool. A protocol error is a test error."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def listen(self):
        """Returns the stream of messages that belong to no request."""
        answer = self.server.send("GET", self.path, headers={**self.headers({}), "Accept": "text/event-stream"})
        assert answer.status == 200, answer.read()
        return answer
