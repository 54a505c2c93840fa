#!/usr/bin/env python3
"""Two writers and `galley mcp`: conflicts are listed with their hunks, decided, and committed."""

import json
import os
import shutil

import hostile
from terminal_session import end_processes, is_running, wait_until
from test_mcp import McpCase


class Conflicts(McpCase):
    LINES = [f"line {n}\n" for n in range(1, 31)]

    def setUp(self):
        super().setUp()
        self.file = self.work / "long.txt"
        self.file.write_text("".join(self.LINES))

    def changed(self, **lines):
        """The file with other texts in some lines, by number: n3="three"."""
        text = list(self.LINES)
        for name, line in lines.items():
            text[int(name[1:]) - 1] = line + "\n"
        return "".join(text)

    def edit(self, client, path, old, new):
        self.assertFalse(client.call("Edit", file_path=path, old_string=old, new_string=new)["isError"])

    def in_conflict(self):
        """A client whose commit ended in a conflict of two hunks, and that answer."""
        client = self.connect()
        for line in (3, 12, 20):
            self.edit(client, "long.txt", f"line {line}\n", f"staged {line}\n")
        self.file.write_text(self.changed(n12="disk 12", n20="disk 20", n28="disk 28"))
        return client, client.call("galley_commit")

    def test_a_conflict_names_each_hunk_with_its_three_texts(self):
        _, answer = self.in_conflict()
        self.assertTrue(answer["isError"])
        said = answer["structuredContent"]
        self.assertEqual(said["outcome"], "conflict")
        conflict, = said["conflicts"]
        self.assertEqual(conflict["path"], "long.txt")
        self.assertEqual(conflict["hunks"], [
            {"hunk": 1, "line": 12, "base": "line 12\n", "disk": "disk 12\n", "staged": "staged 12\n"},
            {"hunk": 2, "line": 20, "base": "line 20\n", "disk": "disk 20\n", "staged": "staged 20\n"}])
        for part in ("galley_resolve", "hunk 2, line 20", "base:\nline 20\ndisk:\ndisk 20\nstaged:\nstaged 20\n",
                     f"version {conflict['version']}"):
            self.assertIn(part, self.text(answer))

    def test_a_workspace_whose_folder_is_replaced_is_neither_read_nor_changed(self):
        client = self.connect()
        self.edit(client, "long.txt", "line 3\n", "staged 3\n")
        away = self.work.with_name("away")
        self.work.rename(away)
        for is_replaced in (False, True):
            if is_replaced:
                self.work.mkdir()
                self.file.write_text("other\n")
            for tool, arguments in (("Read", {"file_path": "long.txt"}), ("Write", {"file": "new", "content": "x"}),
                                    ("galley_status", {}), ("galley_commit", {}), ("galley_undo", {})):
                answer = client.call(tool, **arguments)
                self.assertEqual(answer["structuredContent"]["error"]["reason"], "workspace.moved", tool)
            tx = "0" * 12
            for method, params in (("resources/read", {"uri": f"galley://tx/{tx}/files/long.txt"}),
                                   ("resources/read", {"uri": "galley://history/1"}),
                                   ("prompts/get", {"name": "review_transaction", "arguments": {}})):
                self.assertIn("workspace.moved", client.ask(method, params)["error"]["message"], method)
            values = client.ask("completion/complete", {
                "ref": {"type": "ref/resource", "uri": "galley://tx/{tx}/files/{path}"},
                "argument": {"name": "path", "value": ""}})["result"]["completion"]["values"]
            self.assertEqual(values, [])
        self.assertEqual([self.file.read_text(), *(each.name for each in self.work.iterdir())], ["other\n", "long.txt"])
        self.assertEqual((away / "long.txt").read_text(), "".join(self.LINES))
        shutil.rmtree(self.work)
        away.rename(self.work)
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")

    def test_chosen_hunks_are_on_disk_after_the_commit_and_nothing_else_is(self):
        client, answer = self.in_conflict()
        conflict, = answer["structuredContent"]["conflicts"]
        resolved = client.call("galley_resolve", path="long.txt", version=conflict["version"],
                               hunks=["staged", {"text": "both 20\n"}])
        self.assertFalse(resolved["isError"], resolved)
        self.assertEqual(resolved["structuredContent"]["conflicts"], [])
        self.assertEqual(self.file.read_text(), self.changed(n12="disk 12", n20="disk 20", n28="disk 28"))
        committed = client.call("galley_commit")["structuredContent"]
        self.assertEqual(committed["outcome"], "committed", committed)
        self.assertEqual(self.file.read_text(), self.changed(n3="staged 3", n12="staged 12", n20="both 20", n28="disk 28"))
        client.call("galley_undo")
        self.assertEqual(self.file.read_text(), self.changed(n12="disk 12", n20="disk 20", n28="disk 28"))

    def test_a_folder_that_became_a_link_is_resolved_with_the_side_of_the_disk(self):
        (self.work / "src").mkdir()
        (self.work / "src" / "a").write_text("a\n")
        client = self.connect()
        self.edit(client, "src/a", "a", "staged")
        client.call("Write", file="src/new", content="new\n")
        self.edit(client, "a.txt", "one", "staged")
        (self.work / "src").rename(self.work / "other")
        (self.work / "src").symlink_to("other")
        conflicts = client.call("galley_commit")["structuredContent"]["conflicts"]
        self.assertEqual([one["path"] for one in conflicts], ["src/a", "src/new"])
        for one in conflicts:
            chosen = {"path": one["path"], "version": one["version"]}
            refused = client.call("galley_resolve", **chosen, take="staged")
            self.assertIn("take 'disk'", self.text(refused))
            resolved = client.call("galley_resolve", **chosen, take="disk")
            self.assertFalse(resolved["isError"], resolved)
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual((self.work / "a.txt").read_text(), "staged\ntwo\n")
        self.assertEqual([one.name for one in (self.work / "other").iterdir()], ["a"])
        self.assertEqual((self.work / "src" / "a").read_text(), "a\n")

    def test_two_agents_change_one_line_and_the_second_decides(self):
        clients = [self.connect(), self.connect()]
        for number, client in enumerate(clients):
            client.call("galley_begin", message=f"agent {number}")
            self.edit(client, "a.txt", "two", f"two of agent {number}")
            self.edit(client, "long.txt", f"line {10 * number + 5}\n", f"agent {number}\n")
        self.assertEqual(clients[0].call("galley_commit")["structuredContent"]["outcome"], "committed")
        conflict, = clients[1].call("galley_commit")["structuredContent"]["conflicts"]
        self.assertEqual((conflict["path"], conflict["hunks"][0]["disk"], conflict["hunks"][0]["staged"]),
                         ("a.txt", "two of agent 0\n", "two of agent 1\n"))
        clients[1].call("galley_resolve", path="a.txt", version=conflict["version"], hunks=[{"text": "two of both\n"}])
        self.assertEqual(clients[1].call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo of both\n")
        self.assertEqual(self.file.read_text(), self.changed(n5="agent 0", n15="agent 1"))

    def test_one_side_and_a_whole_text_can_be_taken(self):
        for choice, expected in (({"take": "disk"}, self.changed(n3="staged 3", n12="disk 12", n20="disk 20", n28="disk 28")),
                                 ({"take": "base"}, self.changed(n3="staged 3", n28="disk 28")),
                                 ({"text": "short"}, "short")):
            self.file.write_text("".join(self.LINES))
            client, answer = self.in_conflict()
            version = answer["structuredContent"]["conflicts"][0]["version"]
            client.call("galley_resolve", path="long.txt", version=version, **choice)
            self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed", choice)
            self.assertEqual(self.file.read_text(), expected, choice)

    def test_a_save_after_the_list_makes_the_choice_void(self):
        client, answer = self.in_conflict()
        version = answer["structuredContent"]["conflicts"][0]["version"]
        self.file.write_text(self.changed(n12="saved again"))
        late = client.call("galley_resolve", path="long.txt", version=version, take="staged")
        self.assertEqual(late["structuredContent"]["error"]["reason"], "resolve.changed")
        again = client.call("galley_rebase")["structuredContent"]["conflicts"][0]
        self.assertEqual([hunk["disk"] for hunk in again["hunks"]], ["saved again\n"])
        client.call("galley_resolve", path="long.txt", version=again["version"], take="staged")
        self.file.write_text(self.changed(n12="and again"))
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "conflict")
        self.assertEqual(self.file.read_text(), self.changed(n12="and again"))

    def test_rebase_merges_what_fits_and_lists_the_rest(self):
        client, _ = self.in_conflict()
        (self.work / "other.txt").write_text("".join(self.LINES))
        self.edit(client, "other.txt", "line 3\n", "staged 3\n")
        (self.work / "other.txt").write_text(self.changed(n25="disk 25"))
        said = client.call("galley_rebase")
        self.assertEqual(said["structuredContent"]["merged"], [{"path": "other.txt", "how": "merged by lines"}])
        self.assertEqual([one["path"] for one in said["structuredContent"]["conflicts"]], ["long.txt"])
        read = client.call("Read", file="other.txt")["structuredContent"]["content"]
        self.assertEqual(read, self.changed(n3="staged 3", n25="disk 25"))

    def test_writing_a_merged_file_as_a_whole_needs_a_look_at_it(self):
        client = self.connect()
        self.edit(client, "long.txt", "line 3\n", "staged 3\n")
        self.file.write_text(self.changed(n25="disk 25"))
        client.call("galley_rebase")
        blind = client.call("Write", file_path="long.txt", content=self.changed(n3="staged three"))
        self.assertEqual(blind["structuredContent"]["error"]["reason"], "file.changed_since_read")

    def test_bad_choices_say_the_way_out_and_stage_nothing(self):
        client, answer = self.in_conflict()
        version = answer["structuredContent"]["conflicts"][0]["version"]
        before = client.call("galley_diff")["structuredContent"]["diff"]
        for arguments, reason in (
                ({"path": "long.txt", "version": version}, "resolve.choices"),
                ({"path": "long.txt", "version": version, "take": "disk", "text": ""}, "resolve.choices"),
                ({"path": "long.txt", "version": version, "hunks": ["disk"]}, "resolve.choices"),
                ({"path": "long.txt", "version": version, "hunks": ["disk", {"text": "open"}]}, "resolve.choices"),
                ({"path": "long.txt", "version": version, "hunks": ["disk", "theirs"]}, "args.schema"),
                ({"path": "long.txt", "take": "disk"}, "args.schema"),
                ({"path": "none.txt", "version": version, "take": "disk"}, "resolve.no_conflict"),
                ({"path": "../long.txt", "version": version, "take": "disk"}, "path.invalid")):
            said = client.call("galley_resolve", **arguments)
            self.assertTrue(said["isError"])
            self.assertEqual(said["structuredContent"]["error"]["reason"], reason, arguments)
        self.assertEqual(client.call("galley_diff")["structuredContent"]["diff"], before)

    # Limit: kMaxSideText of server/session/conflict_answers.h
    # Limit: kMaxConflictTexts of server/session/conflict_answers.h
    def test_long_texts_and_many_hunks_come_by_ranges(self):
        client = self.connect()
        many = [f"line {n}\n" for n in range(1, 1001)]
        self.file.write_text("".join(many))
        client.call("Read", file_path="long.txt")
        client.call("Write", file_path="long.txt",
                    content="".join(f"staged {n} {'x' * 4000}\n" if n % 50 == 1 else line for n, line in enumerate(many)))
        self.file.write_text("".join(f"disk {n}\n" if n % 50 == 1 else line for n, line in enumerate(many)))
        said = client.call("galley_commit")
        found = said["structuredContent"]
        self.assertNotIn("leftOut", found)
        conflict, = found["conflicts"]
        self.assertEqual(conflict["hunkCount"], 20)
        self.assertEqual(len(conflict["hunks"][0]["staged"]), 2000)
        seen = len(conflict["hunks"])
        self.assertLess(seen, 20)
        while "next" in found:
            self.assertEqual(found["next"], {"path": "long.txt", "hunk": seen + 1})
            found = client.call("galley_rebase", **found["next"])["structuredContent"]
            seen += len(found["conflicts"][0]["hunks"])
        self.assertEqual(seen, 20)
        text, offset = "", 0
        while offset is not None:
            part = client.call("galley_rebase", path="long.txt", hunk=3, offset=offset)["structuredContent"]["conflicts"][0]["hunks"][0]
            text += part["staged"]
            offset = part.get("more", {}).get("staged", {}).get("offset")
        self.assertEqual(text, f"staged 101 {'x' * 4000}\n")

    def test_a_file_that_went_and_one_that_came_are_decided_as_a_whole(self):
        client = self.connect()
        self.edit(client, "long.txt", "line 3\n", "staged 3\n")
        client.call("Write", file_path="new.txt", content="staged\n")
        self.file.unlink()
        (self.work / "new.txt").write_text("disk\n")
        conflicts = {one["path"]: one for one in client.call("galley_commit")["structuredContent"]["conflicts"]}
        self.assertEqual({path: one["reason"] for path, one in conflicts.items()},
                         {"long.txt": "conflict.missing", "new.txt": "conflict.exists"})
        client.call("galley_resolve", path="long.txt", version=conflicts["long.txt"]["version"], take="staged")
        client.call("galley_resolve", path="new.txt", version=conflicts["new.txt"]["version"], take="disk")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual(self.file.read_text(), self.changed(n3="staged 3"))
        self.assertEqual((self.work / "new.txt").read_text(), "disk\n")

    def test_no_view_shows_a_file_that_the_agent_may_not_read(self):
        (self.work / "sec").mkdir()
        (self.work / "sec" / "k.txt").write_text("OLD SECRET\n")
        (self.work / "galley.toml").write_text(
            '[agents.bot]\ncapabilities = ["fs:read", "!fs:read:sec/", "fs:write"]\n')
        client = self.connect("--agent", "bot")
        client.call("Write", file="sec/k.txt", content="bot's\n")
        client.call("Write", file="seen.txt", content="seen\n")
        tx = client.call("galley_status")["structuredContent"]["tx"]
        views = [client.call("galley_diff"), client.call("galley_preview"),
                 client.ask("resources/read", {"uri": f"galley://tx/{tx}/diff"}),
                 client.ask("prompts/get", {"name": "review_transaction", "arguments": {"tx": tx}}),
                 client.ask("prompts/get", {"name": "explain_refusal", "arguments": {"tx": tx}})]
        for view in views:
            shown = json.dumps(view)
            self.assertIn("left out: sec/k.txt, which bot may not read", shown)
            self.assertIn("+seen", shown)
            self.assertNotIn("SECRET", shown)
        self.assertIn("committed", self.text(client.call("galley_commit")))
        (self.work / "sec" / "k.txt").write_text("A PERSON'S SECRET\n")
        undone = client.call("galley_undo")
        self.assertTrue(undone["isError"])
        self.assertIn("sec/k.txt", json.dumps(undone))
        self.assertNotIn("SECRET", json.dumps(undone))

    def test_lines_that_the_agent_may_not_read_are_not_shown(self):
        (self.work / "galley.toml").write_text('[agents.bot]\ncapabilities = ["fs:read:src/**", "fs:write"]\n')
        client = self.connect("--agent", "bot")
        client.call("Write", file_path="new.txt", content="staged\n")
        (self.work / "new.txt").write_text("private\n")
        said = client.call("galley_commit")
        self.assertEqual(said["structuredContent"]["outcome"], "conflict")
        self.assertNotIn("private", str(said))


