"""Scripted turns of agents through each of the four doors: `galley mcp`, the agent hook, `galley run` and `galley acp`.

A turn mixes edits, commands, misfits with their repair, refusals, conflicts with a person's saves, cancelled calls, calls in
parallel and writes outside of the workspace. scripted_turns.py has the generator, the checks and the variables GALLEY_TURNS and GALLEY_SEED."""

import concurrent.futures
import json
import os
import re
import signal
import subprocess
import threading
import time

import hostile
from acp_editor import AGENT, Editor
from scripted_turns import Block, Turns, replace_command
from support import GALLEY
from terminal_session import is_running, wait_until
from test_acp import AcpCase
from test_agent_hook import EVENTS, SHELLS, HookCase
from test_mcp import McpCase
from test_run import RunCase

EVENTS["qwen"], SHELLS["qwen"] = EVENTS["gemini"], SHELLS["gemini"]  # a fork of Gemini CLI
SHELLS["cline"] = SHELLS["claude"]


class HookDoor(Turns, HookCase):
    DOOR = "hook"
    TOOLS = {"claude": ("Edit", "MultiEdit", "Write"), "codex": ("apply_patch",), "gemini": ("replace", "write_file"),
             "qwen": ("replace", "write_file"), "opencode": ("edit", "write", "multiedit"),
             "cline": ("mcp__files__edit_file", "mcp__files__write_file")}

    def setUp(self):
        super().setUp()
        self.making = threading.Lock()

    def hook(self, agent, text, *options, **more):
        self.calls += 1
        return super().hook(agent, text, *options, *(("--file-server", "files") if agent == "cline" else ()), **more)

    def begin_turn(self, story, player):
        self.prompt(f"turn {story.turns}\nof {player.agent}", player.agent, player.session)

    def is_made_by_agent(self, row):
        return row["tool"] != "exec"

    def request_of(self, story, player, block, text, head=None):
        """Returns a tool of the agent that makes this edit, and its arguments."""
        tool = story.choice.choice(self.TOOLS[player.agent][:1 if head else None])
        old, new = block.edit(text, head)
        path = story.choice.choice((block.path, f"{self.work}/{block.path}"))
        camel = player.agent == "opencode"
        names = ("filePath", "oldString", "newString") if camel else ("file_path", "old_string", "new_string")
        pair = dict(zip(names[1:], (old, new)))
        if tool == "apply_patch":
            lines = [sign + line for sign, side in (("-", old), ("+", new)) for line in side.splitlines(True)]
            return tool, {"command": f"*** Begin Patch\n*** Update File: {block.path}\n@@\n{''.join(lines)}*** End Patch\n"}
        if tool.startswith("mcp__"):
            whole = {"content": story.text_of(block.path).replace(old, new)}
            return tool, {"path": path, **(whole if "write" in tool else {"edits": [{"oldText": old, "newText": new}]})}
        if tool.lower().startswith("write"):
            return tool, {names[0]: path, "content": story.text_of(block.path).replace(old, new)}
        if tool.lower() == "multiedit":
            return tool, {names[0]: path, "edits": [pair]}
        return tool, {names[0]: path, **pair, **({"instruction": "do it"} if tool == "replace" else {})}

    def make(self, block, old, new):
        """What the agent's own tool does. No other call sees half of it."""
        with self.making:
            path, made = self.work / block.path, self.scratch / "made"
            text = path.read_bytes().decode()
            self.assertEqual(text.count(old), 1, (path, old))
            made.write_bytes(text.replace(old, new).encode())
            made.chmod(path.stat().st_mode & 0o7777)
            made.replace(path)

    def edit_block(self, story, player, block, text, request=None):
        tool, arguments = request or self.request_of(story, player, block, text)
        old, new = block.edit(text)
        said = self.edit(player.agent, tool, arguments, lambda: self.make(block, old, new), player.session,
                         f"call-{next(story.count)}")
        self.assertIn(said.strip(), (b"", b"{}"))

    def do_edit(self, story, player):
        for block in story.blocks_for(player, story.choice.randint(1, 2)):
            text = story.fresh(block.now)
            self.edit_block(story, player, block, text)
            story.take(player, block, text)

    def do_command(self, story, player):
        status = story.choice.choice((0, 0, 7))
        self.shell(f"{story.command(player)}\nexit {status}", player.agent, player.session, expect=status)

    def do_misfit(self, story, player):
        for block in story.blocks_for(player):
            text = story.fresh(block.now)
            tool, arguments = self.request_of(story, player, block, text, block.head[1].replace("number", "nummer"))
            answer, reason = self.answer(player.agent, tool, arguments, session_id=player.session, tool_use_id="misfit")
            self.assertEqual(answer, "deny")
            story.tell(player.agent, "gets", reason)
            corrected = re.search(r"as they fit, ready to send again:\n(.*)", reason)
            if corrected:
                again = json.loads(corrected[1])
            else:  # the agent takes the lines that it is shown
                self.assertIn(block.head[1].strip(), reason)
                again = json.loads(json.dumps(arguments).replace("nummer", "number"))
            self.assertEqual(set(again), set(arguments), "the arguments of this agent's tool")
            self.edit_block(story, player, block, text, (tool, again))
            story.take(player, block, text)

    def do_refused(self, story, player):
        tool, arguments = self.request_of(story, player, Block("keys/old", 0), "new\n")
        arguments = json.loads(json.dumps(arguments).replace("shared", "keys"))
        answer, reason = self.answer(player.agent, tool, arguments, session_id=player.session, tool_use_id="refused")
        self.assertEqual(answer, "deny")
        ran = self.shell("echo k > keys/k; echo x > fine; rm -f keys/old", player.agent, player.session, expect=1)
        self.assertIn(b"keys stay", ran.stderr)

    def start(self, player, script):
        """Starts a command as the agent's shell does, and waits for its first line."""
        _, changed = self.answer(player.agent, SHELLS[player.agent], {"command": script}, session_id=player.session)
        process = subprocess.Popen(["sh", "-c", changed["command"]], cwd=self.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, **self.environment}, start_new_session=True)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def do_conflict(self, story, player):
        for block in story.blocks_for(player, untouched=True):
            text = story.fresh(block.now)
            if story.choice.random() < 0.5:
                tool, arguments = self.request_of(story, player, block, text)
                answer = self.answer(player.agent, tool, arguments, session_id=player.session, tool_use_id=f"late-{block.head}")
                self.assertEqual(answer[0], "allow")
                story.save(block)  # so the agent's own tool refuses
                continue
            process = self.start(player, f"{replace_command(block, text)}; echo ready; read line")
            story.save(block)
            _, said = process.communicate(b"go\n", timeout=60)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(block.path.encode(), said)

    def do_cancelled(self, story, player):
        name = f"{player.area}/cancelled {next(story.count)}"
        number = story.choice.choice((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL))
        story.tell(player.session, "is cancelled by", number, "while it makes", name)
        process = self.start(player, f"echo x > '{name}'; echo ready; sleep 60")
        os.killpg(process.pid, number)
        process.communicate(timeout=60)
        self.assertEqual((self.work / name).exists(), number != signal.SIGKILL)

    def do_escape(self, story, player):
        self.shell(self.escape_command(), player.agent, player.session)

    def command_again(self, player, script):
        """A command that another one overtook in the same file is refused, and the agent repeats it."""
        _, changed = self.answer(player.agent, SHELLS[player.agent], {"command": script}, session_id=player.session)
        for _ in range(9):
            ran = subprocess.run(["sh", "-c", changed["command"]], cwd=self.work, capture_output=True, check=False,
                                 env={**os.environ, **self.environment})
            if ran.returncode == 0:
                return
            self.assertIn(b"run it again", ran.stderr)
        self.fail(ran.stderr)

    def do_parallel(self, story, player):
        blocks = story.blocks_for(player, 5)
        texts = [story.fresh(block.now) for block in blocks]
        edited = {block.path for block in blocks[:2]}
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            calls = []
            for block, text in zip(blocks, texts):
                if block.path in edited:  # one program writes these files
                    request = self.request_of(story, player, block, text, block.head[1])
                    calls.append(pool.submit(self.edit_block, story, player, block, text, request))
                else:
                    calls.append(pool.submit(self.command_again, player, replace_command(block, text)))
            for call in calls:
                call.result()
        for block, text in zip(blocks, texts):
            story.take(player, block, text)


