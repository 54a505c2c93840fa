"""The program's messages, questions and streams: on a terminal and in a pipe."""

import json
import os
import subprocess

from everyday import DEADLINE_S, GALLEY, EverydayCase, main
from terminal_session import end_processes, wait_until

PATCH = ("--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n-# parcels\n+# Parcels\n \n"
         " Works out what it costs to send a parcel, from a table of rates.\n")
LONG = "--- /dev/null\n+++ b/long.txt\n@@ -0,0 +1,200 @@\n" + "".join(f"+line {i}\n" for i in range(200))
ASKS = '[[policy.rule]]\nname = "looked at"\npaths = ["**"]\ndecision = "ask"\nreason = "look first"\n'


class Questions(EverydayCase):
    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text(ASKS)
        self.patch = self.scratch / "p"
        self.patch.write_text(PATCH)

    def test_the_question_comes_after_the_diff(self):
        """git: `add -p` shows the hunk, then asks."""
        result = self.on_terminal("apply", self.patch, typed=[("[y/N/d]", "y\n")], expect=0)
        self.assertLess(result.screen.index("+# Parcels"), result.screen.index("[y/N/d]"))
        self.assertTrue((self.work / "README.md").read_text().startswith("# Parcels"))

    def test_d_shows_the_whole_diff_and_asks_again(self):
        """git: `add -p` prints the hunk again with p."""
        self.patch.write_text(LONG)
        result = self.on_terminal("apply", self.patch, env={"PAGER": "cat"},
                                  typed=[("[y/N/d]", "d\n"), ("[y/N/d]", "n\n")], expect=1)
        first, second = result.screen.split("[y/N/d]")[:2]
        self.assertNotIn("+line 199", first)
        self.assertIn("more lines; d shows them all", first)
        self.assertIn("+line 199", second)
        self.assertFalse((self.work / "long.txt").exists())

    def test_d_uses_the_pager(self):
        """git: `core.pager` shows long text."""
        marker = self.scratch / "paged"
        self.on_terminal("apply", self.patch, env={"PAGER": f"tee {marker}"},
                         typed=[("[y/N/d]", "d\n"), ("[y/N/d]", "n\n")], expect=1)
        self.assertIn("+# Parcels", marker.read_text())

    def test_file_contents_in_the_question_cannot_control_the_terminal(self):
        """git: less shows ESC as text; galley always does."""
        self.patch.write_text("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+\x1b[8mhidden\n")
        result = self.on_terminal("apply", self.patch, env={"NO_COLOR": "1"}, typed=[("[y/N/d]", "\n")], expect=1)
        self.assertIn("\\x1b[8mhidden", result.screen)
        self.assertNotIn("\x1b[8m", result.screen)

    def test_an_approval_beforehand_shows_the_diff_too(self):
        """gh: `pr review --approve` follows `pr diff`; here one command does both."""
        (self.scratch / "config/galley/config.toml").write_text(f'trusted_folders = ["{self.scratch}"]\n')
        self.run_here("begin", expect=0)
        self.run_here("stage", self.patch, expect=0)
        proposal = json.loads(self.run_here("--json", "diff", expect=0).out)["proposal"]
        result = self.on_terminal("approve", proposal, typed=[("nothing else? [y/N/d]", "y\n")], expect=0)
        self.assertLess(result.screen.index("+# Parcels"), result.screen.index("[y/N/d]"))
        self.run_here("commit", expect=0)

    def test_a_preview_asks_no_question(self):
        """git: `diff` asks nothing."""
        result = self.on_terminal("preview", self.patch, expect=1)
        self.assertNotIn("[y/N/d]", result.screen)
        self.assertIn("galley approve", result.screen)