class SavesAfterARead(McpCase):
    """A person saves a file that a transaction has only read."""

    def test_neither_a_write_nor_a_command_loses_the_save(self):
        for tool, arguments in (("Write", {"file_path": "a.txt", "content": "all new\n"}),
                                ("Bash", {"command": "echo all new > a.txt"})):
            with self.subTest(tool):
                if tool == "Bash":
                    self.need_walls()
                (self.work / "a.txt").write_text("one\ntwo\n")
                client = self.connect()
                client.call("galley_begin")
                client.call("Read", file_path="a.txt")
                (self.work / "a.txt").write_text("one\ntwo\nsaved\n")
                client.call(tool, **arguments)
                self.assertNotEqual(client.call("galley_commit")["structuredContent"].get("outcome"), "committed")
                self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\nsaved\n")

    def saved_after_read(self, saved="one\ntwo\nsaved\n"):
        (self.work / "a.txt").write_text("one\ntwo\n")
        client = self.connect()
        client.call("galley_begin")
        client.call("Read", file_path="a.txt")
        (self.work / "a.txt").write_text(saved)
        return client

    def test_a_command_that_takes_the_save_back_is_refused_until_it_was_read(self):
        self.need_walls()
        for saved in ("one\ntwo\nsaved\n", ""):
            with self.subTest(saved):
                client = self.saved_after_read(saved)
                command = "printf 'one\\ntwo\\n' > a.txt; echo x > new.txt"
                said = client.call("Bash", command=command)
                self.assertTrue(said["isError"])
                self.assertIn("'a.txt' was saved since this transaction read it", self.text(said))
                client.call("Read", file_path="a.txt")
                self.assertFalse(client.call("Bash", command=command)["isError"])
                self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
                self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")
                (self.work / "new.txt").unlink()

    def test_a_write_of_what_was_read_names_the_save(self):
        client = self.saved_after_read()
        said = client.call("Write", file_path="a.txt", content="one\ntwo\n")
        self.assertEqual(said["structuredContent"]["error"]["reason"], "conflict.changed_on_disk")
        client.call("Read", file_path="a.txt")
        client.call("Write", file_path="a.txt", content="one\ntwo\n")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")

    def test_a_second_read_shows_the_save_and_edits_start_from_it(self):
        client = self.saved_after_read()
        missed = client.call("Edit", file_path="a.txt", old_string="saved", new_string="edited")
        self.assertIn("'a.txt' was saved since this transaction read it: read all of it again", self.text(missed))
        self.assertIn("saved", self.text(client.call("Read", file_path="a.txt")))
        client.call("Edit", file_path="a.txt", old_string="saved", new_string="edited")
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\nedited\n")

    # Limit: kMaxUncutBytes of tools/perform.h
    def test_a_read_of_a_part_does_not_make_the_save_the_base(self):
        for count, part in ((20, {"offset": 1, "limit": 1}), (2_500, {})):  # the second is cut after a page
            with self.subTest(lines=count):
                lines = [f"line {i}\n" for i in range(count)]
                (self.work / "a.txt").write_text("".join(lines))
                client = self.connect()
                client.call("galley_begin")
                client.call("Read", file_path="a.txt")
                (self.work / "a.txt").write_text("".join([*lines[:-1], "saved\n"]))
                client.call("Read", file_path="a.txt", **part)
                client.call("Write", file_path="a.txt", content="".join(["mine\n", *lines[1:]]))
                self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
                self.assertEqual((self.work / "a.txt").read_text(), "".join(["mine\n", *lines[1:-1], "saved\n"]))

    def test_with_serializable_isolation_the_first_read_counts_until_a_rebase(self):
        (self.work / "galley.toml").write_text('[commit]\nisolation = "serializable"\n')
        client = self.saved_after_read()
        client.call("Write", file_path="new.txt", content="x\n")
        self.assertNotIn("saved", self.text(client.call("Read", file_path="a.txt")))
        self.assertNotEqual(client.call("galley_commit")["structuredContent"].get("outcome"), "committed")
        client.call("galley_rebase")
        self.assertIn("saved", self.text(client.call("Read", file_path="a.txt")))
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")


