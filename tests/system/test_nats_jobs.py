"""Jobs: `galley submit`, `galley worker` and `galley jobs` over a real nats-server and real repositories."""

import base64
import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import support
from git_http import GitHttpServer
from nats_client import LinesOf, NatsClient, NatsServer

PATCH = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-{1}\n+{2}\n"


class JobCase(support.SystemCase):
    def setUp(self):
        super().setUp()
        self.repositories = self.scratch / "remotes"
        self.server = NatsServer(self.scratch / "nats")
        self.addCleanup(lambda: self.server.stop())
        self.workers = 0

    def git(self, *arguments, folder=None):
        environment = {**os.environ, **self.environment, "HOME": str(self.scratch), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(["git", *map(str, arguments)], cwd=folder, env=environment, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def make_repository(self, name="one", files=(("a.txt", "one\n"), ("b.txt", "two\n"))):
        """Returns the folder of a bare repository with one commit on `main`."""
        source, bare = self.scratch / f"{name}-source", self.repositories / f"{name}.git"
        self.git("init", "-q", "-b", "main", source)
        for path, text in files:
            (source / path).write_text(text)
        self.git("add", ".", folder=source)
        self.git("-c", "user.name=p", "-c", "user.email=p@q", "commit", "-qm", "first", folder=source)
        self.git("clone", "-q", "--bare", source, bare)
        return bare

    def start_worker(self, more="", cache=None, path="", address=""):
        """`path` comes before the usual folders of programs. `address` has the repositories."""
        self.workers += 1
        file = self.scratch / f"worker-{self.workers}.toml"
        cache = cache or self.scratch / f"cache-{self.workers}"
        file.write_text(f'cache = "{cache}"\nrepositories = ["{address or self.repositories}/"]\n{more}')
        environment = {**os.environ, **self.environment, "HOME": str(self.scratch), "GIT_CONFIG_NOSYSTEM": "1",
                       "PATH": f"{path}:{os.environ['PATH']}", "GIT_AUTHOR_NAME": "w", "GIT_AUTHOR_EMAIL": "w@x", "GIT_COMMITTER_NAME": "w",
                       "GIT_COMMITTER_EMAIL": "w@x"}
        worker = subprocess.Popen([support.GALLEY, "worker", "--nats", self.server.address, "--server-config", file],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        worker.log = LinesOf(worker)
        worker.cache = cache
        self.addCleanup(self.end, worker)
        worker.log.wait_for("working at ")
        return worker

    @staticmethod
    def end(worker, with_signal=signal.SIGTERM):
        if worker.poll() is None:
            worker.send_signal(with_signal)
        status = worker.wait(60)
        worker.log.text()
        return status

    def tool(self, name, *options, stdin="", expect=0):
        return self.galley(name, "--nats", self.server.address, *options, stdin=stdin.encode(), expect=expect).stdout.decode()

    def submit(self, job, wait=60):
        """Returns the receipt, or the id with wait=0."""
        done = self.galley("submit", "--nats", self.server.address, "--wait", str(wait), stdin=json.dumps(job).encode(), expect=(0, 1))
        if not wait:
            return done.stdout.decode().strip()
        return self.told(done)

    def receipt(self, name):
        """Returns the receipt of a job that has ended."""
        return self.told(self.galley("jobs", "--nats", self.server.address, name, expect=(0, 1)))

    def told(self, done):
        """Returns the receipt that a command printed. Its status says whether the branch has the change."""
        receipt = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if receipt["outcome"] in ("committed", "unchanged") else 1, receipt)
        return receipt

    def refused_submit(self, job):
        return self.galley("submit", "--nats", self.server.address, stdin=json.dumps(job).encode(), expect=2).stderr.decode()

    def job(self, repository, name="j1", edits=None, **more):
        return {"id": name, "repository": str(repository), "ref": "main",
                "edits": edits or PATCH.format("a.txt", "one", "ONE"), "reason": f"job {name}", **more}

    @staticmethod
    def session_of(job):
        text = json.dumps(job, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return f"job-{job['id']}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def commit_at(self, repository, date, parents, branch="main", message="x"):
        """Adds a commit without a change to a branch of a bare repository, with this committer date."""
        words = ["-c", "user.name=p", "-c", "user.email=p@q", "commit-tree", "main^{tree}", "-m", message]
        parents = [word for parent in parents for word in ("-p", parent)]
        environment = {**os.environ, **self.environment, "HOME": str(self.scratch), "GIT_COMMITTER_DATE": date}
        made = subprocess.run(["git", *words, *parents], cwd=repository, env=environment, capture_output=True, check=True)
        commit = made.stdout.decode().strip()
        self.git("update-ref", f"refs/heads/{branch}", commit, folder=repository)
        return commit

    def git_program(self, cases):
        """Returns a folder with a program `git` that does something else in these cases of a shell's `case`."""
        programs = self.scratch / "programs"
        programs.mkdir()
        (programs / "git").write_text(f'#!/bin/sh\ngit={shutil.which("git")}\ncase " $* " in {cases} esac\nexec $git "$@"\n')
        (programs / "git").chmod(0o755)
        return programs

    def forget_jobs(self, streams=("KV_galley-receipts", "GALLEY_JOBS")):
        """Removes the queue and the receipts: only commits then tell which jobs were done."""
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        for stream in streams:
            self.assertTrue(client.request(f"$JS.API.STREAM.DELETE.{stream}", b"")["success"])

    def put_claim(self, **members):
        """Puts a claim of the job j1 into the bucket, as workers leave it."""
        self.tool("jobs")  # makes the bucket
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        client.publish("$KV.galley-receipts.j1", json.dumps({"lost": 0, "since": int(time.time()), "held": False, **members}).encode())
        client.flush()

    def kept(self, stream):
        """Returns subject and text of each message of a stream, oldest first."""
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        state = client.request(f"$JS.API.STREAM.INFO.{stream}", b"")["state"]
        messages = [client.request(f"$JS.API.STREAM.MSG.GET.{stream}", {"seq": number})["message"] for number in range(1, state["messages"] + 1)]
        return [(message["subject"], json.loads(base64.b64decode(message["data"]))) for message in messages]

    def letters(self):
        """Returns the letters of dead jobs, oldest first."""
        return [letter for _, letter in self.kept("GALLEY_DEAD")]

    def records(self):
        """Returns the audit records of each job, oldest first. No record is there twice."""
        records = collections.defaultdict(list)
        kept = self.kept("GALLEY_AUDIT")
        texts = [json.dumps(record, sort_keys=True) for _, record in kept]
        self.assertEqual(len(texts), len(set(texts)))
        for subject, record in kept:
            self.assertTrue(subject.startswith("galley.audit."), subject)
            records[subject.removeprefix("galley.audit.")].append(record)
        return records

    def receipts_on_record(self, records):
        """Returns the last receipt of each job in the stream."""
        told = {name: [record["receipt"] for record in of_job if record["kind"] == "job"] for name, of_job in records.items()}
        return {name: receipts[-1] for name, receipts in told.items() if receipts}

    def history(self, repository):
        """Returns the job of each commit of main after the first, oldest first."""
        told = self.git("log", "--reverse", "--format=%(trailers:key=Galley-Session,valueonly,separator=)", "main",
                        folder=repository)
        return [session.split(".")[0] for session in told.split("\n")[1:-1]]

    def killed_at(self, cases):
        """Returns the receipt of a job whose first worker killed itself in this case of its git."""
        job = self.job(self.make_repository())
        first = self.start_worker(path=self.git_program(cases))
        self.submit(job, wait=0)
        self.assertEqual(first.wait(60), -signal.SIGKILL)
        self.forget_jobs(["GALLEY_JOBS"])  # another delivery need not wait for the end of the first one
        self.start_worker(cache=first.cache)
        return self.submit(job)


class Jobs(JobCase):
    def test_a_job_is_one_commit_that_is_pushed(self):
        repository = self.make_repository()
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        progress = client.subscribe("galley.progress.j1")
        self.start_worker()
        receipt = self.submit(self.job(repository))
        self.assertEqual((receipt["outcome"], receipt["attempts"]), ("committed", 1), receipt)
        self.assertEqual(self.git("rev-parse", "main", folder=repository).strip(), receipt["commit"])
        trailer = "%(trailers:key=Galley-Verdict,valueonly,separator=)"
        self.assertEqual(self.git("log", "-1", f"--format=%T {trailer}", folder=repository).split(), [receipt["tree"], receipt["verdict"]])
        self.assertEqual(self.git("show", "main:a.txt", folder=repository), "ONE\n")
        self.assertEqual(self.git("log", "-1", "--format=%s;%(trailers:key=Galley-Agent,valueonly,separator=)", folder=repository),
                         "job j1;worker\n")
        self.assertEqual(self.history(repository), ["job-j1"])
        self.git("fsck", "--strict", folder=repository)
        self.assertEqual([client.next(progress)[2] for _ in range(2)], [b"staging", b"pushing"])
        self.assertEqual(json.loads(self.tool("jobs", "j1")), receipt)
        self.assertEqual([json.loads(line) for line in self.tool("jobs").splitlines()], [receipt])

    def test_the_next_job_of_a_repository_starts_few_processes_of_git(self):
        self.assertEqual(self.processes_of_the_next_job(""), ["fetch", "commit-tree", "update-ref", "push"])

    def test_a_validator_needs_one_more_process_of_git(self):
        rules = self.scratch / "rules.toml"
        rules.write_text('[[validator]]\nname = "v"\ncommand = ["grep", "-q", "ONE", "a.txt"]\n')
        started = self.processes_of_the_next_job(f'galley_toml = "{rules}"\n')
        self.assertEqual(started, ["fetch", "diff-tree", "commit-tree", "update-ref", "push"])

    def processes_of_the_next_job(self, more):
        """What git does for the second job of a repository."""
        log = self.scratch / "git-log"
        programs = self.git_program(f'*) echo "$*" >>{log};;')
        repository = self.make_repository()
        self.start_worker(more, path=programs)
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        log.unlink()
        self.assertEqual(self.submit(self.job(repository, "j2", PATCH.format("b.txt", "two", "TWO")))["outcome"], "committed")
        commands = ("config", "init", "fetch", "rev-parse", "cat-file", "diff-tree", "hash-object", "mktree", "commit-tree", "update-ref",
                    "push")
        return [next(word for word in line.split() if word in commands) for line in log.read_text().splitlines()]

    def test_the_same_job_is_done_once(self):
        repository = self.make_repository()
        first = self.start_worker()
        receipt = self.submit(self.job(repository))
        self.assertEqual(self.submit(self.job(repository)), receipt)
        self.forget_jobs()
        self.end(first)
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository)), receipt)
        self.assertEqual(self.history(repository), ["job-j1"])

    def test_an_id_that_was_forgotten_may_be_another_job(self):
        repository = self.make_repository()
        self.start_worker()
        first = self.submit(self.job(repository))
        self.forget_jobs()
        second = self.submit(self.job(repository, edits=PATCH.format("b.txt", "two", "TWO")))
        self.assertEqual(second["outcome"], "committed", second)
        self.assertNotEqual(second["commit"], first["commit"])
        self.assertEqual(self.git("show", "main:b.txt", folder=repository), "TWO\n")

    def test_a_damaged_clone_is_made_again(self):
        repository = self.make_repository()
        worker = self.start_worker()
        self.submit(self.job(repository))
        damages = {"no head": ("HEAD", ""), "no configuration": ("config", "[core\n"), "a lock": ("refs/heads/main.lock", ""),
                   "no log": ("galley/refs/heads/main/.galley/format", "?")}
        for number, (name, (file, content)) in enumerate(damages.items()):
            with self.subTest(name):
                self.assertEqual(self.end(worker), 0)
                clone = next(worker.cache.glob("*.git"))
                (clone / file).write_text(content)
                worker = self.start_worker(cache=worker.cache)
                text = self.git("show", "main:b.txt", folder=repository).strip()
                receipt = self.submit(self.job(repository, f"j{number + 2}", PATCH.format("b.txt", text, text + "o")))
                self.assertEqual(receipt["outcome"], "committed", receipt)

    def test_a_clone_of_many_fetches_is_packed_again(self):
        repository = self.make_repository()
        worker = self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        clone = next(worker.cache.glob("*.git"))
        for number in range(51):
            blob = self.scratch / "blob"
            blob.write_text(f"{number}\n")
            made = self.git("--git-dir", clone, "hash-object", "-w", blob)
            environment = {**os.environ, **self.environment, "HOME": str(self.scratch)}
            subprocess.run(["git", "--git-dir", clone, "pack-objects", "-q", clone / "objects" / "pack" / "pack"], input=made.encode(),
                           env=environment, stdout=subprocess.DEVNULL, check=True)
        self.assertEqual(self.submit(self.job(repository, "j2", PATCH.format("b.txt", "two", "TWO")))["outcome"], "committed")
        self.assertLess(len(list((clone / "objects" / "pack").glob("*.pack"))), 4)
        self.assertEqual(self.history(repository), ["job-j1", "job-j2"])

    def test_a_repository_may_use_sha256(self):
        source, bare = self.scratch / "source", self.repositories / "one.git"
        self.git("init", "-q", "-b", "main", "--object-format=sha256", source)
        (source / "a.txt").write_text("one\n")
        self.git("add", ".", folder=source)
        self.git("-c", "user.name=p", "-c", "user.email=p@q", "commit", "-qm", "first", folder=source)
        self.git("clone", "-q", "--bare", source, bare)
        self.start_worker()
        receipt = self.submit(self.job(bare))
        self.assertEqual(receipt["outcome"], "committed", receipt)
        self.assertEqual(self.git("rev-parse", "main", folder=bare).strip(), receipt["commit"])

    def test_another_job_of_a_used_id_is_refused(self):
        repository = self.make_repository()
        job, other = self.job(repository), self.job(repository, ref="other")
        self.submit(job, wait=0)
        self.assertIn("another job has the id 'j1'", self.refused_submit(other))  # the first one waits
        self.start_worker()
        receipt = self.submit(dict(reversed(job.items())))
        self.assertEqual(receipt["outcome"], "committed")
        self.assertIn("another job has the id 'j1'", self.refused_submit(other))  # the first one ended
        self.assertEqual(self.submit(job), receipt)

    def test_of_two_waiting_jobs_of_one_id_the_first_is_performed(self):
        repository = self.make_repository()
        first, second = (self.job(repository, edits=PATCH.format(*change)) for change in (("a.txt", "one", "1"), ("b.txt", "two", "2")))
        self.submit(first, wait=0)
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        (subject, _), = self.kept("GALLEY_JOBS")
        client.publish(subject, json.dumps(second).encode())  # as an hour later
        client.flush()
        worker = self.start_worker()
        worker.log.wait_for("dropped: another job has the id j1")
        self.assertEqual(self.submit(first)["outcome"], "committed")
        self.assertEqual(self.history(repository), ["job-j1"])

    def test_a_job_whose_worker_was_killed_before_the_branch_moved_is_pushed(self):
        repository = self.make_repository()
        first = self.start_worker(path=self.git_program('*" update-ref "*) kill -9 $PPID; exit 1;;'))
        self.submit(self.job(repository), wait=0)
        self.assertEqual(first.wait(60), -signal.SIGKILL)
        self.forget_jobs()  # another delivery need not wait for the end of the first one
        self.start_worker(cache=first.cache)
        receipt = self.submit(self.job(repository))
        self.assertEqual(receipt["outcome"], "committed", receipt)
        self.assertEqual(self.git("show", "main:a.txt", folder=repository), "ONE\n")
        self.assertEqual(self.history(repository), ["job-j1"])

    def test_only_a_trailer_tells_of_an_earlier_delivery(self):
        repository = self.make_repository()
        line = f"Galley-Session: {self.session_of(self.job(repository))}"
        for message in (line, f"x\n\n{line}\n\nnot a trailer"):
            self.commit_at(repository, f"{int(time.time())} +0000", ["main"], message=message)
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        self.assertEqual(self.git("show", "main:a.txt", folder=repository), "ONE\n")
        third = self.job(repository, "j3", PATCH.format("a.txt", "ONE", "1"))
        quoted = self.job(repository, "j2", PATCH.format("b.txt", "two", "TWO"), reason=f"Galley-Session: {self.session_of(third)}")
        self.assertEqual(self.submit(quoted)["outcome"], "committed")
        self.assertEqual(self.submit(third)["outcome"], "committed")

    def test_a_branch_may_stand_where_a_folder_of_branches_stood(self):
        repository = self.make_repository()
        self.start_worker()
        texts = ("one", "ONE", "1", "I")
        for number, (ref, old) in enumerate((("feature", ""), ("feature/one/two", "feature"), ("feature/one", "feature/one/two"))):
            with self.subTest(ref):
                self.git("branch", "-m", *([old] if old else ["main"]), ref, folder=repository)
                job = self.job(repository, f"j{number}", PATCH.format("a.txt", texts[number], texts[number + 1]), ref=ref)
                self.assertEqual(self.submit(job, 20)["outcome"], "committed")
                self.assertEqual(self.git("show", f"{ref}:a.txt", folder=repository), texts[number + 1] + "\n")

    def test_a_job_of_an_agent_that_the_configuration_does_not_know_is_refused(self):
        repository = self.make_repository()
        (self.scratch / "rules.toml").write_text('[agents.fixer]\nprofile = "claude"\n')
        self.start_worker(f'galley_toml = "{self.scratch}/rules.toml"\n')
        receipt = self.submit(self.job(repository, agent="fixr"))
        self.assertEqual((receipt["outcome"], receipt["attempts"]), ("refused", 1), receipt)
        self.assertIn("fixr", receipt["message"])

    def test_the_way_out_of_a_short_wait_is_a_command(self):
        done = self.galley("submit", "--nats", self.server.address, "--wait", "1", stdin=json.dumps(self.job("x", "j2")).encode())
        words = done.stderr.decode().split("look again: galley ")[1].split()
        self.assertEqual(words, ["jobs", "j2", "--nats", self.server.address])

    def test_wrong_clocks_do_not_hide_an_earlier_delivery(self):
        again = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+more\n"
        repositories = {name: self.make_repository(name) for name in ("row", "merged")}
        first = self.start_worker()
        jobs = {name: self.job(at, name, again) for name, at in repositories.items()}
        receipts = {name: self.submit(job) for name, job in jobs.items()}
        # The longest row of old commits that the search passes.
        for _ in range(99):
            self.commit_at(repositories["row"], "2001-01-01T00:00:00Z", ["main"])
        # git's own order shows an old commit last, below this merge, after a whole history.
        bare = repositories["merged"]
        side = "main~1"
        for year in range(2010, 2025):
            for month in range(1, 13):
                side = self.commit_at(bare, f"{year}-{month:02}-01T00:00:00Z", [side], branch="side")
        self.commit_at(bare, "2001-01-01T00:00:00Z", ["main"])
        self.commit_at(bare, f"{int(time.time())} +0000", ["side", "main"])
        self.forget_jobs()
        self.end(first)
        self.start_worker()
        for name, job in jobs.items():
            with self.subTest(name):
                self.assertEqual(self.submit(job), receipts[name])
                self.assertEqual(self.git("show", "main:a.txt", folder=repositories[name]), "one\nmore\n")

    def test_the_search_for_an_earlier_delivery_ends_in_an_old_history(self):
        repository = self.make_repository()
        line = f"Galley-Session: {self.session_of(self.job(repository))}"
        self.commit_at(repository, "2001-01-01T00:00:00Z", ["main"], message=f"x\n\n{line}\n")
        for _ in range(100):
            self.commit_at(repository, "2010-01-01T00:00:00Z", ["main"])
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")

    def test_calls_of_tools_are_staged_together(self):
        repository = self.make_repository()
        self.start_worker()
        calls = [{"tool": "Edit", "args": {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"}},
                 {"tool": "Write", "args": {"file_path": "new/c.txt", "content": "c\n"}}]
        job = self.job(repository, calls=calls)
        del job["edits"]
        self.assertEqual(self.submit({**job, "agent": "fixer"})["outcome"], "committed")
        self.assertIn("Galley-Agent: fixer\n", self.git("log", "-1", "--format=%B", folder=repository))
        self.assertEqual(self.git("show", "main:new/c.txt", folder=repository), "c\n")
        calls[0]["args"] |= {"old_string": "ONE", "new_string": "1"}
        calls[1]["args"]["file_path"] = "../c.txt"
        refused = self.submit({**job, "id": "j2", "calls": calls, "edits": ""})
        self.assertEqual((refused["outcome"], refused["reason"]), ("refused", "path.outside"), refused)
        self.assertEqual(self.history(repository), ["job-j1"])

    def test_a_job_names_validators_of_the_worker_and_a_profile_of_tools(self):
        repository = self.make_repository(files=[("a.txt", "one\n"), ("galley.toml", "[[validator]]\nname = 'small'\nbuiltin = 'size'\nmax_bytes = 100\n")])
        own = self.scratch / "validators.toml"
        own.write_text('[[validator]]\nname = "no-two"\nbuiltin = "forbidden_text"\npatterns = ["two"]\n'
                       f'[[validator]]\nname = "runs"\ncommand = ["sh", "-c", "! grep three a.txt"]\n')
        self.start_worker(f'validators = "{own}"\n')
        two = PATCH.format("a.txt", "one", "two")
        for name, more, reason in (
                ("unknown", {"edits": two, "validators": ["no-two", "nobody"]}, "job.validator"),
                ("forbidden", {"edits": two, "validators": ["no-two"]}, "gate.validator_failed"),
                ("ran", {"edits": PATCH.format("a.txt", "one", "three"), "validators": ["runs"]}, "gate.validator_failed"),
                ("of-repository", {"edits": PATCH.format("a.txt", "one", "x" * 200), "validators": ["no-two"]}, "gate.validator_failed"),
                ("other-profile", {"edits": two, "profile": "nobody"}, "profile.unknown"),
                ("other-tool", {"calls": [{"tool": "Write", "args": {"file_path": "b.txt", "content": "b\n"}}], "profile": "aios"}, "tool.not_in_profile")):
            with self.subTest(name):
                job = {**self.job(repository, name), **more}
                if "calls" in more:
                    del job["edits"]
                receipt = self.submit(job)
                self.assertEqual((receipt["outcome"], receipt["reason"]), ("refused", reason), receipt)
                if "nobody" in str(more):
                    self.assertIn("nobody", receipt["message"])
        self.assertEqual(self.history(repository), [])
        self.assertEqual(self.submit(self.job(repository, edits=two))["outcome"], "committed", "the job names no validator")
        calls = [{"tool": "fs.write", "args": {"path": "b.txt", "content": "b\n"}}]
        job = {**self.job(repository, "j2"), "calls": calls, "profile": "aios", "validators": ["no-two", "runs"]}
        del job["edits"]
        self.assertEqual(self.submit(job)["outcome"], "committed")

    def test_validators_that_cannot_be_used_are_told_at_the_start(self):
        own = self.scratch / "validators.toml"
        own.write_text('[[validator]]\nname = "x"\nbuiltin = "nothing"\n')
        with self.assertRaisesRegex(AssertionError, "validators.toml:3"):
            self.start_worker(f'validators = "{own}"\n')

    def test_rules_that_cannot_be_used_are_told_at_the_start_and_refuse_no_job(self):
        own = self.scratch / "rules.toml"
        with self.assertRaisesRegex(AssertionError, "rules.toml"):
            self.start_worker(f'galley_toml = "{own}"\n')
        own.write_text("[policy]\n")
        worker = self.start_worker(f'galley_toml = "{own}"\n')
        own.write_text("[policy\n")
        repository = self.make_repository()
        self.submit(self.job(repository), wait=0)
        worker.log.wait_for("job j1: ")
        self.end(worker)
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")

    def test_a_patch_that_the_branch_has_already_is_no_refusal(self):
        repository = self.make_repository()
        self.start_worker()
        made = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
        both = PATCH.format("a.txt", "one", "ONE") + made
        self.assertEqual(self.submit(self.job(repository, "j1", both))["outcome"], "committed")
        moved = "diff --git a/gone.txt b/b.txt\nsimilarity index 100%\nrename from gone.txt\nrename to b.txt\n"
        for name, edits, outcome in (("j2", both, "unchanged"), ("j3", made, "unchanged"), ("j6", moved, "refused"),
                                     ("j4", both + PATCH.format("b.txt", "two", "TWO"), "refused"),
                                     ("j5", made + PATCH.format("b.txt", "none", "TWO"), "refused")):
            receipt = self.submit(self.job(repository, name, edits))
            self.assertEqual(receipt["outcome"], outcome, receipt)
        self.assertEqual(self.history(repository), ["job-j1"])

    def test_the_audit_records_of_a_job_are_published_once(self):
        repository = self.make_repository()
        self.start_worker()
        receipts = {"j1": self.submit(self.job(repository)), "j2": self.submit(self.job(repository, "j2"))}
        records = self.records()
        self.assertEqual(self.receipts_on_record(records), receipts)
        self.assertEqual([record["kind"] for record in records["j1"]], ["edit", "commit", "begun", "push", "job"])
        self.assertEqual([record["session_id"] for record in records["j2"] if record["kind"] == "commit"], [])
        sessions = [record["session_id"] for record in records["j1"] if record["kind"] == "commit"]
        self.assertEqual(sessions, [self.session_of(self.job(repository))])
        log = next(self.scratch.glob("cache-1/*/galley/refs/heads/main/.galley/audit.jsonl"))
        lines = sorted(json.loads(line)["hash"] for line in log.read_text().splitlines())
        told = sorted(record["hash"] for of_job in records.values() for record in of_job if record["kind"] != "job")
        self.assertEqual(told, lines)

    def test_refusals_name_their_reason_and_change_nothing(self):
        repository = self.make_repository()
        self.git("clone", "-q", "--bare", repository, self.scratch / "foreign.git")
        (self.scratch / "rules.toml").write_text('[[policy.rule]]\nname = "no b"\npaths = ["b.txt"]\ndecision = "deny"\n')
        self.start_worker(f'galley_toml = "{self.scratch}/rules.toml"\n')
        cases = (
            (self.job(repository, "misfit", PATCH.format("a.txt", "seven", "x")), "refused", "patch.context_not_found"),
            (self.job(repository, "denied", PATCH.format("b.txt", "two", "x")), "refused", "gate.policy_denied"),
            (self.job(self.scratch / "foreign.git", "foreign"), "refused", "job.repository"),
            (self.job(f"{self.repositories}/../foreign.git", "escape"), "refused", "job.repository"),
            (self.job(f"ext::sh -c 'touch {self.scratch}/run'", "program"), "refused", "job.repository"),
            (self.job(repository, "nobranch", ref="other"), "refused", "git.no_such_branch"),
            (self.job(repository, "oddbranch", ref="--upload-pack=x"), "refused", "git.no_such_branch"),
            (self.job(repository, "nobranch2", ref="a..b"), "refused", "git.not_a_branch"),
            (self.job(repository, "base", base="0" * 40), "conflict", "job.base_is_missing"),
        )
        before = self.git("rev-parse", "main", folder=repository)
        for job, outcome, reason in cases:
            with self.subTest(job["id"]):
                receipt = self.submit(job)
                self.assertEqual((receipt["outcome"], receipt["reason"]), (outcome, reason), receipt)
                self.assertTrue(receipt["message"])
        self.assertEqual(self.git("rev-parse", "main", folder=repository), before)
        self.assertFalse((self.scratch / "run").exists())
        done = self.job(repository, "again", PATCH.format("a.txt", "one", "one"))
        self.assertEqual(self.submit(done)["outcome"], "unchanged")

    def test_an_encoded_path_leads_out_of_no_allowed_folder(self):
        self.make_repository("team-a/one")
        secret = self.make_repository("secret")
        before = self.history(secret)
        self.start_worker(address=f"file://{self.repositories}/team-a")
        for number, way in enumerate(("%2e%2e", ".%2E", "%2E.", "..", "one.git%2F..%2f..")):
            self.submit(self.job(f"file://{self.repositories}/team-a/{way}/secret.git", f"j{number}"))
            self.assertEqual(self.receipt(f"j{number}")["reason"], "job.repository", way)
        self.assertEqual(self.history(secret), before)
        self.submit(self.job(f"file://{self.repositories}/team-a/%6fne.git", "good"))
        self.assertEqual(self.receipt("good")["outcome"], "committed")

    def test_a_receipt_shows_no_token_and_sends_a_terminal_no_commands(self):
        token = "ghp_" + "a1B2" * 9
        bare = self.make_repository(files=[("a.txt", f"token = {token}\nsecond\n")])
        self.start_worker()
        edits = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-token = none\n+token = other\n second\n"
        self.assertEqual(self.submit(self.job(bare, "t1", edits=edits))["outcome"], "refused")
        job = self.job(bare, "t2", calls=[{"tool": "\u009b2J\u202ex", "args": {}}])
        del job["edits"]
        self.submit(job)
        for record in self.records():
            self.assertNotIn(token, json.dumps(record))
        reader, terminal = os.openpty()
        subprocess.run([support.GALLEY, "jobs", "--nats", self.server.address, "t2"], stdout=terminal, timeout=60, check=False)
        shown = os.read(reader, 65536)
        os.close(reader)
        os.close(terminal)
        self.assertIn(b"\\u202e", shown)
        self.assertTrue(shown.isascii(), shown)

    def test_a_job_that_cannot_be_read_is_refused_or_dead(self):
        self.start_worker()
        for wrong in ("{", "[]", '{"id": "a b"}', '{"id": "a", "repository": "x", "ref": "main"}',
                      '{"id": "a", "repository": "x", "ref": "main", "edits": "x", "more": 1}',
                      '{"id": "a", "repository": "x", "ref": "main", "edits": "x", "priority": "now"}',
                      '{"id": "a", "repository": "x", "ref": "main", "edits": "x", "validators": "json"}',
                      '{"id": "a", "repository": "x", "ref": "main", "edits": "", "calls": []}',
                      '{"id": "a", "repository": "x", "ref": "main", "edits": "x", "calls": [{"tool": "Read", "args": {}}]}',
                      '{"id": "a", "repository": "x", "ref": "main", "calls": [{"tool": 1, "args": {}}]}'):
            with self.subTest(wrong):
                self.tool("submit", stdin=wrong, expect=2)
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        client.publish("galley.jobs.high.0", b"\xff{")
        client.flush()
        until = time.monotonic() + 60
        while not (dead := self.tool("jobs")) and time.monotonic() < until:
            time.sleep(0.1)
        dead = json.loads(dead)
        self.assertEqual((dead["outcome"], dead["reason"]), ("dead", "json.syntax"), dead)
        self.assertTrue(dead["id"].startswith("unreadable-"))
        self.assertEqual(self.letters(), [{"job": "\ufffd{", "receipt": dead}])

    def test_a_receipt_has_the_findings_of_the_gate(self):
        repository = self.make_repository(files=[("a.json", "{}\n")])
        rules = self.scratch / "rules.toml"
        rules.write_text('[[validator]]\nname = "json"\nbuiltin = "json"\n')
        self.start_worker(f'galley_toml = "{rules}"\n')
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        progress = client.subscribe("galley.progress.j1")
        receipt = self.submit(self.job(repository, edits=PATCH.format("a.json", "{}", "{")))
        finding = receipt["findings"][0]
        self.assertEqual((finding["rule"], finding["severity"], finding["path"]), ("json.syntax", "error", "a.json"), receipt)
        while not (line := client.next(progress)[2]).startswith(b"found "):
            pass
        self.assertTrue(line.startswith(b"found a.json:"), line)

    def test_a_line_about_the_progress_shows_no_token(self):
        repository = self.make_repository()
        rules = self.scratch / "rules.toml"
        rules.write_text('[[validator]]\nname = "v"\nparser = "gcc"\n'
                         """command = ["sh", "-c", "echo \\"a.txt:1:1: error: $(cat a.txt)\\"; exit 1"]\n""")
        self.start_worker(f'galley_toml = "{rules}"\n')
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        progress = client.subscribe("galley.progress.j1")
        token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
        self.assertEqual(self.submit(self.job(repository, edits=PATCH.format("a.txt", "one", token)))["outcome"], "refused")
        while not (line := client.next(progress)[2]).startswith(b"found "):
            pass
        self.assertTrue(line.startswith(b"found a.txt:1: "), line)
        self.assertNotIn(token.encode(), line)

    def test_a_worker_without_an_identity_leaves_the_job_to_another_one(self):
        repository = self.make_repository()
        lacking = self.start_worker(path=self.git_program('*" commit-tree "*) echo "Please tell me who you are" >&2; exit 128;;'))
        self.submit(self.job(repository), wait=0)
        lacking.log.wait_for("git does not know the author")
        self.end(lacking)
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")

    def test_a_push_that_the_repository_refuses_is_a_refusal(self):
        repository = self.make_repository()
        hook = repository / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\necho 'not on Fridays' >&2\nexit 1\n")
        hook.chmod(0o755)
        self.start_worker()
        receipt = self.submit(self.job(repository))
        self.assertEqual((receipt["outcome"], receipt["reason"]), ("refused", "push.remote_refused"), receipt)
        self.assertIn("not on Fridays", receipt["message"])
        hook.unlink()
        self.assertEqual(self.submit(self.job(repository, "j2"))["outcome"], "committed")
        self.assertEqual(self.history(repository), ["job-j2"])

    def test_repositories_over_http(self):
        repository = self.make_repository()
        server, closed = GitHttpServer(self.repositories), GitHttpServer(self.repositories, needs_password=True)
        self.addCleanup(server.stop)
        self.addCleanup(closed.stop)
        worker = self.start_worker(address=server.address.rstrip("/"))
        self.git("config", "http.receivepack", "false", folder=repository)
        not_allowed = ("refused", "git.not_allowed", 1)
        receipt = self.submit(self.job(server.address + "one.git", "push"))
        self.assertEqual((receipt["outcome"], receipt["reason"], receipt["attempts"]), not_allowed, receipt)
        self.git("config", "http.receivepack", "true", folder=repository)
        self.assertEqual(self.submit(self.job(server.address + "one.git"))["outcome"], "committed")
        self.assertEqual(self.history(repository), ["job-j1"])
        self.end(worker)
        self.start_worker(address=closed.address.rstrip("/"))
        receipt = self.submit(self.job(closed.address + "one.git", "fetch"))
        self.assertEqual((receipt["outcome"], receipt["reason"], receipt["attempts"]), not_allowed, receipt)

    def test_a_worker_needs_only_the_documented_subjects(self):
        permissions = (pathlib.Path(__file__).parents[2] / "docs" / "scale.md").read_text().split("```conf\n")[1].split("```")[0]
        users = f"{{ user: all, password: x }}, {{ user: worker, password: x, {permissions} }}"
        self.server.stop()
        self.server = NatsServer(self.scratch / "closed", f"authorization {{ users: [ {users} ] }}")
        bare = self.server.address
        client = NatsClient(self.server.port, user="all", password="x")
        self.addCleanup(client.close)
        progress, letters = client.subscribe("galley.progress.>"), client.subscribe("galley.dead.>")
        self.server.address = bare.replace("//", "//worker:x@")
        self.start_worker()
        self.server.address = bare.replace("//", "//all:x@")
        client.publish("galley.jobs.high.0", b"{")
        self.assertEqual(self.submit(self.job(self.make_repository()))["outcome"], "committed")
        self.assertEqual(client.next(progress)[2], b"staging")
        self.assertIn(b"json.syntax", client.next(letters)[2])
        until = time.monotonic() + 60
        while client.request("$JS.API.STREAM.INFO.GALLEY_JOBS", b"")["state"]["messages"] and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(self.galley("jobs", "--nats", self.server.address).stderr, b"0 jobs have not ended\n")

    def test_urgent_jobs_come_first(self):
        repository = self.make_repository()
        for number, priority in enumerate(("low", "normal", "high")):
            self.submit(self.job(repository, priority, PATCH.format("a.txt", "one", str(number)), priority=priority), wait=0)
        self.start_worker()
        for name in ("normal", "low"):
            until = time.monotonic() + 60
            while not (told := self.galley("jobs", "--nats", self.server.address, name).stdout) and time.monotonic() < until:
                time.sleep(0.1)
            self.assertEqual(json.loads(told)["outcome"], "refused")
        self.assertEqual(self.history(repository), ["job-high"])

    def name_in_other_slot(self, repository):
        """Returns a name for a repository that does not wait in the queue of this one."""
        def slot(path):
            return int(hashlib.sha256(str(path).encode()).hexdigest()[:4], 16) % 64

        names = ("other", "another", "third", "fourth")
        return next(name for name in names if slot(self.repositories / f"{name}.git") != slot(repository))

    def test_a_repository_with_many_jobs_does_not_hold_up_another(self):
        many = self.make_repository("many", [(f"f{number}.txt", "old\n") for number in range(50)])
        other = self.make_repository(self.name_in_other_slot(many))
        for number in range(50):
            self.submit(self.job(many, f"many{number}", PATCH.format(f"f{number}.txt", "old", "new")), wait=0)
        self.submit(self.job(other, "other"), wait=0)
        self.start_worker()
        self.assertEqual(self.submit(self.job(other, "other"))["outcome"], "committed")
        done = self.history(many)
        self.assertLessEqual(len(done), 10)
        self.assertEqual(done, [f"job-many{number}" for number in range(len(done))], "in order")

    def test_a_busy_worker_holds_no_job_of_another(self):
        rules = self.scratch / "rules.toml"
        rules.write_text('[[validator]]\nname = "slow"\ncommand = ["sleep", "300"]\ntimeout_ms = 300000\n')
        busy = self.make_repository("busy")
        other = self.make_repository(self.name_in_other_slot(busy))
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        progress = client.subscribe("galley.progress.*")
        for repository, name in ((busy, "first"), (other, "second")):
            self.submit(self.job(repository, name), wait=0)
        self.start_worker(f'galley_toml = "{rules}"\ndrain_ms = 1\n')
        while client.next(progress)[2] != b"judging by slow":
            pass
        workers = [consumer["num_ack_pending"] for consumer in client.request("$JS.API.CONSUMER.LIST.GALLEY_JOBS", b"")["consumers"]]
        self.assertEqual(sum(workers), 1)

    def test_an_idle_worker_asks_once_a_second(self):
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        asked = client.subscribe("$JS.API.STREAM.INFO.GALLEY_JOBS")
        self.start_worker()
        for _ in range(6):
            client.next(asked)
        begun = time.monotonic()
        for _ in range(2):
            client.next(asked)
        self.assertGreater(time.monotonic() - begun, 1.5)

    def test_a_job_may_have_a_header_of_jetstream(self):
        job = self.job(self.make_repository())
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        self.start_worker()
        headers = b"NATS/1.0\r\nStatus: 404\r\n\r\n"
        client.publish_with_headers("galley.jobs.normal.0", headers, json.dumps(job).encode())
        until = time.monotonic() + 20
        while not self.history(self.repositories / "one.git") and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(self.history(self.repositories / "one.git"), ["job-j1"])

    def test_one_worker_has_a_cache(self):
        worker = self.start_worker()
        second = self.scratch / "second.toml"
        second.write_text(f'cache = "{worker.cache}"\nrepositories = ["{self.repositories}/"]\n')
        done = subprocess.run([support.GALLEY, "worker", "--nats", self.server.address, "--server-config", second],
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"give each worker its own", done.stderr)
        second.write_text(f'cache = "{self.scratch}/other"\n')
        done = subprocess.run([support.GALLEY, "worker", "--nats", self.server.address, "--server-config", second],
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"repositories", done.stderr)

    def test_a_repository_that_a_power_cut_may_have_damaged_is_fetched_again(self):
        one, two = self.make_repository("one"), self.make_repository("two")
        worker = self.start_worker()
        for name, repository in (("j1", one), ("j2", two)):
            self.assertEqual(self.submit(self.job(repository, name))["outcome"], "committed")
        clones = {str(repository): worker.cache / (hashlib.sha256(str(repository).encode()).hexdigest() + ".git") for repository in (one, two)}
        self.end(worker, signal.SIGKILL)
        (worker.cache / "boot").write_text("of another boot")
        for clone in clones.values():
            (clone / "kept").touch()
        os.utime(clones[str(two)] / "galley-used", (1, 1))  # not shortly before
        for path in (clones[str(one)] / "objects").glob("??/*"):
            path.chmod(0o600)
            path.write_bytes(b"")
        worker = self.start_worker(cache=worker.cache)
        for name, repository in (("j3", one), ("j4", two)):
            self.assertEqual(self.submit(self.job(repository, name, PATCH.format("b.txt", "two", "TWO")), 20)["outcome"], "committed")
        self.assertEqual([(clone / "kept").exists() for clone in clones.values()], [False, True])

    def test_an_orderly_end_leaves_a_cache_that_needs_no_new_fetch(self):
        repository = self.make_repository()
        worker = self.start_worker()
        self.submit(self.job(repository))
        self.assertTrue((worker.cache / "boot").exists())
        self.assertEqual(self.end(worker), 0)
        self.assertFalse((worker.cache / "boot").exists())

    def test_the_cache_drops_the_repository_that_was_not_used_for_the_longest_time(self):
        worker = self.start_worker("most_repositories = 2\n")
        half = worker.cache / "dropped-x.git"  # of a worker that was killed
        half.mkdir()
        bare = {name: self.make_repository(name, [("a.txt", "one\n")]) for name in ("one", "two", "three")}
        steps = (("one", {"one"}), ("two", {"one", "two"}), ("one", {"one", "two"}), ("three", {"one", "three"}), ("two", {"two", "three"}))
        names = {}
        for number, (name, kept) in enumerate(steps):
            edits = f"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+{number}\n"
            self.submit(self.job(bare[name], f"j{number}", edits=edits))
            self.assertEqual(self.receipt(f"j{number}")["outcome"], "committed")
            clones = [one.name for one in worker.cache.iterdir() if one.name.endswith(".git")]
            names.update({clone: name for clone in clones if clone not in names})
            self.assertEqual({names[clone] for clone in clones}, kept)

    def test_a_configuration_that_other_users_can_change_is_not_used(self):
        file = self.scratch / "open.toml"
        file.write_text(f'cache = "{self.scratch}/open"\nrepositories = ["{self.repositories}/"]\n')
        file.chmod(0o664)
        done = subprocess.run([support.GALLEY, "worker", "--nats", self.server.address, "--server-config", file],
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"chmod go-w {file}", done.stderr.decode())

    def test_a_worker_that_is_told_to_end_gives_its_job_to_another(self):
        repository = self.make_repository()
        rules = self.scratch / "rules.toml"
        started, gate = self.scratch / "started", self.scratch / "go"
        rules.write_text('[[validator]]\nname = "slow"\ncommand = ["sleep", "300"]\ntimeout_ms = 300000\n')
        worker = self.start_worker(f'galley_toml = "{rules}"\ndrain_ms = 1\n')
        self.submit(self.job(repository), wait=0)
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        progress = client.subscribe("galley.progress.j1")
        while client.next(progress)[2] != b"judging by slow":
            pass
        self.assertEqual(self.end(worker), 0)
        self.assertFalse(started.exists() or gate.exists())
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")

    def test_a_worker_that_is_told_to_end_ends_its_git(self):
        fetching = self.scratch / "fetching"
        programs = self.git_program(f'*" fetch "*) touch {fetching}; exec sleep 1000;;')
        repository = self.make_repository()
        worker = self.start_worker("drain_ms = 1\n", path=programs)
        self.submit(self.job(repository), wait=0)
        while not fetching.exists():
            time.sleep(0.05)
        self.assertEqual(self.end(worker), 0)
        self.start_worker()
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")


class Crashes(JobCase):
    JOBS = int(os.environ.get("GALLEY_JOBS", "45"))  # of the test with killed workers and a restarted server

    def rules(self, name, command):
        """A worker's configuration with one validator of this name."""
        file = self.scratch / f"{name}.toml"
        file.write_text(f'[[validator]]\nname = "{name}"\ncommand = ["sh", "-c", "{command}"]\ntimeout_ms = 300000\n')
        return f'galley_toml = "{file}"\n'

    def job_of_two_workers(self, first_command, second_command):
        """Gives a job to a second worker while the first is suspended in its validator. Returns both, suspended."""
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        progress = client.subscribe("galley.progress.j1")

        repository = self.make_repository()
        workers = []
        for name, command in (("first", first_command), ("second", second_command)):
            worker = self.start_worker(self.rules(name, f"sleep 2; {command}"))
            self.submit(self.job(repository), wait=0)
            while client.next(progress)[2] != b"judging by " + name.encode():
                pass
            os.kill(worker.pid, signal.SIGSTOP)
            self.addCleanup(os.kill, worker.pid, signal.SIGCONT)
            workers.append(worker)
            if name == "first":
                self.forget_jobs(["GALLEY_JOBS"])  # another delivery need not wait for the first one's time
        return workers

    def receipt_after(self, worker):
        """Lets a suspended worker go on, and returns the receipt of the job then."""
        os.kill(worker.pid, signal.SIGCONT)
        return self.submit(self.job(self.repositories / "one.git"))

    def test_the_refusal_of_a_worker_that_lost_its_job_does_not_count(self):
        first, second = self.job_of_two_workers("exit 1", "exit 0")
        os.kill(first.pid, signal.SIGCONT)
        first.log.wait_for("another worker has the job")
        receipt = self.receipt_after(second)
        self.assertEqual((receipt["outcome"], self.history(self.repositories / "one.git")), ("committed", ["job-j1"]), receipt)

    def test_the_commit_of_a_worker_that_lost_its_job_replaces_a_refusal(self):
        first, second = self.job_of_two_workers("exit 0", "exit 1")
        self.assertEqual(self.receipt_after(second)["outcome"], "refused")
        os.kill(first.pid, signal.SIGCONT)
        until = time.monotonic() + 60
        while (receipt := self.receipt("j1"))["outcome"] == "refused" and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual((receipt["outcome"], self.history(self.repositories / "one.git")), ("committed", ["job-j1"]), receipt)

    def test_a_job_is_dead_after_ten_lost_workers_and_can_be_submitted_again(self):
        job = self.job(self.make_repository())
        self.put_claim(lost=9, held=True)
        self.start_worker()
        dead = self.submit(job)
        self.assertEqual((dead["outcome"], dead["reason"]), ("dead", "job.deliveries"), dead)
        self.assertEqual(self.letters(), [{"job": job, "receipt": dead}])
        self.assertEqual(self.submit(job)["outcome"], "committed")
        self.assertEqual(self.history(self.repositories / "one.git"), ["job-j1"])

    def test_a_job_that_was_pushed_is_not_dead(self):
        job = self.job(self.make_repository())
        first = self.start_worker()
        receipt = self.submit(job)
        self.end(first)
        self.forget_jobs()
        self.put_claim(lost=9, held=True)
        self.start_worker()
        self.assertEqual(self.submit(job), receipt)

    def test_a_job_whose_git_server_is_away_is_tried_for_a_day(self):
        away = "http://127.0.0.1:1"
        job = self.job(f"{away}/absent.git")
        worker = self.start_worker(address=away)
        self.put_claim(lost=9, tries=9)
        self.submit(job, wait=0)
        worker.log.wait_for("job j1: the branch cannot be fetched")
        self.assertEqual(self.tool("jobs"), "")
        self.end(worker)
        self.forget_jobs(["GALLEY_JOBS"])
        self.put_claim(since=int(time.time()) - 24 * 3600)
        self.start_worker(address=away)
        dead = self.submit(job)
        self.assertEqual((dead["outcome"], dead["reason"]), ("dead", "job.fetch"), dead)

    def test_an_orderly_end_is_not_a_lost_worker(self):
        job = self.job(self.make_repository())
        self.put_claim(lost=9)
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        progress = client.subscribe("galley.progress.j1")
        worker = self.start_worker(self.rules("slow", "sleep 300") + "drain_ms = 1\n")
        self.submit(job, wait=0)
        while client.next(progress)[2] != b"judging by slow":
            pass
        self.assertEqual(self.end(worker), 0)
        self.start_worker()
        self.assertEqual(self.submit(job)["outcome"], "committed")

    def test_a_worker_that_is_killed_before_the_push(self):
        receipt = self.killed_at('*" push "*) kill -9 $PPID; exit 1;;')
        self.assertEqual((receipt["outcome"], self.history(self.repositories / "one.git")), ("committed", ["job-j1"]), receipt)

    def test_a_worker_that_is_killed_after_the_push(self):
        receipt = self.killed_at('*" push "*) $git "$@"; kill -9 $PPID; exit 1;;')
        self.assertEqual((receipt["outcome"], self.history(self.repositories / "one.git")), ("committed", ["job-j1"]), receipt)
        self.assertEqual([record["kind"] for record in self.records()["j1"]], ["edit", "commit", "begun", "job"])

    def test_records_of_a_killed_worker_are_published_with_its_job(self):
        repository = self.make_repository()
        first = self.start_worker(path=self.git_program('*" push "*) $git "$@"; kill -9 $PPID; exit 1;;'))
        self.submit(self.job(repository), wait=0)
        self.assertEqual(first.wait(60), -signal.SIGKILL)
        self.forget_jobs(["GALLEY_JOBS"])
        self.start_worker(cache=first.cache)
        self.assertEqual(self.submit(self.job(self.make_repository("two"), "j2"))["outcome"], "committed")
        records = {name: [record["kind"] for record in of_job] for name, of_job in self.records().items()}
        self.assertEqual(records, {"j1": ["edit", "commit", "begun"], "j2": ["edit", "commit", "begun", "push", "job"]})

    def test_a_worker_that_is_killed_in_the_validator(self):
        client = NatsClient(self.server.port)
        self.addCleanup(client.close)
        progress = client.subscribe("galley.progress.j1")
        job = self.job(self.make_repository())
        first = self.start_worker(self.rules("slow", "sleep 300"))
        self.submit(job, wait=0)
        while client.next(progress)[2] != b"judging by slow":
            pass
        self.end(first, signal.SIGKILL)
        self.forget_jobs(["GALLEY_JOBS"])
        self.start_worker(cache=first.cache)
        self.assertEqual(self.submit(job)["outcome"], "committed")
        self.assertEqual(self.history(self.repositories / "one.git"), ["job-j1"])

    def test_a_job_that_loses_ten_races_for_its_branch_is_pushed(self):
        repository, lost = self.make_repository(), self.scratch / "lost"
        person = "-c user.name=p -c user.email=p@q"
        other = f"$git -C {repository} {person} commit-tree main^{{tree}} -p main -m x"
        programs = self.git_program(f'*" push "*) echo >>{lost}; test $(wc -l <{lost}) -gt 10 || $git -C {repository} update-ref refs/heads/main $({other});;')
        self.start_worker(path=programs)
        self.assertEqual(self.submit(self.job(repository))["outcome"], "committed")
        self.assertEqual(lost.read_text().count("\n"), 11)

    def test_a_last_push_without_an_answer_is_looked_up(self):
        repository = self.make_repository()
        made = f"$($git -C {repository} -c user.name=p -c user.email=p@q commit-tree -p main -m x main^{{tree}})"
        worker = self.start_worker(path=self.git_program(
            f'*" --dry-run "*) ;; *" push "*) echo >> {self.scratch}/pushes\n'
            f'if test $(wc -l < {self.scratch}/pushes) = 8; then $git "$@"; printf "!\\tx:y\\t[rejected] (stale info)\\n"; exit 1; fi\n'
            f'$git -C {repository} update-ref refs/heads/main {made};;'))
        receipt = self.submit(self.job(repository))
        self.assertEqual(receipt["outcome"], "committed", (receipt, worker.log.lines))
        self.assertEqual(self.history(repository), [""] * 7 + ["job-j1"])

    def test_killed_workers_and_a_restarted_server_lose_no_job_and_do_none_twice(self):
        signal.alarm(max(support.TEST_LIMIT_S, 6 * self.JOBS))  # on a busy machine, 300 jobs need minutes
        names = ("one", "two", "three")
        repositories = {name: self.make_repository(name, [("count.txt", "0\n"), *((f"f{i}.txt", "old\n") for i in range(self.JOBS))])
                        for name in names}
        choice = random.Random(20261127)
        expected = collections.Counter()
        for number in range(self.JOBS):
            name = choice.choice(names)
            # A third of the jobs want the same line, so all but one of each repository are refused.
            file, old, new = (("count.txt", "0", f"1 {number}") if number % 3 == 0 else (f"f{number}.txt", "old", f"new {number}"))
            self.submit(self.job(repositories[name], f"job{number}", PATCH.format(file, old, new)), wait=0)
            expected[name] += number % 3 != 0
        begun = time.monotonic()
        workers = [self.start_worker() for _ in range(4)]
        is_over = threading.Event()
        killed = []

        def kill_some():
            while not is_over.wait(choice.uniform(0.1, 0.6)) and len(killed) < self.JOBS // 4:
                at = choice.randrange(len(workers))
                self.end(workers[at], signal.SIGKILL)
                killed.append(at)
                workers[at] = self.start_worker(cache=workers[at].cache)
                if len(killed) == self.JOBS // 8:
                    self.server = self.server.restarted()

        killer = threading.Thread(target=kill_some)
        killer.start()
        self.addCleanup(killer.join)
        self.addCleanup(is_over.set)
        until = time.monotonic() + 5 * self.JOBS
        receipts = {}
        while len(receipts) < self.JOBS and time.monotonic() < until:
            done = self.galley("jobs", "--nats", self.server.address)
            if done.returncode == 0:
                told = [json.loads(line) for line in done.stdout.decode().splitlines()]
                receipts = {receipt["id"]: receipt for receipt in told}
            time.sleep(0.5)
        is_over.set()
        killer.join()
        self.assertEqual(len(receipts), self.JOBS, sorted(receipts))
        committed = collections.defaultdict(list)
        for name, repository in repositories.items():
            self.git("fsck", "--strict", folder=repository)
            sessions = self.history(repository)
            self.assertEqual(len(sessions), len(set(sessions)), "a job was done twice")
            self.assertEqual(self.git("log", "--merges", "--format=%H", "main", folder=repository), "")
            for session, commit in zip(sessions, self.git("log", "--reverse", "--format=%H", "main", folder=repository).split()[1:]):
                committed[session.removeprefix("job-")].append(commit)
            self.assertIn(len(sessions) - expected[name], (0, 1), [r for r in receipts.values() if r["outcome"] != "committed" and int(r["id"][3:]) % 3])
        for name, receipt in receipts.items():
            self.assertIn(receipt["outcome"], ("committed", "refused", "conflict"), receipt)
            self.assertEqual([receipt["commit"]] if receipt["outcome"] == "committed" else [], committed[name], receipt)
        self.assertGreater(len(killed), 0)
        outcomes = collections.Counter(receipt["outcome"] for receipt in receipts.values())
        print(f"{self.JOBS} jobs, {len(killed)} killed workers: {dict(outcomes)}, "
              f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
        records = self.records()
        self.assertEqual(self.receipts_on_record(records), receipts)
        for name, receipt in receipts.items():
            if receipt["outcome"] == "committed" and receipt["attempts"] == 1:
                self.assertIn("commit", [record["kind"] for record in records[name]], receipt)


if __name__ == "__main__":
    unittest.main()
