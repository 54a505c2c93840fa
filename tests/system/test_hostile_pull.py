"""State from a `git pull` is not trusted: each kind of file of docs/formats.md, next to its
legitimate use.

One workspace makes the state and git carries it by force. Another workspace, whose own `.galley` is
trusted, pulls it.
"""

import hashlib
import json
import re
import struct

import hostile
from hostile import HostileCase
from test_state_folder import PLACEHOLDERS, rows_of_page

RULE = """
[[policy.rule]]
paths = ["asked.txt"]
decision = "ask"
"""
UUID = re.compile(PLACEHOLDERS["<uuid>"])
# The first parts of the planted paths.
PLANTED = set()


def plants(*kinds):
    PLANTED.update(kinds)
    return lambda test: test


class PullCase(HostileCase):
    def setUp(self):
        super().setUp()
        own = self.home / ".config" / "galley" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'trusted_folders = ["{self.scratch}"]\nunattended = true\n')
        (self.work / "galley.toml").write_text(RULE)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.commit("begin")
        self.upstream = self.work.rename(self.scratch / "upstream")
        self.git("clone", "-q", self.upstream, self.work, work=self.scratch)
        self.other = self.scratch / "other"
        self.git("clone", "-q", self.upstream, self.other, work=self.scratch)
        for work in (self.work, self.other):
            self.put("own.txt", f"of {work.name}\n", "apply", work=work)
        self.state = self.work / ".galley"

    def commit(self, message, work=None):
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", message, work=work)

    def put(self, name, text, *arguments, work=None, expect=0):
        document = json.dumps({"path": name, "content": text}).encode()
        return self.galley(*arguments, "-", stdin=document, work=work, expect=expect)

    def document(self, *arguments, expect=0, work=None):
        return json.loads(self.galley("--json", *arguments, expect=expect, work=work).stdout)

    def begin(self, *arguments, work=None):
        return self.galley(*(arguments or ("begin",)), work=work, expect=0).stdout.decode().strip()

    def stage_folder(self, tx):
        return next(path for path in self.state.rglob(f"stage/**/{tx}"))

    def made(self, *kinds):
        """Returns the files of these kinds in the other workspace: as they are, and in the layout
        of an earlier Galley."""
        files = {}
        state = self.other / ".galley"
        for path in state.rglob("*"):
            name = str(path.relative_to(state))
            if name.split("/")[0] in kinds and path.is_file() and not path.is_symlink():
                files[name] = files[UUID.sub("", name).replace("//", "/")] = path.read_bytes()
        self.assertTrue(files, f"nothing was made of {kinds}")
        return files

    def pull(self, files):
        """Adds these files below `.galley` to the upstream; the workspace pulls them."""
        for name, content in files.items():
            path = self.upstream / ".galley" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o600)
        self.git("add", "-Af", ".galley", work=self.upstream)
        self.commit("plant", work=self.upstream)
        self.git("pull", "-q", "--ff-only")
        for name, content in files.items():
            self.assertEqual((self.state / name).read_bytes(), content)

    def assert_told(self, *places):
        """One line names the ignored files and the remedy. The rest of the state stays trusted."""
        said = self.galley("status", expect=0).stderr.decode()
        lines = [line for line in said.splitlines() if "not bound to this workspace" in line]
        self.assertEqual(len(lines), 1, said)
        self.assertIn("recover --adopt", lines[0])
        self.assertTrue(any(f".galley/{place}" in lines[0] for place in places), lines[0])
        checks = self.document("doctor", expect=(0, 1))["checks"]
        self.assertIn("bound state", [check["name"] for check in checks if check["status"] == "warning"])
        # git tracks the file, and a tracked file cannot be adopted.
        self.assertIn(b"git tracks", self.galley("recover", "--adopt", expect=1).stderr)
        self.put("own.txt", "as before\n", "apply")


