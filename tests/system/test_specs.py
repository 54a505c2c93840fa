"""The sample calls of five documents about tools (fixtures/specs), against what they show."""

import contextlib
import json
import unittest

import support

SAMPLES = support.ROOT / "fixtures" / "specs"


def samples():
    """(where it stands, sample) of all that do not wait."""
    for path in sorted(SAMPLES.glob("*.json")):
        for sample in json.loads(path.read_text())["samples"]:
            if "waits" not in sample:
                yield f"{path.stem}: {sample['at']}", sample


class Samples(support.SystemCase):
    @contextlib.contextmanager
    def begun(self, files):
        """An open transaction over these files, gone afterwards."""
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.galley("begin", expect=0)
        try:
            yield
        finally:
            self.galley("rollback", expect=0)

    def call(self, tool, args, *options):
        said = self.galley("--json", "call", tool, json.dumps(args), *options, expect=(0, 1, 2, 3))
        return json.loads(said.stdout)

    def run_call(self, sample):
        options = [word for name in ("profile", "format") if name in sample for word in (f"--{name}", sample[name])]
        with self.begun(sample.get("files", {})):
            answer = self.call(sample["tool"], sample["args"], *options)
            if "answer" in sample:
                for key, value in sample["answer"].items():
                    self.assertEqual(answer.get(key), value, answer)
            elif "error" in sample:
                self.assertFalse(answer["ok"], answer)
                self.assertEqual(f"{answer['error']['code']} {answer['error']['reason']}", sample["error"])
            else:
                self.assertTrue(answer["ok"], answer)
            for key, value in sample.get("data", {}).items():
                self.assertEqual(answer["data"].get(key), value, key)
            for name, text in sample.get("staged", {}).items():
                read = self.call("Read", {"file": name})
                self.assertEqual(read["data"]["content"] if read["ok"] else None, text)

    def take_manifest(self, manifest, expect):
        """Adds a tool of this manifest and returns the JSON document."""
        folder = self.scratch / "tool"
        folder.mkdir(exist_ok=True)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        program = folder / "run"
        program.write_text('#!/usr/bin/env python3\nimport json, sys\njson.load(sys.stdin)\n'
                           'print(json.dumps({"ok": True, "data": {}}))\n')
        program.chmod(0o755)
        return json.loads(self.galley("--json", "tools", "add", folder, expect=expect).stdout)

    def run_schema(self, sample):
        """As the input schema of a tool: good values reach it, bad ones do not."""
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
        whole = {**sample["manifest"], **sample["needs"]}
        added = self.take_manifest(whole, 0)
        self.assertEqual(added["tools"][0]["name"], whole["provides"]["tool"])
        self.galley("tools", "remove", whole["provides"]["tool"], expect=0)

    def test_every_sample_that_can_be_run(self):
        for name, sample in samples():
            with self.subTest(sample=name):
                if "manifest" in sample:
                    self.run_manifest(sample)
                elif "schema" in sample:
                    self.run_schema(sample)
                else:
                    self.run_call(sample)

    def test_every_sample_stands_at_an_entry_of_its_outline(self):
        for path in sorted(SAMPLES.glob("*.json")):
            outline = (support.ROOT / "docs" / "specs" / f"{path.stem}.outline").read_text().splitlines()
            document = json.loads(path.read_text())
            self.assertEqual("document " + document["document"], outline[0])
            for sample in document["samples"]:
                self.assertIn(sample["at"], outline[2:])


if __name__ == "__main__":
    unittest.main()
