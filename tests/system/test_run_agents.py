"""galley run AGENT: a known agent gets its own state, its variables and the network after its person said yes once.

The agents are scripts of their names on PATH. Runs as root and as a plain user (`hostile.main`)."""

import json
import shutil
import stat
from pathlib import Path

import hostile
from support import GALLEY, snapshot
from test_run import RunCase

QUESTION = r"Allow\? \[y\]es, \[o\]nce, \[n\]o"
# A fake agent. It prints where it is, and writes a file of the workspace and a file of its own state.
SCRIPT = """#!/bin/sh
printf 'word: %s\\n' "$@"
grep -c : /proc/net/dev
echo "key ${OPENAI_API_KEY-unset} other ${OTHER_KEY-unset}"
echo made > made.txt
echo state > "$HOME/.codex/state"
"""


class AgentCase(RunCase):
    def setUp(self):
        super().setUp()
        self.home = self.scratch / "home"
        self.programs = self.home / "tools" / "bin"
        self.programs.mkdir(parents=True)
        self.environment |= {"HOME": str(self.home), "PATH": f"{self.programs}:/usr/bin:/bin"}
        self.ask_a_person()
        self.agent("codex", SCRIPT)
        self.consent = self.scratch / "state" / "galley" / "agents" / "codex"

    def ask_a_person(self, is_asked=True):
        own = Path(self.environment["XDG_CONFIG_HOME"]) / "galley" / "config.toml"
        own.write_text(f'trusted_folders = ["{self.scratch}"]\n' + ("" if is_asked else "unattended = true\n"))

    def agent(self, name, script, folder=None):
        place = (folder or self.programs) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(script)
        place.chmod(0o755)

    def alone(self, *arguments, **options):
        """Where nobody can be asked."""
        return self.galley(*arguments, start_new_session=True, **options)

    def allow(self, name="codex"):
        return self.alone("agents", "install", name, "--run", "--yes", expect=0)

    def rules(self, text):
        (self.work / "galley.toml").write_text(text)


