"""`galley --repo DIR --ref BRANCH`: transactions on a branch of git, without a checkout.

After every test, `git fsck --strict` finds nothing in the repository."""

import json
import os
import shutil
import subprocess
import time
import unittest

from support import GALLEY, SystemCase, need_own_mounts, snapshot

RULES = """
[[policy.rule]]
paths = ["locked/**"]
decision = "deny"

[[validator]]
builtin = "json"
"""

TEXT = "".join(f"line {n}\n" for n in range(1, 21))


def patch(name, old, new):
    """Returns a diff that replaces one line of TEXT."""
    number = TEXT.split("\n").index(old) + 1
    first = max(1, number - 1)
    last = min(20, number + 1)
    lines = [f"-{old}\n+{new}\n" if n == number else f" line {n}\n" for n in range(first, last + 1)]
    count = last - first + 1
    return f"--- a/{name}\n+++ b/{name}\n@@ -{first},{count} +{first},{count} @@\n{''.join(lines)}".encode()


def new_file(name, *lines, mode="100644"):
    body = "".join(f"+{line}\n" for line in lines)
    return (f"diff --git a/{name} b/{name}\nnew file mode {mode}\n--- /dev/null\n+++ b/{name}\n"
            f"@@ -0,0 +1,{len(lines)} @@\n{body}").encode()


class BranchCase(SystemCase):
    """A repository with a branch `main`, and a bare clone of it."""

    OBJECT_FORMAT = "sha1"

    def setUp(self):
        super().setUp()
        self.environment |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        self.source = self.scratch / "source"
        self.source.mkdir()
        self.git("init", "-q", "-b", "main", f"--object-format={self.OBJECT_FORMAT}", work=self.source)
        self.write("a.txt", TEXT)
        self.write("deep/er/b.txt", TEXT)
        self.write("galley.toml", RULES)
        self.commit("first")
        self.repository = self.scratch / "repo.git"
        self.git("clone", "-q", "--bare", self.source, self.repository, work=self.scratch)
        self.identify(self.repository)
        self.addCleanup(self.check_repositories)

    def identify(self, repository):
        self.git("config", "user.name", "A Person", work=repository)
        self.git("config", "user.email", "person@example.org", work=repository)

    def check_repositories(self):
        for repository in (self.source, self.repository):
            said = self.git("fsck", "--strict", "--no-dangling", work=repository, check=False)
            self.assertEqual((said.returncode, said.stdout, said.stderr), (0, b"", b""))

    def write(self, name, text):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, message):
        self.identify(self.source)
        self.git("add", "-A", work=self.source)
        self.git("commit", "-q", "-m", message, work=self.source)

    def push(self, message):
        """Commits the source, and pushes that to the bare repository as another person would."""
        self.commit(message)
        self.git("push", "-q", "-f", self.repository, "main", work=self.source)

    def pull(self):
        self.git("fetch", "-q", self.repository, "main", work=self.source)
        self.git("reset", "-q", "--hard", "FETCH_HEAD", work=self.source)

    def branch(self, *arguments, ref="main", repository=None, **options):
        return self.galley("--repo", repository or self.repository, "--ref", ref, *arguments, **options)

    def tell(self, *arguments, **options):
        return json.loads(self.branch("--json", *arguments, **options).stdout)

    def read_git(self, *arguments, repository=None):
        return self.git(*arguments, work=repository or self.repository).stdout.decode()

    def tip(self, ref="main", repository=None):
        return self.read_git("rev-parse", ref, repository=repository).strip()

    def file(self, name, ref="main"):
        return self.git("show", f"{ref}:{name}", work=self.repository).stdout

    def subjects(self):
        return self.read_git("log", "--format=%s", "main").split("\n")[:-1]

    def wrap_git(self, before="", after=""):
        """Puts a `git` on PATH that runs shell text before and after its first update-ref."""
        folder = self.scratch / "bin"
        folder.mkdir(exist_ok=True)
        real = shutil.which("git")
        done = self.scratch / "wrapped"
        done.unlink(missing_ok=True)
        (folder / "git").write_text(
            f'#!/bin/sh\ncase " $* " in\n*" update-ref "*)\n  if [ -e {done} ]; then exec {real} "$@"; fi\n  : > {done}\n'
            f'  {before}\n  {real} "$@"; status=$?\n  {after}\n  exit $status;;\nesac\nexec {real} "$@"\n')
        (folder / "git").chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}


