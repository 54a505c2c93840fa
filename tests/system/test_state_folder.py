"""Compares docs/formats.md with the program: the files under `.galley`, who makes, removes or may
delete them."""

import json
import os
import re
import shutil
import subprocess
import time
import unittest
import urllib.request
import uuid

from journal_forgery import FILE, FOLDER, Side, journal
from support import GALLEY, PATCHES, ROOT, SystemCase, snapshot

FIRST = PATCHES / "good" / "01-discounts.patch"
ROW = re.compile(r"^\| (`[^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.M)
PLACEHOLDERS = {"<tx>": r"[0-9a-f]+", "<n>": r"\d+", "<hh>": r"[0-9a-f]{2}", "<hash>": r"[0-9a-f]{64}",
                "<id>": r"[0-9a-f]{12}", "<uuid>": r"[0-9a-f]{8}-[0-9a-f-]{27}"}

# The meaning of the words in the page's columns. A command in `code` means itself.
COMMITS = {"apply", "commit", "pick", "undo", "redo"}
STAGING = {"undo", "stage", "call", "exec", "edit", "validate", "commit"}
RETIREMENT = COMMITS | {"recover", "doctor", "gc"}
END = {"commit", "pick", "rollback", "gc"}
WORDS = {"the first write": {"apply", "begin"}, "a commit": COMMITS, "a recovery": RETIREMENT,
         "a retirement": RETIREMENT, "its end": END, "the end of the last that shares them": END,
         "the commit that uses it": {"commit"}, "the other commands that stage": STAGING,
         "commands that ask the gate": COMMITS | {"validate", "agent-hook", "review"}, "other commands that read history": {"log", "blame"}}

CONFIGURATION = """
[history]
keep_transactions = 1

[[policy.rule]]
paths = ["asked.txt"]
decision = "ask"

[[validator]]
name = "looks"
command = ["true"]
keep = ["build-tree"]

[[validator]]
name = "fixes"
command = ["sed", "-i", "s/unmended/mended/", "{files}"]
paths = ["staged.txt"]
severity = "note"
fix = true
"""


class Row:
    """A path in the page's table."""

    def __init__(self, path, what, made_by, removed_by):
        self.path, self.is_derived = path, "*derived*" in what
        self.pattern = re.compile(self.expression(path) + (".*" if path.endswith("/") else ""))
        parts = path.rstrip("/").split("/")
        self.folders = [re.compile(self.expression("/".join(parts[:count]) + "/")) for count in range(1, len(parts))]
        self.makers, self.removers = self.commands(made_by), self.commands(removed_by)
        self.named_makers, self.named_removers = self.named(made_by), self.named(removed_by)

    @staticmethod
    def expression(path):
        return "".join(PLACEHOLDERS.get(part, re.escape(part)) for part in re.split(r"(<\w+>)", path))

    def lists(self, entry):
        return any(pattern.fullmatch(entry) for pattern in (self.pattern, *self.folders))

    @staticmethod
    def named(cell):
        return {words.split()[0] for words in re.findall(r"`([a-z][^`]*)`", cell)} - {"galley.toml"}

    @staticmethod
    def commands(cell):
        known = {command for words, commands in WORDS.items() if words in cell for command in commands}
        return known | Row.named(cell)


def rows_of_page():
    text = (ROOT / "docs" / "formats.md").read_text()
    return [Row(path, *cells) for paths, *cells in ROW.findall(text) for path in re.findall(r"`([^`]+)`", paths)]


class StateFolder(SystemCase):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.state = self.work / ".galley"
        self.before, self.done, self.made, self.removed = set(), set(), set(), set()

    def entries(self):
        """Returns every file and folder under `.galley`. Folders end in `/`."""
        return {str(path.relative_to(self.state)) + ("/" if path.is_dir() else "")
                for path in self.state.rglob("*")} if self.state.exists() else set()

    def galley(self, *arguments, **options):
        """Runs one command, and records which entries it added and removed."""
        words = [word for word in arguments if not str(word).startswith("-")]
        result = super().galley(*arguments, **options)
        now = self.entries()
        if words:
            self.done.add(words[0])
            self.made |= {(entry, words[0]) for entry in now - self.before}
            self.removed |= {(entry, words[0]) for entry in self.before - now}
        self.before = now
        return result

    def run_all(self, *lines, **options):
        for line in lines:
            self.galley(*line.split(), **options)

    def put(self, name, text, *arguments):
        """Stages or applies a file with this text."""
        document = json.dumps({"path": name, "content": text}).encode()
        return self.galley(*arguments, "-", stdin=document, expect=0)

    def begin(self, *arguments):
        return self.galley(*(arguments or ("begin",)), expect=0).stdout.decode().strip()

    def run_every_command(self):
        self.run_all("completions bash", "help", "init -n", f"preview {FIRST}", f"edits explain {FIRST}", "status",
                     "log", "turns", "doctor", "tools list", "policy explain README.md", "trust --show")
        self.assertEqual(self.entries(), set(), "a command that only reads made something")
        (self.work / "galley.toml").write_text(CONFIGURATION)
        self.galley("apply", FIRST, expect=0)
        self.put("large.bin", "x" * (2 << 20), "apply")
        self.put("large.bin", "x" * (2 << 20) + "end", "apply")
        self.put("README.md", "new\n", "apply")
        self.commit_to_git_inside()
        self.stage_in_every_way()
        self.commit_with_an_approval()
        self.grant_and_confirm()
        self.serve_agents()
        self.leave_a_conflict_with_markers()
        self.galley("query", "SELECT 1", expect=0)
        self.galley("push", "nowhere", expect=2)
        self.run_all("show 1", "turns", "blame README.md", "at 1 -- true", "undo 3", "redo", "audit verify", expect=0)
        self.link_a_commit_of_git()
        self.leave_a_crash()
        self.run_all("recover", "rescue list", "rescue drop ff", "rescue drop 255")
        self.leave_a_damaged_journal()
        self.leave_a_damaged_log()
        self.galley("doctor", "--repair")
        old = self.begin()
        for path in (self.own_state("stage") / old, *(self.own_state("stage") / old).iterdir()):
            os.utime(path, (time.time() - 15 * 86400,) * 2)
        for path in self.own_state("sessions").glob("*/*"):
            os.utime(path, (0, 0))
        young = self.begin()
        # Simulates a restart, after which all journals retire at once.
        self.galley("doctor", "--repair", env={"GALLEY_BOOT_ID": "boot-2"})
        self.galley("gc", expect=0, env={"GALLEY_BOOT_ID": "boot-2"})
        self.assertFalse((self.own_state("stage") / old).exists())
        self.assertTrue((self.own_state("stage") / young).exists())

    def commit_to_git_inside(self):
        self.git("init", "-q")
        self.galley("acp", "--", "true", expect=0)
        ran = self.galley("run", "--json", "--", "git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q",
                          "--allow-empty", "-m", "inside", expect=0)
        self.galley("rollback", "--tx", json.loads(ran.stdout)["tx"], expect=0)
        shutil.rmtree(self.work / ".git")

    def stage_in_every_way(self):
        tx = self.begin()
        self.put("staged.txt", "unmended\n", "stage")
        transcript = self.work.parent / "calls.jsonl"
        self.galley("call", "Write", json.dumps({"file_path": "b.txt", "content": "b\n"}), "--transcript", transcript,
                    expect=0)
        self.galley("replay", transcript, expect=0)
        self.galley("savepoint", "one", expect=0)
        fork = self.begin("fork", "--tx", tx)
        self.galley("exec", "--tx", tx, "--", "sh", "-c", "echo c > c.txt", expect=0)
        # Changes that cannot be staged stay where they were written.
        self.galley("run", "--", "mkfifo", "pipe", expect=1)
        layered = self.scratch / "layered"  # the host does not have this folder
        ran = self.begin()
        self.galley("exec", "--tx", ran, "--", "sh", "-c", "echo d > d.txt", expect=0)
        self.galley("run", "--resume", ran, "--layer", layered, "--", "mkfifo", "pipe", f"{layered}/pipe", expect=1)
        self.run_all("attach nobody", "stop nobody", "sync nobody", "agent-hook codex", stdin=b"{}")
        for note in self.own_state("runs").glob("*/run.json"):
            self.galley("rollback", "--tx", note.parent.name, expect=0)
        self.galley("edit", "--tx", tx, "b.txt", expect=0, env={"VISUAL": "true", "EDITOR": "true"})
        self.galley("diff", "--tx", tx, expect=0)
        self.run_all(f"validate --tx {tx}", f"validate --tx {tx} --fix", expect=0)
        self.galley("call", "--agent=other", "--tx", tx, "Write",
                    json.dumps({"file_path": "d.txt", "content": ""}), expect=0)
        self.galley("rollback", "--tx", tx, "--to", "one", expect=0)
        self.galley("pick", fork, expect=0)

    def commit_with_an_approval(self):
        tx = self.begin()
        self.put("asked.txt", "a\n", "stage")
        proposal = json.loads(self.galley("diff", "--tx", tx, "--json", expect=0).stdout)["proposal"]
        self.galley("approve", proposal, expect=0)
        self.galley("review", "--tx", tx, "--tty", expect=(1, 2))  # needs a terminal
        self.comment_on(tx)
        self.galley("commit", "--tx", tx, expect=0)

    def comment_on(self, tx):
        """Comments on the page of `galley review`, and ends the review."""
        review = subprocess.Popen([GALLEY, "-C", self.work, "review", "--tx", tx], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL, env={**os.environ, **self.environment}, text=True,
                                  start_new_session=True)
        self.addCleanup(review.kill)
        with urllib.request.urlopen(review.stdout.readline().strip()) as page:
            home, data = page.url, json.loads(re.search(r'id="galley-data">(.*?)</script>', page.read().decode(), re.S)[1])
        headers = {"Content-Type": "application/json", "Origin": home[:home.index("/", len("http://"))],
                   "X-Galley-Token": data["session"]["token"]}
        body = json.dumps({"comments": [{"on": "asked.txt:1", "text": "why?"}]}).encode()
        urllib.request.urlopen(urllib.request.Request(home + "end", body, headers)).close()
        review.communicate()
        now = self.entries()
        self.made |= {(entry, "review") for entry in now - self.before}
        self.before = now

    def serve_agents(self):
        self.galley("mcp", expect=0)  # whose input ends at once
        self.galley("serve", "--grpc", "127.0.0.1:1")  # refused: TCP needs certificates
        for command in ("worker", "submit", "jobs"):
            self.galley(command, "--nats", "nats://127.0.0.1:1")  # where no server is
        self.galley("agent-hook", expect=2)  # which was told of no call
        edit = {"tool_name": "Write", "tool_input": {"file_path": "kept.txt", "content": "k\n"}}
        for report in ({"hook_event_name": "UserPromptSubmit", "prompt": "p"}, {"hook_event_name": "PreToolUse", **edit}):
            self.galley("agent-hook", stdin=json.dumps({"session_id": "s", **report}).encode(), expect=0)
        rules = self.work / "galley.toml"
        kept = rules.read_text()
        rules.write_text(kept + '[[validator]]\nname = "nobody trusts it"\ncommand = ["true"]\n')
        self.galley("--agent=claude", "--session=s", "status", env={"XDG_CONFIG_HOME": str(self.scratch / "nobody")})
        rules.write_text(kept)
        self.galley("agents", "list", expect=0)
        self.galley("agents", "status", expect=0)

    def grant_and_confirm(self):
        self.galley("grant", "bot", "custom:deploy", expect=0)
        self.galley("revoke", "bot", "custom:build", expect=0)
        self.galley("grants", expect=0)
        tx = self.begin()
        words = ("call", "--tx", tx, "sec.grant", json.dumps({"agent": "bot", "capability": "custom:test"}))
        refused = json.loads(self.galley(*words, "--json", expect=1).stdout)
        self.assertEqual(refused["error"]["reason"], "call.needs_confirmation")
        asked = re.search(r"galley approve (call-[0-9a-f]+)", refused["error"]["message"]).group(1)
        self.galley("approve", asked, expect=0)
        self.galley(*words, expect=0)
        self.galley("rollback", "--tx", tx, expect=0)

    def leave_a_conflict_with_markers(self):
        tx = self.begin()
        self.put("README.md", "proposed\n", "stage")
        (self.work / "README.md").write_text("on disk\n")
        self.galley("commit", "--tx", tx, "--conflict=markers", expect=1)
        self.galley("rollback", "--tx", tx, expect=0)
        self.put("README.md", "to undo\n", "apply")
        (self.work / "README.md").write_text("changed since\n")
        said = self.galley("--json", "undo", "--conflict=markers", expect=1)
        self.galley("rollback", "--tx", json.loads(said.stdout)["tx"], expect=0)

    def link_a_commit_of_git(self):
        self.put("committed.txt", "by git, too\n", "apply")
        self.git("init", "-q")
        self.git("add", "committed.txt")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "begin")
        self.galley("hook", "run", "post-commit", expect=0)
        self.galley("check", "--commit", "HEAD", expect=(0, 1))
        shutil.rmtree(self.work / ".git")

    def leave_journal(self, number, changes, spoil=lambda whole: whole, **options):
        workspace = uuid.UUID((self.state / "format").read_text().split()[2])
        whole = bytearray(journal(workspace, changes, number=number, **options))
        (self.state / "j" / f"{number:x}.j").write_bytes(spoil(whole))
        self.before = self.entries()

    def leave_a_crash(self):
        """Leaves a commit whose folder must go to a place where another process put a file in the
        meantime."""
        (self.work / "taken").write_text("somebody else's\n")
        self.leave_journal(255, {"taken": (Side(), Side(FOLDER, mode=0o755)),
                                 "taken/file": (Side(), Side(FILE, b"ours\n"))})

    def leave_a_damaged_journal(self):
        def spoil(whole):
            whole[80] ^= 1
            return whole
        self.leave_journal(256, {"never": (Side(), Side(FILE, b"made\n"))}, spoil)

    def leave_a_damaged_log(self):
        log = self.state / "audit.jsonl"
        log.write_bytes(log.read_bytes().replace(b"commit", b"c0mmit"))

    def test_the_folder_has_the_files_of_the_page_and_no_others(self):
        self.run_every_command()
        commands = set(re.findall(r"^  ([a-z]+(?:-[a-z]+)*)", self.galley("--help").stdout.decode(), re.M))
        self.assertEqual(commands - self.done - {"galley"}, set(), "commands that this test does not run")
        rows = rows_of_page()
        self.assertEqual([entry for entry in sorted({entry for entry, _ in self.made})
                          if not any(row.lists(entry) for row in rows)], [], "not listed")
        for row in rows:
            with self.subTest(row.path):
                makers = {command for entry, command in self.made if row.pattern.fullmatch(entry)}
                self.assertTrue(makers, "nothing made it")
                self.assertLessEqual(makers, row.makers, "made by")
                self.assertLessEqual(row.named_makers, makers, "made by")
                removers = {command for entry, command in self.removed if row.pattern.fullmatch(entry)}
                self.assertLessEqual(removers, row.removers, "removed by")
                self.assertLessEqual(row.named_removers, removers, "removed by")


    def test_the_folder_is_private_and_names_its_own_inode(self):
        self.put("other.txt", "new\n", "apply")
        info = self.state.stat()
        self.assertEqual(info.st_mode & 0o7777, 0o700)
        self.assertEqual(info.st_dev, self.work.stat().st_dev)
        self.assertEqual((self.state / ".gitignore").read_text(), "*\n")
        self.assertRegex((self.state / "format").read_text(),
                         rf"\Agalley 2 {PLACEHOLDERS['<uuid>']} {info.st_ino} \d+\n\Z")

    def test_the_seventeenth_journal_is_named_11(self):
        self.put("other.txt", "new\n", "apply")
        self.leave_journal(17, {"made": (Side(), Side(FILE, b"made\n"))})
        self.galley("recover", expect=0)
        self.assertEqual(json.loads(self.galley("log", "--json", expect=0).stdout)["transactions"][0]["id"], "17")

    def test_a_journal_with_an_optional_unknown_record_is_read(self):
        self.put("other.txt", "new\n", "apply")
        self.leave_journal(2, {"made": (Side(), Side(FILE, b"made\n"))}, unknown_flags=0)
        self.galley("recover", expect=0)
        self.assertEqual((self.work / "made").read_text(), "made\n")

    def test_a_journal_of_a_later_version_is_not_touched(self):
        for options in ({"unknown_flags": 1}, {"major": 2}):
            with self.subTest(**options):
                self.put("other.txt", f"{options}\n", "apply")
                self.leave_journal(200, {"made": (Side(), Side(FILE, b"made\n"))}, **options)
                kept = (self.state / "j" / "c8.j").read_bytes()
                result = self.galley("recover", expect=3)
                self.assert_one_clear_message(result)
                self.assertFalse((self.work / "made").exists())
                self.assertEqual((self.state / "j" / "c8.j").read_bytes(), kept)
                (self.state / "j" / "c8.j").unlink()

    def test_commands_that_only_read_change_nothing_in_it(self):
        self.put("other.txt", "new\n", "apply")
        derived = tuple({row.path.split("/")[0] for row in rows_of_page() if row.is_derived})

        def kept():
            return {name: entry for name, entry in snapshot(self.state, with_times=True).items()
                    if not name.startswith((*derived, "lock"))}  # `lock` names its last holder

        before = kept()
        self.run_all(f"preview {FIRST}", "status", "log", "show 1", "recover -n", "gc -n", "policy explain other.txt",
                     "audit verify", "rescue list", "tools list", "trust --show", expect=0)
        self.assertEqual(kept(), before)

    def test_derived_files_can_be_deleted(self):
        derived = sorted({row.path.split("/")[0] for row in rows_of_page() if row.is_derived})
        (self.work / "galley.toml").write_text(CONFIGURATION)
        self.put("other.txt", "new\n", "apply")
        self.galley("query", "SELECT 1", expect=0)

        def answers():
            return [self.galley(*command, expect=0).stdout for command in
                    (["log"], ["query", "SELECT * FROM log"], ["blame", "other.txt"], ["preview", FIRST])]

        expected = answers()
        for name in derived:
            path = self.state / name
            self.assertTrue(path.exists(), name)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.assertEqual(answers(), expected)
        self.put("other.txt", "newer\n", "apply")


class LargeFiles(SystemCase):
    # Limit: kMaxPendingBytes of engine/commit/retire.h
    def test_replaced_files_are_counted_and_gc_tells_what_it_frees(self):
        size = 12 << 20
        (self.work / "galley.toml").write_text("")
        (self.work / "big.bin").write_bytes(os.urandom(size))
        for line in "abc":
            self.galley("exec", "--commit", "--", "sh", "-c", f"echo {line} >> big.bin", expect=0)
        caught = list((self.work / ".galley" / "slot").rglob("*"))
        self.assertLess(sum(path.stat().st_size for path in caught if path.is_file()), 2 * size)
        for journal in (self.work / ".galley" / "j").iterdir():
            os.utime(journal, (1, 1))  # it is due
        for words, said in ((("gc", "-n"), "would free"), (("gc",), "freed")):
            with self.subTest(command=words):
                result = self.galley(*words, expect=0)
                found = re.search(said + r" (\d+) bytes", (result.stdout + result.stderr).decode())
                self.assertGreater(int(found.group(1)), size)


if __name__ == "__main__":
    unittest.main()