class McpDoor(Turns, McpCase):
    DOOR = "mcp"
    # The tools of an agent's profile, by those of the profile claude.
    PROFILES = {"gemini": {"Edit": "replace", "Write": "write_file", "Read": "read_file", "Bash": "run_shell_command"}}

    def enter(self, story, player):
        player.commits_itself = story.choice.random() < 0.3
        player.is_stateless = not player.commits_itself and story.choice.random() < 0.3
        profile = {"gemini": "gemini", "qwen": "gemini"}.get(player.agent, "claude")
        player.tools = self.PROFILES.get(profile, {})
        options = ["--agent", player.agent, "--session", player.session, "--profile", profile,
                   *(["--autocommit"] if player.commits_itself else [])]
        version = None if player.is_stateless else story.choice.choice(("2025-11-25", "2025-06-18", "2024-11-05"))
        story.tell("galley mcp", *options, version)
        player.client, player.tx = self.connect(*options, version=version), {}

    def leave(self, player):
        if player.client and player.client.process.poll() is None:
            self.assertEqual(player.client.close(), 0)
            self.clients.remove(player.client)

    def begin_turn(self, story, player):
        if player.is_stateless:
            player.tx = {"tx": player.client.call("galley_begin")["structuredContent"]["tx"]}

    def end_turn(self, story, player):
        """Commits what the turn staged, if anything."""
        if player.commits_itself:
            return
        if self.call(player, "galley_status")["structuredContent"].get("changes"):
            self.assert_committed(self.call(player, "galley_commit"))

    def only_stages(self, player, step):
        return not player.commits_itself and step != "conflict"  # a person saves in it

    def request(self, player, tool, **arguments):
        self.calls += 1
        tool = player.tools.get(tool, tool)
        if tool == "replace":
            arguments.setdefault("instruction", "do it")
        return player.client.request("tools/call", {"name": tool, "arguments": {**arguments, **player.tx}})

    def call(self, player, tool, **arguments):
        return player.client.answer_to(self.request(player, tool, **arguments))["result"]

    def assert_done(self, said):
        self.assertFalse(said["isError"], said)

    def assert_committed(self, said):
        self.assertEqual(said["structuredContent"].get("outcome"), "committed", said)

    def edit_of(self, story, block, text):
        """Returns a tool and the arguments that make this edit."""
        old, new = block.edit(text)
        path = story.choice.choice((block.path, f"{self.work}/{block.path}"))
        return "Edit", {"file_path": path, "old_string": old, "new_string": new}

    def do_edit(self, story, player):
        for block in story.blocks_for(player, story.choice.randint(1, 2)):
            text = story.fresh(block.now)
            tool, arguments = self.edit_of(story, block, text)
            if story.choice.random() < 0.3:
                self.assert_done(self.call(player, "Read", file_path=block.path))
                whole = story.text_of(block.path).replace(*block.edit(text))
                tool, arguments = "Write", {"file_path": block.path, "content": whole}
            self.assert_done(self.call(player, tool, **arguments))
            story.take(player, block, text)

    def do_command(self, story, player):
        fails = story.choice.random() < 0.2
        said = self.call(player, "Bash", command=story.command(player) + ("\nexit 7" if fails else ""))
        self.assertEqual(said["structuredContent"]["exitCode"], 7 if fails else 0, said)

    def do_misfit(self, story, player):
        for block in story.blocks_for(player):
            text = story.fresh(block.now)
            old, new = block.edit(text, block.head[1].replace("number", "nummer"))
            wrong = self.call(player, "Edit", file_path=block.path, old_string=old, new_string=new)
            self.assertTrue(wrong["isError"])
            again = wrong["structuredContent"]["error"]["details"].get("correction")
            if not again:  # the agent takes the lines that it is shown
                self.assertIn(block.head[1].strip(), self.text(wrong))
                again = {"file_path": block.path, **dict(zip(("old_string", "new_string"), block.edit(text)))}
            self.assert_done(self.call(player, "Edit", **again))
            story.take(player, block, text)

    def do_refused(self, story, player):
        refused = self.call(player, "Write", file_path="keys/new", content="x\n")
        if not refused["isError"]:
            refused = self.call(player, "galley_commit")
            self.assertEqual(refused["structuredContent"]["outcome"], "refused")
            self.assert_done(self.call(player, "galley_rollback", paths=["keys/new"]))
        self.assertIn("keys stay", self.text(refused))

    def do_conflict(self, story, player):
        for block in story.blocks_for(player, untouched=True):
            text = story.fresh(block.now)
            tool, arguments = self.edit_of(story, block, text)
            if not player.commits_itself and story.choice.random() < 0.3:  # no conflict: the commit merges both
                self.assert_done(self.call(player, tool, **arguments))
                story.take(player, block, text)
                story.save_beside(block)
                continue
            if player.commits_itself or story.choice.random() < 0.5:
                self.assert_done(self.call(player, "Read", file_path=block.path))
                whole = story.text_of(block.path).replace(*block.edit(text))
                tool, arguments = "Write", {"file_path": block.path, "content": whole}
                story.save(block)
                late = self.call(player, tool, **arguments)
                if late["isError"]:
                    self.assertEqual(late["structuredContent"]["error"]["reason"], "file.changed_since_read")
                    continue
                self.assertFalse(player.commits_itself)  # the transaction has read the file before
            else:
                self.assert_done(self.call(player, tool, **arguments))
                story.save(block)
            said = self.call(player, "galley_commit")["structuredContent"]
            self.assertEqual(said["outcome"], "conflict", said)
            conflict, = said["conflicts"]
            take = story.choice.choice(("disk", "staged"))
            self.assert_done(self.call(player, "galley_resolve", path=block.path, version=conflict["version"], take=take))
            if take == "staged":  # the undo brings the save back
                story.take(player, block, text)

    def do_cancelled(self, story, player):
        name, word = f"{player.area}/cancelled {next(story.count)}", f"sleep 60.{story.choice.randrange(10**9)}"
        slow = self.request(player, "Bash", command=f"mkdir -p {player.area}; echo x > '{name}'; {word}")
        wait_until(lambda: is_running(word))
        player.client.tell("notifications/cancelled", {"requestId": slow})
        status = self.call(player, "galley_status")
        self.assert_done(status)
        self.assertNotIn(name, [change["path"] for change in status["structuredContent"]["changes"]])
        wait_until(lambda: not is_running(word))
        self.assertFalse((self.work / name).exists())

    def do_escape(self, story, player):
        for path in self.escapes():
            self.assertTrue(self.call(player, "Write", file_path=path, content="x\n")["isError"], path)
        self.call(player, "Bash", command=self.escape_command())

    def do_parallel(self, story, player):
        requests = {}
        for block in story.blocks_for(player, 5):
            text = story.fresh(block.now)
            by_command = not player.commits_itself and story.choice.random() < 0.4
            tool, arguments = ("Bash", {"command": replace_command(block, text)}) if by_command else self.edit_of(story, block, text)
            requests[self.request(player, tool, **arguments)] = arguments
            requests[self.request(player, "Read", file_path=block.path)] = "a read"
            story.take(player, block, text)
        while requests:
            message = player.client.next()
            self.assertIn("result", message)
            self.assert_done(message["result"])
            del requests[message["id"]]