class Commits(BranchCase):
    def test_a_patch_becomes_one_commit_and_undo_reverts_it(self):
        before = self.tip()
        told = self.tell("--reason", "raise line 2", "apply", "-",
                         stdin=patch("a.txt", "line 2", "line two"), expect=0)
        self.assertEqual(told["receipt"]["gitCommit"], self.tip())
        self.assertEqual(self.tip("main~1"), before)
        self.assertEqual(self.file("a.txt").decode(), TEXT.replace("line 2\n", "line two\n"))
        self.assertEqual(self.subjects(), ["raise line 2", "first"])
        self.assertEqual(self.read_git("log", "-1", "--format=%an <%ae> %cn").strip(),
                         "A Person <person@example.org> A Person")
        trailers = dict(line.split(": ", 1) for line in
                        self.read_git("log", "-1", "--format=%(trailers:only)").strip().split("\n"))
        self.assertEqual(trailers["Galley-Transaction"].split()[0], "1")
        self.assertEqual(trailers["Galley-Reason"], "raise line 2")
        self.assertRegex(trailers["Galley-Verdict"], "^[0-9a-f]{64}$")
        self.branch("undo", expect=0)
        self.assertEqual(self.tip("main^{tree}"), self.tip(f"{before}^{{tree}}"))
        self.assertEqual(self.read_git("log", "-1", "--format=%(trailers:key=Galley-Undoes,valueonly)").strip(), "1")
        self.branch("redo", expect=0)
        self.assertEqual(self.file("a.txt").decode(), TEXT.replace("line 2\n", "line two\n"))

    def test_the_history_is_that_of_a_directory(self):
        self.branch("--reason", "one", "apply", "-", stdin=patch("a.txt", "line 2", "line two"), expect=0)
        self.branch("--reason", "two", "apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        log = self.branch("log", expect=0).stdout.decode()
        self.assertIn("one", log)
        self.assertIn(self.tip()[:10], log)
        self.assertIn("+line two", self.branch("show", "1", expect=0).stdout.decode())
        self.assertIn("(older)", self.branch("blame", "a.txt", expect=0).stdout.decode())
        self.assertRegex(self.branch("blame", "n.txt", expect=0).stdout.decode(), "^2 ")
        self.branch("audit", "verify", expect=0)
        rows = self.branch("query", "SELECT count(*) FROM transactions", expect=0).stdout
        self.assertIn(b"2", rows)
        log = self.repository / "galley/refs/heads/main/.galley/audit.jsonl"
        records = [json.loads(line) for line in log.read_text().splitlines()]
        verdicts = {record["input"]["verdict"] for record in records if "verdict" in (record.get("input") or {})}
        trailers = self.read_git("log", "-2", "--format=%(trailers:key=Galley-Verdict,valueonly)").split()
        self.assertEqual(verdicts, set(trailers))

    def test_a_stored_transaction_stays_open_and_is_committed_later(self):
        self.branch("begin", "-m", "later", expect=0)
        self.branch("stage", "-", stdin=patch("deep/er/b.txt", "line 5", "line five"), expect=0)
        self.branch("call", "Write", '{"file_path": "new/c.txt", "content": "c\\n"}', expect=0)
        self.assertIn(b"+line five", self.branch("diff", expect=0).stdout)
        self.assertIn(b"later", self.branch("status", expect=0).stdout)
        self.assertEqual(self.subjects(), ["first"])
        self.branch("commit", expect=0)
        self.assertEqual(self.subjects(), ["later", "first"])
        self.assertEqual(self.file("new/c.txt"), b"c\n")

    def test_a_preview_writes_nothing(self):
        before = snapshot(self.repository, with_times=True)
        told = self.branch("preview", "-", stdin=patch("a.txt", "line 2", "line two"), expect=0)
        self.assertIn(b"+line two", told.stdout)
        self.assertEqual(snapshot(self.repository, with_times=True), before)

    def test_rules_and_validators_of_the_tree_count(self):
        before = self.tip()
        said = self.branch("apply", "-", stdin=new_file("locked/a.txt", "x"), expect=1)
        self.assertIn(b"locked", said.stderr + said.stdout)
        self.branch("apply", "-", stdin=new_file("broken.json", "{"), expect=1)
        self.assertEqual(self.tip(), before)

    def test_commands_see_the_branch(self):
        self.branch("begin", expect=0)
        self.branch("exec", "--", "sh", "-c", "tr a-z A-Z < a.txt > upper.txt; rm deep/er/b.txt", expect=0)
        self.branch("commit", expect=0)
        self.assertEqual(self.file("upper.txt").decode(), TEXT.upper())
        self.assertEqual(self.read_git("ls-tree", "-r", "--name-only", "main").split(),
                         ["a.txt", "galley.toml", "upper.txt"])
        # The next command needs the new tree as files.
        self.branch("begin", expect=0)
        told = self.branch("exec", "--", "head", "-n", "1", "upper.txt", expect=0)
        self.assertIn(b"LINE 1", told.stdout)

    def test_the_ignore_files_of_the_branch_decide_what_a_command_proposes(self):
        self.write(".gitignore", ".env\nbuild/\n*.log\n")
        self.write("build/kept.txt", "old\n")
        self.git("add", "-f", "build/kept.txt", work=self.source)
        self.push("ignore")
        script = "echo s > .env; echo new > build/kept.txt; echo o > build/out; echo l > deep/a.log; echo ok > ok.txt"
        self.branch("begin", expect=0)
        told = self.branch("exec", "--", "sh", "-c", script, expect=0)
        self.assertIn(b"git ignores", told.stdout + told.stderr)
        self.branch("exec", "--", "cat", ".env", "build/out", "deep/a.log", expect=0)
        self.branch("commit", expect=0)
        changed = "diff", "--name-only", "main~", "main"
        self.assertEqual(self.read_git(*changed).split(), ["build/kept.txt", "ok.txt"])
        self.branch("exec", "--commit", "--propose-ignored", "--", "sh", "-c", "echo s > .env", expect=0)
        self.assertEqual(self.read_git(*changed).split(), [".env"])

    def test_an_ignored_output_does_not_hide_a_file_that_the_branch_has_since(self):
        self.write(".gitignore", ".env\n")
        self.push("ignore")
        self.branch("begin", expect=0)
        self.branch("exec", "--", "sh", "-c", "echo mine > .env", expect=0)
        self.write(".env", "theirs\n")
        self.git("add", "-f", ".env", work=self.source)
        self.push("track it")
        said = self.branch("exec", "--", "sh", "-c", "cat .env; echo more >> .env", expect=0)
        self.assertEqual(said.stdout, b"theirs\n")
        self.branch("commit", expect=0)
        self.assertEqual(self.file(".env"), b"theirs\nmore\n")

    def test_a_file_whose_name_is_too_long_for_a_disk_is_not_left_out_in_silence(self):
        blob = self.git("hash-object", "-w", "--stdin", work=self.repository, stdin=b"x\n").stdout.decode().strip()
        name = "n" * 300
        tree = self.git("mktree", work=self.repository, stdin=f"100644 blob {blob}\t{name}\n".encode()).stdout.decode().strip()
        self.git("update-ref", "refs/heads/long", self.git("commit-tree", "-m", "x", tree, work=self.repository).stdout.decode().strip(),
                 work=self.repository)
        self.branch("begin", ref="long", expect=0)
        told = self.branch("exec", "--", "ls", ref="long", expect=1)
        self.assertIn(name, told.stderr.decode())

    def test_two_branches_in_turn_are_laid_out_once(self):
        self.environment["XDG_CACHE_HOME"] = str(self.scratch / "cache")
        for number in range(300):
            self.write(f"main/{number}.txt", "main\n")
        self.push("main")
        self.git("mv", "main", "other", work=self.source)
        self.commit("other")
        self.git("push", "-q", self.repository, "HEAD:refs/heads/other", work=self.source)

        def run_on_both():
            for ref in ("main", "other"):
                self.branch("begin", ref=ref, expect=0)
                told = self.branch("exec", "--", "ls", ref=ref, expect=0)
                self.assertIn(ref, told.stdout.decode().split())
                self.branch("rollback", ref=ref, expect=0)
            files = [path for path in self.scratch.rglob("repository/*/tree*/files/*/*.txt")]
            return {path: path.stat().st_ctime_ns for path in files}

        first = run_on_both()
        self.assertEqual(len([path for path in first if path.parent.name in ("main", "other")]), 600)
        self.assertEqual(run_on_both(), first)

    def test_earlier_trees_forks_and_savepoints_work(self):
        self.branch("apply", "-", stdin=patch("a.txt", "line 1", "line one"), expect=0)
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        told = self.branch("at", "1", "--", "sh", "-c", "head -n 1 a.txt; ls", expect=0)
        self.assertEqual(told.stdout.split(), [b"line", b"one", b"a.txt", b"deep", b"galley.toml"])
        self.branch("begin", expect=0)
        self.branch("stage", "-", stdin=new_file("one.txt", "x"), expect=0)
        self.branch("savepoint", "first", expect=0)
        self.branch("stage", "-", stdin=new_file("two.txt", "x"), expect=0)
        self.branch("rollback", "--to", "first", expect=0)
        fork = self.branch("fork", expect=0).stdout.decode().strip()
        self.branch("--reason", "picked", "pick", fork, expect=0)
        self.assertEqual(self.subjects()[0], "picked")
        self.assertEqual(self.file("one.txt"), b"x\n")
        self.assertNotIn("two.txt", self.read_git("ls-tree", "--name-only", "main"))

    def test_a_rule_that_asks_takes_an_approval(self):
        self.write("galley.toml", '[[policy.rule]]\npaths = ["asked.txt"]\ndecision = "ask"\n')
        self.push("rules")
        self.branch("begin", expect=0)
        self.branch("stage", "-", stdin=new_file("asked.txt", "x"), expect=0)
        proposal = self.tell("diff", expect=(0, 1))["proposal"]
        self.branch("commit", expect=1)
        self.branch("approve", proposal, expect=0)
        self.branch("commit", expect=0)
        self.assertEqual(self.file("asked.txt"), b"x\n")

    def test_command_validators_see_the_proposed_tree(self):
        self.write("galley.toml", '[[validator]]\nname = "no-x"\ncommand = ["sh", "-c", "! grep -r x *.txt"]\n')
        self.push("rules")
        self.branch("apply", "-", stdin=new_file("fine.txt", "y"), expect=0)
        before = self.tip()
        self.branch("apply", "-", stdin=new_file("bad.txt", "x"), expect=1)
        self.assertEqual(self.tip(), before)

    def test_an_untrusted_configuration_runs_nothing(self):
        self.write("galley.toml", '[[validator]]\nname = "own"\ncommand = ["false"]\n')
        self.push("rules")
        own = self.scratch / "other" / "galley" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text("unattended = true\n")
        env = {"XDG_CONFIG_HOME": str(self.scratch / "other")}
        for words, reason in ((), "gate.not_trusted"), (("trust",), "gate.validator_failed"):
            if words:
                self.branch(*words, env=env, expect=0)
            told = self.tell("apply", "-", stdin=new_file("fine.txt", "y"), env=env, expect=1)
            self.assertEqual(told["reason"], reason)

    def test_a_subject_cannot_forge_trailers(self):
        self.branch("--reason", "fine\n\nGalley-Agent: root\nGalley-Verdict: 0", "apply", "-",
                    stdin=new_file("n.txt", "x"), expect=0)
        self.assertEqual(self.read_git("log", "-1", "--format=%(trailers:key=Galley-Agent,valueonly)").strip(), "")


class Surroundings(BranchCase):
    def test_objects_of_other_repositories_are_written_here_too(self):
        other = self.scratch / "other"
        self.git("init", "-q", other, work=self.scratch)
        self.git("hash-object", "-w", "--stdin", work=other, stdin=b"foreign\n")
        env = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(other / ".git/objects"), "GIT_QUARANTINE_PATH": "/nowhere",
               "GIT_SHALLOW_FILE": "/nowhere"}
        self.branch("apply", "-", stdin=new_file("q", "foreign"), env=env, expect=0)
        shutil.rmtree(other)
        self.assertEqual(self.file("q"), b"foreign\n")

    def test_a_branch_that_a_work_tree_rebases_does_not_move(self):
        linked = self.scratch / "linked"
        self.git("branch", "topic", "main", work=self.repository)
        self.git("worktree", "add", "-q", linked, "topic", work=self.repository)
        self.identify(linked)
        (linked / "t.txt").write_text("t\n")
        self.git("add", "-A", work=linked)
        self.git("commit", "-qm", "topic", work=linked)
        self.git("-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "--force-rebase", "HEAD~1",
                 work=linked)
        before = self.tip("topic")
        said = self.branch("apply", "-", stdin=new_file("n.txt", "x"), ref="topic", expect=1)
        self.assertIn(b"is checked out", said.stderr)
        self.assertEqual(self.tip("topic"), before)
        self.git("-c", "core.editor=true", "rebase", "--continue", work=linked)
        self.assertEqual(self.read_git("log", "-1", "--format=%s", "topic").strip(), "topic")

    def test_a_reason_forges_no_trailers(self):
        self.branch("--reason", "x\n\nGalley-Verdict: forged\nGalley-Agent: root\n---\nz", "apply", "-",
                    stdin=new_file("n.txt", "x"), expect=0)
        message = self.read_git("log", "-1", "--format=%B")
        self.assertNotRegex(message, "(?m)^(---|Galley-Verdict: forged|Galley-Agent)")
        read = self.git("interpret-trailers", "--parse", work=self.repository, stdin=message.encode()).stdout.decode()
        self.assertIn("Galley-Transaction: 1", read)
        self.assertNotIn("forged", read)


