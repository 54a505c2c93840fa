"""Jobs that meet troubles which last, and what people are told about them."""

import http.client
import http.server
import json
import os
import pathlib
import subprocess
import threading
import time
import unittest

import hostile
import support
from nats_client import NatsClient, NatsServer
from terminal_session import wait_until
from test_nats_jobs import PATCH, JobCase


class WebPage:
    """A web server that answers each request with the same page and status."""

    def __init__(self, page, status=200):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class TroubleCase(JobCase):
    def page(self, *arguments):
        page = WebPage(*arguments)
        self.addCleanup(page.stop)
        return page.address

    def nats(self):
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        return client

    def queue(self, command, *arguments, job=None, options=(), **more):
        stdin = json.dumps(job).encode() if job is not None else b""
        return self.galley(*options, command, "--nats", self.server.address, *arguments, stdin=stdin, **more)


class Addresses(TroubleCase):
    def test_a_repository_may_be_named_without_its_ending(self):
        repository = self.make_repository()
        self.start_worker()
        for number, name in enumerate(("one", "one/", "one.git/")):
            change = PATCH.format("a.txt", ("one", "0", "1")[number], number)
            receipt = self.submit(self.job(f"{self.repositories}/{name}", f"j{number}", change))
            self.assertEqual(receipt["outcome"], "committed", receipt)
        self.assertEqual(self.history(repository), ["job-j0", "job-j1", "job-j2"])

    def test_a_job_without_a_repository_is_refused_after_five_tries(self):
        missing = self.page(b"gone", 404)
        self.repositories.mkdir()
        (self.repositories / "file").write_text("x")
        pages = [self.page(b"<html>\nno git\n</html>\n"), self.page(b"<html>no git</html>")]
        for address, name in ((self.repositories, "absent.git"), (self.repositories, "file"), *((page[:-1], "absent.git") for page in (missing, *pages))):
            place = f"{address}/{name}"
            with self.subTest(place):
                worker = self.start_worker(address=address)
                self.put_claim(tries=7, missing=4)
                receipt = self.submit(self.job(place))
                self.assertEqual((receipt["outcome"], receipt["reason"]), ("refused", "job.no_repository"), receipt)
                self.assertIn("after 5 tries", receipt["message"])
                self.end(worker)
                self.forget_jobs()

    def test_a_shallow_repository_is_refused_with_its_reason(self):
        repository = self.make_repository()
        self.commit_at(repository, f"{int(time.time())} +0000", ["main"])
        self.git("clone", "-q", "--bare", "--depth=1", f"file://{repository}", self.repositories / "cut.git")
        self.start_worker()
        receipt = self.submit(self.job(self.repositories / "cut.git"))
        self.assertEqual((receipt["outcome"], receipt["reason"]), ("refused", "job.shallow"), receipt)

    def test_a_tree_with_a_name_twice_is_refused_with_its_reason(self):
        repository = self.make_repository()
        blob = bytes.fromhex(self.git("rev-parse", "main:a.txt", folder=repository).strip())
        made = subprocess.run(["git", "hash-object", "--literally", "-w", "-t", "tree", "--stdin"], cwd=repository, check=True,
                              input=b"".join(b"100644 a.txt\0" + blob for _ in range(2)), capture_output=True)
        commit = self.git("-c", "user.name=p", "-c", "user.email=p@q", "commit-tree", made.stdout.decode().strip(), "-m", "x", "-p", "main",
                          folder=repository).strip()
        self.git("update-ref", "refs/heads/main", commit, folder=repository)
        self.start_worker()
        receipt = self.submit(self.job(repository))
        self.assertEqual((receipt["outcome"], receipt["reason"]), ("refused", "git.duplicate_entries"), receipt)
        self.assertIn("a.txt", receipt["message"])
        done = self.galley("--repo", repository, "preview", "-", stdin=PATCH.format("a.txt", "one", "ONE").encode())
        self.assertIn(b"git fsck", done.stderr)

    def test_a_refused_push_does_not_speak_of_the_cache(self):
        repository = self.make_repository()
        hook = repository / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
        self.start_worker()
        receipt = self.submit(self.job(repository))
        self.assertEqual(receipt["reason"], "push.remote_refused", receipt)
        self.assertNotIn("the branch here", receipt["message"])

    def test_a_lock_of_the_branch_at_the_repository_does_not_end_the_job(self):
        repository = self.make_repository()
        lock = repository / "refs" / "heads" / "main.lock"
        lock.touch()
        worker = self.start_worker()
        self.submit(self.job(repository), wait=0)
        worker.log.wait_for("main.lock")
        lock.unlink()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        self.assertEqual(self.history(repository), ["job-j1"])

    def test_streams_that_were_deleted_are_made_again(self):
        repository = self.make_repository()
        self.start_worker()
        for number, streams in enumerate(([], ["GALLEY_AUDIT", "GALLEY_DEAD"], ["GALLEY_JOBS", "KV_galley-receipts"])):
            self.forget_jobs(streams)
            change = PATCH.format("a.txt", ("one", "0", "1")[number], number)
            self.assertEqual(self.submit(self.job(repository, f"j{number}", change))["outcome"], "committed")
        self.assertEqual(set(self.records()), {"j1", "j2"})

    def test_a_job_that_was_removed_from_the_queue_can_be_submitted_again(self):
        repository = self.make_repository()
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        worker = self.start_worker(path=self.git_program('*" fetch "*) exit 1;;'))
        self.submit(self.job(repository), wait=0)
        worker.log.wait_for("job j1: ")  # a failed try leaves a claim
        self.end(worker)
        for _ in range(3):
            self.submit(self.job(repository), wait=0)
        self.assertEqual(self.submit(self.job(repository), wait=0), "j1")
        self.submit(self.job(repository), wait=0)  # is in the queue
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        self.assertEqual(self.history(repository), ["job-j1"])

    def test_a_worker_and_its_repository_work_with_the_strictest_setting_for_bare_repositories(self):
        repository = self.make_repository()
        (self.scratch / ".gitconfig").write_text("[safe]\nbareRepository = explicit\n[user]\nname = p\nemail = p@q\n")
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        self.environment["HOME"] = str(self.scratch)
        self.galley("--repo", str(repository), "--ref", "main", "apply", stdin=PATCH.format("b.txt", "two", "TWO").encode(), expect=0)
        self.assertEqual(self.git("--git-dir", repository, "show", "main:b.txt"), "TWO\n")

    def test_a_wait_goes_on_after_the_server_was_away(self):
        repository = self.make_repository()
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        looks = client.subscribe("$JS.API.DIRECT.GET.KV_galley-receipts.>")
        waits = subprocess.Popen([support.GALLEY, "submit", "--nats", self.server.address, "--wait", "120"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **self.environment})
        self.addCleanup(waits.kill)
        waits.stdin.write(json.dumps(self.job(repository)).encode())
        waits.stdin.close()
        for _ in range(2):  # before it submits the job, and for the receipt
            client.next(looks)
        self.server.stop()
        self.assertIn(b"the wait goes on", waits.stderr.readline())
        self.server = self.server.again()
        self.start_worker()
        self.assertEqual(json.loads(waits.stdout.read())["outcome"], "committed")
        waits.stderr.close()
        waits.stdout.close()
        waits.wait(60)

    def test_a_queue_that_cannot_be_made_again_is_told(self):
        self.server.stop()
        denied = 'permissions: { publish: { deny: ["$JS.API.STREAM.CREATE.KV_galley-receipts"] } }'
        users = f"{{ user: all, password: x }}, {{ user: worker, password: x, {denied} }}"
        self.server = NatsServer(self.scratch / "closed", f"no_auth_user: all\nauthorization {{ users: [ {users} ] }}")
        self.tool("jobs")
        bare = self.server.address
        self.server.address = bare.replace("//", "//worker:x@")
        worker = self.start_worker()
        self.server.address = bare
        self.forget_jobs()
        worker.log.wait_for("the receipts of jobs cannot be opened")
        self.assertEqual(self.submit(self.job(self.make_repository()))["outcome"], "committed")

    def test_a_full_queue_is_told_with_the_words_of_the_server(self):
        job = self.job(self.make_repository())
        limits = {"name": "GALLEY_JOBS", "subjects": ["galley.jobs.>"], "retention": "workqueue", "discard": "new", "max_msgs": 1}
        self.assertNotIn("error", self.nats().request("$JS.API.STREAM.CREATE.GALLEY_JOBS", limits))
        self.queue("submit", job=job, expect=0)
        full = self.queue("submit", job={**job, "id": "j2"}, expect=3)
        self.assertIn(b"takes no more jobs now: maximum messages exceeded", full.stderr)


