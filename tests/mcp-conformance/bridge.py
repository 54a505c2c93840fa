#!/usr/bin/env python3
"""Serves a program that speaks the Model Context Protocol on its pipes over Streamable HTTP on
loopback, because the conformance tests accept only a URL.

    tests/mcp-conformance/bridge.py PORT_FILE -- COMMAND...     writes its port into PORT_FILE

Each client with a handshake gets its own process, named by Mcp-Session-Id. All stateless requests
go to one process. The bridge handles the parts that belong only to HTTP: Host and Origin, headers
that repeat the message, status codes.
"""

import itertools
import json
import queue
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STATELESS = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
STATUS = {-32601: 404, -32602: 400, -32022: 400, -32021: 400, -32020: 400, -32600: 400, -32700: 400}


class Child:
    """The program, and the waiting clients with their messages."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock = threading.Lock()
        self.waiting = {}  # our id -> (the client's id, queue, progress token)
        self.numbers = itertools.count(1)
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def begin(self, message):
        """Forwards a request under an id of ours. Returns the id and the queue of replies."""
        own = f"bridge-{next(self.numbers)}"
        token = message.get("params", {}).get("_meta", {}).get("progressToken")
        messages = queue.Queue()
        with self.lock:
            self.waiting[own] = (message["id"], messages, token)
        self.send({**message, "id": own})
        return own, messages

    def forget(self, own):
        with self.lock:
            self.waiting.pop(own, None)

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.lock:
                for own, (identity, messages, token) in list(self.waiting.items()):
                    if self.is_for(message, own, token):
                        messages.put(self.restored(message, own, identity))
        with self.lock:
            for _identity, messages, _token in self.waiting.values():
                messages.put(None)

    def is_for(self, message, own, token):
        if "method" not in message:
            return message.get("id") == own
        params = message.get("params", {})
        if SUBSCRIPTION_KEY in params.get("_meta", {}):
            return params["_meta"][SUBSCRIPTION_KEY] == own
        if message["method"] == "notifications/progress":
            return params["progressToken"] == token
        # A question or a log line belongs to the newest request.
        return own == list(self.waiting)[-1]

    @staticmethod
    def restored(message, own, identity):
        message = json.loads(json.dumps(message))
        if message.get("id") == own:
            message["id"] = identity
        for part in ("params", "result"):
            meta = message.get(part, {}).get("_meta", {}) if isinstance(message.get(part), dict) else {}
            if meta.get(SUBSCRIPTION_KEY) == own:
                meta[SUBSCRIPTION_KEY] = identity
        return message


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = {}
    stateless = None
    program = []
    lock = threading.Lock()

    def log_message(self, *_arguments):
        pass

    def is_local(self):
        def name_of(value):
            value = value.split("//")[-1]
            return value.rsplit(":", 1)[0] if not value.endswith("]") else value

        names = [name_of(self.headers.get(header, "localhost")) for header in ("Host", "Origin")]
        return all(name in ("localhost", "127.0.0.1", "[::1]") for name in names)

    def answer(self, status, document=None, headers=()):
        body = json.dumps(document).encode() if document is not None else b""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if document is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, status, identity, code, message):
        self.answer(status, {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}})

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        with self.lock:
            child = self.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if child:
            child.process.stdin.close()
        self.answer(200 if child else 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.is_local():
            return self.answer(403)
        try:
            message = json.loads(body)
        except ValueError:
            return self.fail(400, None, -32700, "this is not JSON")
        session = self.headers.get("Mcp-Session-Id")
        params = message.get("params") or {}
        version = params.get("_meta", {}).get(VERSION_KEY)
        header = self.headers.get("MCP-Protocol-Version")
        is_handshake = session or (message.get("method") == "initialize" and version is None and header != STATELESS)
        headers = []
        if is_handshake:
            if message.get("method") == "initialize":
                session = f"session-{len(self.sessions) + 1}"
                with self.lock:
                    self.sessions[session] = Child(self.program)
                headers = [("Mcp-Session-Id", session)]
            child = self.sessions.get(session)
            if child is None:
                return self.fail(404, message.get("id"), -32600, "there is no such session")
        else:
            wrong = self.mismatch(message, params, version, header)
            if wrong:
                return self.fail(400, message.get("id"), -32020, wrong)
            with self.lock:
                if Handler.stateless is None:
                    Handler.stateless = Child(self.program)
                child = Handler.stateless
        if "id" not in message or "method" not in message:
            child.send(message)
            return self.answer(202, headers=headers)
        return self.stream(child, message, headers)

    def mismatch(self, message, params, version, header):
        """Returns how the headers of a stateless request differ from its message."""
        if version is not None and header != version:
            return "MCP-Protocol-Version is not what the message says"
        method = self.headers.get("Mcp-Method")
        if method is not None and method != message.get("method"):
            return "Mcp-Method is not what the message says"
        name = self.headers.get("Mcp-Name")
        if name is not None and name not in (params.get("name"), params.get("uri")):
            return "Mcp-Name is not what the message says"
        return None

    def stream(self, child, message, headers):
        own, messages = child.begin(message)
        try:
            first = messages.get(timeout=120)
            if first is None:
                return self.fail(500, message["id"], -32603, "the program ended")
            if "method" not in first:
                status = STATUS.get(first.get("error", {}).get("code"), 200) if "error" in first else 200
                is_stateless = child is Handler.stateless
                return self.answer(status if is_stateless else 200, first, headers)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.close_connection = True
            while first is not None:
                self.wfile.write(b"event: message\ndata: " + json.dumps(first).encode() + b"\n\n")
                self.wfile.flush()
                if "method" not in first:
                    return None
                first = self.next_of(messages)
        except (BrokenPipeError, ConnectionResetError):
            child.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": own}})
        finally:
            child.forget(own)
        return None

    def next_of(self, messages):
        while True:
            try:
                return messages.get(timeout=1)
            except queue.Empty:
                self.wfile.write(b": still here\n\n")  # fails if the client has disconnected
                self.wfile.flush()


def main():
    port_file, command = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
    Handler.program = command
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(port_file, "w", encoding="utf-8") as file:
        file.write(f"{server.server_address[1]}\n")
    server.serve_forever()


main()