class Answers(EverydayCase):
    EDIT = json.dumps({"file_path": "README.md", "old_string": "# parcels", "new_string": "# Parcels"})

    def setUp(self):
        super().setUp()
        self.run_here("begin", expect=0)

    def test_a_call_on_a_terminal_answers_with_a_line(self):
        """gh: one line on a terminal, everything with --json."""
        result = self.on_terminal("call", "Edit", self.EDIT, expect=0)
        self.assertEqual(result.screen.strip(), "staged README.md (+1 -1)")

    def test_a_call_in_a_pipe_answers_with_json(self):
        """gh: --json is for programs; a tool call has always been one."""
        self.assertTrue(json.loads(self.run_here("call", "Edit", self.EDIT, expect=0).out)["ok"])

    def test_a_call_with_json_has_all_on_a_terminal_too(self):
        """gh: --json prints everything."""
        self.assertTrue(json.loads(self.on_terminal("--json", "call", "Edit", self.EDIT, expect=0).screen)["ok"])

    def test_the_text_that_a_tool_read_is_shown_unchanged(self):
        """sh: cat shows the file."""
        result = self.on_terminal("call", "Read", json.dumps({"file_path": "README.md"}), expect=0)
        self.assertIn("# parcels\n", result.screen)
        self.assertNotIn('"content"', result.screen)

    def test_reading_the_terminal_is_announced(self):
        """git: `commit -F -` on a terminal says that it reads standard input."""
        result = self.on_terminal("stage", typed=[("end it with Ctrl-D", PATCH + "\x04")], expect=0)
        self.assertIn("reading the edit from the terminal; end it with Ctrl-D", result.screen)
        self.assertIn("staged README.md (+1 -1)", result.screen)

    def test_reading_a_pipe_is_not_announced(self):
        """git: prints nothing about a pipe."""
        self.assertNotIn("Ctrl-D", self.run_here("stage", stdin=PATCH, expect=0).err)


class Pages(EverydayCase):
    def setUp(self):
        super().setUp()
        self.pager = {"PAGER": "sed s/^/PAGED:/"}
        self.patch = self.scratch / "p"
        self.patch.write_text(LONG)

    def test_a_long_diff_goes_through_the_pager(self):
        """git: `diff` and `log` page."""
        result = self.on_terminal("preview", self.patch, env={**self.pager, "NO_COLOR": "1"}, expect=0)
        self.assertIn("PAGED:+line 7", result.screen)
        self.assertIn("\nthe gate approves", result.screen)

    def test_a_status_does_not_use_the_pager(self):
        """git: `status` does not page."""
        for _ in range(45):
            self.run_here("begin", expect=0)
        result = self.on_terminal("status", env=self.pager, expect=0)
        self.assertNotIn("PAGED:", result.screen)
        self.assertGreater(result.screen.count("transaction "), 40)

    def test_the_output_of_a_command_does_not_use_the_pager(self):
        """sh: the output of a command is not paged."""
        self.run_here("begin", expect=0)
        result = self.on_terminal("exec", "--", "seq", "200", env=self.pager, expect=0)
        self.assertNotIn("PAGED:", result.screen)

    def test_a_pager_in_the_workspace_is_not_run(self):
        """git: does not use a pager from the work tree."""
        program = self.work / "page"
        program.write_text(f"#!/bin/sh\ntouch {self.scratch}/ran\ncat\n")
        program.chmod(0o755)
        for env in ({"PAGER": str(program)}, {"GALLEY_PAGER": "./page"}, {"PAGER": "cat | ./page"},
                    {"PAGER": "page", "PATH": f"{self.work}:{os.environ['PATH']}"},
                    {"PAGER": "page", "PATH": f".:{os.environ['PATH']}"}):
            with self.subTest(env=env):
                result = self.on_terminal("preview", self.patch, env=env, expect=0)
                self.assertIn("line 199", result.screen)
                self.assertFalse((self.scratch / "ran").exists())


