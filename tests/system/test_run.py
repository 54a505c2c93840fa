"""galley run: a program on its own terminal. Its changes are staged, judged and committed
together."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path

import hostile
from support import GALLEY, SystemCase, need_own_mounts, snapshot
from terminal_session import TerminalSession, is_running, wait_until

PROMPT = r"ready\$ "


class RunCase(SystemCase):
    def setUp(self):
        super().setUp()
        self.need_walls()
        self.addCleanup(self.end_runs)
        self.before = snapshot(self.work)

    def end_runs(self):
        """Ends all runs, so that no supervisor outlives its test."""
        for note in self.notes():
            pid = note["supervisor"]["pid"]
            if self.is_supervisor(pid):
                os.kill(pid, signal.SIGKILL)

    def notes(self):
        found = []
        for path in self.own_state("runs").glob("*/run.json"):
            try:
                found.append(json.loads(path.read_text()))
            except FileNotFoundError:
                pass
        return found

    def kill_supervisor(self, shell, note):
        """Returns the exit status of its client. Afterwards the run does not count as live."""
        os.kill(note["supervisor"]["pid"], signal.SIGKILL)
        status = shell.finish()
        wait_until(lambda: self.is_free(self.own_state("runs") / note["tx"] / "lock"), "a dead process holds its lock")
        return status

    @staticmethod
    def is_free(lock):
        """The kernel frees a lock some time after the signal that kills its process."""
        with open(lock) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def is_supervisor(self, pid):
        """Returns whether the process lives and is ours: its current directory is in the scratch
        folder."""
        try:
            return os.readlink(f"/proc/{pid}/exe") == os.path.realpath(GALLEY) and not self.is_zombie(pid)
        except OSError:
            return False

    @staticmethod
    def is_zombie(pid):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"

    def only_note(self):
        return wait_until(self.notes, "no run began")[0]

    def on_terminal(self, *arguments, env=None, **options):
        environment = {**os.environ, **self.environment, "TERM": "xterm-256color", "PS1": "outside$ ", **(env or {})}
        session = TerminalSession([GALLEY, "-C", str(self.work), *map(str, arguments)], environment, **options)
        self.addCleanup(session.close)
        return session

    def shell(self, *options, **more):
        """Starts a shell in a run, with a known prompt."""
        session = self.on_terminal("run", *options, "--", "env", "PS1=ready$ ", "bash", "--norc", "--noediting",
                                   "-i", **more)
        session.expect(PROMPT)
        return session

    def status(self):
        return json.loads(self.galley("--json", "status", expect=0).stdout)

    def open_transactions(self):
        return self.status()["transactions"]

    def staged(self, tx):
        return self.galley("diff", "--tx", tx, "--name-status", expect=0).stdout.decode()

    def wait_for_end(self, tx):
        """Waits until the transaction has no run."""
        wait_until(lambda: not (self.own_state("runs") / tx / "run.json").exists(), "the run did not end")


class InAPipe(RunCase):
    """Agents and CI have no terminal."""

    def test_streams_and_status_are_the_programs_own(self):
        ran = self.galley("run", "--", "sh", "-c", "cat; echo out; echo err >&2; exit 3", stdin=b"typed\n", expect=3)
        self.assertEqual(ran.stdout, b"typed\nout\n")
        self.assertTrue(ran.stderr.startswith(b"err\n"), ran.stderr)
        self.assertEqual(self.open_transactions(), [])

    def test_a_signal_is_passed_on_as_a_shell_does(self):
        self.galley("run", "--", "sh", "-c", "kill -9 $$", expect=128 + 9)

    def test_output_is_whole_however_much_it_is(self):
        ran = self.galley("run", "--", "sh", "-c", "seq 1 400000", expect=0)
        self.assertEqual(ran.stdout, b"".join(b"%d\n" % n for n in range(1, 400001)))

    def test_input_is_whole_however_much_it_is(self):
        lines = b"".join(b"%d\n" % n for n in range(1, 400001))
        self.assertEqual(self.galley("run", "--", "sh", "-c", "sleep 0.2; cat", stdin=lines, expect=0).stdout, lines)

    def test_a_reader_that_has_enough_ends_the_program(self):
        ran = subprocess.run(["sh", "-c", f"'{GALLEY}' -C '{self.work}' run --drop -- sh -c 'yes' | head -1"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                             env={**os.environ, **self.environment}, check=True, timeout=120)
        self.assertEqual(ran.stdout, b"y\n")

    def test_changes_of_a_run_are_kept_and_the_next_command_is_named(self):
        ran = self.galley("run", "--", "sh", "-c", "echo new > new.txt", expect=0)
        self.assertEqual(snapshot(self.work), self.before)
        tx = self.open_transactions()[0]["tx"]
        self.assertIn(f"galley commit --tx {tx}".encode(), ran.stderr.replace(f" -C {self.work}".encode(), b""))
        self.assertEqual(self.staged(tx), "A\tnew.txt\n")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")

    def test_a_long_list_of_paths_is_counted_by_folder(self):
        ran = self.galley("run", "--", "sh", "-c", "mkdir -p deep/er 'a b'; for n in $(seq 120); do echo > deep/er/$n; done; "
                          "echo > top; echo > 'a b/x'", expect=0)
        said = ran.stderr.decode()
        for line in ("120\tdeep/", "1\ta b/", "1\tat the top", "paths changed"):
            self.assertIn(line, said.replace('"', ""))
        self.assertNotIn("deep/er/7", said)

    def test_as_many_paths_are_counted_as_are_listed(self):
        ran = self.galley("run", "--", "sh", "-c", "mkdir -p deep/er bare; echo > deep/er/a; echo > top", expect=0)
        said = ran.stderr.decode()
        self.assertIn("; 3 paths changed", said)
        for line in ("A\tbare/", "A\tdeep/er/a", "A\ttop"):
            self.assertIn(line, said)
        ran = self.galley("run", "--", "sh", "-c", "mkdir many; for n in $(seq 101); do echo > many/$n; done", expect=0)
        self.assertIn("; 101 paths changed", ran.stderr.decode())

    def test_commit_and_drop_decide_in_advance(self):
        self.galley("run", "--commit", "--", "sh", "-c", "echo new > new.txt", expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")
        self.galley("run", "--drop", "--", "sh", "-c", "echo newer > new.txt", expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")
        self.assertEqual(self.open_transactions(), [])

    def test_a_refusal_leaves_the_tree_and_the_transaction(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\nname = "no-new"\npaths = ["new.txt"]\ndecision = "deny"\n')
        before = snapshot(self.work)
        refused = self.galley("run", "--commit", "--", "sh", "-c", "echo new > new.txt", expect=1)
        self.assertEqual(snapshot(self.work), before)
        (kept,) = self.open_transactions()
        self.assertIn(f"kept in transaction {kept['tx']}: ".encode(), refused.stderr)

    def test_the_advice_after_a_conflict_fits_the_run(self):
        (self.work / "file").write_text("1\n2\n3\n")
        options = ("--allow-write", str(self.scratch / "out"))
        (self.scratch / "out").mkdir()
        change = f"sed -i s/2/two/ file; echo done > {self.scratch}/out/done; read line"
        with subprocess.Popen([GALLEY, "-C", str(self.work), "run", "--commit", *options, "--", "sh", "-c", change],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **self.environment}) as run:
            wait_until(lambda: (self.scratch / "out" / "done").exists())
            [one] = self.open_transactions()
            (self.work / "file").write_text("1\nzwei\n3\n")
            said = self.galley("commit", "--tx", one["tx"], expect=1).stderr.decode()
            self.assertRegex(said, f"end it first: galley .*stop {one['tx']}\n")
            self.assertNotIn("--conflict", said)
            said = run.communicate(b"\n")[1].decode()
        advice = f"commit --conflict=markers --tx {one['tx']}"
        self.assertRegex(said, f"to merge by hand, with both sides between markers: galley .*{advice}\n")
        said = self.galley(*advice.split(), expect=1).stderr.decode()
        self.assertRegex(said, f"galley .*edit --tx {one['tx']} file; then: galley .*commit --tx {one['tx']}\n")
        self.galley("edit", "--tx", one["tx"], "file", env={"EDITOR": "sed -i -e '/^[<=>|]/d'"}, expect=0)
        self.galley("commit", "--tx", one["tx"], expect=0)
        self.assertEqual((self.work / "file").read_text(), "1\nzwei\n2\ntwo\n3\n")

    def test_a_file_that_was_cut_off_at_the_limit_is_not_committed(self):
        (self.work / "galley.toml").write_text("[sandbox]\nmax_file_bytes = 1000000\n")
        said = self.galley("run", "--commit", "--", "sh", "-c", "head -c 1000001 /dev/zero > cut; true", expect=1).stderr
        self.assertIn(b"cut reached the limit of 1000000 bytes", said)
        self.assertFalse((self.work / "cut").exists())

    def test_a_new_file_in_a_folder_that_a_run_deleted_is_the_only_conflict(self):
        (self.work / "kept").mkdir()
        (self.work / "kept" / "old").write_text("old\n")
        (self.scratch / "out").mkdir()
        change = f"rm -rf kept; echo done > {self.scratch}/out/done; read line"
        with subprocess.Popen([GALLEY, "-C", str(self.work), "run", "--commit", "--allow-write", str(self.scratch / "out"),
                               "--", "sh", "-c", change], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, **self.environment}) as run:
            wait_until(lambda: (self.scratch / "out" / "done").exists())
            (self.work / "kept" / "new").write_text("new\n")
            said = run.communicate(b"\n")[1].decode()
        self.assertIn("kept/new", said)
        self.assertNotIn("kept/old' was changed", said)
        self.assertEqual((self.work / "kept" / "new").read_text(), "new\n")
        [one] = self.open_transactions()
        self.galley("rollback", "--tx", one["tx"], expect=0)

    def test_the_remedy_for_the_links_of_a_python_environment_works(self):
        plain = ["python3", "-m", "venv", "--without-pip", "v/env"]
        said = self.galley("run", "--commit", "--", *plain, expect=1).stderr.decode()
        remedy = "python3 -m venv --copies --clear v/env"
        self.assertIn("make the environment with a copy of Python: " + remedy + "\n", said)
        [one] = self.open_transactions()
        self.galley("run", "--resume", one["tx"], "--commit", "--", *remedy.split(), "--without-pip", expect=0)
        ran = subprocess.run([self.work / "v" / "env" / "bin" / "python", "-c", "import sys; print(sys.prefix)"],
                             capture_output=True, check=True)
        self.assertEqual(ran.stdout.decode().strip(), str(self.work / "v" / "env"))

    def test_a_run_that_changes_nothing_leaves_nothing(self):
        self.galley("run", "--", "true", expect=0)
        self.assertEqual(self.open_transactions(), [])
        self.assertEqual(list(self.own_state("runs").iterdir()), [])

    def test_a_missing_program_exits_with_127(self):
        self.galley("run", "--", "no-such-program", expect=127)
        self.galley("run", "--", "./no-such-program", expect=127)
        self.assertEqual(self.open_transactions(), [])

    def test_a_file_that_cannot_be_executed_exits_with_126(self):
        (self.work / "plain").write_text("x\n")
        (self.work / "folder").mkdir()
        self.galley("begin", expect=0)
        for program in ("/etc/passwd", "/etc", "./plain", "./folder"):
            for command in ("run", "exec"):
                with self.subTest(program=program, command=command):
                    ran = self.galley(command, "--", program, expect=126)
                    self.assertIn(b"cannot be executed", ran.stderr)

    def test_json_is_one_document(self):
        ran = self.galley("--json", "run", "--", "sh", "-c", "echo said; echo new > new.txt", expect=0)
        document = json.loads(ran.stdout)
        self.assertEqual((document["schema"], document["ended"], document["end"]), ("galley.run/1", "exit 0", "kept"))
        self.assertIn(b"said\n", ran.stderr)

    def test_when_its_client_is_killed_it_ends_and_is_kept(self):
        client = subprocess.Popen([GALLEY, "-C", str(self.work), "run", "--", "sh", "-c", "echo new > new.txt; sleep 1000"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={**os.environ, **self.environment})
        tx = self.only_note()["tx"]
        wait_until(lambda: (self.own_state("runs") / tx / "upper/new.txt").exists())
        client.kill()
        client.wait()
        self.wait_for_end(tx)
        self.assertEqual(self.staged(tx), "A\tnew.txt\n")

    def test_it_is_on_record_at_its_start_and_at_its_end(self):
        self.galley("run", "--name", "mine", "--", "sh", "-c", "echo new > new.txt; exit 4", expect=4)
        records = [json.loads(line) for line in (self.work / ".galley/audit.jsonl").read_text().splitlines()]
        begun, ended = [one for one in records if one["tool"] == "run"]
        self.assertEqual((begun["kind"], begun["input"]["name"]), ("begun", "mine"))
        self.assertEqual((ended["kind"], ended["output"]["ended"], ended["changed"]), ("run", "exit 4", ["new.txt"]))
        self.assertEqual(begun["execution_id"], ended["execution_id"] + "-begun")
        self.galley("audit", "verify", expect=0)

    def test_an_agent_without_the_tool_is_refused(self):
        (self.work / "galley.toml").write_text('[agents.reader]\ntools = ["Read"]\n')
        self.galley("--agent", "reader", "run", "--", "true", expect=1)
        self.assertEqual(self.open_transactions(), [])

    def test_the_network_needs_the_configuration(self):
        self.galley("run", "--network", "--", "true", expect=1)


class OnATerminal(RunCase):
    def test_it_has_a_terminal_with_colours_and_size(self):
        shell = self.shell(rows=31, columns=97)
        shell.type("stty size; tty; echo $TERM; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all of them\n")
        shell.expect(r"31 97\r\n/dev/pts/0\r\nxterm-256color\r\nall of them\r\n")
        shell.type("printf '\\033[31mred\\033[0m\\n'\n")
        shell.expect(r"\x1b\[31mred\x1b\[0m\r\n")
        shell.type("exit 7\n")
        self.assertEqual(shell.finish(), 7)

    def test_a_window_that_is_resized_is_seen_inside(self):
        shell = self.shell(rows=24, columns=80)
        shell.type("sh -c 'trap \"stty size\" WINCH; echo is set; while :; do sleep 0.05; done'\n")
        shell.expect(r"\nis set\r\n")
        shell.resize(40, 120)
        shell.expect(r"40 120\r\n")
        shell.type("\x03")
        shell.expect(PROMPT)
        shell.type("exit\n")
        shell.finish()

    def test_control_c_ends_the_child_only(self):
        shell = self.shell()
        shell.type("sleep 1000; echo slept: $?\n")
        shell.expect(r"\$\?\r\n")
        wait_until(lambda: self.is_in_foreground("sleep"))
        shell.type("\x03")
        shell.expect(PROMPT)
        shell.type("echo still here\n")
        shell.expect(r"\nstill here\r\n")
        shell.type("exit 0\n")
        self.assertEqual(shell.finish(), 0)

    def is_in_foreground(self, name):
        """Returns whether a program of this name is in the foreground of a run's terminal."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                is_meant = (folder / "comm").read_text().strip() == name
                if is_meant and os.readlink(folder / "cwd") == str(self.work) and fields[2] == fields[5]:
                    return True
            except OSError:
                continue
        return False

    def test_job_control(self):
        shell = self.shell()
        shell.type("sleep 1000 &\n")
        shell.expect(r"\[1\] \d+")
        shell.expect(PROMPT)
        shell.type("fg\n")
        wait_until(lambda: self.is_in_foreground("sleep"))
        shell.type("\x1a")
        shell.expect(r"\[1\]\+\s+Stopped\s+sleep 1000")
        shell.expect(PROMPT)
        shell.type("bg; jobs; kill %1; wait; exit 0\n")
        shell.expect(r"Running\s+sleep 1000")
        self.assertEqual(shell.finish(), 0)

    def test_the_terminal_is_as_it_was_afterwards(self):
        session = TerminalSession(["bash", "-c", f"stty -a > before; '{GALLEY}' run --drop -- bash -c 'stty raw -echo';"
                                   " stty -a > after"], {**os.environ, **self.environment}, cwd=self.work)
        self.addCleanup(session.close)
        self.assertEqual(session.finish(), 0)
        self.assertEqual((self.work / "before").read_text(), (self.work / "after").read_text())

    def test_at_the_end_the_person_decides_about_the_changes(self):
        for answer, is_there, is_open in (("d", False, False), ("", False, True), ("c", True, True)):
            with self.subTest(answer=answer):
                shell = self.shell()
                shell.type(f"echo '{answer}' > asked.txt; exit 0\n")
                shell.expect(r"1 path changed.*A\s+asked.txt.*Commit, keep or drop")
                shell.type(answer + "\n")
                self.assertEqual(shell.finish(), 0)
                self.assertEqual((self.work / "asked.txt").exists(), is_there)
                self.assertEqual(bool(self.open_transactions()), is_open)

    def test_the_answers_are_explained_before_the_answer(self):
        shell = self.shell()
        shell.type("echo asked > asked.txt; exit 0\n")
        shell.expect(r"Commit, keep or drop")
        shell.type("?\n")
        shell.expect(r"c  commit.*k  keep.*d  drop.*v  view.*Commit, keep or drop")
        shell.type("c\n")
        self.assertEqual(shell.finish(), 0)
        self.assertTrue((self.work / "asked.txt").exists())

    def test_an_answer_that_is_none_is_asked_again(self):
        shell = self.shell()
        shell.type("echo asked > asked.txt; exit 0\n")
        shell.expect(r"Commit, keep or drop")
        for answer in ("y", "commti", "keeep"):
            shell.type(answer + "\n")
            shell.expect(r"c  commit.*Commit, keep or drop")
        shell.type("commit\n")
        self.assertEqual(shell.finish(), 0)
        self.assertTrue((self.work / "asked.txt").exists())
        self.assertEqual(self.open_transactions(), [])

    def test_the_diff_is_shown_before_the_answer(self):
        shell = self.shell()
        shell.type("echo what was written > asked.txt; exit 0\n")
        shell.expect(r"Commit, keep or drop")
        shell.type("v\n")
        shell.expect(r"\+.*what was written.*Commit, keep or drop")
        shell.type("d\n")
        self.assertEqual(shell.finish(), 0)


