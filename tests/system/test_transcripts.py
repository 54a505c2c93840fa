"""Calls that are reverted by their id, written to a file, and replayed on another tree."""

import json
import os
import shutil
import stat
import unittest

from support import SystemCase

EDIT = json.dumps({"file_path": "a.txt", "old_string": "two", "new_string": "zwei"})
OTHER_EDIT = json.dumps({"file_path": "a.txt", "old_string": "nine", "new_string": "neun"})
A_TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"


class CallCase(SystemCase):
    def setUp(self):
        super().setUp()
        (self.work / "a.txt").write_text(A_TEXT)
        self.transcript = self.work.parent / "calls.jsonl"

    def json(self, *arguments, expect=0, **options):
        return json.loads(self.galley("--json", *arguments, expect=expect, **options).stdout)

    def records(self):
        return [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]

    def call(self, tool, arguments, *more, **options):
        """Makes a call and returns its execution id."""
        self.galley("call", tool, arguments, *more, expect=0, **options)
        return self.records()[-1]["execution_id"]


class ExecutionRollback(CallCase):
    def test_one_call_is_removed_from_an_open_transaction(self):
        tx = self.json("begin")["tx"]
        first, second = self.call("Edit", EDIT), self.call("Edit", OTHER_EDIT)
        self.assertRegex(first, r"\Aexec-\d{8}-\d{6}-[0-9a-z]{6}\Z")
        told = self.json("rollback", "-n", "--execution", first)
        self.assertEqual((told["tx"], told["executions"], told["dry_run"]), (tx, [first], True))
        done = self.json("rollback", "--execution", first)
        self.assertEqual((done["tx"], done["executions"]), (tx, [first]))
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "a.txt").read_text(), A_TEXT.replace("nine", "neun"))
        self.assertNotEqual(first, second)

    def test_a_later_call_that_built_on_it_is_named(self):
        self.galley("begin", expect=0)
        first = self.call("Write", json.dumps({"file_path": "n.txt", "content": "one\n"}))
        second = self.call("Edit", json.dumps({"file_path": "n.txt", "old_string": "one", "new_string": "1"}))
        refused = self.json("rollback", "--execution", first, expect=1)
        self.assertEqual(refused["reason"], "rollback.built_upon")
        self.assertIn(second, refused["message"])
        done = self.json("rollback", "--execution", first, "--with-later")
        self.assertEqual(done["executions"], [second, first])

    def test_after_the_commit_only_its_paths_are_undone(self):
        self.galley("begin", expect=0)
        first = self.call("Edit", EDIT)
        self.call("Write", json.dumps({"file_path": "n.txt", "content": "one\n"}))
        self.galley("commit", expect=0)
        preview = self.json("rollback", "-n", "--execution", first, expect=2)
        self.assertEqual(preview["reason"], "rollback.no_preview")
        done = self.json("rollback", "--execution", first)
        self.assertEqual((done["tx"], done["receipt"]["id"]), ("1", "2"))
        self.assertEqual((self.work / "a.txt").read_text(), A_TEXT)
        self.assertTrue((self.work / "n.txt").exists())
        record = self.records()[-1]
        self.assertEqual((record["kind"], record["input"]["execution"]), ("rollback", first))
        unknown = self.json("rollback", "--execution", "exec-none", expect=1)
        self.assertEqual(unknown["reason"], "rollback.unknown_execution")


class Transcripts(CallCase):
    def copy_of_project(self):
        copy = self.work.parent / "copy"
        shutil.copytree(self.work, copy, ignore=shutil.ignore_patterns(".galley"))
        return copy

    def test_calls_are_replayed_on_an_equal_tree_and_what_differs_is_listed(self):
        copy = self.copy_of_project()
        self.galley("begin", expect=0)
        self.call("Edit", EDIT, "--transcript", self.transcript)
        self.call("Read", json.dumps({"file_path": str(self.work / "a.txt")}), "--transcript", self.transcript)
        self.assertEqual(stat.S_IMODE(self.transcript.stat().st_mode), 0o600)
        report = self.json("replay", self.transcript, work=copy)
        self.assertEqual((report["ok"], report["calls"], report["replayed"]), (True, 2, 2))
        self.assertEqual((copy / "a.txt").read_text(), A_TEXT)
        (copy / "a.txt").write_text(A_TEXT.replace("one", "ONE"))
        report = self.json("replay", self.transcript, work=copy, expect=1)
        self.assertEqual({(one["what"], one["where"]) for one in report["differences"]} &
                         {("base", "a.txt"), ("tree", "a.txt"), ("result", "/data/content")},
                         {("base", "a.txt"), ("tree", "a.txt"), ("result", "/data/content")})
        said = self.galley("replay", self.transcript, work=copy, expect=1).stderr.decode()
        self.assertIn("call 2 (Read): result /data/content: expected", said)

    def test_a_replay_into_an_open_transaction_is_staged(self):
        copy = self.copy_of_project()
        self.galley("begin", expect=0)
        self.call("Edit", EDIT, "--transcript", self.transcript)
        tx = self.json("begin", work=copy)["tx"]
        report = self.json("replay", self.transcript, "--tx", tx, work=copy)
        self.assertEqual(report["tx"], tx)
        self.galley("commit", work=copy, expect=0)
        self.assertEqual((copy / "a.txt").read_text(), A_TEXT.replace("two", "zwei"))

    def test_apply_writes_a_transcript_of_a_document_of_calls(self):
        copy = self.copy_of_project()
        calls = json.dumps([{"tool": "Edit", "args": json.loads(EDIT)}, {"tool": "Edit", "args": json.loads(OTHER_EDIT)}])
        self.galley("apply", "--format", "calls", "-", "--transcript", self.transcript, stdin=calls.encode(), expect=0)
        lines = [json.loads(line) for line in self.transcript.read_text().splitlines()]
        self.assertEqual([line["schema"] for line in lines],
                         ["galley.transcript/1"] + ["galley.transcript-call/1"] * 2)
        self.assertEqual(self.json("replay", self.transcript, work=copy)["replayed"], 2)

    def test_a_transcript_file_that_is_public_or_in_the_workspace_is_refused(self):
        self.galley("begin", expect=0)
        self.transcript.write_text("")
        os.chmod(self.transcript, 0o644)
        refused = self.json("call", "Edit", EDIT, "--transcript", self.transcript, expect=1)
        self.assertEqual(refused["reason"], "transcript.mode")
        inside = self.json("call", "Edit", EDIT, "--transcript", self.work / "t.jsonl", expect=2)
        self.assertEqual(inside["reason"], "transcript.in_workspace")
        self.assertFalse((self.work / "t.jsonl").exists())
        link = self.scratch / "link"
        link.symlink_to(self.work)
        (self.work / "deep").mkdir()
        for inside in ("t.jsonl", "deep/../t.jsonl", link / "t.jsonl", link / "deep" / "t.jsonl"):
            refused = self.json("call", "Edit", EDIT, "--transcript", inside, expect=2)
            self.assertEqual(refused["reason"], "transcript.in_workspace", inside)
        self.assertEqual(list(self.work.rglob("*t.jsonl")), [])

    def test_an_invalid_transcript_is_refused_with_its_line(self):
        for text in ("not json\n", "{}\n", '{"schema": "galley.transcript-call/1"}\n'):
            self.transcript.write_text(text)
            self.assertEqual(self.json("replay", self.transcript, expect=2)["reason"], "transcript.malformed")


if __name__ == "__main__":
    unittest.main()
