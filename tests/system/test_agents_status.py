"""What several agents do on one folder: their sessions, what they staged, and where they overlap."""

import json
import os
import subprocess

import hostile
from mcp_client import McpClient
from support import GALLEY, SystemCase
from terminal_session import wait_until
from test_run import RunCase


class StatusCase(SystemCase):
    def call(self, session, path, text, agent="claude", tx=None):
        """Stages a file as that session."""
        arguments = json.dumps({"file_path": path, "content": text})
        options = ("--tx", tx) if tx else ("--begin",)
        self.galley("--agent", agent, "--session", session, "call", *options, "Write", arguments, expect=0)

    def commit(self, session, agent="claude"):
        self.galley("--agent", agent, "--session", session, "commit", expect=0)

    def agents_status(self, *options):
        return json.loads(self.galley("--json", "agents", "status", *options, expect=0).stdout)

    def sessions(self):
        return {one["session"]: one for one in self.agents_status()["sessions"]}

    def overlaps(self):
        return {one["path"]: ([who["session"] for who in one["staged"]], [who["session"] for who in one["committed"]])
                for one in self.agents_status()["overlaps"]}


class Sessions(StatusCase):
    def test_an_empty_workspace_has_none(self):
        found = self.agents_status()
        self.assertEqual((found["sessions"], found["overlaps"], found["is_cut"]), ([], [], False))
        self.assertIn(b"no session", self.galley("agents", "status", expect=0).stderr)
        self.assertFalse((self.work / ".galley").exists())

    def test_each_session_is_listed_with_what_it_staged_and_committed(self):
        for number in range(3):
            self.call("s1", f"f{number}", "x")
            self.commit("s1")
        self.call("s1", "g", "x")
        self.call("s2", "deep/er/h", "x", agent="codex")
        self.galley("begin", expect=0)
        found = self.sessions()
        self.assertEqual(set(found), {"s1", "s2", ""})
        self.assertEqual((found["s1"]["agent"], found["s1"]["commits"], found["s1"]["open"][0]["files"]), ("claude", 3, 1))
        # New folders are not files.
        self.assertEqual((found["s2"]["agent"], found["s2"]["commits"], found["s2"]["open"][0]["files"]), ("codex", 0, 1))
        self.assertEqual((found[""]["agent"], found[""]["open"][0]["files"]), ("", 0))
        self.assertRegex(found["s1"]["active"], r"^20\d\d-")
        self.assertGreaterEqual(found["s1"]["open"][0]["changed"], found["s1"]["open"][0]["begun"])
        shown = self.galley("agents", "status", expect=0).stdout.decode()
        self.assertRegex(shown, r"s1 +claude +(just now|\d+ seconds? ago) +3 +1\n")
        self.assertIn("stages 1 file\n", shown)

    def test_damaged_transactions_are_named(self):
        self.assertNotIn("damaged", self.agents_status())
        for session, file in (("s1", "overlay"), ("s2", "about")):
            self.call(session, session, "x")
            (stage,) = [one for one in self.own_state("stage").iterdir() if session in (one / "about").read_text()]
            (stage / file).write_text("damaged")
        damaged = sorted(one.name for one in self.own_state("stage").iterdir())
        self.call("s3", "whole", "x")
        self.assertEqual(self.agents_status()["damaged"], damaged)
        self.assertCountEqual(json.loads(self.galley("--json", "status", expect=0).stdout)["unreadable"], damaged)
        self.assertEqual(set(self.sessions()), {"s3"})
        said = self.galley("-q", "agents", "status", expect=0).stderr.decode()
        self.assertIn(f"damaged, so not listed: {', '.join(damaged)}; drop each with: galley", said)

    def test_sessions_with_open_work_are_first_and_the_list_is_bounded(self):
        self.call("open", "a", "x")
        for number in range(25):
            self.call(f"s{number}", f"b{number}", "x", agent="bot")
            self.commit(f"s{number}", agent="bot")
        found = self.agents_status()
        self.assertEqual([one["session"] for one in found["sessions"]], ["open"] + [f"s{n}" for n in range(24, 5, -1)])
        self.assertEqual(found["more_sessions"], 6)
        self.assertEqual(len(self.agents_status("--limit", "26")["sessions"]), 26)
        self.assertIn(b"-n 26", self.galley("agents", "status", "-n", "3", expect=0).stderr)

    # Limit: kMaxActivityCommits of engine/pipeline/session_activity.h
    def test_only_the_newest_commits_are_read(self):
        self.call("old", "old", "x")
        self.commit("old")
        client = McpClient([GALLEY, "--agent", "bot", "--session", "many", "mcp", "--autocommit"], self.work,
                           env={**os.environ, **self.environment})
        for number in range(1000):
            client.call("Write", file_path="n", content=str(number))
        client.close()
        found = self.agents_status()
        self.assertTrue(found["is_cut"])
        self.assertEqual([(one["session"], one["commits"]) for one in found["sessions"]], [("many", 1000)])
        self.assertIn(b"newest 1000 commits", self.galley("agents", "status", expect=0).stderr)

    def test_a_terminal_of_80_columns_holds_each_line(self):
        self.galley("--agent", "a" * 60, "--session", "s" * 60, "call", "--begin", "Write",
                    json.dumps({"file_path": "p" * 200, "content": "x"}), expect=0)
        self.call("t" * 60, "p" * 200, "x", agent="b" * 60)
        shown = self.galley("agents", "status", expect=0).stdout.decode()
        self.assertEqual([line for line in shown.splitlines() if len(line) > 80], [])
        self.assertIn("s" * 20, shown)

    def test_names_that_would_imitate_other_lines_are_escaped(self):
        hidden = "a\x1b[2Jb\n"
        self.call("s1", hidden, "1")
        self.call("s2", hidden, "2", agent="codex")
        shown = self.galley("agents", "status", expect=0).stdout.decode()
        self.assertNotIn("\x1b", shown)
        self.assertEqual(len(shown.splitlines()), 7)


