"""The files of git's hooks: installed, removed, and run together with the hooks that were there.

Runs as root and as a plain user (`hostile.main`)."""

import json
import os
import re
import shutil
import stat
import textwrap

import hostile
from support import snapshot
from test_hooks import HookCase

USUAL = ["pre-commit", "pre-merge-commit", "pre-applypatch", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push"]


class Installing(HookCase):
    def hooks(self):
        return self.work / ".git" / "hooks"

    def names(self):
        return sorted(path.name for path in self.hooks().iterdir() if not path.name.endswith(".sample"))

    def test_uninstall_puts_back_every_byte(self):
        theirs = self.hooks() / "pre-commit"
        theirs.write_bytes(b"#!/bin/sh\necho theirs\n\xff")
        theirs.chmod(0o711)
        before = snapshot(self.hooks(), with_times=True)
        self.galley("hook", "install", expect=0)
        self.assertEqual(self.names(), sorted([*USUAL, "pre-commit.before-galley"]))
        self.galley("hook", "uninstall", expect=0)
        self.assertEqual(snapshot(self.hooks(), with_times=True), before)

    def test_a_second_install_changes_nothing(self):
        self.galley("hook", "install", expect=0)
        before = snapshot(self.hooks(), with_times=True)
        said = json.loads(self.galley("--json", "hook", "install", expect=0).stdout)
        self.assertEqual({hook["step"] for hook in said["hooks"]}, {"nothing"})
        self.assertEqual(snapshot(self.hooks(), with_times=True), before)

    def test_dry_run_shows_and_changes_nothing(self):
        self.write(".git/hooks/pre-push", "#!/bin/sh\n")
        before = snapshot(self.hooks(), with_times=True)
        said = json.loads(self.galley("--json", "hook", "install", "-n", expect=0).stdout)
        self.assertEqual(said["schema"], "galley.hook/1")
        steps = {hook["hook"]: hook["step"] for hook in said["hooks"]}
        self.assertEqual(steps, {**{name: "write" for name in USUAL}, "pre-push": "write_and_keep"})
        self.assertEqual(snapshot(self.hooks(), with_times=True), before)

    def test_an_installation_names_a_program_that_its_hooks_do_not_find(self):
        self.assertNotIn(b"PATH", self.galley("hook", "install", expect=0).stderr)
        said = self.galley("hook", "install", expect=0, env={"PATH": "/usr/bin:/bin"}).stderr
        self.assertIn(b"warning: galley is not on PATH, where these hooks look for it", said)

    def test_only_the_named_hooks_are_installed(self):
        self.galley("hook", "install", "--hook", "pre-commit", "--hook", "pre-push", expect=0)
        self.assertEqual(self.names(), ["pre-commit", "pre-push"])
        self.galley("hook", "uninstall", "--hook", "pre-push", expect=0)
        self.assertEqual(self.names(), ["pre-commit"])
        result = self.galley("hook", "install", "--hook", "pre-comit", expect=2)
        self.assertIn(b"pre-commit", result.stderr)

    def test_a_hook_that_was_edited_is_left_unchanged(self):
        self.galley("hook", "install", expect=0)
        with open(self.hooks() / "pre-push", "a", encoding="utf-8") as file:
            file.write("echo mine\n")
        before = snapshot(self.hooks(), with_times=True)
        for verb in ("install", "uninstall"):
            result = self.galley("hook", verb, expect=1)
            self.assertIn(b"pre-push", result.stderr)
        self.assertEqual(snapshot(self.hooks(), with_times=True), before)

    def test_core_hooks_path_is_respected(self):
        for value in ("tools/hooks", str(self.scratch / "elsewhere")):
            with self.subTest(value):
                self.git("config", "core.hooksPath", value)
                place = self.work / value
                below = self.work / "deep" / "er"
                below.mkdir(parents=True, exist_ok=True)
                self.galley("hook", "install", "--hook", "pre-commit", work=below, expect=0)
                self.assertTrue((place / "pre-commit").exists())
                self.assert_refused(self.commit_file("secret/x", "x"), "no secrets")
                self.git("rm", "-qrf", "--cached", "secret")
                self.galley("hook", "uninstall", expect=0)
                self.assertFalse((place / "pre-commit").exists())
        self.assertEqual(self.names(), [])

    def test_a_hooks_path_for_all_repositories_needs_an_option(self):
        everywhere = self.scratch / "everywhere"
        self.git("config", "--global", "core.hooksPath", everywhere)
        result = self.galley("hook", "install", expect=1)
        self.assertIn(b"every repository", result.stderr)
        self.assertFalse(everywhere.exists())
        self.galley("hook", "install", "--force", expect=0)
        self.assertTrue((everywhere / "pre-commit").exists())

    def test_a_linked_folder_of_hooks_is_reported(self):
        shared = self.scratch / "shared"
        shared.mkdir()
        shutil.rmtree(self.hooks())
        self.hooks().symlink_to(shared)
        said = self.galley("hook", "install", expect=1)
        self.assertIn(str(shared), said.stderr.decode())
        self.assertEqual(list(shared.iterdir()), [])
        said = self.galley("hook", "install", "--force", expect=0)
        self.assertIn(f"leads to {shared}", said.stderr.decode())
        self.assertTrue((shared / "pre-commit").exists())
        said = json.loads(self.galley("--json", "hook", "uninstall", expect=0).stdout)
        self.assertEqual(said["leads_to"], str(shared))
        # A link to the repository's own work tree belongs to the repository.
        self.hooks().unlink()
        (self.work / "tools").mkdir()
        self.hooks().symlink_to("../tools")
        said = self.galley("hook", "install", expect=0)
        self.assertIn("into the work tree", said.stderr.decode())
        self.assertTrue((self.work / "tools" / "pre-commit").exists())

    def test_a_folder_that_is_outside_through_dots_is_not_in_the_work_tree(self):
        self.git("config", "core.hooksPath", "../shared")
        said = self.galley("hook", "install", expect=0)
        self.assertNotIn("into the work tree", said.stderr.decode())
        self.assertTrue((self.scratch / "shared" / "pre-commit").exists())

    def test_hooks_that_are_switched_off_stay_so(self):
        self.galley("hook", "install", expect=0)
        for path in ("/dev/null", ""):
            self.git("config", "core.hooksPath", path)
            result = self.galley("hook", "install", expect=1)
            self.assertIn(b"switches hooks off", result.stderr)
            self.assert_one_clear_message(result)
            self.assertIn("core.hooksPath", self.galley("doctor", expect=(0, 1)).stdout.decode())

    def test_with_husky_the_message_shows_the_line_to_add(self):
        self.git("config", "core.hooksPath", ".husky/_")
        result = self.galley("hook", "install", expect=1)
        for line in ("pre-commit: galley hook run pre-commit", 'commit-msg: galley hook run commit-msg -- "$1"',
                     'pre-push: galley hook run pre-push -- "$@"'):
            self.assertIn(f".husky/{line}\n", result.stderr.decode())
        self.assert_one_clear_message(result)
        self.assertFalse((self.work / ".husky").exists())

    def test_beside_lefthook_nothing_is_installed_without_force(self):
        for name in ("lefthook.yml", ".lefthook.toml", ".config/lefthook.json", "lefthook.jsonc", "lefthook-local.yml",
                     ".config/.lefthook-local.yaml"):
            path = self.write(name, "")
            result = self.galley("hook", "install", expect=1)
            self.assertIn(b"pre-commit: {commands: {galley: {run: galley hook run pre-commit}}}\n", result.stderr)
            self.assert_one_clear_message(result)
            self.assertNotIn("pre-commit", self.names())
            path.unlink()
        self.write("lefthook.yml", "")
        self.run_git("config", "--global", "core.hooksPath", str(self.scratch / "everywhere"))
        result = self.galley("hook", "install", expect=1)
        self.assert_refused(result, "for every repository", "lefthook moves", "NAME.old")
        self.run_git("config", "--global", "--unset", "core.hooksPath")
        self.galley("hook", "install", "--force", expect=0)
        self.assertIn("pre-commit", self.names())

    def test_a_hook_that_lefthook_moved_away_is_told_after_a_commit(self):
        self.galley("hook", "install", expect=0)
        hooks = self.work / ".git" / "hooks"
        self.assertNotIn(b"judges nothing", self.commit_file("b.txt", "b\n").stderr)
        (hooks / "pre-commit").rename(hooks / "pre-commit.old")
        (hooks / "pre-commit").write_text("#!/bin/sh\n")
        (hooks / "pre-commit").chmod(0o755)
        result = self.commit_file("c.txt", "c\n")
        self.assert_done(result)
        self.assertIn(b"'pre-commit' is now pre-commit.old and judges nothing", result.stderr)

    def idle(self):
        """What doctor says of hooks that do not run: the messages and the remedies."""
        checks = json.loads(self.galley("--json", "doctor", expect=None).stdout)["checks"]
        return [(check["status"], check["message"], check["remedy"]) for check in checks if check["name"] == "git hooks"]

    def test_doctor_names_hooks_that_husky_replaced(self):
        self.galley("hook", "install", expect=0)
        self.assertEqual(self.idle(), [])
        (self.work / ".husky" / "_").mkdir(parents=True)
        for name in USUAL:  # as husky 9 does
            self.write(f".husky/_/{name}", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
        self.git("config", "core.hooksPath", ".husky/_")
        [(status, message, remedy)] = self.idle()
        self.assertEqual(status, "warning")
        self.assertEqual(message, "git does not run Galley's pre-commit, commit-msg, pre-push, because core.hooksPath is "
                                  f"'{os.path.realpath(self.work)}/.husky/_'")
        self.assertIn("galley hook install", remedy)
        shown = re.findall(r"^ *\.husky/(\S+): (.*)$", self.galley("hook", "install", expect=1).stderr.decode(), re.MULTILINE)
        self.assertEqual([name for name, _ in shown], ["pre-commit", "commit-msg", "pre-push"])
        for name, line in shown:
            self.assertEqual(len(self.idle()), 1)
            with self.write(f".husky/{name}", "true\n").open("a") as file:
                file.write(line + "\n")
        self.assertEqual(self.idle(), [])

    def test_doctor_names_hooks_beside_another_folder_of_hooks(self):
        self.galley("hook", "install", "--hook", "pre-commit", "--hook", "pre-merge-commit", expect=0)
        self.git("config", "core.hooksPath", str(self.work / ".git" / "hooks"))
        self.assertEqual(self.idle(), [])
        self.write("hooks/pre-commit", "#!/bin/sh\n").chmod(0o755)
        for path in ("hooks", "missing", "/dev/null"):
            self.git("config", "core.hooksPath", path)
            [(_, message, _)] = self.idle()
            self.assertIn("pre-commit, pre-merge-commit, because core.hooksPath is", message)
        os.mkfifo(self.work / "hooks" / "pre-merge-commit")  # nothing waits for it
        self.git("config", "core.hooksPath", "hooks")
        self.assertEqual(len(self.idle()), 1)
        (self.work / "hooks" / "pre-merge-commit").unlink()
        self.galley("hook", "install", expect=0)
        self.assertEqual(self.idle(), [])

    def test_doctor_names_hooks_that_lefthook_moved_away(self):
        self.galley("hook", "install", expect=0)
        hooks = self.hooks()
        for name in ("pre-commit", "pre-push"):  # as lefthook 1 does
            (hooks / name).rename(hooks / f"{name}.old")
            self.write(f".git/hooks/{name}", f'#!/bin/sh\ncall_lefthook run "{name}" "$@"\n').chmod(0o755)
        self.write("lefthook.yml", "pre-commit: {commands: {x: {run: 'true'}}}\n")
        [(status, message, remedy)] = self.idle()
        self.assertEqual((status, message), ("warning", "git does not run Galley's pre-commit, pre-push, which lefthook moved to NAME.old"))
        self.assertIn("galley hook install", remedy)
        lines = self.galley("hook", "install", expect=1).stderr.decode().split("--force:\n")[1]
        self.write("lefthook.yml", textwrap.dedent(lines))
        self.assertEqual(self.idle(), [])
        self.write("lefthook.yml", "")
        for name in ("pre-commit", "pre-push"):
            (hooks / f"{name}.old").unlink()
        self.assertEqual(self.idle(), [])

    def test_a_linked_worktree_shares_them(self):
        other = self.scratch / "other"
        self.git("worktree", "add", "-q", other)
        self.galley("hook", "install", work=other, expect=0)
        self.assertIn("pre-commit", self.names())
        self.write("secret/x", "x", other)
        self.git("add", ".", work=other)
        self.assert_refused(self.run_git("commit", "-qm", "x", work=other), "no secrets")
        self.galley("hook", "uninstall", work=other, expect=0)
        self.assertEqual(self.names(), [])

    def test_git_dir_is_respected(self):
        elsewhere = self.scratch / "away"
        elsewhere.mkdir()
        self.galley("hook", "install", work=elsewhere, expect=0,
                    env={"GIT_DIR": str(self.work / ".git"), "GIT_WORK_TREE": str(self.work)})
        self.assertIn("pre-commit", self.names())

    def test_a_bare_repository_gets_the_server_hook(self):
        self.make_server()
        self.galley("hook", "install", work=self.server, expect=0)
        installed = [path.name for path in (self.server / "hooks").iterdir() if not path.name.endswith(".sample")]
        self.assertEqual(installed, ["pre-receive"])

    def test_outside_a_repository_is_one_clear_error(self):
        away = self.scratch / "away"
        away.mkdir()
        result = self.galley("hook", "install", work=away, expect=1)
        self.assert_one_clear_message(result)
        self.assertIn(b"git repository", result.stderr)

    def test_an_agent_installs_nothing(self):
        before = snapshot(self.hooks())
        result = self.galley("--agent", "bot", "hook", "install", expect=1)
        self.assertIn(b"person", result.stderr)
        self.assertEqual(snapshot(self.hooks()), before)

    def test_a_hook_that_is_a_folder_is_an_error(self):
        (self.hooks() / "pre-push").mkdir()
        before = snapshot(self.hooks())
        self.assertIn(b"pre-push", self.galley("hook", "install", expect=1).stderr)
        self.assertEqual(snapshot(self.hooks()), before)

    def test_a_missing_folder_of_hooks_is_created(self):
        shutil.rmtree(self.hooks())
        self.galley("hook", "install", "-n", expect=0)
        self.assertFalse(self.hooks().exists())
        self.galley("hook", "uninstall", expect=0)
        self.galley("hook", "install", expect=0)
        self.assertEqual(stat.S_IMODE((self.hooks() / "pre-commit").stat().st_mode), 0o755)


class Chaining(HookCase):
    def theirs(self, hook, text):
        path = self.write(f".git/hooks/{hook}", "#!/bin/sh\n" + text)
        path.chmod(0o755)

    def test_the_existing_hook_runs_first_and_can_refuse(self):
        self.theirs("pre-commit", "echo theirs >> seen; test -e allowed || { echo NOT ALLOWED; exit 7; }\n")
        self.galley("hook", "install", expect=0)
        self.assert_refused(self.commit_file("b.txt", "b\n"), "NOT ALLOWED")
        (self.work / "allowed").touch()
        self.assert_done(self.run_git("commit", "-qm", "b"))
        self.assertEqual((self.work / "seen").read_text(), "theirs\ntheirs\n")
        self.assert_refused(self.commit_file("secret/x", "x"), "no secrets")

    # Reports how it was called, reads files next to it and above it, and refuses if the test tells
    # it to.
    DISPATCHER = """#!/bin/sh
. "$(dirname "$0")/lib.sh" && . "$(dirname "$0")/{up}/above.sh" || exit 9
echo "$(basename "$0") $lib $above" >> "{seen}"
case ${{0##*/}} in
  pre-commit) test ! -e refused || exit 7 ;;
  commit-msg | pre-push | pre-receive) ;;
  *) exit 8 ;;
esac
"""

    def dispatcher(self, folder, hooks, up=".."):
        self.seen = self.scratch / "seen"
        self.write(f"{folder}/lib.sh", "lib=lib\n")
        self.write(f"{folder}/{up}/above.sh", "above=above\n")
        for hook in hooks:
            path = self.write(f"{folder}/{hook}", self.DISPATCHER.format(up=up, seen=self.seen))
            path.chmod(0o755)

    def assert_seen(self, *hooks):
        self.assertEqual(self.seen.read_text(), "".join(f"{hook} lib above\n" for hook in hooks))
        self.seen.unlink()

    def test_the_existing_hook_sees_its_own_name(self):
        self.make_server()
        self.dispatcher(".git/hooks", ["pre-commit", "commit-msg", "pre-push"], up="../..")
        before = snapshot(self.work / ".git", with_times=True, skip=("objects", "logs"))
        self.galley("hook", "install", expect=0)
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_seen("pre-commit", "commit-msg")
        self.assert_done(self.run_git("push", "-q", "origin", "main"))
        self.assert_seen("pre-push")
        self.write("refused", "")
        self.assertNotEqual(self.commit_file("c.txt", "c\n").returncode, 0)
        self.assert_seen("pre-commit")
        # Nothing of Galley is left, and no other file is missing.
        self.galley("hook", "uninstall", expect=0)
        after = snapshot(self.work / ".git", with_times=True, skip=("objects", "logs"))
        self.assertEqual({path for path in before if path.startswith("hooks")},
                         {path for path in after if path.startswith("hooks")})

    def test_a_linked_hook_sees_its_own_name(self):
        self.dispatcher("tools", ["all-hooks"], up="..")
        self.write(".git/hooks/lib.sh", "lib=lib\n")
        self.write(".git/above.sh", "above=above\n")
        for hook in ("pre-commit", "commit-msg"):
            (self.work / ".git/hooks" / hook).symlink_to("../../tools/all-hooks")
        self.galley("hook", "install", expect=0)
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_seen("pre-commit", "commit-msg")
        # From a subfolder, and from another work tree of the repository.
        self.git("worktree", "add", "-q", self.scratch / "other", "-b", "other")
        other = self.scratch / "other"
        self.write("c.txt", "c\n", work=other)
        self.git("add", "c.txt", work=other)
        self.assert_done(self.run_git("commit", "-qm", "c", work=other))
        self.assert_seen("pre-commit", "commit-msg")
        self.galley("hook", "uninstall", expect=0)
        self.assertEqual(os.readlink(self.work / ".git/hooks/pre-commit"), "../../tools/all-hooks")

    def test_a_hook_of_core_hooks_path_has_its_name_and_git_sees_no_new_files(self):
        self.dispatcher(".githooks", ["pre-commit", "commit-msg"])
        self.git("config", "core.hooksPath", ".githooks")
        self.galley("hook", "install", expect=0)
        self.git("add", ".githooks", "above.sh")
        self.assert_done(self.run_git("commit", "-qm", "hooks"))
        self.assert_seen("pre-commit", "commit-msg")
        self.assertEqual(self.git("status", "--porcelain").stdout, b"")
        self.galley("hook", "uninstall", expect=0)
        self.assertFalse((self.work / ".githooks.before-galley").exists())

    def test_a_hook_finds_and_writes_files_next_to_itself(self):
        for name, text in {".names.sh": "file=journal.txt\n", "count": "0\n",
                           "pre-commit": '#!/bin/sh\nset -e\ncd "$(dirname "$0")"\n. ./.names.sh\necho ran >> $file\n'
                                         "echo 1 > new && mv new count\n"}.items():
            self.write(f".git/hooks/{name}", text).chmod(0o755)
        self.galley("hook", "install", expect=0)
        for name in "bc":
            self.assert_done(self.commit_file(f"{name}.txt", "x\n"))
        self.galley("hook", "uninstall", expect=0)
        hooks = self.work / ".git" / "hooks"
        self.assertEqual((hooks / "journal.txt").read_text(), "ran\nran\n")
        self.assertEqual((hooks / "count").read_text(), "1\n")
        self.assertEqual((hooks / ".names.sh").read_text(), "file=journal.txt\n")
        self.assertFalse((self.work / ".git" / "hooks.before-galley").exists())

    def test_a_file_that_a_hook_replaced_is_the_file(self):
        hook = ('#!/bin/sh\nset -e\ncd "$(dirname "$0")"\ncount=$(cat count)\n'
                'echo $((count + 1)) > new && mv new count\nrm -rf cache && mkdir cache && echo ran > cache/run\n')
        for folder in (".git/hooks", ".githooks"):
            with self.subTest(folder):
                self.git("config", "core.hooksPath", folder)
                self.write(f"{folder}/pre-commit", hook).chmod(0o755)
                self.write(f"{folder}/count", "0\n")
                self.write(f"{folder}/cache/run", "never\n")
                self.galley("hook", "install", expect=0)
                for count in "12":
                    self.assert_done(self.run_git("commit", "-q", "--allow-empty", "-m", count))
                    self.assertEqual((self.work / folder / "count").read_text(), count + "\n")
                said = self.galley("hook", "uninstall", expect=0).stderr.decode()
                self.assertEqual((self.work / folder / "pre-commit").read_text(), hook)
                self.assertFalse((self.work / folder / "pre-commit.before-galley").exists())
                # A folder cannot replace one that is not empty.
                self.assertIn(f"{folder}.before-galley, not moved: ", said)
                self.assertEqual((self.work / folder / "cache/run").read_text(), "never\n")
                self.assertEqual((self.work / f"{folder}.before-galley/cache/run").read_text(), "ran\n")

    def test_a_killed_hook_loses_nothing_and_none_replaces_a_hook_of_galley(self):
        hooks = self.work / ".git" / "hooks"
        self.write(".git/hooks/pre-commit", '#!/bin/sh\ncd "$(dirname "$0")"\necho $(($(cat count) + 1)) > new && mv new count\n'
                   'echo "exit 0" > new && mv new pre-push\nif [ -e ../dies ]; then rm ../dies; kill -9 $PPID; fi\n').chmod(0o755)
        self.write(".git/hooks/count", "0\n")
        self.write(".git/dies", "")
        self.galley("hook", "install", expect=0)
        pushes = (hooks / "pre-push").read_text()
        self.assertIn("galley", pushes)
        self.assertNotEqual(self.run_git("commit", "-q", "--allow-empty", "-m", "killed").returncode, 0)
        for count in "23":
            self.assert_done(self.run_git("commit", "-q", "--allow-empty", "-m", count))
            self.assertEqual((hooks / "count").read_text(), count + "\n")
        self.assertEqual((hooks / "pre-push").read_text(), pushes)

    def test_what_a_hook_wrote_in_a_work_tree_is_named(self):
        self.write(".githooks/pre-commit", '#!/bin/sh\necho ran >> "${0%/*}/journal.txt"\n').chmod(0o755)
        self.git("config", "core.hooksPath", ".githooks")
        self.galley("hook", "install", expect=0)
        self.assert_done(self.commit_file("b.txt", "b\n"))
        said = self.galley("hook", "uninstall", expect=0).stderr.decode()
        self.assertIn(".githooks.before-galley, not moved: they are in the work tree", said)
        self.assertEqual(sorted(path.name for path in (self.work / ".githooks.before-galley").iterdir()), ["journal.txt"])

    def test_a_link_in_place_of_the_folder_of_links_is_refused_and_not_followed(self):
        outside = self.scratch / "outside"
        for name, text in {".gitignore": "*.log\n", "commit-msg": "mine\n"}.items():
            self.write(name, text, work=outside)
        os.symlink("/usr/bin/env", outside / "env")
        before = snapshot(outside)
        for folder in (".git/hooks", ".githooks"):
            with self.subTest(folder):
                self.git("config", "core.hooksPath", folder)
                self.write(f"{folder}/pre-commit", "#!/bin/sh\nexit 0\n").chmod(0o755)
                view = self.work / f"{folder}.before-galley"
                os.symlink(os.path.relpath(outside, view.parent), view)
                refused = self.galley("hook", "install", "--force", expect=1).stderr.decode()
                self.assertIn(f"{view}' is a link", refused)
                view.unlink()
                self.galley("hook", "install", expect=0)
                os.symlink(os.path.relpath(outside, view.parent), view)
                committed = self.run_git("commit", "-q", "--allow-empty", "-m", "b")
                self.assertEqual(committed.returncode, 1)
                self.assertIn(f"{view}' is a link", committed.stderr.decode())
                self.galley("hook", "uninstall", expect=0)
                self.assertTrue(view.is_symlink())
                self.assertEqual(snapshot(outside), before)
                self.assertFalse((self.work / folder / "env").is_symlink())

    def test_what_others_put_into_the_folder_of_links_is_not_followed_and_stays(self):
        outside = self.write("outside.txt", "mine\n", work=self.scratch)
        self.write(".githooks/pre-commit", "#!/bin/sh\nexit 0\n").chmod(0o755)
        view = self.work / ".githooks.before-galley"
        view.mkdir()
        os.symlink(outside, view / ".gitignore")
        os.symlink("../outside", view / "theirs")
        self.git("config", "core.hooksPath", ".githooks")
        self.galley("hook", "install", expect=0)
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assertEqual(outside.read_text(), "mine\n")
        self.assertEqual(os.readlink(view / "pre-commit"), "../.githooks/pre-commit.before-galley")
        said = self.galley("hook", "uninstall", expect=0).stderr.decode()
        self.assertIn(".githooks.before-galley, not moved: they are in the work tree", said)
        self.assertEqual([path.name for path in view.iterdir()], ["theirs"])

    def test_a_hook_that_was_kept_later_runs(self):
        self.dispatcher(".git/hooks", ["pre-commit"])
        self.galley("hook", "install", "--hook", "pre-commit", expect=0)
        self.write(".git/hooks/commit-msg", "#!/bin/sh\nexit 0\n").chmod(0o755)
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.dispatcher(".git/hooks", ["commit-msg"])
        self.galley("hook", "install", expect=0)
        self.assert_done(self.commit_file("c.txt", "c\n"))
        self.assert_seen("pre-commit", "pre-commit", "commit-msg")

    def test_it_has_its_name_where_the_folder_of_links_cannot_be_made(self):
        self.dispatcher(".git/hooks", ["pre-commit"])
        self.write(".git/hooks/above.sh", "above=above\n")
        text = (self.work / ".git/hooks/pre-commit").read_text().replace("/../above", "/above")
        (self.work / ".git/hooks/pre-commit").write_text(text)
        self.write(".git/hooks.before-galley", "a file\n")
        self.galley("hook", "install", "--hook", "pre-commit", expect=0)
        places = self.scratch / "tmp"
        places.mkdir()
        self.write("b.txt", "b\n")
        self.git("add", "b.txt")
        self.assert_done(self.run_git("commit", "-qm", "b", env={"TMPDIR": str(places)}))
        self.assert_seen("pre-commit")
        self.write("refused", "")
        self.assertEqual(self.run_git("commit", "-q", "--allow-empty", "-m", "c", env={"TMPDIR": str(places)}).returncode, 1)
        self.assertEqual(list(places.iterdir()), [])

    def test_a_server_hook_sees_its_own_name(self):
        self.make_server()
        hooks = self.server / "hooks"
        hooks.mkdir(exist_ok=True)
        self.seen = self.scratch / "seen"
        (hooks / "pre-receive").write_text(self.DISPATCHER.format(up="..", seen=self.seen))
        (hooks / "pre-receive").chmod(0o755)
        (hooks / "lib.sh").write_text("lib=lib\n")
        (self.server / "above.sh").write_text("above=above\n")
        self.galley("hook", "install", work=self.server, expect=0)
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_done(self.run_git("push", "-q", "origin", "main"))
        self.assert_seen("pre-receive")

    def test_a_hook_that_is_not_executable_does_not_run(self):
        self.theirs("pre-commit", "exit 1\n")
        (self.work / ".git/hooks/pre-commit").chmod(0o644)
        self.galley("hook", "install", expect=0)
        self.assert_done(self.commit_file("b.txt", "b\n"))

    def test_both_get_the_pushed_references(self):
        self.make_server()
        seen = self.scratch / "seen"
        self.theirs("pre-push", f"cat > {seen}; echo \"$@\" >> {seen}\n")
        self.galley("hook", "install", expect=0)
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_done(self.run_git("push", "-q", "origin", "main"))
        self.assertEqual(seen.read_text(), f"refs/heads/main {self.head()} refs/heads/main {self.head(ref='HEAD~')}\n"
                                           f"origin {self.server}\n")

    def test_without_galley_commits_are_refused_but_messages_are_not(self):
        self.galley("hook", "install", expect=0)
        without = {"PATH": ":".join(folder for folder in os.environ["PATH"].split(":")
                                    if not os.path.exists(f"{folder}/galley"))}
        self.write("b.txt", "b\n")
        self.git("add", ".")
        result = self.run_git("commit", "-qm", "b", env=without)
        self.assert_refused(result, "no galley on PATH", "rm '")
        for hook in ("pre-commit", "pre-push"):
            self.galley("hook", "uninstall", "--hook", hook, expect=0)
        result = self.run_git("commit", "-qm", "b", env=without)
        self.assert_done(result)
        self.assertIn(b"did nothing", result.stderr)


if __name__ == "__main__":
    hostile.main()
