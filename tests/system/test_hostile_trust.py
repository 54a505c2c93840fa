"""A workspace's configuration can run programs or widen rights only if a person trusted exactly
that part."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

import hostile
import support

PATCH = """--- a/README.md
+++ b/README.md
@@ -1 +1 @@
-one
+two
"""
TESTS = '[[validator]]\nname = "tests"\ncommand = ["sh", "-c", "grep -q two README.md"]\n'


class TrustCase(hostile.HostileCase):
    def setUp(self):
        super().setUp()
        for path in sorted(self.work.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        self.write("README.md", "one\n")

    def apply(self, **options):
        return self.galley("apply", "-", stdin=PATCH.encode(), **options)

    def reason(self, result):
        return json.loads(result.stdout).get("reason")

    def own_config(self, text):
        path = self.home / ".config" / "galley" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def own_hook(self, text):
        path = self.home / "hook"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def hash(self):
        return json.loads(self.galley("--json", "trust", "--show", expect=0).stdout)["hash"]


class Hooks(TrustCase):
    def test_a_hook_of_the_workspace_does_not_run_untrusted(self):
        mark = self.scratch / "mark"
        self.write("galley.toml", f'[commit]\nbefore_apply = ["sh", "-c", "touch {mark}"]\n')
        result = self.apply(expect=0)
        self.assertFalse(mark.exists())
        self.assertIn("hook before_apply", result.stderr.decode())
        self.assertIn(f"galley -C {self.work} trust", result.stderr.decode())

    def test_a_trusted_hook_of_the_workspace_runs_behind_the_walls(self):
        mark = self.scratch / "mark"
        self.write("galley.toml", f'[commit]\nafter_apply = ["sh", "-c", "touch {mark}; exit 7"]\n')
        self.at_terminal("trust", answer="y", expect=0)
        result = self.apply(expect=0)
        self.assertIn("the hook sh ended with 7", result.stderr.decode())
        self.assertFalse(mark.exists())

    def test_a_persons_own_hook_runs_on_the_host(self):
        hook = self.own_hook('echo "$GALLEY_WORKSPACE" > "$HOME/mark"\n')
        self.own_config(f'[commit]\nafter_apply = ["{hook}"]\n')
        self.apply(expect=0)
        self.assertEqual((self.home / "mark").read_text().strip(), str(self.work))

    def test_a_persons_own_hook_has_a_time_limit(self):
        hook = self.own_hook('sleep 300; touch "$HOME/mark"\n')
        self.own_config(f'[commit]\nhook_timeout_ms = 300\nbefore_apply = ["{hook}"]\n')
        said = self.apply(expect=0).stderr.decode()
        self.assertIn(f"the hook {hook}: it took longer than 300 ms and was ended; commit.hook_timeout_ms", said)
        self.assertEqual((self.work / "README.md").read_text(), "two\n")
        self.assertFalse((self.home / "mark").exists())

    def assert_ends(self, name):
        """The process whose number is in that file of the home folder is gone, or a zombie."""
        process = pathlib.Path("/proc") / (self.home / name).read_text().strip() / "stat"
        for _ in range(50):
            try:
                if process.read_text().rpartition(")")[2].split()[0] == "Z":
                    return
            except OSError:
                return
            time.sleep(0.1)
        self.fail(f"{process} still runs")

    def test_what_a_persons_own_hook_started_ends_with_it(self):
        self.own_hook("trap '' TERM\necho $$ > \"$HOME/child\"\nwhile :; do sleep 1; done\n").rename(
            self.home / "stubborn")
        hook = self.own_hook('"$HOME/stubborn" > /dev/null 2>&1 & wait\n')
        self.own_config(f'[commit]\nhook_timeout_ms = 500\nbefore_apply = ["{hook}"]\n')
        self.assertIn("ms and was ended", self.apply(expect=0).stderr.decode())
        self.assert_ends("child")

    def test_what_a_thread_of_a_persons_own_hook_started_ends_with_it(self):
        hook = self.own_hook("")
        hook.write_text(f"#!{sys.executable}\nimport os, subprocess, threading\n"
                        "line = 'echo $$ > \"$HOME/child\"; exec sleep 300 > /dev/null 2>&1'\n"
                        "threading.Thread(target=subprocess.run, args=(['sh', '-c', line],)).start()\n")
        self.own_config(f'[commit]\nhook_timeout_ms = 2000\nbefore_apply = ["{hook}"]\n')
        self.assertIn("ms and was ended", self.apply(expect=0).stderr.decode())
        self.assert_ends("child")

    def test_a_persons_own_hook_does_not_write_into_the_answer(self):
        hook = self.own_hook("echo from the hook\n")
        self.own_config(f'[commit]\nbefore_apply = ["{hook}"]\n')
        done = self.galley("--json", "apply", "-", stdin=PATCH.encode(), expect=0)
        self.assertTrue(json.loads(done.stdout)["ok"])
        self.assertIn(b"from the hook", done.stderr)

    def test_a_persons_own_hook_inside_the_workspace_does_not_run(self):
        mark = self.scratch / "mark"
        script = self.write("hook.sh", f"#!/bin/sh\ntouch {mark}\n", 0o755)
        link = self.home / "link"
        link.symlink_to(script)
        for command in (f'["{script}"]', f'["/bin/sh", "{script}"]', f'["{link}"]'):
            self.write("README.md", "one\n")
            self.own_config(f"[commit]\nafter_apply = {command}\n")
            self.assertIn("lies inside the workspace", self.apply(expect=0).stderr.decode())
            self.assertFalse(mark.exists())

    def test_a_configuration_inside_the_workspace_is_not_a_persons_own(self):
        mark = self.scratch / "mark"
        inside = {"XDG_CONFIG_HOME": str(self.work / "config")}
        self.write("config/galley/config.toml",
                   f'unattended = true\n[commit]\nbefore_apply = ["/bin/sh", "-c", "touch {mark}"]\n')
        self.apply(env=inside, expect=0)
        self.assertFalse(mark.exists())
        self.write("galley.toml", TESTS)
        result = self.galley("--json", "trust", env=inside, expect=1, start_new_session=True)
        self.assertEqual(self.reason(result), "person.no_terminal")


class Validators(TrustCase):
    def test_an_untrusted_command_is_named_and_refuses(self):
        self.write("galley.toml", TESTS)
        preview = self.galley("--json", "preview", "-", stdin=PATCH.encode(), expect=1)
        document = json.loads(preview.stdout)
        self.assertEqual(document["reason"], "gate.not_trusted")
        self.assertIn("grep -q two README.md", document["message"])
        self.assertIn("galley trust", document["message"])
        self.apply(expect=1)
        self.assertEqual((self.work / "README.md").read_text(), "one\n")

    def test_a_trusted_command_judges(self):
        self.write("galley.toml", TESTS)
        self.at_terminal("trust", answer="y", expect=0)
        self.apply(expect=0)
        self.assertEqual((self.work / "README.md").read_text(), "two\n")

    def test_an_untrusted_warning_only_says_that_it_was_not_run(self):
        self.write("galley.toml", TESTS + 'severity = "warning"\n')
        preview = self.galley("preview", "-", stdin=PATCH.encode(), expect=0)
        self.assertIn("it would run `sh -c grep -q two README.md`", preview.stderr.decode())
        self.apply(expect=0)

    def test_an_untrusted_fixer_is_not_run(self):
        self.write("galley.toml", '[[validator]]\ncommand = ["sh", "-c", "echo x > README.md"]\nfix = true\n')
        self.galley("begin", expect=0)
        self.galley("call", "Write", json.dumps({"file_path": "README.md", "content": "two\n"}), expect=0)
        result = self.galley("--json", "validate", "--fix", expect=1)
        self.assertEqual(self.reason(result), "trust.needed")

    def test_built_in_validators_and_rules_need_no_trust(self):
        self.write("galley.toml", '[[validator]]\nbuiltin = "json"\n[policy]\nprotected = ["LICENSE"]\n')
        result = self.apply(expect=0)
        self.assertNotIn("trust", result.stderr.decode())


class Shown(TrustCase):
    def test_only_what_is_not_the_default_is_shown_and_all_is_trusted(self):
        self.write("galley.toml", TESTS + 'timeout_ms = 5000\nenvironment = { A = "only_new = false" }\n')
        shown = self.galley("trust", "--show", expect=0).stdout.decode()
        for line in ('name = "tests"', 'command = ["sh"', "timeout_ms = 5000", '"A" = "only_new = false"'):
            self.assertIn(line, shown)
        for line in ("agents = []", "per_file", "max_output_bytes", "parser", "cache = true"):
            self.assertNotIn(line, shown)
        before = self.hash()
        self.write("galley.toml", TESTS + 'timeout_ms = 5000\nonly_new = true\n')
        self.assertIn("only_new = true", self.galley("trust", "--show", expect=0).stdout.decode())
        self.assertNotEqual(self.hash(), before)

    def test_what_is_asked_of_an_ordinary_project_fits_a_screen(self):
        """Three commands, as `galley init --enable` writes them for one language, among everything that needs no trust."""
        self.write("galley.toml", """