class Consent(AgentCase):
    def test_a_yes_counts_until_it_is_taken_back(self):
        session = self.on_terminal("run", "--commit", "codex", "exec", "two words", "--json")
        session.expect(r"codex \(.*/codex\) in galley run may.*write .*/\.codex.*read .*/tools.*network.*OPENAI_API_KEY.*" + QUESTION)
        session.type("y\n")
        session.expect("word: -c\r\nword: sandbox_mode=danger-full-access\r\nword: exec\r\nword: two words\r\nword: --json\r\n")
        self.assertEqual(session.finish(), 0)
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")
        self.assertEqual((self.home / ".codex/state").read_text(), "state\n")
        self.assertEqual(stat.S_IMODE(self.consent.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.consent.parent.stat().st_mode), 0o700)
        self.alone("run", "--drop", "codex", expect=0)
        self.assertIn(("codex", "run", "present"), self.listed())
        self.alone("agents", "uninstall", "codex", "--run", "--yes", expect=0)
        self.assertFalse(self.consent.parent.exists())
        self.assertIn(("codex", "run", "absent"), self.listed())
        self.alone("run", "--drop", "codex", expect=1)

    def listed(self):
        entries = json.loads(self.galley("--json", "agents", "list", expect=0).stdout)["entries"]
        return {(one["agent"], one["part"], one["state"]) for one in entries}

    def test_once_is_for_one_run_and_no_for_none(self):
        for answer, status in (("o", 0), ("n", 1), ("", 1)):
            with self.subTest(answer=answer):
                session = self.on_terminal("run", "--drop", "codex")
                session.expect(QUESTION)
                session.type("?\n")
                session.expect(r"y  yes.*o  once.*n  no.*" + QUESTION)
                session.type(answer + "\n")
                self.assertEqual(session.finish(), status, session.screen)
                self.assertEqual(b"sandbox_mode" in session.screen, status == 0)
                self.assertFalse(self.consent.exists())

    def test_without_a_person_the_command_to_type_is_named(self):
        refused = self.alone("--json", "run", "codex", "exec", expect=1)
        said = json.loads(refused.stdout)
        self.assertEqual(said["reason"], "run.not_allowed")
        self.assertIn("agents install codex --run", said["message"])
        self.assertEqual(self.open_transactions(), [])
        self.assertFalse((self.home / ".codex").exists())

    def test_it_is_asked_again_when_the_needs_change(self):
        self.allow()
        self.alone("run", "--drop", "codex", expect=0)
        self.alone("run", "--drop", "codex", env={"CODEX_HOME": str(self.home / "elsewhere")}, expect=1)
        other = self.home / "other" / "bin"
        self.agent("codex", SCRIPT, other)
        self.alone("run", "--drop", "codex", env={"PATH": f"{other}:/usr/bin:/bin"}, expect=1)
        self.consent.write_text(self.consent.read_text().replace("codex in", "all in"))
        self.consent.write_text(self.consent.read_text() + "more\n")
        self.alone("run", "--drop", "codex", expect=1)

    def test_agents_do_not_consent(self):
        self.alone("--agent", "codex", "run", "codex", expect=1)
        self.alone("--agent", "codex", "agents", "install", "codex", "--run", "--yes", expect=1)
        self.assertFalse(self.consent.exists())
        session = self.on_terminal("--agent", "codex", "run", "codex")
        self.assertEqual(session.finish(), 1)
        self.assertNotRegex(session.screen, QUESTION.encode())

    def test_no_file_of_a_repository_consents_or_is_the_agent(self):
        """Neither a program of that name, nor rules, nor a consent inside of the workspace."""
        planted = self.work / "node_modules" / ".bin"
        self.agent("codex", "#!/bin/sh\necho planted\n", planted)
        self.allow()
        ran = self.alone("run", "--drop", "codex", env={"PATH": f"{planted}:{self.environment['PATH']}"}, expect=0)
        self.assertNotIn(b"planted", ran.stdout)
        ran = self.alone("run", "--drop", "./node_modules/.bin/codex", expect=0)
        self.assertEqual(ran.stdout, b"planted\n")
        self.alone("run", "--network", "--drop", "./node_modules/.bin/codex", expect=1)
        inside = self.work / "state" / "galley" / "agents"
        inside.mkdir(parents=True)
        (inside / "codex").write_text(self.consent.read_text())
        refused = self.alone("run", "--drop", "codex", env={"XDG_STATE_HOME": str(self.work / "state")}, expect=1)
        self.assertIn(b"inside the workspace", refused.stderr)

    def test_an_unattended_person_is_not_asked(self):
        self.ask_a_person(False)
        self.alone("run", "--drop", "codex", expect=0)
        self.assertFalse(self.consent.exists())