class Exec(EverydayCase):
    def setUp(self):
        super().setUp()
        self.run_here("begin", expect=0)

    def test_a_pipe_reaches_the_command(self):
        """sh: `sh -c` and `cargo run` read the piped input."""
        result = self.run_here("exec", "--", "sh", "-c", "cat > got.txt; wc -c < got.txt", stdin="one\ntwo\n", expect=0)
        self.assertEqual(result.out.strip(), "8")
        self.assertIn("+two", self.run_here("diff", expect=0).out)

    def test_a_large_input_arrives_whole(self):
        """sh: a pipe is read to its end."""
        data = b"0123456789abcdef" * 65536
        self.assertEqual(self.run_here("exec", "--", "wc", "-c", stdin=data, expect=0).out.strip(), str(len(data)))

    def run_process(self, argv, **options):
        """Starts a process as a person does. `options` define its input."""
        result = subprocess.run(argv, cwd=self.work, capture_output=True, timeout=DEADLINE_S,
                                env=self.environment_of(None), check=False, **options)
        self.skip_if_unavailable(result.stdout, result.stderr)
        return result

    def test_a_file_is_read_as_far_as_the_command_reads_it(self):
        """sh: `while read` loops lose no lines to commands that do not read."""
        lines = self.scratch / "lines"
        lines.write_text("".join(f"{i}\n" for i in range(5)))
        result = self.run_process(
            ["sh", "-c", f"while read -r n; do {GALLEY} exec -- true || exit; echo $n; done < {lines}"])
        self.assertEqual(result.stdout.split(), [b"0", b"1", b"2", b"3", b"4"], result.stderr)

    def test_the_command_gets_no_descriptor_of_the_host(self):
        """sh: `sh -c` shares the descriptor; the sandbox must not."""
        secret = self.scratch / "input"
        secret.write_text("given\n")
        with secret.open("r+b") as given:
            result = self.run_process(
                [GALLEY, "exec", "--", "sh", "-c", "readlink /proc/self/fd/0; echo broken > /proc/self/fd/0; cat"],
                stdin=given)
        self.assertIn(b"pipe:", result.stdout)
        self.assertEqual(secret.read_text(), "given\n")

    def test_a_directory_on_stdin_gives_no_access_to_the_host(self):
        """sh: a directory on stdin cannot be read."""
        directory = os.open(self.scratch, os.O_RDONLY)
        try:
            result = self.run_process(
                [GALLEY, "exec", "--", "sh", "-c", "ls /proc/self/fd/0/ 2>/dev/null; true"],
                stdin=directory)
        finally:
            os.close(directory)
        self.assertNotIn(b"config", result.stdout)

    def test_an_endless_input_does_not_delay_a_command_that_ends(self):
        """sh: `yes | head -1` ends."""
        read, write = os.pipe()
        try:
            result = self.run_process([GALLEY, "exec", "--", "true"], stdin=read)
        finally:
            os.close(read)
            os.close(write)
        self.assertEqual(result.returncode, 0)

    def test_on_a_terminal_a_command_that_reads_does_not_wait(self):
        """docker: `run` without -i gives no input."""
        self.assertIn("read nothing", self.on_terminal(
            "exec", "--", "sh", "-c", "read -r line || echo read nothing", expect=0).screen)

    def test_with_i_typed_input_reaches_the_command_but_the_terminal_does_not(self):
        """docker: `run -i` passes on the typed text."""
        result = self.on_terminal(
            "exec", "-i", "--", "sh", "-c", "test -t 0 && exit 9; echo ready; read -r line; echo got $line",
            typed=[("ready", "hello\n")], expect=0)
        self.assertIn("got hello", result.screen)

    def test_a_missing_program_is_127_and_one_that_cannot_run_126(self):
        """sh: 127 if the program is not found, 126 if it cannot be executed."""
        said = self.run_here("exec", "--begin", "--", "make test", expect=127).err
        self.assertIn("or run a line of the shell: sh -c 'make test'\n", said)
        (self.work / "plain").write_text("no program\n")
        self.assertEqual(self.run_here("exec", "--", "no-such-program").returncode, 127)
        self.assertEqual(self.run_here("exec", "--", "./missing").returncode, 127)
        self.assertEqual(self.run_here("exec", "--", "./plain").returncode, 126)
        self.assertEqual(self.run_here("--json", "exec", "--", "no-such-program").returncode, 127)

    def test_at_passes_input_on_and_has_the_same_statuses(self):
        """git: `bisect run` gives 127 and 126 their own meaning."""
        self.run_here("apply", stdin=PATCH, expect=0)
        newest = json.loads(self.run_here("--json", "log", expect=0).out)["transactions"][0]["id"]
        self.assertEqual(self.run_here("at", newest, "--", "cat", stdin="in\n", expect=0).out, "in\n")
        self.assertEqual(self.run_here("at", newest, "--", "no-such-program").returncode, 127)


