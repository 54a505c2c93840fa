"""Galley in the hooks of husky, lefthook and pre-commit, with the snippets of docs/hooks.md."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import textwrap
import unittest

from support import ROOT
from test_hooks import HookCase

PAGE = ROOT / "docs" / "hooks.md"


def snippet(name):
    """Returns the text of the file that the page shows under this name."""
    found = re.search(rf"^(?:[\w ]+, )?`{re.escape(name)}`:\n\n```\w*\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert found, f"{PAGE} shows no {name}"
    return found[1]


@functools.cache
def npm_programs():
    """Returns the folder with husky, lefthook and lint-staged, or the reason why there is none."""
    result = subprocess.run([ROOT / "scripts" / "fetch-npm-tools", "hook-managers"], capture_output=True, check=False, timeout=300)
    return result.stdout.decode().strip(), result.stderr.decode(errors="replace").strip()


class ManagerCase(HookCase):
    def setUp(self):
        super().setUp()
        self.make_server()

    def use_npm(self):
        folder, complaint = npm_programs()
        if not folder:
            raise unittest.SkipTest(f"this did not run: {complaint}")
        self.environment["PATH"] = f"{folder}:{self.path}"
        self.write("package.json", '{"name": "x", "private": true}\n')

    def run_program(self, *words):
        result = subprocess.run([*map(str, words)], cwd=self.work, capture_output=True, check=False, timeout=120,
                                env={**os.environ, **self.environment})
        self.assert_done(result)

    def commit_all(self, message="set up"):
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "-m", message)
        self.git("push", "-q", "--no-verify", "origin", "main")

    def try_commits_and_pushes(self):
        self.assert_refused(self.commit_file("secret/x", "x"), "secret/x", "no secrets")
        self.git("rm", "-qrf", "--cached", "secret")
        shutil.rmtree(self.work / "secret")
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_done(self.run_git("push", "-q", "origin", "main"))
        self.assert_done(self.commit_file("secret/y", "y", options=["--no-verify"]))
        self.assert_refused(self.run_git("push", "-q", "origin", "main"), "secret/y", "no secrets")
        self.assertNotEqual(self.head(self.server, "main"), self.head())

    def try_trailers(self):
        self.galley("--agent", "fixer", "apply", "-", stdin=b'{"path": "c.txt", "content": "c\\n"}', expect=0)
        self.git("add", "c.txt")
        self.assert_done(self.run_git("commit", "-qm", "by an agent"))
        self.assertIn("Galley-Agent: fixer", self.message())


class Husky(ManagerCase):
    def test_accepts_and_refuses(self):
        self.use_npm()
        self.run_program("husky")
        self.assertEqual(self.git("config", "core.hooksPath").stdout, b".husky/_\n")
        for hook in ("pre-commit", "commit-msg", "pre-push"):
            self.write(f".husky/{hook}", snippet(f".husky/{hook}"))
        self.commit_all()
        self.try_trailers()
        self.try_commits_and_pushes()


class Lefthook(ManagerCase):
    def test_accepts_and_refuses(self):
        self.use_npm()
        self.write("lefthook.yml", snippet("lefthook.yml"))
        self.run_program("lefthook", "install")
        self.commit_all()
        self.try_trailers()
        self.try_commits_and_pushes()


    def test_the_message_of_install_has_the_lines_to_add(self):
        self.use_npm()
        self.write("lefthook.yml", "")
        lines = self.galley("hook", "install", expect=1).stderr.decode().split("--force:\n")[1]
        self.write("lefthook.yml", textwrap.dedent(lines))
        self.run_program("lefthook", "install")
        self.commit_all()
        self.try_trailers()
        self.try_commits_and_pushes()

    def test_hooks_that_it_moves_away_are_told(self):
        self.use_npm()
        self.galley("hook", "install", expect=0)
        self.write("lefthook.yml", "pre-commit: {commands: {x: {run: 'true'}}}\n")
        self.run_program("lefthook", "install")
        self.assertIn(b"judges nothing", self.commit_file("secret/x", "x").stderr)
        self.galley("hook", "install", expect=1)
        self.run_program("lefthook", "uninstall")
        self.assert_refused(self.commit_file("secret/y", "y"), "no secrets")


class PreCommit(ManagerCase):
    def setUp(self):
        super().setUp()
        if shutil.which("pre-commit") is None:
            raise unittest.SkipTest("this did not run: there is no pre-commit; scripts/setup installs it")
        # In place of the repository on the web: a repository with our list of hooks.
        self.hooks = self.scratch / "galley-hooks"
        self.hooks.mkdir()
        shutil.copy(ROOT / ".pre-commit-hooks.yaml", self.hooks)
        self.git("init", "-q", work=self.hooks)
        self.git("add", ".", work=self.hooks)
        self.git("commit", "-qm", "hooks", work=self.hooks)
        self.git("tag", "v0.1.0", work=self.hooks)
        self.environment["PRE_COMMIT_HOME"] = str(self.scratch / "pre-commit-home")

    def set_up(self):
        text = snippet(".pre-commit-config.yaml")
        text, count = re.subn(r"repo: https://\S+", f"repo: {self.hooks}", text)
        self.assertEqual(count, 1)
        self.write(".pre-commit-config.yaml", re.sub(r"rev: \S+", "rev: v0.1.0", text))
        self.run_program("pre-commit", "install")
        self.galley("hook", "install", "--hook", "pre-push", expect=0)

    def test_accepts_and_refuses(self):
        self.set_up()
        self.commit_all()
        self.try_trailers()
        self.try_commits_and_pushes()

    def test_a_new_branch_and_a_first_push_are_judged(self):
        self.set_up()
        self.commit_all()
        self.git("checkout", "-qb", "side")
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_done(self.run_git("push", "-q", "origin", "side"))
        self.assert_done(self.commit_file("secret/y", "y", options=["--no-verify"]))
        self.assert_refused(self.run_git("push", "-q", "origin", "side:other"), "secret/y")

    def test_a_run_by_hand_judges_its_range_and_never_nothing(self):
        self.set_up()
        self.commit_all()
        self.git("checkout", "-qb", "side")
        self.assert_done(self.commit_file("secret/y", "y", options=["--no-verify"]))
        for words, said in ((["--from-ref", "main", "--to-ref", "side"], "no secrets"), (["--all-files"], "--range"),
                            (["--files", "a.txt"], "--range")):
            with self.subTest(words):
                done = subprocess.run(["pre-commit", "run", "galley", *words], cwd=self.work, capture_output=True,
                                      check=False, env={**os.environ, **self.environment})
                self.assert_refused(done, said)
        self.assert_done(self.run_git("commit", "-q", "--allow-empty", "-m", "nothing"))

    def test_each_reference_of_a_push_is_judged(self):
        """pre-commit tells its hooks of the first one only."""
        self.set_up()
        self.commit_all()
        self.git("checkout", "-qb", "good")
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.git("checkout", "-qb", "other", "main")
        self.assert_done(self.commit_file("secret/y", "y", options=["--no-verify"]))
        self.assert_refused(self.run_git("push", "-q", "origin", "good", "other"), "refs/heads/other is refused")

    def test_both_can_be_installed_again(self):
        self.set_up()
        self.galley("hook", "install", expect=0)
        self.commit_all()
        self.run_program("pre-commit", "install")
        self.assert_refused(self.commit_file("secret/z", "z"), "no secrets")
        self.git("rm", "-qrf", "--cached", "secret")
        self.assert_done(self.commit_file("d.txt", "d\n"))
        said = self.galley("hook", "install", expect=0)
        self.assertRegex(said.stdout.decode(), r"(?m)^pre-commit +is installed already$")
        self.try_commits_and_pushes()
        self.run_program("pre-commit", "uninstall")
        self.galley("hook", "uninstall", expect=0)
        self.run_program("pre-commit", "uninstall")
        self.assert_done(self.commit_file("secret/w", "w"))

    def keep_ours(self):
        """pre-commit keeps Galley's hook and runs it."""
        self.galley("hook", "install", "--hook", "pre-commit", expect=0)
        self.write(".pre-commit-config.yaml", "repos: []\n")
        self.run_program("pre-commit", "install")
        self.git("add", ".")
        hooks = self.work / ".git" / "hooks"
        return hooks / "pre-commit", hooks / "pre-commit.legacy"

    def test_a_kept_hook_that_nothing_runs_is_not_installed(self):
        for breaks in (lambda hook, kept: hook.write_text("#!/bin/sh\nexit 0\n"), lambda hook, kept: kept.chmod(0o644),
                       lambda hook, kept: hook.chmod(0o644)):
            hook, kept = self.keep_ours()
            breaks(hook, kept)
            self.galley("hook", "install", "--hook", "pre-commit", expect=0)
            self.assert_refused(self.commit_file("secret/x", "x"), "no secrets")
            self.assert_done(self.run_git("rm", "-qrf", "--cached", "secret"))
            for path in hook.parent.glob("pre-commit*"):
                path.unlink()

    def test_a_kept_hook_of_another_version_is_renewed(self):
        hook, kept = self.keep_ours()
        text = hook.read_text()
        body = re.sub(r"(?m)^(is_running.*\n).*", r"\1  false", kept.read_text().split("\n", 2)[2])
        mark = hashlib.sha256(f"#!/bin/sh\n{body}".encode()).hexdigest()
        kept.write_text(f"#!/bin/sh\n# galley-hook 1 {mark}\n{body}")
        kept.with_name("pre-commit.before-galley").write_text(text)
        kept.with_name("pre-commit.before-galley").chmod(0o755)
        self.assert_refused(self.commit_file("b.txt", "b\n"), "migration mode")
        self.assertIn(b"renewed", self.galley("hook", "install", "--hook", "pre-commit", expect=0).stdout)
        self.assertEqual(hook.read_text(), text)
        self.assert_done(self.commit_file("b.txt", "b\n"))
        said = self.galley("hook", "uninstall", expect=0)
        self.assertIn(b"not removed: pre-commit keeps it as pre-commit.legacy", said.stdout)
        self.assertTrue(kept.exists())
        kept.write_text(kept.read_text() + "echo mine\n")
        self.assert_refused(self.galley("hook", "install", expect=1), "pre-commit.legacy", "changed since")

    def test_our_hook_and_its_hook_run_each_other(self):
        """The hook that is installed later keeps the other one and runs it."""
        self.galley("hook", "install", expect=0)
        self.set_up()
        self.commit_all()
        self.try_commits_and_pushes()


