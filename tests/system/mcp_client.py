"""A client of the Model Context Protocol for tests, which uses the pipes of a child process."""

import json
import queue
import subprocess
import threading

STATELESS = "2026-07-28"


class McpClient:
    """Starts `command` and talks to it. If `version` is None, it uses the stateless protocol."""

    def __init__(self, command, cwd, env=None, version="2025-11-25", capabilities=None):
        self.process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.capabilities = capabilities or {}
        self.version = version
        self.messages = queue.Queue()
        self.notifications = []
        self.questions = []
        self.answers = {}  # the result that each question gets, by its method
        self.answers_later = False  # the test itself answers questions
        self.last_id = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if version:
            self.hello = self.ask("initialize", {"protocolVersion": version, "capabilities": self.capabilities,
                                                 "clientInfo": {"name": "test", "version": "1"}})
            self.tell("notifications/initialized")

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.questions.append(message)
                if self.answers_later:
                    continue
                answer = self.answers.get(message["method"])
                self.send({"jsonrpc": "2.0", "id": message["id"],
                           "result": answer(message["params"]) if callable(answer) else answer})
            elif "method" in message:
                self.notifications.append(message)
            else:
                self.messages.put(message)
        self.messages.put(None)

    def send(self, message):
        self.send_raw(json.dumps(message).encode())

    def send_raw(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def tell(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def request(self, method, params=None, meta=None, identity=None):
        """Sends a request and returns its id."""
        self.last_id += 1
        params = dict(params or {})
        if not self.version:
            params["_meta"] = {"io.modelcontextprotocol/protocolVersion": STATELESS,
                               "io.modelcontextprotocol/clientCapabilities": self.capabilities, **(meta or {})}
        elif meta:
            params["_meta"] = meta
        identity = self.last_id if identity is None else identity
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        return identity

    def next(self, timeout=60):
        return self.messages.get(timeout=timeout)

    def answer_to(self, identity, others=None):
        """Returns the answer to that request. Another answer before it is a test error, unless the test keeps them in `others`, by
        their ids."""
        if others is not None and identity in others:
            return others.pop(identity)
        message = self.next()
        while others is not None and message is not None and message.get("id") != identity:
            others[message["id"]] = message
            message = self.next()
        assert message is not None, "the server ended: " + self.process.stderr.read().decode()
        assert message.get("id") == identity, message
        return message

    def ask(self, method, params=None, meta=None):
        return self.answer_to(self.request(method, params, meta))

    def call(self, tool, **arguments):
        """Returns the result of a tool. A protocol error is a test error."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def close(self, timeout=60):
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(timeout=timeout)
        self.reader.join(timeout=timeout)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        return status
