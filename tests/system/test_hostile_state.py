"""A `.galley` that was made elsewhere is not trusted: its journals, history and other files."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

import hostile
from hostile import HostileCase
from journal_forgery import FILE, LINK, Side, forge_state
from support import GALLEY, PATCHES, snapshot

GOOD = PATCHES / "good" / "02-one-line.patch"
NEXT = PATCHES / "good" / "03-create.patch"
READING = (["status"], ["log"], ["preview", NEXT], ["doctor"], ["gc"], ["rescue", "list"], ["recover"])
# A log that is not believed is not verified, either.
REFUSED = (["apply", NEXT], ["begin"], ["undo"], ["audit", "verify"])
CAPABILITY = ("security.capability", b"\1\0\0\2\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0")


def made(content=b"made by a journal\n", **options):
    return (Side(), Side(FILE, content, **options))


class HostileStateCase(HostileCase):
    def states(self):
        """Returns everything in the tree, including `.galley`."""
        return snapshot(self.work, skip=(".git",))

    def assert_not_believed(self, why=None):
        """Reading continues as if there were no state, with one line of warning. Writing, and
        a verification of the audit log, are refused."""
        before = self.states()
        for arguments in READING:
            with self.subTest(command=arguments):
                # doctor reports a problem by its exit status.
                result = self.galley(*arguments, expect=1 if arguments == ["doctor"] else 0)
                lines = [line for line in result.stderr.decode().splitlines() if "not trusted" in line]
                self.assertEqual(len(lines), 1, result.stderr)
                self.assertIn("move it away", lines[0])
                if why:
                    self.assertIn(why, lines[0])
                self.assertEqual(self.states(), before)
        for arguments in REFUSED:
            with self.subTest(command=arguments):
                refused = self.galley(*arguments, expect=1)
                self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)
                self.assertEqual(refused.stdout, b"")
                document = json.loads(self.galley("--json", *arguments, expect=1).stdout)
                self.assertEqual(document["reason"], "state.not_believed")
                self.assertEqual(self.states(), before)
        found = json.loads(self.galley("--json", "doctor", expect=1).stdout)
        self.assertIn(("state", "error"), [(check["name"], check["status"]) for check in found["checks"]])
        self.assertEqual(json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"], [])

    def assert_believed(self):
        self.assertNotIn(b"not trusted", self.galley("status", expect=0).stderr)
        self.assertEqual(len(json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]), 1)


class HostileState(HostileStateCase):
    def test_a_forged_journal_is_not_rolled_forward(self):
        for folder_named in (False, True):
            with self.subTest(folder_named=folder_named):
                forge_state(self.work, {"planted": made(mode=0o755)}, folder_named=folder_named)
                self.assert_not_believed()
                self.assertFalse((self.work / "planted").exists())
                shutil.rmtree(self.work / ".galley")
        self.galley("apply", GOOD, expect=0)
        self.assert_believed()

    def test_a_state_without_a_format_is_not_trusted(self):
        forge_state(self.work, {"planted": made()})
        (self.work / ".galley" / "format").unlink()
        self.assert_not_believed("no 'format'")
        (self.work / ".galley" / "j" / "1.j").unlink()
        (self.work / ".galley" / "format.0").write_text("cut short")
        self.galley("apply", GOOD, expect=0)
        self.assert_believed()

    def adoption_is_advised(self):
        checks = json.loads(self.galley("--json", "doctor", expect=1).stdout)["checks"]
        [remedy] = [check["remedy"] for check in checks if check["name"] == "state"]
        return "recover --adopt" in remedy

    def test_a_damaged_or_newer_format_is_not_believed(self):
        self.galley("apply", GOOD, expect=0)
        place = self.work / ".galley" / "format"
        good = place.read_text()
        for text, why in (("galley 2 nonsense\n", "damaged"), (good.replace("galley 2", "galley 9"), "newer")):
            place.write_text(text)
            self.assert_not_believed(why)
            self.assertEqual(self.adoption_is_advised(), why == "damaged")
            self.galley("doctor", "--repair", expect=1)
            self.assertEqual(place.read_text(), text)
        place.write_text(good)
        self.assert_believed()

    def test_an_audit_log_that_is_a_directory_has_a_way_out(self):
        self.galley("apply", GOOD, expect=0)
        log = self.work / ".galley" / "audit.jsonl"
        log.unlink()
        log.mkdir()
        for command in (("audit", "verify"), ("doctor",)):
            said = self.galley(*command, expect=1)
            self.assertIn(b"galley doctor --repair", said.stdout + said.stderr, command)
        self.galley("doctor", "--repair", expect=(0, 1))
        self.assertTrue((self.work / ".galley" / "audit.1.jsonl").is_dir(), "it is only set aside")
        self.galley("undo", expect=0)
        kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
        self.assertEqual(kinds[0], "audit.gap")
        self.assertIn("undo", " ".join(kinds))

    def test_what_takes_the_place_of_the_anchor_of_the_audit_log_has_a_way_out(self):
        self.galley("apply", GOOD, expect=0)
        anchor, = (self.work / ".galley" / "audit").glob("*/head")
        for name, place, spoil in (("folder", anchor, lambda: (anchor / "kept").mkdir(parents=True)),
                                   ("link", anchor, lambda: anchor.symlink_to("kept")),
                                   ("file", anchor.parent, lambda: anchor.parent.write_text("kept"))):
            with self.subTest(name):
                place.rename(self.scratch / name)
                spoil()
                aside = set(place.parent.iterdir())
                for command in (("audit", "verify"), ("doctor",)):
                    said = self.galley(*command, expect=1)
                    self.assertIn(b"galley doctor --repair", said.stdout + said.stderr, command)
                self.galley("doctor", "--repair", expect=(0, 1))
                self.assertIn(b"records before it may have been lost", self.galley("audit", "verify", expect=0).stdout)
                last = (self.work / ".galley" / "audit.jsonl").read_text().splitlines()[-1]
                self.assertEqual(json.loads(last)["kind"], "audit.gap")
                self.assertEqual(len(set(place.parent.iterdir()) - aside), 1, "it is only set aside")
                self.galley("undo", expect=0)
                self.galley("redo", expect=0)

    def test_an_object_in_an_unused_place_of_the_anchor_is_no_gap_of_the_log(self):
        self.galley("apply", GOOD, expect=0)
        anchor, = (self.work / ".galley" / "audit").glob("*/head")
        earlier = self.work / ".galley" / "audit.head"
        for name, spoil in (("an earlier place", earlier.mkdir),
                            ("an anchor in the earlier place", lambda: (anchor.rename(earlier), anchor.mkdir()))):
            with self.subTest(name):
                spoil()
                self.galley("doctor", "--repair", expect=(0, 1))
                self.assertNotIn(b"may have been lost", self.galley("audit", "verify", expect=0).stdout)
                self.assertFalse(earlier.exists())
                self.galley("undo", expect=0)
                self.galley("redo", expect=0)

    def test_doctor_does_not_wait_for_pipes_in_place_of_files_of_git(self):
        self.git("init", "-q")
        self.galley("apply", GOOD, expect=0)
        for name in ("index", "config", "HEAD"):
            with self.subTest(name):
                file = self.work / ".git" / name
                kept = file.rename(self.scratch / f"kept-{name}") if file.exists() else None
                os.mkfifo(file)
                said = subprocess.run([GALLEY, "-C", self.work, "--json", "doctor"], capture_output=True, check=False, timeout=60,
                                      env={**os.environ, **self.environment})
                checks = json.loads(said.stdout)["checks"]
                [told] = [check for check in checks if check["name"] == "state and git"]
                self.assertEqual(told["status"], "warning")
                self.assertIn(f"'{file}' is a pipe", told["message"])
                file.unlink()
                if kept:
                    kept.rename(file)
        self.assertNotIn(b"state and git", self.galley("doctor", expect=(0, 1)).stdout)

    def test_a_copied_workspace_is_not_believed_and_a_moved_one_is(self):
        self.galley("apply", GOOD, expect=0)
        original = self.work
        copy = self.scratch / "copy"
        subprocess.run(["cp", "-a", original, copy], check=True)
        self.work = copy
        self.assert_not_believed("not made here")
        self.work = original
        self.assert_believed()
        self.work = original.rename(self.scratch / "moved")
        self.assert_believed()
        self.galley("undo", expect=0)

    def test_the_same_folder_is_found_from_another_home(self):
        self.galley("apply", GOOD, expect=0)
        self.environment["HOME"] = self.environment["XDG_STATE_HOME"] = "/nonexistent"
        self.assert_believed()

    def test_a_folder_that_others_may_enter_is_closed_again(self):
        self.galley("apply", GOOD, expect=0)
        state = self.work / ".galley"
        for words in (["chmod", "-R", "a+rX"], ["chmod", "0755"], ["chmod", "0710"]):
            subprocess.run([*words, state], check=True)
            self.assert_believed()
            self.assertEqual(state.stat().st_mode & 0o777, 0o700)
        self.galley("undo", expect=0)

    def test_a_folder_that_others_may_change_is_not_believed(self):
        self.galley("apply", GOOD, expect=0)
        state = self.work / ".galley"
        for mode in (0o770, 0o777, 0o702):
            state.chmod(mode)
            self.assert_not_believed("0700")
        for name in ("undo", "format"):
            (state / name).chmod(0o777)
            state.chmod(0o755)
            self.assert_not_believed("0700")
            (state / name).chmod(0o700)
        deep = state / "stage" / "of a layer"
        deep.mkdir(parents=True)
        deep.chmod(0o777)
        subprocess.run(["chmod", "-R", "a+rX", state], check=True)
        self.assert_not_believed("0700")
        deep.chmod(0o755)
        self.assert_believed()
        state.chmod(0o700)
        self.assert_believed()

    def test_a_link_or_a_file_is_not_a_state(self):
        self.galley("apply", GOOD, expect=0)
        state = self.work / ".galley"
        elsewhere = state.rename(self.scratch / "elsewhere")
        state.symlink_to(elsewhere)
        self.assert_not_believed("not a directory")
        state.unlink()
        state.write_text("a file")
        self.assert_not_believed("not a directory")
        state.unlink()
        elsewhere.rename(state)
        self.assert_believed()

    def test_a_foreign_journal_in_a_believed_state_is_not_rolled_forward(self):
        self.galley("apply", GOOD, expect=0)
        other = self.scratch / "other"
        other.mkdir()
        forge_state(other, {"planted": made()}, number=9)
        shutil.copy(other / ".galley" / "j" / "1.j", self.work / ".galley" / "j" / "9.j")
        refused = self.galley("status", expect=3)
        self.assertIn(b"another transaction or workspace", refused.stderr)
        self.assertFalse((self.work / "planted").exists())
        self.galley("doctor", "--repair")
        self.assert_believed()

    @unittest.skipUnless(hostile.IS_ROOT, "only root gives files away")
    def test_a_state_of_another_user_is_not_believed(self):
        self.galley("apply", GOOD, expect=0)
        state = self.work / ".galley"
        os.chown(state, hostile.OTHER_USER, hostile.OTHER_USER)
        self.assertIn(b"belongs to another user", self.galley("status", expect=1).stderr)
        # Trusting a user's files for reading is different from acting on that user's journals.
        own = self.home / ".config" / "galley" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'safe_directories = ["{self.work}"]\n')
        self.assert_not_believed("another user")
        os.chown(state, 0, 0)
        self.assert_believed()

    @unittest.skipUnless(hostile.IS_ROOT, "only root becomes another user")
    def test_another_user_goes_on_without_the_state(self):
        self.galley("apply", GOOD, expect=0)
        self.scratch.chmod(0o755)
        home = {name: "/nonexistent" for name in self.environment}
        result = self.galley("preview", NEXT, user=hostile.OTHER_USER, env=home, expect=0)
        self.assertIn(b"another user", result.stderr)

    @unittest.skipUnless(hostile.IS_ROOT, "only root mounts")
    def test_a_state_on_another_mount_is_refused_at_once(self):
        state = self.work / ".galley"
        state.mkdir(mode=0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "tmpfs", state], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", state], check=False, capture_output=True)
        self.assert_not_believed("another mount")
        subprocess.run(["umount", state], check=True)
        subprocess.run(["mount", "--bind", state, state], check=True)
        self.assert_not_believed("another mount")
        subprocess.run(["umount", state], check=True)
        self.galley("apply", GOOD, expect=0)
        self.assert_believed()

    @unittest.skipUnless(hostile.IS_ROOT, "only root mounts")
    def test_without_birth_times_a_record_outside_the_workspace_vouches(self):
        place = self.scratch / "ramfs"
        place.mkdir()
        subprocess.run(["mount", "-t", "ramfs", "-o", "mode=700", "ramfs", place], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False, capture_output=True)
        self.work = shutil.copytree(self.work, place / "work", symlinks=True)
        self.galley("apply", GOOD, expect=0)
        self.assertTrue((self.work / ".galley" / "format").read_text().endswith(" 0\n"))
        self.assert_believed()
        records = self.home / ".local" / "state" / "galley" / "workspaces"
        self.assertEqual(len(list(records.iterdir())), 1)
        hidden = records.rename(self.home / "hidden")
        self.assert_not_believed("not made here")
        hidden.rename(records)
        original = self.work
        self.work = Path(shutil.copytree(original, place / "copy", symlinks=True))
        self.assert_not_believed("not made here")
        self.work = original
        self.assert_believed()


class Adoption(HostileStateCase):
    def test_a_copy_is_adopted_after_a_yes(self):
        self.galley("apply", GOOD, expect=0)
        (self.work / ".galley" / "approvals").mkdir()
        copy = self.scratch / "copy"
        subprocess.run(["cp", "-a", self.work, copy], check=True)
        self.work = copy
        result = self.at_terminal("recover", "--adopt", answer="yes")
        shown = result.terminal
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("becomes the history, which can be undone: 1 transaction", shown)
        self.assertIn("approvals: removed", shown)
        self.assertFalse((self.work / ".galley" / "approvals").exists())
        self.assertIn('"kind":"adoption"', (self.work / ".galley" / "audit.jsonl").read_text())
        self.galley("audit", "verify", expect=0)
        self.assert_believed()
        self.galley("undo", expect=0)

    def test_it_shows_what_recovery_would_do_and_does_it_after_a_yes(self):
        changes = {"planted": made(b"12345", mode=0o755), "link": (Side(), Side(LINK, b"a\x1b[2Jb"))}
        forge_state(self.work, changes, folder_named=False)
        result = self.at_terminal("recover", "--adopt", answer="yes")
        shown = result.terminal
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("planted: put in place (a file of 5 bytes, mode 0755)", shown)
        self.assertIn("link: put in place (a symbolic link to a", shown)
        self.assertNotIn("\x1b[2J", shown)
        self.assertEqual((self.work / "planted").read_bytes(), b"12345")
        self.assert_believed()

    def test_a_declined_adoption_changes_nothing(self):
        forge_state(self.work, {"planted": made()})
        before = snapshot(self.work)
        for answer in ("no", ""):
            result = self.at_terminal("recover", "--adopt", answer=answer)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertEqual(snapshot(self.work), before)
            self.assert_not_believed()

    def test_without_a_terminal_it_is_refused(self):
        forge_state(self.work, {"planted": made()})
        before = snapshot(self.work)
        self.galley("recover", "--adopt", stdin=b"yes\nyes\n", start_new_session=True, expect=1)
        self.assertEqual(snapshot(self.work), before)
        self.assert_not_believed()
        shown = self.galley("recover", "--adopt", "--dry-run", start_new_session=True, expect=0)
        self.assertIn(b"planted", shown.stdout)

    def test_a_trusted_state_cannot_be_adopted(self):
        self.galley("apply", GOOD, expect=0)
        result = self.at_terminal("recover", "--adopt", answer="yes")
        self.assertEqual(result.returncode, 1)
        self.assert_believed()

    def test_a_state_that_git_tracks_is_refused(self):
        forge_state(self.work, {"planted": made()})
        self.git("init", "-q")
        self.git("add", "-Af", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all of it")
        original = self.work
        clone = self.scratch / "clone"
        self.git("clone", "-q", original, clone)
        self.work = clone
        (clone / ".galley").chmod(0o700)
        self.assert_not_believed()
        self.assertIn(b"git rm -r --cached", self.galley("doctor", expect=1).stdout)
        result = self.at_terminal("recover", "--adopt", answer="yes")
        self.assertEqual(result.returncode, 1)
        self.assertFalse((clone / "planted").exists())

    def test_a_journal_cannot_do_what_a_commit_may_not(self):
        link = lambda target: (Side(), Side(LINK, target))
        forbidden = {
            "a link to /etc": {"planted": link(b"/etc")},
            "a link above the root": {"planted": link(b"../../etc")},
            "a link through another": {"planted": link(b"planted2/x"), "planted2": link(b"..")},
            "a link into .git": {"planted": link(b".git/hooks")},
            "a file in .git": {".git/hooks/post-checkout": made(mode=0o755)},
            "a capability": {"planted": made(attributes=[CAPABILITY])},
            "an attribute of the kernel": {"planted": made(attributes=[("trusted.overlay.opaque", b"y")])},
            "a capability that it claims to have seen":
                {"planted": (Side(FILE, b"1", attributes=[CAPABILITY]), Side(FILE, b"2", attributes=[CAPABILITY]))},
            "set-user-id": {"planted": made(mode=0o4755)},
        }
        if hostile.IS_ROOT:
            forbidden["another owner"] = {"planted": made(uid=hostile.OTHER_USER)}
            forbidden["another group"] = {"planted": made(gid=hostile.OTHER_USER)}
        aborted = {
            "a capability given back": {"planted": (Side(FILE, b"1", attributes=[CAPABILITY]), Side())},
            "a link given back": {"planted": (Side(LINK, b"/etc"), Side())},
        }
        cases = [(name, changes, False) for name, changes in forbidden.items()]
        cases += [(name, changes, True) for name, changes in aborted.items()]
        (self.work / ".git" / "hooks").mkdir(parents=True)
        for name, changes, is_aborted in cases:
            with self.subTest(journal=name):
                # A second change that is harmless by itself: the commit is all or nothing.
                forge_state(self.work, {**changes, "zzz": made()}, aborted=is_aborted)
                before = snapshot(self.work, skip=(".galley",))
                result = self.at_terminal("recover", "--adopt", answer="yes")
                self.assertEqual(snapshot(self.work, skip=(".galley",)), before, result.stderr)
                self.assertFalse(os.path.lexists(self.work / "zzz"))
                self.galley("status")
                self.assertEqual(snapshot(self.work, skip=(".galley",)), before)
                shutil.rmtree(self.work / ".galley")

    def test_a_journal_may_give_what_the_file_has(self):
        (self.work / "own").write_text("1")
        (self.work / "own").chmod(0o600)
        side = dict(mode=0o600)
        if hostile.IS_ROOT:
            os.chown(self.work / "own", hostile.OTHER_USER, hostile.OTHER_USER)
            side.update(uid=hostile.OTHER_USER, gid=hostile.OTHER_USER)
        forge_state(self.work, {"own": (Side(FILE, b"1", **side), Side(FILE, b"2", **side))})
        result = self.at_terminal("recover", "--adopt", answer="yes")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.work / "own").read_text(), "2")
        if hostile.IS_ROOT:
            self.assertEqual((self.work / "own").stat().st_uid, hostile.OTHER_USER)


if __name__ == "__main__":
    hostile.main()
