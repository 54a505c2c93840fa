"""Toolchains: programs in a home can be made visible, and `galley init` proposes validators."""

import json
import os
import re
import shutil
import tomllib

from everyday import EverydayCase, main


class ToolchainCase(EverydayCase):
    """A user with their own home below the scratch folder. The home is empty at first."""

    def setUp(self):
        super().setUp()
        self.home = self.scratch / "home"
        self.home.mkdir()
        self.environment["HOME"] = str(self.home)
        shutil.rmtree(self.work)
        self.work.mkdir()

    def write(self, name, text, mode=0o644):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def install(self, name, script, folder=".cargo/bin"):
        """Installs a program in the home, first in PATH."""
        place = self.home / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("#!/bin/sh\n" + script)
        (place / name).chmod(0o755)
        path = self.environment.get("PATH", os.environ["PATH"])
        if str(place) not in path.split(":"):
            self.environment["PATH"] = f"{place}:{path}"

    def patch(self, name, old, new):
        (self.scratch / "m.patch").write_text(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{old}\n+{new}\n")
        return self.scratch / "m.patch"

    def configure(self, text):
        self.write("galley.toml", text)

    def execute(self, *words, expect=None, env=None):
        if not (self.work / ".galley").exists():
            self.run_here("begin", expect=0)
        return self.run_here("exec", "--", *words, expect=expect, env=env)


class Home(ToolchainCase):
    def setUp(self):
        super().setUp()
        self.install("carg", 'echo "carg here, CARGO_HOME=$CARGO_HOME HOME=$HOME"\n')

    def test_an_unreadable_program_in_the_home_gets_a_remedy(self):
        """sh: `command not found` is not a good answer if the program exists."""
        result = self.execute("carg")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"found at {self.home}/.cargo/bin/carg, which is not visible inside", result.err)
        self.assertIn('readable = ["~/.cargo"]', result.err)
        self.assertNotIn("install it", result.err)
        by_path = self.execute(self.home / ".cargo/bin/carg")
        self.assertIn('readable = ["~/.cargo"]', by_path.err)
        script = self.home / "agent"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        self.assertIn("its folder holds the home, so copy it", self.execute(script).err)
        nowhere = self.execute("no-such-program-anywhere")
        self.assertIn("install it", nowhere.err)

    def test_a_readable_folder_makes_it_run(self):
        """cargo: a toolchain of rustup runs from the person's folder."""
        self.configure('[sandbox]\nreadable = ["~/.cargo", "~/.rustup"]\n')  # no ~/.rustup: fine
        result = self.execute("carg", expect=0)
        self.assertEqual(result.out, f"carg here, CARGO_HOME={self.home}/.cargo HOME=/tmp/home\n")

    def test_a_readable_folder_cannot_be_written(self):
        """sh: a read-only mount."""
        self.configure('[sandbox]\nreadable = ["~/.cargo"]\n')
        result = self.execute("sh", "-c", 'echo x > "$CARGO_HOME/new" || touch "$CARGO_HOME/bin/carg"')
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("Read-only file system", result.err)
        self.assertEqual(os.listdir(self.home / ".cargo"), ["bin"])

    def test_nothing_else_of_the_home_is_seen(self):
        """sh: a folder that is not mounted does not exist."""
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh" / "id").write_text("SECRET")
        (self.home / ".cargo" / "credentials.toml").write_text("SECRET")
        (self.home / ".cargo" / "out").symlink_to(self.home / ".ssh")
        (self.home / ".cargo" / "id").symlink_to("../.ssh/id")
        self.configure('[sandbox]\nreadable = ["~/.cargo"]\n')
        result = self.execute(
            "sh", "-c", f"ls -a {self.home}; cd {self.home}/.cargo; cat credentials.toml; cat out/id; cat id; "
                        f"cat {self.home}/.ssh/id", expect=1)
        self.assertEqual(result.out.split(), [".", "..", ".cargo"])
        self.assertNotIn("SECRET", result.out + result.err)

    def test_places_of_secrets_are_refused(self):
        """git: an unusable value is refused with its line."""
        for folder in ("~", "~/", "/", "/home", "/root", str(self.home.parent), "~/.ssh", "~/.ssh/keys", "~/.config",
                       "~/.aws", "/proc", "/run/user", "/var", "~/x/../.ssh", "relative", ""):
            self.configure(f'[sandbox]\nreadable = ["{folder}"]\n')
            if folder == str(self.home.parent):  # only known if the home is there
                self.configure(f'[sandbox]\nreadable = ["{folder}"]\n')
                result = self.execute("true")
                self.assertIn("sandbox.readable", result.err, folder)
            else:
                result = self.run_here("status", "--config", self.work / "galley.toml", expect=2)
                self.assertRegex(result.err, r"galley.toml:2:\d+: .*readable", folder)
            self.assertNotEqual(result.returncode, 0, folder)

    def test_a_link_to_a_place_of_secrets_is_refused(self):
        """sh: the name of a link says nothing about where it leads."""
        (self.home / ".ssh").mkdir()
        (self.home / ".tools").symlink_to(".ssh")
        self.configure('[sandbox]\nreadable = ["~/.tools"]\n')
        result = self.execute("true")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("which leads to", result.err)
        self.assertIn("~/.ssh is a place of secrets", result.err)

    def test_a_toolchain_behind_a_link_runs(self):
        """sh: a link in the home to a larger disk."""
        shutil.move(self.home / ".cargo", self.scratch / "large")
        (self.home / ".cargo").symlink_to(self.scratch / "large")
        self.configure('[sandbox]\nreadable = ["~/.cargo"]\n')
        self.assertIn("carg here", self.execute("carg", expect=0).out)

    def test_a_readable_folder_does_not_count_before_it_is_trusted(self):
        """cargo: the configuration of a clone does not widen what may be read."""
        own = self.scratch / "config" / "galley" / "config.toml"
        own.write_text("unattended = true\n")
        self.configure('[sandbox]\nreadable = ["~/.cargo"]\n')
        refused = self.execute("carg")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("sandbox.readable", refused.err)
        self.assertIn("sandbox.readable = ", self.run_here("trust", "--show", expect=0).out)
        self.run_here("trust", expect=0)
        self.execute("carg", expect=0)

    def test_the_workspace_has_the_same_path_inside(self):
        """sh: `pwd` inside is `pwd` outside."""
        self.write("a.txt", "x\n")
        result = self.execute("sh", "-c", f"pwd; cat {self.work}/a.txt", expect=0)
        self.assertEqual(result.out, f"{os.path.realpath(self.work)}\nx\n")


