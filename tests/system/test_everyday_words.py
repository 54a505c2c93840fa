"""Words that people know from git, docker or a shell: understood, or answered with the right
words."""

import json
import re
import unittest

from support import SystemCase

GIT = ("-c", "user.name=A", "-c", "user.email=a@example.com")


class Words(SystemCase):
    def commit(self, name, text, reason):
        self.galley("begin", expect=0)
        self.galley("call", "Write", json.dumps({"file_path": name, "content": text}), expect=0)
        self.galley("commit", "-m", reason, expect=0)

    def said(self, *words, expect):
        result = self.galley(*words, expect=expect)
        return (result.stdout + result.stderr).decode()

    def open_ids(self):
        return [one["tx"] for one in json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"]]

    def test_check_of_a_commit_or_a_range_names_the_option(self):
        self.git("init", "-q")
        self.git("add", ".")
        self.git(*GIT, "commit", "-q", "-m", "x")
        self.assertIn("check --commit HEAD", self.said("check", "HEAD", expect=2))
        self.assertIn("check --range HEAD~1..HEAD", self.said("check", "HEAD~1..HEAD", expect=2))
        self.galley("check", "--commit", "HEAD", expect=(0, 1))

    def test_a_range_can_be_shown_for_some_paths(self):
        self.git("init", "-q")
        for text in ("one\n", "two\n"):
            for name in ("a.txt", "docs/b.txt"):
                (self.work / name).parent.mkdir(exist_ok=True)
                (self.work / name).write_text(text)
            self.git("add", ".")
            self.git(*GIT, "commit", "-q", "-m", "x")
        for words in (["docs"], ["--", "docs"], ["--name-status", "--", "docs"]):
            shown = self.galley("diff", "HEAD~1..HEAD", *words, expect=0).stdout.decode()
            self.assertIn("docs/b.txt", shown)
            self.assertNotIn("a.txt", shown)
        self.assertIn("HEAD~1..HEAD changes nothing at the paths", self.said("diff", "HEAD~1..HEAD", "--", "nosuch", expect=0))
        self.assertIn("diff A..B", self.said("diff", "HEAD", expect=1))

    def test_a_transaction_that_does_not_change_the_named_path_says_so(self):
        self.galley("apply", "-", stdin=b"--- /dev/null\n+++ b/one.txt\n@@ -0,0 +1 @@\n+one\n", expect=0)
        (self.work / "two.txt").touch()
        self.assertIn("transaction 1 changes nothing at the paths", self.said("show", "1", "--", "two.txt", expect=0))
        self.assertIn("did not change 'nosuch', and nothing is there", self.said("show", "1", "--", "nosuch", expect=2))
        self.assertNotIn("changes nothing", self.said("show", "1", "--", "one.txt", expect=0))

    def test_calls_of_a_model_are_of_the_format_of_calls(self):
        calls = json.dumps([{"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": "new.txt", "content": "x\n"}}])
        self.galley("apply", "--format", "calls", "-", stdin=calls.encode(), expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "x\n")

    def test_a_finding_has_its_path_once(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\nname = "s"\npaths = ["secret.txt"]\ndecision = "deny"\n')
        patch = b"--- /dev/null\n+++ b/secret.txt\n@@ -0,0 +1 @@\n+one\n"
        refused = self.galley("apply", "-", stdin=patch, expect=1).stderr.decode()
        self.assertIn("secret.txt: error: create is denied", refused)

    def test_a_group_alone_lists_its_members(self):
        self.assertIn("'galley audit' takes one of verify export", self.said("audit", expect=2))
        self.assertIn("list", self.said("rescue", expect=2))

    def test_a_second_begin_names_the_open_transaction(self):
        self.assertNotIn("already", self.said("begin", expect=0))
        first = self.open_ids()[0]
        again = self.said("begin", expect=0)
        self.assertIn(f"1 transaction of yours is open already: {first}", again)
        self.assertIn("--tx", again)

    def test_a_commit_without_changes_says_that_the_transaction_stays_open(self):
        self.galley("begin", expect=0)
        tx = self.open_ids()[0]
        said = self.said("commit", expect=0)
        self.assertIn(f"transaction {tx} stays open", said)
        self.assertIn(f"rollback --tx {tx}", said)
        self.assertEqual(self.open_ids(), [tx])

    def test_help_for_an_unknown_word_is_an_error_as_json_too(self):
        self.assertIn("nope", self.said("help", "nope", expect=2))
        document = json.loads(self.galley("--json", "help", "nope", expect=2).stdout)
        self.assertIn("nope", document["message"])
        for words in ((), ("commit",), ("edit.truncated",)):
            self.assertIn("commands", json.loads(self.galley("--json", "help", *words, expect=0).stdout))

    def test_commands_that_stage_have_the_option_begin(self):
        patch = b"--- /dev/null\n+++ b/one.txt\n@@ -0,0 +1 @@\n+one\n"
        self.galley("stage", "-", stdin=patch, expect=1)
        self.galley("stage", "--begin", "-n", "-", stdin=patch, expect=0)
        self.assertEqual(self.open_ids(), [],
                         "a dry run begins nothing that stays")
        self.galley("stage", "--begin", "-", stdin=patch, expect=0)
        self.galley("call", "--begin", "Write", '{"file_path": "two.txt", "content": "2\\n"}', expect=0)
        self.galley("edit", "--begin", "one.txt", expect=0, env={"EDITOR": "true", "VISUAL": ""})
        self.assertEqual(len(self.open_ids()), 1, "the one that is open is taken")
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "two.txt").read_text(), "2\n")
        self.galley("call", "--begin", "Write", '{"file_path": "three.txt", "content": "3\\n"}', expect=0)
        self.galley("commit", expect=0)
        self.assertTrue((self.work / "three.txt").exists())

    def test_log_by_reason_and_time(self):
        self.commit("a.txt", "a\n", "Rename the cache")
        self.commit("b.txt", "b\n", "mend the build")
        found = json.loads(self.galley("--json", "log", "--grep", "rename", expect=0).stdout)["transactions"]
        self.assertEqual([one["message"] for one in found], ["Rename the cache"])
        self.assertEqual(json.loads(self.galley("--json", "log", "--until", "2001-01-01T00:00:00Z", expect=0).stdout)["transactions"], [])
        self.assertEqual(len(json.loads(self.galley("--json", "log", "--until", "2199-01-01T00:00:00Z").stdout)["transactions"]), 2)

    def test_log_shows_times_as_they_are_asked_for(self):
        self.commit("a.txt", "a\n", "x")
        self.assertRegex(self.said("log", expect=0), r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
        self.assertRegex(self.said("log", "--date", "relative", expect=0), r"(just now|\d+ (second|minute)s? ago)")
        local = self.galley("log", "--date", "local", expect=0, env={"TZ": "XYZ-5:30"}).stdout.decode()
        self.assertTrue(re.search(r"\d\d:\d\d:\d\d \+0530", local), local)

    def test_several_are_undone_newest_first(self):
        for name in ("a", "b", "c"):
            self.commit(f"{name}.txt", f"{name}\n", name)
        self.commit("a.txt", "more\n", "on a")
        self.galley("undo", "1", "4", expect=0)
        self.assertEqual([(self.work / f"{name}.txt").exists() for name in "abc"], [False, True, True])
        shown = self.said("undo", "2", "3", "-n", expect=0)
        self.assertIn("-b\n", shown)
        self.assertIn("-c\n", shown)
        self.assertTrue((self.work / "b.txt").exists(), "a preview")
        self.galley("undo", "2", "99", expect=1)
        self.assertTrue((self.work / "b.txt").exists(), "99 comes first")
        (self.work / "7").write_text("a file\n")
        self.assertIn("7", self.said("undo", "3", "7", expect=(0, 1, 2)))
        self.assertTrue((self.work / "7").exists())
        (self.work / "7").unlink()
        newest = json.loads(self.galley("log", "-1", "--json", expect=0).stdout)["transactions"][0]["id"]
        name = str(int(newest) + 1)
        self.galley("call", "--begin", "Write", json.dumps({"file_path": name, "content": "x\n"}), expect=0)
        self.galley("call", "Write", json.dumps({"file_path": "beside.txt", "content": "x\n"}), expect=0)
        self.galley("commit", expect=0)
        self.galley("undo", name, name, expect=0)
        self.assertEqual([(self.work / one).exists() for one in (name, "beside.txt")], [False, True])
        self.commit("@types", "t\n", "a name with a sign")
        self.galley("exec", "--commit", "--", "rm", "@types", expect=0)
        self.galley("undo", "@", "@types", expect=0)
        self.assertTrue((self.work / "@types").exists())
        for name in ("d", "e"):
            self.commit(f"{name}.txt", f"{name}\n", name)
        self.galley("undo", "@", "@~1", expect=0)
        self.assertEqual([(self.work / f"{name}.txt").exists() for name in "de"], [False, False])

    def test_several_are_undone_with_one_commit_or_none(self):
        for name in ("a", "b", "c"):
            self.commit(f"{name}.txt", f"{name}\n", name)
        (self.work / "a.txt").write_text("changed since\n")
        said = self.said("undo", "1", "3", expect=1)
        self.assertIn("nothing was undone", said)
        self.assertTrue((self.work / "c.txt").exists())
        done = json.loads(self.galley("--json", "undo", "2", "3", expect=0).stdout)
        self.assertEqual([done["undoes"], done["also_undoes"]], ["3", ["2"]])
        self.assertEqual([(self.work / f"{name}.txt").exists() for name in "abc"], [True, False, False])
        self.galley("redo", expect=0)
        self.assertEqual([(self.work / f"{name}.txt").exists() for name in "abc"], [True, True, True])

    def test_a_name_that_is_suggested_in_a_subfolder_works_there(self):
        (self.work / "sub").mkdir()
        (self.work / "sub" / "s.txt").write_text("s\n")
        self.galley("begin", expect=0)
        self.galley("call", "Write", json.dumps({"file_path": "sub/s.txt", "content": "t\n"}), expect=0)
        said = self.galley("-C", "sub", "diff", "sub/s.txt", expect=2).stderr.decode()
        meant = re.search(r"did you mean '(.*?)'", said).group(1)
        self.assertIn("+t\n", self.galley("-C", "sub", "diff", meant, expect=0).stdout.decode())

    def test_the_help_of_query_names_its_tables(self):
        said = self.said("query", "--help", expect=0)
        for name in ("transactions", "changes", "log", "files", "agents", "undone_by", "after_content"):
            self.assertIn(name, said)
        self.commit("a.txt", "a\n", "x")
        for table, columns in re.findall(r"(\w+) \(([\w,\s]+)\)", said):
            if table in ("transactions", "changes", "log", "files", "agents"):
                self.galley("query", f"select {columns} from {table}", expect=0)

    def test_stop_and_sync_say_that_nothing_runs(self):
        for command in ("stop", "sync"):
            self.assertIn("no program runs", self.said(command, expect=1))


if __name__ == "__main__":
    unittest.main()