class Progress(EverydayCase):
    SLOW = ('[[validator]]\nname = "slow"\ncommand = ["sleep", "1"]\n')
    SLEEP = ("sleep", f"300.{os.getpid()}")

    def end_sleep(self):
        wait_until(lambda: end_processes(*self.SLEEP))

    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text(self.SLOW)
        self.patch = self.scratch / "p"
        self.patch.write_text(PATCH)

    def test_long_work_shows_progress_and_removes_it(self):
        """cargo: a line that is rewritten and finally removed."""
        result = self.on_terminal("preview", "--stat", self.patch, expect=0)
        self.assertIn("validators: 0 of 1 done, slow", result.screen)
        self.assertIn("\r\x1b[K", result.screen.split("validators: 0 of 1", 1)[1])

    def test_a_long_commit_shows_for_how_long_it_works(self):
        """docker: `docker push` counts the seconds of each step."""
        (self.work / "galley.toml").write_text(
            self.SLOW.replace('"sleep", "1"', f'"sh", "-c", "{" ".join(self.SLEEP)}; true"'))
        screen = self.on_terminal("apply", self.patch, typed=[("slow, ", self.end_sleep)], expect=0).screen
        self.assertRegex(screen, r"validators: 0 of 1 done, slow, \d+ s")
        self.assertNotIn(" s\r\n", screen)  # the line is erased

    def test_the_time_of_new_work_starts_anew(self):
        """docker: the seconds of a step do not include those of the step before it."""
        screen = self.on_terminal("exec", "--commit", "--", "sh", "-c", f"exec 2>&-; {' '.join(self.SLEEP)}; echo a > new.txt",
                                  typed=[("running sh, ", self.end_sleep)], expect=0).screen
        self.assertRegex(screen, r"running sh, \d+ s")
        self.assertIn("\x1b[Kcommitting\r", screen)  # without a time at first
        self.assertIn("\x1b[Kvalidators: 0 of 1 done, slow\r", screen)

    def test_progress_is_not_shown_in_a_pipe_or_with_json(self):
        """cargo: no progress if the output is not a terminal."""
        self.assertNotIn("validators:", self.run_here("preview", self.patch, expect=0).err)
        self.assertNotIn("validators:", self.on_terminal("--json", "preview", self.patch, expect=0).screen)