class Needs(AgentCase):
    def test_variables_and_network_come_with_the_consent(self):
        self.allow()
        ran = self.alone("run", "--drop", "codex", env={"OPENAI_API_KEY": "of mine", "OTHER_KEY": "other"}, expect=0)
        self.assertIn(b"key of mine other unset", ran.stdout)
        interfaces = len(Path("/proc/net/dev").read_text().splitlines()) - 2
        self.assertIn(b"\n%d\n" % interfaces, ran.stdout)
        self.assertNotIn("of mine", (self.work / ".galley/audit.jsonl").read_text())
        record = json.loads((self.work / ".galley/audit.jsonl").read_text().splitlines()[0])
        self.assertEqual((record["agent"], record["input"]["network"], record["input"]["consent"]), ("codex", True, True))

    def test_options_of_the_person_come_first(self):
        self.allow()
        ran = self.alone("run", "--drop", "--env", "OPENAI_API_KEY=chosen", "--env", "OTHER_KEY=more", "codex",
                         env={"OPENAI_API_KEY": "of mine"}, expect=0)
        self.assertIn(b"key chosen other more", ran.stdout)
        (self.home / ".codex").mkdir(exist_ok=True)
        (self.home / ".codex/state").write_text("before\n")
        self.alone("run", "--drop", "--layer", self.home / ".codex", "codex", expect=0)
        self.assertEqual((self.home / ".codex/state").read_text(), "before\n")

    def test_allowed_hosts_take_the_rest_of_the_network_away(self):
        self.allow()
        ran = self.alone("run", "--drop", "--allow-host", "registry.example.org", "codex", expect=0)
        self.assertIn(b"\n1\n", ran.stdout, "the loopback device alone")
        record = json.loads((self.work / ".galley/audit.jsonl").read_text().splitlines()[0])
        self.assertFalse(record["input"]["network"])
        self.assertEqual(record["input"]["hosts"][0], "registry.example.org")
        self.assertIn("api.openai.com", record["input"]["hosts"], "a host of the agent itself")

    def test_given_options_need_no_consent(self):
        self.rules("[sandbox]\nnetwork = true\nreadable = [\"%s\"]\n" % self.programs.parent)
        (self.home / ".codex").mkdir()
        ran = self.alone("run", "--drop", "--network", "--allow-write", self.home / ".codex", "--", "codex", "exec", expect=0)
        self.assertIn(b"word: sandbox_mode=danger-full-access\nword: exec\n", ran.stdout)

    def test_its_rules_are_those_of_its_name(self):
        self.allow()
        self.rules('[[policy.rule]]\nname = "no-made"\npaths = ["made.txt"]\nagents = ["codex"]\ndecision = "deny"\n')
        refused = self.alone("run", "--commit", "codex", expect=1)
        self.assertIn(b"no-made", refused.stderr)
        self.assertFalse((self.work / "made.txt").exists())
        self.assertEqual(self.open_transactions()[0]["agent"], "codex")
        self.galley("rollback", "--tx", self.open_transactions()[0]["tx"], expect=0)
        self.rules('[agents.codex]\ncapabilities = ["fs:read", "fs:write", "exec:*"]\n')
        self.assertIn(b"network", self.alone("run", "--drop", "codex", expect=(1, 126, 127)).stderr)

    def test_another_program_is_the_persons(self):
        self.rules('[agents."*"]\ncapabilities = ["fs:read"]\n')
        self.alone("run", "--commit", "sh", "-c", "echo made > made.txt", expect=0)
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")

    def test_settings_of_claude_are_there(self):
        self.agent("claude", "#!/bin/sh\ncat \"$CLAUDE_CONFIG_DIR/.claude.json\"; echo own > \"$CLAUDE_CONFIG_DIR/.claude.json\"\n")
        (self.home / ".claude.json").write_text("of the host\n")
        self.allow("claude")
        for expected in (b"of the host\n", b"own\n"):
            self.assertEqual(self.alone("run", "--drop", "claude", expect=0).stdout, expected)
        self.assertEqual((self.home / ".claude.json").read_text(), "of the host\n")
        self.assertEqual(stat.S_IMODE((self.home / ".claude/.claude.json").stat().st_mode) & 0o077, 0)

    def test_a_program_of_npm_has_its_packages_and_node(self):
        packages, nodes = self.home / "packages" / "node_modules", self.home / "nodes" / "bin"
        self.agent("main.js", "#!/usr/bin/env node\n", packages / "@openai" / "codex")
        self.agent("text", "of a package\n", packages / "other")
        (packages / ".bin").mkdir()
        (packages / ".bin/codex").symlink_to("../@openai/codex/main.js")
        self.agent("node", "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$1\")\")/../../other/text\"\n", nodes)
        env = {"PATH": f"{packages}/.bin:{nodes}:/usr/bin:/bin"}
        self.alone("agents", "install", "codex", "--run", "--yes", env=env, expect=0)
        self.assertEqual(self.alone("run", "--drop", "codex", env=env, expect=0).stdout, b"of a package\n")

    def test_a_galley_in_the_home_is_there_for_its_hooks(self):
        own = self.home / "own" / "bin"
        own.mkdir(parents=True)
        for program in ("galley", "galley-sandbox"):
            shutil.copy(Path(GALLEY).parent / program, own)
        self.agent("codex", "#!/bin/sh\ngalley --version\n")
        environment = {"PATH": f"{own}:{self.environment['PATH']}"}
        self.alone("agents", "install", "codex", "--run", "--yes", expect=0, env=environment)
        said = self.alone("run", "--drop", "codex", expect=0, env=environment)
        self.assertIn(b"galley ", said.stdout)

    def test_each_agent_is_known_and_has_its_state(self):
        for name in ("codex", "claude", "opencode", "gemini", "qwen", "cline", "goose", "amp", "cn"):
            with self.subTest(agent=name):
                self.agent(name, "#!/bin/sh\nfind \"$HOME\" -maxdepth 3 -type d ! -path '*/tools*' | sort\n")
                self.alone("run", "--drop", name, expect=1)
                self.allow(name)
                ran = self.alone("run", "--drop", "--", name, "-p", "do it", expect=0)
                folder = name if name in ("opencode", "goose", "amp") else {"cn": ".continue"}.get(name, "." + name)
                self.assertIn(f"/{folder}\n", ran.stdout.decode())