class Names(ToolchainCase):
    """Programs that are started through a link."""

    def setUp(self):
        super().setUp()
        self.real = os.path.realpath("/usr/bin/python3")
        if self.real == "/usr/bin/python3":
            self.skipTest("/usr/bin/python3 is no link here")

    def allow(self, *capabilities):
        listed = json.dumps(["fs:read", "fs:write", *capabilities])
        self.configure(f"[agents.bot]\ncapabilities = {listed}\n")

    def run_python(self, name="python3"):
        environment = {"GALLEY_AGENT": "bot"}
        self.run_here("begin", "--agent", "bot", expect=0)
        return self.run_here("exec", "--agent", "bot", "--", name, "-c", "print(6 * 7)", env=environment)

    def test_a_capability_grants_the_target_of_its_programs_link(self):
        """sh: `python3` is the program that it resolves to."""
        self.allow("exec:python3")
        self.assertEqual(self.run_python().out, "42\n")

    def test_a_capability_grants_the_program_by_its_other_name(self):
        """sh: both names mean one program."""
        self.allow("exec:python3")
        self.assertEqual(self.run_python(os.path.basename(self.real)).out, "42\n")

    def test_a_refusal_shows_both_names(self):
        """sh: `type -a` shows where a name leads."""
        self.allow("exec:git")
        refused = self.run_python()
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"running /usr/bin/python3 (which is {self.real}) is denied", refused.err)
        self.assertIn("does not grant `exec:python3`", refused.err)

    def test_a_denial_of_one_name_holds_for_both(self):
        """sh: a denied program cannot be started by another name."""
        for capabilities in (("exec:*", "!exec:python3"), ("exec:python*", "!exec:python3")):
            self.allow(*capabilities)
            for name in ("python3", os.path.basename(self.real)):
                result = self.run_python(name)
                self.assertNotEqual(result.returncode, 0, (capabilities, name))
                self.assertNotIn("42", result.out)
                self.run_here("rollback", "--agent", "bot")


CARGO = """
[ -n "$CARGO_HOME" ] || exit 9
case $1 in
  fmt) exec sed -i 's/  */ /g' src/main.rs ;;
  check | clippy | test)
    grep -q BROKEN src/main.rs || exit 0
    echo "src/main.rs:1:1: error[E0425]: cannot find value BROKEN" >&2; exit 101 ;;
esac
"""
GO = """
case $1 in
  vet) grep -q BROKEN main.go && { echo "./main.go:1:1: undefined: BROKEN" >&2; exit 1; } ; exit 0 ;;
  test) grep -q BROKEN main.go && { echo "FAIL demo"; exit 1; } ; exit 0 ;;
esac
"""
ESLINT = """#!/bin/sh
for file; do :; done
grep -q BROKEN "$file" || { echo '[]'; exit 0; }
echo '[{"filePath": "'"$PWD/$file"'", "messages": [{"ruleId": "no-undef", "severity": 2, "message": "BROKEN.", "line": 1, "column": 5}]}]'
exit 1
"""
RUFF = """
[ "$1" = format ] && exit 0
for file; do :; done
grep -q BROKEN "$file" && { echo "$file:1:1: F821 undefined name"; exit 1; } ; exit 0
"""


