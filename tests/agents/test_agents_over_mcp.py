#!/usr/bin/env python3
"""Real agents over `galley mcp`. Each edits the demo project, is refused by validators, fixes the
shown findings, needs a person's yes, commits and undoes. The model is a script on loopback; the
rest is the agent from npm, unchanged."""

import json
import re
import shutil

from agent_case import AgentCase, main
from agents import Claude, Cline, Codex, Continue, Gemini, OpenCode, Qwen
from model_server import Call, ModelServer, Say

RULES = """
[[policy.rule]]
name = "announced prices"
paths = ["docs/price-list.txt"]
decision = "ask"
reason = "prices are announced by a person"

[[validator]]
builtin = "json"

[[validator]]
name = "tests"
command = ["python3", "-B", "-m", "unittest"]
paths = ["*.py", "data/"]
"""


class CodexView:
    """The view of the model in codex: only the structured form."""

    agent = Codex
    options = ()  # of galley mcp

    @staticmethod
    def text(shown):
        return shown

    @staticmethod
    def opening():
        """The model must search for the tools of servers."""
        return Call("tool_search", {"query": "edit read write files, commit, undo, log, resolve", "limit": 20}, "tool_search")

    @staticmethod
    def tool(name, **arguments):
        return Call(name, arguments, namespace="mcp__galley")

    @staticmethod
    def answer(shown):
        head, body = shown.split("\nOutput:\n", 1)
        assert head.startswith("Wall time: "), shown
        return json.loads(body)

    def content(self, shown):
        return self.answer(shown)["content"]

    def nearest(self, shown):
        error = self.answer(shown)["error"]
        assert error["reason"] == "patch.context_not_found", error
        return error["details"]["files"][0]["failed"][0]["nearest"]["found"][0]

    def findings(self, shown):
        """Returns place and output of each finding by its rule."""
        answer = self.answer(shown)
        assert answer["outcome"] == "refused", answer
        return {each["rule"]: (each.get("path"), each.get("line"), each.get("output", ""))
                for each in answer["verdict"]["findings"]}

    def needed_approval(self, shown):
        approval = self.answer(shown)["approval"]
        assert f"galley approve {approval['id']}" in approval["how"], approval
        return approval["id"]

    def committed(self, shown):
        answer = self.answer(shown)
        assert answer["outcome"] == "committed", answer
        return answer["id"], [each["path"] for each in answer["changes"]]

    def conflict(self, shown):
        """Returns the version of a conflict of one hunk, and its text on disk."""
        answer = self.answer(shown)
        assert answer["outcome"] == "conflict", answer
        conflict, = answer["conflicts"]
        hunk, = conflict["hunks"]
        return conflict["version"], hunk["disk"]

    def staged(self, shown):
        answer = self.answer(shown)
        assert answer["staged"] is True, answer

    def printed(self, shown):
        answer = self.answer(shown)
        assert answer["exitCode"] == 0, answer
        return answer["stdout"]

    def refused_call(self, shown):
        error = self.answer(shown)["error"]
        assert error["reason"] in ("call.needs_confirmation", "call.not_confirmed"), error
        return error["message"]

    def logged(self, shown):
        return [each["id"] for each in self.answer(shown)["commits"]]


