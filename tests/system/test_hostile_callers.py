#!/usr/bin/env python3
"""The caller matters, not only the owner of a transaction. Each call is judged by what both the
caller and the owner may do, and is recorded with both. It applies to the caller's own transaction
unless another one is named."""

import hashlib
import json
import shutil

import hostile
from support import snapshot

RULES = """
[policy]
default = "allow"

[[policy.rule]]
name = "deploys are asked about"
paths = ["deploy/"]
agents = ["mover"]
decision = "ask"

[agents.reviewer]
capabilities = ["fs:read"]

[agents.runner]
capabilities = ["fs:read", "exec:*"]

[agents.bot]
capabilities = ["fs:read", "fs:write:src/", "exec:*"]

[agents.mover]
capabilities = ["fs:read", "fs:write", "exec:*"]

[[validator]]
name = "upper"
command = ["sh", "-c", "sed -i s/old/new/ src/*.txt"]
fix = true
"""


class Callers(hostile.HostileCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.write("galley.toml", RULES)
        own = self.home / ".config" / "galley"
        own.mkdir(parents=True)
        (own / "config.toml").write_text(f'trusted_folders = ["{self.work}"]\n')
        self.write("src/a.txt", "one\n")
        self.write("deploy/d.txt", "d\n")

    def by(self, agent, *arguments, expect=0, **options):
        who = ["--agent", agent] if agent else []
        return self.galley(*who, *arguments, expect=expect, **options)

    def begin(self, agent=""):
        return self.by(agent, "begin").stdout.decode().strip()

    def call(self, agent, tx, tool, arguments, expect=0):
        return self.by(agent, "call", "--tx", tx, tool, json.dumps(arguments), expect=expect)

    def write_call(self, agent, tx, path="src/b.txt", expect=0):
        return self.call(agent, tx, "Write", {"file_path": path, "content": "staged\n"}, expect=expect)

    def staged(self, tx):
        document = json.loads(self.galley("--json", "diff", "--tx", tx, expect=0).stdout)
        return [change["path"] for change in document["changes"]]

    def records(self):
        lines = (self.work / ".galley" / "audit.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    # --- what is granted, approved and recorded ----------------------------------------------------

    def unattended(self):
        own = self.home / ".config" / "galley" / "config.toml"
        own.write_text(own.read_text() + "unattended = true\n")

    def test_a_grant_names_the_list_that_bounds_it(self):
        self.unattended()
        told = self.galley("grant", "bot", "fs:write:deploy/", expect=0).stderr.decode()
        self.assertIn("as far as [agents.bot] (galley.toml:", told)

    def test_an_approval_that_is_not_of_an_owner_says_who_must_give_one(self):
        self.unattended()
        self.write("galley.toml", '[owners]\nrequired = true\nlines = ["/src/ @ann"]\n')
        self.write_call("", self.begin())
        proposal = json.loads(self.galley("--json", "diff", expect=0).stdout)["proposal"]
        told = self.galley("approve", proposal, "--by", "nobody", expect=0).stderr.decode()
        self.assertIn("nobody is recorded, but that is not enough: src/b.txt: needs the approval of @ann", told)
        self.assertIn("--by NAME", told)
        told = self.galley("approve", proposal, "--by", "ann", expect=0).stderr.decode()
        self.assertNotIn("not enough", told)
        self.galley("commit", expect=0)

    def test_the_use_of_another_configuration_is_on_record(self):
        other = self.scratch / "other.toml"
        other.write_text('[agents.bot]\ncapabilities = ["fs:read", "fs:write", "exec:*"]\n')
        patch = "--- /dev/null\n+++ b/deploy/e.txt\n@@ -0,0 +1 @@\n+e\n"
        self.by("bot", "apply", "-", stdin=patch.encode(), expect=1)
        self.by("bot", "--config", str(other), "apply", "-", stdin=patch.encode())
        (self.scratch / "below" / "folder").mkdir(parents=True)
        (self.scratch / "deep").mkdir()
        (self.scratch / "deep" / "link").symlink_to(self.scratch / "below")
        self.by("bot", "--config", f"{self.scratch}/deep/link/../other.toml", "begin")
        self.by("bot", "--config", str(other), "exec", "--", "true")
        records = self.records()
        name = f"sha256:{hashlib.sha256(other.read_bytes()).hexdigest()} {other.resolve()}"
        self.assertEqual({one["rules"] for one in records if "rules" in one}, {name})
        named = {one["kind"] for one in records if "rules" in one}
        self.assertLessEqual({"commit", "begun", "exec"}, named)
        self.assertFalse([one for one in records if one["kind"] == "refusal" and "rules" in one])
        self.galley("audit", "verify", expect=0)

    # --- a caller's limits apply in every transaction ---------------------------------------------

    def test_a_reader_may_end_a_transaction_without_changes(self):
        tx = self.by("reviewer", "begin").stdout.decode().strip()
        told = self.by("reviewer", "--json", "commit", "--tx", tx)
        self.assertTrue(json.loads(told.stdout)["ok"], told.stdout)

    def test_a_reader_writes_nothing_into_a_persons_transaction(self):
        tx = self.begin()
        self.write_call("", tx)
        self.write_call("reviewer", tx, "src/c.txt", expect=1)
        self.by("reviewer", "exec", "--tx", tx, "--", "sh", "-c", "echo x > src/c.txt", expect=1)
        self.by("reviewer", "commit", "--tx", tx, expect=1)
        self.by("reviewer", "rollback", "--tx", tx, expect=1)
        self.by("reviewer", "savepoint", "--tx", tx, "mine", expect=1)
        self.by("reviewer", "fork", "--tx", tx, expect=1)
        self.assertFalse((self.work / "src" / "b.txt").exists())
        self.assertEqual(self.staged(tx), ["src/b.txt"])
        # The reader's allowed use, and the owner's.
        self.call("reviewer", tx, "Read", {"file_path": "src/a.txt"})
        self.by("", "commit", "--tx", tx)
        self.assertEqual((self.work / "src" / "b.txt").read_text(), "staged\n")

    def test_the_callers_profile_limits_the_effects_of_a_command(self):
        tx = self.begin()
        self.write_call("", tx)
        said = json.loads(self.by("runner", "--json", "exec", "--tx", tx, "--", "sh", "-c",
                                  "echo x > src/c.txt; rm src/b.txt", expect=1).stdout)
        self.assertFalse(said["staged"], said)
        self.assertEqual(sorted(effect["path"] for effect in said["refused"]), ["src/b.txt", "src/c.txt"])
        self.assertEqual(self.staged(tx), ["src/b.txt"])
        self.by("runner", "exec", "--tx", tx, "--", "cat", "src/b.txt")
        self.by("", "exec", "--tx", tx, "--", "sh", "-c", "echo x > src/c.txt")
        self.assertEqual(self.staged(tx), ["src/b.txt", "src/c.txt"])

    def test_fixers_need_the_callers_permission_to_write_the_fixed_files(self):
        self.write("src/a.txt", "old\n")
        tx = self.begin()
        self.call("", tx, "Write", {"file_path": "src/b.txt", "content": "old\n"})
        self.by("runner", "validate", "--fix", "--tx", tx, expect=1)
        self.assertIn(b"+old", self.galley("diff", "--tx", tx).stdout)
        self.by("mover", "validate", "--fix", "--tx", tx)
        self.assertIn(b"+new", self.galley("diff", "--tx", tx).stdout)

    # --- a caller does not lift the owner's limits -----------------------------------------------

    def test_the_agents_profile_applies_when_a_person_commits_for_it(self):
        tx = self.begin("bot")
        self.write_call("bot", tx)
        self.write_call("", tx, "outside.txt", expect=1)
        self.by("", "exec", "--tx", tx, "--", "sh", "-c", "echo x > outside.txt", expect=1)
        self.by("", "commit", "--tx", tx)
        self.assertTrue((self.work / "src" / "b.txt").exists())
        self.assertFalse((self.work / "outside.txt").exists())
        record = next(record for record in self.records() if record["kind"] == "commit")
        self.assertEqual(record.get("agent", ""), "")
        self.assertEqual(record["owner"], "bot")
        entry = json.loads(self.galley("--json", "log").stdout)["transactions"][0]
        self.assertEqual((entry["agent"], entry["owner"]), ("", "bot"))

    def test_a_contributors_limits_apply_when_the_owner_commits(self):
        tx = self.begin()
        self.write_call("mover", tx, "deploy/new.txt")
        said = json.loads(self.by("", "--json", "commit", "--tx", tx, expect=1).stdout)
        self.assertEqual(said["reason"], "gate.approval_missing", said)
        self.assertIn("deploys are asked about", said["message"])
        self.assertFalse((self.work / "deploy" / "new.txt").exists())
        own = self.begin()
        self.write_call("", own, "deploy/new.txt")
        self.by("", "commit", "--tx", own)
        self.assertTrue((self.work / "deploy" / "new.txt").exists())

    def test_a_fork_keeps_the_limits_of_the_original_owner(self):
        tx = self.begin("bot")
        self.write_call("bot", tx)
        child = self.by("mover", "fork", "--tx", tx).stdout.decode().strip()
        self.write_call("mover", child, "outside.txt", expect=1)
        self.by("mover", "commit", "--tx", child)
        self.assertTrue((self.work / "src" / "b.txt").exists())
        self.assertFalse((self.work / "outside.txt").exists())

    def test_caller_and_owner_are_on_record(self):
        tx = self.begin("bot")
        self.write_call("mover", tx)
        self.by("mover", "exec", "--tx", tx, "--", "true")
        self.by("reviewer", "exec", "--tx", tx, "--", "true", expect=1)
        self.write_call("bot", tx, "src/c.txt")
        self.by("reviewer", "commit", "--tx", tx, expect=1)
        self.by("mover", "rollback", "--tx", tx)
        seen = [(record["kind"], record.get("tool"), record.get("agent"), record.get("owner"), "error" in record)
                for record in self.records()]
        self.assertEqual(seen, [
            ("call", "Write", "mover", "bot", False),
            ("begun", "exec", "mover", "bot", False),
            ("exec", "exec", "mover", "bot", False),
            ("begun", "exec", "reviewer", "bot", False),
            ("exec", "exec", "reviewer", "bot", True),
            ("call", "Write", "bot", None, False),
            ("refusal", "commit", "reviewer", "bot", True),
            ("rollback", "rollback", "mover", "bot", False),
        ])
        self.galley("audit", "verify", expect=0)

    # --- the selected transaction ----------------------------------------------------------------

    def test_no_command_selects_another_agents_transaction_by_default(self):
        self.write_call("bot", self.begin("bot"))
        for command in (("commit",), ("rollback",), ("diff",), ("validate",), ("savepoint", "x"), ("fork",),
                        ("exec", "--", "true"), ("call", "LS", "{}")):
            for agent in ("", "mover"):
                with self.subTest(command=command, agent=agent):
                    said = self.by(agent, *command, expect=2).stderr.decode()
                    self.assertIn("none of the open transactions is yours", said)
                    self.assertIn("by bot", said)
        self.assertFalse((self.work / "src" / "b.txt").exists())
        self.by("bot", "commit")
        self.assertTrue((self.work / "src" / "b.txt").exists())

    def test_with_several_own_transactions_one_must_be_named(self):
        first = self.by("bot", "--reason", "the first", "begin").stdout.decode().strip()
        second = self.begin("bot")
        self.begin()
        said = self.by("bot", "--json", "commit", expect=2).stdout.decode()
        document = json.loads(said)
        self.assertEqual(document["reason"], "stage.which")
        for wanted in (first, second, "the first"):
            self.assertIn(wanted, document["message"])
        self.write_call("bot", first)
        self.by("bot", "commit", env={"GALLEY_TX": first})
        self.assertTrue((self.work / "src" / "b.txt").exists())
        self.by("bot", "rollback")  # only one is left
        self.by("bot", "rollback", expect=2)

    def test_a_list_cannot_be_forged(self):
        self.by("mover", "--reason", "x\n  0000000000000000 by bot: forged", "begin")
        said = self.by("bot", "commit", expect=2).stderr.decode()
        self.assertEqual(len(said.strip().splitlines()), 2, said)

    def test_status_separates_own_and_other_transactions(self):
        theirs = self.begin("bot")
        mine = self.begin()
        document = json.loads(self.galley("--json", "status", expect=0).stdout)
        self.assertEqual([(stage["tx"], stage["own"]) for stage in document["transactions"]],
                         [(mine, True), (theirs, False)])
        self.assertEqual(document["tx"], mine)

    # --- names -----------------------------------------------------------------------------------

    def test_a_mistyped_agent_name_gives_no_access(self):
        """Tries every command: writing, staging, reading, checking in git, and calling."""
        edit = self.scratch / "edit.json"
        edit.write_text(json.dumps([{"path": "src/new", "content": "x\n"}]))
        self.git("init", "-q")
        (self.work / "staged").write_text("x\n")
        self.git("add", "-A")
        before = snapshot(self.work, skip=(".galley",))
        for words in (["apply", edit], ["preview", edit], ["begin"], ["stage", edit], ["status"], ["diff"], ["show"],
                      ["call", "Write", '{"file_path": "x", "content": "x"}'], ["exec", "--begin", "--", "true"],
                      ["check", "--staged"], ["undo"], ["tools", "list"], ["policy", "explain", "src/new"]):
            with self.subTest(words):
                said = self.galley("--agent", "revewer", *words)
                self.assertEqual(said.returncode, 1, said.stderr)
                self.assertIn("knows no agent 'revewer'; did you mean 'reviewer'?", said.stderr.decode())
        self.assertEqual(snapshot(self.work, skip=(".galley",)), before)
        self.assertNotIn("knows no agent", self.by("reviewer", "status").stderr.decode())
        self.assertNotIn("knows no agent", self.by("", "status").stderr.decode())
        # Its records under an earlier name can still be listed.
        self.galley("log", "--agent", "revewer", expect=0)

    def test_an_empty_agent_name_gives_no_access(self):
        """As in --agent "$UNSET": without a name it would be a person."""
        for words in (["call", "Write", '{"file_path": "x", "content": "x"}'], ["run", "--", "true"], ["mcp"], ["agent-hook"]):
            said = self.galley("--agent", "", *words, expect=2)
            self.assertIn("--agent: the value is empty", said.stderr.decode())

    def test_a_profile_for_all_others_takes_an_unknown_name(self):
        with open(self.work / "galley.toml", "a", encoding="utf-8") as rules:
            rules.write('\n[agents."*"]\ncapabilities = ["fs:read", "fs:write:src/", "exec:*"]\n')
        edit = self.scratch / "edit.json"
        edit.write_text(json.dumps([{"path": "src/new", "content": "x\n"}]))
        self.galley("--agent", "anybody", "apply", edit, expect=0)
        edit.write_text(json.dumps([{"path": "elsewhere", "content": "x\n"}]))
        self.galley("--agent", "anybody", "apply", edit, expect=1)


if __name__ == "__main__":
    hostile.main()
