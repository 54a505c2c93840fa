"""galley acp: an editor and an agent with the Agent Client Protocol between them, and Galley in the middle.

Editor and agent are scripts (acp_editor.py); processes, namespaces and commits are real."""

import json
import random
import shutil
import signal
from pathlib import Path

import hostile
from acp_editor import Editor
from support import snapshot
from terminal_session import wait_until
from test_run import RunCase

TEN = "".join(f"{number}\n" for number in range(1, 41))


class AcpCase(RunCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        for name, text in {"src/a.txt": TEN, "src/b.txt": "b\n", ".env": "KEY=1\n", "keep.txt": "keep\n"}.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.before = snapshot(self.work)

    def editor(self, *options, start=True, **more):
        editor = Editor(self.work, self.environment, *options, **more)
        self.addCleanup(editor.close)
        if start:
            editor.start()
        return editor

    def text(self, name):
        return (self.work / name).read_text()

    def log(self, *options):
        return json.loads(self.galley("--json", "log", *options, expect=0).stdout)["transactions"]

    def options_of(self, params):
        return [option["optionId"] for option in params["options"]]


class Turns(AcpCase):
    def test_every_road_of_an_effect_is_staged_shown_and_committed_with_its_turn(self):
        editor = self.editor()
        seen = {}

        def decide(params):
            seen["tree"] = snapshot(self.work)
            return "commit"

        editor.decide = decide
        said, notes = editor.prompt(["fs_write", "src/a.txt", TEN + "fs\n"], ["write", "own.txt", "own\n"],
                                    ["shell", "rm -rf src/b.txt .env; cat src/a.txt | tail -n 1"], ["fs_read", "own.txt"])
        self.assertEqual(said[2], [0, "fs\n"])
        self.assertEqual(said[3], {"content": "own\n"})
        self.assertEqual(notes, "")
        self.assertEqual(seen["tree"], self.before, "nothing is written before the answer")
        self.assertEqual(self.options_of(editor.asked[0]), ["commit", "choose", "later", "drop"])
        diffs = editor.diffs()
        self.assertEqual(diffs["own.txt"], (None, "own\n"))
        self.assertEqual(diffs[".env"], ("KEY=1\n", ""))
        self.assertEqual(diffs["src/a.txt"], (TEN, TEN + "fs\n"))
        self.assertEqual((self.text("own.txt"), self.text("src/a.txt")), ("own\n", TEN + "fs\n"))
        self.assertFalse((self.work / ".env").exists())
        editor.prompt(["fs_write", "own.txt", "again\n"])
        self.assertEqual(editor.finish()[0], 0)
        turns = json.loads(self.galley("--json", "turns", "--session", "acp-session-1", expect=0).stdout)["turns"]
        self.assertEqual(len(turns), 2)
        self.assertIn("fs_write", turns[0]["prompt"])
        self.galley("undo", "--turn", turns[0]["id"], expect=0)
        self.assertEqual(self.text("own.txt"), "own\n")
        self.galley("undo", "--session", "acp-session-1", expect=0)
        self.assertEqual(snapshot(self.work), self.before)

    def test_rejected_hunks_are_taken_back_and_the_agent_is_told(self):
        editor = self.editor()
        changed = TEN.replace("2\n", "two\n", 1).replace("40\n", "forty\n")

        def decide(params):
            if "choose" in self.options_of(params):
                return "choose"
            shown = json.dumps(params["toolCall"]["content"])
            return "reject" if "forty" in shown or "new.txt" in shown else "accept"

        editor.decide = decide
        editor.prompt(["write", "src/a.txt", changed], ["write", "new.txt", "new\n"])
        self.assertEqual(self.text("src/a.txt"), TEN.replace("2\n", "two\n", 1))
        self.assertFalse((self.work / "new.txt").exists())
        said, notes = editor.prompt(["read", "src/a.txt"], ["shell", "ls"])
        self.assertEqual(said[0], TEN.replace("2\n", "two\n", 1), "the agent sees what was accepted")
        self.assertNotIn("new.txt", said[1][1])
        self.assertIn("rejected", notes)
        self.assertIn("forty", notes)
        self.assertIn("new.txt", notes)

    def test_a_question_shows_every_change_of_its_part(self):
        editor = self.editor()
        editor.decide = lambda params: "choose" if "choose" in self.options_of(params) else "reject"
        cases = {"mv src/a.txt moved.txt; echo more >> moved.txt": {"src/a.txt": TEN, "moved.txt": TEN + "more\n"},
                 "rm keep.txt; mkdir -p keep.txt/d; echo in > keep.txt/d/in": {"keep.txt": "a folder", "keep.txt/d/in": "in\n"},
                 "rm -r src; echo file > src": {"src": "was a folder", "src/a.txt": TEN, "src/b.txt": "b\n"}}
        for command, shown in cases.items():
            editor.asked.clear()
            editor.prompt(["shell", f"{command}; echo n > n.txt"])
            whole, *parts = [json.dumps(params["toolCall"]) for params in editor.asked]
            part, = [one for one in parts if not ": n.txt" in one]
            self.assertEqual(len(parts), 2)
            _said, notes = editor.prompt(["fs_read", "keep.txt"])
            for path, text in shown.items():
                for question in (whole, part):
                    self.assertIn(json.dumps(str(self.work / path)), question)
                    self.assertIn(json.dumps(text)[1:-1], question)
                self.assertIn(f"\n- {path}", notes)
            self.assertEqual(snapshot(self.work), self.before)
        self.assertEqual(self.log(), [])

    def test_what_was_left_staged_and_is_committed_in_a_terminal_keeps_its_session(self):
        for lives in (True, False):
            editor = self.editor()
            editor.decide = lambda params: "later"
            editor.prompt(["write", "own.txt", f"{lives}\n"])
            if not lives:
                editor.finish()
            self.galley("commit", expect=0)
            self.assertEqual((self.text("own.txt"), self.log()[0].get("session")), (f"{lives}\n", "acp-session-1"))
            editor.finish()
        self.galley("undo", "--session", "acp-session-1", expect=0)
        self.assertEqual(snapshot(self.work), self.before)

    def test_what_its_session_committed_and_stages_is_one_row_of_the_status(self):
        editor = self.editor()
        editor.decide = lambda params: "commit"
        editor.prompt(["write", "own.txt", "own\n"])
        editor.decide = lambda params: "later"
        editor.prompt(["write", "own.txt", "again\n"])
        row, = json.loads(self.galley("--json", "agents", "status", expect=0).stdout)["sessions"]
        self.assertEqual((row["session"], row["commits"], len(row["open"]), row["open"][0]["files"]), ("acp-session-1", 1, 1, 1))
        editor.finish()

    def test_all_can_be_rejected_or_left(self):
        editor = self.editor()
        editor.decide = lambda params: "later"
        editor.prompt(["shell", "rm -rf src; ln -s keep.txt link; chmod 700 keep.txt; mkdir -p d/e; echo x > d/e/f"])
        self.assertEqual(snapshot(self.work), self.before)
        editor.decide = lambda params: "drop"
        editor.prompt(["write", "more.txt", "more\n"])
        said, notes = editor.prompt(["shell", "find . -type f -o -type l | grep -v '/\\.git' | sort | xargs ls -l | wc -l; ls d more.txt link"])
        self.assertIn("rejected", notes)
        self.assertTrue(said[0][1].startswith("4\n"), said)
        self.assertEqual(editor.finish()[0], 0)
        self.assertEqual(snapshot(self.work), self.before)
        self.assertEqual(self.open_transactions(), [])

    def test_read_only_and_running_files_are_taken_back(self):
        editor = self.editor()
        editor.decide = lambda params: "drop"
        editor.prompt(["shell", "echo x > keep.txt; chmod 444 keep.txt; cp /bin/sleep src/b.txt; chmod 755 src/b.txt; "
                                "setsid src/b.txt 60 > /dev/null 2>&1 < /dev/null &"])
        said, _notes = editor.prompt(["read", "keep.txt"], ["read", "src/b.txt"])
        self.assertEqual(said, ["keep\n", "b\n"])

    def test_commit_turn_asks_only_where_a_rule_asks(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["src/"]\ndecision = "ask"\n'
                                               '[[policy.rule]]\npaths = ["keep.txt"]\ndecision = "deny"\nreason = "not this"\n')
        editor = self.editor("--commit", "turn")
        editor.prompt(["write", "free.txt", "free\n"])
        self.assertEqual((editor.asked, self.text("free.txt")), ([], "free\n"))
        editor.prompt(["write", "src/b.txt", "asked\n"])
        self.assertEqual((len(editor.asked), self.text("src/b.txt")), (1, "asked\n"))
        editor.decide = lambda params: "later"
        editor.prompt(["write", "keep.txt", "denied\n"])
        self.assertNotIn("commit", self.options_of(editor.asked[1]))
        self.assertEqual(self.text("keep.txt"), "keep\n")
        editor.decide = lambda params: "drop"
        _said, notes = editor.prompt(["read", "keep.txt"])
        self.assertIn("not committed", notes)
        said, _notes = editor.prompt(["read", "keep.txt"])
        self.assertEqual(said, ["keep\n"])

    def test_commit_session_commits_when_the_editor_ends_the_agent(self):
        editor = self.editor("--commit", "session")
        editor.prompt(["write", "one.txt", "1\n"])
        editor.prompt(["write", "two.txt", "2\n"])
        self.assertEqual(snapshot(self.work), self.before)
        self.assertEqual(editor.asked, [])
        status, errors = editor.finish()
        self.assertEqual((status, self.text("one.txt"), self.text("two.txt")), (0, "1\n", "2\n"), errors)
        self.galley("undo", "--session", "acp-session-1", expect=0)
        self.assertEqual(snapshot(self.work), self.before)

    def test_commit_session_tells_and_asks_at_each_turn(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["src/b.txt"]\ndecision = "ask"\n'
                                               '[[policy.rule]]\npaths = ["keep.txt"]\ndecision = "deny"\nreason = "not this"\n')
        editor = self.editor("--commit", "session")
        editor.prompt(["write", "src/b.txt", "asked\n"])
        self.assertEqual((len(editor.asked), self.text("src/b.txt")), (1, "asked\n"))
        editor.prompt(["write", "keep.txt", "denied\n"])
        self.assertEqual((len(editor.asked), editor.titles()[-1]), (1, "Galley would refuse the commit"))
        self.assertIn("not this", json.dumps(editor.updates[-1]))
        _said, notes = editor.prompt(["shell", "echo keep > keep.txt"])
        self.assertIn("not this", notes)
        _said, notes = editor.prompt(["fs_read", "src/a.txt"])
        self.assertEqual(notes, "")
        editor.prompt(["fs_write", "src/a.txt", TEN.replace("2\n", "two\n", 1)])
        (self.work / "src/a.txt").write_text(TEN.replace("2\n", "mine\n", 1))
        editor.prompt(["fs_read", "src/b.txt"])
        self.assertIn("mine", json.dumps(editor.updates[-1]))


class Saves(AcpCase):
    """What the editor saves while the agent works."""

    def test_other_lines_are_merged(self):
        editor = self.editor("--commit", "turn")
        editor.prompt(["fs_read", "src/a.txt"])
        (self.work / "src/a.txt").write_text(TEN.replace("40\n", "forty\n"))
        editor.prompt(["fs_write", "src/a.txt", TEN.replace("2\n", "two\n", 1)])
        both = TEN.replace("2\n", "two\n", 1).replace("40\n", "forty\n")
        self.assertEqual(self.text("src/a.txt"), both)
        said, _notes = editor.prompt(["read", "src/a.txt"])
        self.assertEqual(said, [both], "the next turn sees what was saved")

    def test_a_file_that_was_read_once_is_written_turn_after_turn(self):
        editor = self.editor("--commit", "turn")
        editor.prompt(["fs_read", "src/b.txt"], ["fs_write", "src/b.txt", "1\n"])
        editor.prompt(["fs_write", "src/b.txt", "2\n"])
        editor.prompt(["fs_read", "src/b.txt"], ["write", "src/b.txt", "3\n"])
        editor.prompt(["fs_write", "src/b.txt", "4\n"])
        self.assertEqual((self.text("src/b.txt"), editor.asked), ("4\n", []))

    def test_the_same_lines_are_a_conflict_that_the_person_resolves(self):
        editor = self.editor("--commit", "turn")
        editor.prompt(["fs_read", "src/a.txt"])
        saved = TEN.replace("2\n", "mine\n", 1)
        (self.work / "src/a.txt").write_text(saved)
        editor.decide = lambda params: "saved"
        editor.prompt(["fs_write", "src/a.txt", TEN.replace("2\n", "two\n", 1)], ["write", "new.txt", "new\n"])
        self.assertEqual(self.text("src/a.txt"), saved)
        self.assertEqual(self.text("new.txt"), "new\n")
        said, notes = editor.prompt(["read", "src/a.txt"], ["write", "src/a.txt", saved + "more\n"])
        self.assertEqual(said[0], saved)
        self.assertIn("src/a.txt", notes)
        self.assertIn("mine", notes)
        self.assertEqual(self.text("src/a.txt"), saved + "more\n")

    def test_a_file_that_was_deleted_after_the_read_is_a_conflict(self):
        editor = self.editor("--commit", "turn")
        editor.prompt(["fs_read", "src/b.txt"])
        (self.work / "src/b.txt").unlink()
        editor.decide = lambda params: "saved"
        editor.prompt(["fs_write", "src/b.txt", "by the agent\n"])
        self.assertEqual(len(editor.asked), 1)
        self.assertFalse((self.work / "src/b.txt").exists())

    def test_a_file_that_was_deleted_between_two_turns_stays_away(self):
        for look in (["read", "src/b.txt"], ["fs_read", "src/b.txt"], ["shell", "ls src"]):
            (self.work / "src/b.txt").write_text("b\n")
            editor = self.editor("--commit", "turn")
            editor.prompt(look)
            (self.work / "src/b.txt").unlink()
            said, _notes = editor.prompt(["shell", "ls src; cat src/b.txt; echo more >> src/b.txt"])
            self.assertIn("No such file", said[0][1], look)
            self.assertEqual(self.text("src/b.txt"), "more\n", look)
            editor.finish()

    def test_a_new_file_in_a_folder_that_the_agent_made_is_not_its_change(self):
        editor = self.editor("--commit", "turn")
        editor.prompt(["shell", "mkdir -p made/deep; echo 1 > made/one; echo 2 > made/two"])
        for name in ("made/mine.txt", "made/deep/mine.txt"):
            (self.work / name).write_text("mine\n")
        editor.prompt(["shell", "rm made/two; echo x > keep.txt"])
        self.assertEqual((editor.asked, self.text("keep.txt")), ([], "x\n"))
        self.assertEqual((self.text("made/mine.txt"), self.text("made/deep/mine.txt")), ("mine\n", "mine\n"))
        self.assertFalse((self.work / "made/two").exists())

    def test_a_workspace_behind_a_link_has_files(self):
        link = self.scratch / "link"
        link.symlink_to(self.work)
        editor = self.editor("--commit", "turn", start=False)
        editor.start()
        editor.request("session/new", {"cwd": str(link), "mcpServers": []})
        said, _notes = editor.prompt(["fs_read", str(link / "keep.txt")])
        self.assertEqual(said, [{"content": "keep\n"}])

    def test_an_unsaved_buffer_is_what_the_agent_reads(self):
        editor = self.editor("--commit", "turn", reads=True)
        editor.buffer = lambda path: "unsaved\n" if path.endswith("b.txt") else None
        said, _notes = editor.prompt(["fs_read", "src/b.txt"], ["fs_read", "keep.txt"], ["fs_write", "src/b.txt", "by the agent\n"],
                                     ["fs_read", "src/b.txt"], ["fs_read", "src/a.txt", {"line": 3, "limit": 2}])
        self.assertEqual([one["content"] for one in (said[0], said[1], said[3], said[4])],
                         ["unsaved\n", "keep\n", "by the agent\n", "3\n4\n"])

    def test_line_ends_and_the_byte_order_mark_are_kept_if_the_editor_gave_the_text(self):
        (self.work / "keep.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
        (self.work / "mixed.txt").write_bytes(b"one\r\ntwo\n")
        editor = self.editor("--commit", "turn", reads=True)
        editor.buffer = lambda path: "one\ntwo\n"
        editor.prompt(["fs_read", "keep.txt"], ["fs_write", "keep.txt", "one\nTWO\n"], ["fs_read", "mixed.txt"], ["fs_write", "mixed.txt", "1\n"])
        self.assertEqual((self.work / "keep.txt").read_bytes(), b"\xef\xbb\xbfone\r\nTWO\r\n")
        self.assertEqual((self.work / "mixed.txt").read_bytes(), b"1\n")
        editor.prompt(["fs_write", "keep.txt", "one\nthree"])
        self.assertEqual((self.work / "keep.txt").read_bytes(), b"\xef\xbb\xbfone\r\nthree")
        editor.buffer = lambda path: None
        editor.prompt(["fs_read", "keep.txt"], ["fs_write", "keep.txt", "one\n"])
        self.assertEqual((self.work / "keep.txt").read_bytes(), b"one\n", "the agent read the file itself")

    def test_a_write_through_the_protocol_to_a_file_that_git_ignores_is_proposed(self):
        self.git("init", "-q")
        (self.work / ".gitignore").write_text(".env\nout/\nown.log\n")
        editor = self.editor("--commit", "turn")
        editor.prompt(["fs_write", ".env", "KEY=1\nB=2\n"], ["fs_write", "out/deep/new.txt", "new\n"], ["shell", "echo x > own.log; echo x > out/own"])
        self.assertEqual((self.text(".env"), self.text("out/deep/new.txt")), ("KEY=1\nB=2\n", "new\n"))
        self.assertFalse((self.work / "own.log").exists() or (self.work / "out/own").exists(), "its own writes are not exempt")
        (self.work / ".env").write_text("KEY=1\nB=mine\n")
        editor.prompt(["fs_read", ".env"], ["fs_write", ".env", "KEY=2\nB=mine\n"])
        self.assertEqual(self.text(".env"), "KEY=2\nB=mine\n")
        self.assertEqual(editor.finish()[0], 0)

    def test_a_path_with_dots_or_links_inside_the_workspace_means_what_it_says(self):
        (self.work / "AGENTS.md").write_text("agents\n")
        (self.work / "CLAUDE.md").symlink_to("AGENTS.md")
        (self.work / "folder").symlink_to(self.work / "src")
        editor = self.editor("--commit", "turn", reads=True)
        asked = []
        editor.buffer = lambda path: asked.append(path)
        names = ["/./keep.txt", "//keep.txt", "/src/../keep.txt", "/CLAUDE.md", "/folder/b.txt", "/folder/../keep.txt"]
        said, _notes = editor.prompt(*(["request", "fs/read_text_file", {"path": f"{self.work}{name}"}] for name in names))
        self.assertEqual([one["content"] for one in said], ["keep\n"] * 3 + ["agents\n", "b\n", "keep\n"])
        self.assertEqual(asked, [str(self.work / name) for name in ["keep.txt"] * 3 + ["AGENTS.md", "src/b.txt", "keep.txt"]])
        said, _notes = editor.prompt(*(["request", "fs/write_text_file", {"path": f"{self.work}/{name}", "content": "x\n"}]
                                       for name in ("CLAUDE.md", "folder//c.txt")))
        self.assertEqual(said, [{}, {}])
        self.assertEqual((self.text("AGENTS.md"), self.text("src/c.txt")), ("x\n", "x\n"))
        self.assertTrue((self.work / "CLAUDE.md").is_symlink())

    def test_a_path_or_link_that_leaves_the_workspace_is_refused(self):
        (self.scratch / "secret").write_text("secret\n")
        for name, target in {"up": "..", "out": "../secret", "git": ".git", "loop": "loop"}.items():
            (self.work / name).symlink_to(target)
        editor = self.editor("--commit", "turn")
        steps = [[f"fs/{kind}_text_file", {"path": f"{self.work}/{name}", "content": "x\n"}] for kind in ("read", "write")
                 for name in ("up/secret", "out", "git/config", "loop", "../secret", f"../{self.work.name}/../secret", "up", "", ".")]
        said, _notes = editor.prompt(*(["request", *one] for one in steps))
        for step, one in zip(steps, said):
            self.assertIn("message", one, step)
        self.assertEqual((self.scratch / "secret").read_text(), "secret\n")
        said, _notes = editor.prompt(["request", "fs/read_text_file", {"path": "keep.txt"}])
        self.assertIn("absolute path", said[0]["message"])

    def test_a_link_does_not_make_the_editor_read_elsewhere(self):
        (self.scratch / "secret").write_text("secret\n")
        (self.work / "link").symlink_to(self.scratch / "secret")
        editor = self.editor(reads=True)
        asked = []
        editor.buffer = lambda path: asked.append(path) or "secret\n"
        said, _notes = editor.prompt(["fs_read", "link"], ["fs_read", "/etc/passwd"], ["fs_write", "link", "x"],
                                     ["fs_write", ".git/config", "x"], ["fs_write", "../outside", "x"])
        self.assertEqual(asked, [])
        for one in said:
            self.assertIn("message", one)
        self.assertFalse((self.scratch / "outside").exists())


class Messages(AcpCase):
    def test_what_is_not_galleys_passes_unchanged_both_ways(self):
        editor = self.editor(start=False)
        begun, _made = editor.start()
        got = begun["result"]["_meta"]["got"]
        self.assertEqual(got["clientCapabilities"]["fs"], {"readTextFile": True, "writeTextFile": True})
        self.assertIs(got["clientCapabilities"]["terminal"], False)
        echo = editor.request("_vendor/thing", {"x": [1, 2.5, "ü", None]})["result"]["_meta"]["echo"]
        self.assertEqual((echo["method"], echo["params"]), ("_vendor/thing", {"x": [1, 2.5, "ü", None]}))
        said, _notes = editor.prompt(["request", "_other/thing", {"y": 1}], ["request", "terminal/create", {"command": "touch"}],
                                     ["request", "terminal/output", {"terminalId": "1"}])
        self.assertEqual(said[0], {"code": -32601, "message": "not here"})
        for one in said[1:]:
            self.assertEqual(one["code"], -32601)
            self.assertIn("sandbox", one["message"])
        outside = editor.request("session/new", {"cwd": str(self.scratch), "mcpServers": []})
        self.assertIn("galley -C", outside["error"]["message"])

    # Limit: kMaxAcpLineBytes of server/acp/acp_proxy.h
    def test_a_broken_or_long_line_is_one_error_and_the_next_message_counts(self):
        editor = self.editor()
        for bad in (b"{broken\n", b"[1]\n", b"\xff\xfe\n", b'{"a": 1, "a": 2}\n', b"[" * 5000 + b"\n", b"x" * (17 << 20) + b"\n"):
            editor.send_bytes(bad)
            error = editor.take()
            self.assertIn("galley acp cannot read this message", error["error"]["message"])
        said, _notes = editor.prompt(["raw", "no json"], ["raw", "x", 17 << 20], ["fs_read", "keep.txt"])
        self.assertIn("cannot read this message", said[0]["error"]["message"])
        self.assertIn("longer than", said[1]["error"]["message"])
        self.assertEqual(said[2], {"content": "keep\n"})

    def test_an_id_of_galley_cannot_be_answered_by_the_agent(self):
        editor = self.editor()

        def decide(params):
            editor.send({"id": "galley-0000000000000000-1", "result": {"outcome": {"outcome": "selected", "optionId": "commit"}}})
            return "later"

        editor.decide = decide
        editor.prompt(["write", "new.txt", "x\n"])
        self.assertFalse((self.work / "new.txt").exists())

    def test_a_cancelled_turn_is_not_committed(self):
        editor = self.editor("--commit", "turn")
        turn = editor.begin(["write", "new.txt", "x\n"], ["cancelled"])
        editor.send({"method": "session/cancel", "params": {"sessionId": "session-1"}})
        self.assertEqual(editor.wait(turn)["result"]["stopReason"], "cancelled")
        self.assertFalse((self.work / "new.txt").exists())
        self.assertIn("Not committed: 1 change", editor.titles())
        editor.decide = lambda params: "later"
        editor.prompt(["fs_read", "keep.txt"])
        self.assertFalse((self.work / "new.txt").exists(), "the next turn's end asks")
        editor.decide = lambda params: "commit"
        editor.prompt(["fs_read", "keep.txt"])
        self.assertEqual((len(editor.asked), self.text("new.txt")), (2, "x\n"))

    def test_a_cancelled_turn_is_not_committed_whatever_reason_the_agent_gives(self):
        editor = self.editor("--commit", "turn")
        for method in ("session/cancel", "$/cancel_request"):
            turn = editor.begin(["write", "half.txt", method], ["take"])
            editor.send({"method": method, "params": {"sessionId": "session-1"} if method == "session/cancel" else {"requestId": turn}})
            result = editor.wait(turn)["result"]
            self.assertEqual((result["stopReason"], result["_meta"]["said"][1]["method"]), ("cancelled", method))
            self.assertFalse((self.work / "half.txt").exists(), method)
            self.assertEqual(editor.titles()[-1], "Not committed: 1 change", method)
        self.assertEqual((editor.asked, self.log()), ([], []))
        other = editor.begin(["write", "half.txt", "whole\n"], ["take"])
        editor.send({"method": "session/cancel", "params": {"sessionId": "session-2"}})
        self.assertEqual(editor.wait(other)["result"]["stopReason"], "end_turn", "another session was cancelled")
        self.assertEqual((len(editor.asked), self.text("half.txt")), (1, "whole\n"))

    def test_a_session_does_not_commit_what_another_one_left_staged(self):
        editor = self.editor("--commit", "turn")
        editor.request("session/new", {"cwd": str(self.work), "mcpServers": [], "_meta": {"id": "session-2"}})
        for end in (lambda: self.galley("commit", expect=0), lambda: editor.prompt(["fs_read", "keep.txt"])):
            turn = editor.begin(["shell", "date +%N > new.txt"], ["cancelled"])
            editor.send({"method": "session/cancel", "params": {"sessionId": "session-1"}})
            editor.wait(turn)
            refused = editor.wait(editor.begin(["write", "other.txt", "2\n"], session="session-2"))
            self.assertIn("'session-1' left 1 staged change", refused["error"]["message"])
            end()
            editor.prompt(["shell", "date +%N > other.txt"], session="session-2")
            self.assertEqual([path["path"] for path in self.log()[0]["paths"]], ["other.txt"])
        self.assertEqual([one["session"] for one in self.log()[:2]], ["acp-session-2", "acp-session-1"])

    def test_a_crash_of_the_agent_answers_the_prompt_and_keeps_the_changes(self):
        editor = self.editor("--commit", "session")
        answer = editor.wait(editor.begin(["write", "new.txt", "x\n"], ["crash", 7]))
        self.assertIn("has ended", answer["error"]["message"])
        status, errors = editor.finish()
        self.assertEqual(status, 7, errors)
        self.assertEqual(snapshot(self.work), self.before)
        self.assertIn("new.txt", self.staged(self.open_transactions()[0]["tx"]))

    def test_sigterm_and_a_vanished_editor_end_the_run(self):
        for end in (lambda editor: editor.process.send_signal(signal.SIGTERM), lambda editor: editor.process.kill(),
                    lambda editor: editor.process.stdin.close()):
            editor = self.editor()
            editor.decide = lambda params: "later"
            editor.prompt(["write", "new.txt", "x\n"])
            supervisor = self.only_note()["supervisor"]["pid"]
            end(editor)
            editor.process.wait(60)
            wait_until(lambda: not self.is_supervisor(supervisor), "the run goes on")
            self.assertEqual(snapshot(self.work), self.before)
            tx = self.open_transactions()[0]["tx"]
            self.assertIn("new.txt", self.staged(tx))
            self.galley("rollback", "--tx", tx, expect=0)

    def test_a_turn_that_is_committed_after_the_editor_closed_ends_well(self):
        for number in range(3):
            editor = self.editor("--commit", "turn")
            editor.begin(["write", "new.txt", f"{number}\n"])
            status, errors = editor.finish()
            self.assertEqual((status, self.text("new.txt")), (0, f"{number}\n"), errors)
            self.assertNotIn("no open transaction", errors)

    def test_standard_output_is_of_the_protocol_also_with_json(self):
        for words in (["--json", "acp", "--commit", "turn", "--", "true"], ["--json", "acp", "--", "nosuchprogram"], ["--json", "acp", "--commit", "never", "--", "true"],
                      ["--json", "acp", "--commit", "session", "--", "sh", "-c", "echo x > new.txt"]):
            done = self.galley(*words)
            self.assertEqual(done.stdout, b"", words)
            self.assertNotIn(b"{", done.stderr)

    def test_a_refused_commit_at_the_end_says_that_the_changes_are_kept(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["keep.txt"]\ndecision = "deny"\nreason = "not this"\n')
        editor = self.editor("--commit", "session")
        editor.prompt(["write", "keep.txt", "denied\n"])
        status, errors = editor.finish()
        tx = self.open_transactions()[0]["tx"]
        self.assertEqual(status, 1)
        self.assertIn("not this", errors)
        self.assertIn(f"kept in transaction {tx}", errors)
        self.assertIn(f"commit --tx {tx}", errors)

    def test_the_options_of_run_reach_the_agent(self):
        folder, layer = self.scratch / "through", self.scratch / "layered"
        folder.mkdir()
        (self.work / "galley.toml").write_text("[sandbox]\nnetwork = true\n")
        self.before = snapshot(self.work)
        editor = self.editor("--env", "WORD=word", "--allow-write", folder, "--layer", layer, "--network")
        said, _notes = editor.prompt(["shell", f"echo $WORD; echo x > {folder}/x; echo y > {layer}/y; wc -l < /proc/net/dev"])
        self.assertEqual(said[0][1].splitlines()[0], "word")
        self.assertEqual(said[0][1].splitlines()[1], str(Path("/proc/net/dev").read_text().count("\n")))
        self.assertEqual((folder / "x").read_text(), "x\n")
        self.assertFalse(layer.exists())
        self.galley("acp", "--commit", "never", "--", "true", expect=2)


class ManyTurns(AcpCase):
    def test_the_tree_is_the_logs_replay_and_undo_restores_the_beginning(self):
        """60 turns at random by every road, with decisions at random."""
        choice = random.Random(31)
        editor = self.editor()
        names = ["src/a.txt", "src/b.txt", "keep.txt", "n/1.txt", "n/2.txt", ".env"]
        wrong = []

        def decide(params):
            options = self.options_of(params)
            return choice.choice([one for one in options if one != "later"] if choice.random() < 0.9 else ["later"])

        editor.decide = decide
        for turn in range(60):
            steps = []
            for _ in range(choice.randint(1, 3)):
                name = choice.choice(names)
                text = "".join(f"{choice.randint(0, 9)} {line}\n" for line in range(choice.randint(1, 12)))
                steps.append(choice.choice([["shell", f"mkdir -p n; printf '%s' '{text}' > {name}"], ["fs_write", name, text],
                                            ["shell", f"rm -rf {name}"], ["shell", f"mkdir -p n src; echo {turn} >> {name}"],
                                            ["shell", f"chmod {choice.choice(['600', '755'])} {name}"]]))
            before = snapshot(self.work)
            committed = len(self.log())
            editor.prompt(*steps)
            if len(self.log()) == committed and snapshot(self.work) != before:
                wrong.append(turn)
        self.assertEqual(wrong, [], "the tree changed without a commit")
        editor.finish()
        for one in self.open_transactions():
            self.galley("rollback", "--tx", one["tx"], expect=0)
        now = snapshot(self.work)
        count = len(self.log())
        self.assertGreater(count, 20)
        self.galley("undo", "--session", "acp-session-1", expect=0)
        self.assertEqual(snapshot(self.work), self.before, "undo --session restores the beginning")
        self.galley("redo", expect=0)
        self.assertEqual(snapshot(self.work), now, "the log has every byte")


if __name__ == "__main__":
    hostile.main()