class OpenCodeView:
    """The view of the model in opencode: only the text."""

    agent = OpenCode
    options = ()

    @staticmethod
    def text(shown):
        return shown

    @staticmethod
    def opening():
        return None

    @staticmethod
    def tool(name, **arguments):
        return Call(f"galley_{name}", arguments)

    @staticmethod
    def found(pattern, shown):
        match = re.search(pattern, shown, re.M)
        assert match, f"no {pattern!r} in:\n{shown}"
        return match

    @staticmethod
    def content(shown):
        return shown

    def nearest(self, shown):
        assert shown.startswith("patch.context_not_found: "), shown
        return self.found(r"found at line \d+:\n +\| (.*\n)", shown)[1]

    def findings(self, shown):
        assert shown.startswith("refused, nothing is on disk"), shown
        found = {}
        for part in re.split(r"^(?=(?:[\w./-]+:\d+:(?:\d+:)? |)error \[)", shown, flags=re.M)[1:]:
            place = self.found(r"^(?:([\w./-]+):(\d+):(?:\d+:)? )?error \[([\w.]+)\] .*\n([\s\S]*)", part)
            found[place[3]] = (place[1], int(place[2] or 0), place[4])
        return found

    def needed_approval(self, shown):
        return self.found(r"a person has to run this in their own terminal: galley approve ([0-9a-f]+);", shown)[1]

    def committed(self, shown):
        first = self.found(r"\Acommitted as (\S+); galley_undo with id \1 takes it back\n", shown)
        return first[1], re.findall(r"^[AMDRT] (.+)$", shown, re.M)

    def conflict(self, shown):
        return self.found(r"\(version (\S+)\)", shown)[1], self.found(r"\ndisk:\n([\s\S]*?)staged:\n", shown)[1]

    def staged(self, shown):
        self.found(r"\A(?:a person will be asked at the commit: .*\n)?"
                   r"staged in transaction [0-9a-f]+; not on disk before galley_commit\n", shown)

    def printed(self, shown):
        return self.found(r"^exit 0\n([\s\S]*)\n\Z", shown)[1]

    def refused_call(self, shown):
        assert shown.startswith(("call.needs_confirmation: ", "call.not_confirmed: ")), shown
        return shown

    def logged(self, shown):
        return re.findall(r"^(\d+) \d{4}-", shown, re.M)


class GeminiView(OpenCodeView):
    """The view of the model in Gemini CLI: text between two marks, and a failure as JSON."""

    agent = Gemini
    SUCCESS = r"\A<untrusted_context>\n([\s\S]*)\n</untrusted_context>\Z"

    def text(self, shown):
        failed = re.search(r"\AMCP tool '\w+' reported tool error .* with response: (\[.*\])\Z", shown, re.S)
        if failed:
            response = json.loads(failed[1])[0]["functionResponse"]["response"]
            response = response.get("error", response)
            assert response["isError"] is True, response
            return "\n".join(part["text"] for part in response["content"])
        return self.found(self.SUCCESS, shown)[1]

    @staticmethod
    def tool(name, **arguments):
        return Call(f"mcp_galley_{name}", arguments)


class QwenView(GeminiView):
    """The view of the model in Qwen Code: the structured form on a line, and then the text; a failure as JSON."""

    agent = Qwen
    SUCCESS = r"\A(?:\{.*\}\n)?([\s\S]*)\Z"

    @staticmethod
    def tool(name, **arguments):
        return Call(f"mcp__galley__{name}", arguments)


class ClineView(OpenCodeView):
    """The view of the model in Cline: the whole answer of the server, as JSON. Cline takes the middle out of a long one."""

    agent = Cline

    @staticmethod
    def text(shown):
        beginning = re.match(r'\{"content":\[\{"type":"text","text":("(?:[^"\\\n]|\\.)*)', shown)
        return json.loads(beginning[1] + '"')

    @staticmethod
    def tool(name, **arguments):
        return Call(f"galley__{name}", arguments)


class ContinueView(OpenCodeView):
    """The view of the model in Continue: the texts as JSON. It gives the model the names of the server's tools as they
    are, also if its own tools have the same."""

    agent = Continue
    options = ("--prefix", "galley_")

    @staticmethod
    def text(shown):
        return "\n".join(part["text"] for part in json.loads(shown))

    @staticmethod
    def tool(name, **arguments):
        return Call(name if name.startswith("galley_") else f"galley_{name}", arguments)


class ClaudeView(CodexView):
    """The view of the model in Claude Code: the structured form, or the text of a failure, then a
    reminder."""

    agent = Claude
    found = staticmethod(OpenCodeView.found)
    nearest, findings = OpenCodeView.nearest, OpenCodeView.findings
    needed_approval, refused_call = OpenCodeView.needed_approval, OpenCodeView.refused_call
    conflict = OpenCodeView.conflict

    @staticmethod
    def text(shown):
        return shown.split("\n\n<system-reminder>", 1)[0]

    @staticmethod
    def opening():
        """The model must search for the tools of servers."""
        return Call("ToolSearch", {"query": "+galley edit read write commit undo log resolve", "max_results": 20})

    @staticmethod
    def tool(name, **arguments):
        return Call(f"mcp__galley__{name}", arguments)

    @staticmethod
    def answer(shown):
        return json.loads(shown)


