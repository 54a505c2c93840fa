"""Faults around workers and `galley-serve-nats`: rewritten branches, full disks, clients that do not read."""

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import unittest

import support
import test_nats
import test_nats_jobs
from nats_client import LinesOf, NatsClient, NatsServer


class Jobs(test_nats_jobs.JobCase):
    def test_a_worker_that_is_killed_before_it_stages(self):
        receipt = self.killed_at('*" fetch "*) kill -9 $PPID; exit 1;;')
        self.assertEqual((receipt["outcome"], self.history(self.repositories / "one.git")), ("committed", ["job-j1"]), receipt)
        self.git("fsck", "--strict", folder=self.repositories / "one.git")

    def test_a_job_lands_on_the_branch_as_it_was_rewritten(self):
        repository = self.make_repository()
        worker = self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        first = self.git("rev-parse", "main~1", folder=repository).strip()
        self.git("update-ref", "refs/heads/main", first, folder=repository)
        self.commit_at(repository, "2026-01-01T00:00:00Z", [first], message="rewritten")
        receipt = self.submit(self.job(repository, "j2", test_nats_jobs.PATCH.format("b.txt", "two", "TWO")))
        self.assertEqual(receipt["outcome"], "committed", (receipt, worker.log.lines))
        self.assertEqual(self.git("show", "main:a.txt", folder=repository), "one\n", "what was rewritten away stays away")
        self.assertEqual(self.history(repository), ["", "job-j2"])

    def test_a_branch_that_is_rewritten_before_the_push(self):
        repository = self.make_repository()
        forced = f"$($git -C {repository} -c user.name=p -c user.email=p@q commit-tree -m rewritten main^{{tree}})"
        once = self.scratch / "once"
        self.start_worker(path=self.git_program(
            f'*" push "*) test -e {once} || $git -C {repository} update-ref refs/heads/main {forced}; touch {once};;'))
        receipt = self.submit(self.job(repository))
        self.assertEqual(receipt["outcome"], "committed", receipt)
        self.assertEqual(self.git("log", "--reverse", "--format=%s", "main", folder=repository), "rewritten\njob j1\n")
        self.git("fsck", "--strict", folder=repository)

    def test_a_branch_that_is_moved_back_before_the_push(self):
        """What others removed from the branch does not come back with the job."""
        repository = self.make_repository()
        self.commit_at(repository, "2026-01-01T00:00:00Z", ["main"], message="removed")
        once = self.scratch / "once"
        self.start_worker(path=self.git_program(
            f'*" push "*) test -e {once} || $git -C {repository} update-ref refs/heads/main main~1; touch {once};;'))
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        self.assertEqual(self.history(repository), ["job-j1"])

    def test_a_failed_push_is_repeated_only_if_the_branch_moved(self):
        """Whatever words the git server has for it."""
        for name, why, move, outcome, pushes in (("one", "failed to update ref", "", "refused", 1),
                                                 ("two", "incorrect old value provided", "", "refused", 1),
                                                 ("three", "failed to update ref", "moved", "committed", 2)):
            with self.subTest(why, move=move):
                repository, count = self.make_repository(name), self.scratch / name
                other = f"$git -C {repository} -c user.name=p -c user.email=p@q commit-tree main^{{tree}} -p main -m x"
                moves = f"$git -C {repository} update-ref refs/heads/main $({other});" if move else ""
                shutil.rmtree(self.scratch / "programs", ignore_errors=True)
                worker = self.start_worker(path=self.git_program(
                    f'*" --dry-run "*) ;; *" push "*) echo >>{count}; if test $(wc -l <{count}) = 1 -o -z "{move}"; then {moves}\n'
                    f'printf "!\tx:y\t[remote rejected] ({why})\n"; exit 1; fi;;'))
                receipt = self.submit(self.job(repository, name))
                self.end(worker)
                self.assertEqual((receipt["outcome"], count.read_text().count("\n")), (outcome, pushes), receipt)

    def start_on_small_disk(self, size):
        """Starts a worker whose cache is a tmpfs of this size, which only the worker sees."""
        cache, file = self.scratch / "small", self.scratch / "small.toml"
        cache.mkdir()
        file.write_text(f'cache = "{cache}/cache"\nrepositories = ["{self.repositories}/"]\n')
        enter = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
        script = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"'
        person = {f"GIT_{who}_{what}": "w" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        worker = subprocess.Popen([*enter, "sh", "-c", script, "sh", size, cache, support.GALLEY, "worker", "--nats", self.server.address,
                                   "--server-config", file], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env={**os.environ, **self.environment, "HOME": str(self.scratch), "GIT_CONFIG_NOSYSTEM": "1", **person})
        worker.log = LinesOf(worker)
        worker.cache = cache
        self.addCleanup(self.end, worker, signal.SIGKILL)
        worker.log.wait_for("working at ")
        return worker

    @unittest.skipUnless(shutil.which("nsenter") and os.geteuid() == 0, "only root can change the disk of a worker")
    def test_a_job_waits_until_the_disk_of_the_cache_has_room(self):
        repository = self.make_repository()
        worker = self.start_on_small_disk("16m")

        def on_disk(script):
            subprocess.run(["nsenter", "-t", str(worker.pid), "-m", "sh", "-c", script], check=False, cwd="/", capture_output=True)

        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        fill = f"cat /dev/zero > {worker.cache}/filler"
        on_disk(fill)
        self.submit(self.job(repository, "j2", test_nats_jobs.PATCH.format("b.txt", "two", "TWO")), wait=0)
        found, _ = worker.log.wait_for("job j2: (.*)")
        self.assertRegex(found[1], "[Nn]o space left|[Dd]isk")
        self.assertEqual(self.tool("jobs").count("\n"), 1, "the job has not ended")
        on_disk(f"rm {worker.cache}/filler")
        receipt = self.submit(self.job(repository, "j2", test_nats_jobs.PATCH.format("b.txt", "two", "TWO")))
        self.assertEqual(receipt["outcome"], "committed", (receipt, worker.log.lines))
        self.assertEqual(self.history(repository), ["job-j1", "job-j2"])
        self.git("fsck", "--strict", folder=repository)

    def test_a_job_that_is_too_large_is_refused(self):
        job = self.job(self.make_repository(), edits="x" * (1 << 20))
        said = self.galley("submit", "--nats", self.server.address, stdin=json.dumps(job).encode(), expect=3)
        self.assertIn(b"larger than 1048576 bytes", said.stderr)
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        with self.assertRaises(ConnectionError):  # by the server: "Maximum Payload Violation"
            client.publish("galley.jobs.normal.0", b"x" * (2 << 20))
            client.flush()


class Subjects(test_nats_jobs.JobCase):
    def test_an_error_of_one_subject_holds_up_no_other(self):
        """Another program has taken the consumer of a subject whose jobs come first."""
        urgent, other = self.make_repository("urgent"), self.make_repository("other")
        self.tool("jobs")  # makes the queue
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        self.submit(self.job(urgent, "urgent", priority="high"), wait=0)
        [subject] = client.request("$JS.API.STREAM.INFO.GALLEY_JOBS", {"subjects_filter": ">"})["state"]["subjects"]
        taken = {"stream_name": "GALLEY_JOBS", "config": {"durable_name": "foreign", "ack_policy": "explicit", "filter_subject": subject}}
        self.assertNotIn("error", client.request("$JS.API.CONSUMER.DURABLE.CREATE.GALLEY_JOBS.foreign", taken))
        worker = self.start_worker()
        self.assertEqual(self.submit(self.job(other, "other"))["outcome"], "committed")
        worker.log.wait_for("no jobs can be taken")
        self.assertTrue(client.request("$JS.API.CONSUMER.DELETE.GALLEY_JOBS.foreign", b"")["success"])
        self.assertEqual(self.submit(self.job(urgent, "urgent", priority="high"))["outcome"], "committed")

    def test_a_subject_that_does_not_answer_holds_up_no_other(self):
        """The server denies a worker to ask for urgent jobs, so nobody answers it."""
        self.server.stop()
        asks = json.dumps([f"$JS.API.CONSUMER.MSG.NEXT.GALLEY_JOBS.workers-high-{slot}" for slot in range(64)])
        users = f"{{user: all, password: x}}, {{user: worker, password: x, permissions: {{publish: {{deny: {asks}}}}}}}"
        self.server = NatsServer(self.scratch / "nats2", f"authorization {{users: [{users}]}}")
        address = self.server.address
        self.server.address = address.replace("//", "//all:x@")
        urgent, other = self.make_repository("urgent"), self.make_repository("other")
        self.tool("jobs")  # makes the queue
        self.submit(self.job(urgent, "urgent", priority="high"), wait=0)
        self.server.address = address.replace("//", "//worker:x@")
        self.start_worker()
        self.server.address = address.replace("//", "//all:x@")
        self.assertEqual(self.submit(self.job(other, "other"))["outcome"], "committed")

    def test_the_consumer_of_an_unusual_subject_ends(self):
        self.tool("jobs")
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        repository = self.make_repository()
        client.request("galley.jobs.odd.subject", self.job(repository))
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        consumers = client.request("$JS.API.CONSUMER.LIST.GALLEY_JOBS", b"")["consumers"]
        ends = {one["config"]["filter_subject"]: one["config"].get("inactive_threshold") for one in consumers}
        self.assertEqual(ends.pop("galley.jobs.odd.subject"), 24 * 3600 * 10**9)
        self.assertEqual(list(ends.values()), [None])


class Again(test_nats.NatsCase):
    """Calls that are delivered again when the process that made them has ended, or still makes them."""

    write = test_nats.Sessions.write
    transaction = test_nats.Sessions.transaction
    file = f"{test_nats.FILES}.request"
    tool = "nachos.tool.slow.request"
    shares = "jetstream = true\n"

    def test_a_committed_call_is_answered_from_its_record(self):
        server = self.start_server()
        client = self.client(server)
        for with_signal in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(with_signal):
                door = self.start_door(server)
                # The record has the hash of a long text.
                request = self.call_of(call=with_signal.name, action="write", path="workspace/b.txt", content="new\n" * 1000)
                first = client.request(self.file, request)["payload"]
                self.assertTrue(first["success"], first)
                self.end(door, with_signal)
                (self.work / "workspace" / "b.txt").write_text("by another program\n")
                door = self.start_door(server)
                second = client.request(self.file, request)["payload"]
                self.assertEqual((first["metadata"].pop("cached"), second["metadata"].pop("cached")), (False, True))
                self.assertEqual(second, first)
                other = {**request, "payload": {**request["payload"], "content": "other"}}
                self.assertEqual(client.request(self.file, other)["payload"]["error"]["code"], "VALIDATION_ERROR")
                self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "by another program\n")
                self.end(door)

    def hold_at(self, hook):
        """Lets every commit wait at a hook. Returns the configuration that says so, and a file that is made then."""
        config = self.scratch / "config" / "galley" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        done, wait = (self.scratch / f"{name}-{next(self.numbers)}" for name in ("done", "wait"))
        os.mkfifo(wait)
        config.write_text(f'[commit]\n{hook} = ["/bin/sh", "-c", "exec > /dev/null 2>&1; touch {done}; cat {wait}"]\n')
        self.addCleanup(lambda: os.close(os.open(wait, os.O_RDWR)))
        return config, done

    def test_the_commit_of_a_session_is_answered_from_its_record(self):
        server = self.start_server()
        client = self.client(server)
        for with_signal in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(with_signal):
                door = self.start_door(server)
                self.transaction(client, "begin")
                self.write(client, "new\n")
                request = self.call_of(action="commit")
                self.assertEqual(client.request(test_nats.SESSION, request)["payload"]["result"], {"committed": True})
                self.end(door, with_signal)
                (self.work / "workspace" / "b.txt").write_text("by another program\n")
                door = self.start_door(server)
                self.check_made_once(client, request, {"committed": True})
                self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "by another program\n")
                self.end(door)

    def check_made_once(self, client, request, result):
        """Sends a call of the tool `transaction` again, and others with its ids."""
        again = client.request(test_nats.SESSION, request)["payload"]
        self.assertEqual((again.get("result"), again["metadata"]["cached"]), (result, True), again)
        ids = {name: request["payload"][name] for name in ("sessionId", "callId")}
        action = {"commit": "rollback", "rollback": "commit"}[request["payload"]["action"]]
        read = {"action": "read", "path": "workspace/a.txt"}
        for subject, other in ((test_nats.SESSION, {"action": action}), (self.file, read)):
            answer = client.request(subject, {"id": "x", "payload": {**ids, **other}})["payload"]
            self.assertIn("other parameters", answer.get("error", {}).get("message", ""), answer)
        elsewhere = {**request, "payload": {**request["payload"], "sessionId": f"nachos-{ids['sessionId']}"}}
        self.assertIn("has no transaction", client.request(test_nats.SESSION, elsewhere)["payload"]["error"]["message"])

    def test_a_commit_whose_process_died_before_its_answer_is_answered(self):
        for hook, config in itertools.product(("before_apply", "after_apply"), ("", self.shares)):
            with self.subTest(hook, config=config):
                server = self.start_server()
                client = self.client(server)
                settings, done = self.hold_at(hook)
                door = self.start_door(server, config)
                self.transaction(client, "begin")
                self.write(client, "new\n")
                request = self.call_of(action="commit")
                client.start_request(test_nats.SESSION, json.dumps(request).encode())
                self.assertTrue(test_nats.wait_until(done.exists))
                self.kill(server, door)
                settings.unlink()
                door = self.start_door(server, config)
                self.check_made_once(client, request, {"committed": True})
                self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "new\n")
                self.end(door)
                server.stop()
                (self.work / "workspace" / "b.txt").unlink()

    def test_the_rollback_of_a_session_is_answered_from_its_record(self):
        """A commit of nothing is recorded as one."""
        server, door, client = self.serve()
        for action, result in (("rollback", {"rolledBack": True}), ("commit", {"committed": False})):
            with self.subTest(action):
                self.transaction(client, "begin")
                if action == "rollback":
                    self.write(client, "new\n")
                request = self.call_of(action=action)
                self.assertEqual(client.request(test_nats.SESSION, request)["payload"]["result"], result)
                self.kill(server, door)
                door = self.start_door(server)
                self.transaction(client, "begin")
                self.write(client, "later\n")
                self.check_made_once(client, request, result)
                self.assertEqual(self.transaction(client, "commit")["result"], {"committed": True})
                self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "later\n")
                (self.work / "workspace" / "b.txt").unlink()

    def test_a_rollback_that_a_killed_process_only_recorded_is_made(self):
        server, door, client = self.serve()
        self.transaction(client, "begin")
        self.write(client, "new\n")
        stages = self.work / ".galley" / "stage"
        shutil.copytree(stages, self.scratch / "stages")
        request = self.call_of(action="rollback")
        self.assertTrue(client.request(test_nats.SESSION, request)["payload"]["success"])
        self.kill(server, door)
        shutil.copytree(self.scratch / "stages", stages, dirs_exist_ok=True)
        self.start_door(server)
        again = client.request(test_nats.SESSION, request)["payload"]
        self.assertEqual((again.get("result"), again["metadata"]["cached"]), ({"rolledBack": True}, False), again)
        self.assertEqual(self.transaction(client, "begin")["success"], True)
        self.assertEqual(self.transaction(client, "commit")["result"], {"committed": False})

    def test_a_call_of_an_open_session_is_answered_from_its_record(self):
        server, door, client = self.serve()
        self.transaction(client, "begin")
        request = self.call_of(action="write", path="workspace/b.txt", content="first\n")
        self.assertTrue(client.request(self.file, request)["payload"]["success"])
        self.assertTrue(self.write(client, "second\n")["success"])
        self.kill(server, door)
        self.start_door(server)
        again = client.request(self.file, request)["payload"]
        self.assertEqual((again.get("result"), again["metadata"]["cached"]), ({"written": True}, True), again)
        self.assertEqual(self.transaction(client, "commit")["result"], {"committed": True})
        self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "second\n")

    def test_a_call_that_was_rolled_back_is_not_made_again(self):
        server, door, client = self.serve()
        self.transaction(client, "begin")
        request = self.call_of(action="write", path="workspace/b.txt", content="x")
        self.assertTrue(client.request(self.file, request)["payload"]["success"])
        self.assertEqual(self.transaction(client, "rollback")["result"], {"rolledBack": True})
        self.kill(server, door)
        self.start_door(server)
        again = client.request(self.file, request)["payload"]
        self.assertEqual((again.get("result"), again["metadata"]["cached"]), ({"written": True}, True), again)
        self.assertFalse((self.work / "workspace" / "b.txt").exists())

    def test_a_call_whose_commit_was_refused_is_made_again(self):
        rules = self.scratch / "rules.toml"
        rules.write_text('[[validator]]\nname = "no"\ncommand = ["false"]\n')
        server, door, client = self.serve(f'galley_toml = "{rules}"\n')
        request = self.call_of(action="write", path="workspace/b.txt", content="x")
        self.assertFalse(client.request(self.file, request)["payload"]["success"])
        self.end(door)
        rules.write_text("")
        self.start_door(server, f'galley_toml = "{rules}"\n')
        again = client.request(self.file, request)["payload"]
        self.assertEqual((again["success"], again["metadata"]["cached"]), (True, False), again)
        self.assertEqual((self.work / "workspace" / "b.txt").read_text(), "x")

    def add_tool(self, wait=0, **more):
        """Adds a tool that changes nothing."""
        folder = self.scratch / "tool"
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(
            {"name": "nachos-tool-slow", "version": "1.0.0", "type": "tool", "description": "For a test.",
             "provides": {"tool": "slow", "securityTier": 1}, "executable": "run", **more}))
        (folder / "run").write_text(f"#!/bin/sh\nsleep {wait}\nprintf '{{\"ok\": true, \"data\": {{\"x\": \"%s\"}}}}' \"$$\"\n")
        (folder / "run").chmod(0o755)
        self.galley("tools", "add", folder, expect=0)

    def start_tool(self, client, request):
        """Returns the subject of the answer when the program of the tool was started."""
        reply = client.start_request(self.tool, json.dumps(request).encode())
        log = self.work / ".galley" / "audit.jsonl"
        self.assertTrue(test_nats.wait_until(lambda: log.exists() and '"kind":"begun"' in log.read_text()))
        return reply

    def check_answered_again(self, config, answered, **parameters):
        """Calls the tool before and after a restart of the server."""
        server, door, client = self.serve(config)
        request = self.call_of(**parameters)
        first = client.request(self.tool, request)
        self.skip_if_unavailable(json.dumps(first).encode())
        self.assertTrue(first["payload"]["success"], first)
        self.end(door)
        door = self.start_door(server, config)
        again = client.request(self.tool, request)["payload"]
        self.end(door)
        server.stop()
        if answered:
            self.assertEqual((again.get("result"), again["metadata"]["cached"]), (first["payload"]["result"], True), again)
        else:
            self.assertIn("has not told its result", again.get("error", {}).get("message", ""), again)

    def test_a_program_that_changed_nothing_is_not_run_again(self):
        self.add_tool()
        self.check_answered_again("", True)

    def test_a_program_is_not_run_again_with_jetstream(self):
        self.add_tool()
        self.check_answered_again(self.shares, True)

    def test_a_program_with_a_secret_in_its_arguments_is_not_run_again(self):
        secrets = self.scratch / "secrets"
        secrets.write_text("KEY=hush-hush-hush\n")
        secrets.chmod(0o600)
        self.add_tool(secrets=["KEY"])
        for config, answered in (("", False), (self.shares, True)):
            with self.subTest(config):
                self.check_answered_again(f'{config}secrets_file = "{secrets}"\n', answered, url="https://h/?k=hush-hush-hush")

    def test_arguments_that_the_record_hides_are_not_taken_for_others(self):
        """With JetStream, the arguments are compared as they were."""
        tokens = ["ghp_" + letter * 36 for letter in "AB"]
        for config, said in (("", "has not told its result"), (self.shares, "other parameters")):
            with self.subTest(config):
                server, door, client = self.serve(config)
                request = self.call_of(action="write", path="workspace/b.txt", content=tokens[0])
                self.assertTrue(client.request(self.file, request)["payload"]["success"])
                self.end(door)
                door = self.start_door(server, config)
                request["payload"]["content"] = tokens[1]
                other = client.request(self.file, request)["payload"]
                self.assertIn(said, other.get("error", {}).get("message", ""), other)
                self.assertEqual((self.work / "workspace" / "b.txt").read_text(), tokens[0])
                self.end(door)
                server.stop()

    def test_a_call_of_another_process_is_answered_after_its_end(self):
        """A process that started while the call ran has seen only its begin in the log."""
        self.add_tool(wait=3)
        server, _, client = self.serve(self.shares)
        request = self.call_of()
        reply = self.start_tool(client, request)
        self.start_door(server, self.shares)
        first = client.reply_to(reply)
        self.skip_if_unavailable(json.dumps(first).encode())
        for _ in range(6):  # the server chooses the process
            again = client.request(self.tool, request)["payload"]
            self.assertEqual((again.get("result"), again["metadata"]["cached"]), (first["payload"]["result"], True), again)

    def test_a_program_whose_server_died_is_not_run_again(self):
        self.add_tool(wait=5)
        server, door, client = self.serve()
        request = self.call_of()
        self.start_tool(client, request)
        self.kill(server, door)
        self.start_door(server)
        again = client.request(self.tool, request)
        self.skip_if_unavailable(json.dumps(again).encode())
        self.assertIn("has not told its result", again["payload"].get("error", {}).get("message", ""), again)

    def two_doors(self):
        """Returns a client, the lock of commits, which is taken, and the file system's subjects of two processes."""
        (self.work / "galley.toml").write_text("[commit]\nlock_timeout_ms = 3600000\n")
        server, _, client = self.serve(self.shares)
        self.start_door(server, self.shares)
        lock = test_nats.Limits.hold_commits(self, client)
        leases = client.subscribe("$KV.galley-sessions-galley.*")
        holders = []
        while len(set(holders)) < 2:
            self.transaction(client, "begin", f"s{len(holders)}")
            holders.append(client.next(leases)[2].decode())
        return client, lock, [f"nachos.holder.{holder}.filesystem" for holder in sorted(set(holders))]

    def test_calls_that_wait_for_another_process_leave_a_worker_to_others(self):
        client, lock, files = self.two_doors()
        noted = client.subscribe("$KV.galley-calls-galley.*")
        requests = [json.dumps(self.call_of(f"w{i}", action="write", path=f"workspace/{i}.txt", content="x")).encode() for i in range(4)]
        firsts = [client.start_request(files[0], request) for request in requests]
        for _ in firsts:
            client.next(noted)
        seconds = [client.start_request(files[1], request) for request in requests]
        self.assertTrue(client.request(files[1], self.call_of("other", action="read", path="workspace/a.txt"))["payload"]["success"])
        lock.close()
        answers = [client.reply_to(reply)["payload"] for reply in [*firsts, *seconds]]
        told = [answer.get("result") or answer["error"]["message"].partition(":")[0] for answer in answers]
        unknown = "this call began in a process that has not told its result"
        self.assertEqual([told.count({"written": True}), told.count(unknown)], [7, 1], answers)

    def test_a_call_that_another_process_still_makes_is_waited_for(self):
        client, lock, files = self.two_doors()
        noted = client.subscribe("$KV.galley-calls-galley.*")
        request = self.call_of("one", action="write", path="workspace/b.txt", content="x")
        first = client.start_request(files[0], json.dumps(request).encode())
        client.next(noted)
        second = client.start_request(files[1], json.dumps(request).encode())
        self.assertTrue(client.request(files[1], self.call_of("two", action="read", path="workspace/a.txt"))["payload"]["success"])
        lock.close()
        answers = [client.reply_to(reply)["payload"] for reply in (first, second)]
        told = [(answer.get("result"), answer["metadata"]["cached"]) for answer in answers]
        self.assertEqual(told, [({"written": True}, False), ({"written": True}, True)], answers)