class ChangedRules(McpCase):
    """A person changes galley.toml while the server runs."""

    def rules(self, text):
        (self.work / "galley.toml").write_text(text)

    def test_a_new_rule_counts_for_the_next_call(self):
        client = self.connect("--agent", "bot")
        self.assertFalse(client.call("Write", file="b.txt", content="b\n")["isError"])
        self.rules('[[policy.rule]]\nname = "no"\npaths = ["a.txt"]\ndecision = "deny"\n')
        refused = client.call("Write", file="a.txt", content="x\n")
        self.assertIn("policy.path", self.text(refused))
        # What was staged before is still there, in the same transaction.
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")
        self.assertEqual((self.work / "b.txt").read_text(), "b\n")
        self.rules("")
        self.assertFalse(client.call("Write", file="a.txt", content="x\n")["isError"])

    def test_a_new_list_of_capabilities_counts_for_every_view(self):
        client = self.connect("--agent", "bot")
        self.assertIn("one", self.text(client.call("Read", file="a.txt")))
        client.call("Write", file="a.txt", content="new\n")
        self.rules('[agents.bot]\ncapabilities = ["fs:read", "!fs:read:a.txt"]\n')
        self.assertTrue(client.call("Read", file="a.txt")["isError"])
        self.assertNotIn("one", json.dumps(client.call("galley_diff")))

    def test_another_profile_has_other_names(self):
        client = self.connect("--agent", "bot")
        self.rules('[agents.bot]\nprofile = "mcp-fs"\ncapabilities = ["fs:read"]\n')
        names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
        self.assertIn("read_text_file", names)
        self.assertNotIn("Read", names)
        self.assertIn("one", self.text(client.call("read_text_file", path="a.txt")))

    def test_a_call_waits_for_one_that_still_uses_the_old_rules(self):
        self.need_walls()
        client = self.connect()
        other = client.call("galley_begin")["structuredContent"]["tx"]
        client.call("galley_begin")
        duration = f"4000.{os.getpid()}"
        self.addCleanup(end_processes, "sleep", duration)
        running = client.request("tools/call", {"name": "Bash", "arguments": {"command": f"sleep {duration}; echo x > made", "tx": other}})
        wait_until(lambda: is_running(f"sleep {duration} "), "the command does not begin")
        self.rules('[[policy.rule]]\nname = "no"\npaths = ["a.txt"]\ndecision = "deny"\n')
        waiting = client.request("tools/call", {"name": "Write", "arguments": {"file": "a.txt", "content": "x\n"}})
        answers = {}
        client.answer_to(client.request("ping"), answers)  # so the server has read the call
        self.assertEqual(answers, {})
        self.assertTrue(end_processes("sleep", duration))
        self.assertFalse(client.answer_to(running, answers)["result"]["isError"])
        self.assertIn("policy.path", self.text(client.answer_to(waiting, answers)["result"]))

    def test_a_tool_that_is_disabled_cannot_be_called_until_it_is_enabled(self):
        client = self.connect()
        self.rules("[tools.Write]\nenabled = false\n")
        write = {"name": "Write", "arguments": {"file": "a.txt", "content": "x\n"}}
        self.assertIn("there is no tool named 'Write'", client.ask("tools/call", write)["error"]["message"])
        self.rules("")
        self.assertFalse(client.ask("tools/call", write)["result"]["isError"])

    def test_while_the_file_cannot_be_read_nothing_is_done(self):
        client = self.connect()
        client.call("Write", file="b.txt", content="b\n")
        self.rules("broken [")
        for refused in (client.call("Write", file="a.txt", content="x\n"), client.call("galley_commit")):
            self.assertIn("config.syntax", self.text(refused))
        self.assertIn("Write", [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]])
        (self.work / "galley.toml").unlink()
        self.assertEqual(client.call("galley_commit")["structuredContent"]["outcome"], "committed")


