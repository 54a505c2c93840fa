"""`--html`: the page on which people read a change, tested in a browser."""

import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "review"))

from browser import BrowserCase  # noqa: E402
from support import GALLEY, SystemCase  # noqa: E402
from test_review_server import LINES, ServedCase  # noqa: E402

ROWS = "document.querySelectorAll('tbody tr').length"
TEXTS = "[...document.querySelectorAll(%r)].map((node) => node.textContent)"
C_BEFORE = "#include <stdio.h>\n\nint main(void) {\n  int answer = 41;\n  /* said\n     twice */\n  return answer;\n}\n"
C_AFTER = C_BEFORE.replace("41", "42").replace("twice", "thrice")


def data_of(page):
    """Returns the data in a page."""
    return json.loads(re.search(r'<script type="application/json" id="galley-data">(.*?)</script>', page, re.S)[1])


def texts(selector):
    return TEXTS % selector


class ReportCase(SystemCase):
    def begin(self, files, agent=None):
        """Begins a transaction that proposes these contents."""
        self.galley("begin", expect=0)
        for path, content in files.items():
            if (self.work / path).exists():
                self.galley("call", "Write", json.dumps({"file_path": path, "content": content}), expect=0)
            else:
                self.stage_new(path, content)

    def write(self, path, content):
        target = self.work / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def page_of(self, *arguments, expect=0):
        self.galley(*arguments, f"--html={self.scratch / 'page.html'}", expect=expect)
        return (self.scratch / "page.html").read_text()


class Report(ReportCase):
    def test_goes_to_a_file_or_to_standard_output(self):
        self.write("a.txt", "one\n")
        self.begin({"a.txt": "two\n"})
        page = self.page_of("diff")
        piped = self.galley("diff", "--html", expect=0).stdout.decode()
        self.assertEqual(data_of(page)["files"], data_of(piped)["files"])
        self.assertEqual([file["path"] for file in data_of(page)["files"]], ["a.txt"])

    def test_standard_output_that_is_for_json_is_refused(self):
        self.begin({"a.txt": "two\n"})
        said = self.galley("--json", "diff", "--html", expect=2)
        self.assertEqual(json.loads(said.stdout)["reason"], "html.json")

    def test_a_file_that_cannot_be_written_is_one_error(self):
        self.begin({"a.txt": "two\n"})
        said = self.galley("diff", "--html=/nowhere/page.html", expect=2)
        self.assertIn(b"/nowhere", said.stderr)

    def test_carries_findings_and_the_verdict(self):
        self.write("galley.toml", '[[validator]]\nname = "json"\nbuiltin = "json"\npaths = ["*.json"]\n')
        self.begin({"broken.json": '{\n  "a": 1,\n  "b" 2\n}\n'})
        data = data_of(self.page_of("diff"))
        self.assertFalse(data["verdict"]["approved"])
        [finding] = [one for one in data["findings"] if one["rule"] == "json.syntax"]
        self.assertEqual((finding["line"], data["files"][finding["file"]]["path"]), (3, "broken.json"))

    def test_a_page_can_show_a_commit_or_an_edit(self):
        self.write("a.txt", "one\n")
        patch = b"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
        (self.scratch / "a.patch").write_bytes(patch)
        previewed = data_of(self.page_of("preview", self.scratch / "a.patch"))
        self.assertTrue(previewed["verdict"]["approved"])
        self.galley("--reason", "count on", "apply", self.scratch / "a.patch", expect=0)
        shown = data_of(self.page_of("show"))
        self.assertEqual(shown["files"][0]["parts"][0]["lines"], ["-one", "+two"])
        self.assertIn(["Reason", "count on"], shown["facts"])

    def test_a_page_can_show_only_the_named_paths(self):
        self.begin({"a.txt": "two\n", "sub/b.txt": "two\n"})
        self.assertEqual([file["path"] for file in data_of(self.page_of("diff", "sub"))["files"]], ["sub/b.txt"])

    def test_an_agent_is_not_shown_what_it_may_not_read(self):
        self.write("galley.toml", '[agents.bot]\ncapabilities = ["fs:read:src/", "fs:write"]\n')
        self.begin({"secret.txt": "the word\n", "src/a.txt": "open\n"})
        page = self.galley("--agent", "bot", "diff", "--html", "--tx", self.tx(), expect=0).stdout.decode()
        self.assertNotIn("the word", page)
        self.assertEqual(data_of(page)["left_out"], ["secret.txt"])

    def tx(self):
        return json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"][0]["tx"]

    def test_an_agent_writes_no_file_with_it(self):
        self.galley("--agent", "bot", "begin", expect=0)
        said = self.galley("--agent", "bot", "diff", "--html=page.html", expect=1)
        self.assertIn(b"agent", said.stderr)
        self.assertFalse((self.work / "page.html").exists())

    def test_a_page_is_one_of_the_report_formats(self):
        self.begin({"a.txt": "two\n"})
        self.galley("validate", "--report", f"html={self.scratch / 'page.html'}", expect=0)
        data = data_of((self.scratch / "page.html").read_text())
        self.assertEqual([file["path"] for file in data["files"]], ["a.txt"])
        self.assertTrue(data["verdict"]["approved"])

    def test_data_cannot_end_the_element_that_holds_them(self):
        self.begin({"</script><script>window.hacked = 1": "</script><script>window.hacked = 1</script><!--\n"})
        page = self.page_of("diff")
        self.assertNotIn("hacked = 1</script>", page)
        self.assertEqual(page.count("<script"), 2)

    def test_nothing_is_loaded_and_only_the_own_script_runs(self):
        self.begin({"a.txt": "two\n"})
        page = self.page_of("diff")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(re.findall(r"https?://", page), [])


