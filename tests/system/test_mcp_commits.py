#!/usr/bin/env python3
"""Commits by `galley mcp` that are cancelled or asked about, and what their answers say."""

import hostile
from terminal_session import wait_until
from test_mcp import McpCase


class Cancelled(McpCase):
    def test_what_is_cancelled_after_its_commit_point_is_committed_and_answered(self):
        begun, may_go = self.scratch / "begun", self.scratch / "may go"
        hook = f"touch '{begun}'; while [ ! -e '{may_go}' ]; do sleep 0.01; done"
        own = self.scratch / "config" / "galley" / "config.toml"
        own.write_text(f'{own.read_text()}[commit]\nbefore_apply = ["/bin/sh", "-c", "{hook}"]\n')
        staged, client = self.connect(), self.connect("--autocommit")
        staged.call("Write", file_path="staged", content="2\n")
        for number, (server, name, arguments) in enumerate((
                (staged, "galley_commit", {}), (staged, "galley_undo", {}),
                (client, "Write", {"file_path": "second", "content": "3\n"})), 1):
            with self.subTest(name):
                slow = server.request("tools/call", {"name": name, "arguments": arguments})
                wait_until(begun.exists)
                server.tell("notifications/cancelled", {"requestId": slow})
                server.ask("ping")
                may_go.touch()
                said = server.answer_to(slow)["result"]
                self.assertFalse(said["isError"], said)
                self.assertIn(f"committed as {number};", self.text(said))
                begun.unlink()
                may_go.unlink()
        self.assertFalse((self.work / "staged").exists())
        self.assertTrue((self.work / "second").exists())


if __name__ == "__main__":
    hostile.main()
