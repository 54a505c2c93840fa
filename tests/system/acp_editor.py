"""An editor that speaks the Agent Client Protocol to `galley acp`, and a scripted agent for the other side.

The agent executes the prompt, which is a JSON list of steps, and answers with what each step returned."""

import json
import os
import queue
import subprocess
import threading

from support import GALLEY

AGENT = r'''
import json, os, subprocess, sys
count = 0
early = []

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

def take():
    if early:
        return early.pop(0)
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def ask(method, params):
    global count
    count += 1
    send({"id": count, "method": method, "params": params})
    waiting = []
    while True:
        message = take()
        if message.get("id") == count and "method" not in message:
            early.extend(waiting)
            return message.get("result", message.get("error"))
        waiting.append(message)

def update(session, **what):
    send({"method": "session/update", "params": {"sessionId": session, "update": what}})

def step(session, name, *words):
    if name == "fs_write":
        return ask("fs/write_text_file", {"sessionId": session, "path": os.path.abspath(words[0]), "content": words[1]})
    if name == "fs_read":
        return ask("fs/read_text_file", {"sessionId": session, "path": os.path.abspath(words[0]), **(words[1] if words[1:] else {})})
    if name == "request":
        return ask(words[0], {"sessionId": session, **words[1]})
    if name == "write":
        with open(words[0], "w") as file:
            file.write(words[1])
    if name == "read":
        with open(words[0]) as file:
            return file.read()
    if name == "shell":
        done = subprocess.run(["sh", "-c", words[0]], capture_output=True, text=True)
        return [done.returncode, done.stdout + done.stderr]
    if name == "raw":
        sys.stdout.write(words[0] * (words[1] if words[1:] else 1) + "\n")
        sys.stdout.flush()
        return take()
    if name == "take":
        return take()
    if name == "crash":
        os._exit(words[0])
    if name == "cancelled":
        while take().get("method") != "session/cancel":
            pass
        return "cancelled"

while True:
    message = take()
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        answer = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "scripted", "version": "1"}, "_meta": {"got": params}}
    elif method == "session/new":
        answer = {"sessionId": params.get("_meta", {}).get("id", "session-1")}
    elif method == "session/prompt":
        session = params["sessionId"]
        said, reason = [], "end_turn"
        texts = [block["text"] for block in params["prompt"]]
        for number, one in enumerate(json.loads(texts[0])):
            call = f"call-{number}"
            update(session, sessionUpdate="tool_call", toolCallId=call, title=one[0], kind="other", status="in_progress")
            said.append(step(session, *one))
            if said[-1] == "cancelled":
                reason = "cancelled"
            update(session, sessionUpdate="tool_call_update", toolCallId=call, status="completed")
        answer = {"stopReason": reason, "_meta": {"said": said, "notes": texts[1:]}}
    elif "id" in message and method:
        answer = {"_meta": {"echo": message}}
    else:
        continue
    send({"id": message["id"], "result": answer})
'''


class Editor:
    """Starts `galley acp`. The functions `decide` and `buffer` answer its questions."""

    def __init__(self, work, environment, *options, agent=("python3", "-B", "-c", AGENT), reads=False):
        self.process = subprocess.Popen([GALLEY, "-C", str(work), "acp", *map(str, options), "--", *agent],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **environment}, start_new_session=True)
        self.work = work
        self.count = 0
        self.lines = queue.Queue()
        self.updates, self.asked, self.errors = [], [], []
        self.decide = lambda params: "commit"
        self.buffer = lambda path: None
        threading.Thread(target=self.take_lines, daemon=True).start()
        self.errors_read = threading.Thread(target=lambda: self.errors.append(self.process.stderr.read()), daemon=True)
        self.errors_read.start()
        self.reads = reads

    def take_lines(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def send_bytes(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def take(self):
        """The next message; None at the end."""
        line = self.lines.get(timeout=60)
        return None if line is None else json.loads(line)

    def answer(self, message):
        params = message["params"]
        if message["method"] == "session/request_permission":
            self.asked.append(params)
            option = self.decide(params)
            outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
            self.send({"id": message["id"], "result": {"outcome": outcome}})
        elif message["method"] == "fs/read_text_file":
            text = self.buffer(params["path"])
            self.send({"id": message["id"], "result": {"content": text}} if text is not None else
                      {"id": message["id"], "error": {"code": -32002, "message": "not open"}})
        else:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "not here"}})

    def ask(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        return self.count

    def wait(self, wanted):
        while (message := self.take()) is not None:
            if "method" not in message:
                if message.get("id") == wanted:
                    return message
            elif "id" in message:
                self.answer(message)
            else:
                self.updates.append(message["params"].get("update", {}))
        raise AssertionError(f"galley acp has ended: {self.finish()}")

    def request(self, method, params):
        return self.wait(self.ask(method, params))

    def start(self, session="session-1"):
        fs = {"readTextFile": self.reads, "writeTextFile": True}
        begun = self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": fs, "terminal": True}})
        made = self.request("session/new", {"cwd": str(self.work), "mcpServers": [], "_meta": {"id": session}})
        return begun, made

    def prompt(self, *steps, session="session-1"):
        """Lets the agent do the steps. Returns what each returned, and what Galley told it."""
        answer = self.wait(self.begin(*steps, session=session))
        meta = answer["result"].get("_meta", {})
        return meta.get("said"), "\n".join(meta.get("notes", []))

    def begin(self, *steps, session="session-1"):
        return self.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": json.dumps(steps)}]})

    def diffs(self):
        """The diffs of all tool calls, by the path below the workspace."""
        found = {}
        for update in self.updates:
            for content in update.get("content") or []:
                if isinstance(content, dict) and content.get("type") == "diff":
                    found[os.path.relpath(content["path"], self.work)] = (content.get("oldText"), content["newText"])
        return found

    def titles(self):
        return [update.get("title", "") for update in self.updates]

    def finish(self):
        """Ends the editor's side. Returns the status and what was said on standard error."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(60)
        self.errors_read.join(60)
        return status, b"".join(self.errors).decode(errors="replace")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
