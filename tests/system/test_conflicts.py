"""Conflicts: what they say, as text and as JSON, and that nothing is committed by one."""

import json
import unittest

from support import SystemCase


class Conflicts(SystemCase):
    def write(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def call(self, tool, arguments, expect=0):
        return json.loads(self.galley("call", tool, json.dumps(arguments), expect=expect).stdout)

    def commit(self, *options, expect):
        document = json.loads(self.galley("--json", "commit", *options, expect=expect).stdout)
        self.assertEqual(document["schema"], "galley.commit/1")
        return document

    def test_serializable_holds_what_was_read(self):
        self.write("galley.toml", '[commit]\nisolation = "serializable"\n')
        self.write("read.txt", "read\n")
        self.galley("begin", expect=0)
        self.call("read_text_file", {"path": "read.txt"})
        self.call("write_file", {"path": "made.txt", "content": "made\n"})
        self.write("read.txt", "somebody else\n")
        document = self.commit(expect=1)
        self.assertEqual(document["reason"], "conflict.read_changed")
        self.assertEqual([path["path"] for path in document["conflict"]["paths"]], ["read.txt"])
        self.assertFalse((self.work / "made.txt").exists())
        said = self.galley("commit", expect=1).stderr.decode()
        self.assertIn("'read.txt' was changed since it was read", said)
        self.write("read.txt", "read\n")
        self.commit(expect=0)
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")


if __name__ == "__main__":
    unittest.main()
