"""`galley review`: the page on loopback, by requests."""

import http.client
import json
import os
import random
import re
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hostile
from mcp_client import McpClient
from support import GALLEY, SystemCase
from terminal_session import TerminalSession, is_running, wait_until

DEADLINE_S = 60
LINES = [f"line {i}\n" for i in range(1, 41)]


class ServedCase(SystemCase):
    """A transaction with two hunks and a new file, and a server that shows it."""

    def serve(self, config="", more=(), words=()):
        (self.work / "long.txt").write_text("".join(LINES))
        (self.work / "galley.toml").write_text(config)
        changed = list(LINES)
        changed[4], changed[30] = "five\n", "thirty-one\n"
        self.galley("begin", expect=0)
        self.write("long.txt", "".join(changed))
        self.write("new.txt", "fresh\n")
        for path, text in more:
            self.write(path, text)
        self.start(*words)

    def start(self, *words):
        self.server = subprocess.Popen([GALLEY, "-C", self.work, "review", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       stdin=subprocess.DEVNULL, env={**os.environ, **self.environment},
                                       start_new_session=True)
        self.addCleanup(self.stop)
        self.address = (self.server.stderr if "--json" in words else self.server.stdout).readline().decode().strip()
        self.host, self.token = re.fullmatch(r"http://(127\.\d+\.\d+\.\d+:\d+)/\?token=([0-9a-f]{32})", self.address).groups()

    def stop(self):
        self.server.kill()
        self.server.communicate()

    def ended(self):
        """Returns the output of the program when the review is over."""
        out, err = self.server.communicate(timeout=DEADLINE_S)
        return self.server.returncode, out.decode(), err.decode()

    def write(self, path, text):
        self.galley("call", "Write", json.dumps({"file_path": path, "content": text}), expect=0)

    def ask(self, method, target, body=None, **headers):
        connection = http.client.HTTPConnection(self.host, timeout=DEADLINE_S)
        connection.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def enter(self):
        """Opens the page. Stores its path and its data."""
        answer, _ = self.ask("GET", f"/?token={self.token}")
        self.assertEqual(answer.status, 303)
        self.home = re.fullmatch(r"(/[0-9a-f]{32})/", answer.getheader("Location"))[1]
        self.assertIsNone(answer.getheader("Set-Cookie"), "a browser would send it to every port of this host")
        return self.load()

    def load(self):
        answer, page = self.ask("GET", self.home + "/")
        self.assertEqual(answer.status, 200)
        found = re.search(r'id="galley-data">(.*?)</script>', page, re.S)
        self.data = json.loads(found[1])
        return answer

    def post(self, target, **body):
        answer, text = self.ask("POST", self.home + target, json.dumps({"proposal": self.data["proposal"], **body}),
                                Origin=f"http://{self.host}", Content_Type="application/json",
                                X_Galley_Token=self.data["session"]["token"])
        return answer.status, json.loads(text)


class Served(ServedCase):
    def test_commits_exactly_what_was_shown(self):
        self.serve()
        self.enter()
        status, said = self.post("/commit")
        self.assertEqual((status, said["ok"]), (200, True))
        code, out, err = self.ended()
        self.assertEqual(code, 0, (out, err))
        self.assertIn(f"committed {said['committed']}", out)
        self.assertIn("thirty-one", (self.work / "long.txt").read_text())

    def test_a_named_port_can_be_used_again_at_once(self):
        self.serve()
        self.stop()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for _ in range(2):
            self.start("--port", str(port))
            self.enter()  # the kernel keeps the closed connection of the server for a while
            self.stop()

    def test_the_browser_is_opened_by_a_private_file(self):
        opened = self.scratch / "opened"
        browser = self.scratch / "browser"
        browser.write_text(f'#!/bin/sh\nls -l "$1" > {opened}.new; cat "$1" >> {opened}.new; mv {opened}.new {opened}\n')
        browser.chmod(0o755)
        self.environment["BROWSER"] = str(browser)
        self.serve(words=["--open"])
        self.assertTrue(wait_until(opened.exists))
        listed, page = opened.read_text().split("\n", 1)
        self.assertTrue(listed.startswith("-rw------- "), listed)
        self.assertNotIn(self.token, listed)
        self.assertIn(f"url=http://{self.host}/?token={self.token}", page)
        self.enter()
        self.assertEqual(self.post("/end")[0], 200)
        self.ended()
        self.assertFalse(Path(listed.split()[-1]).exists())

    def test_on_a_terminal_with_a_display_the_browser_opens_by_itself(self):
        opened = self.scratch / "opened"
        browser = self.scratch / "browser"
        browser.write_text(f"#!/bin/sh\ntouch {opened}\n")
        browser.chmod(0o755)
        self.galley("begin", expect=0)
        for words, expected in (([], True), (["--no-open"], False)):
            opened.unlink(missing_ok=True)
            review = TerminalSession([GALLEY, "-C", str(self.work), "review", *words],
                                     env={**os.environ, **self.environment, "BROWSER": str(browser)})
            self.addCleanup(review.close)
            review.expect("Ctrl-C ends the review")
            if expected:
                self.assertTrue(wait_until(opened.exists))
            review.type("\x03")
            review.finish()
            self.assertEqual(opened.exists(), expected, words)

    def test_a_browser_in_the_workspace_is_not_started(self):
        inside = self.work / "browser"
        inside.write_text("#!/bin/sh\ntouch started\n")
        inside.chmod(0o755)
        self.environment["BROWSER"] = str(inside)
        self.galley("begin", expect=0)
        result = self.galley("review", "--open", expect=1, start_new_session=True)
        self.assertIn(b"inside", result.stderr)
        self.assertFalse((self.work / "started").exists())

    def test_left_out_hunks_are_not_committed(self):
        self.serve()
        self.enter()
        shown = self.data["proposal"]
        hunks = [part["piece"] for part in self.data["files"][0]["parts"] if "piece" in part]
        self.assertEqual(self.post("/keep", left_out=[hunks[1]])[0], 200)
        # The page still shows the earlier proposal, so nothing is committed from it.
        self.assertEqual(self.post("/commit")[0], 409)
        self.load()
        self.assertNotEqual(self.data["proposal"], shown)
        self.assertEqual(self.post("/commit")[0], 200)
        self.ended()
        text = (self.work / "long.txt").read_text()
        self.assertIn("five\n", text)
        self.assertNotIn("thirty-one", text)

    def test_a_changed_stage_is_refused(self):
        self.serve()
        self.enter()
        self.write("new.txt", "smuggled in\n")
        for target, body in (("/commit", {}), ("/keep", {"left_out": []}), ("/edit", {"piece": 0, "text": "x\n"})):
            status, said = self.post(target, **body)
            self.assertEqual((status, said["reason"]), (409, "review.changed"), target)
        self.assertFalse((self.work / "new.txt").exists())

    def test_edits_a_hunk(self):
        self.serve()
        self.enter()
        piece = next(part["piece"] for part in self.data["files"][0]["parts"] if "piece" in part)
        status, said = self.post("/lines", piece=piece)
        self.assertEqual((status, said["text"].splitlines()[3]), (200, "five"))
        self.assertEqual(self.post("/edit", piece=piece, text=said["text"].replace("five", "5th"))[0], 200)
        self.load()
        self.assertEqual(self.post("/commit")[0], 200)
        self.ended()
        self.assertIn("5th\n", (self.work / "long.txt").read_text())

    def test_an_edit_keeps_the_ends_of_the_lines(self):
        (self.work / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
        self.serve(more=[("crlf.txt", "one\r\n2\r\nthree\r\n")])
        self.enter()
        [piece] = [part["piece"] for part in self.data["files"][0]["parts"] if "piece" in part]
        self.assertEqual(self.post("/edit", piece=piece, text="one\r\nII")[0], 200)
        self.load()
        self.assertEqual(self.post("/commit")[0], 200)
        self.assertEqual((self.work / "crlf.txt").read_bytes(), b"one\r\nII\r\n")

    def test_an_edit_adds_no_letters_in_utf8_to_a_file_of_another_encoding(self):
        lines = ["caf\xe9\n", *LINES]
        (self.work / "latin.txt").write_text("".join(lines), encoding="latin-1")
        self.galley("begin", expect=0)
        self.galley("call", "Edit", json.dumps({"file_path": "latin.txt", "old_string": "line 40", "new_string": "end"}), expect=0)
        self.start()
        self.enter()
        status, said = self.post("/edit", piece=0, text="fin\xe9\n")
        self.assertEqual((status, said.get("reason")), (400, "patch.encoding"))
        self.assertEqual(self.post("/commit")[0], 200)
        self.assertEqual((self.work / "latin.txt").read_bytes(),
                         "".join(lines).replace("line 40", "end").encode("latin-1"))

    def test_lines_with_different_ends_are_not_edited_on_a_page(self):
        for name in ("a.txt", "b.txt"):
            (self.work / name).write_bytes(b"one\n")
        self.serve(more=[("a.txt", "one\r\ntwo\n"), ("b.txt", "one\rtwo\n")])
        self.enter()
        for file in self.data["files"][:2]:
            [piece] = [part["piece"] for part in file["parts"] if "piece" in part]
            status, said = self.post("/lines", piece=piece)
            self.assertEqual((status, said["reason"]), (400, "review.line_ends"), file["path"])

    def test_ends_without_a_commit_and_prints_comments(self):
        self.serve()
        self.enter()
        self.assertEqual(self.post("/end", comments=[{"on": "long.txt:2", "text": "why\nfive?"}])[0], 200)
        code, out, _ = self.ended()
        self.assertEqual((code, out), (0, "comment on long.txt:2: why\\nfive?\n"))
        self.assertEqual((self.work / "long.txt").read_text(), "".join(LINES))

    def test_comments_reach_the_agent_while_the_review_goes_on(self):
        self.serve(config='[policy]\ndefault = "ask"\n')
        self.enter()
        self.assertEqual(self.post("/comments", comments=[{"on": "long.txt:5", "text": "why five?"},
                                                          {"on": "two\nlines", "text": "name it otherwise"}])[0], 200)
        said = [{"on": "long.txt:5", "text": "why five?"}, {"on": "two\nlines", "text": "name it otherwise"}]
        listed = json.loads(self.galley("--json", "status", expect=0).stdout)
        self.assertEqual(listed["comments"], said)
        self.assertIn(b"comment on two\\nlines: name it otherwise\n", self.galley("status", expect=0).stdout)
        client = McpClient([GALLEY, "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        for tool, words in (("galley_status", "comment of a person on long.txt:5: why five?\n"),
                            ("galley_preview", "long.txt:5: why five?\n"), ("galley_commit", "long.txt:5: why five?\n")):
            answer = client.call(tool, tx=listed["tx"])
            self.assertEqual(answer["structuredContent"]["comments"], said, tool)
            self.assertIn(words, answer["content"][0]["text"], tool)
        records = [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        self.assertEqual([one["input"]["comments"] for one in records if one["kind"] == "comment"], [said])
        # The next review replaces them, and the end of the transaction removes them.
        self.assertEqual(self.post("/end", comments=[])[0], 200)
        self.ended()
        self.assertNotIn("comments", json.loads(self.galley("--json", "status", expect=0).stdout))

    def test_with_json_its_comments_are_one_document(self):
        for target, schema in (("/end", "galley.review-end/1"), ("/commit", "galley.commit/1")):
            with self.subTest(target):
                self.serve(words=("--json",))
                self.enter()
                self.post(target, comments=[{"on": "new.txt", "text": "why\nnot?", "more": 1}], message="said there")
                code, out, _ = self.ended()
                document = json.loads(out)
                self.assertEqual((code, document["schema"]), (0, schema))
                self.assertEqual(document["comments"], [{"on": "new.txt", "text": "why\nnot?"}])
                self.galley("rollback", expect=(0, 1, 2))
        self.assertIn("said there", self.galley("log", expect=0).stdout.decode())

    def test_a_refused_proposal_is_not_committed(self):
        self.serve('[[validator]]\nname = "json"\nbuiltin = "json"\npaths = ["*.json"]\n', [("a.json", "{")])
        self.enter()
        self.assertFalse(self.data["verdict"]["approved"])
        self.assertEqual(self.post("/commit")[0], 400)
        self.assertFalse((self.work / "new.txt").exists())

    def test_a_commit_answers_a_rule_that_asks(self):
        self.serve('[[policy.rule]]\nname = "ask"\npaths = ["*"]\ndecision = "ask"\n')
        self.enter()
        self.assertEqual(self.post("/commit")[0], 200)
        self.ended()
        self.assertEqual((self.work / "new.txt").read_text(), "fresh\n")


class DuringACommit(ServedCase):
    """A validator holds the gate until the test lets it go on."""

    def setUp(self):
        super().setUp()
        self.need_walls()
        self.gate = self.scratch / "gate"
        self.gate.mkdir()
        (self.gate / "go").touch()
        command = ["sh", "-c", f"[ -e new.txt ] || exit 0; until [ -e {self.gate}/go ]; do sleep 0.02; done; ! grep -q bad new.txt"]
        self.serve(f'[[validator]]\nname = "slow"\ncommand = {json.dumps(command)}\ncache = false\n'
                   f'[sandbox]\nreadable = ["{self.gate}"]\n')
        self.enter()
        (self.gate / "go").unlink()

    def commit_meanwhile(self, meanwhile):
        """Returns the answer to the commit, which begins before `meanwhile` and ends after it."""
        with ThreadPoolExecutor() as pool:
            committing = pool.submit(self.post, "/commit")
            try:
                wait_until(lambda: is_running(f"until [ -e {self.gate}"))
                meanwhile(pool)
                self.assertFalse(committing.done())
            finally:
                (self.gate / "go").touch()
            return committing.result()

    def test_a_comment_is_taken_while_a_commit_waits_for_the_gate(self):
        def comment(_):
            self.assertEqual(self.post("/comments", comments=[{"on": "new.txt", "text": "why?"}]), (200, {"ok": True}))

        status, said = self.commit_meanwhile(comment)
        self.assertEqual((status, said["ok"]), (200, True))
        code, out, _ = self.ended()
        self.assertEqual(code, 0)
        self.assertIn("comment on new.txt: why?\n", out)
        self.assertIn("committed", out)

    def test_a_comment_reaches_the_agent_after_a_refused_commit(self):
        self.write("new.txt", "bad\n")
        (self.gate / "go").touch()
        self.load()
        (self.gate / "go").unlink()
        status, said = self.commit_meanwhile(
            lambda _: self.post("/comments", comments=[{"on": "new.txt", "text": "why?"}]))
        self.assertEqual((status, said["ok"]), (400, False))
        listed = json.loads(self.galley("--json", "status", expect=0).stdout)
        self.assertEqual(listed["comments"], [{"on": "new.txt", "text": "why?"}])

    def test_other_requests_are_answered_after_it(self):
        later = []

        def ask_more(pool):
            later.append(pool.submit(self.ask, "GET", self.home + "/"))
            later.append(pool.submit(self.post, "/end"))
            self.assertEqual(self.ask("POST", self.home + "/comments", "{}")[0].status, 403)

        self.write("new.txt", "bad\n")
        (self.gate / "go").touch()
        self.load()
        (self.gate / "go").unlink()
        self.assertEqual(self.commit_meanwhile(ask_more)[0], 400)
        (self.gate / "go").touch()
        self.assertIn(later[1].result(), ((200, {"ok": True}),))
        self.assertEqual(self.ended()[0], 0)


class Guarded(ServedCase):
    def test_the_address_works_once(self):
        self.serve()
        self.enter()
        self.assertEqual(self.ask("GET", f"/?token={self.token}")[0].status, 403)

    def test_requests_without_the_token_get_nothing(self):
        self.serve()
        for target in ("/", "/?token=", f"/?token={'0' * 32}", "/keep", "/favicon.ico"):
            answer, text = self.ask("GET", target)
            self.assertEqual(answer.status, 403, target)
            self.assertNotIn("five", text)
        # The right token still works: wrong ones did not use it up.
        self.enter()

    def test_another_host_or_origin_is_refused(self):
        self.serve()
        self.enter()
        port = self.host.split(":")[1]
        for host in (f"localhost:{port}", f"evil.example:{port}", "127.0.0.1"):
            self.assertEqual(self.ask("GET", self.home + "/", Host=host)[0].status, 403, host)
        body = json.dumps({"proposal": self.data["proposal"]})
        right = {"Origin": f"http://{self.host}", "Content_Type": "application/json",
                 "X_Galley_Token": self.data["session"]["token"]}
        for name, value in (("Origin", "http://evil.example"), ("Origin", "null"), ("Content_Type", "text/plain"),
                            ("X_Galley_Token", "0" * 32)):
            self.assertEqual(self.ask("POST", self.home + "/commit", body, **{**right, name: value})[0].status, 403,
                             (name, value))
        for name in right:
            fewer = {key: value for key, value in right.items() if key != name}
            self.assertEqual(self.ask("POST", self.home + "/commit", body, **fewer)[0].status, 403, name)
        for home in ("", "/" + "0" * 32, self.home[:-1], self.home.upper()):
            self.assertEqual(self.ask("POST", home + "/commit", body, **right)[0].status, 403, home)
        self.assertFalse((self.work / "new.txt").exists())

    def test_no_other_site_may_read_or_frame_it(self):
        self.serve()
        answer = self.enter()
        self.assertIsNone(answer.getheader("Access-Control-Allow-Origin"))
        self.assertEqual(answer.getheader("X-Frame-Options"), "DENY")
        self.assertIn("frame-ancestors 'none'", answer.getheader("Content-Security-Policy"))
        self.assertEqual(answer.getheader("Cache-Control"), "no-store")
        self.assertEqual(self.ask("OPTIONS", self.home + "/commit")[0].status, 405)

    def test_a_cookie_sent_to_another_local_server_gives_no_access(self):
        """Cookies ignore ports, so a browser sends the cookies of this server to other servers of
        this host too."""
        self.serve()
        self.enter()
        stolen = {"Cookie": f"galley_review={self.home[1:]}", "Origin": f"http://{self.host}"}
        for target in ("/", "/commit", self.home):
            answer, text = self.ask("GET", target, **stolen)
            self.assertNotEqual(answer.status, 200, target)
            self.assertNotIn("galley-data", text)

    # Limit: kMaxLocalReaders of staging/fs/local_listener.h
    def test_an_incomplete_request_does_not_delay_other_requests(self):
        self.serve()
        name, port = self.host.split(":")
        halves = []
        for n in range(40):
            half = socket.create_connection((name, int(port)), timeout=DEADLINE_S)
            self.addCleanup(half.close)
            half.sendall(b"POST / HTTP/1.1\r\nHost: " + b"x" * n)
            halves.append(half)
        began = time.monotonic()
        self.enter()
        self.assertEqual(self.post("/end")[0], 200)
        # Each incomplete request used to delay all other requests by five seconds.
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(self.ended()[0], 0)

    def test_bad_requests_do_not_end_the_server(self):
        import socket
        self.serve()
        name, port = self.host.split(":")
        for bytes_sent in (b"\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\0" * 20000, b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"):
            with socket.create_connection((name, int(port)), timeout=DEADLINE_S) as connection:
                connection.sendall(bytes_sent)
                connection.recv(1000)
        with socket.create_connection((name, int(port)), timeout=DEADLINE_S):
            pass
        self.enter()
        for body in ("", "[]", "{", "null"):
            answer, _ = self.ask("POST", self.home + "/commit", body, Origin=f"http://{self.host}",
                                 Content_Type="application/json", X_Galley_Token=self.data["session"]["token"])
            self.assertEqual(answer.status, 400, body)
        for target, body in (("/keep", {"left_out": [99]}), ("/keep", {"left_out": "x"}), ("/keep", {}),
                             ("/lines", {"piece": -1}), ("/edit", {"piece": 0}), ("/nowhere", {}),
                             ("/end", {"comments": [1]})):
            self.assertEqual(self.post(target, **body)[0], 400, (target, body))
        for wrong in (99, None, [], {}, True, 1e300, "x"):
            for target in ("/commit", "/keep", "/lines", "/edit"):
                self.assertEqual(self.post(target, proposal=wrong)[0], 409, (target, wrong))
            for target, member in (("/keep", "left_out"), ("/lines", "piece"), ("/edit", "piece"), ("/comments", "comments"),
                                   ("/end", "comments")):
                self.assertEqual(self.post(target, **{member: wrong if wrong != [] else [[]]})[0], 400, (target, wrong))
        self.assertEqual(self.post("/commit")[0], 200)

    def test_random_requests_to_each_route_are_answered(self):
        """Of another proposal they change nothing. Each answer is one of the documented statuses."""
        self.serve()
        self.enter()
        chance = random.Random(34)
        leaves = [None, True, -1, 0, 1, 99, 1 << 63, 1e300, "", "x", "\0", "\ud800", "five\r\nsix", [], {}]

        def value(depth):
            kind = chance.randrange(4) if depth < 4 else 0
            if kind == 1:
                return [value(depth + 1) for _ in range(chance.randrange(4))]
            if kind == 2:
                return {name: value(depth + 1) for name in chance.sample(names, chance.randrange(4))}
            return chance.choice(leaves)

        names = ["proposal", "left_out", "piece", "text", "message", "comments", "on", "ok", ""]
        routes = ["/keep", "/lines", "/edit", "/comments", "/commit", "", "/", "//keep", "/keep/../edit"]
        before = self.galley("diff", expect=0).stdout
        statuses = set()
        for _ in range(400):
            body = {name: value(0) for name in chance.sample(names, chance.randrange(len(names)))}
            statuses.add(self.post(chance.choice(routes), **{"proposal": chance.choice(leaves), **body})[0])
        self.assertEqual(statuses, {200, 400, 409})
        self.assertEqual(self.galley("diff", expect=0).stdout, before)
        for _ in range(200):
            route = chance.choice(["/keep", "/lines", "/edit", "/comments"])
            body = {name: value(0) for name in chance.sample(names[1:], chance.randrange(len(names) - 1))}
            self.assertIn(self.post(route, **body)[0], (200, 400, 409))
            self.load()
        self.assertEqual(self.post("/end")[0], 200)
        self.assertEqual(self.ended()[0], 0)

    def test_each_server_has_another_address_of_this_machine(self):
        self.serve()
        first = self.host.split(":")[0]
        self.stop()
        self.start()
        self.assertEqual(len({"127.0.0.1", first, self.host.split(":")[0]}), 3)

    def test_only_this_machine_can_reach_it(self):
        self.serve()
        port = int(self.host.split(":")[1])
        listening = [line.split() for line in Path(f"/proc/{self.server.pid}/net/tcp").read_text().splitlines()[1:]]
        mine = [row[1] for row in listening if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]
        self.assertEqual([row.split(":")[0][-2:] for row in mine], ["7F"])

    def test_without_a_terminal_a_review_needs_an_unattended_machine(self):
        self.serve()
        own = self.scratch / "config" / "galley" / "config.toml"
        own.write_text(f'trusted_folders = ["{self.scratch}"]\n')
        result = self.galley("review", expect=1, start_new_session=True)
        self.assertIn(b"only a person may use", result.stderr)
        self.assertEqual(result.stdout, b"")

    def test_an_agent_reviews_nothing(self):
        self.galley("begin", expect=0)
        result = self.galley("--agent", "bot", "review", expect=1)
        self.assertIn(b"leave out --agent", result.stderr)


if __name__ == "__main__":
    hostile.main()
