"""Repairing a refused change: staging by hand, editing, fixing, committing."""

import json
import os

from everyday import EverydayCase, main

MISSING = "--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n-# parcels\n+# Parcels\n \n Works out what it costs to send a parcel, from a table of rates.\n"


class Staging(EverydayCase):
    def setUp(self):
        super().setUp()
        self.patch = self.scratch / "m.patch"
        self.patch.write_text(MISSING)

    def begin(self):
        return self.run_here("begin", expect=0).out.strip()

    def test_a_patch_goes_into_the_open_transaction(self):
        """git: `apply --cached` stages, `diff --cached` shows, `commit` commits."""
        before = (self.work / "README.md").read_bytes()
        self.begin()
        result = self.run_here("stage", self.patch, expect=0)
        self.assertEqual(result.out, "staged README.md (+1 -1)\n")
        self.assertIn("+# Parcels", self.run_here("diff", expect=0).out)
        self.assertEqual((self.work / "README.md").read_bytes(), before)
        self.run_here("commit", expect=0)
        self.assertTrue((self.work / "README.md").read_text().startswith("# Parcels"))

    def test_two_patches_staged_in_turn_become_one_commit(self):
        """git: `apply --cached` twice, then one commit."""
        self.begin()
        self.run_here("stage", self.patch, expect=0)
        second = MISSING.replace("# parcels", "# Parcels").replace("+# Parcels", "+# Boxes")
        self.run_here("stage", "-", stdin=second, expect=0)
        self.assertIn("+# Boxes", self.run_here("diff", expect=0).out)
        self.run_here("commit", expect=0)
        self.assertEqual(len(json.loads(self.run_here("--json", "log", expect=0).out)["transactions"]), 1)

    def test_without_a_transaction_staging_says_how_to_begin_one(self):
        """cargo: names the missing command."""
        result = self.run_here("stage", self.patch, expect=1)
        self.assertIn("galley begin", result.err)
        self.assertFalse((self.work / ".galley").exists())

    def test_a_patch_that_does_not_fit_stages_nothing(self):
        """git: `apply --cached` of a patch that does not apply leaves the index as it was."""
        self.begin()
        self.run_here("stage", "-", stdin=MISSING.replace("# parcels", "# nothing of the kind"), expect=1)
        self.assertEqual(self.run_here("diff", expect=0).out, "")

    def test_staging_can_be_checked_first(self):
        """git: `apply --check` says whether a patch fits, and changes nothing."""
        self.begin()
        self.run_here("stage", "--check", self.patch, expect=0)
        self.assertEqual(self.run_here("diff", expect=0).out, "")
        self.run_here("stage", "--check", "-", stdin=MISSING.replace("# parcels", "# other"), expect=1)

    def test_the_options_of_apply_work_for_staging(self):
        """git: -R, -p and --exclude mean the same with --cached."""
        self.begin()
        self.run_here("stage", "--exclude", "README.md", "--allow-empty", self.patch, expect=(0, 1))
        self.assertEqual(self.run_here("diff", expect=0).out, "")
        self.run_here("stage", "-R", "-", stdin=MISSING.replace("-# parcels\n+# Parcels", "-# Parcels\n+# parcels"),
                      expect=0)
        self.assertIn("+# Parcels", self.run_here("diff", expect=0).out)

    def test_one_of_two_transactions_is_named(self):
        """git: `-C` and `--git-dir` select one; here --tx does."""
        self.begin()
        second = self.begin()
        self.run_here("stage", self.patch, expect=2)
        self.run_here("stage", "--tx", second, self.patch, expect=0)
        self.assertIn("+# Parcels", self.run_here("diff", "--tx", second, expect=0).out)

    def test_staged_changes_are_on_record_and_in_json(self):
        """gh: --json has everything."""
        self.begin()
        document = json.loads(self.run_here("--json", "stage", self.patch, expect=0).out)
        self.assertEqual(document["schema"], "galley.stage/1")
        self.assertEqual([change["path"] for change in document["changes"]], ["README.md"])
        records = [json.loads(line) for line in (self.work / ".galley/audit.jsonl").read_text().splitlines()]
        self.assertIn("stage", [record.get("tool") for record in records])

    def test_a_caller_cannot_stage_forbidden_paths_in_anothers_transaction(self):
        """git: a hook refuses paths that the author may not push."""
        with (self.work / "galley.toml").open("a") as config:
            config.write('\n[agents.docs]\ncapabilities = ["fs:read", "fs:write:docs/**"]\n')
        tx = self.begin()
        result = self.run_here("--agent", "docs", "stage", "--tx", tx, self.patch, expect=1)
        self.assertIn("README.md", result.err)
        self.assertEqual(self.run_here("diff", "--tx", tx, expect=0).out, "")


    def test_a_damaged_transaction_is_dropped_as_its_message_says(self):
        """git: `worktree remove --force` removes a broken one."""
        tx = self.begin()
        (self.own_state("stage") / tx / "overlay").write_text("nonsense")
        said = self.run_here("diff", "--tx", tx, expect=2).err.strip()
        words = said.split("drop it with: ", 1)[1].split()
        self.run_here(*words[1:], expect=0)
        self.assertFalse((self.own_state("stage") / tx).exists())
        tx = self.begin()
        (self.own_state("stage") / tx / "overlay").write_text("nonsense")
        self.run_here("rollback", "--tx", tx[:6], expect=0)
        self.assertFalse((self.own_state("stage") / tx).exists())


