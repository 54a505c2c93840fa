"""The sample calls of five documents about tools (fixtures/specs), compared with the documented
results, and rows of docs/specs that no other test shows."""

import ast
import contextlib
import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import unittest

import support

SAMPLES = support.ROOT / "fixtures" / "specs"


def samples():
    """Yields (system, place, sample) of all samples whose tools this program has."""
    for path in sorted(SAMPLES.glob("*.json")):
        for sample in json.loads(path.read_text())["samples"]:
            if not {"own_tool", "unit_tests", "document_runner", "document_tool", "document_client"} & sample.keys():
                yield path.stem, sample["at"], sample


MISSING = object()
# An error of FaultMaven's document, and the words of Galley for the same.
WORDS = {"Missing required parameter: query": r"the property 'pattern' is missing",
         "Operation timed out after 30s": r"ran for \d+ ms and the limit is \d+ ms"}


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


def without_descriptions(schema):
    """Returns a schema without its words for models: Galley's tools have their own."""
    if isinstance(schema, dict):
        return {key: without_descriptions(value) for key, value in schema.items()
                if key != "description" or isinstance(value, dict)}
    return schema


def arguments_of(call):
    """Returns the keyword arguments of a call in Python; `{...}` is any schema, and a name stays
    one."""
    def value_of(node):
        if isinstance(node, ast.Set):
            return {"type": "object"}
        return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)
    node = ast.parse(call.removeprefix("await "), mode="eval").body
    return {one.arg: value_of(one.value) for one in node.keywords}


class Samples(support.SystemCase):
    def here(self, value):
        """Puts absolute paths of a document below the workspace."""
        if isinstance(value, dict):
            return {key: self.here(one) for key, one in value.items()}
        return f"{self.work}{value}" if isinstance(value, str) and value.startswith("/") else value

    @contextlib.contextmanager
    def begun(self, sample):
        """Begins a transaction with the sample's initial files, and rolls it back at the end."""
        for name, text in sample.get("files", {}).items():
            path = self.work / name.lstrip("/")
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
            answer = self.call(sample["tool"], self.here(sample["args"]), *options, *sample.get("options", ()))
            for pointer, value in sample.get("answer", {}).items():
                self.assertEqual(at_pointer(answer, pointer), value, answer)
            for pointer in sample.get("has", ()):
                self.assertNotIn(at_pointer(answer, pointer), (MISSING, None, ""), answer)
            if "says" in sample:
                self.assertIn(sample["says"], json.dumps(answer["error"]))
            if "error" in sample:
                self.assertFalse(answer["ok"], answer)
                self.assertEqual(f"{answer['error']['code']} {answer['error']['reason']}", sample["error"])
            elif not {"answer", "shown"} & set(sample):
                self.assertTrue(answer["ok"], answer)
            for key, value in sample.get("data", {}).items():
                self.assertEqual(answer["data"].get(key), value, key)
            if "output" in sample:
                self.check_output(sample, answer["data"])
            if "shown" in sample:
                shown = arguments_of(sample["shown"])
                self.assertEqual((answer["success"], answer["data"]), (shown["success"], None))
                self.assertRegex(answer["error"], WORDS[shown["error"]])
            for name, text in sample.get("staged", {}).items():
                read = self.call("Read", {"file": self.here(name)})
                self.assertEqual(read["data"]["content"] if read["ok"] else None, text)

    def check_output(self, sample, data):
        """The data have the members of the document's output; its size and its time are an
        example."""
        def backup(path):
            return re.sub(r"\d", "0", path.lstrip("/"))
        output = sample["output"]
        self.assertEqual((sorted(data), data["success"]), (sorted(output), output["success"]))
        self.assertEqual(data["bytes_written"], len(sample["args"]["content"]))
        self.assertEqual(backup(data["backup_path"]), backup(output["backup_path"]))

    def run_several(self, sample):
        """Runs a list of calls, or the calls in a model's answer."""
        text = sample.get("text", "").replace("<path>/", f"<path>{self.work}/") or json.dumps(sample["calls"])
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
        schema = without_descriptions(wanted.get("parameters") or wanted["input_schema"])
        same = {"name": wanted["name"], "input_schema": schema}
        self.assertTrue(is_within(same, json.loads(shown.stdout)), shown.stdout)

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

    def run_manifest(self, manifest):
        name = manifest["provides"]["tool"]
        added = self.take_manifest(manifest, 0)
        self.assertEqual(added["tools"][0]["name"], name)
        shown = self.galley("tools", "show", name, "--manifest", expect=0)
        self.assertEqual(json.loads(shown.stdout), manifest, "it comes back as it was given")
        self.galley("tools", "remove", name, expect=0)

    def run_registration(self, sample):
        """A manifest says the same as the document's call, and has the version and the program too."""
        said = arguments_of(sample["registration"])
        name = said.pop("name")
        self.assertEqual(said.pop("handler"), "my_handler_function")
        self.run_manifest({**said, "name": re.sub(r"\W|_", "-", name), "version": "1.0.0", "type": "tool",
                           "provides": {"tool": name}, "executable": "run"})

    def run_sample(self, system, sample):
        if "manifest" in sample:
            self.run_manifest(sample["manifest"])
        elif "registration" in sample:
            self.run_registration(sample)
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


