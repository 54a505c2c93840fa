"""Decisions of a person on the command line: a yes to one call, grants, and secrets from a file."""

import json
import re

import hostile
from support import SystemCase

GRANT = json.dumps({"agent": "bot", "capability": "custom:deploy"})


class Confirmations(SystemCase):
    def setUp(self):
        super().setUp()
        self.galley("begin", expect=0)

    def call(self, tool, arguments, *options, expect=None):
        result = self.galley("--json", *options, "call", tool, arguments, expect=expect)
        return json.loads(result.stdout)

    def test_a_confirmation_is_valid_for_one_call_once(self):
        refused = self.call("sec.grant", GRANT, expect=1)
        self.assertEqual(refused["error"]["code"], "EPERMISSION")
        self.assertEqual(refused["error"]["reason"], "call.needs_confirmation")
        asked = re.search(r"galley approve (call-[0-9a-f]+)", refused["error"]["message"]).group(1)
        self.galley("--agent", "bot", "approve", asked, expect=1)
        self.assertEqual(self.call("sec.grant", GRANT, expect=1)["error"]["reason"], "call.needs_confirmation")
        self.galley("approve", asked, expect=0)
        self.assertTrue(self.call("sec.grant", GRANT, expect=0)["ok"])
        self.assertEqual(self.call("sec.grant", GRANT, expect=1)["error"]["reason"], "call.needs_confirmation")
        kinds = [json.loads(line)["kind"] for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        self.assertEqual(kinds.count("confirmation"), 3, "refused to the agent, given, used")
        self.galley("audit", "verify", expect=0)

    def test_the_mode_of_the_workspace_holds(self):
        (self.work / "galley.toml").write_text('[policy]\nmode = "strict"\n')
        words = json.dumps({"file_path": "new.txt", "content": "new\n"})
        self.assertEqual(self.call("Write", words, expect=1)["error"]["reason"], "call.needs_confirmation")
        self.assertEqual(self.call("sec.grant", GRANT, expect=1)["error"]["reason"], "call.tier_denied")
        self.assertTrue(self.call("List", '{"path": "."}', expect=0)["ok"])

    def test_grants_are_listed_and_taken_back(self):
        self.galley("grant", "bot", "custom:*", "--by", "ann", expect=0)
        self.galley("revoke", "bot", "fs:write:src/", expect=0)
        listed = json.loads(self.galley("--json", "grants", expect=0).stdout)["grants"]
        self.assertEqual([(one["capability"], one["granted"]) for one in listed],
                         [("custom:*", True), ("fs:write:src/", False)])
        self.galley("--agent", "bot", "begin", expect=0)
        words = json.dumps({"file_path": "src/new.txt", "content": "new\n"})
        refused = self.call("Write", words, "--agent", "bot", expect=1)
        self.assertEqual(refused["error"]["reason"], "policy.capability")
        self.assertIn("galley grant bot", refused["error"]["message"])
        self.galley("--agent", "bot", "grant", "bot", "fs:write:src/", expect=1)
        self.galley("grant", "bot", "fs:write:src/", expect=0)
        self.assertTrue(self.call("Write", words, "--agent", "bot", expect=0)["ok"])

    def test_an_agent_that_galley_toml_does_not_name_gets_no_grant(self):
        (self.work / "galley.toml").write_text('[agents.bot]\ncapabilities = ["fs:read", "custom:*"]\n')
        refused = json.loads(self.galley("--json", "grant", "bto", "custom:deploy", expect=1).stdout)
        self.assertEqual(refused["reason"], "agent.unknown")
        self.assertIn("bot", refused["message"])
        self.galley("grant", "bot", "custom:deploy", expect=0)
        self.galley("revoke", "bto", "custom:deploy", expect=0)

    def test_a_grant_needs_a_terminal(self):
        (self.scratch / "config" / "galley" / "config.toml").write_text("")
        refused = self.galley("--json", "grant", "bot", "custom:deploy", expect=1, start_new_session=True)
        self.assertEqual(json.loads(refused.stdout)["reason"], "person.no_terminal")
        self.assertEqual(json.loads(self.galley("--json", "grants", expect=0).stdout)["grants"], [])

    def test_a_file_of_secrets_is_private_and_outside(self):
        words = json.dumps({"command": "true $ENV.TOKEN"})
        inside = self.work / "secrets"
        outside = self.scratch / "secrets"
        for path in (inside, outside):
            path.write_text("TOKEN=hunter2-and-more\n")
            path.chmod(0o600)
        refused = self.galley("--json", "call", "--secrets", str(inside), "Bash", words, expect=1)
        self.assertEqual(json.loads(refused.stdout)["reason"], "secret.file_inside")
        outside.chmod(0o644)
        refused = self.galley("--json", "call", "--secrets", str(outside), "Bash", words, expect=1)
        self.assertEqual(json.loads(refused.stdout)["reason"], "secret.file_not_private")


if __name__ == "__main__":
    hostile.main()