class OverMcp:
    """The stories. Each agent has a class that runs them."""

    view = None

    def edit(self, path, old, new):
        """The model edits. The change is staged and not on disk."""
        before = (self.work / path).read_bytes()
        shown = yield self.view.tool("Edit", file_path=path, old_string=old, new_string=new)
        self.view.staged(shown)
        assert (self.work / path).read_bytes() == before, "an edit is on disk before a commit"

    def approve(self, proposal):
        """The person says yes, on a separate terminal."""
        self.on_terminal("approve", proposal, typed=[("nothing else?", "y\n")], expect=0)

    def careless(self):
        """The model forgets a comma and a test, and its announcement needs a yes."""
        view = self.view
        if view.opening():
            found = yield view.opening()
            assert 'Edit"' in found and 'galley_commit"' in found, found

        # The price of the zone DE goes up. The model remembers a wrong version of the file.
        rates = "data/rates.json"
        shown = yield view.tool("Read", file_path=rates)
        assert '"DE": { "base": 3.90, "per_kg": 0.80 },' in view.content(shown), shown
        shown = yield view.tool("Edit", file_path=rates, old_string='"DE": { "base": 3.9, "per_kg": 0.8',
                                new_string='"DE": { "base": 4.10, "per_kg": 0.8')
        line = view.nearest(shown).strip()
        yield from self.edit(rates, line, line.replace("3.90", "4.10").rstrip(","))

        # Two validators refuse, because a comma is missing. The model uses only the reported place.
        shown = yield view.tool("galley_commit")
        path, number, _ = view.findings(shown)["json.syntax"]
        shown = yield view.tool("Read", file_path=path, offset=number - 1, limit=1)
        broken = view.content(shown).strip()
        yield from self.edit(path, broken, broken + ",")

        # One validator still refuses: a test has the old price. Its output says where, and the new
        # value.
        shown = yield view.tool("galley_commit")
        findings = view.findings(shown)
        assert list(findings) == ["tests"], findings
        output = findings["tests"][2]
        place = re.search(r'File ".*?/(tests/\w+\.py)", line (\d+)', output)
        now, before = re.search(r"AssertionError: (\S+) != (\S+)", output).groups()
        shown = yield view.tool("Read", file_path=place[1], offset=int(place[2]), limit=1)
        line = view.content(shown).strip()
        yield from self.edit(place[1], line, line.replace(before, now))
        shown = yield view.tool("Bash", command="python3 -B bin/quote 1.2 DE")
        assert "5.70" in view.printed(shown), shown
        shown = yield view.tool("galley_commit")
        first, paths = view.committed(shown)
        assert sorted(paths) == [rates, "tests/test_quote.py"], paths
        assert '"base": 4.10' in (self.work / rates).read_text()

        # A rule asks about this change, so it needs a person. The model says so, and repeats the
        # call afterwards.
        yield from self.edit("docs/price-list.txt", "from 4.70 EUR", "from 4.90 EUR")
        shown = yield view.tool("galley_commit")
        assert b"4.70" in (self.work / "docs/price-list.txt").read_bytes()
        self.approve(view.needed_approval(shown))
        shown = yield view.tool("galley_commit")
        second, paths = view.committed(shown)
        assert paths == ["docs/price-list.txt"], paths
        assert b"4.90" in (self.work / "docs/price-list.txt").read_bytes()

        # The undo needs a person too.
        shown = yield view.tool("galley_undo")
        self.approve(view.needed_approval(shown))
        shown = yield view.tool("galley_undo")
        third, paths = view.committed(shown)
        assert paths == ["docs/price-list.txt"], paths
        shown = yield view.tool("galley_log")
        assert view.logged(shown) == [third, second, first], shown
        yield Say("The price of DE is 4.10; the list for the counter is as it was.")

    def run_agent(self, script, prompt):
        with ModelServer(self.reading(script, self.view.text)) as model:
            agent = self.agent(self.view.agent, model.url)
            agent.configure([self.program[0], "mcp", "-C", self.work, "--agent", agent.name, *self.view.options], self.environment)
            ran = agent.run(self.work, prompt)
        self.check(model, ran)
        return agent

    def test_agent_edits_is_refused_fixes_is_approved_commits_and_undoes(self):
        (self.work / "galley.toml").write_text(RULES)
        expected = self.scratch / "expected"
        shutil.copytree(self.work, expected, symlinks=True)
        for path, old, new in (("data/rates.json", b"3.90", b"4.10"), ("tests/test_quote.py", b"1.2), 5.5)", b"1.2), 5.7)")):
            content = (expected / path).read_bytes()
            self.assertEqual(content.count(old), 1)
            (expected / path).write_bytes(content.replace(old, new))

        agent = self.run_agent(self.careless, "Raise the price of the zone DE to 4.10.")
        self.assert_same_tree(self.work, expected)
        log = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]
        self.assertEqual([(each["agent"], each["tool"]) for each in log],
                         [(agent.name, "undo"), (agent.name, "commit"), (agent.name, "commit")])
        self.assertEqual(json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"], [])
        self.galley("audit", "verify", expect=0)

    def cautious(self):
        """In the strict mode, each call that changes something needs a person's yes, which is valid
        for that call once."""
        view = self.view
        if view.opening():
            yield view.opening()
        note = {"file_path": "docs/note.txt", "content": "announced\n"}
        shown = yield view.tool("Write", **note)
        call = re.search(r"galley approve (call-[0-9a-f]+)", view.refused_call(shown))[1]
        self.on_terminal("approve", call, typed=[("run once?", "y\n")], expect=0)
        shown = yield view.tool("Write", **note)
        view.staged(shown)
        shown = yield view.tool("Write", **note)
        view.refused_call(shown)
        shown = yield view.tool("galley_commit")
        _, paths = view.committed(shown)
        assert paths == ["docs/note.txt"], paths
        yield Say("done")

    def test_a_call_that_asks_is_approved_by_a_person_and_repeated(self):
        (self.work / "galley.toml").write_text('[policy]\nmode = "strict"\n')
        self.run_agent(self.cautious, "Write a note.")
        self.assertEqual((self.work / "docs/note.txt").read_text(), "announced\n")

    def resolving(self):
        """A person saves the line that the model edits. The model gets both texts, and joins them."""
        view, rates = self.view, "data/rates.json"
        if view.opening():
            yield view.opening()
        line = '    "DE": { "base": 3.90, "per_kg": 0.80 },\n'
        yield from self.edit(rates, line, line.replace("3.90", "4.10"))
        saved = (self.work / rates).read_text().replace(line, line.replace("0.80", "0.85"))
        (self.work / rates).write_text(saved)
        shown = yield view.tool("galley_commit")
        version, disk = view.conflict(shown)
        assert disk == line.replace("0.80", "0.85"), shown
        assert (self.work / rates).read_text() == saved
        yield view.tool("galley_resolve", path=rates, version=version, hunks=[{"text": disk.replace("3.90", "4.10")}])
        shown = yield view.tool("galley_commit")
        _, paths = view.committed(shown)
        assert paths == [rates], paths
        assert (self.work / rates).read_text() == saved.replace("3.90", "4.10"), shown
        yield Say("Both changes are there.")

    def test_a_conflict_is_resolved_by_the_model(self):
        agent = self.run_agent(self.resolving, "Raise the price of the zone DE to 4.10.")
        log = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]
        self.assertEqual([(each["agent"], each["tool"]) for each in log], [(agent.name, "commit")])


class CodexOverMcp(OverMcp, AgentCase):
    view = CodexView()


class OpenCodeOverMcp(OverMcp, AgentCase):
    view = OpenCodeView()


class GeminiOverMcp(OverMcp, AgentCase):
    view = GeminiView()


class QwenOverMcp(OverMcp, AgentCase):
    view = QwenView()


class ClineOverMcp(OverMcp, AgentCase):
    view = ClineView()


class ContinueOverMcp(OverMcp, AgentCase):
    view = ContinueView()


class ClaudeOverMcp(OverMcp, AgentCase):
    view = ClaudeView()


if __name__ == "__main__":
    main()