class Init(ToolchainCase):
    """The output of `galley init` with everything on: a good change passes, a breaking one does
    not."""

    def switched_on(self):
        """Returns the configuration with every proposal switched on."""
        self.run_here("init", expect=0)
        lines = []
        proposed = (self.work / "galley.toml").read_text()
        # Proposals that need a package that is not installed stay off.
        proposed = re.sub(r'# \[\[validator\]\]\n# builtin = "syntax".*\n', "", proposed)
        for line in proposed.splitlines():
            is_switch = line.startswith("# [") or (line.startswith("# ") and " = " in line)
            lines.append(line[2:] if is_switch and not line.startswith("# ---") else line)
        text = "\n".join(lines) + "\n"
        (self.work / "galley.toml").write_text(text)
        return tomllib.loads(text), text

    def judge(self, names, file, good, bad):
        """Takes two changes of a file's first line, each as (old, new)."""
        config, text = self.switched_on()
        commands = [one["name"] for one in config["validator"] if "command" in one]
        self.assertEqual(commands, names, text)
        for validator in config["validator"]:
            self.assertFalse("only_new" in validator and "parser" not in validator, validator)
        for (old, new), status in ((good, 0), (bad, 1)):
            result = self.run_here("preview", "--json", self.patch(file, old, new))
            self.assertEqual(result.returncode, status, result.out + result.err)
            verdict = json.loads(result.out)["verdict"]
            self.assertEqual(verdict.get("reason", ""), "gate.validator_failed" if status else "", verdict)
        return config

    def test_c_with_make(self):
        """make: `make test`."""
        self.write("answer.h", "#define ANSWER 42\nint answer(void);\n")
        self.write("main.c", '#include "answer.h"\nint main(void) { return ANSWER == 42 ? 0 : 1; }\n')
        self.write("Makefile", "CFLAGS := -O0\nall: main\nmain: main.c answer.h\n\tcc $(CFLAGS) -o main main.c\n"
                               "test: main\n\t./main\n")
        self.judge(["make test"], "answer.h", ("#define ANSWER 42", "#define ANSWER (40 + 2)"),
                   ("#define ANSWER 42", "#define ANSWER 41"))

    def test_c_with_a_formatter(self):
        """sh: clang-format if there is a .clang-format."""
        self.install("clang-format", 'shift; sed -i "s/  */ /g" "$@"\n', "tools/bin")
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("a.c", "int a;\n")
        self.judge(["clang-format"], "a.c", ("int a;", "int b;"), ("int a;", "int    b;"))

    def test_cpp_with_cmake(self):
        """cmake: configure, build, ctest."""
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(demo C)\nenable_testing()\n"
                                     "add_executable(demo main.c)\nadd_test(NAME demo COMMAND demo)\n")
        self.write("main.c", "int main(void) { return 0; }\n")
        self.judge(["build and test"], "main.c",
                   ("int main(void) { return 0; }", "int main(void) { return 1 - 1; }"),
                   ("int main(void) { return 0; }", "int main(void) { return 1; }"))

    def test_python_with_unittest(self):
        """sh: `python3 -m unittest discover` in the folder of the tests."""
        self.write("answer.py", "ANSWER = 42\n")
        self.write("tests/test_answer.py", "import unittest\nimport answer\n\n\nclass T(unittest.TestCase):\n"
                                           "    def test_it(self):\n        self.assertEqual(answer.ANSWER, 42)\n")
        self.judge(["python syntax", "unittest tests"], "answer.py", ("ANSWER = 42", "ANSWER = 40 + 2"),
                   ("ANSWER = 42", "ANSWER = 41"))

    def test_python_with_pytest_and_ruff(self):
        """sh: pytest and ruff if they are configured."""
        self.install("ruff", RUFF, ".local/bin")
        self.install("pytest", "exit 0\n", ".local/bin")
        self.write("pyproject.toml", "[tool.ruff]\n[tool.pytest.ini_options]\n")
        self.write("answer.py", "ANSWER = 42\n")
        self.write("pytest.py", "import answer, sys\nsys.exit(0 if answer.ANSWER == 42 else 1)\n")
        config = self.judge(["ruff", "ruff format", "pytest"], "answer.py", ("ANSWER = 42", "ANSWER = 40 + 2"),
                            ("ANSWER = 42", "ANSWER = 41"))
        self.assertEqual(config["sandbox"]["readable"], ["~/.local/bin"])
        broken = self.run_here("preview", self.patch("answer.py", "ANSWER = 42", "ANSWER = 42  # BROKEN"), expect=1)
        self.assertIn("answer.py:1:1: error: undefined name [ruff.F821]", broken.out + broken.err)

    def test_configured_tools_that_are_not_installed_are_named_but_not_proposed(self):
        """gh: no workflow is made for a missing tool."""
        self.environment["PATH"] = "/usr/bin:/bin"
        self.write("pyproject.toml", "[tool.ruff]\n")
        self.write("Cargo.toml", "[package]\n")
        self.write("a.py", "A = 1\n")
        config, text = self.switched_on()
        commands = [one["name"] for one in config["validator"] if "command" in one]
        for name, program in (("ruff", "ruff"), ("cargo test", "cargo")):
            if shutil.which(program, path=self.environment["PATH"]):
                continue
            self.assertNotIn(name, commands)
            self.assertRegex(text, f"(?m)^# --- not proposed.*{name}")

    def test_javascript_scripts(self):
        """sh: `npm run` of the scripts in package.json."""
        self.install("npm", 'shift; exec sh -c "$(sed -n "s/.*\\"$1\\": \\"\\(.*\\)\\".*/\\1/p" package.json)"\n',
                     "tools/bin")
        self.write("package.json", '{"scripts": {\n"lint": "grep -q answer main.js",\n'
                                   '"test": "grep -q 42 main.js"\n}}\n')
        self.write("main.js", "const answer = 42;\n")
        self.write("node_modules/.bin/eslint", "#!/bin/sh\nexit 0\n", 0o755)
        self.judge(["npm lint", "npm test"], "main.js", ("const answer = 42;", "let answer = 42;"),
                   ("const answer = 42;", "let answer = 41;"))

    def test_javascript_linters(self):
        """sh: the configured linters of node_modules that no script calls."""
        self.write("package.json", '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}\n')
        self.write("main.js", "const answer = 42;\n")
        self.write("eslint.config.js", "module.exports = [];\n")
        self.write("tsconfig.json", "{}\n")
        self.install("node", "exit 0\n", "tools/bin")
        self.write("node_modules/.bin/eslint", ESLINT, 0o755)
        self.write("node_modules/.bin/tsc", "#!/bin/sh\ngrep -q 41 main.js || exit 0\n"
                                            "echo 'main.js(1,7): error TS2322: no 41 here.'; exit 2\n", 0o755)
        self.judge(["eslint", "tsc"], "main.js", ("const answer = 42;", "let answer = 42;"),
                   ("const answer = 42;", "let BROKEN = 42;"))
        typed = self.run_here("preview", self.patch("main.js", "const answer = 42;", "let answer = 41;"), expect=1)
        self.assertIn("main.js:1:7: error: no 41 here. [tsc.TS2322]", typed.out + typed.err)

    def test_rust(self):
        """cargo: fmt, check, clippy and test, from a toolchain in the home."""
        for name in ("cargo", "cargo-fmt", "cargo-clippy"):
            self.install(name, CARGO)
        (self.home / ".rustup").mkdir()
        self.write("Cargo.toml", "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n")
        self.write("src/main.rs", "fn main() {}\n")
        config = self.judge(["cargo fmt", "cargo clippy", "cargo test"], "src/main.rs",
                            ("fn main() {}", "fn main() { let _ = 1; }"), ("fn main() {}", "fn main() { BROKEN }"))
        self.assertEqual(config["sandbox"]["readable"], ["~/.cargo", "~/.rustup"])
        unformatted = self.run_here("preview", self.patch("src/main.rs", "fn main() {}", "fn   main() {}"), expect=1)
        self.assertIn("would change this file", unformatted.out + unformatted.err)

    def test_go(self):
        """sh: gofmt, go vet and go test."""
        self.install("go", GO, "go/bin")
        self.install("gofmt", "exit 0\n", "go/bin")
        self.write("go.mod", "module demo\n")
        self.write("main.go", "package main\n")
        config = self.judge(["gofmt", "go vet", "go test"], "main.go", ("package main", "package main // x"),
                            ("package main", "package BROKEN"))
        self.assertEqual(config["sandbox"]["readable"], ["~/go"])


if __name__ == "__main__":
    main()
