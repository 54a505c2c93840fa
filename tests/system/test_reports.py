#!/usr/bin/env python3
"""Reports for other programs: the contents of each format. No name and no message can forge a part
of it."""

import json
import os
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import support

MULTITOOL = "5.7.0"
RULES = """
[[validator]]
builtin = "json"
[[validator]]
builtin = "forbidden_text"
patterns = ['FORBIDDEN.*']
[[validator]]
builtin = "whitespace"
severity = "warning"
"""
# Unescaped, this text would be a workflow command, a row, an element or another property.
HOSTILE = "FORBIDDEN %0A::error::x,file=y:z|</td><script>\"'&`*_@user #1 https://evil.example ##[set-env]"
HOSTILE_NAME = "a,b:c%0A::stop-commands::x|<b>&\"'.txt"


class Reports(support.SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        (self.work / "galley.toml").write_text(RULES)
        self.out = self.work.parent / "out"
        self.out.mkdir(exist_ok=True)

    def test_no_report_is_written_through_what_a_clone_brought(self):
        edits = self.out / "edits.json"
        edits.write_text(json.dumps([{"path": "x.txt", "content": "x\n"}]))
        mine = self.out / "mine"
        mine.write_text("mine\n")
        (self.work / "report").symlink_to(os.path.relpath(mine, self.work))
        (self.work / "new").symlink_to(self.out / "new")
        (self.work / "folder").symlink_to(self.out)
        (self.work / "below").mkdir()
        os.mkfifo(self.work / "below" / "pipe")
        entry = self.out / "entry"
        entry.symlink_to(self.work)
        self.galley("stage", "--begin", edits, expect=0)
        for option in ("--report=sarif=", "--report=github-summary=", "--report=baseline=", "--report=html=", "--html=", "--verdict="):
            command = ("validate",) if option == "--verdict=" else ("preview", edits)
            for file in ("report", "new", "folder/mine", "below/pipe", self.work / "report", entry / "report",
                         "folder/../report", "below/../new"):
                with self.subTest(option=option, file=file):
                    self.galley(*command, f"{option}{file}", expect=1)
                    self.assertEqual(mine.read_text(), "mine\n")
                    self.assertFalse((self.out / "new").exists())
        self.git("init", "-q", "-b", "main")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
        for arguments in ([f"--html={self.work}/report"], [f"--report=json={self.work}/below/pipe"], [f"--html=entry/report"]):
            self.galley("--repo", self.work, "--ref", "main", "preview", *arguments, edits, work=self.out, expect=1)
            self.assertEqual(mine.read_text(), "mine\n")
        refused = self.galley("--json", "preview", "--html=report", edits, expect=1)
        self.assertEqual(json.loads(refused.stdout)["reason"], "report.not_plain")
        for file in ("below/real", "/dev/stdout", "/dev/fd/1", self.out / "real"):
            with self.subTest(file=file):
                said = self.galley("preview", "--report", f"json={file}", edits, expect=0).stdout
                text = said.decode() if str(file).startswith("/dev") else (self.work / file).read_text()
                self.assertEqual(json.JSONDecoder().raw_decode(text)[0]["schema"], "galley.preview/1")
        for _ in range(2):
            self.galley("preview", "--report", "github-summary=below/summary", edits, expect=0)
        text = (self.work / "below/summary").read_text()
        self.assertEqual(text, text[:len(text) // 2] * 2)

    def test_a_report_is_written_to_what_its_name_means(self):
        edits = self.out / "edits.json"
        edits.write_text(json.dumps([{"path": "x.txt", "content": "x\n"}]))

        def report(file, expect=0):
            return self.galley("preview", "--report", f"json={file}", edits, expect=expect)

        real, link, part = self.out / "real.json", self.out / "link.json", self.out / "link.json.part"
        real.write_text("old")
        real.chmod(0o640)
        link.symlink_to("real.json")
        part.write_text("precious")
        report(link)
        self.assertTrue(link.is_symlink())
        self.assertEqual(json.loads(real.read_text())["schema"], "galley.preview/1")
        self.assertEqual((real.stat().st_mode & 0o777, part.read_text()), (0o640, "precious"))
        fifo = self.out / "fifo"
        os.mkfifo(fifo)
        reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
        report(fifo)
        self.assertEqual(json.loads(reader.communicate(timeout=60)[0])["schema"], "galley.preview/1")
        self.assertTrue(fifo.is_fifo())
        before = sorted(self.out.iterdir())
        for wrong in (self.out, self.out / "missing" / "r.json"):
            self.assertIn(str(wrong), report(wrong, 2).stderr.decode())
        self.assertEqual(sorted(self.out.iterdir()), before)

    def edits(self, **files):
        return json.dumps([{"path": path, "content": text} for path, text in files.items()]).encode()

    def hostile(self):
        return self.edits(**{HOSTILE_NAME: "one\n" + HOSTILE + "\n", "x.json": "{", "t.txt": "é\tx \n"})

    def preview(self, *reports, stdin=None, expect=1):
        words = [word for report in reports for word in ("--report", report)]
        return self.galley("preview", "--format", "edits", *words, stdin=stdin or self.hostile(), expect=expect)

    def report(self, name):
        self.preview(f"{name}={self.out}/report")
        return (self.out / "report").read_text()

    def test_all_formats_in_one_run(self):
        names = ["text", "json", "sarif", "junit", "github", "github-summary", "gitlab", "rdjson", "baseline", "html"]
        self.preview(*(f"{name}={self.out}/{name}" for name in names))
        self.assertEqual(sorted(os.listdir(self.out)), sorted(names))
        self.assertEqual(json.loads((self.out / "json").read_text())["schema"], "galley.preview/1")

    def test_hostile_names_and_messages_stay_in_their_field(self):
        findings = len(json.loads(self.report("json"))["verdict"]["findings"])
        lines = self.report("github").splitlines()
        self.assertEqual(len(lines), findings + 1)
        for line in lines:
            self.assertRegex(line, r"^::(error|warning|notice) title=[\w.%-]+(,[a-zA-Z]+=[^,:]*)*::")
        self.assertEqual(sum("stop-commands" in line for line in lines if line.startswith("::stop")), 0)
        rows = [line for line in self.report("github-summary").splitlines() if line.startswith("| error")]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(row.count("|"), 5, row)
            self.assertNotRegex(row, r"[<>`*_@\[\]]|https:", row)
        tree = ElementTree.fromstring(self.report("junit"))
        self.assertEqual(tree.get("failures"), "2")
        self.assertEqual({node.tag for node in tree.iter()},
                         {"testsuites", "testsuite", "testcase", "failure", "system-out"})

    def test_sarif_has_places_in_characters_and_fingerprints_that_survive_moved_lines(self):
        first = json.loads(self.report("sarif"))["runs"][0]
        self.assertEqual(first["columnKind"], "unicodeCodePoints")
        by_rule = {one["ruleId"]: one for one in first["results"]}
        region = by_rule["forbidden_text"]["locations"][0]["physicalLocation"]["region"]
        self.assertEqual((region["startLine"], region["startColumn"]), (2, 1))
        moved = self.edits(**{HOSTILE_NAME: "zero\n\none\n" + HOSTILE + "\n"})
        self.preview(f"sarif={self.out}/moved", stdin=moved)
        again = json.loads((self.out / "moved").read_text())["runs"][0]["results"][0]
        self.assertEqual(again["partialFingerprints"], by_rule["forbidden_text"]["partialFingerprints"])
        self.assertNotEqual(again["locations"], by_rule["forbidden_text"]["locations"])

    def test_gitlab_and_rdjson_have_one_entry_for_each_finding(self):
        gitlab = json.loads(self.report("gitlab"))
        self.assertEqual(len({one["fingerprint"] for one in gitlab}), len(gitlab))
        self.assertEqual({one["location"]["path"] for one in gitlab}, {HOSTILE_NAME, "x.json", "t.txt"})
        rdjson = json.loads(self.report("rdjson"))
        self.assertEqual(len(rdjson["diagnostics"]), len(gitlab))
        self.assertEqual({one["severity"] for one in rdjson["diagnostics"]}, {"ERROR", "WARNING"})

    def test_standard_output_takes_one_report_and_nothing_else(self):
        said = self.preview("gitlab")
        self.assertIsInstance(json.loads(said.stdout), list)
        said = self.preview("gitlab", "sarif", expect=2)
        self.assertIn(b"only one report", said.stderr)
        said = self.galley("preview", "--report", "sarf", stdin=b"", expect=2)
        self.assertIn(b"it takes", said.stderr)

    def test_a_summary_is_appended_to_an_existing_file(self):
        (self.out / "summary").write_text("# before\n")
        self.preview(f"github-summary={self.out}/summary")
        self.assertTrue((self.out / "summary").read_text().startswith("# before\n## Galley"))

    def test_an_agent_writes_no_file(self):
        said = self.galley("--agent", "bot", "preview", "--format", "edits", "--report", f"json={self.out}/x",
                           stdin=self.hostile(), expect=1)
        self.assertIn(b"agent", said.stderr)
        self.assertEqual(os.listdir(self.out), [])

    def test_a_baseline_lets_pass_what_it_knows(self):
        self.preview("baseline=known.json")
        (self.work / "galley.toml").write_text('[findings]\nbaseline = "known.json"\n' + RULES)
        self.preview(expect=0)
        more = json.loads(self.hostile()) + [{"path": "y.json", "content": "{"}]
        said = self.preview(stdin=json.dumps(more).encode())
        self.assertIn(b"y.json", said.stdout + said.stderr)

    def test_sarif_passes_the_validator_of_microsoft(self):
        tool = os.environ.get("GALLEY_SARIF_MULTITOOL") or self.fetched_multitool()
        if tool is None:
            self.skipTest("npm has no sarif-multitool for this machine; nothing was validated")
        self.preview(f"sarif={self.out}/report.sarif")
        done = subprocess.run([tool, "validate", self.out / "report.sarif", "--output", self.out / "found.sarif",
                               "--log", "ForceOverwrite"], capture_output=True, check=False, timeout=120)
        self.assertTrue((self.out / "found.sarif").exists(), done)
        found = json.loads((self.out / "found.sarif").read_text())["runs"][0].get("results", [])
        # SARIF2005 requires a web page of the tool, and Galley does not have one.
        bad = [one for one in found
               if one.get("level", "warning") in ("error", "warning") and one["ruleId"] != "SARIF2005"]
        self.assertEqual(bad, [], json.dumps(bad, indent=1)[:4000])

    @staticmethod
    def fetched_multitool():
        """Returns the program of npm's package, in a cache next to the trees of the differential
        test."""
        cache = support.ROOT / ".cache" / "npm-tools" / f"sarif-multitool-{MULTITOOL}"
        program = cache / "node_modules" / "@microsoft" / "sarif-multitool-linux" / "Sarif.Multitool"
        if not program.exists():
            if shutil.which("npm") is None:
                return None
            cache.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", cache,
                                   f"@microsoft/sarif-multitool@{MULTITOOL}"],
                                  capture_output=True, check=False, timeout=200)
            if done.returncode != 0 or not program.exists():
                return None
        program.chmod(0o755)
        return program


class VerdictFiles(support.SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        (self.work / "galley.toml").write_text('[[validator]]\nbuiltin = "json"\n')
        self.out = self.work.parent / "out"
        self.out.mkdir(exist_ok=True)
        self.key = self.out / "key"
        self.key.write_text("0123456789abcdef0123456789abcdef\n")
        self.file = self.out / "verdict"
        self.galley("begin")
        self.stage("x.json", "{}\n")

    def stage(self, path, text):
        self.galley("stage", "--format", "edits", stdin=json.dumps([{"path": path, "content": text}]).encode())

    def validate(self, *words, expect=0):
        return self.galley("validate", *words, expect=expect)

    def test_a_later_job_accepts_the_verdict(self):
        self.validate("--verdict", self.file, "--key", self.key)
        said = self.galley("--json", "validate", "--verify", self.file, "--key", self.key)
        document = json.loads(said.stdout)
        self.assertEqual((document["schema"], document["ok"], document["signed"]), ("galley.verify/1", True, True))

    def test_a_later_job_sees_a_refusal(self):
        self.stage("y.json", "{")
        self.validate("--verdict", self.file, expect=1)
        self.validate("--verify", self.file, expect=1)

    def test_another_change_another_rule_or_another_key_is_refused(self):
        self.validate("--verdict", self.file, "--key", self.key)
        other = self.out / "other"
        other.write_text("fedcba9876543210fedcba9876543210")
        self.assertIn(b"not signed by this key",
                      self.validate("--verify", self.file, "--key", other, expect=1).stderr)
        self.stage("z.json", "{}\n")
        self.assertIn(b"another change",
                      self.validate("--verify", self.file, "--key", self.key, expect=1).stderr)
        self.galley("rollback")
        self.galley("begin")
        self.stage("x.json", "{}\n")
        self.validate("--verify", self.file, "--key", self.key)
        (self.work / "galley.toml").write_text('[[validator]]\nbuiltin = "toml"\n')
        self.assertIn(b"another galley.toml",
                      self.validate("--verify", self.file, "--key", self.key, expect=1).stderr)


if __name__ == "__main__":
    unittest.main()