class Contents(BranchCase):
    def test_modes_links_and_bytes_are_kept(self):
        self.write(".gitattributes", "* text=auto eol=lf\n*.txt filter=own\n")
        self.write("crlf.txt", b"one\r\ntwo\r\n")
        self.git("config", "core.autocrlf", "false", work=self.source)
        (self.source / "link").symlink_to("a.txt")
        self.push("more")
        self.git("config", "filter.own.clean", f"touch {self.scratch}/ran", work=self.repository)
        change = (b"diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+#!/bin/sh\n"
                  b"diff --git a/to b/to\nnew file mode 120000\n--- /dev/null\n+++ b/to\n@@ -0,0 +1 @@\n+deep/er\n"
                  b"\\ No newline at end of file\n"
                  b'diff --git "a/q\\"\\303\\244.txt" "b/q\\"\\303\\244.txt"\nnew file mode 100644\n--- /dev/null\n'
                  b'+++ "b/q\\"\\303\\244.txt"\n@@ -0,0 +1 @@\n+odd\n')
        self.branch("apply", "-", stdin=change, expect=0)
        listed = self.git("ls-tree", "-r", "-z", "main", work=self.repository).stdout.decode().split("\0")[:-1]
        modes = {line.split("\t", 1)[1]: line.split()[0] for line in listed}
        self.assertEqual(modes["run.sh"], "100755")
        self.assertEqual(modes["to"], "120000")
        self.assertEqual(modes['q"ä.txt'], "100644")
        self.assertEqual(modes["link"], "120000")
        self.assertFalse((self.scratch / "ran").exists())

    def test_line_endings_are_byte_for_byte(self):
        self.branch("begin", expect=0)
        self.branch("call", "Write", json.dumps({"file_path": "crlf.txt", "content": "a\r\nb\r\n"}), expect=0)
        self.branch("commit", expect=0)
        self.assertEqual(self.file("crlf.txt"), b"a\r\nb\r\n")

    def test_the_umask_has_no_effect(self):
        def close():
            os.umask(0o077)
        self.branch("apply", "-", stdin=new_file("n.txt", "x") + new_file("s.sh", "x", mode="100755"),
                    preexec_fn=close, expect=0)
        self.assertEqual(self.read_git("ls-tree", "--format=%(objectmode)", "main", "n.txt", "s.sh").split(),
                         ["100644", "100755"])
        self.branch("undo", expect=0, preexec_fn=close)
        self.assertEqual(self.read_git("ls-tree", "--name-only", "main", "n.txt", "s.sh"), "")

    def test_a_file_replaced_by_one_with_another_mode_has_the_nearest_of_git(self):
        """mktemp makes files with the mode 0600."""
        old = self.file("a.txt")
        self.branch("begin", expect=0)
        self.branch("exec", "--", "sh", "-c", "t=$(mktemp); echo new > $t; mv $t a.txt", expect=0)
        self.branch("commit", expect=0)
        self.assertEqual(self.file("a.txt"), b"new\n")
        self.assertEqual(self.read_git("ls-tree", "--format=%(objectmode)", "main", "a.txt").strip(), "100644")
        self.branch("undo", expect=0)
        self.assertEqual(self.file("a.txt"), old)

    def test_what_git_cannot_store_is_refused(self):
        before = self.tip()
        self.branch("begin", expect=0)
        self.branch("exec", "--", "chmod", "600", "a.txt", expect=0)
        said = self.tell("commit", expect=1)
        self.assertEqual(said["reason"], "git.mode")
        self.branch("rollback", expect=0)
        self.branch("begin", expect=0)
        self.branch("exec", "--", "mkdir", "empty", expect=0)
        self.assertEqual(self.tell("commit", expect=1)["reason"], "git.only_directories")
        self.assertEqual(self.tip(), before)

    def test_a_linked_gitmodules_is_refused(self):
        """git fsck calls it an error, and servers refuse it."""
        before = self.tip()
        for name in (".gitmodules", "deep/.GITMODULES"):
            change = new_file(name, "a.txt", mode="120000") + b"\\ No newline at end of file\n"
            self.assertEqual(self.tell("apply", "-", stdin=change, expect=1)["reason"], "git.modules_link")
        self.assertEqual(self.tip(), before)

    def test_a_submodule_is_left_alone(self):
        link = self.tip()
        self.git("update-index", "--add", "--cacheinfo", f"160000,{link},sub", work=self.source)
        self.git("commit", "-q", "-m", "sub", work=self.source)
        self.git("push", "-q", self.repository, "main", work=self.source)
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        self.assertIn(f"160000 commit {link}\tsub", self.read_git("ls-tree", "main"))
        before = self.tip()
        said = self.tell("apply", "-", stdin=new_file("sub/x.txt", "x"), expect=1)
        self.assertEqual(said["reason"], "git.submodule")
        self.assertEqual(self.tip(), before)

    def test_a_file_becomes_a_directory_and_back(self):
        change = (b"diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n@@ -1,20 +0,0 @@\n"
                  + b"".join(b"-" + line + b"\n" for line in TEXT.encode().splitlines())
                  + new_file("a.txt/in", "x"))
        before = self.tip("main^{tree}")
        self.branch("apply", "-", stdin=change, expect=0)
        self.assertEqual(self.file("a.txt/in"), b"x\n")
        self.branch("undo", expect=0)
        self.assertEqual(self.tip("main^{tree}"), before)


