"""Walls around commands: leftovers of a killed command, links, output, rules for programs, memory
of files."""

import json
import os
import signal
import stat
import subprocess
import unittest

import hostile
from support import GALLEY

MEBIBYTE = 1 << 20


class KilledExec(hostile.HostileCase):
    """After SIGKILL during a command, overlayfs leaves a folder of mode 000 in the stage."""

    def setUp(self):
        super().setUp()
        self.need_walls()
        self.galley("begin", expect=0)
        # The command made its folder as hard to read and to remove as possible.
        deep = "for i in range(1500): os.mkdir('d'); os.chdir('d')"
        script = f'python3 -c "import os\n{deep}"; '
        script += "mkdir -p shut/in; echo x > shut/in/file; chmod 000 shut/in shut; echo up >&2; exec sleep 600"
        with subprocess.Popen([GALLEY, "-C", self.work, "exec", "--", "sh", "-c", script], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env={**os.environ, **self.environment}) as running:
            self.assertEqual(running.stderr.readline(), b"up\n")
            running.send_signal(signal.SIGKILL)
        self.stage = next(self.own_state("stage").iterdir())

    def test_every_later_command_can_read_the_stage(self):
        self.galley("status", expect=0)
        self.galley("status", "--all", expect=0)
        self.galley("doctor", expect=(0, 1))
        self.galley("gc", expect=0)
        self.galley("exec", "--", "sh", "-c", "echo more > made", expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "made").read_text(), "more\n")
        self.assertFalse((self.work / "shut").exists())
        self.assertFalse(self.stage.exists())

    def test_rollback_removes_the_killed_stage(self):
        self.galley("rollback", expect=0)
        self.assertFalse(self.stage.exists())

    def test_gc_removes_the_killed_stage_when_it_is_old(self):
        for path in [self.stage / "owner", self.stage / "overlay", self.stage]:
            os.utime(path, (1, 1))
        self.galley("gc", expect=0)
        self.assertFalse(self.stage.exists())


class HardLinks(hostile.HostileCase):
    """A mode belongs to the inode, and so to all of its names."""

    PATCH = b"diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n"

    def setUp(self):
        super().setUp()
        self.outside = self.scratch / "outside"
        self.outside.write_text("echo tool\n")
        self.outside.chmod(0o644)
        os.link(self.outside, self.work / "tool")

    def mode_of(self, path):
        return stat.S_IMODE(os.lstat(path).st_mode)

    def test_a_new_mode_breaks_the_link_as_new_content_does(self):
        result = self.galley("apply", "-", stdin=self.PATCH, expect=0)
        self.assertEqual(self.mode_of(self.outside), 0o644)
        self.assertEqual(self.mode_of(self.work / "tool"), 0o755)
        self.assertEqual((self.work / "tool").read_text(), "echo tool\n")
        self.assertIn(b"hard link", result.stdout + result.stderr)
        self.galley("undo", expect=0)
        self.assertEqual(self.mode_of(self.work / "tool"), 0o644)
        self.assertEqual(self.mode_of(self.outside), 0o644)

    def test_a_new_mode_is_refused_where_links_may_not_be_broken(self):
        self.write("galley.toml", '[commit]\nhard_links = "refuse"\n')
        result = self.galley("apply", "-", stdin=self.PATCH, expect=(1, 3))
        self.assertIn(b"hard link", result.stderr)
        self.assertEqual(self.mode_of(self.outside), 0o644)
        self.assertEqual(self.mode_of(self.work / "tool"), 0o644)


class Output(hostile.HostileCase):
    def setUp(self):
        super().setUp()
        self.galley("begin", expect=0)

    def test_streamed_output_is_limited_and_the_rest_is_counted(self):
        result = self.galley("exec", "--output", "1000", "--", "seq", "100000", expect=0)
        whole = b"".join(b"%d\n" % number for number in range(1, 100001))
        self.assertEqual(result.stdout, whole[:500] + whole[-500:])
        self.assertIn(b"%d bytes of stdout left out" % (len(whole) - 1000), result.stderr)

    def test_standard_error_is_limited(self):
        result = self.galley("exec", "--output", "1000", "--", "sh", "-c", "seq 100000 >&2; echo fine", expect=0)
        self.assertEqual(result.stdout, b"fine\n")
        self.assertIn(b"bytes of stderr left out", result.stderr)
        self.assertIn(b"\n100000\n", result.stderr)
        self.assertLess(len(result.stderr), 2000)

    def test_output_within_the_limit_is_complete(self):
        result = self.galley("exec", "--output", "1000", "--", "sh", "-c", "seq 200; echo e >&2", expect=0)
        self.assertEqual(result.stdout, b"".join(b"%d\n" % number for number in range(1, 201)))
        self.assertNotIn(b"left out", result.stderr)

    def test_a_limit_that_equals_the_usual_one_is_a_limit(self):
        self.write("galley.toml", "[sandbox]\nmax_output_bytes = 8000000\n")
        own = self.home / ".config" / "galley" / "config.toml"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(f'trusted_folders = ["{self.scratch}"]\n')
        result = self.galley("exec", "--output", "1mb", "--", "head", "-c", "3000000", "/dev/zero", expect=0)
        self.assertLess(len(result.stdout), 2 * MEBIBYTE)
        self.assertIn(b"bytes of stdout left out", result.stderr)
        result = self.galley("exec", "--", "head", "-c", "3000000", "/dev/zero", expect=0)
        self.assertEqual(len(result.stdout), 3000000)