class AtTheEnd(AgentCase):
    """The changes are the agent's, and the decision is the person's."""

    def test_the_person_is_asked(self):
        self.allow()
        session = self.on_terminal("run", "codex")
        session.expect(r"1 path changed.*made\.txt.*Commit, keep or drop")
        session.type("c\n")
        self.assertEqual(session.finish(), 0, session.screen)
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")
        log = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"][0]
        self.assertEqual((log["agent"], log["owner"]), ("", "codex"))

    def test_its_commits_are_of_one_session(self):
        self.allow()
        (self.work / "mine").write_text("of a person\n")
        self.galley("run", "--commit", "codex", expect=0)
        log = json.loads(self.galley("--json", "log", "--agent", "codex", expect=0).stdout)["transactions"]
        [session] = {one["session"] for one in log}
        self.assertRegex(session, r"^run-[0-9a-f]{12}$")
        [turn] = json.loads(self.galley("--json", "turns", "--agent", "codex", expect=0).stdout)["turns"]
        self.assertEqual((turn["agent"], turn["session"]), ("codex", session))
        self.galley("undo", "--session", session, expect=0)
        self.assertFalse((self.work / "made.txt").exists())
        self.assertTrue((self.work / "mine").exists())

    def test_so_are_commits_of_git(self):
        self.allow()
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "first")
        self.agent("codex", "#!/bin/sh\necho made > made.txt; git add -A\n"
                   "git -c user.name=B -c user.email=b@example.com commit -qm second\n")
        self.alone("run", "--commit", "--git-commits", "keep", "codex", expect=0)
        self.assertEqual(self.git("log", "--format=%s").stdout, b"second\nfirst\n")
        self.assertEqual(self.git("status", "--short").stdout, b"")


class Failures(AgentCase):
    def failing(self, words, expect):
        self.agent("codex", f"#!/bin/sh\n{words}\nexit 4\n")
        return self.alone("--json", "run", "--drop", "codex", expect=expect)

    def test_the_missing_setting_is_named(self):
        self.allow()
        for words, wanted in (
                ("echo \"Error: EROFS: read-only file system, open '/srv/own/file'\" >&2", "--allow-write /srv/own"),
                ("echo \"Error: EROFS: read-only file system, open '/usr/share/own/file'\" >&2", "no option makes it writable"),
                ("echo x > /usr/share/own.txt", "could not write /usr/share/own.txt,"),
                ("echo 'Not logged in. Please run /login' >&2", "codex login"),
                ("echo 'stream error: 401 Unauthorized'", "codex login")):
            with self.subTest(words=words):
                document = json.loads(self.failing(words, 4).stdout)
                self.assertEqual(document["status"], 4)
                self.assertIn(wanted, " ".join(document["met_walls"]))
        self.assertEqual(json.loads(self.failing("echo fine", 4).stdout)["met_walls"], [])

    def test_one_that_succeeds_has_none(self):
        self.allow()
        self.agent("codex", "#!/bin/sh\necho 'not logged in'\n")
        self.assertEqual(json.loads(self.alone("--json", "run", "--drop", "codex", expect=0).stdout)["met_walls"], [])


class Streams(AgentCase):
    """As CI starts it."""

    def test_status_and_document_are_of_the_run(self):
        self.allow()
        self.agent("codex", "#!/bin/sh\ncat; echo made > made.txt\n")
        ran = self.alone("--json", "run", "--commit", "codex", "exec", "-", stdin=b"prompt\n", expect=0)
        document = json.loads(ran.stdout)
        self.assertEqual((document["status"], document["end"], len(document["changes"])), (0, "committed", 1))
        self.assertIn(b"prompt\n", ran.stderr)
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")

    def test_a_resumed_run_is_of_the_same_agent(self):
        self.allow()
        self.alone("run", "codex", expect=0)
        tx = self.open_transactions()[0]["tx"]
        self.alone("run", "--resume", tx, "--commit", "codex", expect=0)
        self.assertTrue((self.work / "made.txt").exists())
        before = snapshot(self.work)
        self.alone("undo", expect=0)
        self.assertNotEqual(snapshot(self.work), before)


