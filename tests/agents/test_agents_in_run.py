#!/usr/bin/env python3
"""Real agents in Galley's sandbox, with their own tools and unchanged: what their edits and their shells did is in one diff, the
gate refuses it and the tree is untouched, and what they mended is committed. The model is a script on loopback."""

import json
import re
import shutil

from agent_case import AgentCase, main
from agents import Codex, OpenCode, fetched
from model_server import Call, ModelServer, Say

RULES = """
[sandbox]
network = true
readable = {folders}

[[validator]]
builtin = "json"

[[validator]]
name = "tests"
command = ["python3", "-B", "-m", "unittest"]
paths = ["*.py", "data/"]
"""

RATE = '    "DE": { "base": 3.90, "per_kg": 0.80 },\n'
DEARER = RATE.replace("3.90", "3.80")
WITHOUT_COMMA = DEARER.replace("},", "}")
NOTE = "The rate of DE was 3.90 before.\n"
CARELESSLY_CHANGED = {"data/rates.json": "modify", "docs/note.txt": "create", "docs/old.txt": "rename",
                      "docs/rates-2019.txt": "delete", "bin/tidy": "mode"}


class CodexTools:
    """codex edits by patches, and has a shell."""

    agent = Codex

    @staticmethod
    def edit(_work, path, old, new):
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}+{new}*** End Patch\n"
        return Call("apply_patch", patch, "custom")

    @staticmethod
    def shell(line):
        return Call("exec_command", {"cmd": line})


class OpenCodeTools:
    """opencode replaces strings, and has a shell."""

    agent = OpenCode

    @staticmethod
    def edit(work, path, old, new):
        return Call("edit", {"filePath": f"{work}/{path}", "oldString": old, "newString": new})

    @staticmethod
    def shell(line):
        return Call("bash", {"command": line, "description": "a line for the shell"})


class InSandbox:
    """What both agents do; `tools` are their own."""

    tools = None

    def setUp(self):
        super().setUp()
        self.need_walls()

    def trust_rules(self, agent):
        modules, _ = fetched()
        (self.work / "galley.toml").write_text(RULES.format(folders=json.dumps([str(modules), str(agent.home)])))

    def careless(self):
        """The model edits a file and loses a comma; its shell makes a note, moves a file and makes another executable."""
        tools = self.tools
        shown = yield tools.shell("cat data/rates.json")
        assert RATE in shown, shown
        yield tools.edit(self.work, "data/rates.json", RATE, WITHOUT_COMMA)
        shown = yield tools.shell(f"printf '{NOTE.strip()}\\n' > docs/note.txt && mv docs/rates-2019.txt docs/old.txt && "
                                  "chmod a-x bin/tidy && python3 -B bin/quote 1.2 DE || echo status $?")
        assert "Expecting ',' delimiter" in shown, "the shell sees what the edit did\n" + shown
        yield Say("The rate is changed.")

    def mending(self):
        """Told of the refusal, it mends what the validator named."""
        tools = self.tools
        shown = yield tools.shell("cat docs/note.txt; python3 -B -m json.tool data/rates.json || true")
        assert NOTE in shown and "line 5" in shown, shown
        yield tools.edit(self.work, "data/rates.json", WITHOUT_COMMA, DEARER)
        shown = yield tools.shell("sed -i 's/1.2), 5.5)/1.2), 5.4)/' tests/test_quote.py && python3 -B -m unittest 2>&1")
        assert "OK" in shown, shown
        yield Say("Mended.")

    def expected_tree(self):
        """The tree after the commit."""
        expected = self.scratch / "expected"
        shutil.copytree(self.work, expected, symlinks=True)
        rates, test = expected / "data/rates.json", expected / "tests/test_quote.py"
        rates.write_text(rates.read_text().replace(RATE, DEARER))
        test.write_text(test.read_text().replace("1.2), 5.5)", "1.2), 5.4)"))
        (expected / "docs/note.txt").write_text(NOTE)
        (expected / "docs/rates-2019.txt").rename(expected / "docs/old.txt")
        (expected / "bin/tidy").chmod(0o644)
        return expected

    def model(self, script, prompt):
        """One run of the agent inside, with this script for a model."""
        with ModelServer(script) as model:
            agent = self.agent(self.tools.agent, model.url)
            agent.configure()
            self.trust_rules(agent)
            ran = self.run_inside(agent, prompt)
        self.check(model, ran)

    def stages_and_mends(self):
        self.trust_rules(self.agent(self.tools.agent, "http://127.0.0.1:1/v1"))
        original = self.scratch / "original"
        shutil.copytree(self.work, original, symlinks=True)
        expected = self.expected_tree()
        self.begin()

        self.model(self.careless, "Lower the rate of DE to 3.80.")
        self.assert_same_tree(self.work, original)
        self.assertEqual(self.proposed(), CARELESSLY_CHANGED)
        refused = json.loads(self.galley("--json", "commit", expect=1).stdout)
        self.assertEqual(refused["reason"], "gate.validator_failed")
        self.assert_same_tree(self.work, original)

        self.model(self.mending, f"The commit was refused: {refused['message']}")
        self.assert_same_tree(self.work, original)
        self.galley("commit", expect=0)
        self.assert_same_tree(self.work, expected)
        self.galley("undo", expect=0)
        self.assert_same_tree(self.work, original)
        self.galley("audit", "verify", expect=0)

    def proposed(self, *options):
        """What `galley diff` says is done to each path."""
        shown = json.loads(self.galley("--json", "diff", *options, expect=0).stdout)
        return {each["path"]: each["operation"] for each in shown["changes"]}


