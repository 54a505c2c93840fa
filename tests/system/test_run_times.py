"""Published files keep the order in which a program wrote them, because make relies on it.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import shutil
import subprocess

import hostile
from test_run import RunCase

# A source, a file generated from it, and a file generated from that. The order is not alphabetical.
MAKEFILE = "all: a_out.c\na_out.c: b_mid.h\n\tcp b_mid.h a_out.c\nb_mid.h: z_grammar.y\n\tcp z_grammar.y b_mid.h\n"
NAMES = ("z_grammar.y", "b_mid.h", "a_out.c")


class Order(RunCase):
    def setUp(self):
        super().setUp()
        (self.work / "Makefile").write_text(MAKEFILE)
        for name in NAMES:
            (self.work / name).write_text("old\n")

    def doors(self, script):
        """Commits the changes of a script with each command, and yields the published times."""
        for turn, door in enumerate((("run", "--commit"), ("run",), ("exec",))):
            if door == ("exec",):
                self.galley("begin", expect=0)
            self.galley(*door, "--", "sh", "-ec", f"turn={turn}\n{script}", expect=0)
            if "--commit" not in door:
                self.galley("commit", "--tx", self.open_transactions()[0]["tx"], expect=0)
            yield [(self.work / name).stat().st_mtime_ns for name in NAMES]

    def written_in_order(self, names):
        return "".join(f"echo new $turn > {name}; touch -d '2001-01-01 00:00:0{second}' {name}\n"
                       for second, name in enumerate(names))

    def test_published_times_are_in_the_order_of_writing(self):
        for grammar, mid, out in self.doors(self.written_in_order(NAMES)):
            self.assertLess(grammar, mid)
            self.assertLess(mid, out)
            if shutil.which("make"):
                subprocess.run(["make", "-q", "-C", str(self.work)], check=True)

    def test_a_stale_output_does_not_become_newer_than_its_source(self):
        for grammar, mid, out in self.doors(self.written_in_order(("a_out.c", "b_mid.h", "z_grammar.y"))):
            self.assertLess(out, mid)
            self.assertLess(mid, grammar)

    def test_equal_times_stay_equal(self):
        script = "".join(f"echo new $turn > {name}; touch -d '2001-01-01 00:00:00' {name}\n" for name in NAMES)
        for times in self.doors(script):
            self.assertEqual(len(set(times)), 1)

    def test_published_times_are_not_those_of_the_layer(self):
        before = (self.work / "Makefile").stat().st_mtime_ns
        for times in self.doors(self.written_in_order(NAMES)):
            self.assertGreater(min(times), before)

    def test_a_file_edited_after_a_command_is_newer(self):
        self.galley("begin", expect=0)
        self.galley("exec", "--", "sh", "-ec", "turn=1\n" + self.written_in_order(NAMES), expect=0)
        self.galley("call", "Edit", '{"file_path": "z_grammar.y", "old_string": "new", "new_string": "newer"}',
                    "--tx", self.open_transactions()[0]["tx"], expect=0)
        self.galley("commit", expect=0)
        grammar, mid, out = ((self.work / name).stat().st_mtime_ns for name in NAMES)
        self.assertLess(mid, out)
        self.assertLess(out, grammar)


if __name__ == "__main__":
    hostile.main()