class ForEditors(AgentCase):
    """galley acp AGENT: the program that speaks the protocol for a known agent."""

    def setUp(self):
        super().setUp()
        self.agent("codex-acp", SCRIPT)
        self.agent("gemini", SCRIPT.replace(".codex", ".gemini"))

    def test_its_program_has_a_consent_of_its_own_which_is_asked_for_on_a_terminal(self):
        self.allow("codex")
        refused = self.alone("acp", "codex", expect=1)
        self.assertRegex(refused.stderr, rb"galley .*acp codex, once on a terminal")
        session = self.on_terminal("acp", "codex")
        session.expect(r"codex \(.*/codex-acp\) in galley run may.*" + QUESTION)
        session.type("y\n")
        session.expect(r"Commit, keep or drop")
        session.type("d\n")
        session.finish()
        self.assertEqual(sorted(one.name for one in self.consent.parent.iterdir()), ["codex", "codex-acp"])
        ran = self.alone("acp", "--commit", "session", "codex", expect=0)
        self.assertNotIn(b"nobody has allowed", ran.stderr)
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")
        self.assertEqual((self.home / ".codex" / "state").read_text(), "state\n")
        self.assertEqual(self.consents_listed(), {"codex": "present", "codex-acp": "present"})
        self.alone("agents", "uninstall", "codex", "--run", "--yes", expect=0)
        self.assertEqual(self.consents_listed(), {"codex": "absent", "codex-acp": "absent"})
        self.assertFalse(self.consent.parent.exists())
        self.alone("acp", "--commit", "session", "codex", expect=1)

    def consents_listed(self, agent="codex"):
        entries = json.loads(self.galley("--json", "agents", "list", expect=0).stdout)["entries"]
        return {Path(one["file"]).name: one["state"] for one in entries if one["agent"] == agent and one["part"] == "run"}

    def test_the_newer_of_two_programs_for_editors_is_used(self):
        said = '#!/bin/sh\nprintf \'{"method":"said","params":["%s"]}\\n\' "${0##*/} $CLAUDE_CONFIG_DIR"\n'
        refused = self.alone("acp", "claude", expect=127)
        self.assertIn(b"'claude-agent-acp'", refused.stderr)
        for name in ("claude-code-acp", "claude-agent-acp"):
            with self.subTest(name):
                self.agent(name, said)
                # Each has a consent of its own.
                self.assertIn(b"acp claude, once on a terminal", self.alone("acp", "claude", expect=1).stderr)
                session = self.on_terminal("acp", "claude")
                session.expect(rf"Claude Code \(.*/{name}\) in galley run may.*" + QUESTION)
                session.type("y\n")
                session.finish()
                for words in (["claude"], ["--", name]):
                    ran = self.alone("acp", *words, expect=0)
                    self.assertEqual(json.loads(ran.stdout)["params"], [f"{name} {self.home}/.claude"])
        self.assertEqual(self.consents_listed("claude"), {"claude": "absent", "claude-agent-acp": "present", "claude-code-acp": "present"})
        self.alone("agents", "uninstall", "claude", "--run", "--yes", expect=0)
        self.assertFalse(self.consent.parent.exists())

    def test_the_words_that_make_it_speak_the_protocol_are_added_to_its_name(self):
        self.allow("gemini")
        said = self.alone("acp", "gemini", expect=0).stdout
        self.assertEqual(said, b"", "what is not a message does not reach the editor")
        self.agent("gemini", '#!/bin/sh\nprintf \'{"method":"said","params":["%s"]}\\n\' "$*"\n')
        for words, wanted in ((["gemini"], "--experimental-acp"), (["--", "gemini", "--other"], "--experimental-acp --other"),
                              (["--", "gemini", "--other", "--experimental-acp"], "--other --experimental-acp")):
            said = json.loads(self.alone("acp", *words, expect=0).stdout)
            self.assertEqual(said["params"], [wanted])
        refused = self.alone("acp", "amp", expect=2)
        self.assertRegex(refused.stderr, rb"galley .*acp -- PROGRAM")


if __name__ == "__main__":
    hostile.main()