class HostilePull(PullCase):
    @plants("approvals")
    def test_a_pulled_approval_does_not_count(self):
        tx = self.begin(work=self.other)
        self.put("asked.txt", "a\n", "stage", work=self.other)
        proposal = self.document("diff", "--tx", tx, work=self.other)["proposal"]
        self.galley("approve", proposal, work=self.other, expect=0)
        self.pull(self.made("approvals"))
        self.begin()
        self.put("asked.txt", "a\n", "stage")
        self.assertEqual(self.document("diff")["proposal"], proposal)
        self.assertEqual(self.document("commit", expect=1)["reason"], "gate.approval_missing")
        self.assertEqual(self.put("asked.txt", "a\n", "apply", expect=1).returncode, 1)
        self.assertFalse((self.work / "asked.txt").exists())
        self.assert_told("approvals")
        self.galley("approve", proposal, expect=0)
        self.galley("commit", expect=0)
        self.assertTrue((self.work / "asked.txt").exists())

    @plants("stage", "contents")
    def test_a_pulled_transaction_is_ignored(self):
        tx = self.begin(work=self.other)
        self.put("planted.txt", "planted\n", "stage", work=self.other)
        self.galley("savepoint", "one", work=self.other, expect=0)
        self.begin("fork", "--tx", tx, work=self.other)
        document = json.dumps({"file_path": "d.txt", "content": "d"})
        self.galley("call", "--agent=bot", "--tx", tx, "Write", document, work=self.other, expect=0)
        self.pull(self.made("stage", "contents"))
        self.assertEqual(self.document("status")["transactions"], [])
        for arguments in (["commit", "--tx", tx], ["diff", "--tx", tx], ["rollback", "--tx", tx], ["pick", tx],
                          ["rollback", "--tx", tx, "--to", "one"], ["run", "--resume", tx, "--", "true"]):
            with self.subTest(arguments=arguments):
                self.galley(*arguments, expect=(1, 2))
        self.assertFalse((self.work / "planted.txt").exists())
        own = self.begin()
        self.assertEqual([one["tx"] for one in self.document("status")["transactions"]], [own])
        self.put("mine.txt", "mine\n", "stage")
        self.galley("commit", expect=0)
        self.assertTrue((self.work / "mine.txt").exists())
        self.assert_told("stage", "contents")

    def test_a_scratch_home_names_no_folder_of_the_user(self):
        for mode, name in ((0o700, "galley-notes"), (0o755, "notes")):
            folder = self.home / name
            folder.mkdir()
            folder.chmod(mode)
            (folder / "own").write_text("own\n")
        tx = self.begin(work=self.other)
        for name in ("galley-notes", "notes"):
            files = self.made("stage")
            for place in list(files):
                files[f"{place.rsplit('/', 1)[0]}/scratch-home"] = str(self.home / name).encode()
            self.pull(files)
            self.galley("rollback", "--tx", tx, expect=(1, 2))
            self.assertTrue((self.home / name / "own").exists())
            # The second check applies in the workspace's own transaction too.
            own = self.begin()
            (self.stage_folder(own) / "scratch-home").write_text(str(self.home / name))
            self.galley("rollback", "--tx", own, expect=0)
            self.assertTrue((self.home / name / "own").exists())

    def test_a_layer_shows_no_folder_of_the_user(self):
        secret = self.home / "secret"
        secret.mkdir(mode=0o700)
        (secret / "key").write_text("PRIVATE\n")
        tx = self.begin(work=self.other)
        files = self.made("stage")
        for place in list(files):
            files[f"{place.rsplit('/', 1)[0]}/layers/1/path"] = str(secret).encode()
        self.pull(files)
        result = self.galley("run", "--resume", tx, "--", "cat", f"{secret}/key", expect=(1, 2))
        self.assertNotIn(b"PRIVATE", result.stdout)
        # The second check: a stored layer must be allowed, as in a new request.
        own = self.begin()
        self.put("mine.txt", "mine\n", "stage")
        stage = self.stage_folder(own)
        (stage / "layers" / "1").mkdir(parents=True)
        (stage / "layers" / "1" / "path").write_text("/etc")
        result = self.galley("run", "--resume", own, "--", "true", expect=(1, 2))
        self.assertIn(b"belongs to the system", result.stderr)

    @plants("runs")
    def test_a_pulled_run_is_ignored(self):
        self.galley("run", "--", "mkfifo", "pipe", work=self.other, expect=1)
        files = self.made("runs", "stage")
        tx = next(name for name in files if name.endswith("run.json")).split("/")[-2]
        self.pull(files)
        status = self.document("status")
        self.assertEqual(status["transactions"], [])
        self.assertNotIn(tx, json.dumps(status))
        for arguments in (["attach", tx], ["stop", tx], ["run", "--resume", tx, "--", "true"]):
            self.galley(*arguments, expect=(1, 2))
        self.assert_told("runs", "stage")

    @plants("confirmations", "grants")
    def test_a_pulled_confirmation_and_grant_do_not_count(self):
        self.galley("grant", "bot", "custom:deploy", work=self.other, expect=0)
        tx = self.begin(work=self.other)
        words = ("sec.grant", json.dumps({"agent": "bot", "capability": "custom:test"}), "--json")
        refused = json.loads(self.galley("call", "--tx", tx, *words, work=self.other, expect=1).stdout)
        asked = re.search(r"galley approve (call-[0-9a-f]+)", refused["error"]["message"]).group(1)
        self.galley("approve", asked, work=self.other, expect=0)
        self.pull(self.made("confirmations", "grants"))
        self.assertEqual(self.document("grants")["grants"], [])
        own = self.begin()
        refused = json.loads(self.galley("call", "--tx", own, *words, expect=1).stdout)
        self.assertEqual(refused["error"]["reason"], "call.needs_confirmation")
        self.galley("grant", "bot", "custom:deploy", expect=0)
        self.assertEqual(len(self.document("grants")["grants"]), 1)
        self.assert_told("confirmations", "grants")

    @plants("rescue", "quarantine", "links", "git-commits")
    def test_rescued_bytes_and_links_to_commits_are_not_shown(self):
        files = {}
        for place in ("rescue/1", f"rescue/{'0' * 8}-0000-4000-8000-{'0' * 12}/1"):
            files[f"{place}/a.txt"] = b"planted\n"
        for place in ("git-commits", f"links/{'0' * 8}-0000-4000-8000-{'0' * 12}/git-commits"):
            files[place] = f"1 {'ab' * 20}\n".encode()
        files["quarantine/1/1.j"] = b"planted\n"
        self.pull(files)
        self.assertEqual(self.document("rescue", "list")["entries"], [])
        self.galley("rescue", "show", "1/a.txt", expect=(1, 2))
        self.assertNotIn("abab", self.galley("--json", "log", expect=0).stdout.decode())
        self.assert_told("rescue", "git-commits", "links", "quarantine")

    @plants("undo", "slot", "blob", "cache", "keep", "sessions", "index.db")
    def test_pulled_history_and_derived_files_are_ignored(self):
        self.put("large.bin", "y" * (2 << 20), "apply", work=self.other)
        self.put("large.bin", "z" * (2 << 20), "apply", work=self.other)
        self.put("large.bin", "z" * (2 << 20) + "end", "apply", work=self.other)
        self.galley("query", "SELECT 1", work=self.other, expect=0)
        self.galley("doctor", "--repair", work=self.other, env={"GALLEY_BOOT_ID": "boot-2"})
        files = {name: content for name, content in self.made("undo", "blob", "index.db").items()
                 if not name.endswith("/1.j")}
        self.assertTrue(any(name.endswith(".delta") for name in files))
        files["slot/9/0"] = b"planted\n"
        for kind in ("cache", "keep"):
            files[f"{kind}/{'0' * 8}-0000-4000-8000-{'0' * 12}/{'0' * 64}"] = b"planted\n"
        files[f"sessions/{'0' * 8}-0000-4000-8000-{'0' * 12}/{'0' * 64}/turn"] = b"planted\n"
        own = [one["id"] for one in self.document("log")["transactions"]]
        self.pull(files)
        for one in self.document("log")["transactions"]:
            if one["id"] not in own:
                self.assertIn("another transaction or workspace", one["problem"])
        self.galley("undo", "2", expect=3)
        self.galley("doctor", "--repair", expect=(0, 1))
        self.assertEqual([one["id"] for one in self.document("log")["transactions"]], own)
        self.assertEqual(len(self.document("query", "SELECT * FROM log")["rows"]), len(own))
        self.galley("undo", "2", expect=(1, 2))
        self.assertFalse((self.work / "large.bin").exists())
        self.put("own.txt", "as before\n", "apply")

    def test_stored_contents_do_not_depend_on_pulled_ones(self):
        old = "".join(f"line {number}\n" for number in range(200_000)).encode()
        name, base = hashlib.sha256(old).hexdigest(), hashlib.sha256(b"base").digest()
        # The content as one piece of another one, which has the bytes of the content.
        delta = b"GALLEYD\1" + base + struct.pack("<QQIQQQ", len(old), len(old), 1, 0, len(old), 0)
        planted = ({f"blob/{name[:2]}/{name}.delta": delta, f"blob/{base.hex()[:2]}/{base.hex()}": old},
                   {f"blob/{name[:2]}/{name}": old})
        for turn, files in enumerate(planted):
            with self.subTest(turn=turn):
                (self.work / "large.txt").write_bytes(old)
                self.pull(files)
                new = old + f"mine {turn}\n".encode()
                self.put("large.txt", new.decode(), "apply")
                made = self.document("log")["transactions"][0]["id"]
                self.git("rm", "-rqf", ".galley", work=self.upstream)
                self.commit("take away", work=self.upstream)
                self.git("pull", "-q", "--ff-only")
                self.assertFalse(any((self.state / place).exists() for place in files))
                self.galley("undo", made, expect=0)
                self.assertEqual((self.work / "large.txt").read_bytes(), old)
                self.assertEqual(self.galley("show", f"{made}:large.txt", expect=0).stdout, new)

    @plants("j")
    def test_a_journal_is_not_rolled_forward(self):
        self.put("planted.txt", "planted\n", "apply", work=self.other)
        files = self.made("j")
        name = max(files)
        self.pull({"j/9.j": files[name]})
        self.assertIn(b"another transaction or workspace", self.galley("status", expect=3).stderr)
        self.assertFalse((self.work / "planted.txt").exists())
        self.galley("doctor", "--repair")
        self.put("own.txt", "as before\n", "apply")

    @plants("format", ".gitignore")
    def test_a_pulled_format_or_gitignore_makes_the_state_untrusted(self):
        for name, content in (("format", (self.other / ".galley" / "format").read_bytes()), (".gitignore", b"!*\n")):
            with self.subTest(name):
                kept = (self.state / name).read_bytes()
                self.pull({name: content})
                self.assertIn(b"not trusted", self.galley("status", expect=0).stderr)
                self.assertEqual(self.put("new.txt", "new\n", "apply", expect=1).returncode, 1)
                self.git("rm", "-rqf", "--cached", ".galley")
                (self.state / name).write_bytes(kept)
                self.assertNotIn(b"not trusted", self.galley("status", expect=0).stderr)
                self.git("reset", "-q", "HEAD")
        self.put("new.txt", "new\n", "apply")

    @plants("lock", "wait")
    def test_a_pulled_lock_or_ticket_does_not_block(self):
        self.pull({"lock": b"pid 1\n", "wait/0000000000000000-dead": b""})
        self.put("own.txt", "as before\n", "apply")
        self.galley("gc", expect=0)

    def pull_log(self, chosen):
        """Pulls the log of the other workspace, with the lines of `chosen`, and its anchor under
        all names."""
        for number in range(6):
            self.put("own.txt", f"{number}\n", "apply", work=self.other)
        self.put("own.txt", "mine\n", "apply")
        anchors = self.made("audit", "audit.head")
        lines = (self.other / ".galley" / "audit.jsonl").read_bytes().splitlines(keepends=True)
        self.pull({**anchors, "audit.jsonl": b"".join(chosen(lines)), "audit.head": next(iter(anchors.values()))})
        self.document("audit", "verify", expect=1)
        self.galley("doctor", "--repair", expect=(0, 1))
        self.put("own.txt", "more\n", "apply")
        defects = self.document("audit", "verify", expect=0)["defects"]
        self.assertEqual([defect["reason"] for defect in defects], ["audit.lost"])

    @plants("audit.jsonl", "audit", "audit.<n>.jsonl")
    def test_a_longer_pulled_audit_log_is_detected(self):
        self.pull_log(lambda lines: lines)
        first = json.loads((self.state / "audit.jsonl").read_text().splitlines()[0])
        self.assertEqual(first["output"]["closed"], "audit.1.jsonl")

    def test_a_shorter_pulled_audit_log_is_detected(self):
        self.pull_log(lambda lines: lines[:1])

    def test_an_empty_pulled_audit_log_is_detected(self):
        self.pull_log(lambda lines: [])

    def test_the_tests_plant_every_kind_of_file_of_the_page(self):
        kinds = {row.path.split("/")[0] for row in rows_of_page()}
        self.assertEqual(kinds - PLANTED, set())


class Adoption(PullCase):
    """State of an earlier Galley is adopted only after a person's yes."""

    def test_state_of_an_earlier_galley_counts_after_a_yes(self):
        tx = self.begin()
        self.put("mine.txt", "mine\n", "stage")
        for kind in ("stage", "contents"):
            bound = next((self.state / kind).iterdir())
            for path in bound.iterdir():
                path.rename(self.state / kind / path.name)
        self.assertEqual(self.document("status")["transactions"], [])
        shown = self.galley("recover", "--adopt", "--dry-run", expect=0).stdout.decode()
        self.assertIn(f".galley/stage/{tx}: an open transaction", shown)
        self.galley("recover", "--adopt", expect=0)
        self.assertIn('"kind":"adoption"', (self.state / "audit.jsonl").read_text())
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual((self.work / "mine.txt").read_text(), "mine\n")
        self.assertNotIn(b"not bound", self.galley("status", expect=0).stderr)


if __name__ == "__main__":
    hostile.main()
