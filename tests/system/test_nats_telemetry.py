"""Metrics and spans of `galley worker` and `galley-serve-nats`, on request."""

import http.client
import json
import os
import socket
import unittest

import test_nats
import test_nats_jobs
from terminal_session import wait_until


def scraped(address, path="/metrics", host=None):
    """Returns status, type and text of an HTTP answer at ADDRESS:PORT or at a socket file."""
    connection = http.client.HTTPConnection(address if ":" in address else "localhost", timeout=60)
    if address.startswith("/"):
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(address)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    told = answer.status, answer.getheader("Content-Type"), answer.read().decode()
    connection.close()
    return told


def values(text):
    """Returns the value of each series."""
    return {series: float(value) for series, value in (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))}


def spans(file):
    """Returns service, name, trace and attributes of each span, oldest first."""
    told = []
    for line in file.read_text().splitlines():
        (resource,) = json.loads(line)["resourceSpans"]
        (service,) = resource["resource"]["attributes"]
        (span,) = resource["scopeSpans"][0]["spans"]
        attributes = {one["key"]: one["value"]["stringValue"] for one in span["attributes"]}
        told.append((service["value"]["stringValue"], span["name"], span["traceId"], attributes))
    return told


class Worker(test_nats_jobs.JobCase):
    def test_jobs_are_counted_and_traced(self):
        file = self.scratch / "spans.jsonl"
        worker = self.start_worker(f'metrics = "0"\nspans = "{file}"\n')
        address = worker.log.wait_for(r"metrics at (127\.\S+)")[0][1]
        status, kind, text = scraped(address)
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertEqual(values(text)["galley_jobs_in_work"], 0)
        repository = self.make_repository()
        receipt = self.submit(self.job(repository))
        self.assertEqual(receipt["outcome"], "committed", receipt)
        self.assertEqual(self.submit(self.job(repository, "j2", ref="other"))["outcome"], "refused")
        wait_until(lambda: len(spans(file)) == 2)
        found = values(scraped(address)[2])
        self.assertEqual((found['galley_jobs_total{outcome="committed"}'], found['galley_jobs_total{outcome="refused"}']), (1, 1))
        self.assertEqual((found["galley_job_duration_seconds_count"], found['galley_job_duration_seconds_bucket{le="+Inf"}']), (2, 2))
        self.assertGreater(found["galley_job_duration_seconds_sum"], 0)
        (first, second) = spans(file)
        self.assertEqual(first[:2], ("galley-worker", "job"))
        self.assertEqual(first[3], {"galley.outcome": "committed", "galley.job": "j1", "galley.commit": receipt["commit"],
                                    "galley.attempts": "1"})
        self.assertEqual((second[3]["galley.outcome"], second[3]["galley.reason"]), ("refused", "git.no_such_branch"))
        self.assertNotEqual(first[2], second[2])
        self.assertEqual(scraped(address, host="evil.example:80")[0], 403)
        self.assertEqual(scraped(address, path="/")[0], 404)

    def test_spans_go_to_a_regular_file(self):
        """A FIFO would hold the worker at its first span."""
        pipe, file = self.scratch / "pipe", self.scratch / "worker.toml"
        os.mkfifo(pipe)
        file.write_text(f'cache = "{self.scratch}/cache"\nrepositories = ["{self.repositories}/"]\nspans = "{pipe}"\n')
        said = self.galley("worker", "--nats", self.server.address, "--server-config", file, expect=2).stderr
        self.assertIn(b"is no regular file", said)

    def test_no_metrics_leave_the_machine(self):
        for key, value in (("metrics", "0.0.0.0:0"), ("metrics", "unix:relative"), ("spans", "relative")):
            with self.subTest(value), self.assertRaises(AssertionError):
                self.start_worker(f'{key} = "{value}"\n')


class Door(test_nats.NatsCase):
    def test_calls_are_counted_and_traced(self):
        server = self.start_server()
        file, point = self.scratch / "spans.jsonl", self.scratch / "metrics.sock"
        self.start_door(server, f'metrics = "unix:{point}"\nspans = "{file}"\n')
        client = self.client(server)
        for name in ("a.txt", "missing.txt"):
            client.request(f"{test_nats.FILES}.request", self.call_of(action="read", path=f"workspace/{name}"))
        found = values(scraped(str(point))[2])
        self.assertEqual((found['galley_calls_total{outcome="ok"}'], found['galley_calls_total{outcome="EXECUTION_ERROR"}']), (1, 1))
        told = spans(file)
        self.assertEqual([one[3]["galley.outcome"] for one in told], ["ok", "EXECUTION_ERROR"])
        self.assertEqual((told[0][:2], told[0][3]["galley.tool"]), (("galley-serve-nats", "call"), "filesystem"))
        self.assertNotIn("a.txt", file.read_text())


if __name__ == "__main__":
    unittest.main()