class LongIds(BranchCase):
    OBJECT_FORMAT = "sha256"

    def test_a_repository_with_sha256_is_served(self):
        self.branch("apply", "-", stdin=patch("deep/er/b.txt", "line 2", "line two"), expect=0)
        self.assertEqual(len(self.tip()), 64)
        self.branch("undo", expect=0)
        self.assertEqual(self.tip("main^{tree}"), self.tip("main~2^{tree}"))


class Moves(BranchCase):
    """The branch moves between the preview and the commit."""

    def stage(self, document):
        self.branch("begin", "-m", "ours", expect=0)
        self.branch("stage", "-", stdin=document, expect=0)

    def test_changes_of_others_are_merged_and_judged(self):
        self.stage(patch("a.txt", "line 2", "line two"))
        self.write("a.txt", TEXT.replace("line 18\n", "line theirs\n"))
        self.write("other.txt", "other\n")
        self.push("theirs")
        theirs = self.tip()
        self.branch("commit", expect=0)
        self.assertEqual(self.tip("main~1"), theirs)
        self.assertEqual(self.file("a.txt").decode(),
                         TEXT.replace("line 18\n", "line theirs\n").replace("line 2\n", "line two\n"))
        self.assertEqual(self.file("other.txt"), b"other\n")

    def test_the_same_lines_are_a_conflict(self):
        self.stage(patch("a.txt", "line 2", "line two"))
        self.write("a.txt", TEXT.replace("line 2\n", "line theirs\n"))
        self.push("theirs")
        before = self.tip()
        told = self.tell("commit", expect=1)
        self.assertEqual([path["path"] for path in told["conflict"]["paths"]], ["a.txt"])
        self.assertEqual(self.tip(), before)
        said = self.branch("commit", "--conflict=markers", expect=1).stderr.decode()
        self.assertIn(" stage --tx", said)
        self.assertNotIn("edit --tx", said)
        self.assertIn(b"<<<<<<<", self.branch("diff", expect=0).stdout)

    def test_a_reviewed_proposal_stays_valid_if_others_touch_other_files(self):
        self.stage(patch("a.txt", "line 2", "line two"))
        proposal = self.tell("diff", expect=(0, 1))["proposal"]
        self.write("other.txt", "other\n")
        self.push("theirs")
        self.branch("commit", "--proposal", proposal, expect=0)
        self.assertEqual(self.subjects(), ["ours", "theirs", "first"])

    def test_a_move_in_the_last_moment_is_merged(self):
        self.write("other.txt", "other\n")
        self.commit("theirs")
        theirs = self.tip("main", repository=self.source)
        self.git("push", "-q", self.repository, "main:refs/heads/theirs", work=self.source)
        env = self.wrap_git(before=f'git --git-dir {self.repository} update-ref refs/heads/main {theirs}')
        self.branch("--reason", "ours", "apply", "-", stdin=patch("a.txt", "line 2", "line two"), env=env, expect=0)
        self.assertEqual(self.subjects(), ["ours", "theirs", "first"])
        self.assertEqual(self.file("other.txt"), b"other\n")

    def test_new_rules_in_the_last_moment_stop_the_commit(self):
        self.write("galley.toml", RULES + '[[policy.rule]]\npaths = ["a.txt"]\ndecision = "deny"\n')
        self.commit("theirs")
        theirs = self.tip("main", repository=self.source)
        self.git("push", "-q", self.repository, "main:refs/heads/theirs", work=self.source)
        env = self.wrap_git(before=f'git --git-dir {self.repository} update-ref refs/heads/main {theirs}')
        told = self.tell("apply", "-", stdin=patch("a.txt", "line 2", "line two"), env=env, expect=1)
        self.assertEqual(told["reason"], "config.changed_on_branch")
        self.assertEqual(self.tip(), theirs)

    def test_a_deleted_branch_is_an_error(self):
        self.stage(patch("a.txt", "line 2", "line two"))
        self.git("branch", "keep", "main", work=self.repository)
        self.git("update-ref", "-d", "refs/heads/main", work=self.repository)
        self.assertEqual(self.tell("commit", expect=1)["reason"], "git.no_such_branch")
        self.git("branch", "main", "keep", work=self.repository)
        self.branch("commit", expect=0)

    def test_commits_at_the_same_time_are_all_made(self):
        command = [GALLEY, "-C", str(self.work), "--repo", str(self.repository), "--ref", "main", "apply", "-"]
        started = []
        for number in range(4):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       env={**os.environ, **self.environment})
            process.stdin.write(new_file(f"n{number}.txt", "x"))
            process.stdin.close()
            started.append(process)
        for process in started:
            said = process.stdout.read()
            self.assertEqual(process.wait(), 0, said)
            process.stdout.close()
        self.assertEqual(self.read_git("rev-list", "--count", "main").strip(), "5")
        self.assertEqual(self.read_git("rev-list", "--merges", "main"), "")
        self.branch("audit", "verify", expect=0)

    def test_an_undo_merges_later_commits(self):
        self.branch("apply", "-", stdin=patch("a.txt", "line 2", "line two"), expect=0)
        self.pull()
        self.write("a.txt", (self.source / "a.txt").read_text().replace("line 18\n", "line theirs\n"))
        self.push("theirs")
        self.branch("undo", expect=0)
        self.assertEqual(self.file("a.txt").decode(), TEXT.replace("line 18\n", "line theirs\n"))