class WhatPeopleAreTold(TroubleCase):
    def test_the_reason_of_the_command_line_is_that_of_the_job(self):
        repository = self.make_repository()
        self.start_worker()
        job = self.job(repository)
        del job["reason"]
        receipt = self.told(self.queue("submit", "--wait", "60", job=job, options=["--reason", "because"]))
        self.assertEqual(receipt["outcome"], "committed")
        self.assertEqual(self.git("log", "-1", "--format=%s", folder=repository), "because\n")
        for command in ("worker", "jobs"):
            done = self.queue(command, "--server-config", "x", options=["--reason", "because"], expect=2)
            self.assertIn(b"--reason", done.stderr)
        self.assertIn(b"--session", self.queue("submit", job=job, options=["--session", "s"], expect=2).stderr)

    def test_a_job_that_a_person_would_have_to_approve_says_what_to_do(self):
        repository = self.make_repository()
        rules = self.scratch / "rules.toml"
        calls = [{"tool": "Write", "args": {"file_path": "a.txt", "content": "1\n"}}]
        for name, rule, change, reason, why in (
                ("edited", '[[policy.rule]]\npaths = ["a.txt"]\ndecision = "ask"\n', {}, "gate.approval_missing", "a.txt: modify needs an approval"),
                ("called", 'policy.mode = "strict"\n', {"calls": calls, "edits": ""}, "call.needs_confirmation", "'Write' needs a person's approval")):
            with self.subTest(name):
                rules.write_text(rule)
                worker = self.start_worker(f'galley_toml = "{rules}"\n')
                receipt = self.submit({**self.job(repository, name), **change})
                self.assertEqual((receipt["outcome"], receipt["reason"]), ("refused", reason), receipt)
                self.assertIn(why, receipt["message"])
                self.assertIn("a job asks nobody", receipt["message"])
                self.assertNotIn("galley ", receipt["message"])
                self.end(worker)

    def test_an_empty_id_lists_no_jobs(self):
        self.assertIn(b"the value is empty", self.queue("jobs", "", expect=2).stderr)
        program = pathlib.Path(support.GALLEY).parent / "galley-serve-nats"
        done = subprocess.run([program, "jobs", "--address", self.server.address, "--id", ""], capture_output=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_a_server_without_jetstream_is_named(self):
        server = NatsServer(self.scratch / "plain", has_jetstream=False)
        self.addCleanup(server.stop)
        for words in (["submit", "--nats", server.address], ["jobs", "--nats", server.address]):
            said = self.galley(*words, stdin=json.dumps(self.job("x")).encode(), expect=3).stderr
            self.assertIn(b"JetStream does not answer; it may be off", said)

    def test_a_full_jetstream_is_told_in_the_words_of_the_server(self):
        self.server.stop()
        self.server = NatsServer(self.scratch / "small", f'jetstream {{ store_dir: "{self.scratch}/js", max_file_store: 1500000000 }}', has_jetstream=False)
        self.start_worker().log.wait_for("insufficient storage resources")

    def test_what_a_job_waits_for_is_told(self):
        self.assertIn(b"there is no job 'j1'", self.queue("jobs", "j1", expect=2).stderr)
        self.put_claim(lost=3)
        self.assertIn(b"workers that it lost: 3", self.queue("jobs", "j1", expect=3).stderr)
        self.forget_jobs()
        self.queue("submit", job=self.job(f"{self.repositories}/absent.git"), expect=0)
        self.assertIn(b"the job 'j1' waits for a worker", self.queue("jobs", "j1", expect=3).stderr)
        self.assertIn(b"there is no job 'j2'", self.queue("jobs", "j2", expect=2).stderr)
        worker = self.start_worker()
        worker.log.wait_for("job j1: ")
        until = time.monotonic() + 60
        while b"for its next try" not in (told := self.queue("jobs", "j1", expect=3).stderr) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertRegex(told.decode(), r"1 try failed|\d tries failed")
        self.assertIn(b"absent.git", told)

    def test_each_command_prints_one_document_with_json(self):
        absent = self.job(f"{self.repositories}/absent.git")
        schemas = json.loads((support.ROOT / "docs" / "json" / "galley.schema.json").read_text())["$defs"]

        def document(*words, status=0, **more):
            done = self.queue(*words, options=["--json"], expect=status, **more)
            told = json.loads(done.stdout)
            schema = schemas[told["schema"].removeprefix("galley.").removesuffix("/1")]
            self.assertLessEqual(set(schema["required"]), set(told))
            self.assertLessEqual(set(told), set(schema["properties"]))
            for receipt in told.get("receipts", [told["receipt"]] if "receipt" in told else []):
                self.assertLessEqual(set(schemas["job_receipt"]["required"]), set(receipt))
                self.assertLessEqual(set(receipt), set(schemas["job_receipt"]["properties"]))
            return told

        self.assertEqual(document("submit", job=absent), {"schema": "galley.submit/1", "ok": True, "id": "j1"})
        waiting = document("jobs", "j1", status=3)
        self.assertEqual((waiting["schema"], waiting["ok"], waiting["reason"]), ("galley.error/1", False, "job.not_ended"))
        self.assertEqual(document("jobs", "j2", status=2)["reason"], "job.unknown")
        self.assertEqual(document("submit", job={}, status=2)["reason"], "job.malformed")
        self.assertEqual(document("jobs"), {"schema": "galley.jobs/1", "ok": True, "receipts": [], "not_ended": 1})
        self.forget_jobs()
        self.start_worker()
        good = self.job(self.make_repository(), "j3")
        told = document("submit", "--wait", "60", job=good)
        self.assertEqual((told["schema"], told["ok"], told["receipt"]["outcome"]), ("galley.job/1", True, "committed"))
        self.assertEqual(document("jobs", "j3"), told)
        self.assertEqual(document("jobs"), {"schema": "galley.jobs/1", "ok": True, "receipts": [told["receipt"]], "not_ended": 0})
        bad = document("submit", "--wait", "60", job=self.job(good["repository"], "j4", PATCH.format("a.txt", "seven", "x")), status=1)
        self.assertEqual((bad["ok"], bad["reason"], bad["receipt"]["outcome"]), (False, "patch.context_not_found", "refused"))

    def test_errors_name_the_options_of_galley(self):
        said = self.queue("worker", expect=2).stderr
        self.assertIn(b"--server-config", said)
        said += self.queue("jobs", "a b", expect=2).stderr + self.queue("submit", "--wait", "100000", job={}, expect=2).stderr
        self.assertIn(b"'a b' is not the id of a job", said)
        for word in (b"--id", b"--config ", b"galley-serve-nats"):
            self.assertNotIn(word, said)

    def test_what_a_validator_printed_is_in_the_receipt(self):
        repository = self.make_repository()
        rules = self.scratch / "rules.toml"
        rules.write_text('[[validator]]\nname = "v"\ncommand = ["sh", "-c", "echo seen; echo no semicolon >&2; exit 1"]\n')
        self.start_worker(f'galley_toml = "{rules}"\n')
        client = self.nats()
        progress = client.subscribe("galley.progress.j1")
        receipt = self.submit(self.job(repository))
        self.assertEqual(receipt["findings"][0]["output"], "seen\nno semicolon", receipt)
        lines = []
        while not lines or lines[-1] != b"printed no semicolon":
            lines.append(client.next(progress)[2])
        self.assertEqual(lines[-2:], [b"printed seen", b"printed no semicolon"])


class Queues(TroubleCase):
    def test_a_message_of_any_subject_of_the_queue_ends(self):
        repository = self.make_repository()
        self.tool("jobs")
        client = self.nats()
        for subject in ("galley.jobs.urgent", "galley.jobs.high.a/b", "galley.jobs.high", "galley.jobs.low.1.2", "galley.jobs.normal.1-2",
                        "galley.jobs.x.*"):
            client.publish(subject, f"not a job, for {subject}".encode())
        client.flush()
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        until = time.monotonic() + 60
        while client.request("$JS.API.STREAM.INFO.GALLEY_JOBS", b"")["state"]["messages"] and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(len(self.letters()), 6)

    def listeners(self):
        """Returns how many clients of the server are told of new jobs."""
        monitor = http.client.HTTPConnection("127.0.0.1", self.server.monitor, timeout=60)
        monitor.request("GET", "/connz?subs=1")
        clients = json.loads(monitor.getresponse().read())["connections"]
        monitor.close()
        return sum("galley.jobs.>" in client.get("subscriptions_list", []) for client in clients)

    def test_only_an_idle_worker_is_told_of_a_new_job(self):
        repository = self.make_repository()
        rules = self.scratch / "rules.toml"
        rules.write_text('[[validator]]\nname = "slow"\ncommand = ["sleep", "300"]\ntimeout_ms = 300000\n')
        progress = (client := self.nats()).subscribe("galley.progress.j1")
        self.start_worker(f'galley_toml = "{rules}"\ndrain_ms = 1\n')
        self.assertTrue(wait_until(lambda: self.listeners() == 1))
        self.submit(self.job(repository), wait=0)
        while client.next(progress)[2] != b"judging by slow":
            pass
        self.assertEqual(self.listeners(), 0)

    def test_records_of_a_clone_that_is_made_again_are_published(self):
        repository = self.make_repository()
        damage = self.scratch / "damage"
        programs = self.git_program(f'*" commit-tree "*) if rm {damage} 2>&-; then echo "error: inflate: data stream error" >&2; exit 128; fi;;')
        self.start_worker(path=programs)
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        damage.touch()
        receipt = self.submit(self.job(repository, "j2", PATCH.format("b.txt", "two", "TWO")))
        self.assertEqual((receipt["outcome"], damage.exists()), ("committed", False), receipt)
        kinds = [record["kind"] for record in self.records()["j2"]]
        self.assertEqual(kinds.count("edit"), 2, kinds)

    def test_a_cache_that_others_can_change_is_not_used(self):
        cache = self.scratch / "open"
        cache.mkdir()
        file = self.scratch / "worker.toml"
        file.write_text(f'cache = "{cache}"\nrepositories = ["{self.repositories}/"]\n')
        for mode, owner, way_out in ((0o777, 0, f"chmod go-w {cache}"), (0o770, 0, f"chmod go-w {cache}"), (0o700, hostile.OTHER_USER, "chown")):
            with self.subTest(mode=mode, owner=owner):
                cache.chmod(mode)
                if owner:
                    os.chown(cache, owner, -1)
                done = subprocess.run([support.GALLEY, "worker", "--nats", self.server.address, "--server-config", file],
                                      capture_output=True, timeout=10, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(way_out, done.stderr.decode())
        os.chown(cache, os.getuid(), -1)
        cache.chmod(0o755)
        self.start_worker(cache=cache)


if __name__ == "__main__":
    unittest.main()
