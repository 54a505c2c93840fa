"""The configuration of agents: Galley writes entries into their files and removes exactly these
again."""

import json
import os
import re
import resource
import shutil
import stat
import subprocess
import tomllib
from pathlib import Path

import hostile
from support import GALLEY, SystemCase, need_own_mounts, snapshot

CODEX = '''# my own
model = "gpt-5.4"   # the usual one

[model_providers.fake]
base_url = "http://localhost:1"

[mcp_servers.other]
command = "other"
args = [
  "a", # first
]

[[hooks.PreToolUse]]
matcher = "Bash"
[[hooks.PreToolUse.hooks]]
type = "command"
command = "mine"
'''
JSON = '''{
    // comments, as Gemini CLI and opencode take them
    "theme": "dark",
    "mcpServers": {
        "other": {"command": "x", "args": []}   /* mine */
    },
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}
        ]
    },
    "mcp": {},
}
'''
# Possible texts of a JSON configuration, with entries that do not concern Galley.
TEXTS = [JSON, "{}", "{}\n", "{ }", "{\n}\n", '{"a":1}', '{"a": [1, 2, {"b": "}"}]}\n', '{\n\t"a": "\\"{",\n\t"b": {}\n}\n',
         '{"hooks": {}}', '{"hooks": { "PreToolUse": [ ] } }', '{"hooks": {"PreToolUse": []}, "mcpServers": {}}',
         '{\n  "hooks": {\n    "PreToolUse": [\n    ]\n  }\n}\n', '{"hooks":{"BeforeTool":[{}]},"mcpServers":{"o":{}}}',
         JSON.replace("\n", "\r\n"), "\ufeff{}\n", "\ufeff" + JSON, '{ // x\n}\n', '{"mcp": {"o": 1,},}', '/* { */ {"a": "// no"} // end',
         '{"mcpServers": {\n}}', '{\n\n  "a": 1\n\n}', '{"hooks": {"PreToolUse": [1]}}', '{"mcp":{}}\n\n']
TOMLS = [CODEX, "", "\n", "a = 1", "a = 1\n", "a = 1\n\n\n", CODEX.replace("\n", "\r\n"), "# only words", '[a]\nb = """\n[x]\n"""\n',
         "hooks = {}\n" * 0 + "[hooks]\n", "[mcp_servers]\n", CODEX.rstrip("\n"), "\ufeff" + CODEX, "\ufeff# only words\n", "\ufeff"]
# (agent, part, scope) -> file.
PLACES = {
    ("codex", "mcp", "user"): "home/.codex/config.toml", ("codex", "hook", "user"): "home/.codex/config.toml",
    ("codex", "mcp", "project"): "work/.codex/config.toml", ("codex", "hook", "project"): "work/.codex/config.toml",
    ("claude", "mcp", "project"): "work/.mcp.json", ("claude", "hook", "project"): "work/.claude/settings.json",
    ("claude", "mcp", "user"): "home/.claude.json", ("claude", "hook", "user"): "home/.claude/settings.json",
    ("gemini", "mcp", "project"): "work/.gemini/settings.json", ("gemini", "hook", "project"): "work/.gemini/settings.json",
    ("gemini", "mcp", "user"): "home/.gemini/settings.json", ("gemini", "hook", "user"): "home/.gemini/settings.json",
    ("opencode", "mcp", "project"): "work/opencode.json", ("opencode", "mcp", "user"): "config/opencode/opencode.json",
    ("opencode", "hook", "project"): "work/.opencode/plugin/galley.js",
    ("opencode", "hook", "user"): "config/opencode/plugin/galley.js",
}

# (agent, scope) -> the files of the commands that a person types.
COMMANDS = ("turns", "diff", "undo", "redo")
COMMAND_PLACES = {
    ("codex", "user"): "home/.codex/skills/galley-{}/SKILL.md", ("codex", "project"): "work/.codex/skills/galley-{}/SKILL.md",
    ("claude", "user"): "home/.claude/commands/galley-{}.md", ("claude", "project"): "work/.claude/commands/galley-{}.md",
    ("gemini", "user"): "home/.gemini/commands/galley-{}.toml", ("gemini", "project"): "work/.gemini/commands/galley-{}.toml",
    ("opencode", "user"): "config/opencode/commands/galley-{}.md",
    ("opencode", "project"): "work/.opencode/commands/galley-{}.md",
}


AGENTS = ("codex", "claude", "gemini", "opencode", "qwen", "cline", "goose", "amp", "cn")


class InstallCase(SystemCase):
    def setUp(self):
        super().setUp()
        self.home = self.scratch / "home"
        self.home.mkdir()
        self.programs = self.scratch / "bin"
        self.programs.mkdir()
        (self.programs / "galley").symlink_to(Path(GALLEY).resolve())
        self.environment.update(HOME=str(self.home), PATH=f"{self.programs}:{os.environ['PATH']}")
        for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "GALLEY_SANDBOX"):
            self.environment.pop(name, None)
            os.environ.pop(name, None)

    def agents(self, verb, agent, *options, expect=0, **more):
        return self.galley("--json", "agents", verb, agent, *options, expect=expect, **more)

    def states(self, *arguments, **more):
        return [entry["state"] for entry in json.loads(self.agents(*arguments, **more).stdout)["entries"]]