class PageInBrowser(BrowserCase, ReportCase):
    def change(self):
        self.write("galley.toml", '[[validator]]\nname = "json"\nbuiltin = "json"\npaths = ["*.json"]\n')
        self.write("src/main.c", "/* head */\n" * 30 + C_BEFORE)
        self.write("docs/old.md", "".join(f"line {i}\n" for i in range(40)))
        self.begin({"src/main.c": "/* head */\n" * 30 + C_AFTER, "broken.json": '{\n  "a": 1,\n  "b" 2\n}\n',
                    "docs/deep/er/new.py": "def new():\n    return 'text'  # why\n"})
        self.galley("diff", f"--html={self.scratch / 'page.html'}", expect=0)
        return self.scratch / "page.html"

    def test_shows_files_lines_words_colours_and_findings(self):
        found = self.look(
            self.change(), ("until", "document.querySelectorAll('.word').length > 1"),
            ("note", "files", texts("main section.file h2")), ("note", "tree", texts("nav a .file-name")),
            ("note", "folders", texts("nav summary")),
            ("note", "removed", texts("tr td.text.removed")), ("note", "words", texts(".word")),
            ("note", "keywords", texts("td .keyword")), ("note", "strings", texts("td .string")),
            ("note", "comments", texts("td .comment")),
            ("note", "at line", "[...document.querySelectorAll('tbody .finding')].map((box) => "
                                "box.closest('tr').previousElementSibling.textContent)"),
            ("note", "verdict", texts(".verdict p")))
        notes = found["notes"]
        self.assertEqual(notes["files"], ["broken.json", "docs/deep/er/new.py", "src/main.c"])
        self.assertEqual(notes["folders"], ["docs/deep/er/", "src/"])
        self.assertEqual(notes["tree"], ["broken.json", "new.py", "main.c"], "in the order of the files")
        self.assertIn("  int answer = 41;", notes["removed"])
        self.assertEqual(notes["words"], ["41", "42", "twice", "thrice"])
        self.assertIn("int", notes["keywords"])
        self.assertIn("def", notes["keywords"])
        self.assertIn("'text'", notes["strings"])
        self.assertIn("     thrice */", "".join(notes["comments"]))
        self.assertEqual(notes["at line"], ['3+  "b" 2'])
        self.assertTrue(notes["verdict"][0].startswith("The gate refuses"))
        self.assertEqual(len(found["requests"]), 1, "it loads itself and nothing else")

    def test_keys_go_from_change_to_change(self):
        current = "(document.querySelector('.hunk-head.current h3') || {}).textContent"
        focused = "(document.activeElement.closest('section.file') || {}).id"
        folded = "document.querySelector('#file-%d .fold').getAttribute('aria-expanded')"
        notes = self.look(
            self.change(), ("press", "j"), ("note", "first", focused), ("press", "j"), ("note", "second", focused),
            ("press", "j"), ("note", "third", current), ("press", "k"), ("note", "back", focused),
            ("press", "n"), ("note", "next file", focused), ("press", "p"), ("note", "file before", focused),
            ("press", "x"), ("note", "folded", folded % 1), ("press", "x"), ("note", "unfolded", folded % 1),
            ("press", "X"), ("note", "all", "document.querySelectorAll('.file-body[hidden]').length"), ("press", "X"),
            ("press", "f"), ("note", "finding", "document.activeElement.textContent"),
            ("press", "?"), ("note", "help", "document.getElementById('help').open"), ("press", "Escape"),
            ("note", "closed", "document.getElementById('help').open"),
            ("press", "/"), ("note", "filter", "document.activeElement.id"), ("fill", "#filter", "main"),
            ("note", "shown", texts("main section.file:not([hidden]) h2")))["notes"]
        self.assertEqual((notes["first"], notes["second"], notes["back"]), ("file-0", "file-1", "file-1"))
        self.assertTrue(notes["third"].startswith("Line 31"), notes)
        self.assertEqual((notes["next file"], notes["file before"]), ("file-2", "file-1"))
        self.assertEqual((notes["folded"], notes["unfolded"], notes["all"]), ("false", "true", 3))
        self.assertIn("json.syntax", notes["finding"])
        self.assertEqual((notes["help"], notes["closed"], notes["filter"]), (True, False, "filter"))
        self.assertEqual(notes["shown"], ["src/main.c"])

    def test_side_by_side_and_folded_lines(self):
        pair = ("[...document.querySelectorAll('#file-2 tbody tr')].map((row) => [...row.querySelectorAll('td.text')]"
                ".map((cell) => cell.textContent)).find((row) => row[0].includes('41'))")
        notes = self.look(
            self.change(), ("press", "s"), ("press", "n"), ("press", "n"), ("press", "n"),
            ("until", "document.querySelector('#file-2 tbody tr')"), ("note", "pair", pair),
            ("note", "before", "document.querySelectorAll('#file-2 tbody tr').length"),
            ("click", "#file-2 button.gap"), ("until", "document.querySelectorAll('#file-2 tbody tr').length > 30"),
            ("note", "head", "document.querySelector('#file-2 tbody tr').textContent"))["notes"]
        self.assertEqual(notes["pair"], ["  int answer = 41;", "  int answer = 42;"])
        self.assertLess(notes["before"], 20)
        self.assertEqual(notes["head"], "1/* head */1/* head */")

    def test_a_hunk_that_begins_inside_a_text_is_coloured_so(self):
        """The state at its first line is the state after the folded lines before it."""
        text = "def f():\n    \"\"\"A text.\n" + "    that's long\n" * 30 + "    it's the end\n    \"\"\"\n    return 1  # one\n"
        self.write("a.py", text)
        self.begin({"a.py": text.replace("    it's the end", "    this isn't the end")})
        self.galley("diff", f"--html={self.scratch / 'page.html'}", expect=0)
        notes = self.look(self.scratch / "page.html", ("until", "document.querySelector('td .comment')"),
                          ("note", "strings", texts("td .string")), ("note", "comments", texts("td .comment")))["notes"]
        self.assertIn("    this isn't the end", "".join(notes["strings"]))
        self.assertEqual(notes["comments"], ["# one"])

    def test_a_file_that_was_viewed_is_folded_and_stays_so(self):
        page = self.change()
        pressed = "[...document.querySelectorAll('.viewed')].map((one) => one.getAttribute('aria-pressed'))"
        notes = self.look(page, ("press", "n"), ("press", "v"), ("note", "pressed", pressed),
                          ("note", "next", "(document.activeElement.closest('section.file') || {}).id"),
                          ("note", "again", "window.isOld = true, location.reload()"),
                          ("until", "!window.isOld && document.querySelector('[aria-pressed=true].viewed')"),
                          ("note", "after", pressed), ("note", "folded", "document.querySelectorAll('.file-body[hidden]').length"),
                          ("axe", "page"))["notes"]
        self.assertEqual((notes["pressed"], notes["next"]), (["true", "false", "false"], "file-1"))
        self.assertEqual((notes["after"], notes["folded"], notes["page"]), (["true", "false", "false"], 1, []))

    def test_a_narrow_window_has_one_side(self):
        page = self.change()
        shown = [self.look(page, ("press", "s"), ("press", "j"), ("until", "document.querySelector('tbody tr')"),
                           ("note", "head", texts("table.diff th")), ("note", "wanted", "localStorage.getItem('galley-side')"),
                           viewport={"width": width, "height": 900})["notes"] for width in (1280, 800)]
        self.assertIn("Before", shown[0]["head"])
        self.assertNotIn("Before", shown[1]["head"])
        self.assertEqual([one["wanted"] for one in shown], ["1", "1"])

    def test_accessible_in_both_themes_and_views(self):
        page = self.change()
        for theme in ("light", "dark"):
            notes = self.look(page, ("until", ROWS), ("axe", "inline"), ("press", "s"), ("until", ROWS), ("axe", "side"),
                              ("press", "?"), ("axe", "help"), theme=theme)["notes"]
            self.assertEqual((notes["inline"], notes["side"], notes["help"]), ([], [], []), theme)
            self.assertGreater(notes["inline passes"], 20)

    def test_dark_as_the_system_or_as_chosen(self):
        paper = "getComputedStyle(document.body).backgroundColor"
        page = self.change()
        dark = self.look(page, ("note", "system", paper), ("select", "#theme", "light"), ("note", "chosen", paper),
                         theme="dark")["notes"]
        light = self.look(page, ("note", "system", paper), ("press", "t"), ("press", "t"), ("note", "chosen", paper),
                          theme="light")["notes"]
        self.assertEqual((dark["system"], dark["chosen"]), (light["chosen"], light["system"]))
        self.assertNotEqual(dark["system"], light["system"])

    def test_printed_whole(self):
        found = self.look(self.change(), ("pdf",), ("media", "print"),
                          ("note", "rows", ROWS), ("note", "tree", "getComputedStyle(document.querySelector('nav')).display"),
                          ("note", "filled", "[...document.querySelectorAll('.chunk')].every((one) => one.firstChild)"))
        self.assertGreater(found["pdf"], 1000)
        self.assertEqual((found["notes"]["filled"], found["notes"]["tree"]), (True, "none"))
        self.assertGreater(found["notes"]["rows"], 15)

    def test_hostile_names_and_contents_run_nothing(self):
        attack = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
        self.write("galley.toml", '[[validator]]\nname = "json"\nbuiltin = "json"\npaths = ["*.json"]\n')
        self.begin({
            "<img src=x onerror=window.hacked=1>.c": attack + "\n",
            "</script><svg onload=window.hacked=1>/javascript:alert(1).html": attack + "\u202e\u2028\x1b[7m\n",
            "a\u202e.json": '{"</script><script>window.hacked=1</script>" 1}\n',
            "__proto__/constructor": "x\n", "@DATA@": "@SCRIPT@ @STYLE@\n"})
        self.galley("--reason", attack, "diff", f"--html={self.scratch / 'page.html'}", expect=0)
        found = self.look(
            self.scratch / "page.html", ("until", "document.querySelectorAll('tbody tr').length > 3"), ("press", "s"),
            ("until", ROWS), ("note", "hacked", "String(window.hacked)"), ("note", "files", texts("main section.file h2")),
            ("note", "made", "document.querySelectorAll('main img, main script, main svg, nav img').length"),
            ("note", "text", "document.querySelector('main').textContent"),
            ("note", "links", "[...document.querySelectorAll('a')].every((a) => a.getAttribute('href').startsWith('#'))"),
            ("note", "tree", texts("nav a .file-name")))
        notes = found["notes"]
        self.assertEqual((notes["hacked"], notes["made"], notes["links"]), ("undefined", 0, True))
        self.assertIn("a<U+202E>.json", notes["files"])
        self.assertIn("<U+2028>\\x1b[7m", notes["text"])
        self.assertIn("@SCRIPT@ @STYLE@", notes["text"])
        self.assertIn("constructor", notes["tree"])
        self.assertEqual(len(found["requests"]), 1)

    def test_a_page_whose_script_is_changed_does_not_run(self):
        page = self.change()
        page.write_text(page.read_text().replace('"use strict";', '"use strict"; window.changed = 1;', 1))
        order = (("note", "changed", "String(window.changed)"), ("note", "title", "document.title"))
        with self.assertRaisesRegex(AssertionError, "Content Security Policy"):
            self.look(page, *order)

    def page_of_new_files(self, count):
        """Returns a page of a change of this many files with 100 lines each."""
        patch = "".join(f"--- /dev/null\n+++ b/many/d{i % 40}/file{i}.txt\n@@ -0,0 +1,100 @@\n" +
                        "".join(f"+{'row' if i % 2 else 'line'} {k}\n" for k in range(100)) for i in range(count))
        (self.scratch / "big.patch").write_text(patch)
        self.galley("preview", self.scratch / "big.patch", f"--html={self.scratch / 'page.html'}", expect=0)
        return self.scratch / "page.html"

    def test_a_thousand_files_are_built_as_they_come_into_view(self):
        notes = self.look(
            self.page_of_new_files(1000), ("until", ROWS), ("note", "at first", ROWS),
            ("note", "files", "document.querySelectorAll('section.file').length"),
            ("note", "built", "view.files.filter((file) => file.isFilled).length"),
            ("note", "hunks", "document.querySelectorAll('.hunk').length"),
            ("note", "skipped", "[...document.querySelectorAll('section.file, nav li.leaf')].every((one) => "
                                "getComputedStyle(one).contentVisibility === 'auto')"),
            ("note", "totals", "document.getElementById('totals').textContent"),
            ("press", "p"), ("until", "document.querySelector('#file-999 tbody tr')"),
            ("note", "at last", ROWS), ("note", "built at last", "view.files.filter((file) => file.isFilled).length"))["notes"]
        self.assertEqual(notes["files"], 1000)
        self.assertIn("100,000 lines added", notes["totals"])
        self.assertTrue(notes["skipped"], "the browser lays out what nobody sees")
        self.assertLess(notes["at first"], 3000)
        self.assertLess(notes["at last"], 10000)
        for built in ("built", "hunks", "built at last"):
            self.assertLess(notes[built], 40, built)

    def test_no_layout_is_forced_while_it_is_built(self):
        """A thousand files need as many layouts as ten, except for the frames during a longer
        start."""
        layouts = [self.look(self.page_of_new_files(count), ("until", ROWS), ("metrics", "work"))["notes"]["work"]["LayoutCount"]
                   for count in (10, 1000)]
        self.assertLess(layouts[1], layouts[0] + 20)


