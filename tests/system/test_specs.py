"""The sample calls of five documents about tools (fixtures/specs), compared with the documented
results."""

import contextlib
import json
import shutil
import subprocess
import unittest

import support

SAMPLES = support.ROOT / "fixtures" / "specs"


def samples():
    """Yields (system, place, sample) of all samples whose tools this program has."""
    for path in sorted(SAMPLES.glob("*.json")):
        for sample in json.loads(path.read_text())["samples"]:
            if "own_tool" not in sample:
                yield path.stem, sample["at"], sample


MISSING = object()


def at_pointer(document, pointer):
    """Returns the value at a JSON Pointer, or MISSING."""
    for key in pointer.split("/")[1:]:
        if not isinstance(document, dict) or key not in document:
            return MISSING
        document = document[key]
    return document


def is_within(part, whole):
    """Returns whether an object has all members of another, at any depth."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and is_within(part[key], whole[key]) for key in part)
    return part == whole


class Samples(support.SystemCase):
    @contextlib.contextmanager
    def begun(self, sample):
        """Begins a transaction with the sample's initial files, and rolls it back at the end."""
        for name, text in sample.get("files", {}).items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if "config" in sample:
            table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in sample["config"].items())
            (self.work / "galley.toml").write_text(f"[tools.{sample['tool']}.config]\n{table}")
        if sample.get("git"):
            subprocess.run(["git", "init", "--quiet", self.work], check=True)
        self.galley("begin", expect=0)
        try:
            yield
        finally:
            self.galley("rollback", expect=0)
            (self.work / "galley.toml").unlink(missing_ok=True)
            shutil.rmtree(self.work / ".git", ignore_errors=True)

    def call(self, tool, args, *options):
        said = self.galley("--json", "call", tool, json.dumps(args), *options, expect=(0, 1, 2, 3))
        return json.loads(said.stdout)

    def run_call(self, sample):
        options = [word for name in ("profile", "format") if name in sample for word in (f"--{name}", sample[name])]
        with self.begun(sample):
            answer = self.call(sample["tool"], sample["args"], *options, *sample.get("options", ()))
            for pointer, value in sample.get("answer", {}).items():
                self.assertEqual(at_pointer(answer, pointer), value, answer)
            for pointer in sample.get("has", ()):
                self.assertNotIn(at_pointer(answer, pointer), (MISSING, None, ""), answer)
            if "says" in sample:
                self.assertIn(sample["says"], json.dumps(answer["error"]))
            if "error" in sample:
                self.assertFalse(answer["ok"], answer)
                self.assertEqual(f"{answer['error']['code']} {answer['error']['reason']}", sample["error"])
            elif "answer" not in sample:
                self.assertTrue(answer["ok"], answer)
            for key, value in sample.get("data", {}).items():
                self.assertEqual(answer["data"].get(key), value, key)
            for name, text in sample.get("staged", {}).items():
                read = self.call("Read", {"file": name})
                self.assertEqual(read["data"]["content"] if read["ok"] else None, text)

    def run_several(self, sample):
        """Runs a list of calls, or the calls in a model's answer."""
        text = sample.get("text") or json.dumps(sample["calls"])
        with self.begun(sample):
            said = self.galley("--json", "stage", "--format", "tool_text" if "text" in sample else "calls", "-",
                               stdin=text.encode(), expect=0)
            results = json.loads(said.stdout)["calls"]
            self.assertEqual(len(results), len(sample["results"]))
            for result, wanted in zip(results, sample["results"]):
                self.assertTrue(is_within(wanted, result["data"]), result)

    def run_definition(self, system, sample):
        wanted = sample["definition"]
        shown = self.galley("tools", "show", wanted["name"], "--profile", system, "--format", system, expect=0)
        self.assertTrue(is_within(wanted, json.loads(shown.stdout)), shown.stdout)

    def take_manifest(self, manifest, expect):
        """Adds a tool with this manifest and returns the JSON document."""
        folder = self.scratch / "tool"
        folder.mkdir(exist_ok=True)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        program = folder / "run"
        program.write_text('#!/usr/bin/env python3\nimport json, sys\njson.load(sys.stdin)\n'
                           'print(json.dumps({"ok": True, "data": {}}))\n')
        program.chmod(0o755)
        return json.loads(self.galley("--json", "tools", "add", folder, expect=expect).stdout)

    def run_schema(self, sample):
        """Uses it as the input schema of a tool: valid values reach the tool, invalid ones do
        not."""
        name = "sample"
        self.take_manifest({"name": "sample", "version": "1.0.0", "type": "tool", "provides": {"tool": name},
                            "description": "A sample.", "executable": "run", "input_schema": sample["schema"]}, 0)
        with self.begun({}):
            for value in sample["good"]:
                self.assertTrue(self.call(name, value)["ok"], value)
            for value in sample["bad"]:
                error = self.call(name, value)["error"]
                self.assertEqual((error["code"], error["reason"]), ("EVALIDATION", "args.schema"), value)
        self.galley("tools", "remove", name, expect=0)

    def run_manifest(self, sample):
        whole = {**sample["manifest"], **sample.get("needs", {})}
        name = whole["provides"]["tool"]
        added = self.take_manifest(whole, 0)
        self.assertEqual(added["tools"][0]["name"], name)
        shown = self.galley("tools", "show", name, "--manifest", expect=0)
        self.assertEqual(json.loads(shown.stdout), whole, "it comes back as it was given")
        self.galley("tools", "remove", name, expect=0)

    def run_sample(self, system, sample):
        if "manifest" in sample:
            self.run_manifest(sample)
        elif "schema" in sample:
            self.run_schema(sample)
        elif "definition" in sample:
            self.run_definition(system, sample)
        elif "results" in sample:
            self.run_several(sample)
        else:
            self.run_call(sample)

    def test_every_runnable_sample_gives_the_documented_result(self):
        for system, place, sample in samples():
            with self.subTest(sample=f"{system}: {place}"):
                self.run_sample(system, sample)

    def test_every_sample_has_an_entry_in_its_outline(self):
        for path in sorted(SAMPLES.glob("*.json")):
            outline = (support.ROOT / "docs" / "specs" / f"{path.stem}.outline").read_text().splitlines()
            document = json.loads(path.read_text())
            self.assertEqual("document " + document["document"], outline[0])
            for sample in document["samples"]:
                self.assertIn(sample["at"], outline[2:])


if __name__ == "__main__":
    unittest.main()