class Branches(BranchCase):
    def test_names_that_are_not_branches_are_refused(self):
        self.git("tag", "v1", "main", work=self.repository)
        for name, reason in (("nowhere", "git.no_such_branch"), ("refs/tags/v1", "git.not_a_branch"),
                             ("main~0", "git.not_a_branch"), ("main@{0}", "git.not_a_branch"),
                             ("-x", "git.no_such_branch"), ("a..b", "git.not_a_branch"), ("v1", "git.no_such_branch"),
                             ("refs/remotes/origin/main", "git.not_a_branch"), ("a b", "git.not_a_branch")):
            with self.subTest(name=name):
                said = self.galley("--json", "--repo", self.repository, f"--ref={name}", "status", expect=(1, 2))
                self.assertEqual(json.loads(said.stdout)["reason"], reason)
        said = self.galley("--json", "--repo", self.scratch / "work", "status", expect=1)
        self.assertEqual(json.loads(said.stdout)["reason"], "git.no_repository")

    def test_a_checked_out_branch_does_not_move(self):
        before = snapshot(self.source, skip=())
        for repository in (self.source, self.source / ".git", self.source / "deep"):
            told = self.tell("apply", "-", repository=repository, stdin=new_file("n.txt", "x"), expect=1)
            self.assertEqual(told["reason"], "git.checked_out")
        self.assertEqual({path: facts for path, facts in snapshot(self.source, skip=()).items()
                          if not path.startswith(".git/galley")}, before)
        self.git("worktree", "add", "-q", "-b", "linked", self.scratch / "linked", work=self.source)
        told = self.tell("apply", "-", ref="linked", repository=self.source, stdin=new_file("n.txt", "x"), expect=1)
        self.assertEqual(told["reason"], "git.checked_out")
        shutil.rmtree(self.scratch / "linked")
        told = self.tell("apply", "-", ref="linked", repository=self.source, stdin=new_file("n.txt", "x"), expect=1)
        self.assertEqual(told["reason"], "git.checked_out")
        self.assertIn("git worktree prune", told["message"])
        self.git("worktree", "prune", work=self.source)
        self.branch("apply", "-", ref="linked", repository=self.source, stdin=new_file("n.txt", "x"), expect=0)

    def test_another_branch_of_a_work_tree_moves_with_a_reflog_entry(self):
        self.git("branch", "other", work=self.source)
        self.branch("--reason", "ours", "apply", "-", ref="other", repository=self.source, stdin=new_file("n.txt", "x"),
                    expect=0)
        self.assertEqual(self.read_git("reflog", "-1", "--format=%gs", "other", repository=self.source).strip(),
                         "galley: transaction 1")
        self.assertEqual(self.read_git("status", "--porcelain", repository=self.source), "")
        self.assertIn("ours", self.branch("log", ref="other", repository=self.source, expect=0).stdout.decode())
        # Each branch has its own history, and so has the directory.
        self.assertNotIn(b"ours", self.branch("log", repository=self.source, expect=(0, 1)).stdout)
        self.assertNotIn(b"ours", self.galley("log", work=self.source, expect=(0, 1)).stdout)

    def test_head_is_the_default_and_must_name_a_branch(self):
        self.galley("--repo", self.repository, "apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        self.assertEqual(self.file("n.txt"), b"x\n")
        self.git("checkout", "-q", "--detach", work=self.source)
        said = self.galley("--json", "--repo", self.source, "status", expect=2)
        self.assertEqual(json.loads(said.stdout)["reason"], "git.not_a_branch")

    def test_packed_and_symbolic_references_are_followed(self):
        self.git("pack-refs", "--all", work=self.repository)
        self.git("symbolic-ref", "refs/heads/alias", "refs/heads/main", work=self.repository)
        self.branch("apply", "-", ref="alias", stdin=new_file("n.txt", "x"), expect=0)
        self.assertEqual(self.file("n.txt"), b"x\n")
        self.assertEqual(self.read_git("symbolic-ref", "refs/heads/alias").strip(), "refs/heads/main")

    def test_a_locked_branch_is_an_error_that_names_the_file(self):
        lock = self.repository / "refs" / "heads" / "main.lock"
        lock.write_text("")
        before = self.tip()
        told = self.tell("apply", "-", stdin=new_file("n.txt", "x"), expect=1)
        self.assertEqual(told["reason"], "git.ref_locked")
        self.assertIn("main.lock", told["message"])
        lock.unlink()
        self.assertEqual(self.tip(), before)
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        self.branch("audit", "verify", expect=0)

    def test_a_read_only_repository_can_be_previewed(self):
        need_own_mounts()
        (self.scratch / "change").write_bytes(new_file("n.txt", "x"))
        for command, status in (("preview", 0), ("apply", 3)):
            said = subprocess.run(
                ["unshare", "-rm", "sh", "-c", f"mount --bind {self.repository} {self.repository} && "
                 f"mount -o remount,ro,bind {self.repository} && exec {GALLEY} --repo {self.repository} --ref main "
                 f"{command} {self.scratch}/change"],
                capture_output=True, check=False, env={**os.environ, **self.environment})
            self.assertEqual(said.returncode, status, said.stderr)
        self.assert_one_clear_message(said)

    def test_git_variables_of_the_caller_are_ignored(self):
        before = self.tip("main", repository=self.source)
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), env={"GIT_DIR": str(self.source / ".git")}, expect=0)
        self.assertEqual(self.file("n.txt"), b"x\n")
        self.assertEqual(self.tip("main", repository=self.source), before)