class ServedInBrowser(BrowserCase, ServedCase):
    def test_accept_reject_comment_edit_and_commit(self):
        self.serve()
        box = "section#file-0 .hunk:nth-of-type(%d)"
        found = self.look(
            self.address, ("until", "document.querySelectorAll('tbody tr').length > 10"),
            ("note", "at first", "document.getElementById('decision-text').textContent"),
            ("note", "may commit", "![...document.querySelectorAll('#decision-buttons button')][2].disabled"),
            ("axe", "page"),
            ("press", "j"), ("press", "a"), ("press", "j"), ("press", "r"),
            ("note", "chosen", "document.getElementById('decision-text').textContent"),
            ("click", "section#file-1 .choices button:has-text('Comment')"),
            ("fill", "section#file-1 textarea", "is it <b>fresh</b>?"), ("axe", "comment"),
            ("click", "section#file-1 .remark button:has-text('Save')"),
            ("click", "#decision-buttons button:has-text('Leave out')"),
            ("until", "data.files[0].parts.filter((part) => part.kind === 'hunk').length === 1"),
            ("note", "after", "document.getElementById('decision-text').textContent"),
            ("press", "j"),
            ("click", "section#file-0 .choices button:has-text('Edit')"),
            ("until", "document.querySelector('section#file-0 textarea')"),
            ("fill", "section#file-0 textarea", "one\nfive by hand\n"),
            ("click", "section#file-0 .remark button:has-text('Save')"),
            ("until", "document.querySelector('main').textContent.includes('five by hand')"),
            ("click", "#decision-buttons button:has-text('Accept the rest')"),
            ("click", "#decision-buttons button:has-text('Commit')"),
            ("until", "document.getElementById('decision-text').textContent.startsWith('Committed')"))
        notes = found["notes"]
        self.assertEqual((notes["page"], notes["comment"]), ([], []))
        self.assertEqual(notes["at first"], "0 accepted, 0 rejected, 3 undecided, 0 comments")
        self.assertFalse(notes["may commit"])
        self.assertEqual(notes["chosen"], "1 accepted, 1 rejected, 1 undecided, 0 comments")
        self.assertEqual(notes["after"], "1 accepted, 0 rejected, 1 undecided, 1 comment")
        code, out, _ = self.ended()
        self.assertEqual(code, 0)
        self.assertIn("is it <b>fresh</b>?", out)
        text = (self.work / "long.txt").read_text()
        self.assertIn("five by hand\n", text)
        self.assertNotIn("thirty-one", text)
        self.assertEqual({request.split("/")[2] for request in found["requests"]}, {self.host})

    def test_an_edit_keeps_crlf(self):
        (self.work / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
        self.serve(more=[("crlf.txt", "one\r\n2\r\nthree\r\n")])
        self.look(self.address, ("until", "document.querySelectorAll('tbody tr').length > 10"),
                  ("click", "section#file-0 .choices button:has-text('Edit')"),
                  ("until", "document.querySelector('section#file-0 textarea')"),
                  ("fill", "section#file-0 textarea", "one\nII\nthree\n"),
                  ("click", "section#file-0 .remark button:has-text('Save')"),
                  ("until", "document.querySelector('main').textContent.includes('II')"),
                  ("click", "#decision-buttons button:has-text('Accept the rest')"),
                  ("click", "#decision-buttons button:has-text('Commit')"),
                  ("until", "document.getElementById('decision-text').textContent.startsWith('Committed')"))
        self.assertEqual((self.work / "crlf.txt").read_bytes(), b"one\r\nII\r\nthree\r\n")

    def serve_equal_changes(self):
        """Serves the same change at two places of equal.txt, with the line before each of them."""
        (self.work / "equal.txt").write_text("".join(LINES).replace("line 5\n", "call(1)\n").replace("line 30\n", "call(1)\n"))
        self.both = (self.work / "equal.txt").read_text().replace("call(1)", "call(2)")
        self.serve(more=[("equal.txt", self.both)])

    CHOICES = "pieces.map(({piece, name}) => [name, choices.get(piece) || ''])"

    def test_a_choice_stays_with_its_change_when_an_equal_one_is_left_out(self):
        self.serve_equal_changes()
        notes = self.look(
            self.address, ("until", "document.querySelectorAll('tbody tr').length > 10"),
            ("press", "j"), ("press", "r"), ("press", "j"), ("press", "a"), ("note", "before", self.CHOICES),
            ("click", "#decision-buttons button:has-text('Leave out')"),
            ("until", "data.files[0].parts.filter((part) => part.kind === 'hunk').length === 1 && pieces.length === 4"),
            ("note", "after", self.CHOICES))["notes"]
        self.assertEqual([choice for _, choice in notes["before"]], ["no", "yes", "", "", ""])
        self.assertEqual([choice for _, choice in notes["after"]], ["yes", "", "", ""])

    def test_choices_of_equal_changes_end_when_their_number_changes(self):
        self.serve_equal_changes()
        first, second = self.both.split("call(2)", 1)
        staged = json.dumps({"file_path": "equal.txt", "content": first + "call(1)" + second})
        notes = self.look(
            self.address, ("until", "document.querySelectorAll('tbody tr').length > 10"),
            ("press", "j"), ("press", "a"), ("press", "j"), ("press", "r"), ("press", "j"), ("press", "a"),
            ("run", [GALLEY, "-C", str(self.work), "call", "Write", staged], self.environment),
            ("click", "#decision-buttons button:has-text('Leave out')"),
            ("until", "document.readyState === 'complete' && pieces.length === 4"),
            ("note", "after", self.CHOICES), may_complain=True)["notes"]
        self.assertEqual([choice for _, choice in notes["after"]], ["", "yes", "", ""])

    def test_a_reviewer_can_go_to_a_finding_and_decide_on_it(self):
        self.serve('[[validator]]\nbuiltin = "json"\nseverity = "warning"\n', more=[("a.json", "{}\n"), ("z.json", "{\n")])
        notes = self.look(
            self.address, ("until", "document.querySelectorAll('tbody tr').length > 10"), ("press", "f"), ("press", "r"),
            ("note", "rejected", "pieces.filter(({piece}) => choices.get(piece) === 'no').map(({name}) => name)"),
            ("click", "section#file-3 .choices button:has-text('Comment')"),
            ("fill", "section#file-3 textarea", "no JSON"), ("click", "section#file-3 .remark button:has-text('Save')"),
            ("note", "comment", "document.querySelector('section#file-3 .said-of').textContent"))["notes"]
        self.assertEqual(notes["rejected"], ["z.json"])
        self.assertEqual(notes["comment"], "no JSON")

    def test_a_click_on_a_number_comments_the_line(self):
        self.serve()
        number = "section#file-0 td.line-number button[aria-label='Comment on long.txt:5']"
        notes = self.look(
            self.address, ("until", "document.querySelectorAll('tbody tr').length > 10"), ("click", number),
            ("fill", "section#file-0 .line-said textarea", "is it five?"), ("axe", "open"),
            ("click", "section#file-0 .line-said button:has-text('Save')"),
            ("note", "said", "document.querySelector('.line-said .said-of').textContent"),
            ("press", "s"), ("until", "view.isSide && document.querySelector('.line-said')"),
            ("note", "side", "document.querySelector('.line-said .said-of').textContent"), ("axe", "sides"),
            ("click", "#decision-buttons button:has-text('End')"),
            ("until", "document.body.dataset.over === 'true'"))["notes"]
        self.assertEqual((notes["open"], notes["sides"]), ([], []))
        self.assertEqual((notes["said"], notes["side"]), ("is it five?", "is it five?"))
        _, out, _ = self.ended()
        self.assertIn("comment on long.txt:5: is it five?\n", out)
        self.assertEqual(json.loads(self.galley("--json", "status", expect=0).stdout)["comments"],
                         [{"on": "long.txt:5", "text": "is it five?"}])

    def test_a_message_is_given_with_the_commit(self):
        self.serve()
        self.look(self.address, ("until", "document.querySelectorAll('tbody tr').length > 10"),
                  ("click", "#decision-buttons button:has-text('Accept the rest')"),
                  ("fill", "#decision-buttons input", "why it is so"),
                  ("click", "#decision-buttons button:has-text('Commit')"),
                  ("until", "document.getElementById('decision-text').textContent.startsWith('Committed')"))
        self.assertEqual(self.ended()[0], 0)
        self.assertIn("why it is so", self.galley("log", expect=0).stdout.decode())

    def test_a_changed_stage_loads_the_page_again(self):
        self.serve()
        staged = json.dumps({"file_path": "new.txt", "content": "smuggled in\n"})
        notes = self.look(
            self.address, ("until", "document.querySelectorAll('tbody tr').length > 10"),
            ("click", "#decision-buttons button:has-text('Accept the rest')"),
            ("run", [GALLEY, "-C", str(self.work), "call", "Write", staged], self.environment),
            ("click", "#decision-buttons button:has-text('Commit')"),
            ("until", "document.querySelector('main').textContent.includes('smuggled in')"),
            ("note", "said", "document.getElementById('decision-text').textContent"), may_complain=True)["notes"]
        self.assertIn("something else is staged than what was shown", notes["said"])
        self.assertIn("1 undecided", notes["said"])
        self.assertFalse((self.work / "new.txt").exists())


if __name__ == "__main__":
    unittest.main()