class WithoutItsTerminal(RunCase):
    def attach(self, *arguments):
        return self.on_terminal("attach", *arguments)

    def test_it_goes_on_and_can_be_attached_again(self):
        shell = self.shell("--name", "mine")
        shell.type("echo kept > kept.txt; echo a line of the first window\n")
        shell.expect(r"\na line of the first window\r\n")
        shell.vanish()
        note = wait_until(lambda: next((one for one in self.notes() if not one["attached"]), None))
        self.assertTrue(self.is_supervisor(note["supervisor"]["pid"]))
        listed = self.open_transactions()[0]["run"]
        self.assertEqual((listed["name"], listed["live"], listed["attached"]), ("mine", True, False))
        by_name = json.loads(self.galley("--json", "status", "--tx", "mine", expect=0).stdout)["transactions"]
        self.assertEqual([one["run"]["name"] for one in by_name], ["mine"])
        again = self.attach("mine")
        again.expect(r"a line of the first window")
        again.type("cat kept.txt; exit 5\n")
        again.expect(r"\nkept\r\n")
        again.expect(r"Commit, keep or drop")
        again.type("c\n")
        self.assertEqual(again.finish(), 5)
        self.assertEqual((self.work / "kept.txt").read_text(), "kept\n")

    def test_a_run_that_ended_without_its_terminal_is_listed_as_that(self):
        go = self.scratch / "go"
        go.mkdir()
        script = f"echo new > new.txt; echo up; while ! test -e {go}/on; do sleep 0.05; done"
        shell = self.on_terminal("run", "--commit", "--allow-write", go, "--", "sh", "-c", script)
        shell.expect("up")
        shell.vanish()
        wait_until(lambda: any(not one["attached"] for one in self.notes()))
        (go / "on").touch()
        wait_until(lambda: not self.notes(), "the run did not end")
        self.assertFalse((self.work / "new.txt").exists())
        [one] = self.open_transactions()
        self.assertEqual((one["run"]["live"], one["run"]["ended"], one["run"]["attached"]), (False, "exit 0", False))
        self.assertIn(b"ended: exit 0, while it was detached\n", self.galley("status", expect=0).stdout)
        self.galley("commit", "--tx", one["tx"], expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")

    def test_attaching_detaches_the_previous_client(self):
        shell = self.shell("--name", "mine")
        other = self.attach()
        other.expect(PROMPT)
        self.assertEqual(shell.finish(), 0)
        self.assertIn(b"the run goes on", shell.screen)
        other.type("exit 3\n")
        self.assertEqual(other.finish(), 3)

    def test_attaching_tells_the_size_of_the_new_window(self):
        shell = self.shell("--name", "mine")
        shell.vanish()
        other = self.on_terminal("attach", "mine", rows=50, columns=132)
        other.type("stty size\n")
        other.expect(r"50 132\r\n")
        other.type("exit\n")
        other.finish()

    def test_without_a_client_it_never_waits_for_a_reader(self):
        shell = self.shell("--name", "mine")
        shell.type("sleep 1; seq 1 300000; echo done > done.txt; sleep 1000\n")
        shell.expect(r"sleep 1000\r\n")
        shell.vanish()
        tx = self.only_note()["tx"]
        wait_until(lambda: (self.own_state("runs") / tx / "upper/done.txt").exists())
        self.galley("stop", "mine", expect=0)
        self.assertEqual(self.staged(tx), "A\tdone.txt\n")

    def test_stop_ends_it_and_keeps_what_it_wrote(self):
        shell = self.shell("--name", "mine")
        shell.type("echo kept > kept.txt; echo wrote it\n")
        shell.expect(r"\nwrote it\r\n")
        shell.vanish()
        tx = self.only_note()["tx"]
        self.galley("stop", tx[:6], expect=0)
        self.assertEqual(self.notes(), [])
        self.assertEqual(self.staged(tx), "A\tkept.txt\n")

    def test_stopping_a_run_that_changed_nothing_leaves_nothing(self):
        shell = self.shell("--name", "mine")
        shell.vanish()
        wait_until(lambda: not self.only_note()["attached"])
        self.assertIn(b"it changed nothing", self.galley("stop", "mine", expect=0).stderr)
        self.assertEqual((self.notes(), self.open_transactions()), ([], []))

    def test_without_an_id_the_only_run_is_meant(self):
        shell = self.shell()
        shell.type("kept=here; echo kept > kept.txt; echo wrote it\n")
        shell.expect(r"\nwrote it\r\n")
        shell.vanish()
        tx = self.only_note()["tx"]
        again = self.attach()
        again.expect("wrote it")
        again.type("echo is $kept\n")
        again.expect(r"\nis here\r\n")
        again.vanish()
        other = self.shell("--name", "other")
        other.vanish()
        attached = self.attach()
        self.assertEqual(attached.finish(), 2)
        for said in (attached.screen, self.galley("stop", expect=2).stderr):
            self.assertIn(b"2 programs run here", said)
            for note in self.notes():
                self.assertIn(note["tx"].encode(), said)
        self.galley("stop", "other", expect=0)
        self.galley("stop", expect=0)
        self.assertEqual(self.notes(), [])
        self.assertEqual(self.staged(tx), "A\tkept.txt\n")

    def test_a_run_that_ignores_the_stop_is_killed(self):
        shell = self.on_terminal("run", "--name", "mine", "--", "bash", "-c",
                                 "trap '' TERM HUP; echo deaf; while :; do sleep 1; done")
        shell.expect("deaf")
        shell.vanish()
        self.galley("stop", "mine", expect=0)
        self.assertEqual(self.notes(), [])

    def test_the_error_names_an_unknown_run(self):
        self.galley("stop", "nobody", expect=1)
        self.galley("begin", expect=0)
        self.assertIn(b"status` lists them", self.galley("stop", "nobody", expect=1).stderr)


class Faults(RunCase):
    def start(self, script, options=()):
        shell = self.on_terminal("run", "--name", "mine", *options, "--", "bash", "-c", script)
        return shell, self.only_note()

    def test_daemons_die_with_the_program(self):
        # The supervisor's own arguments have the script, and it ends a little later.
        script = f'n=4711; setsid sleep $n.{os.getpid()} >/dev/null 2>&1 & until grep -qsaz "^$n.{os.getpid()}" /proc/*/cmdline; do :; done'
        self.galley("run", "--drop", "--", "sh", "-c", script, expect=0)
        self.assertFalse(is_running(f"sleep 4711.{os.getpid()}"))

    def test_a_killed_program_does_not_kill_the_run(self):
        shell = self.shell()
        shell.type("echo kept > kept.txt; kill -9 $$\n")
        shell.expect(r"signal 9; 1 path changed.*Commit, keep or drop")
        shell.type("k\n")
        self.assertEqual(shell.finish(), 128 + 9)

    def test_a_closed_input_has_nothing_in_it(self):
        for script in ("cat", "echo out; sleep .2"):
            said = subprocess.run(["sh", "-c", '"$0" run --drop -- sh -c "$1" <&-', GALLEY, script], cwd=self.work, check=True, timeout=60,
                                  capture_output=True, env={**os.environ, **self.environment})
            self.assertIn(b"exit 0", said.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root runs a sandbox on a file system that it mounted")
    def test_a_run_that_filled_the_disk_can_be_dropped(self):
        need_own_mounts()
        mount = self.scratch / "small"
        mount.mkdir()
        script = (f"mount -t tmpfs -o size=3m small {mount} && cd {mount} && {GALLEY} run --commit -- sh -c 'head -c 4000000 /dev/zero > big'; "
                  f"tx=$(ls .galley/stage/*); {GALLEY} rollback --tx $tx; echo $?; du -sk . | cut -f1")
        said = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, check=False, timeout=120,
                              env={**os.environ, **self.environment})
        status, size = said.stdout.split()[-2:]
        self.assertEqual(status, b"0", said.stderr)
        self.assertLess(int(size), 1000)

    def test_a_layer_is_used_again_with_its_modes(self):
        self.galley("run", "--keep", "--", "sh", "-c", "echo n > new; chmod 200 new; mkfifo f", expect=1)
        tx = self.open_transactions()[0]["tx"]
        self.galley("run", "--resume", tx, "--keep", "--", "rm", "f", expect=0)
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual((self.work / "new").stat().st_mode & 0o777, 0o200)

    def test_a_conflict_says_that_perhaps_only_attributes_changed(self):
        (self.work / "f").write_text("one\n")
        time.sleep(1)  # the file is older than the run
        shell, note = self.start("echo two >> f; echo shown; read word")
        shell.expect("shown")
        (self.work / "f").touch()
        shell.type("go\n")
        shell.expect("Commit, keep or drop")
        shell.type("k\n")
        shell.finish()
        said = self.galley("commit", "--tx", note["tx"], expect=(0, 1)).stderr
        self.assertIn(b"conflict: 'f' was changed while a run worked: its contents, or only its mode, times or links", said)

    def commits_over_a_save(self, looks, save, change, expect):
        """A program looks at `f`, the person saves it, the program changes another line of it. It hears of the save
        by a file outside of the workspace."""
        (self.work / "f").write_text("".join(f"{number}\n" for number in range(20)))
        time.sleep(1)  # the file is older than the run
        sign = self.scratch / "sign"
        sign.mkdir(exist_ok=True)
        shell, note = self.start(f"{looks}; echo looked; while ! test -e {sign}/go; do sleep 0.05; done; {change}; echo changed",
                                 options=("--allow-write", str(sign)))
        shell.expect("looked")
        save()
        (sign / "go").touch()
        shell.expect("changed")
        (sign / "go").unlink()
        shell.expect("Commit, keep or drop")
        shell.type("k\n")
        shell.finish()
        return self.galley("commit", "--tx", note["tx"], expect=expect).stderr

    def save_by_rename(self):
        (self.work / "f.new").write_text((self.work / "f").read_text().replace("10\n", "mine\n"))
        (self.work / "f.new").rename(self.work / "f")

    def test_a_save_by_rename_is_not_lost(self):
        """overlayfs goes on showing a file that was replaced below it after the program has looked at it."""
        for looks in ("cat f > /dev/null", "ls -l", "test -e f"):
            for change in ("sed -i 's/^2$/two/' f", "echo more >> f", "cat f > g; mv g f"):
                with self.subTest(looks=looks, change=change):
                    said = self.commits_over_a_save(looks, self.save_by_rename, change, expect=1)
                    self.assertIn(b"conflict: 'f' was changed while a run worked", said)
                    self.assertIn("mine\n", (self.work / "f").read_text())
                    self.galley("rollback", "--tx", self.open_transactions()[0]["tx"], expect=0)

    def test_an_older_file_that_is_moved_there_is_not_lost(self):
        (self.work / "f.bak").write_text("kept\n")
        said = self.commits_over_a_save("cat f > /dev/null", lambda: (self.work / "f.bak").rename(self.work / "f"),
                                        "echo more >> f", expect=1)
        self.assertIn(b"conflict: 'f'", said)
        self.assertEqual((self.work / "f").read_text(), "kept\n")

    def test_a_new_file_of_a_person_is_not_lost(self):
        said = self.commits_over_a_save("cat new", lambda: (self.work / "new").write_text("mine\n"), "echo its > new",
                                        expect=1)
        self.assertIn(b"conflict: 'new'", said)
        self.assertEqual((self.work / "new").read_text(), "mine\n")

    def test_a_save_in_place_is_seen(self):
        def save():
            (self.work / "f").write_text((self.work / "f").read_text().replace("10\n", "mine\n"))
        self.commits_over_a_save("cat f > /dev/null", save, "sleep 0.1; sed -i 's/^2$/two/' f", expect=0)
        self.assertIn("two\n", (self.work / "f").read_text())
        self.assertIn("mine\n", (self.work / "f").read_text())

    def test_what_is_typed_finds_the_files_of_now(self):
        """A person saves files, makes one and removes one, and then types: the program sees all that."""
        for name in ("f", "gone"):
            (self.work / name).write_text("".join(f"{number}\n" for number in range(20)))
        time.sleep(1)  # the files are older than the run
        shell, note = self.start("ls -l; cat f new gone > /dev/null; echo looked; read word; "
                                 "grep mine f new; ls gone; sed -i 's/^2$/two/' f; echo its >> new")
        shell.expect("looked")
        self.save_by_rename()
        (self.work / "new").write_text("mine\n")
        (self.work / "gone").unlink()
        shell.type("go\n")
        shell.expect("f:mine\r\nnew:mine\r\n.*cannot access 'gone'")
        shell.expect("Commit, keep or drop")
        shell.type("k\n")
        shell.finish()
        self.galley("commit", "--tx", note["tx"], expect=0)
        self.assertIn("two\n", (self.work / "f").read_text())
        self.assertIn("mine\n", (self.work / "f").read_text())
        self.assertEqual((self.work / "new").read_text(), "mine\nits\n")

    def test_a_folder_that_a_person_moved_into_a_deleted_one_is_a_conflict(self):
        for name in ("d", "moved"):
            (self.work / name).mkdir()
            (self.work / name / "f").write_text(f"{name}\n")
        time.sleep(1)  # the files are older than the run
        shell, note = self.start("rm -r d; echo gone; read word")
        shell.expect("gone")
        (self.work / "moved").rename(self.work / "d" / "moved")
        shell.type("go\n")
        shell.expect("Commit, keep or drop")
        shell.type("k\n")
        shell.finish()
        said = self.galley("commit", "--tx", note["tx"], expect=1).stderr
        self.assertIn(b"conflict: 'd/moved/f'", said)
        self.assertEqual((self.work / "d" / "moved" / "f").read_text(), "moved\n")

    def test_a_layer_that_is_full_ends_it_and_keeps_the_rest(self):
        (self.work / "galley.toml").write_text('[sandbox]\nmax_written_bytes = 8388608\n')
        ran = self.galley("run", "--", "sh", "-c", "echo kept > kept.txt; sync; while :; do head -c 1m /dev/zero >> big; done",
                          expect=(3, 128 + 9))
        self.assertIn(b"the limit is 8388608 bytes", ran.stderr)
        self.assertIn("kept.txt", self.staged(self.open_transactions()[0]["tx"]))

    def test_a_run_can_be_resumed_after_its_supervisor_was_killed(self):
        shell, note = self.start("echo kept > kept.txt; echo wrote it; sleep 1000")
        shell.expect("wrote it")
        self.assertEqual(self.kill_supervisor(shell, note), 3)
        self.assertIn(b"what it wrote is kept", shell.screen)
        self.assertEqual(snapshot(self.work), self.before)
        self.assertFalse(any(one.get("run", {}).get("live") for one in self.open_transactions()))
        self.galley("run", "--resume", note["tx"], "--commit", "--", "sh", "-c", "cat kept.txt; echo more >> kept.txt", expect=0)
        self.assertEqual((self.work / "kept.txt").read_text(), "kept\nmore\n")

    def test_changes_of_a_killed_supervisor_can_be_committed(self):
        shell, note = self.start("echo kept > kept.txt; echo wrote it; sleep 1000")
        shell.expect("wrote it")
        self.kill_supervisor(shell, note)
        self.galley("commit", "--tx", note["tx"], expect=0)
        self.assertEqual((self.work / "kept.txt").read_text(), "kept\n")
        self.assertEqual(self.notes(), [])

    def test_killed_at_any_moment_the_workspace_is_whole(self):
        """Kills supervisor and client together, as a crash of the machine would, after this many
        hundredths of a second."""
        for hundredths in range(0, 40, 3):
            client = subprocess.Popen(
                [GALLEY, "-C", str(self.work), "run", "--", "sh", "-c", "for i in 1 2 3 4 5; do echo $i > f$i; done"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, **self.environment}, start_new_session=True)
            time.sleep(hundredths / 100)
            os.kill(client.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, client.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # it makes no child any more
            supervisors = Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text().split()
            for pid in [*map(int, supervisors), client.pid]:
                os.kill(pid, signal.SIGKILL)
            client.wait()
            for lock in self.own_state("runs").glob("*/lock"):
                wait_until(lambda lock=lock: self.is_free(lock), "a dead process holds its lock")
            self.assertEqual(snapshot(self.work), self.before)
            for one in self.open_transactions():
                self.galley("rollback", "--tx", one["tx"], expect=0)
        self.assertEqual(self.notes(), [])

    def test_a_run_that_cannot_be_staged_is_kept_until_it_is_fixed(self):
        ran = self.galley("run", "--", "sh", "-c", "echo kept > kept.txt; mkfifo pipe", expect=1)
        self.assertIn(b"pipe is a FIFO", ran.stderr)
        tx = self.open_transactions()[0]["tx"]
        self.galley("commit", "--tx", tx, expect=1)
        self.galley("run", "--resume", tx, "--commit", "--", "rm", "pipe", expect=0)
        self.assertEqual((self.work / "kept.txt").read_text(), "kept\n")

    def test_a_run_that_cannot_be_staged_can_be_dropped(self):
        self.galley("run", "--", "sh", "-c", "mkfifo pipe", expect=1)
        tx = self.open_transactions()[0]["tx"]
        self.galley("rollback", "--tx", tx, expect=0)
        self.assertEqual((self.notes(), self.open_transactions()), ([], []))

    # Limit: kMaxRunUnsentBytes of staging/sandbox/terminal/run_socket.h
    def test_a_client_that_does_not_read_makes_the_run_wait(self):
        client = subprocess.Popen([GALLEY, "-C", str(self.work), "run", "--drop", "--", "seq", "1", "300000"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={**os.environ, **self.environment})
        self.only_note()
        self.assertTrue(client.stdout.read().endswith(b"300000\n"))
        client.stdout.close()
        self.assertEqual(client.wait(), 0)

    def with_endless_input(self, script):
        """Starts a run with more input than may wait for a program that does not read."""
        with open("/dev/zero", "rb") as zeros:
            client = subprocess.Popen([GALLEY, "-C", str(self.work), "run", "--name", "mine", "--", "sh", "-c", script],
                                      stdin=zeros, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      env={**os.environ, **self.environment})
        self.addCleanup(client.kill)
        read = Path(f"/proc/{client.pid}/io")
        wait_until(lambda: int(read.read_text().split()[1]) > 256 << 10, "nobody reads the input")
        return client

    # Limit: kMaxRunUnsentBytes of staging/sandbox/terminal/run_socket.h
    def test_a_program_that_does_not_read_its_input_can_be_stopped(self):
        client = self.with_endless_input("exec sleep 1000")
        self.galley("stop", "mine", expect=0)
        client.wait(60)

    def test_a_program_that_does_not_read_its_input_stops_with_its_client(self):
        client = self.with_endless_input("exec sleep 1000")
        client.send_signal(signal.SIGINT)
        client.wait(60)
        self.assertEqual(self.notes(), [])


class Walls(RunCase):
    def inside(self, script, *options, expect=0):
        return self.galley("run", "--drop", *options, "--", "sh", "-c", script, expect=expect).stdout.decode()

    def test_only_loopback_is_there_without_the_network(self):
        self.assertEqual(self.inside("grep -c : /proc/net/dev"), "1\n")

    def test_home_and_temporary_files_are_its_own(self):
        home = "/home/somebody of this test"
        script = ('echo "$HOME"; ls -A "$HOME"; mkdir -p "$HOME/.npm/a" && touch "$HOME/.npm/a/x" && ls "$HOME/.npm/a"; '
                  'touch "$TMPDIR/y" && ls "$TMPDIR/y"')
        for _ in range(2):  # the second run finds no files of the first
            said = self.galley("run", "--drop", "--", "sh", "-c", script, env={"HOME": home}, expect=0).stdout.decode()
            self.assertEqual(said, f"{home}\nx\n/tmp/y\n")
        self.assertFalse(Path(home).exists())

    def test_home_is_writable_wherever_it_is(self):
        for home in ("/nonexistent", "/usr/games", "/etc", "/dev/null", "/tmp", "/tmp/..", "/..", "/var", "/var/tmp/a", "/proc/1",
                     "relative", "", "/", "/home//a/./b", str(self.work), str(self.work / "src"), str(self.work.parent)):
            with self.subTest(home=home):
                ran = self.galley("run", "--drop", "--", "sh", "-c", 'echo a > "$HOME/written" && cat "$HOME/written" && ls /usr/bin/env',
                                  env={"HOME": home}, expect=0)
                self.assertEqual(ran.stdout, b"a\n/usr/bin/env\n")

    def test_only_named_parts_of_the_hosts_home_are_visible(self):
        home = self.scratch / "home"
        for name in (".ssh/id", ".tool/cache/a", ".own/state"):
            (home / name).parent.mkdir(parents=True)
            (home / name).write_text("of the host\n")
        before = snapshot(home)
        said = self.galley("run", "--drop", "--allow-write", home / ".own", "--layer", home / ".tool/cache", "--", "sh", "-c",
                           'cd; find . -type f | sort; mkdir .ssh; echo in > .ssh/id; echo b > .tool/b; echo new > .tool/cache/a; '
                           'echo in >> .own/state; mv .tool .moved; cat .moved/cache/a', env={"HOME": str(home)}, expect=0).stdout.decode()
        self.assertEqual(said, "./.own/state\n./.tool/cache/a\nnew\n")
        self.assertEqual((home / ".own/state").read_text(), "of the host\nin\n")
        (home / ".own/state").write_text("of the host\n")
        self.assertEqual(snapshot(home), before)

    def test_npm_installs_in_a_run_and_in_a_command(self):
        if not shutil.which("npm", path="/usr/bin:/usr/local/bin"):
            self.skipTest("npm is not here")
        (self.work / "dep").mkdir()
        (self.work / "dep/package.json").write_text('{"name": "dep", "version": "1.0.0"}\n')
        (self.work / "package.json").write_text('{"name": "app", "version": "1.0.0"}\n')
        install = ("npm", "install", "--offline", "--no-audit", "--no-fund", "./dep")
        with self.subTest(door="run"):
            self.galley("run", "--", *install, env={"HOME": "/home/somebody"}, expect=0)
            tx = self.open_transactions()[0]["tx"]
            self.assertIn("A\tpackage-lock.json\n", self.staged(tx))
            self.galley("rollback", "--tx", tx, expect=0)
        with self.subTest(door="exec"):
            self.galley("begin", expect=0)
            self.galley("exec", "--", *install, expect=0)
            self.assertIn("A\tpackage-lock.json\n", self.staged(self.open_transactions()[0]["tx"]))

    def test_a_named_folder_is_written_through(self):
        state = self.scratch / "state of it"
        state.mkdir()
        self.inside(f"echo kept > '{state}/kept'", "--allow-write", state)
        self.assertEqual((state / "kept").read_text(), "kept\n")
        self.assertEqual((state / "kept").stat().st_uid, os.geteuid())

    def test_so_is_the_hosts_folder_for_lasting_temporary_files(self):
        """Of a mount namespace that has the test's own folder in its place."""
        if not hostile.IS_ROOT:
            self.skipTest("only root mounts a folder over /var/tmp")
        kept = self.scratch / "var tmp"
        kept.mkdir()
        script = "echo kept > /var/tmp/own; echo private > /tmp/own; cat /var/tmp/own /tmp/own; touch /tmp/home/x"
        ran = subprocess.run(["unshare", "-m", "sh", "-c", f"mount --bind '{kept}' /var/tmp && exec \"$@\"", "sh", GALLEY, "-C",
                              str(self.work), "run", "--drop", "--allow-write", "/var/tmp", "--", "sh", "-c", script],
                             capture_output=True, env={**os.environ, **self.environment}, check=False, timeout=120)
        self.assertEqual((ran.returncode, ran.stdout), (0, b"kept\nprivate\n"), ran.stderr)
        self.assertEqual([one.name for one in kept.iterdir()], ["own"])

    def test_files_that_are_written_through_cannot_be_setuid(self):
        """By every call that sets a mode, tried directly: a library might ask another one."""
        state = self.scratch / "state"
        state.mkdir()
        state.chmod(0o755)
        script = """if 1:
            import ctypes, os, platform, struct
            libc = ctypes.CDLL(None, use_errno=True)
            is_x86 = platform.machine() == "x86_64"
            AT, WRITE, UNNAMED = -100, os.O_CREAT | os.O_WRONLY, os.O_TMPFILE | os.O_WRONLY
            def call(number, *arguments):
                return libc.syscall(number, *(a.encode() if isinstance(a, str) else a for a in arguments))
            os.close(os.open("old", WRITE, 0o755))
            old = os.open("old", os.O_RDONLY)
            for bits in (0o4755, 0o2755, 0o6755):
                name = "new%o" % bits
                call(91 if is_x86 else 52, old, bits)
                call(268 if is_x86 else 53, AT, "old", bits)
                call(452, AT, "old", bits, 0)
                call(257 if is_x86 else 56, AT, name + "a", WRITE, bits)
                call(259 if is_x86 else 33, AT, name + "b", 0o100000 | bits, 0)
                how = struct.pack("QQQ", WRITE, bits, 0)
                call(437, AT, name + "c", how, len(how))
                unnamed = call(257 if is_x86 else 56, AT, ".", UNNAMED, bits)
                if unnamed >= 0: os.link("/proc/self/fd/%d" % unnamed, name + "d", follow_symlinks=True)
                if is_x86:
                    call(90, "old", bits)
                    call(2, name + "e", WRITE, bits)
                    call(85, name + "f", bits)
                    call(133, name + "g", 0o100000 | bits, 0)
            os.mkdir("folder", 0o2755)
            os.close(os.open("plain", WRITE, 0o640))
            """
        self.galley("run", "--drop", "--allow-write", state, "--", "sh", "-c",
                    f"cd '{state}' && python3 -c '{script}' && install -m 755 old one && cp -p old two && tar cf - old | tar xpf - -C folder",
                    expect=0)
        modes = {path.name: oct(path.stat().st_mode & 0o7777) for path in state.iterdir()}
        self.assertEqual(modes, {"old": "0o755", "one": "0o755", "two": "0o755", "plain": "0o640", "folder": "0o755"})

    def test_forbidden_folders_cannot_be_allowed_for_writing(self):
        (self.scratch / "link").symlink_to(self.work)
        for path in ("/", "/etc", "/usr", self.work, self.work / ".galley", self.work / "src", self.scratch,
                     self.scratch / "link", self.scratch / "nowhere"):
            with self.subTest(path=path):
                self.galley("run", "--allow-write", path, "--", "true", expect=2)

    def test_folders_of_secrets_cannot_be_allowed_for_writing(self):
        home = self.scratch / "home"
        for name in (".ssh/keys", ".config/gh", ".own"):
            (home / name).mkdir(parents=True)
        (home / ".own/link").symlink_to("../.ssh")
        (self.scratch / "other-home").symlink_to(home)
        own = {"HOME": str(self.scratch / "other-home")}
        for option in ("--allow-write", "--layer"):
            for name in (".ssh", ".ssh/keys", ".config", ".own/link", ".own/link/keys"):
                with self.subTest(option=option, name=name):
                    said = self.galley("run", option, home / name, "--", "true", expect=2, env=own)
                    self.assertIn(b"is a place of secrets", said.stderr)
        self.galley("run", "--allow-write", home / ".own", "--", "true", expect=0, env=own)
        self.galley("run", "--layer", "/var/lib/galley-none", "--", "true", expect=2)
        (self.scratch / "services").symlink_to("/var/lib")
        for place in ("/var/lib", self.scratch / "services"):
            with self.subTest(place=place):
                said = self.galley("run", "--allow-write", place, "--", "true", expect=2)
                self.assertIn(b"services of this machine keep their state", said.stderr)

    def test_programs_that_the_host_runs_later_cannot_be_written(self):
        home = self.scratch / "home"
        tools = self.scratch / "tools"
        for folder in (home / ".tool/bin", home / ".deep/a/bin", home / ".linked", tools / "sbin"):
            folder.mkdir(parents=True)
        (home / ".linked/bin").symlink_to("../.tool/bin")
        (home / ".tool/bin/program").write_text("of the host\n")
        search = {"HOME": str(home), "PATH": f"{tools}/sbin:{home}/.deep/a/bin:{home}/.missing/bin:{os.environ['PATH']}"}
        script = 'echo of the run > "$0/cache"; for f in "$0"/*bin; do ! echo bad > "$f/program" || exit 1; ! mv "$f" "$f.old" || exit 1; done'
        for place in (home / ".tool", tools):
            with self.subTest(place=place):
                self.galley("run", "--drop", "--allow-write", place, "--", "sh", "-c", script, place, env=search, expect=0)
                self.assertEqual((place / "cache").read_text(), "of the run\n")
        self.assertEqual((home / ".tool/bin/program").read_text(), "of the host\n")
        self.assertFalse((tools / "sbin/program").exists())
        (home / ".missing").mkdir()
        for place in (home / ".deep", home / ".deep/a/..", home / ".linked", home / ".missing", tools / "sbin"):
            with self.subTest(place=place):
                said = self.galley("run", "--allow-write", place, "--", "true", env=search, expect=2)
                self.assertIn(b"this machine runs", said.stderr)
        dots = self.scratch / "dots"
        (dots / "bin").mkdir(parents=True)
        (home / "mine").symlink_to(dots / "bin")
        linked = {**search, "PATH": f"{home}/mine:{os.environ['PATH']}"}
        self.galley("run", "--drop", "--allow-write", dots, "--", "sh", "-c", script, dots, env=linked, expect=0)
        self.assertFalse((dots / "bin/program").exists())
        # Who may write where the second of two links is can let it lead elsewhere.
        chain = self.scratch / "chain"
        chain.mkdir()
        (chain / "second").symlink_to("../tools/sbin")
        (home / "first").symlink_to(chain / "second")
        linked["PATH"] = f"{home}/first:{os.environ['PATH']}"
        said = self.galley("run", "--allow-write", chain, "--", "true", env=linked, expect=2)
        self.assertIn(b"this machine runs programs from", said.stderr)
        self.galley("run", "--drop", "--allow-write", tools, "--", "sh", "-c", script, tools, env=linked, expect=0)
        self.assertFalse((tools / "sbin/program").exists())
        (home / ".new").mkdir()
        for option, place in (("--allow-write", home / ".new"), ("--layer", home / ".deep"), ("--layer", home / ".linked")):
            with self.subTest(option=option, place=place):
                self.galley("run", "--drop", option, place, "--", "mkdir", "-p", place / "a", env=search, expect=0)

    def test_run_is_refused_inside_a_command_of_galley(self):
        refused = self.galley("run", "--", "true", env={"GALLEY_SANDBOX": "1"}, expect=1)
        self.assertIn(b"not inside a command that Galley runs", refused.stderr)

    def test_the_state_of_galley_is_not_visible_in_a_run(self):
        self.galley("begin", expect=0)
        self.assertEqual(self.inside("ls -d .galley 2>/dev/null; true"), "")

    def test_git_works_inside_on_a_repository_that_is_dropped(self):
        git = ["git", "-C", str(self.work), "-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "first"], check=True)
        before = snapshot(self.work, skip=(".galley",))
        ran = self.galley("run", "--", "sh", "-c", "echo new > new.txt; git status --short; git add -A; "
                          "git -c user.name=A -c user.email=a@example.com commit -qm second; git log --format=%s",
                          expect=0)
        self.assertEqual(ran.stdout, b"?? new.txt\nsecond\nfirst\n")
        self.assertIn(b"git: refs/heads/", ran.stderr)
        self.assertEqual(snapshot(self.work, skip=(".galley",)), before)
        self.assertEqual(self.staged(self.open_transactions()[0]["tx"]), "A\tnew.txt\n")


class SideBySide(RunCase):
    def test_each_run_has_its_own_view(self):
        gate = threading.Barrier(3)
        said = {}

        def one(name):
            gate.wait()
            said[name] = self.galley("run", "--name", name, "--commit", "--", "sh", "-c",
                                     f"echo {name} > {name}.txt; sleep 0.5; ls *.txt", expect=0).stdout

        threads = [threading.Thread(target=one, args=(name,)) for name in ("first", "second", "third")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name in ("first", "second", "third"):
            self.assertTrue((self.work / f"{name}.txt").exists())

    def test_a_second_run_of_one_transaction_is_refused(self):
        shell = self.shell("--name", "mine")
        tx = self.only_note()["tx"]
        refused = self.galley("run", "--resume", tx, "--", "true", expect=1)
        self.assertIn(b"stop " + tx.encode(), refused.stderr)
        shell.type("exit\n")
        shell.finish()


if __name__ == "__main__":
    hostile.main()