class Overlapping(StatusCase):
    def test_a_path_that_two_sessions_staged(self):
        self.call("s1", "both", "1")
        self.call("s1", "mine", "1", tx=self.sessions()["s1"]["open"][0]["tx"])
        self.call("s2", "both", "2", agent="codex")
        self.assertEqual(self.overlaps(), {"both": (["s1", "s2"], [])})
        shown = self.galley("agents", "status", expect=0).stdout.decode()
        self.assertRegex(shown, r"both: both\n    staged by claude in [0-9a-f]{8}, staged by codex in [0-9a-f]{8}\n")
        self.galley("--agent", "codex", "rollback", expect=0)
        self.assertEqual(self.overlaps(), {})

    def test_a_path_that_another_session_committed_since_this_one_began(self):
        self.call("s2", "before", "2", agent="codex")
        self.commit("s2", agent="codex")
        self.call("s1", "both", "1")
        tx = self.sessions()["s1"]["open"][0]["tx"]
        self.call("s1", "before", "1", tx=tx)
        self.assertEqual(self.overlaps(), {})
        self.call("s2", "both", "2", agent="codex")
        self.commit("s2", agent="codex")
        self.assertEqual(self.overlaps(), {"both": (["s1"], ["s2"])})
        # A person's commit counts as well; one of the same session does not.
        self.galley("apply", stdin=b"--- /dev/null\n+++ b/third\n@@ -0,0 +1 @@\n+p\n", expect=0)
        self.call("s1", "third", "1", tx=tx)
        self.galley("--agent", "claude", "--session", "s1", "apply", stdin=b"--- a/before\n+++ b/before\n@@ -1 +1 @@\n-2\n\\ No newline at end of file\n+own\n",
                    expect=0)
        self.assertEqual(self.overlaps(), {"both": (["s1"], ["s2"]), "third": (["s1"], [""])})

    def prompt(self, session):
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": "do it", "cwd": str(self.work)}
        self.galley("agent-hook", "--agent", "claude", stdin=json.dumps(event).encode(), expect=0)

    def test_a_path_that_two_sessions_committed_in_turns_at_the_same_time(self):
        def write(session, text, *paths):
            for path in paths:
                self.call(session, path, text)
                self.commit(session)

        self.prompt("s1")
        write("s1", "1", "both", "mine", "one after the other")
        self.prompt("s2")
        write("s2", "2", "both", "one after the other")
        self.assertEqual(self.overlaps(), {}, "the second began after the first had committed")
        write("s1", "3", "both")
        self.assertEqual(self.overlaps(), {"both": ([], ["s1", "s2"])})
        shown = self.galley("agents", "status", expect=0).stdout.decode()
        self.assertRegex(shown, r"both: both\n    committed by claude in \d+, committed by claude in \d+\n")
        self.prompt("s1")
        self.assertEqual(self.overlaps(), {}, "the next turn begins with what the other one committed")
        write("s1", "4", "both")
        write("s2", "5", "both")
        self.assertEqual(self.overlaps(), {"both": ([], ["s2", "s1"])})
        self.galley("undo", expect=0)
        self.assertEqual(self.overlaps(), {}, "what was undone does not count")

    def follow(self, *options):
        follower = subprocess.Popen([GALLEY, "-C", self.work, *options, "agents", "status", "--follow"], text=True,
                                    stdout=subprocess.PIPE, env={**os.environ, **self.environment})
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.wait)
        self.addCleanup(follower.kill)
        return follower.stdout

    def test_follow_shows_an_overlap_when_it_arises(self):
        self.call("s1", "shared", "1\n")
        lines = self.follow()
        self.assertRegex("".join(lines.readline() for _ in range(3)), r"^SESSION .*\ns1 .*\n  \S+ stages 1 file\n$")
        self.call("s2", "shared", "2\n", agent="codex")
        self.assertEqual(lines.readline(), "both: shared\n")
        self.assertRegex(lines.readline(), "^    staged by claude in .*, staged by codex in ")

    def test_follow_prints_a_document_for_each_change_with_json(self):
        self.call("s1", "shared", "1\n")
        lines = self.follow("--json")

        def document():
            return json.loads("".join(iter(lines.readline, "}\n")) + "}")

        self.assertEqual(document()["overlaps"], [])
        self.call("s2", "shared", "2\n", agent="codex")
        self.assertEqual([one["path"] for one in document()["overlaps"]], ["shared"])

    def test_two_transactions_of_one_session_do_not_overlap(self):
        for text in "12":
            tx = self.galley("--agent", "claude", "--session", "s1", "begin", expect=0).stdout.decode().strip()
            self.call("s1", "both", text, tx=tx)
        self.assertEqual(self.overlaps(), {})
        self.assertEqual(len(self.sessions()["s1"]["open"]), 2)

    def test_both_names_of_a_renamed_file_count(self):
        (self.work / "old").write_text("text\n")
        self.call("s1", "old", "1")
        self.galley("--agent", "codex", "--session", "s2", "apply", expect=0,
                    stdin=b"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n")
        self.assertEqual(self.overlaps(), {"old": (["s1"], ["s2"])})