class RoundTrip(InstallCase):
    def test_a_missing_file_is_created_and_removed_again(self):
        before = snapshot(self.scratch, skip=())
        for (agent, part, scope), place in PLACES.items():
            with self.subTest(f"{agent} {part} {scope}"):
                options = (f"--{part}", f"--{scope}", "--yes")
                self.assertEqual(self.states("install", agent, *options), ["added"])
                self.assertTrue((self.scratch / place).is_file())
                self.assertEqual(self.states("install", agent, *options), ["present"])
                self.assertEqual(self.states("uninstall", agent, *options), ["removed"])
                self.assertFalse((self.scratch / place).exists())
                self.assertEqual(self.states("uninstall", agent, *options), ["absent"])
        for folder in ("home/.codex", "home/.claude", "home/.gemini", "config/opencode"):
            self.assertFalse((self.scratch / folder).exists(), folder)
        self.assertEqual(snapshot(self.scratch, skip=()), before)

    def test_folders_that_were_there_and_empty_stay(self):
        folders = [self.scratch / folder for folder in ("home/.codex", "home/.claude", "home/.gemini", "config/opencode")]
        folders += [self.work / folder for folder in (".claude", ".claude/commands", ".gemini", ".opencode")]
        for folder in folders:
            folder.mkdir(parents=True)
        before = snapshot(self.scratch, skip=())
        for (agent, part, scope), place in PLACES.items():
            with self.subTest(f"{agent} {part} {scope}"):
                for verb in ("install", "uninstall"):
                    self.agents(verb, agent, f"--{part}", f"--{scope}", "--yes")
                self.assertEqual(snapshot(self.scratch, skip=()), before)
        for verb in ("install", "uninstall"):
            self.agents(verb, "claude", "--project", "--yes")
        self.assertEqual(snapshot(self.scratch, skip=()), before)
        self.assertEqual([os.listxattr(folder) for folder in folders], [[]] * len(folders))

    def test_an_existing_file_is_restored_byte_by_byte(self):
        for (agent, part, scope), place in PLACES.items():
            if place.endswith(".js") or scope == "user":
                continue
            file = self.scratch / place
            for text in TOMLS if place.endswith(".toml") else TEXTS:
                with self.subTest(f"{agent} {part}: {text[:60]!r}"):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(text.encode())
                    options = (f"--{part}", f"--{scope}", "--yes")
                    self.assertEqual(self.states("install", agent, *options), ["added"])
                    with_entry = file.read_bytes()
                    self.assertNotEqual(with_entry, text.encode())
                    written = iter(with_entry)
                    self.assertTrue(all(byte in written for byte in text.encode()), "more than additions")
                    self.assertEqual(self.states("install", agent, *options), ["present"])
                    self.assertEqual(file.read_bytes(), with_entry)
                    self.assertEqual(self.states("uninstall", agent, *options), ["removed"])
                    self.assertEqual(file.read_bytes(), text.encode())

    def test_all_parts_of_an_agent_are_installed_and_removed_together(self):
        for agent in ("codex", "claude", "gemini", "opencode"):
            for text in (None, CODEX if agent == "codex" else JSON):
                file = self.scratch / PLACES[agent, "mcp", "user" if agent == "codex" else "project"]
                if text is not None:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)
                before = snapshot(self.scratch, skip=())
                self.assertEqual(self.states("install", agent, "--yes"), ["added"] * 6)
                self.assertEqual(self.states("uninstall", agent, "--yes"), ["removed"] * 6)
                self.assertEqual(snapshot(self.scratch, skip=()), before)

    def test_the_written_configuration_has_the_form_that_agents_read(self):
        self.agents("install", "claude", "--yes")
        server = json.loads((self.work / ".mcp.json").read_text())["mcpServers"]["galley"]
        self.assertEqual(server, {"command": "galley", "args": ["mcp", "--agent", "claude"]})
        hook = json.loads((self.work / ".claude/settings.json").read_text())["hooks"]["PreToolUse"][0]
        self.assertEqual((hook["matcher"], hook["hooks"][0]["onFailure"]), ("*", "block"))
        self.assertTrue(hook["hooks"][0]["command"].endswith("agent-hook --agent claude || exit 2"))
        # A report of what is done must not stop the agent, nor lose a person's prompt.
        hooks = json.loads((self.work / ".claude/settings.json").read_text())["hooks"]
        for event in ("PostToolUse", "UserPromptSubmit", "Stop"):
            self.assertTrue(hooks[event][0]["hooks"][0]["command"].endswith("agent-hook --agent claude || exit 0"))
        self.agents("install", "gemini", "--yes")
        settings = json.loads((self.work / ".gemini/settings.json").read_text())
        self.assertEqual(settings["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 60000)
        self.assertEqual(sorted(settings["hooks"]), ["AfterAgent", "AfterTool", "BeforeAgent", "BeforeTool"])
        self.assertIn("gemini", settings["mcpServers"]["galley"]["args"])
        self.agents("install", "opencode", "--yes")
        server = json.loads((self.work / "opencode.json").read_text())["mcp"]["galley"]
        self.assertEqual(server["type"], "local")
        self.agents("install", "codex", "--yes", env={"CODEX_HOME": str(self.scratch / "own")})
        text = (self.scratch / "own" / "config.toml").read_text()
        self.assertIn("[mcp_servers.galley]\n", text)
        for event in ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"):
            self.assertIn(f"[[hooks.{event}.hooks]]\n", text)

    def test_the_folder_that_an_agents_variable_names_is_used(self):
        own = self.scratch / "own"
        own.mkdir()
        files = {"codex": ("CODEX_HOME", ["config.toml", "skills/galley-undo/SKILL.md"]),
                 "claude": ("CLAUDE_CONFIG_DIR", ["settings.json", ".claude.json", "commands/galley-undo.md"]),
                 "gemini": ("GEMINI_CLI_HOME", [".gemini/settings.json", ".gemini/commands/galley-undo.toml"])}
        for agent, (variable, names) in files.items():
            if agent != "gemini":  # a folder .gemini is protected everywhere
                refused = self.agents("install", agent, "--user", "--yes", env={variable: "here"}, expect=1)
                self.assertEqual(json.loads(refused.stdout)["reason"], "agents.folder_in_workspace")
                self.assertFalse((self.work / "here").exists())
            for value in (str(own), "../own"):
                with self.subTest(f"{variable}={value}"):
                    for verb, is_there in (("install", True), ("uninstall", False)):
                        self.agents(verb, agent, "--user", "--yes", env={variable: value})
                        self.assertEqual([(own / name).exists() for name in names], [is_there] * len(names))
                    self.assertEqual(list(self.home.iterdir()), [])

    def test_a_second_hook_of_an_agent_is_told(self):
        for agent in ("claude", "gemini", "opencode", "codex"):
            with self.subTest(agent):
                scopes = ("user", "project")
                for scope, other in (scopes, scopes[::-1]):
                    said = self.galley("agents", "install", agent, "--hook", f"--{scope}", "--yes", expect=0)
                    told = b"galley agents uninstall %s --hook --%s" % (agent.encode(), other.encode())
                    self.assertEqual(told in said.stdout + said.stderr, scope == "project", said.stderr)
                self.galley("agents", "uninstall", agent, "--hook", "--project", "--yes", expect=0)
                said = self.galley("agents", "install", agent, "--hook", "--user", "--yes", expect=0)
                self.assertNotIn(b"One is enough", said.stdout + said.stderr)

    def test_a_hook_that_would_not_run_is_not_installed(self):
        off = {"claude": [("work/.claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
                          ("work/.claude/settings.local.json", '\ufeff{"disableAllHooks": true, /* x */}', "disableAllHooks"),
                          ("home/.claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks")],
               "gemini": [("work/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled"),
                          ("home/.gemini/settings.json", '{"hooksConfig": {"disabled": ["galley"]}}', "hooksConfig.disabled"),
                          ("work/.gemini/settings.json", '{"tools": {"enableHooks": false}}', "tools.enableHooks")],
               "codex": [("home/.codex/config.toml", "[features]\nhooks = false\n", "features.hooks"),
                         ("work/.codex/config.toml", "features.codex_hooks = false\n", "features.codex_hooks")]}
        for agent, cases in off.items():
            for place, text, key in cases:
                with self.subTest(f"{agent} {place} {key}"):
                    file = self.scratch / place
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)
                    before = snapshot(self.scratch, skip=())
                    said = json.loads(self.agents("install", agent, "--yes", expect=1).stdout)
                    self.assertEqual(said["reason"], "agents.hooks_off")
                    self.assertIn(f"{key} in {file} switches the hooks off", said["message"])
                    self.assertEqual(snapshot(self.scratch, skip=()), before)
                    self.agents("install", agent, "--commands", "--yes")
                    self.agents("uninstall", agent, "--yes")
                    file.unlink()

    def test_a_hook_that_is_switched_off_later_is_listed_as_disabled(self):
        self.agents("install", "claude", "--hook", "--yes")
        local = self.work / ".claude" / "settings.local.json"
        for text, state in (('{"disableAllHooks": true}', "disabled"), ('{"disableAllHooks": false}', "present")):
            local.write_text(text)
            listed = json.loads(self.galley("--json", "agents", "list", expect=0).stdout)["entries"]
            self.assertEqual([one["state"] for one in listed if one["agent"] == "claude" and one["part"] == "hook"
                              and one["scope"] == "project"], [state])
        # The nearer file counts.
        (self.home / ".claude").mkdir()
        (self.home / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
        self.assertEqual(self.states("install", "claude", "--hook", "--yes"), ["present"])

    def test_an_install_of_an_earlier_version_is_completed(self):
        self.agents("install", "claude", "--hook", "--yes")
        file = self.work / ".claude/settings.json"
        whole = json.loads(file.read_text())
        file.write_text(json.dumps({"hooks": {"PreToolUse": whole["hooks"]["PreToolUse"]}}))
        listed = json.loads(self.galley("--json", "agents", "list", expect=0).stdout)["entries"]
        self.assertEqual([entry["state"] for entry in listed if entry["file"] == str(file)], ["incomplete"])
        self.agents("install", "claude", "--hook", "--yes")
        self.assertEqual(json.loads(file.read_text()), whole)

    def test_additions_of_a_person_survive_uninstall(self):
        file = self.work / ".mcp.json"
        self.agents("install", "claude", "--mcp", "--yes")
        document = json.loads(file.read_text())
        document["mcpServers"]["mine"] = {"command": "mine"}
        file.write_text(json.dumps(document, indent=4))
        self.assertEqual(self.states("uninstall", "claude", "--mcp", "--yes"), ["removed"])
        self.assertEqual(json.loads(file.read_text()), {"mcpServers": {"mine": {"command": "mine"}}})
        config = self.home / ".codex" / "config.toml"
        self.agents("install", "codex", "--yes")
        with config.open("a") as more:
            more.write("\n[mcp_servers.mine]\ncommand = 'mine' # still\n")
        self.assertEqual(self.states("uninstall", "codex", "--yes"), ["removed"] * 6)
        self.assertEqual(config.read_text().strip(), "[mcp_servers.mine]\ncommand = 'mine' # still")


class Commands(InstallCase):
    """What a person types in an agent to list, show, undo and redo turns."""

    def files(self, agent, scope):
        return {verb: self.scratch / COMMAND_PLACES[agent, scope].format(verb) for verb in COMMANDS}

    def test_they_are_created_and_removed_again_with_their_folders(self):
        before = snapshot(self.scratch, skip=())
        for agent, scope in COMMAND_PLACES:
            with self.subTest(f"{agent} {scope}"):
                options = ("--commands", f"--{scope}", "--yes")
                self.assertEqual(self.states("install", agent, *options), ["added"] * 4)
                for verb, file in self.files(agent, scope).items():
                    self.assertIn(f"`galley {verb}", file.read_text())
                self.assertEqual(self.states("install", agent, *options), ["present"] * 4)
                self.assertEqual(self.states("uninstall", agent, *options), ["removed"] * 4)
                self.assertEqual(self.states("uninstall", agent, *options), ["absent"] * 4)
                self.assertEqual(snapshot(self.scratch, skip=()), before)

    def test_commands_of_a_person_stay(self):
        for agent, scope in COMMAND_PLACES:
            with self.subTest(f"{agent} {scope}"):
                mine = self.files(agent, scope)["undo"]
                mine.parent.mkdir(parents=True)
                mine.write_text("mine\n")
                before = snapshot(self.scratch, skip=())
                for verb in ("install", "uninstall"):
                    said = self.galley("agents", verb, agent, f"--{scope}", "--commands", "--yes", expect=1)
                    self.assert_one_clear_message(said)
                    self.assertIn(str(mine), said.stderr.decode())
                    self.assertEqual(snapshot(self.scratch, skip=()), before)
                mine.rename(mine.with_name("other"))
                before = snapshot(self.scratch, skip=())
                self.agents("install", agent, f"--{scope}", "--commands", "--yes")
                self.agents("uninstall", agent, f"--{scope}", "--commands", "--yes")
                self.assertEqual(snapshot(self.scratch, skip=()), before)

    def test_a_changed_command_stays(self):
        self.agents("install", "claude", "--commands", "--yes")
        undo = self.files("claude", "project")["undo"]
        undo.write_text(undo.read_text() + "and more\n")
        before = snapshot(self.scratch, skip=())
        said = self.galley("agents", "uninstall", "claude", "--yes", expect=1)
        self.assertIn("nothing was changed", said.stderr.decode())
        self.assertEqual(snapshot(self.scratch, skip=()), before)

    def test_uninstall_of_all_parts_passes_over_those_that_galley_does_not_write(self):
        self.agents("install", "claude", "--hook", "--user", "--yes")
        self.assertIn("removed", self.states("uninstall", "claude", "--user", "--yes"))
        self.assertEqual(set(self.states("uninstall", "claude", "--hook", "--user", "--yes")), {"absent"})

    def test_the_files_have_the_form_that_agents_read(self):
        for agent in ("codex", "claude", "gemini", "opencode"):
            self.agents("install", agent, "--commands", "--project", "--yes")
            for verb, file in self.files(agent, "project").items():
                text = file.read_text()
                if agent == "gemini":
                    read = tomllib.loads(text)
                    self.assertEqual(sorted(read), ["description", "prompt"])
                    body = read["prompt"]
                else:
                    _, head, body = text.split("---\n", 2)
                    keys = [line.split(":")[0] for line in head.splitlines() if not line.startswith("#")]
                    self.assertEqual(keys, {"codex": ["name", "description"], "opencode": ["description"],
                                            "claude": ["description", "disable-model-invocation"]}[agent])
                    self.assertEqual(text.splitlines()[0], "---")
                turn = "" if verb == "turns" else " --turn last"
                self.assertIn(f"`galley {verb}{turn}`", body)
                arguments = {"codex": None, "gemini": "{{args}}"}.get(agent, "$ARGUMENTS")
                if arguments and turn:
                    self.assertEqual(body.count(arguments), 1)

    def test_a_message_names_them_once(self):
        said = self.galley("agents", "install", "gemini", "--commands", "--yes", expect=0)
        lines = [line for line in (said.stdout + said.stderr).decode().splitlines() if "gemini commands:" in line]
        self.assertEqual(lines, [f"gemini commands: added in {self.work}/.gemini/commands/galley-turns.toml and 3 more"])
        listed = self.galley("agents", "list", expect=0).stdout.decode().splitlines()
        found = [line for line in listed if line.startswith("gemini    commands project")]
        self.assertEqual(len(found), 1, listed)
        self.assertIn(" present ", found[0])

    def test_an_agent_may_not_change_them(self):
        self.agents("install", "claude", "--yes")
        self.agents("install", "opencode", "--yes")
        for file in (*self.files("claude", "project").values(), *self.files("opencode", "project").values()):
            with self.subTest(file.name):
                before = file.read_bytes()
                edit = json.dumps([{"tool": "Write", "args": {"file_path": str(file.relative_to(self.work)), "content": "x"}}])
                refused = self.galley("--agent", "claude", "apply", "--format", "calls", stdin=edit.encode(), expect=1)
                self.assertIn(file.name.encode(), refused.stdout + refused.stderr)
                self.assertEqual(file.read_bytes(), before)


class Refusals(InstallCase):
    def refused(self, agent, *options, verb="install", status=1):
        before = snapshot(self.scratch, skip=())
        said = self.galley("agents", verb, agent, *options, "--yes", expect=status)
        self.assert_one_clear_message(said)
        self.assertEqual(snapshot(self.scratch, skip=()), before)
        return said.stderr.decode()

    def test_an_entry_of_another_program_stays(self):
        (self.work / ".mcp.json").write_text('{\n  "mcpServers": {\n    "galley": {"command": "mine"}}}\n')
        self.assertIn(".mcp.json:3:", self.refused("claude", "--mcp"))
        self.assertIn(".mcp.json:3:", self.refused("claude", "--mcp", verb="uninstall"))
        config = self.home / ".codex" / "config.toml"
        config.parent.mkdir()
        config.write_text("a = 1\n[mcp_servers]\ngalley.command = 'mine'\n")
        self.assertIn("config.toml:3:", self.refused("codex", "--mcp"))
        plugin = self.work / ".opencode" / "plugin" / "galley.js"
        plugin.parent.mkdir(parents=True)
        plugin.write_text("// mine\n")
        self.refused("opencode", "--hook")
        self.refused("opencode", "--hook", verb="uninstall")

    def test_a_changed_entry_of_ours_stays(self):
        for agent, scope, part in (("claude", "project", "mcp"), ("codex", "user", "mcp"), ("opencode", "project", "hook")):
            self.agents("install", agent, f"--{part}", "--yes")
            file = self.scratch / PLACES[agent, part, scope]
            file.write_text(file.read_text().replace("mcp\"", "mcp2\"").replace("60_000", "1"))
            self.assertIn("nothing was changed", self.refused(agent, f"--{part}", verb="uninstall"))

    def test_a_broken_file_is_one_error_with_its_line(self):
        for text, line in (("{\n\n  x\n", 3), ("{", 1), ("[]", 1), ("", 1), ("{} {}", 1), ('{"a": 1,, "b": 2}', 1), ("{,}", 1),
                           ('{"mcpServers": []}', 1), ("{ /* no end", 1), ('{"a": "\xff"}', 1)):
            with self.subTest(text[:30]):
                (self.work / ".mcp.json").write_bytes(text.encode("latin-1"))
                said = self.refused("claude", "--mcp", status=(1, 2))
                self.assertIn(".mcp.json", said)
                self.assertRegex(said, rf":{line}\b|line {line}\b")
        for text in ('{"a": 1, "a": 2}', "[" * 100000, '{"a":' * 100000):
            (self.work / ".mcp.json").write_text(text)
            self.assertIn(".mcp.json", self.refused("claude", "--mcp", status=2))
        config = self.home / ".codex" / "config.toml"
        config.parent.mkdir()
        for text, line in (("a = \n", 1), ("\n[x\n", 2), ("mcp_servers = {}\n", 1), ("[[mcp_servers]]\n", 1), ("mcp_servers = 1\n", 1),
                           ("a." * 1000 + "b = 1\n", 1)):
            with self.subTest(text[:30]):
                config.write_text(text)
                self.assertRegex(self.refused("codex", "--mcp", status=2), r"config\.toml:")

    def test_an_entry_that_does_not_fit_is_named_by_its_line_in_the_file(self):
        (self.work / ".claude").mkdir()
        for text, line in (('{"hooks": {"Stop": {}}}\n', 1), ('{"hooks": {\n  "PostToolUse": [],\n  "Stop": 1}}\n', 3)):
            (self.work / ".claude" / "settings.json").write_text(text)
            self.assertIn(f"settings.json:{line}: 'Stop'", self.refused("claude", "--hook", status=(1, 2)))

    def test_a_link_is_followed_at_home_and_never_in_a_project(self):
        real = self.scratch / "dotfiles" / "settings.json"
        real.parent.mkdir()
        real.write_text("{}\n")
        (self.home / ".gemini").mkdir()
        (self.home / ".gemini" / "settings.json").symlink_to("../../dotfiles/settings.json")
        self.agents("install", "gemini", "--user", "--yes")
        self.assertTrue((self.home / ".gemini" / "settings.json").is_symlink())
        self.assertIn("galley", real.read_text())
        self.agents("uninstall", "gemini", "--user", "--yes")
        self.assertEqual(real.read_text(), "{}\n")
        real.unlink()
        said = self.refused("gemini", "--user")
        self.assertIn("settings.json is a link to a file that does not exist: make that file, or remove the link", said)
        real.write_text("{}\n")
        (self.work / ".mcp.json").symlink_to(real)
        self.assertIn("link", self.refused("claude", "--mcp"))
        (self.work / ".gemini").symlink_to(self.home / ".gemini")
        self.refused("gemini", "--project")

    def test_modes_stay_and_nothing_else_is_left(self):
        (self.home / ".gemini").mkdir(mode=0o700)
        file = self.home / ".gemini" / "settings.json"
        for mode in (0o600, 0o640, 0o644):
            file.write_text('{"key": "secret"}\n')
            file.chmod(mode)
            self.agents("install", "gemini", "--mcp", "--hook", "--user", "--yes")
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), mode)
            self.assertEqual(os.listdir(file.parent), ["settings.json"])
            self.agents("uninstall", "gemini", "--user", "--yes")
        self.agents("install", "codex", "--yes")
        self.assertEqual(stat.S_IMODE((self.home / ".codex" / "config.toml").stat().st_mode), 0o600)

    def test_a_read_only_home_is_one_error_and_nothing_is_written(self):
        need_own_mounts()
        settings = self.home / ".gemini" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(JSON)
        before = snapshot(self.scratch, skip=())
        for agent, *parts in (("codex",), ("claude", "--hook", "--user"), ("gemini", "--user"), ("all", "--hook", "--user")):
            with self.subTest(agent):
                command = 'mount --bind "$HOME" "$HOME" && mount -o remount,bind,ro "$HOME" && exec "$@"'
                said = subprocess.run(["unshare", "-rm", "sh", "-c", command, "sh", GALLEY, "-C", self.work, "agents", "install",
                                       agent, *parts, "--yes"], capture_output=True, check=False,
                                      env={**os.environ, **self.environment})
                self.assertEqual(said.returncode, 3, said.stderr)
                self.assert_one_clear_message(said)
                self.assertIn(b"ead-only", said.stderr)
                self.assertEqual(snapshot(self.scratch, skip=()), before)

    def test_a_foreign_value_is_named_by_its_line_in_the_file(self):
        settings = self.home / ".gemini" / "settings.json"
        settings.parent.mkdir()
        settings.write_text('{"hooks": []}')
        said = self.galley("agents", "install", "gemini", "--user", "--yes", expect=1).stderr.decode()
        self.assertIn("settings.json:1: 'hooks' is not what", said)
        self.assertEqual(settings.read_text(), '{"hooks": []}')

    def test_nothing_is_written_without_a_yes(self):
        before = snapshot(self.scratch, skip=())
        for agent in ("codex", "claude", "gemini", "opencode"):
            shown = self.galley("agents", "install", agent, "--dry-run", expect=0).stdout.decode()
            self.assertIn("+", shown)
            self.assertIn("galley", shown)
        self.assertEqual(snapshot(self.scratch, skip=()), before)
        own = Path(self.environment["XDG_CONFIG_HOME"]) / "galley" / "config.toml"
        own.write_text(own.read_text().replace("unattended = true", ""))
        said = self.galley("agents", "install", "claude", expect=2, start_new_session=True)
        self.assertIn(b"--yes", said.stderr)
        self.assertFalse((self.work / ".mcp.json").exists())

    def test_nothing_is_written_that_an_agent_would_not_find(self):
        """npx and its like put their own folders on PATH, for their own command only, and remove them some day."""
        caches = [self.home / ".npm" / "_npx" / "3f1", self.home / ".cache" / "pnpm" / "dlx" / "3f1", self.scratch / "xfs-1" / "dlx-7",
                  self.scratch / "bunx-0-galley@latest"]
        bins = [cache / "node_modules" / ".bin" for cache in caches]
        local = self.work / "node_modules" / ".bin"
        for folder in (*bins, local):
            folder.mkdir(parents=True)
            (folder / "galley").symlink_to(Path(GALLEY).resolve())
        linked = self.scratch / "linked"  # a person's link into a folder that goes away
        linked.mkdir()
        (linked / "galley").symlink_to(self.one_file(bins[0].parent))
        before = snapshot(self.scratch, skip=())
        for folders in ("", f"{bins[0]}:{local}:", *(f"{folder}:" for folder in (*bins, linked))):
            path = {"PATH": f"{folders}/usr/bin:/bin"}
            for agent, *parts in (("claude",), ("codex", "--hook"), ("qwen", "--wrapper"), ("all",)):
                with self.subTest(agent, path=path):
                    (self.home / ".gemini").mkdir()
                    said = json.loads(self.agents("install", agent, *parts, "--yes", env=path, expect=(1, 3)).stdout)
                    self.assertEqual(said["reason"], "agents.not_on_path")
                    (self.home / ".gemini").rmdir()
                    self.assertEqual(snapshot(self.scratch, skip=()), before)
        path = {"PATH": f"{bins[0]}:{self.programs}:/usr/bin:/bin"}
        self.assertEqual(self.states("install", "claude", "--hook", "--yes", env=path), ["added"])
        # The way back is open.
        self.assertEqual(self.states("uninstall", "claude", "--hook", "--yes", env={"PATH": "/usr/bin:/bin"}), ["removed"])

    def one_file(self, folder):
        """A program of its own in the folder, as npm puts it there."""
        file = folder / "lib" / "the program"
        file.parent.mkdir(parents=True)
        shutil.copy2(GALLEY, file)
        return file

    def test_the_way_out_of_a_program_that_goes_away_works_as_it_is_written(self):
        """It must not name a package of a registry, which may be anybody's."""
        own = self.home / ".local" / "bin"
        for program in (self.one_file(self.home / ".npm" / "_npx" / "3f1"), Path(GALLEY).resolve()):
            with self.subTest(program):
                install = [program, "-C", self.work, "agents", "install", "claude", "--hook", "--yes"]
                environment = {**os.environ, **self.environment, "PATH": f"{own}:/usr/bin:/bin"}
                refused = subprocess.run(install, capture_output=True, check=False, env=environment)
                self.assertEqual(refused.returncode, 1, refused.stderr)
                way = refused.stderr.decode().strip().split("Put it there: ")[1]
                self.assertNotIn("npm ", way)
                subprocess.run(["sh", "-c", way], check=True, env=environment)
                shutil.rmtree(self.home / ".npm", ignore_errors=True)
                subprocess.run([own / "galley", *install[1:]], check=True, capture_output=True, env=environment)
                self.galley("agents", "uninstall", "claude", "--hook", "--yes", expect=0)
                for folder, said in ((program, way + ". Add ~/.local/bin to your PATH"), (own / "galley", "Add ~/.local/bin to your PATH")):
                    if not folder.exists():
                        continue
                    elsewhere = subprocess.run([folder, *install[1:]], capture_output=True, check=False,
                                               env={**environment, "PATH": "/usr/bin:/bin"})
                    self.assertIn(said, elsewhere.stderr.decode())
                (own / "galley").unlink()

    def test_agents_do_not_configure_themselves(self):
        self.galley("--agent", "claude", "agents", "install", "claude", "--yes", expect=1)
        self.galley("agents", "install", "claude", "--yes", env={"GALLEY_SANDBOX": "1"}, expect=1)
        self.assertFalse((self.work / ".mcp.json").exists())

    def test_an_unsupported_part_of_an_agent_is_an_error(self):
        self.assertIn(b"--user", self.galley("agents", "install", "claude", "--wrapper", "--project", expect=2).stderr)
        self.assertIn(b"--project", self.galley("agents", "install", "claude", "--run", "--project", expect=2).stderr)
        self.assertIn(b"--run", self.galley("agents", "install", "qwen", expect=2).stderr)
        self.assertIn(b"codex", self.galley("agents", "install", "codx", expect=2).stderr)


class Hints(InstallCase):
    def test_a_project_hook_warns_that_it_does_not_apply_in_subdirectories(self):
        for agent in ("claude", "gemini"):
            for scope, is_said in (("--project", True), ("--user", False)):
                said = self.galley("agents", "install", agent, "--hook", scope, "--yes", expect=0)
                self.assertEqual(b"not in folders below" in said.stdout + said.stderr, is_said, agent)


class Lists(InstallCase):
    def states_of_all(self):
        listed = json.loads(self.galley("--json", "agents", "list", expect=0).stdout)["entries"]
        return {(entry["agent"], entry["part"], entry["scope"]): entry["state"] for entry in listed}

    def test_each_place_is_listed_with_its_state(self):
        self.assertEqual(set(self.states_of_all()), set(PLACES) | {
            (agent, part, "user") for agent in AGENTS for part in ("wrapper", "run")} | {
            (agent, "commands", scope) for agent, scope in COMMAND_PLACES})
        self.assertEqual(set(self.states_of_all().values()), {"absent"})
        self.agents("install", "gemini", "--hook", "--yes")
        (self.work / ".mcp.json").write_text('{"mcpServers": {"galley": 1}}')
        (self.work / "opencode.jsonc").write_text("{")
        states = self.states_of_all()
        self.assertEqual(states["gemini", "hook", "project"], "present")
        self.assertEqual(states["gemini", "mcp", "project"], "absent")
        self.assertEqual(states["claude", "mcp", "project"], "foreign")
        self.assertEqual(states["opencode", "mcp", "project"], "unreadable")
        self.assertIn(b"gemini", self.galley("agents", "list", expect=0).stdout)


class Wrappers(InstallCase):
    def test_the_wrapper_starts_the_agent_in_a_run_with_its_arguments(self):
        programs = self.scratch / "fake"
        programs.mkdir()
        fake = programs / "galley"
        fake.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        fake.chmod(0o755)
        with_values = re.findall("^  --([a-z-]+) [A-Z]", self.galley("run", "--help", expect=0).stdout.decode(), re.M)
        self.assertIn("env", with_values)
        for agent in AGENTS:
            self.agents("install", agent, "--wrapper", "--yes")
            script = self.home / ".local" / "bin" / f"galley-{agent}"
            environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(self.home)}
            self.assertEqual(self.run_script(script, environment, "exec", "two words", "--", "-x").splitlines(),
                             ["run", agent, "exec", "two words", "--", "-x"])
            for words, expected in (
                    ((), ["run", agent]), (("--galley-commit",), ["run", "--commit", agent]),
                    (("--galley-allow-write=/a b", "--galley-commit", "it's", "--galley-x", "", '"$HOME"', "yes:--galley-y"),
                     ["run", "--allow-write=/a b", "--commit", agent, "it's", "--galley-x", "", '"$HOME"', "yes:--galley-y"]),
                    *(((f"--galley-{option}", "a b", "--galley-keep", "x"), ["run", f"--{option}", "a b", "--keep", agent, "x"])
                      for option in with_values),
                    (("--galley-env",), ["run", "--env"]),
                    (("--galley-", "-m", "--galley-x"), ["run", agent, "--galley-", "-m", "--galley-x"])):
                with self.subTest(agent, words=words):
                    self.assertEqual(self.run_script(script, environment, *words).splitlines(), expected)
            self.agents("uninstall", agent, "--wrapper", "--yes")
            self.assertFalse(script.exists())

    def run_script(self, script, environment, *words):
        import subprocess
        return subprocess.run([str(script), *words], env=environment, capture_output=True,
                              check=True).stdout.decode()


