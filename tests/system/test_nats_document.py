"""The same requests to Nachos' own ToolRunner and FilesystemTool and to `galley-serve-nats`, each on a
real nats-server, from the NATS client of npm."""

import base64
import functools
import hashlib
import json
import os
import subprocess
import unittest
from pathlib import Path

import support
import test_nats
import test_nats_jobs

PROGRAM = support.ROOT / "tests" / "nats" / "document.mjs"


@functools.cache
def npm_modules():
    """Returns the folder node_modules, or None and the reason."""
    result = subprocess.run([support.ROOT / "scripts" / "fetch-npm-tools", "nats"], capture_output=True, check=False, timeout=600)
    if result.returncode != 0:
        return None, result.stderr.decode(errors="replace")
    return Path(result.stdout.decode().strip()).parent, ""


class Npm:
    """For a test case: the client of npm."""

    def setUp(self):
        super().setUp()
        self.modules, why = npm_modules()
        if self.modules is None:
            raise unittest.SkipTest(f"this did not run: {why}")

    def node(self, verb, server):
        return ["node", PROGRAM, self.modules, verb, server.address]

    def ask(self, server, requests):
        """Returns the reply to each (subject, data)."""
        lines = "".join(json.dumps({"subject": subject, "data": data}) + "\n" for subject, data in requests)
        done = subprocess.run(self.node("ask", server), input=lines.encode(), capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return [json.loads(line) for line in done.stdout.splitlines()]


class Document(Npm, test_nats.NatsCase):
    def start_document(self, verb="serve"):
        """Serves a folder of its own with the ToolRunner of the document."""
        folder = self.scratch / f"document-{verb}"
        (folder / "workspace").mkdir(parents=True)
        (folder / "workspace" / "a.txt").write_text("one\n")
        server = test_nats.NatsServer(self.scratch / f"nats-{verb}")
        self.addCleanup(server.stop)
        runner = subprocess.Popen(self.node(verb, server), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={**os.environ, **self.environment, "GALLEY": support.GALLEY})
        self.addCleanup(runner.stdout.close)
        self.addCleanup(runner.wait)
        self.addCleanup(runner.kill)
        for line in runner.stdout:
            if line == b"serving\n":
                break
        return server, folder

    def comparable(self, reply):
        """Checks what differs by its nature, and returns the rest."""
        if "payload" not in reply:
            self.assertEqual(sorted(reply), ["error", "success"])
            self.assertTrue(reply["error"].pop("message"))
            return reply
        self.assertRegex(reply.pop("id"), r"^[0-9a-f-]{36}$")
        self.assertRegex(reply.pop("timestamp"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        payload = reply["payload"]
        metadata = payload.pop("metadata", {})
        if payload["success"]:
            self.assertIsInstance(metadata["duration"], int)
            if isinstance(payload["result"], list):
                payload["result"].sort()
        else:  # the texts are those of node's fs, or say where folders are allowed
            self.assertTrue(payload["error"].pop("message"))
            payload["error"].pop("details", None)
        return reply

    def test_the_documents_runner_and_galley_answer_alike(self):
        document, folder = self.start_document()
        hosting, hosted = self.start_document("host")
        server = self.start_server()
        self.start_door(server)
        subject = f"{test_nats.FILES}.request"
        requests = [(subject, json.dumps(self.call_of(**parameters))) for parameters in (
            {"action": "read", "path": "./workspace/a.txt"},
            {"action": "write", "path": "./workspace/b.txt", "content": "two\nlines\n"},
            {"action": "read", "path": "./workspace/b.txt"},
            {"action": "list", "path": "./workspace"},
            {"action": "delete", "path": "./workspace/a.txt"},
            {"action": "list", "path": "./workspace"},
            {"action": "read", "path": "./workspace/a.txt"},
            {"action": "delete", "path": "./workspace/gone.txt"},
            {"action": "write", "path": "./workspace/c.txt"},
            {"action": "read", "path": "README.md"},
            {"action": "read", "path": "./elsewhere/a.txt"})]
        requests += [(subject, text) for text in ("{", "", "null", "not JSON")]
        expected, found, from_host = (self.ask(one, requests) for one in (document, server, hosting))
        self.assertEqual([reply.get("payload", reply)["success"] for reply in expected], [True] * 6 + [False] * 9)
        for (_, data), theirs, *ours in zip(requests, expected, found, from_host):
            with self.subTest(data):
                theirs = self.comparable(theirs)
                self.assertEqual([self.comparable(one) for one in ours], [theirs, theirs])
        for place in (folder, self.work, hosted):
            files = {path.name: path.read_text() for path in (place / "workspace").iterdir()}
            self.assertEqual(files, {"b.txt": "two\nlines\n"})

    def test_every_subject_is_driven_by_the_client_of_npm(self):
        server = self.start_server()
        self.start_door(server)

        def call(**parameters):
            return json.dumps(self.call_of(**parameters))

        write = {"action": "write", "path": "workspace/b.txt", "content": "x"}
        replies = self.ask(server, [
            ("nachos.tool.manifests", ""), (f"{test_nats.FILES}.health", ""), (f"{test_nats.FILES}.validate", call(**write)),
            (test_nats.SESSION, call(action="begin")), ("tool.filesystem.request", call(**write)),
            ("tool.transaction.request", call(action="commit")), (f"{test_nats.FILES}.request", call(action="read", path="workspace/b.txt"))])
        self.assertEqual(replies[0][0]["provides"]["tool"], "filesystem")
        self.assertEqual(replies[1:3], [{"healthy": True}, {"valid": True}])
        results = [reply["payload"]["result"] for reply in replies[3:]]
        self.assertTrue(results[0]["transaction"])
        self.assertEqual(results[1:], [{"written": True}, {"committed": True}, "x"])

    def test_errors_reach_the_client_of_npm(self):
        server = self.start_server()
        self.start_door(server)
        outside = json.dumps(self.call_of(action="read", path="../a.txt"))
        wrong = json.dumps(self.call_of(action="jump", path="workspace/a.txt"))
        write = json.dumps(self.call_of(action="write", path="workspace/b.txt", content="x"))
        subjects = (f"{test_nats.FILES}.request", "tool.filesystem.request")
        for subject in subjects:
            bare, *replies = self.ask(server, [(subject, text) for text in ("{", outside, wrong)])
            self.assertEqual((sorted(bare), bare["error"]["code"]), (["error", "success"], "INTERNAL_ERROR"))
            for reply, code in zip(replies, ("POLICY_DENIED", "VALIDATION_ERROR")):
                self.assertEqual((reply["type"], reply["payload"]["success"], reply["payload"]["error"]["code"]), ("tool.response", False, code))
        invalid, unread = self.ask(server, [(f"{test_nats.FILES}.validate", text) for text in (wrong, "{")])
        self.assertEqual((invalid["valid"], "action" in invalid["errors"][0]), (False, True))
        self.assertEqual(unread["error"]["code"], "INTERNAL_ERROR")
        first, again = self.ask(server, [(subject, write) for subject in subjects])
        self.assertEqual([reply["payload"]["metadata"]["cached"] for reply in (first, again)], [False, True])


class Jobs(Npm, test_nats_jobs.JobCase):
    def test_the_queue_of_jobs_is_driven_by_the_client_of_npm(self):
        worker = self.start_worker()
        job, unreadable = self.job(self.make_repository()), "this is not a job"
        acknowledged = self.ask(self.server, [("galley.jobs.normal.0", json.dumps(job)), ("galley.jobs.low.1", unreadable)])
        self.assertEqual([(one["stream"], one["seq"]) for one in acknowledged], [("GALLEY_JOBS", 1), ("GALLEY_JOBS", 2)])
        receipt = self.submit(job)
        self.assertEqual(receipt["outcome"], "committed", worker.log.lines)
        dead = f"unreadable-{hashlib.sha256(unreadable.encode()).hexdigest()}"
        self.assertTrue(test_nats.wait_until(lambda: self.letters()))
        kept = [("KV_galley-receipts", "$KV.galley-receipts.j1"), ("GALLEY_AUDIT", "galley.audit.j1"), ("GALLEY_DEAD", f"galley.dead.{dead}")]
        found = self.ask(self.server, [(f"$JS.API.STREAM.MSG.GET.{stream}", json.dumps({"last_by_subj": subject})) for stream, subject in kept])
        texts = [json.loads(base64.b64decode(one["message"]["data"])) for one in found]
        self.assertEqual(texts[0], receipt)
        self.assertEqual(texts[1], {"kind": "job", "receipt": receipt})
        self.assertEqual((texts[2]["job"], texts[2]["receipt"]["id"]), (unreadable, dead))


if __name__ == "__main__":
    unittest.main()
