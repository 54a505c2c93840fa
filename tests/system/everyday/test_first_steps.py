"""The first minutes: help, a preview, a mistyped command."""

from everyday import EverydayCase, main


class FirstSteps(EverydayCase):
    def test_a_preview_on_a_terminal_shows_the_diff_and_writes_nothing(self):
        """git: `apply --stat` and `diff` show a change and write nothing."""
        before = (self.work / "README.md").read_bytes()
        (self.scratch / "m.patch").write_text(
            "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# parcels\n+# Parcels\n")
        result = self.on_terminal("preview", "--recount", self.scratch / "m.patch", expect=(0, 1))
        self.assertIn("README.md", result.screen)
        self.assertEqual((self.work / "README.md").read_bytes(), before)


if __name__ == "__main__":
    main()
