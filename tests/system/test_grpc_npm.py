"""`galley serve --grpc` with the gRPC client of npm, which learns the messages from the server."""

import base64
import functools
import itertools
import json
import os
import subprocess
import unittest
from pathlib import Path

import support
import test_grpc

PROGRAM = support.ROOT / "tests" / "grpc" / "calls.mjs"
OURS = ("aios.tools.ToolRegistry", "galley.v1.Transactions", "galley.v1.Approvals")
HEALTH, TOOLS, TRANSACTIONS, APPROVALS = ("grpc.health.v1.Health", *OURS)


@functools.cache
def npm_modules():
    """Returns the folder node_modules, or None and the reason."""
    result = subprocess.run([support.ROOT / "scripts" / "fetch-npm-tools", "grpc"], capture_output=True, check=False, timeout=600)
    if result.returncode != 0:
        return None, result.stderr.decode(errors="replace")
    return Path(result.stdout.decode().strip()).parent, ""


class NpmClient:
    """The process of tests/grpc/calls.mjs. Its lines are read in order; those of other calls are kept."""

    def __init__(self, modules):
        self.process = subprocess.Popen(["node", PROGRAM, modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.numbers = itertools.count(1)
        self.kept = []
        self.called = set()
        self.methods = {}

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def say(self, **told):
        self.process.stdin.write(json.dumps(told).encode() + b"\n")
        self.process.stdin.flush()

    def line(self, is_wanted):
        """Returns the next line that is wanted."""
        for told in self.kept:
            if is_wanted(told):
                self.kept.remove(told)
                return told
        while True:
            text = self.process.stdout.readline()
            assert text, "the client has ended"
            told = json.loads(text)
            if is_wanted(told):
                return told
            self.kept.append(told)

    def connect(self, address, name="agent", **files):
        self.say(connect=address, **{"as": name}, **{key: str(file) for key, file in files.items()})
        told = self.line(lambda line: line.get("connected") == name)
        self.methods = told["methods"]
        return told

    def start(self, method, request=None, name="agent", **more):
        """Returns the id of the call."""
        number = next(self.numbers)
        self.called.add(method)
        self.say(**{"as": name}, call=method, id=number, request=request or {}, **more)
        return number

    def next(self, number):
        """Returns the next line of a call."""
        return self.line(lambda line: line.get("id") == number)

    def call(self, method, request=None, **more):
        """Returns the answer of a unary call, or the status of a failure."""
        told = self.next(self.start(method, request, **more))
        return told.get("status") or told["answer"]

    def events(self, method, request=None, **more):
        """Returns all events of a stream."""
        number = self.start(method, request, **more)
        told = list(itertools.takewhile(lambda line: "event" in line, (self.next(number) for _ in itertools.count())))
        return [line["event"] for line in told if line["event"] != "begun"]


def bytes_of(value):
    return base64.b64encode(json.dumps(value).encode()).decode()


def value_of(text):
    return json.loads(base64.b64decode(text))


def execution(tool, arguments, **more):
    return {"tool_name": tool, "agent_id": "bot", "task_id": "task-1", "input_json": bytes_of(arguments), "reason": "a test", **more}


class NpmCase(test_grpc.CertificateCase):
    def setUp(self):
        super().setUp()
        modules, why = npm_modules()
        if modules is None:
            raise unittest.SkipTest(f"this did not run: {why}")
        self.npm = NpmClient(modules)
        self.addCleanup(self.npm.close)

    def principals(self, rights):
        return self.config(f"[[principal]]\nuid = {os.geteuid()}\nagents = ['bot']\nrights = {rights}\n")


class Methods(NpmCase):
    def execute(self, tool, arguments, **more):
        answer = self.npm.call(f"{TOOLS}/Execute", execution(tool, arguments, **more))
        self.assertEqual((answer["success"], answer["error"]), (True, ""), answer)
        return answer

    def task(self, method, success=True):
        state = self.npm.call(f"{TRANSACTIONS}/{method}", {"agent_id": "bot", "task_id": "task-1", "reason": "notes"})
        self.assertEqual(state["success"], success, state)
        return state

    def test_every_method_of_the_registry_and_of_transactions(self):
        (self.work / "galley.toml").write_text("[[validator]]\nname = 'json'\nbuiltin = 'json'\n")
        server = self.serve(*self.principals(["tool:register", "approve"]))
        connected = self.npm.connect(server.address)
        self.assertLessEqual({HEALTH, *OURS}, set(connected["services"]))
        self.assertEqual(self.npm.call(f"{HEALTH}/Check", {"service": "aios-tools"}), {"status": "SERVING"})
        self.assertEqual(self.npm.call(f"{HEALTH}/Check", {"service": "other"}), "NOT_FOUND")
        watch = self.npm.start(f"{HEALTH}/Watch", {"service": "aios-tools"})
        while (event := self.npm.next(watch)["event"]) == "begun":
            pass
        self.assertEqual(event, {"status": "SERVING"})

        tools = self.npm.call(f"{TOOLS}/ListTools", {"namespace": "fs"})["tools"]
        write = next(tool for tool in tools if tool["name"] == "fs.write")
        self.assertEqual(set(write), set(test_grpc.DOCUMENT_FIELDS))
        self.assertEqual(self.npm.call(f"{TOOLS}/GetTool", {"name": "fs.write"}), write)
        self.assertEqual(value_of(write["input_schema"])["type"], "object")

        made = self.execute("fs.write", {"path": "a.txt", "content": "x\n"})
        self.assertEqual((value_of(made["output_json"])["bytes_written"], (self.work / "a.txt").read_text()), (2, "x\n"))
        taken = self.npm.call(f"{TOOLS}/Rollback", {"execution_id": made["execution_id"], "reason": "wrong"})
        self.assertEqual((taken["success"], taken["execution_ids"]), (True, [made["execution_id"]]))
        self.assertFalse((self.work / "a.txt").exists())

        self.assertTrue(self.task("Begin")["transaction"])
        self.execute("fs.write", {"path": "a.json", "content": "{"})
        refused = self.task("Preview", success=False)
        self.assertIn("+++ b/a.json", refused["diff"])
        self.assertIn("a.json", refused["findings"][0])
        self.assertTrue(self.task("Commit", success=False)["error"].startswith("EPERMISSION"))
        self.task("Rollback")
        self.task("Begin")
        events = self.npm.events(f"{TRANSACTIONS}/Execute", execution("fs.write", {"path": "a.json", "content": "{}\n"}))
        self.assertEqual([event["event"] for event in events], ["response"])
        self.assertTrue(events[0]["response"]["success"])
        self.assertFalse((self.work / "a.json").exists())
        committed = self.task("Commit")["transaction"]
        self.assertEqual((self.work / "a.json").read_text(), "{}\n")
        self.assertEqual(json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"][0]["id"], committed)

        handler = f"unix:{self.scratch}/handler.sock"
        self.npm.say(handler=handler)
        self.npm.line(lambda line: "listens" in line)
        tool = {"name": "custom.sum", "description": "Adds.", "input_schema": bytes_of({"type": "object"}), "risk_level": "low"}
        self.assertEqual(self.npm.call(f"{TOOLS}/Register", {"tool": tool, "handler_address": handler, "agent_id": "bot"}),
                         {"accepted": True, "error": ""})
        self.assertEqual(value_of(self.execute("custom.sum", {"a": 1, "b": 2})["output_json"]), {"sum": 3, "by": "bot"})
        approvals = {f"{APPROVALS}/{name}" for name in ("Questions", "Answer")}  # by the next test
        served = {method for method in self.npm.methods if method.split("/")[0] in (HEALTH, *OURS)}
        self.assertEqual(self.npm.called, served - approvals)

    def test_the_search_tells_its_progress(self):
        for number in range(20):
            (self.work / f"{number}.txt").write_text("needle\n")
        self.npm.connect(self.serve("--profile", "native").address)
        request = execution("Grep", {"pattern": "needle"})
        *progress, last = self.npm.events(f"{TRANSACTIONS}/Execute", request)
        self.assertEqual(last["event"], "response")
        self.assertTrue(last["response"]["success"], last)
        told = [event["progress"]["done"] for event in progress if event["event"] == "progress"]
        self.assertGreaterEqual(len(told), 20)
        self.assertEqual(told, list(range(1, len(told) + 1)))

    def test_questions_are_answered_by_another_principal(self):
        (self.work / "galley.toml").write_text("[policy]\nmode = 'strict'\n")
        server = self.serve_tls()
        for name in ("agent", "boss"):
            self.npm.connect(server.address, name, ca=self.scratch / "ours-ca.pem", key=self.scratch / f"{name}.key",
                             certificate=self.scratch / f"{name}.pem")
        questions = self.npm.start(f"{APPROVALS}/Questions", name="boss")
        self.assertEqual(self.npm.next(questions)["event"], "begun")
        for approve in (False, True):
            call = self.npm.start(f"{TOOLS}/Execute", execution("fs.write", {"path": "a.txt", "content": "x\n"}))
            question = self.npm.next(questions)["event"]
            self.assertEqual((question["agent_id"], question["tool_name"]), ("bot", "fs.write"))
            answer = {"id": question["id"], "approve": approve}
            self.assertEqual(self.npm.call(f"{APPROVALS}/Answer", answer), "PERMISSION_DENIED")
            self.assertEqual(self.npm.call(f"{APPROVALS}/Answer", answer, name="boss"), {})
            self.assertEqual(self.npm.next(call)["answer"]["success"], approve)
            self.assertEqual((self.work / "a.txt").exists(), approve)


class Statuses(NpmCase):
    def setUp(self):
        super().setUp()
        self.need_walls()

    def test_each_status_of_the_table_is_answered(self):
        table = (support.ROOT / "docs" / "grpc.md").read_text().split("| status | when |\n|---|---|\n")[1].split("\n\n")[0]
        documented = {word for line in table.splitlines() for word in line.split("|")[1].replace("`", "").replace(",", " ").split()}
        self.npm.connect(self.serve(*self.principals([]), "--profile", "native").address)
        execute = f"{TOOLS}/Execute"
        sleep = execution("Bash", {"command": "echo begun; sleep 60; echo x > x"})
        found = {"OK": self.npm.call(execute, execution("List", {"path": "."}))}
        self.assertTrue(found["OK"]["success"])
        failing = self.npm.call(execute, execution("Read", {"file_path": "missing"}))
        self.assertEqual((failing["success"], failing["error"].split(":")[0]), (False, "ERUNTIME"))
        told = {
            "INVALID_ARGUMENT": self.npm.call(execute, {**sleep, "input_json": base64.b64encode(b"{").decode()}),
            "PERMISSION_DENIED": self.npm.call(execute, {**sleep, "agent_id": "other"}),
            "NOT_FOUND": self.npm.call(f"{TOOLS}/GetTool", {"name": "fs.raed"}),
            "DEADLINE_EXCEEDED": self.npm.call(execute, sleep, deadline_ms=1_000),
            "RESOURCE_EXHAUSTED": self.npm.call(execute, {**sleep, "input_json": base64.b64encode(b" " * (17 << 20)).decode()}),
        }
        stream = self.npm.start(f"{TRANSACTIONS}/Execute", sleep)
        while (line := self.npm.next(stream))["event"] == "begun" or line["event"]["event"] != "stdout":
            pass
        self.npm.say(cancel=stream)
        told["CANCELLED"] = self.npm.next(stream)["status"]
        self.socket = self.scratch / "closed.sock"
        self.npm.connect(self.serve(*self.config("[[principal]]\nuid = 999999\nagents = ['bot']\n")).address)
        told["UNAUTHENTICATED"] = self.npm.call(execute, sleep)
        self.assertEqual(told, {status: status for status in told})
        self.assertEqual(set(told) | {"OK", "UNIMPLEMENTED"}, documented)  # the last: test_grpc
        self.assertFalse((self.work / "x").exists())


if __name__ == "__main__":
    unittest.main()