class RunDoor(Turns, RunCase):
    """A turn is one run or several. The agent is a script that executes its last argument."""

    DOOR = "run"
    AGENTS = ("codex", "claude", "opencode", "gemini", "qwen", "cline", "goose", "amp", "cn")

    def setUp(self):
        super().setUp()
        self.install_agents(self.AGENTS, '#!/bin/sh\nfor word; do :; done\nexec sh -c "$word"\n')

    def begin_turn(self, story, player):
        player.script = []

    def end_turn(self, story, player):
        if player.script:
            self.run_agent(player, "\n".join(player.script))

    def words(self, player, script, *options):
        self.calls += 1
        return ["--session", player.session, "run", *options, player.agent, "do it", script]

    def run_agent(self, player, script, *options, expect=0):
        """Returns the transaction, if it is open."""
        said = self.galley("--json", *self.words(player, script, *(options or ("--commit",))), expect=expect)
        return json.loads(said.stdout).get("tx")

    def do_edit(self, story, player):
        for block in story.blocks_for(player, story.choice.randint(1, 2)):
            text = story.fresh(block.now)
            player.script.append(replace_command(block, text))
            story.take(player, block, text)

    def do_command(self, story, player):
        player.script.append(f"({story.command(player)})")

    def do_escape(self, story, player):
        player.script.append(self.escape_command())

    def only_stages(self, player, step):
        return step in ("edit", "command", "escape")

    def refused_run(self, story, player, script, repair):
        """A run whose commit the gate refuses. It is dropped, or continued by one that puts it right."""
        tx = self.run_agent(player, script, expect=1)
        if story.choice.random() < 0.5:
            self.galley("rollback", "--tx", tx, expect=0)
            return False
        self.run_agent(player, repair, "--commit", "--resume", tx)
        return True

    def do_misfit(self, story, player):
        name = f"{player.area}/{next(story.count)}.json"
        repaired = self.refused_run(story, player, f"echo '{{,' > {name}", f"echo '{{}}' > {name}")
        self.assertEqual((self.work / name).exists(), repaired)

    def do_refused(self, story, player):
        for block in story.blocks_for(player, untouched=True):
            text = story.fresh(block.now)
            if self.refused_run(story, player, f"echo k > keys/new; rm keys/old; {replace_command(block, text)}",
                                "rm keys/new; echo k > keys/old"):
                story.take(player, block, text)

    def start(self, player, script, *options):
        process = subprocess.Popen([GALLEY, "-C", str(self.work), *self.words(player, script, *options)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **self.environment})
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def do_conflict(self, story, player):
        for block in story.blocks_for(player, untouched=True):
            text = story.fresh(block.now)
            process = self.start(player, f"{replace_command(block, text)}; echo ready; read line", "--commit")
            tx = self.open_transactions()[0]["tx"]
            if story.choice.random() < 0.4:  # no conflict: the commit merges both
                self.galley("diff", "--tx", tx, expect=0)
                story.take(player, block, text)
                story.save_beside(block)
                _, said = process.communicate(b"go\n", timeout=60)
                self.assertEqual(process.returncode, 0, said)
                continue
            story.save(block)
            _, said = process.communicate(b"go\n", timeout=60)
            self.assertEqual(process.returncode, 1, said)
            self.assertIn(block.path.encode(), said)
            self.galley("rollback", "--tx", tx, expect=0)

    def do_cancelled(self, story, player):
        name = f"{player.area}/cancelled {next(story.count)}"
        end = story.choice.choice(("stop", "signal", "client", "supervisor"))
        story.tell(player.session, "is ended by", end, "while it makes", name)
        process = self.start(player, f"echo x > '{name}'; echo ready; exec sleep 60", "--keep")
        note = self.only_note()
        if end == "stop":
            self.galley("stop", note["tx"], expect=0)
        elif end == "signal":
            process.terminate()
        elif end == "client":
            process.kill()
        else:
            os.kill(note["supervisor"]["pid"], signal.SIGKILL)
        process.communicate(timeout=60)
        wait_until(lambda: not self.is_supervisor(note["supervisor"]["pid"]) if self.notes() else True)
        self.assertFalse((self.work / name).exists())
        keeps = story.choice.random() < 0.5
        self.galley("--session", player.session, "commit" if keeps else "rollback", "--tx", note["tx"], expect=0)
        self.assertEqual((self.work / name).exists(), keeps)

    def do_parallel(self, story, player):
        """Two runs at once, each with processes at once."""
        halves = {}, {}
        for block in story.blocks_for(player, 6, untouched=True):
            text = story.fresh(block.now)
            story.choice.choice(halves).setdefault(block.path, []).append(replace_command(block, text))
            story.take(player, block, text)
        scripts = ["".join(f"({'; '.join(edits)}) &\n" for edits in half.values()) + "wait" for half in halves]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda script: self.run_agent(player, script), scripts))


