"""How Galley read a document of edits, for a person who wants to know what an agent did wrong."""

import json

from everyday import EverydayCase, main

FILE = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n"
ANSWER = (
    "The sum starts at one.\n\n```diff\n--- a/sum.py\n+++ b/sum.py\n@@ -1,9 +1,9 @@\n def total(items):\n"
    "-    result = 0\n+    result = 1\n     for item in items:\n```\n\nAnd the name:\n\n"
    "names.txt\n<<<<<<< SEARCH\n  beta\n=======\n  BETA\n>>>>>>> REPLACE\n")


class EditsExplain(EverydayCase):
    def setUp(self):
        super().setUp()
        (self.work / "sum.py").write_text(FILE)
        (self.work / "names.txt").write_text("alpha\nbeta\ngamma\n")

    def explain(self, answer, *options, expect):
        path = self.scratch / "answer.md"
        path.write_text(answer)
        return self.run_here("edits", "explain", path, *options, expect=expect).out

    def test_parts_prose_leniencies_and_steps_are_listed_in_order(self):
        """git: `git apply --verbose` says where each hunk was applied."""
        said = self.explain(ANSWER, expect=0)
        wanted = ("line 1: passed over as prose: 'The sum starts at one.'", "line 4: edits of the format unified begin",
                  "line 13: passed over as prose: 'And the name:'", "line 15: edits of the format search_replace begin",
                  "sum.py: modify", "step exact at line 1", "names.txt: modify", "step white_space at line 2",
                  "tried before", "offset: byte for byte elsewhere", "[count_mismatch]", "result: all of it would apply")
        places = [said.find(text) for text in wanted]
        self.assertNotIn(-1, places, said)
        self.assertEqual(places, sorted(places), said)

    def test_nothing_is_changed_or_staged(self):
        """make: -n prints the commands without running them."""
        self.explain(ANSWER, expect=0)
        self.assertEqual((self.work / "sum.py").read_text(), FILE)
        self.assertEqual(json.loads(self.run_here("--json", "status", expect=0).out)["transactions"], [])

    def test_an_edit_without_a_place_lists_the_tried_steps_and_a_remedy(self):
        """patch: --verbose names the hunk that failed."""
        said = self.explain(
            "--- a/sum.py\n+++ b/sum.py\n@@ -2,3 +2,3 @@\n     result = 0\n     for item in things:\n"
            "-        result += item.cost\n+        result -= item.cost\n", expect=1)
        for text in ("no place", "mended: with a typical mistake of a model repaired", "[patch.context_not_found",
                     "expected, and what is there instead", "result: it would not apply"):
            self.assertIn(text, said)

    def test_an_unreadable_document_is_explained_up_to_the_error(self):
        """git apply: an error names the line and shows its text."""
        said = self.explain("Look.\n<<<<<<< ORIGINAL\na\n=======\nb\n>>>>>>> UPDATED\n", expect=1)
        self.assertIn("line 2: looks like an edit, but is not one: '<<<<<<< ORIGINAL'", said)
        self.assertIn("[edit.unread]", said)

    def test_long_lines_of_a_file_are_cut(self):
        """git apply: an error names the line and does not print the file."""
        (self.work / "long.txt").write_text("alpha beta \u00e9" * 200000 + "\nother\n")
        block = "long.txt\n<<<<<<< SEARCH\nalpha beta alpha gamma\n=======\nx\n>>>>>>> REPLACE\n"
        (self.scratch / "answer.md").write_text(block)
        for options in ((), ("--json",)):
            result = self.run_here(*options, "apply", self.scratch / "answer.md", expect=1)
            self.assertIn("alpha beta", result.out + result.err)
            self.assertLess(len(result.out + result.err), 20000)

    def test_a_long_corrected_hunk_is_named_and_left_out(self):
        """git apply: an error names the line and does not print the file."""
        for size, is_shown in ((100, True), (12_000, False)):
            text = [f"line {n} {'x' * size}\n" for n in range(9)]
            (self.work / "long.txt").write_text("".join(text))
            hunk = f" {text[3]}-{text[4]}+new\n " + " ".join(text[5:]).replace("line 5", "line five")
            (self.scratch / "patch").write_text(f"--- a/long.txt\n+++ b/long.txt\n@@ -4,6 +4,6 @@\n{hunk}"
                                                "@@ -20 +20 @@\n-nowhere\n+new\n")
            result = self.run_here("apply", "--strict", self.scratch / "patch", expect=1)
            said = result.out + result.err
            self.assertEqual("a hunk that fits:" in said, is_shown)
            self.assertEqual("the hunk that fits has over 64 KiB and is left out" in said, not is_shown)

    def test_calls_are_counted(self):
        """git: a dry run lists each command."""
        calls = [{"tool": "Write", "args": {"file_path": "new", "content": "x"}},
                 {"tool": "Edit", "args": {"file_path": "names.txt", "old_string": "nope", "new_string": "x"}}]
        said = self.explain(json.dumps(calls), expect=1)
        self.assertIn("call 1: Write: content 'x', file_path 'new': can be made\n", said)
        self.assertIn("call 2: Edit: file_path 'names.txt', new_string 'x', old_string 'nope': fails\n", said)
        self.assertFalse((self.work / "new").exists())


if __name__ == "__main__":
    main()
