#!/usr/bin/env python3
"""Every list of tools, byte for byte. fixtures/tools/lists.json has the definition of each tool.
For each list (a profile in a format) it has the hash of the text. If only a hash differs, a shape
or a profile changed. GALLEY_RENEW_LISTS=1 writes the file, and a person then reviews it."""

import hashlib
import json
import os
import unittest

from support import ROOT, SystemCase

LISTS = ROOT / "fixtures" / "tools" / "lists.json"
PROFILES = ("native", "claude", "openai", "gemini", "mcp-fs", "sage", "tenex", "aios", "nachos", "faultmaven")
SHAPES = ("anthropic", "openai", "mcp", "sage", "aios", "nachos", "tenex", "faultmaven")
RENEW = "GALLEY_RENEW_LISTS"


class ToolDefinitions(SystemCase):
    def lists(self):
        """Yields the name of each list and its text: for each profile and for none, for people and
        in each format."""
        for profile in ("",) + PROFILES:
            shown = ("--profile", profile) if profile else ()
            yield f"{profile or 'none'} text", self.list_of(*shown)
            yield f"{profile or 'none'} json", self.list_of(*shown, "--json")
            for shape in SHAPES:
                yield f"{profile or 'none'} {shape}", self.list_of(*shown, "--format", shape)

    def list_of(self, *options):
        return self.galley("tools", "list", *options, expect=0).stdout

    def current(self):
        tools, hashes = {}, {}
        for name, text in self.lists():
            hashes[name] = hashlib.sha256(text).hexdigest()
            if name.endswith(" json"):
                tools.update((tool["name"], tool) for tool in json.loads(text)["tools"])
        return {"tools": tools, "lists": hashes}

    def test_tool_lists_equal_the_stored_lists_byte_for_byte(self):
        now = self.current()
        if RENEW in os.environ:
            LISTS.write_text(as_lines(now))
        before = json.loads(LISTS.read_text())
        for part in ("tools", "lists"):
            self.assertEqual(sorted(before[part]), sorted(now[part]))
            for name, value in before[part].items():
                # Compares texts, because the order of members matters too.
                self.assertEqual(json.dumps(value), json.dumps(now[part][name]), f"{part}: {name}; {RENEW}=1 renews")


def as_lines(document):
    """Puts each tool and each list on its own line, so that a difference names it."""
    parts = []
    for part, values in document.items():
        lines = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    unittest.main()