class Programs(BranchCase):
    def test_no_program_of_the_repository_runs(self):
        ran = self.scratch / "ran"
        hooks = self.repository / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("reference-transaction", "post-commit", "pre-commit", "commit-msg", "post-update", "update"):
            (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
            (hooks / name).chmod(0o755)
        program = self.scratch / "program"
        program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
        program.chmod(0o755)
        for key, value in (("core.fsmonitor", program), ("gpg.program", program), ("commit.gpgSign", "true"),
                           ("core.editor", program), ("core.hooksPath", hooks), ("alias.update-ref", f"!{program}"),
                           ("core.pager", program), ("gc.auto", "1")):
            self.git("config", key, value, work=self.repository)
        told = self.tell("apply", "-", stdin=new_file("n.txt", "x"), expect=1)
        self.assertEqual(told["reason"], "git.no_signature")
        self.git("config", "commit.gpgSign", "false", work=self.repository)
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        self.branch("undo", expect=0)
        self.assertFalse(ran.exists())

    @unittest.skipUnless(shutil.which("ssh-keygen"), "needs ssh-keygen (openssh-client)")
    def test_commits_are_signed_with_the_key_of_the_person(self):
        key = self.scratch / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        allowed = self.scratch / "allowed"
        allowed.write_text("person@example.org " + key.with_suffix(".pub").read_text())
        own = self.scratch / "gitconfig"
        own.write_text(f"[commit]\n gpgSign = true\n[gpg]\n format = ssh\n[user]\n signingKey = {key}\n")
        self.environment["GIT_CONFIG_GLOBAL"] = str(own)
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        self.branch("undo", expect=0)
        for commit in ("main", "main~1"):
            said = self.git("-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-commit", commit, work=self.repository)
            self.assertIn(b'Good "git" signature for person@example.org', said.stderr)
        before = self.tip()
        key.unlink()
        told = self.tell("apply", "-", stdin=new_file("m.txt", "x"), expect=1)
        self.assertEqual((told["reason"], self.tip()), ("git.no_signature", before))

    def test_a_commit_without_an_author_is_refused(self):
        self.git("config", "--unset", "user.name", work=self.repository)
        self.git("config", "--unset", "user.email", work=self.repository)
        self.git("config", "user.useConfigOnly", "true", work=self.repository)
        before = self.tip()
        told = self.tell("apply", "-", stdin=new_file("n.txt", "x"), expect=1)
        self.assertEqual(told["reason"], "git.no_identity")
        self.assertIn("user.email", told["message"])
        self.assertEqual(self.tip(), before)
        env = {"GIT_AUTHOR_NAME": "Other", "GIT_AUTHOR_EMAIL": "o@example.org", "GIT_COMMITTER_NAME": "C",
               "GIT_COMMITTER_EMAIL": "c@example.org"}
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), env=env, expect=0)
        self.assertEqual(self.read_git("log", "-1", "--format=%an %cn").strip(), "Other C")

    def test_commands_that_need_a_directory_say_so(self):
        before = snapshot(self.work)
        for words in (("check",), ("init",), ("run", "true"), ("mcp",), ("hook", "install"), ("doctor",),
                      ("agents", "install", "codex"), ("review",)):
            with self.subTest(command=words[0]):
                said = self.galley("--json", "--repo", self.repository, *words, expect=2)
                self.assertEqual(json.loads(said.stdout)["reason"], "git.needs_directory")
        said = self.galley("--json", "--ref", "main", "status", expect=2)
        self.assertEqual(json.loads(said.stdout)["reason"], "git.ref_without_repository")
        self.assertEqual(snapshot(self.work), before)

    def test_the_tool_git_commit_is_not_offered(self):
        """A commit of the branch is one of git already, and the tool would commit another index."""
        self.branch("begin", expect=0)
        said = self.branch("call", "GitCommit", '{"message": "x"}', expect=(1, 2))
        self.assertIn(b"GitCommit", said.stdout + said.stderr)


