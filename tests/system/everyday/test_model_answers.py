"""Typical answers of models: several edits in several dialects, pasted line numbers, misspelt
words."""

import json

from everyday import EverydayCase, main


class ModelAnswers(EverydayCase):
    def setUp(self):
        super().setUp()
        (self.work / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 13)))
        (self.work / "b.txt").write_text("alpha\nbeta\ngamma\ndelta\n")
        (self.work / "src.py").write_text(
            "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n"
            "    return result\n\n\ndef names(items):\n    return [item.name for item in items]\n")

    def apply(self, answer, *options, expect=None, before=()):
        path = self.scratch / "answer.md"
        path.write_text(answer)
        return self.run_here(*before, "apply", path, *options, expect=expect)

    def failure(self, answer, *options):
        """Returns the one failed edit of the JSON report."""
        result = self.apply(answer, *options, expect=1, before=["--json"])
        failures = [failure for file in json.loads(result.out)["edits"]["files"] for failure in file["failed"]]
        self.assertEqual(len(failures), 1, result.out)
        return failures[0]

    A_DIFF = "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n line 1\n-line 2\n+two\n line 3\n```\n"
    B_BLOCK = "b.txt\n```\n<<<<<<< SEARCH\nbeta\n=======\nBETA\n>>>>>>> REPLACE\n```\n"

    def test_a_diff_and_a_block_in_one_answer_are_both_applied(self):
        """git: `git apply` of a file with two patches applies both or neither."""
        self.apply(f"First this:\n\n{self.A_DIFF}\nThen that:\n\n{self.B_BLOCK}\nDone.\n", expect=0)
        self.assertIn("two\n", (self.work / "a.txt").read_text())
        self.assertIn("BETA\n", (self.work / "b.txt").read_text())
        log = self.run_here("--json", "log", expect=0)
        self.assertEqual(len(json.loads(log.out)["transactions"]), 1)

    def test_a_block_after_a_diff_that_does_not_fit_changes_nothing(self):
        """git: if one hunk of one file fails, `git apply` changes nothing."""
        self.apply(self.A_DIFF + self.B_BLOCK.replace("beta\n", "no such line anywhere\n"), expect=1)
        self.assertNotIn("two\n", (self.work / "a.txt").read_text())

    def test_a_malformed_second_fence_is_named_by_its_line(self):
        """patch: uses the first and ignores the second as garbage; here that is refused."""
        answer = f"{self.A_DIFF}\nAnd:\n\n```diff\n-beta\n+BETA\n```\n"
        result = self.apply(answer, expect=1)
        self.assertIn(f"line {answer.split('-beta')[0].count(chr(10)) + 1} of the patch", result.out + result.err)
        self.assertNotIn("two\n", (self.work / "a.txt").read_text())

    def test_a_format_asked_for_does_not_drop_another(self):
        """patch: `-u` names the expected format; other formats are not dropped silently."""
        answer = self.A_DIFF + self.B_BLOCK
        for name in ("unified", "search_replace"):
            result = self.apply(answer, "--format", name, expect=2)
            self.assertIn(f"not {name}, the format asked for", result.err)
        self.assertIn("('b.txt')", self.apply(answer, "--format", "unified", expect=2).err)
        self.assertNotIn("two\n", (self.work / "a.txt").read_text())

    def test_a_path_and_its_content_need_no_format(self):
        """gh: `gh api` accepts a JSON document in the documented form."""
        one = {"path": "new/one.txt", "content": "one\n"}
        self.apply(json.dumps(one), expect=0)
        self.assertEqual((self.work / "new/one.txt").read_text(), "one\n")
        self.apply(json.dumps([{**one, "path": "two.txt"}, {**one, "path": "three.txt"}], indent=1), expect=0)
        self.assertTrue((self.work / "three.txt").exists())
        self.apply("Here:\n\n```json\n" + json.dumps({**one, "path": "four.txt"}) + "\n```\n", expect=0)
        self.assertTrue((self.work / "four.txt").exists())

    def test_tool_calls_in_a_fence_are_executed(self):
        """sh: a document has the same meaning with or without a fence around it."""
        calls = [{"tool": "Write", "args": {"file_path": "called.txt", "content": "x\n"}}]
        self.apply("```json\n" + json.dumps(calls) + "\n```\n", expect=0)
        self.assertTrue((self.work / "called.txt").exists())

    def test_a_single_call_and_calls_between_prose_are_executed(self):
        """git: reads no calls; here one call needs no list, and no document of its own."""
        call = '{"tool": "Write", "args": {"file_path": "new.txt", "content": "new\\n"}}'
        for document in (call, f"```json\n{call}\n```\n", f"I write it:\n\n```json\n{call}\n```\n\nDone.\n",
                         f"I write it:\n\n{call}\n"):
            with self.subTest(document):
                self.apply(document, expect=0)
                self.assertEqual((self.work / "new.txt").read_text(), "new\n")
                self.run_here("undo", expect=0)

    def test_a_count_that_is_too_high_leaves_the_next_file_alone(self):
        """git: `git apply` takes the lines of the next file for lines of the hunk, and calls the patch corrupt."""
        same = "def f():\n    return {0}\n\n"
        for name in "ab":
            (self.work / f"{name}.py").write_text(same.format(1))
        hunk = " def f():\n-    return 1\n+    return {0}\n \n"
        patch = ("--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,4 @@\n" + hunk.format(2) +
                 "--- a/b.py\n+++ b/b.py\n@@ -1,3 +1,3 @@\n" + hunk.format(3))
        for options in ((), ("--reject",)):
            with self.subTest(options):
                self.apply(patch, *options, expect=0)
                self.assertEqual((self.work / "a.py").read_text(), same.format(2))
                self.assertEqual((self.work / "b.py").read_text(), same.format(3))
                self.run_here("undo", expect=0)

    def test_a_refused_call_comes_back_as_a_call(self):
        """git: refuses a patch without a corrected one; here the correction is a call that the same command takes."""
        old = "def total(items):\n    outcome = 0\n    for item in items:\n        result += item.price\n"
        new = old.replace("item.price", "item.cost")
        was = (self.work / "src.py").read_text()
        block = f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"
        edit = {"file_path": "src.py", "old_string": old, "new_string": new}
        documents = {
            "apply_diff": f"<apply_diff>\n<path>src.py</path>\n<diff>\n{block}</diff>\n</apply_diff>\n",
            "replace_in_file": f"<replace_in_file>\n<path>src.py</path>\n<diff>\n{block}</diff>\n</replace_in_file>\n",
            "invoke": "<invoke name=\"Edit\">\n" + "".join(
                f"<parameter name=\"{key}\">{value}</parameter>\n" for key, value in edit.items()) + "</invoke>\n",
            "tool_call": "<tool_call>" + json.dumps({"name": "Edit", "arguments": edit}) + "</tool_call>\n",
            "calls": json.dumps([{"tool": "Edit", "args": edit, "call_id": "7"}]),
        }
        for name, document in documents.items():
            with self.subTest(name):
                refused = self.apply(document, "-n", expect=1)
                text = (refused.out + refused.err).split("ready to send again:\n")[1].split("\n")[0].strip()
                report = json.loads(self.apply(document, "-n", "--json", expect=1).out)
                correction = report["calls"][0]["error"]["details"]["correction"]
                self.assertEqual(json.loads(text), correction)
                self.assertEqual(correction["tool"], "Edit")
                self.assertEqual(correction.get("call_id"), "7" if name == "calls" else None)
                for again in (text, json.dumps(correction)):
                    self.apply(again, expect=0)
                    self.assertEqual((self.work / "src.py").read_text(), was.replace("item.price", "item.cost"))
                    self.run_here("undo", expect=0)
        both = json.dumps([{"tool": "Write", "args": {"file_path": "new.txt", "content": "new\n"}},
                           {"tool": "Edit", "args": edit}])
        refused = self.apply(both, "-n", expect=1)
        self.apply(refused.err.split("all calls as they fit, ready to send again:\n")[1].split("\n")[0], expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")
        self.assertEqual((self.work / "src.py").read_text(), was.replace("item.price", "item.cost"))

    def test_a_command_that_fails_fails_its_document(self):
        """sh -e: what follows a command that failed is not done."""
        write = {"tool": "Write", "args": {"file_path": "c.txt", "content": "c\n"}}
        bash = {"tool": "Bash", "args": {"command": "echo 1 > b.txt; exit 3"}}
        said = self.apply(json.dumps([bash, write]), expect=1).err
        for text in ("nothing was staged: call 1: the command of Bash", "exit status 3", "changes were dropped",
                     "|| true", "[calls.command_failed]"):
            self.assertIn(text, said)
        self.assertFalse((self.work / "c.txt").exists())
        self.assertIn("call 2", self.apply(json.dumps([write, bash]), expect=1).err)
        self.assertFalse((self.work / "c.txt").exists())
        bash["args"]["command"] = "echo 1 > b.txt; false || true"
        self.apply(json.dumps([bash, write]), expect=0)
        self.assertEqual((self.work / "b.txt").read_text(), "1\n")

    def test_filters_that_leave_no_file_are_named(self):
        """tar: a pattern that matches no member is named."""
        diff = "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+x\n"
        for option in ("--include=src/*", "--exclude=made.*"):
            said = self.run_here("apply", option, "-", stdin=diff, expect=0).err
            self.assertIn("--include and --exclude leave no file of the edit", said)
        self.assertNotIn("leave no file", self.run_here("apply", "--include=m*", "-", stdin=diff, expect=0).err)

    def test_a_call_next_to_edits_is_refused_with_all_of_them(self):
        """git: `git apply` never applies only a part of its input without a message."""
        diff = "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+x\n"
        raw = json.dumps({"name": "Write", "arguments": {"file_path": "called.txt", "content": "x\n"}})
        for call in (f"<tool_call>\n{raw}\n</tool_call>\n", f"```json\n{raw}\n```\n", raw + "\n",
                     '<invoke name="Write">\n<parameter name="file_path">called.txt</parameter>\n</invoke>\n'):
            for answer in (diff + "\nAnd then:\n\n" + call, call + "\n" + diff):
                with self.subTest(answer):
                    refused = self.apply(answer, expect=2)
                    self.assertIn("--format tool_text", refused.err)
                    self.assertFalse((self.work / "made.txt").exists())
        # An example in a fence of another language, or in a changed line, is not a call.
        self.apply(diff + "\n```html\n<tool_call>\n```\n", expect=0)
        self.apply("--- /dev/null\n+++ b/tags.txt\n@@ -0,0 +1 @@\n+<tool_call>\n", expect=0)

    def test_blanks_around_markers_do_not_matter(self):
        """patch: `patch` accepts an indented patch, and CR LF in its headers."""
        self.apply("*** Begin Patch \n *** Update File: a.txt \n@@\n-line 2\n+two\n*** End Patch  \n", expect=0)
        self.assertIn("two\n", (self.work / "a.txt").read_text())
        self.apply("b.txt\n  <<<<<<< SEARCH \nbeta\n  =======\t\nBETA\n  >>>>>>> REPLACE  \n", expect=0)
        self.assertIn("BETA\n", (self.work / "b.txt").read_text())

    def test_a_patch_without_its_last_line_may_be_cut_off(self):
        """patch: `unexpected end of file in patch`; here `--recount` accepts it, as in git."""
        answer = "*** Begin Patch\n*** Update File: a.txt\n@@\n-line 2\n+two\n"
        result = self.apply(answer, expect=2)
        self.assertIn("*** End Patch", result.err)
        self.apply(answer, "--recount", expect=0)

    def test_a_misspelt_line_is_shown_with_the_nearest_lines(self):
        """git: `git checkout mian` suggests near names; so does a search text of one line."""
        failure = self.failure(json.dumps(
            {"path": "src.py", "edits": [{"old_string": "retrun result", "new_string": "return total"}]}))
        self.assertEqual(failure["nearest"]["line"], 5)
        self.assertEqual(failure["nearest"]["found"], ["    return result\n"])
        self.assertIn("[-retrun-]", failure["word_diff"])
        text = self.apply(json.dumps(
            {"path": "src.py", "edits": [{"old_string": "retrun result", "new_string": "return total"}]}), expect=1)
        self.assertIn("line 5", text.out + text.err)

    def test_similar_lines_are_listed_up_to_a_limit(self):
        """git: `git log` and `grep -m` say if there is more."""
        (self.work / "many.txt").write_text("".join(f"value_{n} = compute(value_{n})\n" for n in range(40)))
        failure = self.failure(json.dumps(
            {"path": "many.txt", "edits": [{"old_string": "valeu_x = compute(", "new_string": "y"}]}))
        self.assertEqual(len(failure["similar"]), 5)
        self.assertEqual(failure["more_similar"], 34)
        failure = self.failure(json.dumps(
            {"path": "many.txt", "edits": [{"old_string": "compute", "new_string": "y"}]}))
        self.assertEqual((failure["reason"], len(failure["candidates"]), failure["more_candidates"]),
                         ("patch.ambiguous", 10, 30))
        shown = self.apply("many.txt\n<<<<<<< SEARCH\nvaleu_x = compute(value_y)\n=======\ny\n>>>>>>> REPLACE\n",
                           expect=1)
        self.assertIn("… 34 more", shown.out + shown.err)

    def test_pasted_line_numbers_are_reported(self):
        """sh: `cat -n` and editors show numbers that are not part of the file."""
        for numbered in ("  9\t        result += item.price", "9|        result += item.price",
                         "     9→        result += item.price", "  4: result += item.price"):
            with self.subTest(numbered):
                failure = self.failure(json.dumps(
                    {"path": "src.py", "edits": [{"old_string": numbered, "new_string": "x"}]}))
                self.assertIn("line numbers", failure["message"])
                self.assertIn("line 4", failure["message"])
        misspelt = json.dumps({"path": "src.py", "edits": [
            {"old_string": "4\t        result += item.prise", "new_string": "x"}]})
        self.assertIn("line numbers ('4\\t')", self.failure(misspelt)["message"])
        block = ("src.py\n<<<<<<< SEARCH\n   2\t    result = 0\n   3\t    for item in items:\n=======\n"
                 "   2\t    result = 1\n    pass\n>>>>>>> REPLACE\n")
        self.assertIn("line numbers ('2\\t')", self.failure(block)["message"])
        self.apply(block.replace("    pass\n", "   3\t    for item in items:\n"), expect=0)
        self.assertIn("    result = 1\n    for item", (self.work / "src.py").read_text())

    def test_a_pasted_prompt_is_reported(self):
        """sh: `$ ` before a command and `> ` before a quoted line are not part of them."""
        for prompt in ("> ", "$ ", "+ "):
            with self.subTest(prompt):
                failure = self.failure(json.dumps(
                    {"path": "b.txt", "edits": [{"old_string": prompt + "beta", "new_string": "x"}]}))
                self.assertIn(f"'{prompt}'", failure["message"])
                self.assertEqual(failure["nearest"]["line"], 2)

    def test_edits_and_calls_in_single_quotes_are_read(self):
        """sh: 'a' and "a" are the same word."""
        edit = "{'path': 'b.txt', 'edits': [{'old_string': 'beta', 'new_string': 'BETA'}]}"
        result = self.apply(edit, expect=0)
        self.assertIn("single quotes", result.out + result.err)
        self.assertEqual((self.work / "b.txt").read_text(), "alpha\nBETA\ngamma\ndelta\n")
        calls = "[{'tool': 'Write', 'args': {'file_path': 'c.txt', 'content': 'c'}}]"
        self.assertIn("[json_mended]", self.apply(calls, expect=0).err)
        self.assertEqual((self.work / "c.txt").read_text(), "c")

    def test_the_id_of_a_candidate_chooses_it(self):
        """git: the words of a hint can be typed where the hint appears."""
        edit = json.dumps({"path": "src.py", "edits": [{"old_string": "items", "new_string": "goods"}]})
        failure = self.failure(edit)
        self.assertIn("--choose ID", failure["message"])
        self.apply(edit, "--choose", failure["candidates"][1]["id"], expect=0)
        self.assertIn("for item in goods:", (self.work / "src.py").read_text())

    def test_a_tool_call_gets_the_same_help(self):
        """gh: an extension gives the same errors as the program."""
        calls = {"Edit": {"file_path": "src.py", "old_string": "retrun result", "new_string": "x"},
                 "MultiEdit": {"file_path": "src.py",
                               "edits": [{"old_string": "retrun result", "new_string": "x"}]},
                 "edit_file": {"path": "src.py", "edits": [{"oldText": "retrun result", "newText": "x"}]},
                 "str_replace_based_edit_tool": {"command": "str_replace", "path": "src.py",
                                                 "old_str": "retrun result", "new_str": "x"}}
        self.run_here("begin", expect=0)
        for name, arguments in calls.items():
            with self.subTest(name):
                result = self.run_here("--json", "call", name, json.dumps(arguments), expect=1)
                error = json.loads(result.out)["error"]
                self.assertIn("the nearest line is line 5", error["message"])
                failure = error["details"]["files"][0]["failed"][0]
                self.assertEqual(failure["nearest"]["found"], ["    return result\n"])
        numbered = {"file_path": "src.py", "old_string": "4\t        result += item.price", "new_string": "x"}
        result = self.run_here("--json", "call", "Edit", json.dumps({**numbered, "old_string": "5" + numbered["old_string"][1:]}),
                               expect=1)
        self.assertIn("line numbers", json.loads(result.out)["error"]["message"])
        result = self.run_here("--json", "call", "Edit", json.dumps(numbered), expect=0)
        self.assertIn("numbered_lines", result.out)

    def test_a_refusal_has_the_whole_edit_as_it_fits(self):
        """git: `git am --show-current-patch` has the patch that failed; here it comes corrected, in its own form."""
        old = "def total(items):\n    outcome = 0\n    for item in items:\n        result += item.price\n"
        new = old.replace("item.price", "item.cost")
        lines = "".join(f" {line}\n" for line in old.splitlines()[:-1])
        change = lines + "-        result += item.price\n+        result += item.cost\n"
        documents = {
            "unified": f"--- a/src.py\n+++ b/src.py\n@@ -1,4 +1,4 @@\n{change}",
            "apply_patch": f"*** Begin Patch\n*** Update File: src.py\n@@\n{change}*** End Patch\n",
            "search_replace": f"src.py\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n",
            "edits": json.dumps({"path": "src.py", "edits": [{"oldText": old, "newText": new}]}),
        }
        was = (self.work / "src.py").read_text()
        for name, document in documents.items():
            with self.subTest(name):
                wrong = self.apply(document, "-n", "--format", name)
                if wrong.returncode == 0:  # read with other context
                    self.assertIn(name, ("unified", "apply_patch"))
                    continue
                text = (wrong.out + wrong.err).split("ready to send again:\n")[1]
                again = text.split("galley:")[0]
                self.apply(again, "--format", name, "--strict", expect=0)
                self.assertEqual((self.work / "src.py").read_text(), was.replace("item.price", "item.cost"))
                self.run_here("undo", expect=0)
        self.run_here("begin", expect=0)
        call = {"file_path": "src.py", "old_string": old, "new_string": new}
        error = json.loads(self.run_here("--json", "call", "Edit", json.dumps(call), expect=1).out)["error"]
        again = error["details"]["correction"]
        self.assertGreaterEqual(set(again), set(call))
        self.run_here("call", "Edit", json.dumps(again), expect=0)

    def test_a_patch_tool_accepts_the_same_patches_as_apply(self):
        """git: `git apply` and `git am` read patches in the same way."""
        self.run_here("begin", expect=0)
        arguments = json.dumps({"input": self.A_DIFF + self.B_BLOCK})
        result = json.loads(self.run_here("--json", "call", "apply_patch", arguments, expect=0).out)
        self.assertTrue(result["ok"], result)
        self.run_here("commit", expect=0)
        self.assertIn("BETA\n", (self.work / "b.txt").read_text())

    def test_errors_do_not_show_text_of_a_file_that_may_not_be_read(self):
        """sh: if `cat` may not show a text, no error message shows it."""
        config = self.work / "galley.toml"
        config.write_text(config.read_text() + '\n[agents.bot]\n'
                          'capabilities = ["fs:read", "!fs:read:b.txt", "fs:write"]\n')
        self.run_here("--agent", "bot", "begin", expect=0)
        result = self.run_here("--agent", "bot", "--json", "call", "Edit", json.dumps(
            {"file_path": "b.txt", "old_string": "gamna", "new_string": "x"}), expect=1)
        self.assertEqual(json.loads(result.out)["error"]["reason"], "patch.context_not_found")
        self.assertNotIn("gamma", result.out + result.err)
        self.assertNotIn("line 3", result.out + result.err)


if __name__ == "__main__":
    main()
