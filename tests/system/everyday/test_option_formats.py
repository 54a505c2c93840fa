"""Every edit option in every format: it has an effect there, or it is refused with a reason."""

import json
import re

from everyday import EverydayCase, main

ROW = re.compile(r"^  (-\S.*?)(?:  |$)", re.M)

A_TEXT = "one\ntwo \nthree\nfour\nfive\nsix\nseven\n"
B_TEXT = "red\ngreen\nblue\n"

# One edit of a.txt and b.txt in every format.
UNIFIED = ("--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n one\n-two \n+TWO  \n three\n four\n"
           "--- a/b.txt\n+++ b/b.txt\n@@ -1,3 +1,3 @@\n red\n-green\n+GREEN\n blue\n")
V4A = ("*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two \n+TWO  \n three\n four\n"
       "*** Update File: b.txt\n@@\n red\n-green\n+GREEN\n blue\n*** End Patch\n")
BLOCKS = ("a.txt\n<<<<<<< SEARCH\ntwo \n=======\nTWO  \n>>>>>>> REPLACE\n\n"
          "b.txt\n<<<<<<< SEARCH\ngreen\n=======\nGREEN\n>>>>>>> REPLACE\n")
EDITS = json.dumps([{"path": "a.txt", "edits": [{"oldText": "two ", "newText": "TWO  "}]},
                    {"path": "b.txt", "edits": [{"oldText": "green", "newText": "GREEN"}]}])
CONTENT = json.dumps([{"path": "a.txt", "content": A_TEXT.replace("two ", "TWO  ")},
                      {"path": "b.txt", "content": B_TEXT.replace("green", "GREEN")}])
CALLS = json.dumps([{"tool": "Edit", "args": {"file_path": "a.txt", "old_string": "two ", "new_string": "TWO  "}},
                    {"tool": "Edit", "args": {"file_path": "b.txt", "old_string": "green", "new_string": "GREEN"}}])
TOOL_TEXT = "".join(f"<tool_use><tool_name>Edit</tool_name><parameters><file_path>{path}</file_path>"
                    f"<old_string>{old}</old_string><new_string>{new}</new_string></parameters></tool_use>\n"
                    for path, old, new in (("a.txt", "two ", "TWO  "), ("b.txt", "green", "GREEN")))
DOCUMENTS = {"unified": UNIFIED, "apply_patch": V4A, "search_replace": BLOCKS, "edits": EDITS, "content": CONTENT,
             "calls": CALLS, "tool_text": TOOL_TEXT}
FORMAT_OF = {"content": "edits"}
EMPTY = {"unified": "", "apply_patch": "*** Begin Patch\n*** End Patch\n", "search_replace": "nothing\n",
         "edits": "[]", "content": "[]", "calls": "[]", "tool_text": "nothing\n"}

# Options that select or move files do the same in every format but calls.
BY_PATH = {
    ("--only", "a.txt"): {"a.txt"}, ("--except", "a.txt"): {"b.txt"},
    ("--include", "a.txt"): {"a.txt"}, ("--exclude", "a.txt"): {"b.txt"},
    ("--directory", "sub"): {"sub/a.txt", "sub/b.txt"},
}
# The formats where the other options are refused, with a value for options that take one.
REFUSED = {
    ("-R",): {"search_replace", "edits", "content", "calls", "tool_text"},
    ("--recount",): {"search_replace", "edits", "content", "calls", "tool_text"},
    ("--unidiff-zero",): {"apply_patch", "search_replace", "edits", "content", "calls", "tool_text"},
    ("-p", "1"): {"apply_patch", "search_replace", "edits", "content", "calls", "tool_text"},
    ("-C", "3"): {"search_replace", "edits", "content", "calls", "tool_text"},
    ("--whitespace", "fix"): {"search_replace", "edits", "content", "calls", "tool_text"},
    ("--strict",): {"calls", "tool_text"}, ("--ignore-whitespace",): {"calls", "tool_text"},
    ("--reject",): {"calls", "tool_text"},
    ("--choose", "0000"): {"calls", "tool_text"},
}
# These options do not affect how an edit is read or placed, so they apply to every format.
OF_NO_FORMAT = {
    "--format", "--check", "--allow-empty", "--stat", "--numstat", "--name-status", "--word-diff", "--color-moved",
    "-w", "--ignore-all-space", "-b", "-U", "--unified", "--conflict", "-n", "--dry-run", "--ignore-space-change",
    "--reverse", "--fix", "--tx", "--side-by-side", "--hyperlinks", "--report", "--quiet", "-q", "--html",
    "--transcript", "-m", "--message", "--begin", "--complete", "--truncated",
}