class Quotes(unittest.TestCase):
    DOCUMENT = "## Tool\n```ts\nconst tool = {\n  name: 'read', // its name\n  input: { file: \"a\", },\n};\n```\n"

    def complaints(self, **sample):
        loader = importlib.machinery.SourceFileLoader("check_specs", str(support.ROOT / "scripts" / "check-specs"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_specs", loader))
        sys.dont_write_bytecode = True
        loader.exec_module(module)
        found = []
        module.check_quotes([{"at": "tool", **sample}], self.DOCUMENT, found.append)
        return found

    def test_a_sample_quotes_its_document_unedited(self):
        tool = {"name": "read", "input": {"file": "a"}}
        self.assertEqual(self.complaints(definition=tool, text="name: 'read', // its name"), [])
        self.assertEqual(self.complaints(schema={"type": "object"}, made="schema"), [])
        for edited in ({"definition": {**tool, "name": "Read"}}, {"definition": dict(reversed(tool.items()))},
                       {"text": "name: 'read' // its name"}, {"schema": {"type": "object"}}):
            with self.subTest(edited=edited):
                [complaint] = self.complaints(**edited)
                self.assertIn("is not the document's text", complaint)


class Rows(support.SystemCase):
    def call(self, tool, args, *options):
        said = self.galley("--json", *options, "call", tool, json.dumps(args), expect=(0, 1, 2, 3))
        return json.loads(said.stdout)

    def test_a_definition_has_the_fields_of_each_document(self):
        shown = {name: json.loads(self.galley("tools", "show", "Write", "--format", name, expect=0).stdout)
                 for name in ("sage", "aios", "nachos", "tenex", "faultmaven")}
        title = json.loads(self.galley("--json", "tools", "show", "Write", expect=0).stdout)["title"]
        for system, wanted in {
            "sage": {"name": "Write", "version": "1.0.0", "schema": {"required": ["content"]}},
            "aios": {"name": "Write", "namespace": "fs", "version": "1.0.0", "input_schema": {"required": ["content"]},
                     "output_schema": {"required": ["written"]}, "required_capabilities": ["fs:write"],
                     "risk_level": "medium", "requires_confirmation": False, "idempotent": True, "reversible": True,
                     "timeout_ms": 5000},
            "nachos": {"toolId": "Write", "name": title, "securityTier": 2, "parameters": {"required": ["content"]}},
            "tenex": {"name": "Write", "input_schema": {"required": ["content", "file"]}},
            "faultmaven": {"name": "Write", "parameters": {"required": ["content"]}},
        }.items():
            self.assertTrue(is_within(wanted, shown[system]), (system, shown[system]))
            self.assertTrue(shown[system]["description"].startswith("Stages the whole content of a file"), system)
        copy = json.loads(self.galley("tools", "show", "Copy", "--format", "aios", expect=0).stdout)
        self.assertIs(copy["idempotent"], False)

    def test_a_refused_permission_says_how_to_get_it(self):
        config = self.work / "galley.toml"
        config.write_text('[agents.bot]\ncapabilities = ["fs:read"]\n')
        self.galley("--agent", "bot", "begin", expect=0)
        error = self.call("Write", {"file": "a.txt", "content": "a\n"}, "--agent", "bot")["error"]
        self.assertEqual((error["code"], error["reason"]), ("EPERMISSION", "policy.capability"))
        needed = re.search(r"ask a person to add `(.+)` to it$", error["message"])
        self.assertTrue(needed, error["message"])
        config.write_text(f'[agents.bot]\ncapabilities = ["fs:read", "{needed[1]}"]\n')
        self.assertTrue(self.call("Write", {"file": "a.txt", "content": "a\n"}, "--agent", "bot")["ok"])

    def test_a_call_past_its_time_names_both_times(self):
        (self.work / "galley.toml").write_text("[tools.Bash]\ntimeout_ms = 3000\n")
        self.galley("begin", expect=0)
        line = "trap 'echo saved; exit' TERM; echo x > made; echo begun; sleep 600 & wait"
        error = self.call("Bash", {"command": line})["error"]
        self.assertEqual(error["code"], "ETIMEOUT")
        ran, limit = re.search(r"ran for (\d+) ms and the limit is (\d+) ms", error["message"]).groups()
        self.assertLessEqual(int(limit), 3000)
        self.assertGreaterEqual(int(ran), int(limit))
        self.assertEqual(error["details"]["stdout"], "begun\nsaved\n", "SIGTERM comes first")
        self.assertFalse(self.call("Read", {"file": "made"})["ok"])

    def test_a_call_that_asks_for_too_much_time_is_refused_at_once(self):
        self.galley("begin", expect=0)
        for tool in ("Bash", "run_command"):
            call = {"command": f"echo x > {tool}"}
            error = self.call(tool, {**call, "timeout": 120_001})["error"]
            self.assertEqual((error["code"], error["reason"]), ("EVALIDATION", "exec.timeout"), tool)
            self.assertIn("asks for 120001 ms and sandbox.timeout_ms allows 120000", error["message"])
            self.assertFalse(self.call("Read", {"file": tool})["ok"], "it did not run")
            self.assertTrue(self.call(tool, {**call, "timeout": 120_000})["ok"], "the limit itself is allowed")
            self.assertTrue(self.call("Read", {"file": tool})["ok"])
        (self.work / "galley.toml").write_text("[sandbox]\ntimeout_ms = 2000\n")
        error = self.call("Bash", {"command": "true", "timeout": 2001})["error"]
        self.assertIn("sandbox.timeout_ms allows 2000:", error["message"])

    def test_a_command_past_a_quota_stages_nothing_and_the_next_one_works(self):
        (self.work / "galley.toml").write_text("[sandbox]\nmax_file_bytes = 1000000\n")
        self.galley("begin", expect=0)
        error = self.call("Bash", {"command": "echo x > made; exec head -c 2000000 /dev/zero > big"})["error"]
        self.assertEqual((error["code"], error["reason"]), ("EQUOTA", "sandbox.quota_file_size"))
        self.assertIn("1000000", error["message"])
        self.assertEqual(self.call("Bash", {"command": "ls made big; echo next"})["data"]["stdout"], "next\n")

    def test_a_command_finds_nothing_of_another_one(self):
        self.galley("begin", expect=0)
        line = "export LEFT=1; touch /tmp/left ~/left; cd /tmp; sleep 617 & ls /tmp/left"
        self.assertEqual(self.call("Bash", {"command": line})["data"]["stdout"], "/tmp/left\n")
        line = ("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[s]leep 617'; "
                "echo \"[$LEFT]\"; pwd; ls /tmp/left ~/left")
        self.assertEqual(self.call("Bash", {"command": line})["data"]["stdout"], f"0\n[]\n{self.work}\n")

    def test_a_transaction_sees_nothing_of_another_one(self):
        (self.work / "a.txt").write_text("base\n")
        for agent in ("ann", "bob"):
            self.galley("--agent", agent, "begin", expect=0)
            self.assertTrue(self.call("Write", {"file": f"{agent}.txt", "content": agent}, "--agent", agent)["ok"])
        self.call("Write", {"file": "a.txt", "content": "ann\n"}, "--agent", "ann")
        self.assertEqual(self.call("Read", {"file": "a.txt"}, "--agent", "bob")["data"]["content"], "base\n")
        self.assertFalse(self.call("Read", {"file": "ann.txt"}, "--agent", "bob")["ok"])
        seen = self.call("Bash", {"command": "cat a.txt; ls ann.txt bob.txt"}, "--agent", "bob")["data"]["stdout"]
        self.assertEqual(seen, "base\nbob.txt\n")


if __name__ == "__main__":
    unittest.main()