class InExec(InSandbox):
    """`galley exec`: the agent without a terminal; its home is a copy that goes."""

    def begin(self):
        self.galley("begin", expect=0)

    def run_inside(self, agent, prompt):
        inside = "/tmp/agent"
        values = [f"{name}={value}" for name, value in agent.environment(inside).items()]
        return agent.run_command(
            [str(word) for word in (*self.program, "exec", "--network", "--", "sh", "-c",
                                    'cp -r "$0" "$1" && shift && exec env "$@"', agent.home, inside, *values,
                                    *agent.command(self.work, prompt))], self.work, self.environment_of({}))


class InRun(InSandbox):
    """`galley run`: the agent writes what it keeps to a folder of its own, which is no part of the change."""

    tx = ""

    def begin(self):
        pass

    def run_inside(self, agent, prompt):
        values = [f"{name}={value}" for name, value in agent.environment().items()]
        resumed = ("--resume", self.tx) if self.tx else ()
        ran = agent.run_command(
            [str(word) for word in (*self.program, "run", "--network", "--keep", *resumed, "--allow-write", agent.home, "--",
                                    "env", *values, *agent.command(self.work, prompt))], self.work, self.environment_of({}))
        kept = re.search(r"kept in transaction ([0-9a-f]+)", ran.stderr)
        self.assertTrue(kept, f"{ran.stdout}\n{ran.stderr}")
        self.tx = kept[1]
        return ran


class CodexInExec(InExec, AgentCase):
    tools = CodexTools()

    def test_edits_and_shell_are_one_diff_that_is_refused_mended_and_committed(self):
        self.stages_and_mends()


class OpenCodeInExec(InExec, AgentCase):
    tools = OpenCodeTools()

    def test_edits_and_shell_are_one_diff_that_is_refused_mended_and_committed(self):
        self.stages_and_mends()


class CodexInRun(InRun, AgentCase):
    tools = CodexTools()

    def test_edits_and_shell_are_one_diff_that_is_refused_mended_and_committed(self):
        self.stages_and_mends()


class OpenCodeInRun(InRun, AgentCase):
    tools = OpenCodeTools()

    def test_edits_and_shell_are_one_diff_that_is_refused_mended_and_committed(self):
        self.stages_and_mends()


if __name__ == "__main__":
    main()