class Recorded(test_nats.NatsCase):
    add_tool = Again.add_tool

    def check_that_no_program_starts(self, spoil):
        """Calls a tool that only reads, by its definition, before and after its calls cannot be recorded."""
        self.add_tool()
        _, _, client = self.serve()
        first = client.request(Again.tool, self.call_of())
        self.skip_if_unavailable(json.dumps(first).encode())
        self.assertTrue(first["payload"]["success"], first)
        spoil(self.work / ".galley")
        self.assertFalse(client.request(Again.tool, self.call_of())["payload"]["success"])
        read = client.request(Again.file, self.call_of(action="read", path="workspace/a.txt"))["payload"]
        self.assertEqual(read.get("result"), "one\n", read)
        self.assertIn("this call is not in the audit log", str(read["metadata"]["warnings"]))

    def test_no_program_starts_if_the_log_cannot_be_written(self):
        def spoil(state):
            (state / "audit.jsonl").unlink()
            (state / "audit.jsonl").mkdir()

        self.check_that_no_program_starts(spoil)

    def test_no_program_starts_if_the_log_cannot_be_made(self):
        def spoil(state):
            shutil.rmtree(state)
            state.write_text("")

        self.check_that_no_program_starts(spoil)


class Door(test_nats.NatsCase):
    def test_a_client_that_does_not_read_holds_up_no_other(self):
        (self.work / "workspace" / "big.txt").write_text("x" * 500_000)
        server, door, other = self.serve()
        slow = self.client(server)
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for number in range(200):
            request = self.call_of(f"slow-{number}", action="read", path="workspace/big.txt")
            slow.publish(f"{test_nats.FILES}.request", json.dumps(request).encode(), f"{slow.inbox}.{number}")
        answer = other.request(f"{test_nats.FILES}.request", self.call_of(action="read", path="workspace/a.txt"))
        self.assertEqual(answer["payload"]["result"], "one\n")
        self.assertIsNone(door.poll())
        self.assertEqual(self.end(door), 0)

    def test_waiting_calls_of_a_session_wake_no_threads(self):
        """The worker that ended a call of the session makes the next one."""
        calls = 200
        (self.work / "galley.toml").write_text("[commit]\nlock_timeout_ms = 3600000\n")
        _, door, client = self.serve()
        lock = test_nats.Limits.hold_commits(self, client)
        requests = [self.call_of("one", action="write", path="workspace/b.txt", content="x"),
                    *(self.call_of("one", action="read", path="workspace/a.txt") for _ in range(calls))]
        replies = [client.start_request(f"{test_nats.FILES}.request", json.dumps(request).encode()) for request in requests]
        # Requests come in order, so all of the session wait now.
        client.request(f"{test_nats.FILES}.request", self.call_of("two", action="read", path="workspace/a.txt"))
        before = sum(self.times_asleep(door).values())
        lock.close()
        for reply in replies:
            self.assertTrue(client.reply_to(reply)["payload"]["success"])
        self.assertLess(sum(self.times_asleep(door).values()) - before, calls // 4)


if __name__ == "__main__":
    unittest.main()