class Pushes(BranchCase):
    """`galley push` from the bare repository to another bare one, the team's."""

    def setUp(self):
        super().setUp()
        self.team = self.scratch / "team.git"
        self.git("clone", "-q", "--bare", self.repository, self.team, work=self.scratch)
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)

    def team_tip(self):
        return self.tip(repository=self.team)

    def audit_log(self):
        return next(self.repository.rglob("audit.jsonl")).read_bytes()

    def test_a_branch_is_pushed_and_a_second_push_has_nothing_to_do(self):
        before = self.team_tip()
        told = self.tell("push", self.team, expect=0)
        self.assertEqual((told["branch"], told["from"], told["to"]), ("refs/heads/main", before, self.tip()))
        self.assertEqual(self.team_tip(), self.tip())
        self.assertIn(b"has this commit already", self.branch("push", self.team, expect=0).stderr)
        records = [one for one in map(json.loads, self.audit_log().splitlines()) if one["tool"] == "push"]
        self.assertEqual([one["kind"] for one in records], ["begun", "push"] * 2)
        for one in records:
            self.assertTrue(one["reason"].startswith(f"refs/heads/main to {self.team}"), one)

    def test_a_new_branch_is_made_and_other_branches_stay(self):
        self.git("update-ref", "refs/heads/refs/heads/main", "main", work=self.team)
        self.git("branch", "topic", "main", work=self.repository)
        self.branch("push", os.path.relpath(self.team, self.work), ref="topic", expect=0)
        self.assertEqual(self.tip("refs/heads/topic", repository=self.team), self.tip())

    def test_commits_of_others_are_never_lost(self):
        """Whether this repository knows them or not, and also when they come in the last moment."""
        self.write("c.txt", "theirs\n")
        self.commit("theirs")
        self.git("push", "-q", self.team, "main", work=self.source)
        theirs = self.team_tip()
        for fetches in (False, True):
            if fetches:
                self.git("fetch", "-q", self.team, "main:refs/heads/theirs", work=self.repository)
            before = self.tip()
            self.assertEqual(self.tell("push", self.team, expect=1)["reason"], "push.remote_moved")
            self.assertEqual((self.team_tip(), self.tip()), (theirs, before))
        self.git("update-ref", "refs/heads/main", "main~1", work=self.team)
        folder = self.scratch / "bin"
        folder.mkdir()
        real = shutil.which("git")
        (folder / "git").write_text(f'#!/bin/sh\ncase " $* " in *" push "*) {real} -C {self.team} update-ref '
                                    f'refs/heads/main {theirs};; esac\nexec {real} "$@"\n')
        (folder / "git").chmod(0o755)
        told = self.tell("push", self.team, env={"PATH": f"{folder}:{os.environ['PATH']}"}, expect=1)
        self.assertEqual((told["reason"], self.team_tip()), ("push.remote_moved", theirs))

    def test_a_push_that_loses_the_race_inside_the_other_repository_is_a_conflict(self):
        self.write("c.txt", "theirs\n")
        self.commit("theirs")
        self.git("push", "-q", self.team, "main", work=self.source)
        theirs = self.team_tip()
        self.git("update-ref", "refs/heads/main", "main~1", work=self.team)
        hook = self.team / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nunset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
                        f"exec git update-ref refs/heads/main {theirs}\n")
        hook.chmod(0o755)
        self.assertEqual(self.tell("push", self.team, expect=1)["reason"], "push.remote_moved")
        self.assertEqual(self.team_tip(), theirs)

    def failing_git(self, script):
        """Returns variables with a git whose pushes are this script; it still answers what a push would do."""
        folder = self.scratch / "programs"
        folder.mkdir(exist_ok=True)
        real = shutil.which("git")
        (folder / "git").write_text(f'#!/bin/sh\ngit={real}\ncase " $* " in *" --dry-run "*) ;; *" push "*) {script};; esac\nexec $git "$@"\n')
        (folder / "git").chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    def test_the_reason_that_git_gives_for_a_refusal_is_shown(self):
        full = "fatal: unable to write loose object file: No space left on device"
        for why, said, reason in (("incorrect old value provided", "", "push.remote_refused"),
                                  ("reference already exists", "", "push.remote_refused"),
                                  ("unpacker error", "", "push.remote_refused"),
                                  ("unpacker error", full, "push.failed"),
                                  ("pre-receive hook declined", full, "push.remote_refused")):
            with self.subTest(why, said=said):
                fails = self.failing_git(f'echo "remote: {said}" >&2; printf "To x\n!\tmain:main\t[remote rejected] ({why})\nDone\n"; exit 1')
                told = self.tell("push", self.team, env=fails, expect=3 if reason == "push.failed" else 1)
                self.assertEqual(told["reason"], reason)
                self.assertIn(said or why, told["message"])

    def test_the_other_branch_tells_the_result_of_a_failed_push(self):
        """Not the words of the other side, which may be of any program."""
        self.write("c.txt", "theirs\n")
        self.commit("theirs")
        self.git("push", "-q", self.team, "main", work=self.source)
        theirs = self.team_tip()
        self.git("update-ref", "refs/heads/main", "main~1", work=self.team)
        old = self.team_tip()
        answer = 'printf "!\tmain:main\t[remote rejected] (failed to update ref)\n"; exit 1'
        fails = self.failing_git(f"$git -C {self.team} update-ref refs/heads/main {theirs}; {answer}")
        self.assertEqual(self.tell("push", self.team, env=fails, expect=1)["reason"], "push.remote_moved")
        self.git("update-ref", "refs/heads/main", old, work=self.team)
        self.assertEqual(self.tell("push", self.team, env=self.failing_git(answer), expect=1)["reason"], "push.remote_refused")
        self.assertEqual(self.team_tip(), old)

    def test_a_push_whose_answer_is_lost_is_a_push(self):
        lost = self.failing_git('$git "$@" >&2; echo "fatal: the remote end hung up unexpectedly" >&2; exit 128')
        told = self.tell("push", self.team, env=lost, expect=0)
        self.assertEqual((told["to"], self.team_tip()), (self.tip(), self.tip()))

    def test_the_address_of_the_push_is_asked_for_its_result(self):
        """The person's own configuration may push to another address than it fetches from."""
        own = self.scratch / "own.gitconfig"
        own.write_text(f'[url "{self.team}"]\n\tpushInsteadOf = {self.repository}\n')
        fails = self.failing_git('printf "!\tmain:main\t[remote rejected] (closed)\n"; exit 1')
        told = self.tell("push", self.repository, env=fails | {"GIT_CONFIG_GLOBAL": str(own)}, expect=1)
        self.assertEqual(told["reason"], "push.remote_refused")

    def test_a_lock_at_the_other_side_is_a_failure_and_no_moved_branch(self):
        lock = self.team / "refs" / "heads" / "main.lock"
        lock.touch()
        told = self.tell("push", self.team, expect=3)
        self.assertEqual(told["reason"], "push.failed")
        self.assertIn("main.lock", told["message"])
        lock.unlink()
        self.branch("push", self.team, expect=0)
        self.assertEqual(self.team_tip(), self.tip())

    def test_a_refusal_of_the_other_repository_is_shown_and_the_push_can_be_repeated(self):
        hook = self.team / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho \"main is closed until noon; cannot lock ref 'x': is at 1 but expected 2\"\nexit 1\n")
        hook.chmod(0o755)
        mine, before = self.tip(), self.team_tip()
        told = self.tell("push", self.team, expect=1)
        self.assertEqual(told["reason"], "push.remote_refused")
        self.assertIn("main is closed until noon", told["message"])
        self.assertEqual((self.tip(), self.team_tip()), (mine, before))
        hook.unlink()
        self.branch("push", self.team, expect=0)
        self.assertEqual(self.team_tip(), mine)

    def test_the_repository_does_not_choose_a_folder_whose_hooks_run(self):
        """Its configuration may come from others."""
        ran = self.scratch / "ran"
        hook = self.team / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
        self.git("remote", "add", "near", self.team, work=self.repository)
        self.git("remote", "add", "odd", f"ext::touch {ran}", work=self.repository)
        self.git("config", "remote.near.receivepack", f"touch {ran}; git-receive-pack", work=self.repository)
        self.assertEqual(self.tell("push", "near", expect=1)["reason"], "push.remote_is_a_folder")
        for address in ("odd", f"ext::touch {ran}"):
            told = self.tell("push", address, expect=1)
            self.assertEqual(told["reason"], "git.protocol")
            self.assertIn("transport 'ext' not allowed", told["message"])
        self.assertFalse(ran.exists())
        self.branch("push", self.team, expect=0)
        self.assertTrue(ran.exists(), "the hooks of a folder that the person named run")

    def test_the_repository_does_not_redirect_or_weaken_a_push(self):
        before = self.team_tip()
        elsewhere = self.scratch / "elsewhere.git"
        self.git("clone", "-q", "--bare", self.team, elsewhere, work=self.scratch)
        for key, value in ((f"url.{elsewhere}.insteadOf", str(self.team)), ("http.sslVerify", "false"),
                           (f"url.{elsewhere}.pushInsteadOf", str(self.team)), ("http.https://a.example/.proxy", "http://b.example"),
                           (f"remote.{self.team}.pushurl", str(elsewhere)), ("remote.origin.proxy", "http://b.example"),
                           ("core.gitProxy", "true")):
            with self.subTest(key=key):
                self.git("config", key, value, work=self.repository)
                told = self.tell("push", self.team, expect=1)
                self.assertEqual(told["reason"], "push.odd_config")
                self.assertIn(key.lower().split(".")[-1], told["message"].lower())
                self.git("config", "--unset", key, work=self.repository)
        self.assertEqual((self.team_tip(), self.tip(repository=elsewhere)), (before, before))

    def test_no_program_of_the_repository_connects(self):
        ran = self.scratch / "ran"
        program = self.scratch / "program"
        program.write_text(f"#!/bin/sh\ntouch {ran}\n")
        program.chmod(0o755)
        for key, address in (("core.gitProxy", "git://127.0.0.1:1/x"), ("core.sshCommand", "ssh://127.0.0.1:1/x")):
            with self.subTest(key):
                self.git("config", key, program, work=self.repository)
                told = self.tell("push", address, expect=1)
                self.assertEqual(told["reason"], "push.odd_config")
                self.assertIn(f"'{key}'".lower(), told["message"].lower())
                self.assertFalse(ran.exists())
                self.git("config", "--unset", key, work=self.repository)
        # Your own variable goes before the repository's setting.
        self.git("config", "core.sshCommand", "false", work=self.repository)
        self.branch("push", "ssh://127.0.0.1:1/x", env={"GIT_SSH_COMMAND": str(program)}, expect=3)
        self.assertTrue(ran.exists())

    def test_a_password_in_an_address_is_not_shown_or_recorded(self):
        said = self.branch("--json", "push", "http://TOKEN-1@127.0.0.1:9/x.git", expect=3)
        for text in (said.stdout, said.stderr, self.audit_log()):
            self.assertNotIn(b"TOKEN-1", text)

    def test_only_a_person_pushes_and_only_a_branch_and_only_to_a_known_remote(self):
        before = self.team_tip()
        for words, reason in ((("--agent", "bot", "push", self.team), "push.by_agent"),
                              (("push", "nowhere"), "push.unknown_remote"), (("push", "--", "-x"), "push.unknown_remote")):
            self.assertEqual(self.tell(*words, expect=(1, 2))["reason"], reason)
        said = self.galley("--json", "push", self.team, expect=2)
        self.assertEqual(json.loads(said.stdout)["reason"], "push.no_branch")
        self.assertEqual(self.team_tip(), before)