class All(InstallCase):
    """`all`: each agent that is found, in one step."""

    def setUp(self):
        super().setUp()
        self.environment["PATH"] = f"{self.programs}:/usr/bin:/bin"

    def have(self, *names):
        for name in names:
            (self.programs / name).write_text("#!/bin/sh\n")
            (self.programs / name).chmod(0o755)

    def all(self, verb, *options, **more):
        return json.loads(self.agents(verb, "all", *options, **more).stdout)

    def test_each_found_agent_is_installed_once_and_removed_byte_by_byte(self):
        self.have("codex", "claude", "qwen")
        (self.home / ".gemini").mkdir()
        (self.home / ".gemini" / "oauth.json").write_text("{}")
        (self.work / ".mcp.json").write_text(JSON)
        (self.home / ".codex").mkdir()
        (self.home / ".codex" / "config.toml").write_text(CODEX)
        before = snapshot(self.scratch, skip=())
        shown = self.all("install", "--dry-run")
        self.assertEqual(snapshot(self.scratch, skip=()), before)
        self.assertIn("agent-hook --agent gemini", shown["diff"])
        done = self.all("install", "--yes")
        self.assertEqual(done["diff"], shown["diff"])
        self.assertEqual({(entry["agent"], entry["part"]): entry["state"] for entry in done["entries"]},
                         {(agent, part): "added" for agent in ("codex", "claude", "gemini")
                          for part in ("mcp", "hook", "commands")})
        why = {one["agent"]: one["message"] for one in done["skipped"]}
        self.assertEqual(set(why), {"opencode", "qwen", "cline", "goose", "amp", "cn"})
        self.assertIn("no program 'opencode'", why["opencode"])
        self.assertIn(f"{self.environment['XDG_CONFIG_HOME']}/opencode", why["opencode"])
        self.assertIn("--wrapper", why["qwen"])
        with_all = snapshot(self.scratch, skip=())
        again = self.all("install", "--yes")
        self.assertEqual(({entry["state"] for entry in again["entries"]}, again["diff"]), ({"present"}, ""))
        self.assertEqual(snapshot(self.scratch, skip=()), with_all)
        # An agent that was removed since loses its entries too.
        (self.programs / "claude").unlink()
        removed = self.all("uninstall", "--yes")
        self.assertEqual({entry["agent"] for entry in removed["entries"] if entry["state"] == "removed"},
                         {"codex", "claude", "gemini"})
        after = snapshot(self.scratch, skip=())
        self.have("claude")
        self.assertEqual({**after, **{path: what for path, what in snapshot(self.scratch, skip=()).items()
                                      if path.startswith("bin")}}, before)

    def test_each_part_is_installed_for_all_projects(self):
        self.have("claude", "gemini")
        (self.home / ".claude.json").write_text('{"numStartups": 3}')
        self.galley("agents", "install", "all", "--user", "--yes", expect=0)
        self.assertEqual(json.loads((self.home / ".claude.json").read_text()), {
            "numStartups": 3, "mcpServers": {"galley": {"command": "galley", "args": ["mcp", "--agent", "claude"]}}})
        self.assertTrue((self.home / ".claude" / "settings.json").exists())
        self.assertIn("mcpServers", (self.home / ".gemini" / "settings.json").read_text())
        done = self.all("install", "--wrapper", "--run", "--yes")
        self.assertEqual({entry["agent"] for entry in done["entries"]}, {"claude", "gemini"})

    def test_all_leaves_out_a_hook_that_would_not_run(self):
        self.have("claude", "gemini")
        (self.work / ".claude").mkdir()
        (self.work / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
        said = self.galley("agents", "install", "all", "--hook", "--yes", expect=0)
        lines = (said.stdout + said.stderr).decode()
        self.assertRegex(lines, r"claude is left out: disableAllHooks in \S+ switches the hooks off")
        self.assertIn("gemini hook: added", lines)

    def test_the_part_that_is_left_out_is_named(self):
        self.have("claude", "qwen")
        said = self.galley("agents", "install", "all", "--wrapper", "--hook", "--project", "--yes", expect=0)
        lines = (said.stdout + said.stderr).decode()
        self.assertIn("claude hook: added", lines)
        self.assertIn("claude wrapper is left out: ", lines)
        self.assertNotIn("claude is left out", lines)
        said = self.galley("agents", "install", "all", "--mcp", "--hook", "--user", "--yes", expect=0)
        self.assertEqual((said.stdout + said.stderr).decode().count("qwen is left out: "), 1)

    def test_a_program_of_the_workspace_is_not_an_agent(self):
        (self.work / "codex").write_text("#!/bin/sh\n")
        (self.work / "codex").chmod(0o755)
        done = self.all("install", "--yes", env={"PATH": f"{self.work}:/usr/bin:/bin"})
        self.assertEqual(done["entries"], [])
        self.assertFalse((self.home / ".codex").exists())

    def test_an_entry_that_cannot_be_added_stops_all(self):
        self.have("codex", "claude", "gemini", "opencode")
        (self.work / "opencode.json").write_text('{"mcp": {"galley": 1}}')
        before = snapshot(self.scratch, skip=())
        said = self.galley("agents", "install", "all", "--yes", expect=1)
        self.assert_one_clear_message(said)
        self.assertIn("opencode.json:1", said.stderr.decode())
        self.assertEqual(snapshot(self.scratch, skip=()), before)

    def test_a_write_that_fails_takes_the_earlier_ones_back(self):
        """The plugin of opencode is the only long file, and it is written after those of Gemini CLI."""
        self.have("gemini", "claude", "opencode")
        (self.work / ".mcp.json").write_text("{}")
        before = snapshot(self.scratch, skip=())
        said = self.galley("agents", "install", "all", "--yes", expect=3, restore_signals=False,  # SIGXFSZ stays ignored
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
        self.assert_one_clear_message(said)
        self.assertEqual(snapshot(self.scratch, skip=()), before)
        self.all("install", "--yes")
        with_all = snapshot(self.scratch, skip=())
        self.assertNotEqual(with_all, before)


if __name__ == "__main__":
    hostile.main()