class Programs(hostile.HostileCase):
    """Lists of programs also apply to programs that a shell starts."""

    def configure(self, text):
        self.write("galley.toml", text)
        self.galley("begin", expect=0)

    def sh(self, script, **options):
        return self.galley("exec", "--", "sh", "-c", script, **options)

    def test_only_allowed_programs_are_started_by_a_shell(self):
        self.configure('[sandbox]\nallow = ["sh", "cat", "cp", "chmod"]\n')
        self.assertEqual(self.sh("echo good | cat", expect=0).stdout, b"good\n")
        for script in ("ls", "/usr/bin/ls", "cp /usr/bin/ls x; ./x", "cp /usr/bin/ls /tmp/x; /tmp/x",
                       "echo 'echo bad' > y; chmod 755 y; ./y", "python3 -c 'print(1)'"):
            with self.subTest(script=script):
                result = self.sh(script, expect=126)
                self.assertEqual(result.stdout, b"")
                self.assertIn(b"sandbox.allow", result.stderr)

    def test_an_interpreter_of_an_allowed_script_is_allowed_with_it(self):
        self.write("tool", "#!/usr/bin/env python3\nimport os\nprint('ran', flush=True)\nos.execvp('ls', ['ls'])\n",
                   0o755)
        self.configure('[sandbox]\nallow = ["sh", "./tool"]\n')
        result = self.galley("exec", "--", "./tool", expect=1)
        self.assertEqual(result.stdout, b"ran\n")
        self.assertIn(b"PermissionError", result.stderr)

    def test_a_folder_of_programs_can_be_allowed(self):
        self.configure('[sandbox]\nallow = ["sh", "cp", "mkdir", "build/"]\n')
        (self.work / "build").mkdir()
        self.assertEqual(self.sh("cp /usr/bin/echo build/x; build/x good", expect=0).stdout, b"good\n")
        self.sh("cp /usr/bin/echo x; ./x bad", expect=126)

    def test_denied_programs_are_not_started_by_a_shell(self):
        self.configure('[sandbox]\ndeny = ["whoami", "/usr/bin/id"]\n')
        self.assertEqual(self.sh("echo good | cat", expect=0).stdout, b"good\n")
        loader = next(path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
                      if os.path.exists(path))
        for script in ("whoami", "/usr/bin/whoami", "id", "cp /usr/bin/id x; ./x", "ln -s /usr/bin/id y; ./y",
                       f"{loader} /usr/bin/id", "python3 -c 'import os; os.execv(\"/usr/bin/id\", [\"id\"])'"):
            with self.subTest(script=script):
                result = self.sh(script)
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual(result.stdout, b"")

    def test_an_agents_capabilities_apply_to_child_processes(self):
        self.write("galley.toml", '[agents.bot]\ncapabilities = ["fs:read", "fs:write", "exec:dash", "exec:cat"]\n')
        self.galley("--agent", "bot", "begin", expect=0)
        bot = ("--agent", "bot", "exec", "--", "sh", "-c")
        self.assertEqual(self.galley(*bot, "echo good | cat", expect=0).stdout, b"good\n")
        self.galley(*bot, "ls", expect=126)

    def test_a_denied_subcommand_that_cannot_be_enforced_is_reported(self):
        self.configure('[sandbox]\ndeny = ["git push"]\n')
        result = self.sh("git --version", expect=0)
        self.assertIn(b"git push", result.stderr)
        document = json.loads(self.galley("exec", "--json", "--", "sh", "-c", "true", expect=0).stdout)
        self.assertIn("git push", document["unchecked"])
        self.galley("exec", "--", "git", "push", expect=1)


class Written(hostile.HostileCase):
    """The workspace is on a tmpfs here; /proc/<pid>/io does not count writes to it."""

    def setUp(self):
        super().setUp()
        self.galley("begin", expect=0)

    def exec(self, script, **options):
        return self.galley("exec", "--written", "20mb", "--", "sh", "-c", script, **options)

    def test_many_files_together_stop_at_the_total(self):
        result = self.exec("for i in $(seq 1000); do head -c 5000000 /dev/zero > f$i; done", expect=3)
        self.assertIn(b"bytes", result.stderr)
        self.assertIn(b"limit is 20", result.stderr)
        self.assertEqual(list(self.work.glob("f*")), [])

    def test_a_command_faster_than_the_sampling_is_measured_at_its_end(self):
        self.exec("head -c 30000000 /dev/zero > f", expect=3)

    def test_files_without_a_name_count(self):
        script = ("import os, time\n"
                  "f = [open(f'f{i}', 'wb') for i in range(8)]\n"
                  "for i in range(8): os.unlink(f'f{i}')\n"
                  "for one in f: one.write(bytes(5000000)); one.flush()\n"
                  "time.sleep(600)\n")
        self.galley("exec", "--written", "20mb", "--", "python3", "-c", script, expect=3)

    def test_folders_that_cannot_be_read_or_are_very_deep_count(self):
        script = ("import os\n"
                  "for i in range(1500):\n os.mkdir('d'); os.chdir('d')\n"
                  "for i in range(8): open(f'f{i}', 'wb').write(bytes(5000000))\n")
        self.galley("exec", "--written", "20mb", "--", "python3", "-c", script, expect=3)
        self.exec("mkdir d; head -c 30000000 /dev/zero > d/f; chmod 000 d", expect=3)

    def test_less_than_the_limit_is_staged(self):
        self.exec("head -c 15000000 /dev/zero > f; head -c 15000000 /dev/zero > /tmp/f", expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "f").stat().st_size, 15000000)


if __name__ == "__main__":
    hostile.main()