class Runs(RunCase, StatusCase):
    def test_a_live_run_is_shown_with_what_it_wrote_and_whether_it_is_attached(self):
        self.call("s2", "both", "2", agent="codex")
        shell = self.shell("--name", "mine")
        shell.type("echo 1 > both; echo 1 > own; echo written\n")
        shell.expect(r"\nwritten\r\n")

        def only_run():
            [work] = [work for one in self.agents_status()["sessions"] for work in one["open"] if "run" in work]
            return work
        wait_until(lambda: only_run()["run"]["attached"], "it is not attached")
        self.assertEqual((only_run()["files"], only_run()["run"]["name"], only_run()["run"]["live"]), (2, "mine", True))
        (staged, committed), = self.overlaps().values()
        self.assertEqual((staged[0], staged[1][:4], committed), ("s2", "run-", []))
        self.assertIn(b"    run, attached: mine\n", self.galley("agents", "status", expect=0).stdout)
        # What a person commits of the run is not the work of another session.
        self.galley("--agent", "codex", "rollback", expect=0)
        self.galley("commit", "--tx", only_run()["tx"], expect=0)
        self.assertEqual(self.overlaps(), {})
        shell.type("\x10\x11")
        shell.finish()
        wait_until(lambda: not only_run()["run"]["attached"], "it is still attached")
        self.assertIn(b"    run, detached: mine\n", self.galley("agents", "status", expect=0).stdout)
        self.galley("stop", "mine", expect=0)

    def test_a_path_that_two_runs_commit(self):
        shell = self.shell("--drop")
        shell.type("echo 1 > both; echo 1 > own; echo written\n")
        shell.expect(r"\nwritten\r\n")
        self.galley("run", "--commit", "--", "sh", "-c", "echo 2 > both; echo 2 > other", expect=0)
        (path, (staged, committed)), = self.overlaps().items()
        self.assertEqual((path, len(staged), len(committed)), ("both", 1, 1))
        self.assertNotEqual(staged, committed)
        self.assertTrue(all(one.startswith("run-") for one in staged + committed))
        self.galley("undo", "--session", committed[0], expect=0)
        self.assertFalse((self.work / "both").exists())
        shell.type("exit\n")
        shell.finish()


if __name__ == "__main__":
    hostile.main()