class Hints(EverydayCase):
    def test_a_hint_works_where_it_is_given(self):
        """git: the hint names the next command."""
        (self.scratch / "p").write_text(PATCH)
        result = self.run_here("-C", self.work, "apply", self.scratch / "p", cwd=self.scratch, expect=0)
        line = next(line for line in result.err.splitlines() if line.startswith("take it back with: "))
        words = line.split(": ", 1)[1].split()
        self.assertEqual(words[0], "galley")
        said = self.run_here(*words[1:], cwd=self.scratch, expect=0).err
        self.assertTrue((self.work / "README.md").read_text().startswith("# parcels"))
        self.run_here(*said.split("`")[1].split()[1:], cwd=self.scratch, expect=0)
        self.assertFalse((self.work / "README.md").read_text().startswith("# parcels"))

    def test_an_error_names_a_command_that_works_from_here(self):
        """git: with -C, the named command works from the same place."""
        said = self.run_here("-C", self.work, "--agent", "bot", "commit", cwd=self.scratch, expect=1).err
        words = said.strip().split("begin one with: ", 1)[1].split()
        self.run_here(*words[1:], cwd=self.scratch, expect=0)
        self.assertTrue((self.work / ".galley").is_dir())
        self.assertFalse((self.scratch / ".galley").exists())
        self.run_here("-C", self.work, "--agent", "bot", "commit", cwd=self.scratch, expect=0)

    def test_a_warning_names_a_command_that_works_from_here(self):
        """git: with -C, the named command works from the same place."""
        self.galley("--agent", "bot", "begin", expect=0)
        (self.work / ".galley").chmod(0o777)
        said = self.run_here("-C", self.work, "status", cwd=self.scratch).err
        self.assertIn(f"galley -C {self.work} doctor", said)
        self.assertIn(f"galley -C {self.work} recover --adopt", said)

    def test_a_whole_new_file_at_the_top_is_made_as_the_error_says(self):
        """git: the error names the form that is taken."""
        shown = "\n```python\nprint(1)\n```\n"
        said = self.run_here("apply", "-", stdin="x.py" + shown, expect=1).err
        self.assertIn("to create it, name its folder (./ for the top) and the language of its fence", said)
        self.assertNotIn("it is made", said)
        self.run_here("apply", "-", stdin="./x.py" + shown, expect=0)
        self.assertEqual((self.work / "x.py").read_text(), "print(1)\n")

    def test_a_request_for_approval_names_a_command_that_works(self):
        """gh: names the missing part in the form to type."""
        (self.work / "galley.toml").write_text(ASKS)
        (self.scratch / "p").write_text(PATCH)
        said = self.run_here("-C", self.work, "--agent", "bot", "apply", self.scratch / "p", cwd=self.scratch,
                             expect=1).err
        words = said.split("reviews it and runs: ", 1)[1].split()
        self.assertNotIn("--agent", words[:4])
        self.run_here(*words[1:5], cwd=self.scratch, expect=0)
        self.run_here("-C", self.work, "--agent", "bot", "apply", self.scratch / "p", cwd=self.scratch, expect=0)

    def test_an_ambiguous_edit_names_the_option_that_chooses(self):
        """git: says which option helps."""
        (self.work / "amb.txt").write_text("a\nx\nb\na\nx\nb\n")
        patch = "--- a/amb.txt\n+++ b/amb.txt\n@@ ... @@\n a\n-x\n+y\n b\n"
        said = self.run_here("apply", stdin=patch, expect=1).err
        words = said.split("to choose a place: the same with ", 1)[1].split()
        self.run_here("apply", *words, stdin=patch, expect=0)
        self.assertEqual((self.work / "amb.txt").read_text(), "a\ny\nb\na\nx\nb\n")

    def test_the_option_that_chooses_names_no_place_twice(self):
        """git: the named command works as it is."""
        (self.work / "amb.txt").write_text("a\nx\nb\nx\n")
        block = "<<<<<<< SEARCH\nx\n=======\ny\nz\n>>>>>>> REPLACE\n"
        blocks = "amb.txt\n" + block + block
        said = self.run_here("apply", stdin=blocks, expect=1).err
        words = said.split("to choose a place: the same with ", 1)[1].split()
        self.run_here("apply", *words, stdin=blocks, expect=0)
        self.assertEqual((self.work / "amb.txt").read_text(), "a\ny\nz\nb\ny\nz\n")

    def test_sixty_near_equal_errors_are_one_with_a_count(self):
        """cargo: a repeated message is printed once."""
        patch = refused = ""
        for number in range(60):
            (self.work / f"f{number}.txt").write_text("one\n")
            patch += f"--- a/f{number}.txt\n+++ b/f{number}.txt\n@@ -1,2 +1,2 @@\n there\n-old\n+new\n"
            refused += f"--- /dev/null\n+++ b/secret/f{number}.txt\n@@ -0,0 +1 @@\n+x\n"
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["secret/"]\ndecision = "deny"\n')
        for document in (patch, refused):
            said = self.run_here("preview", stdin=document, expect=1).err
            self.assertRegex(said, r"the same for (59|60) more: .* and (39|40) more\n")  # a folder
            self.assertLess(len(said.splitlines()), 12, said)

    def test_sixty_edits_of_one_file_that_do_not_fit_are_a_few_and_a_count(self):
        """patch: counts hunks that failed; the rest is in the .rej file."""
        (self.work / "one.txt").write_text("".join(f"line {number} of it\n" for number in range(200)))
        edits = ""
        for number in range(60):
            edits += f"one.txt\n<<<<<<< SEARCH\nnothing like {number} is there\n=======\nx\n>>>>>>> REPLACE\n\n"
        (self.scratch / "edits").write_text(edits)
        for command in ("preview", "apply"):
            said = self.run_here(command, self.scratch / "edits", expect=1).err
            self.assertRegex(said, r"\n  55 more do not fit: edits 6, 7, .* and 35 more \[patch.context_not_found\]\n")
            self.assertLess(len(said.splitlines()), 60, said)
            self.assertIn("--json", said)
        every = self.run_here("edits", "explain", self.scratch / "edits", expect=1).out
        answer = json.loads(self.run_here("--json", "apply", self.scratch / "edits", expect=1).out)
        failures = answer["edits"]["files"][0]["failed"]
        self.assertEqual(len(failures), 60)
        for number, failure in enumerate(failures):
            self.assertIn(f"edit {number + 1} (id {failure['id']})", every)

    def test_a_caller_that_sees_only_the_text_gets_every_correction(self):
        """cargo: each suggestion is shown; only what repeats is printed once."""
        (self.work / "one.txt").write_text("".join(f"line {number} of it\n" for number in range(200)))
        near = [{"old_string": f"line {number} off it", "new_string": "x"} for number in range(12)]
        far = [{"old_string": f"nothing like {number} is there", "new_string": "x"} for number in range(12)]
        self.run_here("begin", expect=0)
        for edits, is_offered in ((near, True), (far, False)):
            call = json.dumps({"file_path": "one.txt", "edits": edits})
            answer = json.loads(self.run_here("--json", "call", "MultiEdit", call, expect=1).out)
            said = answer["error"]["message"]
            self.assertIn("edit 5 does not fit", said)
            self.assertEqual("edit 12 does not fit" in said, is_offered, said)
            self.assertEqual("7 more do not fit: edits 6, 7, 8, 9, 10, 11, 12 [" in said, not is_offered, said)

    def test_a_begun_transaction_names_commands_that_exist(self):
        """git: `status` names the next commands."""
        said = self.run_here("begin", expect=0).err
        self.assertIn("galley stage FILE", said)
        for command in ("stage", "edit", "call", "exec", "diff", "commit"):
            self.assertIn(command, said)
            self.run_here(command, "--help", expect=0)


if __name__ == "__main__":
    main()