class Parts(McpCase):
    def test_single_paths_are_dropped_and_the_rest_stays_staged(self):
        client = self.connect()
        for name in ("b.txt", "src/c.txt", "src/d.txt"):
            client.call("Write", file_path=name, content="x\n")
        dropped = client.call("galley_rollback", paths=["src", "b.txt"])
        self.assertEqual(dropped["structuredContent"]["changes"], [])
        client.call("Write", file_path="b.txt", content="b\n")
        client.call("Edit", file_path="a.txt", old_string="one", new_string="1")
        kept = client.call("galley_rollback", paths=["a.txt"])
        self.assertIn("still staged:\nA b.txt\n", self.text(kept))
        client.call("galley_commit")
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")
        self.assertEqual((self.work / "b.txt").read_text(), "b\n")
        self.assertFalse((self.work / "src").exists())

    def test_a_deleted_file_comes_back_with_its_folders(self):
        self.need_walls()
        client = self.connect()
        (self.work / "src" / "in").mkdir(parents=True)
        for name in ("src/a", "src/in/b", "src/in/c"):
            (self.work / name).write_text("x\n")
        client.call("Bash", command="rm -r src")
        dropped = client.call("galley_rollback", paths=["src/in/b"])
        self.assertEqual([change["path"] for change in dropped["structuredContent"]["changes"]], ["src/a", "src/in/c"])
        client.call("galley_commit")
        self.assertEqual(sorted(path.name for path in (self.work / "src").rglob("*")), ["b", "in"])

    def test_folders_that_were_made_for_a_dropped_file_are_dropped(self):
        client = self.connect()
        client.call("Write", file_path="docs/new/x.txt", content="x\n")
        client.call("Write", file_path="docs/y.txt", content="x\n")
        dropped = client.call("galley_rollback", paths=["docs/new/x.txt"])
        self.assertEqual([change["path"] for change in dropped["structuredContent"]["changes"]], ["docs", "docs/y.txt"])
        dropped = client.call("galley_rollback", paths=["docs/y.txt"])
        self.assertEqual(dropped["structuredContent"]["changes"], [])

    def test_a_file_in_a_folder_that_replaced_a_file_is_dropped_with_it(self):
        self.need_walls()
        client = self.connect()
        client.call("Bash", command="rm a.txt; mkdir a.txt; echo x > a.txt/f; echo x > b.txt")
        client.call("galley_rollback", paths=["a.txt/f"])
        client.call("galley_commit")
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")
        self.assertTrue((self.work / "b.txt").exists())

    def test_a_path_that_is_not_staged_is_an_error_and_drops_nothing(self):
        client = self.connect()
        client.call("Write", file_path="b.txt", content="x\n")
        wrong = client.call("galley_rollback", paths=["b.txt", "c.txt"])
        self.assertEqual(wrong["structuredContent"]["error"]["reason"], "rollback.unknown_path")
        self.assertIn("b.txt", self.text(client.call("galley_status")))

    def test_both_ends_of_a_rename_are_dropped(self):
        client = self.connect("--profile", "mcp-fs")
        client.call("move_file", source="a.txt", destination="z.txt")
        client.call("galley_rollback", paths=["z.txt"])
        self.assertEqual(client.call("galley_status")["structuredContent"]["changes"], [])


if __name__ == "__main__":
    hostile.main()