class Fixing(EverydayCase):
    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text(
            '[[validator]]\nname = "tidy"\ncommand = ["sed", "-i", "s/ *$//", "{files}"]\npaths = ["*.txt"]\n'
            'fix = true\n')
        self.patch = self.scratch / "p"
        self.patch.write_text("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+spaces   \n")

    def test_apply_commits_the_result_of_the_fixers(self):
        """cargo: `clippy --fix` fixes what it can."""
        result = self.run_here("apply", "--fix", self.patch, expect=0)
        self.assertEqual((self.work / "a.txt").read_text(), "spaces\n")
        self.assertIn("tidy changed 1 file", result.err)

    def test_preview_shows_the_fixes_and_writes_nothing(self):
        """cargo: `fmt --check` shows the changes that it would make."""
        result = self.run_here("preview", "--fix", self.patch, expect=0)
        self.assertIn("+spaces\n", result.out)
        self.assertNotIn("+spaces ", result.out)
        self.assertFalse((self.work / "a.txt").exists())

    def test_the_fixes_are_in_the_json_document(self):
        """gh: --json has everything."""
        document = json.loads(self.run_here("--json", "apply", "--fix", self.patch, expect=0).out)
        self.assertEqual(document["fix"]["runs"][0]["changed"], ["a.txt"])
        self.assertIn("+spaces\n", document["diff"])