[policy]
default = "allow"
protected = ["LICENSE"]

[[policy.rule]]
paths = ["src/generated/"]
decision = "deny"

[agents."*"]
capabilities = ["fs:read", "fs:write", "exec:*"]

[[validator]]
builtin = "secrets"

[[validator]]
builtin = "json"
paths = ["*.json"]

[[validator]]
name = "cargo fmt"
command = ["cargo", "fmt"]
paths = ["*.rs"]
fix = true

[[validator]]
name = "cargo clippy"
command = ["cargo", "clippy", "--offline", "--all-targets", "--message-format", "json", "--", "-D", "warnings"]
timeout_ms = 600000
paths = ["*.rs", "Cargo.toml", "Cargo.lock"]
parser = "cargo"
keep = ["target"]

[[validator]]
name = "cargo test"
command = ["cargo", "test", "--offline"]
timeout_ms = 600000
parser = "cargo"
keep = ["target"]

[sandbox]
network = true
readable = ["/usr/share/doc"]

[history]
keep_days = 30
""")
        shown = self.at_terminal("trust", answer="y", expect=0).terminal.replace("\r", "")
        self.assertLessEqual(len(shown.splitlines()), 24, shown)
        self.assertIn('name = "cargo clippy"', shown)
        self.assertNotIn("keep_days", shown)

    def test_the_json_document_has_all_of_the_trusted_part(self):
        self.write("galley.toml", TESTS)
        part = json.loads(self.galley("--json", "trust", "--show", expect=0).stdout)["part"]
        self.assertIn("max_output_bytes", part)


class Walls(TrustCase):
    def environment_inside(self):
        self.galley("begin", expect=0)
        env = {"HOSTILE_SECRET": "hunter2"}
        return self.galley("exec", "--", "env", env=env, expect=0).stdout.decode()

    def test_an_untrusted_environment_does_not_pass(self):
        self.write("galley.toml", '[sandbox]\nenvironment = ["HOSTILE_SECRET"]\n')
        self.assertNotIn("hunter2", self.environment_inside())

    def test_a_trusted_environment_passes(self):
        self.write("galley.toml", '[sandbox]\nenvironment = ["HOSTILE_SECRET"]\n')
        self.at_terminal("trust", answer="y", expect=0)
        self.assertIn("hunter2", self.environment_inside())

    def test_an_untrusted_network_stays_closed(self):
        self.write("galley.toml", "[sandbox]\nnetwork = true\n")
        self.galley("begin", expect=0)
        result = self.galley("--json", "exec", "--network", "--", "true", expect=1)
        self.assertEqual(self.reason(result), "command.network_denied")
        self.at_terminal("trust", answer="y", expect=0)
        self.galley("exec", "--network", "--", "true", expect=0)

    def test_an_untrusted_wider_limit_does_not_count(self):
        self.write("galley.toml", "[sandbox]\nmax_open_files = 5000\n")
        self.galley("begin", expect=0)
        command = ("exec", "--", "sh", "-c", "ulimit -n")
        self.assertEqual(self.galley(*command, expect=0).stdout.strip(), b"1024")
        self.write("galley.toml", "[sandbox]\nmax_open_files = 500\n")
        self.assertEqual(self.galley(*command, expect=0).stdout.strip(), b"500")


class Init(TrustCase):
    """`galley init` trusts what it writes. A person looks at commands that it enables first."""

    def setUp(self):
        super().setUp()
        self.write("Makefile", "test:\n\tgrep -q one README.md\n")

    def test_init_enable_trusts_its_commands_after_a_yes(self):
        result = self.galley("--json", "init", "--enable", expect=1, start_new_session=True)
        self.assertEqual(self.reason(result), "person.no_terminal")
        self.at_terminal("init", "--enable", answer="n", expect=1)
        self.assertFalse((self.work / "galley.toml").exists())
        shown = self.at_terminal("init", "--enable", answer="y", expect=0).terminal
        self.assertIn('command = ["make", "test"]', shown)
        self.assertIn("gate.validator_failed", self.apply(expect=1).stderr.decode())

    def test_init_without_enable_asks_nothing(self):
        self.galley("init", expect=0, start_new_session=True)
        self.assertIn('# command = ["make", "test"]', (self.work / "galley.toml").read_text())
        self.apply(expect=0)


class Words(TrustCase):
    """Only a person can use `galley trust`."""

    def setUp(self):
        super().setUp()
        self.write("galley.toml", TESTS)

    def assert_not_trusted(self):
        self.assertFalse(json.loads(self.galley("--json", "trust", "--show", expect=0).stdout)["trusted"])

    def test_trust_is_refused_without_a_terminal(self):
        result = self.galley("--json", "trust", stdin=b"y\nyes\n", expect=1, start_new_session=True)
        self.assertEqual(self.reason(result), "person.no_terminal")
        self.assert_not_trusted()

    def test_piped_input_is_not_an_answer(self):
        self.at_terminal("trust", answer="n", agent_input=b"y\n", expect=1)
        self.assert_not_trusted()

    def test_trust_is_refused_inside_exec(self):
        self.galley("begin", expect=0)
        program = os.path.abspath(hostile.GALLEY)
        self.galley("exec", "--", program, "-C", self.work, "trust")
        self.at_terminal("trust", answer="y", env={"GALLEY_SANDBOX": "1"}, expect=1)
        self.assert_not_trusted()

    def test_trust_shows_control_characters_escaped(self):
        self.write("galley.toml", '[[validator]]\nname = "t"\ncommand = ["sh", "-c", "true\\u202e # \\u001b[2K\\n"]\n')
        result = self.at_terminal("trust", answer="n", expect=1)
        self.assertIn(r'"true\U0000202E # \U0000001B[2K\U0000000A"', result.terminal)
        self.assertNotIn("\x1b", result.terminal)

    def test_a_change_of_the_part_ends_the_trust(self):
        self.at_terminal("trust", answer="yes", expect=0)
        self.write("galley.toml", TESTS + '[policy]\nprotected = ["LICENSE"]\n')
        self.apply(expect=0)  # a rule that narrows needs no trust
        self.write("README.md", "one\n")
        self.write("galley.toml", TESTS.replace("grep -q", "grep  -q"))
        self.apply(expect=1)

    def test_a_trust_is_listed_and_revoked(self):
        self.at_terminal("trust", answer="y", expect=0)
        listed = json.loads(self.galley("--json", "trust", "--list", expect=0).stdout)["trusted"]
        self.assertEqual([entry["root"] for entry in listed], [str(self.work)])
        self.assertEqual((self.home / ".local/state/galley/trust").stat().st_mode & 0o777, 0o700)
        self.galley("trust", "--revoke", expect=0)
        self.apply(expect=1)

    def test_trust_applies_to_one_folder(self):
        self.at_terminal("trust", answer="y", expect=0)
        other = self.scratch / "other"
        other.mkdir()
        (other / "galley.toml").write_text(TESTS)
        (other / "README.md").write_text("one\n")
        self.apply(work=other, expect=1)
        self.apply(expect=0)

    def test_a_hash_in_the_environment_serves_ci(self):
        self.apply(env={"GALLEY_TRUST": "0" * 64}, expect=1)
        self.apply(env={"GALLEY_TRUST": "0" * 64 + "," + self.hash()}, expect=0)
        self.assertEqual(self.galley("status", env={"GALLEY_TRUST": "yes"}).returncode, 2)

    def test_a_persons_own_configuration_serves_ci(self):
        self.own_config(f'trusted_folders = ["{self.scratch}"]\n')
        self.apply(expect=0)
        self.own_config("unattended = true\n")
        self.write("README.md", "one\n")
        self.apply(expect=1)
        self.galley("trust", expect=0, start_new_session=True)
        self.apply(expect=0)

    def test_records_inside_the_workspace_trust_nothing(self):
        inside = {"XDG_STATE_HOME": str(self.work / "state")}
        result = self.at_terminal("trust", answer="y", env=inside, expect=1)
        self.assertIn("inside the workspace itself", result.stderr.decode())
        self.own_config("")
        config = self.work / "config" / "galley"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(f'trusted_folders = ["{self.work}"]\n')
        self.apply(env={"XDG_CONFIG_HOME": str(self.work / "config")}, expect=1)

    def test_only_a_person_can_approve(self):
        self.write("galley.toml", '[[policy.rule]]\npaths = ["*"]\ndecision = "ask"\n')
        self.galley("begin", expect=0)
        self.galley("call", "Write", json.dumps({"file_path": "README.md", "content": "two\n"}), expect=0)
        proposal = json.loads(self.galley("diff", "--json", expect=0).stdout)["proposal"]
        result = self.galley("--json", "approve", proposal, stdin=b"y\n", expect=1, start_new_session=True)
        self.assertEqual(self.reason(result), "person.no_terminal")
        self.galley("commit", expect=1, start_new_session=True)
        self.at_terminal("approve", proposal, answer="y", expect=0)
        self.galley("commit", expect=0, start_new_session=True)

    def test_a_proposal_of_no_open_transaction_needs_its_whole_id(self):
        self.write("galley.toml", '[[policy.rule]]\npaths = ["*"]\ndecision = "ask"\n')
        patch = b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
        refused = self.galley("--json", "apply", "-", stdin=patch, expect=1, start_new_session=True)
        proposal = json.loads(refused.stdout)["proposal"]
        said = self.galley("approve", proposal[:12], expect=(1, 2)).stderr.decode()
        self.assertIn(f"no open transaction here proposes '{proposal[:12]}'", said)
        self.assertIn("give all 64 digits", said)
        self.at_terminal("approve", proposal, answer="y", expect=0)
        self.galley("apply", "-", stdin=patch, expect=0, start_new_session=True)


class Roots(TrustCase):
    def test_a_galley_toml_below_a_root_does_not_make_a_root(self):
        below = '[policy]\ndefault = "deny"\n'
        self.write("src/galley.toml", below)
        patch = b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
        for mark in (".git", "galley.toml"):
            path = self.work / mark
            self.git("init", "-q") if mark == ".git" else path.write_text("")
            self.galley("apply", "-", stdin=patch, work=self.work / "src", expect=0)
            self.assertTrue((self.work / "new.txt").exists(), mark)
            self.galley("undo", expect=0)
            if mark == ".git":
                shutil.rmtree(path)
                shutil.rmtree(self.work / ".galley")

    def test_a_galley_toml_without_a_root_above_it_applies(self):
        self.write("src/galley.toml", '[policy]\ndefault = "deny"\n')
        patch = b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
        self.galley("apply", "-", stdin=patch, work=self.work / "src", expect=1)

    @unittest.skipUnless(hostile.IS_ROOT, "only root can make another user's files")
    def test_nothing_starts_in_a_folder_of_another_user(self):
        """Ownership is checked before a program runs and before a byte is written, and not later at
        the undo."""
        subprocess.run(["chown", "-R", f"{hostile.OTHER_USER}", self.work], check=True)
        before = support.snapshot(self.work)
        mark = self.scratch / "mark"
        mark.mkdir()
        run = ("run", "--commit", "--allow-write", mark, "--", "sh", "-c", f"touch '{mark}/ran'; echo x > new")
        call = ("call", "--begin", "Write", '{"file_path": "new", "content": "x"}')
        for words in (("apply", "-"), ("stage", "--begin", "-"), ("begin",), run, call, ("exec", "--begin", "--", "true"),
                      ("exec", "--commit", "--", "sh", "-c", "echo x > new; echo ran >&2"),
                      ("init",), ("agents", "install", "claude", "--yes"), ("approve", "0" * 64), ("grant", "bot", "custom:x"), ("commit",)):
            with self.subTest(command=words[0]):
                result = self.galley("--json", *words, stdin=PATCH.encode(), expect=1)
                # Without a terminal, commands for a person are refused. There is nothing to commit.
                allowed = {"approve": "person.no_terminal", "grant": "person.no_terminal", "commit": self.reason(result)}
                self.assertEqual(self.reason(result), allowed.get(words[0], "workspace.foreign_owner"))
                self.assertEqual(support.snapshot(self.work), before)
                self.assertNotIn(b"ran\n", result.stderr)
                self.assertEqual(list(mark.iterdir()), [])
        self.galley("preview", "-", stdin=PATCH.encode(), expect=0)
        self.own_config(f'safe_directories = ["{self.work}"]\n')
        self.apply(expect=0)
        self.galley("undo", expect=0)

    @unittest.skipUnless(hostile.IS_ROOT, "only root can make another user's files")
    def test_another_users_configuration_above_neither_rules_nor_blocks(self):
        shared = self.scratch / "shared"
        mine = shared / "mine"
        mine.mkdir(parents=True)
        (mine / "README.md").write_text("one\n")
        (shared / "galley.toml").write_text('[policy]\ndefault = "deny"\n')
        os.chown(shared / "galley.toml", hostile.OTHER_USER, hostile.OTHER_USER)
        result = self.apply(work=mine, expect=0)
        self.assertIn("was passed by", result.stderr.decode())
        self.assertEqual((mine / "README.md").read_text(), "two\n")
        self.assertFalse((shared / ".galley").exists())

    @unittest.skipUnless(hostile.IS_ROOT, "only root can make another user's files")
    def test_another_users_git_does_not_hide_rules(self):
        """CVE-2022-24765 of git: a `.git` above, in a folder in which others may write too."""
        self.write("galley.toml", '[policy]\nprotected = ["README.md"]\n')
        inner = self.work / "inner"
        inner.mkdir()
        (inner / "README.md").write_text("one\n")
        for folder in (self.scratch, inner):
            git = folder / ".git"
            for make in (git.mkdir, git.touch, lambda path=git: path.symlink_to("nothing"), lambda path=git: os.mkfifo(path)):
                with self.subTest(folder=folder.name):
                    shutil.rmtree(self.work / ".galley", ignore_errors=True)  # a nearer root
                    make()
                    os.chown(git, hostile.OTHER_USER, hostile.OTHER_USER, follow_symlinks=False)
                    work = inner if folder == inner else self.work
                    said = self.apply(work=work, expect=1).stderr.decode()
                    self.assertIn("`policy.protected`", said)
                    self.assertIn(f"'{git}' belongs to another user", said)
                    self.galley("status", work=work, env={"SUDO_UID": str(hostile.OTHER_USER)}, expect=0)
                    git.rmdir() if git.is_dir() and not git.is_symlink() else git.unlink()
        shutil.rmtree(self.work / ".galley")
        self.own_config(f'safe_directories = ["{self.scratch}"]\n')
        (self.scratch / ".git").mkdir()
        os.chown(self.scratch / ".git", hostile.OTHER_USER, hostile.OTHER_USER)
        self.assertEqual(json.loads(self.galley("--json", "status", expect=0).stdout)["root"], str(self.scratch))

    @unittest.skipUnless(hostile.IS_ROOT, "only root can make another user's files")
    def test_a_clone_of_another_user_can_be_previewed(self):
        self.git("init", "-q")
        subprocess.run(["chown", "-R", f"{hostile.OTHER_USER}", self.work], check=True)
        result = self.galley("preview", "-", stdin=PATCH.encode(), expect=0)
        self.assertNotIn("passed by", result.stderr.decode())

    @unittest.skipUnless(hostile.IS_ROOT, "only root can make another user's files")
    def test_another_users_configuration_of_the_root_is_refused(self):
        config = self.write("galley.toml", "")
        os.chown(config, hostile.OTHER_USER, hostile.OTHER_USER)
        result = self.galley("--json", "status", expect=1)
        self.assertEqual(self.reason(result), "workspace.foreign_owner")
        self.galley("status", env={"SUDO_UID": str(hostile.OTHER_USER)}, expect=0)
        self.own_config(f'safe_directories = ["{self.work}"]\n')
        self.galley("status", expect=0)

    @unittest.skipUnless(hostile.IS_ROOT, "only root can make another user's files")
    def test_another_users_tree_without_either_can_be_previewed(self):
        for path in (self.work, self.work / "README.md"):
            os.chown(path, hostile.OTHER_USER, hostile.OTHER_USER)
        self.galley("preview", "-", stdin=PATCH.encode(), expect=0)


if __name__ == "__main__":
    hostile.main()
