"""The environment of a program in galley run, and its identity for git.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import json

import hostile
from test_run import RunCase


class Environment(RunCase):
    def inside(self, script, *options, expect=0, **env):
        ran = self.galley("run", "--drop", *options, "--", "sh", "-c", script, env=env, expect=expect)
        return ran.stdout.decode()

    def test_only_named_variables_are_passed_to_the_program(self):
        said = self.inside('echo "$ONE $TWO $THREE ${FOUR-unset}"', "--env", "ONE", "--env", "TWO=a b=c", "--env", "THREE=",
                           "--env", "FOUR", "--env", "TWO=last", ONE="of ours", FIVE="not named")
        self.assertEqual(said, "of ours last  unset\n")
        self.assertEqual(self.inside("echo ${FIVE-unset}", FIVE="not named"), "unset\n")

    def test_one_that_is_not_set_is_named(self):
        ran = self.galley("run", "--drop", "--env", "NOT_SET_HERE", "--", "sh", "-c", "echo ${NOT_SET_HERE-unset}", expect=0)
        self.assertEqual(ran.stdout, b"unset\n")
        self.assertIn(b"--env NOT_SET_HERE is not set here", ran.stderr)

    def test_a_named_variable_overrides_the_default(self):
        tools = self.work / "tools"
        tools.mkdir()
        (tools / "greet").write_text("#!/bin/sh\necho $LANG\n")
        (tools / "greet").chmod(0o755)
        ran = self.galley("run", "--drop", "--env", f"PATH={tools}:/usr/bin:/bin", "--env", "LANG=xx", "--", "greet", expect=0)
        self.assertEqual(ran.stdout, b"xx\n")

    def test_the_record_has_only_the_names_of_variables(self):
        self.inside("true", "--env", "TOKEN=secret value")
        log = (self.work / ".galley/audit.jsonl").read_text()
        self.assertEqual(json.loads(log.splitlines()[0])["input"]["env"], ["TOKEN"])
        self.assertNotIn("secret value", log)

    def test_an_empty_variable_name_is_refused(self):
        for word in ("", "=value"):
            self.galley("run", "--env", word, "--", "true", expect=2)
        self.assertEqual(self.open_transactions(), [])


class GitIdentity(RunCase):
    COMMIT = "echo new > new.txt; git add -A; git commit -qm second; git log -1 --format='%an <%ae> %cn'"

    def setUp(self):
        super().setUp()
        self.home = self.scratch / "home of somebody"
        self.home.mkdir()
        self.environment = {**self.environment, "HOME": str(self.home),
                            "XDG_CONFIG_HOME": str(self.home / ".config")}
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "first")

    def write_config(self, text, name=".gitconfig"):
        (self.home / name).parent.mkdir(parents=True, exist_ok=True)
        (self.home / name).write_text(text)

    def inside(self, script, *options, **env):
        return self.galley("run", "--drop", *options, "--", "sh", "-c", script, env=env, expect=0).stdout.decode()

    def test_a_commit_inside_has_the_same_author(self):
        self.write_config('[user]\n\tname = "Ann \\"Other\\" # O"\n\temail = ann@example.org\n[alias]\n\tx = !touch /tmp/x\n')
        self.assertEqual(self.inside(self.COMMIT), 'Ann "Other" # O <ann@example.org> Ann "Other" # O\n')
        self.assertEqual(self.inside("git config --global -l"), 'user.name=Ann "Other" # O\nuser.email=ann@example.org\n')

    def test_the_folder_of_configuration_counts_too(self):
        self.write_config("[user]\nname=B\nemail=b@example.org\n", ".config/git/config")
        self.assertEqual(self.inside(self.COMMIT), "B <b@example.org> B\n")

    def test_the_repository_and_the_environment_have_precedence(self):
        self.write_config("[user]\nname=A\nemail=a@example.org\n")
        self.git("config", "user.name", "Of the repository")
        self.assertEqual(self.inside(self.COMMIT), "Of the repository <a@example.org> Of the repository\n")
        self.assertEqual(self.inside(self.COMMIT, GIT_AUTHOR_NAME="Of the environment"),
                         "Of the environment <a@example.org> Of the repository\n")

    def test_without_an_identity_none_is_configured(self):
        self.assertEqual(self.inside('ls -A "$HOME"'), "")

    def test_the_hosts_identity_is_unchanged_afterwards(self):
        text = "[user]\n\tname = A\n\temail = a@example.org\n[core]\n\tpager = cat\n"
        self.write_config(text)
        self.inside('git config --global user.name Changed; echo x >> "$HOME/.gitconfig"; true')
        self.assertEqual((self.home / ".gitconfig").read_text(), text)
        self.assertEqual([one.name for one in self.home.iterdir()], [".gitconfig"])


if __name__ == "__main__":
    hostile.main()