class Snippets(HookCase):
    """The commands of the CI snippets, with the variables of the services, in a clone as the
    services make it."""

    def setUp(self):
        super().setUp()
        self.make_server()
        self.git("checkout", "-qb", "change")
        self.write("galley.toml", "")
        self.write("secret/x", "x")
        self.git("add", ".")
        self.git("commit", "-qm", "no rules and a secret")
        self.git("checkout", "-qb", "fine", "main")
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.git("push", "-q", "origin", "change", "fine")

    def job(self, branch):
        clone = self.scratch / f"job-{branch}"
        self.git("clone", "-q", self.server, clone, work=self.scratch)
        self.git("checkout", "-q", "--detach", f"origin/{branch}", work=clone)
        return clone

    def run_line(self, line, branch, **variables):
        return subprocess.run(["sh", "-ec", line], cwd=self.job(branch), capture_output=True, check=False, timeout=120,
                              env={**os.environ, **self.environment, **variables})

    def lines(self, name):
        """Returns the commands of the snippet, in order."""
        found = re.findall(r"^ +- (?:run: )?((?:git|galley) .*)$", snippet(name), re.M)
        self.assertTrue(found)
        return "\n".join(found)

    def test_the_commands_of_ci_run(self):
        base = self.head(ref="main")
        for branch, is_refused in (("change", True), ("fine", False)):
            head = self.head(ref=branch)
            for name, variables in ((".github/workflows/galley.yml", {"BASE": base, "HEAD": head}),
                                    (".gitlab-ci.yml", {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
                                                        "CI_COMMIT_SHA": head})):
                with self.subTest(name, branch=branch):
                    result = self.run_line(self.lines(name), branch, **variables)
                    if is_refused:
                        self.assert_refused(result, "secret/x", "galley.toml")
                    else:
                        self.assert_done(result)
                    shutil.rmtree(self.scratch / f"job-{branch}")


if __name__ == "__main__":
    unittest.main()
