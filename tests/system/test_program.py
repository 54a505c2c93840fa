"""The contents of the program file itself."""

import subprocess
import unittest

from support import GALLEY


class Program(unittest.TestCase):
    def test_does_not_link_libgit2(self):
        said = subprocess.run(["readelf", "-d", GALLEY], capture_output=True, text=True, check=True).stdout
        needed = [line for line in said.splitlines() if "(NEEDED)" in line]
        self.assertTrue(any("libc.so" in line for line in needed), said)
        self.assertEqual([line for line in needed if "git2" in line], [])


if __name__ == "__main__":
    unittest.main()