class OptionFormats(EverydayCase):
    def setUp(self):
        super().setUp()
        for folder in (self.work, self.work / "sub"):
            folder.mkdir(exist_ok=True)
            (folder / "a.txt").write_text(A_TEXT)
            (folder / "b.txt").write_text(B_TEXT)

    def document(self, name, documents):
        format = FORMAT_OF.get(name, name)
        return ["--format", format, "-"], documents[name].encode()

    def preview(self, name, *options, command="preview", documents=None, expect=None):
        words, text = self.document(name, documents or DOCUMENTS)
        return self.run_here("--json", command, *options, *words, stdin=text, expect=expect)

    def paths(self, result):
        return {change["path"] for change in json.loads(result.out)["changes"]}

    def assert_refused(self, result, option, name):
        document = json.loads(result.out)
        self.assertEqual((result.returncode, document["reason"]), (2, "usage.option_of_format"), result.out)
        self.assertTrue(document["message"].startswith(
            f"{option} means nothing in the format '{FORMAT_OF.get(name, name)}': "), document["message"])

    def test_every_option_of_an_edit_is_in_a_table(self):
        """git: `git apply` accepts no option that it then ignores."""
        known = {words[0] for words in (*BY_PATH, *REFUSED)} | OF_NO_FORMAT
        for command in ("preview", "apply", "stage"):
            listed = set()
            for row in ROW.findall(self.run_here(command, "-h", expect=0).out):
                listed |= {name.split(" ")[0] for name in row.split(", ")}
            self.assertEqual(listed - known, set())

    def test_options_that_select_paths_select_in_every_format(self):
        """git: --exclude means the same for every kind of patch."""
        for name in DOCUMENTS:
            for (option, value), paths in BY_PATH.items():
                for command in ("preview", "apply", "stage"):
                    with self.subTest(format=name, option=option, command=command):
                        words = ["-n"] if command == "apply" else []
                        if command == "stage":
                            self.run_here("begin", expect=0)
                        result = self.preview(name, option, value, *words, command=command)
                        if command == "stage":
                            self.run_here("rollback", expect=0)
                        if name in ("calls", "tool_text"):
                            self.assert_refused(result, option, name)
                        else:
                            self.assertEqual(self.paths(result), paths)

    def test_excluded_paths_are_never_committed(self):
        """git: `git apply --exclude=b.txt` leaves b.txt alone."""
        for name in ("edits", "content"):
            with self.subTest(format=name):
                self.preview(name, "--exclude", "b.txt", command="apply", expect=0)
                self.assertEqual((self.work / "b.txt").read_text(), B_TEXT)
                self.assertNotEqual((self.work / "a.txt").read_text(), A_TEXT)
                (self.work / "a.txt").write_text(A_TEXT)

    def test_options_without_a_meaning_are_refused(self):
        """cargo: an option that contradicts another one is an error and is never ignored."""
        self.run_here("begin", expect=0)
        for name in DOCUMENTS:
            for words, formats in REFUSED.items():
                for command, look in (("preview", []), ("apply", ["-n"]), ("stage", ["-n"])):
                    with self.subTest(format=name, option=words[0], command=command):
                        result = self.preview(name, *words, *look, command=command)
                        if name in formats:
                            self.assert_refused(result, words[0], name)
                        else:
                            self.assertNotIn("usage.option_of_format", result.out)

    def test_allow_empty_works_in_every_format(self):
        """git: `git apply --allow-empty` accepts an empty patch."""
        for name in DOCUMENTS:
            with self.subTest(format=name):
                self.preview(name, documents=EMPTY, expect=2)
                self.preview(name, "--allow-empty", documents=EMPTY, expect=0)

    def test_reverse_inverts_a_v4a_edit_but_not_a_deletion(self):
        """git: -R cannot invert an edit without the old text."""
        (self.work / "a.txt").write_text(A_TEXT.replace("two ", "TWO  "))
        (self.work / "b.txt").write_text(B_TEXT.replace("green", "GREEN"))
        self.preview("apply_patch", "-R", command="apply", expect=0)
        self.assertEqual((self.work / "b.txt").read_text(), B_TEXT)
        deletion = {"apply_patch": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"}
        result = self.preview("apply_patch", "-R", documents=deletion, expect=2)
        self.assertEqual(json.loads(result.out)["reason"], "edit.not_reversible")

    def test_strict_works_in_every_format_of_edits(self):
        """patch: --fuzz=0 finds only an exact match."""
        (self.work / "a.txt").write_text(A_TEXT.replace("two ", "two"))
        for name in ("unified", "apply_patch", "search_replace"):
            with self.subTest(format=name):
                self.preview(name, expect=0)
                self.preview(name, "--strict", expect=1)

    def test_reject_stages_what_fits_in_every_format_of_edits(self):
        """git: --reject applies the hunks that fit."""
        (self.work / "a.txt").write_text("something else\n")
        for name in ("unified", "apply_patch", "search_replace", "edits"):
            with self.subTest(format=name):
                self.preview(name, expect=1)
                self.assertEqual(self.paths(self.preview(name, "--reject")), {"b.txt"})


if __name__ == "__main__":
    main()