class Kills(BranchCase):
    """A process that dies during a commit. Git tells whether the branch has the commit."""

    def die(self, **when):
        env = self.wrap_git(**when)
        said = self.branch("--reason", "killed", "apply", "-", stdin=patch("a.txt", "line 2", "line two"), env=env)
        self.assertEqual(said.returncode, -9, said.stderr)

    def test_a_kill_just_before_the_branch_moves_is_finished(self):
        """The git process of the killed program could still move it, so the next command does."""
        before = self.tip()
        self.die(before="kill -9 $PPID; exit 1")
        self.assertEqual(self.tip(), before)
        said = self.branch("log", expect=0)
        self.assertIn(b"was finished", said.stderr)
        self.assertIn(b"killed", said.stdout)
        self.assertEqual(self.subjects(), ["killed", "first"])
        self.branch("audit", "verify", expect=0)

    def test_a_late_move_of_a_killed_program_fails(self):
        orphan = "kill -9 $PPID; sleep 1"
        self.die(before=orphan)
        self.branch("log", expect=0)
        done = self.tip()
        self.branch("undo", expect=0)
        after = self.tip()
        time.sleep(1.5)
        self.assertEqual((self.tip(), self.tip("main~1")), (after, done))

    def test_a_prepared_commit_is_dropped_if_others_moved_the_branch(self):
        self.die(before="kill -9 $PPID; exit 1")
        self.write("other.txt", "other\n")
        self.push("theirs")
        said = self.branch("log", expect=(0, 1))
        self.assertNotIn(b"killed", said.stdout)
        self.assertIn(b"was cleared away", said.stderr)
        self.branch("audit", "verify", expect=0)
        self.branch("--reason", "next", "apply", "-", stdin=patch("a.txt", "line 2", "line two"), expect=0)
        self.assertEqual(self.subjects(), ["next", "theirs", "first"])

    def test_recover_counts_no_paths_of_a_branch(self):
        self.die(after="kill -9 $PPID")
        told = self.branch("recover", expect=0)
        self.assertRegex((told.stdout + told.stderr).decode(), "transaction 1, which a crash interrupted, was finished\n")

    def test_a_prepared_commit_does_not_move_a_branch_that_is_checked_out_now(self):
        self.die(before="kill -9 $PPID; exit 1")
        before = self.tip()
        self.git("worktree", "add", "-q", self.scratch / "linked", "main", work=self.repository)
        self.assertIn(b"was cleared away", self.branch("log", expect=(0, 1)).stderr)
        self.assertEqual(self.tip(), before)

    def test_a_kill_after_the_branch_moved_keeps_the_commit_and_its_records(self):
        self.die(after="kill -9 $PPID")
        self.assertEqual(self.subjects(), ["killed", "first"])
        said = self.branch("log", expect=0)
        self.assertIn(b"killed", said.stdout)
        self.assertIn(self.tip()[:10].encode(), said.stdout)
        self.assertIn(b"was finished", said.stderr)
        self.branch("audit", "verify", expect=0)
        self.branch("undo", expect=0)
        self.assertEqual(self.tip("main^{tree}"), self.tip("main~2^{tree}"))

    def test_a_damaged_journal_of_a_killed_program_is_set_aside_and_its_number_not_given_again(self):
        self.die(after="kill -9 $PPID")
        [journal] = self.repository.rglob("slot/*/*.j")
        text = bytearray(journal.read_bytes())
        text[len(text) // 2] ^= 1
        journal.write_bytes(text)
        self.assertIn(b"was set aside", self.branch("log", expect=(0, 1)).stderr)
        self.assertNotIn(b"set aside", self.branch("log", expect=(0, 1)).stderr)
        [kept] = self.repository.rglob("quarantine/*/*/*.j")
        self.assertEqual(kept.read_bytes(), text)
        self.branch("--reason", "next", "apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        numbers = self.read_git("log", "--format=%(trailers:key=Galley-Transaction,valueonly,separator=)", "main")
        self.assertEqual([line.split()[0] for line in numbers.split("\n") if line], ["2", "1"])
        self.branch("undo", expect=0)
        self.branch("audit", "verify", expect=0)

    def test_a_commit_that_a_person_took_back_is_not_made_again(self):
        before = self.tip()
        self.die(after="kill -9 $PPID")
        self.git("update-ref", "refs/heads/main", before, work=self.repository)
        said = self.branch("log", expect=0)
        self.assertEqual(self.tip(), before)
        self.assertIn(b"killed", said.stdout)
        self.branch("--reason", "next", "apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        self.assertEqual(self.subjects(), ["next", "first"])
        log = self.branch("log", "--oneline", expect=0).stdout.decode()
        self.assertEqual([line.split()[0] for line in log.splitlines()], ["2", "1"])

    def test_a_move_that_ended_badly_is_a_commit_even_if_others_moved_on(self):
        env = self.wrap_git(after='git -C "$REPOSITORY" update-ref refs/heads/main $(git -C "$REPOSITORY" commit-tree '
                                  "-m theirs -p main main^{tree}); status=1")
        env |= {"REPOSITORY": str(self.repository)}
        self.branch("--reason", "ours", "apply", "-", stdin=new_file("n.txt", "x"), env=env, expect=0)
        self.assertEqual(self.subjects(), ["theirs", "ours", "first"])
        self.assertIn(b"ours", self.branch("log", expect=0).stdout)
        self.branch("undo", expect=0)

    def test_a_folder_that_a_finished_commit_left_is_removed_silently(self):
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        left = self.repository / "galley/refs/heads/main/.galley/slot/1"
        left.mkdir()
        (left / "0").write_text("x\n")
        said = self.branch("log", expect=0)
        self.assertEqual(said.stderr, b"")
        self.assertFalse(left.exists())

    def test_the_next_commit_finishes_it_too(self):
        self.die(after="kill -9 $PPID")
        self.branch("--reason", "next", "apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        log = self.branch("log", "--oneline", expect=0).stdout.decode()
        self.assertEqual([line.split()[0] for line in log.splitlines()], ["2", "1"])

    def test_a_commit_whose_branch_moved_on_is_still_found(self):
        self.die(after="kill -9 $PPID")
        self.pull()
        self.write("other.txt", "other\n")
        self.push("theirs")
        self.assertIn(b"killed", self.branch("log", expect=0).stdout)


class States(BranchCase):
    def test_a_state_that_was_copied_is_not_believed(self):
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        copy = self.scratch / "copy.git"
        shutil.copytree(self.repository, copy, symlinks=True)
        said = self.galley("--json", "--repo", copy, "--ref", "main", "undo", expect=1)
        self.assertEqual(json.loads(said.stdout)["reason"], "state.not_believed")

    def test_a_link_in_its_place_is_not_followed(self):
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        (self.repository / "galley").symlink_to(elsewhere)
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=(1, 3))
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_gc_and_recover_work(self):
        self.branch("apply", "-", stdin=new_file("n.txt", "x"), expect=0)
        self.branch("gc", expect=0)
        self.branch("recover", expect=0)
        self.assertIn(b"n.txt", self.branch("show", "1", expect=0).stdout)


if __name__ == "__main__":
    unittest.main()
