"""The contents of the program file itself."""

import subprocess
import unittest
from pathlib import Path

from support import GALLEY


class Program(unittest.TestCase):
    def needed(self, program):
        """Returns the lines of the libraries that a program links."""
        said = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        needed = [line for line in said.splitlines() if "(NEEDED)" in line]
        self.assertTrue(any("libc.so" in line for line in needed), said)
        return needed

    def test_does_not_link_libgit2(self):
        self.assertEqual([line for line in self.needed(GALLEY) if "git2" in line], [])

    def test_links_no_library_of_the_servers(self):
        for name, library in (("galley-serve-grpc", "libgrpc++"), ("galley-serve-nats", "libnats")):
            server = Path(GALLEY).with_name(name)
            if server.exists():  # optional parts of a build
                self.assertTrue(any(library in line for line in self.needed(server)), name)
            self.assertEqual([line for line in self.needed(GALLEY) if library in line], [])


if __name__ == "__main__":
    unittest.main()