class AcpDoor(Turns, AcpCase):
    """A turn is one prompt or several. The agents are scripts of their names."""

    DOOR = "acp"
    # A live run does not see what is saved in a folder that it made. If it deletes the folder, the person is asked.
    SAVES_IN_NEW_FOLDERS = False
    AGENTS = ("codex", "claude", "opencode", "gemini", "qwen", "cline", "goose")

    def setUp(self):
        super().setUp()
        self.install_agents((*self.AGENTS, "codex-acp", "claude-code-acp"), f"#!/usr/bin/python3 -B\n{AGENT}")
        self.sync = self.scratch / "sync"
        self.sync.mkdir()
        self.saves_seen = {}

    def recorded(self, player):
        return f"acp-{player.session}"

    def enter(self, story, player):
        player.asks = story.choice.random() < 0.5
        story.tell("galley acp", "ask" if player.asks else "turn")
        player.client = Editor(self.work, self.environment, "--allow-write", self.sync, "--commit",
                               "ask" if player.asks else "turn", agent=[player.agent])
        self.addCleanup(player.client.close)
        player.client.start(player.session)

    def leave(self, player):
        if player.client and player.client.process.poll() is None:
            status, said = player.client.finish()
            self.assertEqual(status, 0, said)

    def begin_turn(self, story, player):
        player.steps = []
        if len(story.saves) > self.saves_seen.get(story.seed, 0):
            time.sleep(1.05)  # a live run looks for saved files once in a second
        self.saves_seen[story.seed] = len(story.saves)

    def end_turn(self, story, player):
        self.flush(player)

    def prompt(self, player, steps, *decisions):
        """One prompt, with the person's answers to what Galley asks after it. Returns what it tells the agent."""
        left, wrong = list(decisions), []

        def decide(params):
            offered = self.options_of(params)
            if not left or left[0] not in offered:
                wrong.append((left, offered, params["toolCall"]))
                return None
            return left.pop(0)

        self.calls += len(steps)
        player.client.decide = decide
        said, notes = player.client.prompt(*steps, session=player.session)
        for step, answer in zip(steps, said):
            if step[0] == "shell":
                self.assertEqual(answer[0], 0, (step, answer))
            if step[0] == "fs_write":
                self.assertEqual("message" in (answer or {}), step[1] in self.escapes(), (step, answer))
        self.assertEqual(wrong, [])
        self.assertIn(left, ([], ["commit"]), f"Galley did not ask; it said {player.client.titles()[-3:]}, {notes}")
        return said, notes

    def view(self, story, block, text):
        """The whole file with a change of the block."""
        return story.text_of(block.path).replace(*block.edit(text))

    def do_edit(self, story, player):
        for block in story.blocks_for(player, story.choice.randint(1, 2)):
            text = story.fresh(block.now)
            step = story.choice.choice((["shell", replace_command(block, text)], ["fs_write", block.path, self.view(story, block, text)],
                                        ["write", block.path, self.view(story, block, text)]))
            player.steps += [["fs_read", block.path], step]
            story.take(player, block, text)

    def do_command(self, story, player):
        player.steps.append(["shell", story.command(player)])

    def do_escape(self, story, player):
        for path in self.escapes():
            player.steps.append(["fs_write", path, "x\n"])
        player.steps.append(["shell", self.escape_command()])

    def do_misfit(self, story, player):
        """The gate finds an error. The agent is told its place, and repairs it."""
        self.flush(player)
        name = f"{player.area}/{next(story.count)}.json"
        self.prompt(player, [["fs_write", name, "{,\n"]], "later")
        self.assertFalse((self.work / name).exists())
        _said, notes = self.prompt(player, [["fs_write", name, "{}\n"]], "commit")
        self.assertIn("not committed", notes)
        self.assertEqual((self.work / name).read_text(), "{}\n")

    def do_refused(self, story, player):
        self.flush(player)
        self.prompt(player, [["shell", "echo k > keys/new; rm keys/old"], ["write", "fine", "x\n"]], "drop")
        said, notes = self.prompt(player, [["shell", "ls keys"]])
        self.assertEqual(said, [[0, "old\n"]])
        self.assertIn("rejected", notes)

    def do_conflict(self, story, player):
        self.flush(player)
        for block in story.blocks_for(player, untouched=True):
            text = story.fresh(block.now)
            # Stories of one test share the folder, and each counts from 0.
            ready, go = (self.sync / f"{word} {story.seed} {next(story.count)}" for word in ("ready", "go"))
            wait = f"touch '{ready}'; while [ ! -e '{go}' ]; do sleep 0.02; done"
            read = [["fs_read", block.path]] if story.choice.random() < 0.5 else []
            steps = [*read, ["shell", f"{replace_command(block, text)}; {wait}"]]
            saver = threading.Thread(target=lambda block=block, ready=ready, go=go: (
                wait_until(ready.exists), story.save(block), go.touch()))
            saver.start()
            self.prompt(player, steps, *(["commit"] if player.asks else []), "saved")
            saver.join()

    def do_cancelled(self, story, player):
        self.flush(player)
        name = f"{player.area}/cancelled {next(story.count)}"
        turn = player.client.begin(["shell", f"mkdir -p {player.area}; echo x > '{name}'"], ["cancelled"], session=player.session)
        player.client.send({"method": "session/cancel", "params": {"sessionId": player.session}})
        self.assertEqual(player.client.wait(turn)["result"]["stopReason"], "cancelled")
        self.assertFalse((self.work / name).exists())
        self.prompt(player, [["shell", f"cat '{name}'"]], "commit")
        self.assertEqual((self.work / name).read_text(), "x\n")

    def do_parallel(self, story, player):
        jobs = {}
        for block in story.blocks_for(player, 6):
            text = story.fresh(block.now)
            jobs.setdefault(block.path, []).append(replace_command(block, text))
            story.take(player, block, text)
        player.steps.append(["shell", "".join(f"({'; '.join(edits)}) &\n" for edits in jobs.values()) + "wait"])

    def flush(self, player):
        """Ends the prompt of the steps before this one."""
        steps, player.steps = player.steps, []
        if steps:
            self.prompt(player, steps, "commit")


if __name__ == "__main__":
    hostile.main()