class Editing(EverydayCase):
    def editor(self, script):
        """Returns a program of the person's own, outside the workspace."""
        path = self.scratch / "bin" / "ed"
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return {"EDITOR": str(path)}

    def setUp(self):
        super().setUp()
        self.temporary = self.scratch / "tmp"
        self.temporary.mkdir()
        self.environment["TMPDIR"] = str(self.temporary)
        self.run_here("begin", expect=0)

    def test_a_file_is_edited_and_the_result_is_staged(self):
        """git: `commit` opens $EDITOR and uses the saved text."""
        before = (self.work / "README.md").read_bytes()
        env = self.editor('sed -i "s/# parcels/# Parcels/" "$1"\n')
        result = self.run_here("edit", "README.md", env=env, expect=0)
        self.assertEqual(result.out, "staged README.md (+1 -1)\n")
        self.assertEqual((self.work / "README.md").read_bytes(), before)
        self.assertIn("+# Parcels", self.run_here("diff", expect=0).out)

    def test_visual_comes_before_editor(self):
        """git: VISUAL has precedence over EDITOR."""
        env = {**self.editor("exit 9\n"), "VISUAL": "sed -i s/parcels/Parcels/"}
        self.run_here("edit", "README.md", env=env, expect=0)

    def test_the_copy_is_private_and_gone_afterwards(self):
        """git: the message file is in .git; here the copy must be where no agent looks."""
        seen = self.scratch / "seen"
        env = self.editor(f'stat -c "%a %n" "$1" > {seen}; stat -c "%a" "$(dirname "$1")" >> {seen}\n'
                          'echo backup > "$1~"; echo more >> "$1"\n')
        self.run_here("edit", "README.md", env=env, expect=0)
        mode, path = seen.read_text().splitlines()[0].split(" ", 1)
        self.assertEqual((mode, seen.read_text().splitlines()[1]), ("600", "700"))
        self.assertTrue(path.endswith("/README.md"))
        self.assertFalse(path.startswith(str(self.work)))
        self.assertEqual(os.listdir(self.temporary), [])

    def test_an_unchanged_file_stages_nothing(self):
        """git: `commit --amend` without a change of the text changes only the time."""
        result = self.run_here("edit", "README.md", env=self.editor("true\n"), expect=0)
        self.assertIn("nothing was staged", result.err)
        self.assertEqual(self.run_here("diff", expect=0).out, "")

    def test_an_editor_that_fails_stages_nothing(self):
        """git: "There was a problem with the editor": ends with 1."""
        result = self.run_here("edit", "README.md", env=self.editor('echo x > "$1"; exit 3\n'), expect=1)
        self.assertIn("ended with 3", result.err)
        self.assertEqual(self.run_here("diff", expect=0).out, "")
        self.assertEqual(os.listdir(self.temporary), [])

    def test_without_an_editor_and_a_terminal_the_error_names_the_variable(self):
        """git: "Terminal is dumb, but EDITOR unset"."""
        self.assertIn("set EDITOR", self.run_here("edit", "README.md", expect=2).err)

    def test_an_editor_in_the_workspace_is_not_run(self):
        """git: core.editor is not read from the work tree."""
        program = self.work / "ed"
        program.write_text(f"#!/bin/sh\ntouch {self.scratch}/ran\n")
        program.chmod(0o755)
        for editor, path in ((str(program), None), ("ed", f"{self.work}:{os.environ['PATH']}"), ("./ed", None)):
            with self.subTest(editor=editor):
                env = {"EDITOR": editor, **({"PATH": path} if path else {})}
                self.run_here("edit", "README.md", env=env, expect=1)
                self.assertFalse((self.scratch / "ran").exists())

    def test_a_path_that_no_edit_may_touch_is_refused_before_the_editor_opens(self):
        """gh: reports a forbidden action before it asks for anything."""
        with (self.work / "galley.toml").open("a") as config:
            config.write('\n[[policy.rule]]\nname = "frozen"\npaths = ["data/**"]\ndecision = "deny"\nreason = "no"\n'
                         '[agents.blind]\ncapabilities = ["fs:read:docs/**", "fs:write"]\n')
        env = self.editor(f"touch {self.scratch}/ran\n")
        tx = json.loads(self.run_here("--json", "status", expect=0).out)["transactions"][0]["tx"]
        name = next(path.name for path in (self.work / "data").iterdir() if path.is_file())
        for arguments in (("edit", f"data/{name}"), ("edit", ".git/config"), ("edit", "src"),
                          ("--agent", "blind", "edit", "--tx", tx, "README.md")):
            with self.subTest(arguments=arguments):
                self.run_here(*arguments, env=env, expect=(1, 2))
                self.assertFalse((self.scratch / "ran").exists())

    def test_a_new_file_is_written_in_the_editor(self):
        """git: `notes add` opens an empty file."""
        self.run_here("edit", "docs/new.md", env=self.editor('echo "# New" > "$1"\n'), expect=0)
        self.assertIn("+# New", self.run_here("diff", expect=0).out)

    def test_a_name_is_relative_to_the_current_directory(self):
        """git: `add -e PATH` in a subdirectory."""
        env = self.editor('echo "# more" >> "$1"\n')
        self.run_here("edit", "../README.md", cwd=self.work / "src", env=env, expect=0)
        self.assertIn("+# more", self.run_here("diff", expect=0).out)

    def test_markers_are_edited_away_and_committed(self):
        """git: after a conflict the file with markers is edited, then committed."""
        self.run_here("call", "Edit", json.dumps({"file_path": "README.md", "old_string": "# parcels",
                                                  "new_string": "# Parcels"}), expect=0)
        path = self.work / "README.md"
        path.write_text(path.read_text().replace("# parcels", "# Boxes"))
        refused = self.run_here("commit", expect=1)
        self.assertIn("galley commit --conflict=markers", refused.err)
        marked = self.run_here("commit", "--conflict=markers", expect=1)
        self.assertIn("galley edit", marked.err)
        keep = self.editor('sed -i -e "/^<<<<<<</d" -e "/^|||||||/,/^=======/d" -e "/^=======/d" -e "/^>>>>>>>/d" '
                           '-e "/^# Boxes/d" "$1"\n')
        self.run_here("edit", "README.md", env=keep, expect=0)
        self.run_here("commit", expect=0)
        self.assertTrue(path.read_text().startswith("# Parcels\n"))
        self.assertNotIn("# Boxes", path.read_text())

    def test_a_command_that_galley_runs_opens_no_editor(self):
        """git: GIT_EDITOR=false applies to commands inside."""
        env = {**self.editor(f"touch {self.scratch}/ran\n"), "GALLEY_SANDBOX": "1"}
        result = self.run_here("edit", "README.md", env=env, expect=1)
        self.assertIn("not inside a command that Galley runs", result.err)
        self.assertFalse((self.scratch / "ran").exists())

    def test_the_editor_has_the_terminal(self):
        """git: the editor reads and writes the terminal."""
        env = self.editor('test -t 0 && test -t 1 || exit 8\nprintf "what? "; read -r line; echo "$line" > "$1"\n')
        result = self.on_terminal("edit", "README.md", typed=[("what? ", "typed\n")], env=env, expect=0)
        self.assertIn("staged README.md", result.screen)
        self.assertIn("+typed", self.run_here("diff", expect=0).out)

    def test_an_interrupt_in_the_editor_does_not_end_galley(self):
        """git: Ctrl-C while the editor is open does not end git."""
        env = self.editor('trap "echo kept; echo kept > \\"$1\\"; exit 0" INT\necho ready\nread -r line; exit 9\n')
        result = self.on_terminal("edit", "README.md", typed=[("ready", "\x03")], env=env, expect=0)
        self.assertIn("staged README.md", result.screen)
        self.assertEqual(os.listdir(self.temporary), [])


if __name__ == "__main__":
    main()
