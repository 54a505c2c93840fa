#!/usr/bin/env python3
"""Measures jobs over a real nats-server: jobs per second of one worker and of two, without and with a validator that
needs a core, beside the same changes made by git with a work tree.

  bench/jobs.py BUILD [--jobs 100]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "system"))
from nats_client import LinesOf, NatsClient, NatsServer  # noqa: E402

REPOSITORIES = 8
BUSY = '[[validator]]\nname = "busy"\ncommand = ["sh", "-c", "i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done"]\n'
PATCH = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-old\n+new\n"
PERSON = {"GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@c", "GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@c"}


def git(*arguments, folder, text=None):
    subprocess.run(["git", *map(str, arguments)], cwd=folder, input=text, text=True, check=True, capture_output=True,
                   env={**os.environ, **PERSON})


def make_repositories(folder, files):
    bare = []
    for number in range(REPOSITORIES):
        source = folder / f"source{number}"
        source.mkdir(parents=True)
        git("init", "-q", "-b", "main", folder=source)
        for i in range(files):
            (source / f"f{i}.txt").write_text("old\n")
        git("add", ".", folder=source)
        git("commit", "-qm", "first", folder=source)
        bare.append(folder / f"bare{number}.git")
        git("clone", "-q", "--bare", source, bare[-1], folder=folder)
    return bare


def processor_time(process):
    words = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def with_workers(build, folder, workers, jobs, rules):
    """Returns the seconds that the workers need for all jobs, and their own processor time without that of the
    programs that they start. Each has fetched both repositories before."""
    folder.mkdir()
    bare = make_repositories(folder, jobs + workers)
    server = NatsServer(folder / "nats")
    client = NatsClient(server.port)
    running = []
    for number in range(workers):
        file = folder / f"worker{number}.toml"
        (folder / "rules.toml").write_text(rules)
        file.write_text(f'cache = "{folder}/cache{number}"\nrepositories = ["{folder}/"]\ngalley_toml = "{folder}/rules.toml"\n')
        running.append(subprocess.Popen([build / "galley", "worker", "--nats", server.address, "--server-config", file],
                                        stderr=subprocess.PIPE, env={**os.environ, **PERSON, "XDG_STATE_HOME": str(folder / "state")}))
        LinesOf(running[-1]).wait_for("working at ")
    ended = client.subscribe("$KV.galley-receipts.>")

    def send(numbers):
        for i in numbers:
            job = {"id": f"j{i}", "repository": str(bare[i % REPOSITORIES]), "ref": "main", "edits": PATCH.format(f"f{i}.txt")}
            client.publish("galley.jobs.normal.0", json.dumps(job).encode())
        left = len(numbers)
        while left > 0:
            entry = json.loads(client.next(ended)[2])
            assert entry.get("outcome", "committed") == "committed", entry
            left -= "outcome" in entry  # else it is the claim of a worker

    send(range(jobs, jobs + workers))
    before = sum(processor_time(worker) for worker in running)
    begin = time.monotonic()
    send(range(jobs))
    seconds = time.monotonic() - begin
    own = sum(processor_time(worker) for worker in running) - before
    for worker in running:
        worker.terminate()
        worker.wait()
    client.close()
    server.stop()
    return seconds, own


def with_git(folder, jobs):
    """The same changes, one after the other: a work tree, git apply, commit, push."""
    folder.mkdir()
    bare = make_repositories(folder, jobs)
    trees = [folder / f"tree{i}" for i in range(REPOSITORIES)]
    for tree, repository in zip(trees, bare):
        git("clone", "-q", repository, tree, folder=folder)
    begin = time.monotonic()
    for i in range(jobs):
        tree = trees[i % REPOSITORIES]
        git("fetch", "-q", folder=tree)
        git("apply", "--index", "-", folder=tree, text=PATCH.format(f"f{i}.txt"))
        git("commit", "-qm", "x", folder=tree)
        git("push", "-q", folder=tree)
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=100)
    options = parser.parse_args()
    cases = [(f"{'one worker' if workers == 1 else 'two workers'}{', busy validator' if rules else ''}", workers, rules,
              max(options.jobs // 4, 16) if rules else options.jobs) for rules in ("", BUSY) for workers in (1, 2)]
    times, own = {"git": []}, []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        for turn in range(3):
            folder = Path(scratch) / str(turn)
            folder.mkdir()
            times["git"].append(with_git(folder / "git", options.jobs) / options.jobs)
            for name, workers, rules, jobs in cases:
                seconds, used = with_workers(options.build.resolve(), folder / name.replace(" ", "-"), workers, jobs, rules)
                times.setdefault(name, []).append(seconds / jobs)
                if name == "one worker":
                    own.append(used / jobs)
    each = {name: statistics.median(column) for name, column in times.items()}
    for name, seconds in each.items():
        print(f"{name:30} {1 / seconds:8.1f} jobs/s {1000 * seconds:8.1f} ms each")
    print(f"one worker, beyond git: {1000 * (each['one worker'] - each['git']):.1f} ms for each job")
    print(f"one worker, processor time of its own: {1000 * statistics.median(own):.1f} ms for each job")
    print(f"two workers / one, with the validator: {each['one worker, busy validator'] / each['two workers, busy validator']:.2f}")


main()
