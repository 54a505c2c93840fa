"""Turns of agents that a generator with a seed makes, and what must be true after each. test_scripted_turns.py plays them.

A generator chooses agents, names, contents and order. After each turn the tree must be what the log and the person's saves make
of the first tree, and at the end the undo of each session must leave the first tree with the saves.

GALLEY_TURNS=1000 plays a thousand turns. GALLEY_SEED=7 plays others, and GALLEY_SEED=7-mcp-3 plays only that workspace. Without
either nothing is played."""

import hashlib
import itertools
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import stat
import sys
import time
import traceback
import unittest
from pathlib import Path

from support import TEST_LIMIT_S, snapshot

TURNS = int(os.environ.get("GALLEY_TURNS", "20"))
SEED = os.environ.get("GALLEY_SEED", "1")
DOORS = 4

RULES = """
[[policy.rule]]
name = "keys stay"
paths = ["keys/"]
decision = "deny"

[[validator]]
builtin = "json"
"""
STEPS = ("edit", "edit", "command", "command", "misfit", "refused", "conflict", "cancelled", "parallel", "escape")
BLOCKS = 12
WORDS = ("alpha", "$HOME", "it's", 'a "b"', "tab\there", "ünï", "back\\slash", "}", "", "#", "%s %d", "`ls`", "trailing  ", "x" * 90)
NAMES = ("a.txt", "b c.txt", "it's", 'q"q', "ü.md", "-dash", "$HOME", "deep/er/x", "back\\slash", "run.sh", "tab\tname", "link")
# An edit as the agent's own tool makes it: the old text must be there once.
REPLACE = ("import sys\np, o, n = sys.argv[1:]\nt = open(p, newline='').read()\n"
           "assert t.count(o) == 1, (p, o, t)\nopen(p, 'w', newline='').write(t.replace(o, n))\n")


class Block:
    """A part of a shared file between marks that stay. `own` is its text without the agents, `now` its text on disk."""

    def __init__(self, path, number):
        self.path, self.holder = path, None
        self.own = self.now = f"text {number} of {path}\n"
        self.head = [f"mark {number} of {path}\n", f"above number {number} of {path}\n"]
        self.tail = [f"below number {number} of {path}\n", f"end {number} of {path}\n"]

    def edit(self, text, head=None):
        """The old and the new text of an edit, with a line of context."""
        above = head or self.head[1]
        return above + self.now + self.tail[0], above + text + self.tail[0]


class Player:
    """One session of an agent."""

    def __init__(self, agent, session, area):
        self.agent, self.session, self.area = agent, session, area
        self.client = None
        self.touched = set()  # paths of shared files since the last commit


class Story:
    """A workspace, what must be in it, and the generator that decides what happens. The first one or two of `agents` play."""

    def __init__(self, work, seed, agents, saves_in_new):
        self.work, self.seed, self.saves_in_new = work, seed, saves_in_new
        self.choice = random.Random(seed)
        self.count = itertools.count()
        self.told, self.saves = [], []
        self.turns = 0
        players = self.choice.choice((1, 1, 2))
        self.players = [Player(agent, f"s{number}-{self.choice.randrange(10**6)}", f"area{number}")
                        for number, agent in enumerate(agents[:players])]
        self.blocks = []
        self.make()
        self.first = snapshot(work)
        self.first_folders = {os.stat(folder).st_ino for folder, _, _ in os.walk(work)}
        self.copy = work.with_name(f"first {work.name}")
        shutil.copytree(work, self.copy, symlinks=True)

    def make(self):
        shared, rest = self.work / "shared", self.work / "keys"
        shared.mkdir(parents=True)
        rest.mkdir()
        (self.work / "galley.toml").write_text(RULES)
        (rest / "old").write_text("k\n")
        for number in range(4):
            path = f"shared/{number}.txt"
            self.blocks += [Block(path, block) for block in range(BLOCKS)]
            (self.work / path).write_text(self.text_of(path))
            (self.work / path).chmod(self.choice.choice((0o644, 0o755, 0o600)))
        for player in self.players:
            old = self.work / player.area
            (old / "deep" / "er").mkdir(parents=True)
            (old / "empty").mkdir()
            (old / "a.txt").write_text("".join(f"line {line}\n" for line in range(20)))
            (old / "run.sh").write_text("#!/bin/sh\n")
            (old / "run.sh").chmod(0o750)
            (old / "deep" / "er" / "x").write_bytes(b"\0\xff" * 50)
            (old / "link").symlink_to("a.txt")

    def text_of(self, path, of="now"):
        return "".join("".join(block.head) + getattr(block, of) + "".join(block.tail)
                       for block in self.blocks if block.path == path)

    def tell(self, *words):
        self.told.append(" ".join(map(str, words)))

    def fresh(self, now=""):
        """A text of a few lines, of which none is in another text; or none, if there are some now."""
        lines = 0 if now and self.choice.random() < 0.1 else self.choice.randint(1, 3)
        return "".join(f"{next(self.count)} {self.choice.choice(WORDS)}\n" for _ in range(lines))

    def blocks_for(self, player, count=1, untouched=False):
        """Blocks that no other session and no person changed."""
        free = [block for block in self.blocks if block.holder in ((None,) if untouched else (None, player.session))
                and not (untouched and block.path in player.touched)]
        return self.choice.sample(free, min(count, len(free)))

    def take(self, player, block, text):
        self.tell(player.session, "changes", block.path, block.head[0].strip(), repr(text))
        block.holder, block.now = player.session, text
        player.touched.add(block.path)

    def save(self, block):
        """A person saves a block in an editor, which writes in place or replaces the file."""
        text = f"{next(self.count)} by a person\n"
        self.tell("a person saves", block.path, block.head[0].strip(), repr(text))
        path = self.work / block.path
        old = path.read_bytes().decode()
        between = (block.head[1], block.tail[0])
        start, end = old.index(between[0]) + len(between[0]), old.index(between[1])
        self.write(path, (old[:start] + text + old[end:]).encode())
        block.holder, block.own, block.now = "person", text, text

    def save_beside(self, block):
        """A person saves another part of the same file, if there is one that nobody changed."""
        free = [one for one in self.blocks if one.path == block.path and one.holder is None]
        for one in self.choice.sample(free, min(1, len(free))):
            self.save(one)

    def save_new(self):
        """A person makes a file, perhaps in a folder of an agent."""
        folders = [str(self.work), *(folder for player in self.players for folder, _, _ in sorted(os.walk(self.work / player.area))
                                     if self.saves_in_new or os.stat(folder).st_ino in self.first_folders)]
        path = Path(self.choice.choice(folders)) / f"mine {next(self.count)}"
        self.tell("a person makes", path)
        self.write(path, b"mine\n")

    def write(self, path, text):
        name = str(path.relative_to(self.work))
        if path.exists() and self.choice.random() < 0.5:
            path.write_bytes(text)
        else:
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
            other = path.with_name(f".{path.name}.new")
            other.write_bytes(text)
            other.chmod(mode)
            other.rename(path)
        self.saves.append((time.time_ns(), name, text))

    def after_undo(self):
        """The first tree with the saves. Folders of agents stay if the person made a file in them."""
        tree, now = dict(self.first), snapshot(self.work)
        for _, name, text in self.saves:
            kind, mode = tree.get(name, (stat.S_IFREG, 0o644, ""))[:2]
            if name.startswith("shared/"):
                text = self.text_of(name, "own").encode()
            tree[name] = (kind, mode, hashlib.sha256(text).hexdigest())
            for folder in Path(name).parents:
                tree.setdefault(str(folder), now.get(str(folder)))
        tree.pop(".", None)
        return tree

    def command(self, player):
        """A command that changes the agent's own files in any way, and succeeds whatever is there."""
        script = [f"mkdir -p {player.area}", f"cd {player.area}"]
        for _ in range(self.choice.randint(1, 4)):
            one, two = (shlex.quote("./" + name) for name in self.choice.sample(NAMES, 2))
            text = shlex.quote(self.fresh())
            script.append(self.choice.choice((
                f"[ -d {one} ] || {{ mkdir -p \"$(dirname {one})\" && rm -f {one} && printf %s {text} > {one}; }} 2> /dev/null || :",
                f"[ -d {one} ] || printf %s {text} >> {one} 2> /dev/null || :",
                f"[ -d {one} ] || printf '\\000\\377%s' {text} >> {one} 2> /dev/null || :",
                f"mkdir -p d{self.choice.randrange(3)}/{self.choice.randrange(3)} 2> /dev/null || :",
                f"rm -rf {one}",
                f"mv -T {one} {two} 2> /dev/null || :",
                f"mv -T {self.choice.choice(('deep', 'd0', 'moved0'))} moved{self.choice.randrange(3)} 2> /dev/null || :",
                f"rm -rf {self.choice.choice(('deep', 'd0/0', 'd1', 'moved1'))}",
                f"chmod {self.choice.choice(('700', '755'))} deep d0 moved1 2> /dev/null || :",
                f"[ -L {one} ] || chmod {self.choice.choice(('600', '644', '755', 'u+w,go-r'))} {one} 2> /dev/null || :",
                f"rm -rf {one}; ln -s {shlex.quote(self.choice.choice(('a.txt', 'nowhere', 'deep')))} {one} 2> /dev/null || :",
                f"cp -rp {one} {two} 2> /dev/null || :",
                f"sed -i 's/line {self.choice.randrange(20)}$/line {next(self.count)}/' a.txt 2> /dev/null || :",
                "rmdir empty deep/er 2> /dev/null || :",
                f"chmod {self.choice.choice(('600', '644', '755'))} ../shared/{player.area[-1]}.txt")))
        self.tell(player.session, "runs", "\n".join(script))
        return "\n".join(script)


def replace_command(block, text):
    """A command that makes an edit."""
    return shlex.join(["python3", "-c", REPLACE, block.path, *block.edit(text)])


def plain(entry):
    """An entry of a snapshot, with the hash of a link's target."""
    if not isinstance(entry, tuple) or entry[0] != stat.S_IFLNK or re.fullmatch("[0-9a-f]{64}", entry[1]):
        return entry
    return entry[0], hashlib.sha256(os.fsencode(entry[1])).hexdigest()


class Turns:
    """What is the same at each door. A door has a method for each kind of step, and `calls`."""

    AGENTS = ("claude", "codex", "gemini", "opencode", "qwen", "cline")
    SAVES_IN_NEW_FOLDERS = True

    def test_turns_at_random(self):
        self.need_walls()
        # A shell's background job ignores this signal, and its programs would, too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.calls, played = 0, 0
        self.canary = self.scratch / "canary"
        self.canary.mkdir()
        (self.canary / "old").write_text("old\n")
        self.environment.setdefault("HOME", str(self.scratch / "home"))
        Path(self.environment["HOME"]).mkdir(exist_ok=True)
        began = time.monotonic()
        only = SEED.split("-")
        if not {"GALLEY_TURNS", "GALLEY_SEED"} & os.environ.keys():
            self.skipTest("turns at random are played with GALLEY_TURNS or GALLEY_SEED")
        for number in itertools.count(int(only[2])) if len(only) > 2 else itertools.count():
            if len(only) > 1 and only[1] != self.DOOR:
                self.skipTest(f"GALLEY_SEED={SEED}")
            signal.alarm(4 * TEST_LIMIT_S)  # for one workspace
            self.work = self.scratch / f"work {number}"
            next_agents = [self.AGENTS[(2 * number + place) % len(self.AGENTS)] for place in range(2)]  # so all come equally often
            story = Story(self.work, f"{only[0]}-{self.DOOR}-{number}", next_agents, self.SAVES_IN_NEW_FOLDERS)
            try:
                self.play(story, 20 if len(only) > 2 else math.ceil(TURNS / DOORS) - played)
            except unittest.SkipTest:
                raise
            except Exception as error:
                said = "\n".join(story.told[-12:])
                raise AssertionError(f"GALLEY_SEED={story.seed}, turn {story.turns}:\n{said}\n"
                                     f"{''.join(traceback.format_exception(error))}") from None
            finally:
                for player in story.players:
                    self.leave(player)
            shutil.rmtree(self.work)
            played += story.turns
            if len(only) > 2 or played * DOORS >= TURNS:
                break
        if "GALLEY_TURNS" in os.environ:
            sys.stderr.write(f"{self.DOOR}: {played} turns, {number + 1} workspaces, {self.calls} calls, "
                             f"{time.monotonic() - began:.0f} s\n")

    def play(self, story, most):
        if story.choice.random() < 0.5:
            self.git("init", "-q")
        self.untouched = self.around()
        for player in story.players:
            self.enter(story, player)
        deck = []
        for _ in range(min(story.choice.choice((5, 6, 8, 20)), most)):
            player = story.choice.choice(story.players)
            story.turns += 1
            if len(deck) < 4:
                deck += story.choice.sample(STEPS, len(STEPS))
            steps = [deck.pop(0) for _ in range(story.choice.randint(2, 4))]
            story.tell("turn", story.turns, player.session, player.agent, *steps)
            if story.choice.random() < 0.4:
                story.save_new()
            if story.choice.random() < 0.4:
                for block in story.choice.sample([block for block in story.blocks if block.holder is None][:10] or [None], 1):
                    if block:
                        story.save(block)
            self.turn(story, player, steps)
            player.touched.clear()
            self.check(story)
        for player in story.players:
            self.leave(player)
        self.check(story)
        self.replay_diffs(story)
        self.take_back(story)

    def turn(self, story, player, steps):
        self.begin_turn(story, player)
        for step in steps:
            before = snapshot(self.work) if self.only_stages(player, step) else None
            getattr(self, "do_" + step)(story, player)
            if before:
                self.assert_same(snapshot(self.work), before, f"{step} changed the workspace before a commit")
        self.end_turn(story, player)

    # --- what must be true ----------------------------------------------------------------------

    def commits(self):
        """The changes of each transaction."""
        sql = ("select tx, time_ns, tool, path, from_path, before_kind, before_mode, before_content, after_kind, after_mode, "
               "after_content from changes join transactions on tx = id order by tx, path")
        if not (self.work / ".galley").exists():
            return []
        said = json.loads(self.galley("--json", "query", sql, expect=0).stdout)
        rows = (dict(zip(said["columns"], row)) for row in said["rows"])
        return [list(group) for _, group in itertools.groupby(rows, lambda row: row["tx"])]

    def around(self):
        """What no step may change: a folder beside the workspace, a file of the home, and git's files without the index and the logs.
        Other files of the home are the agent's own."""
        home = (Path(self.environment["HOME"]) / "new").exists()
        git = {path: plain(entry) for path, entry in snapshot(self.work / ".git").items() if path.split("/")[0] not in (".", "index", "logs")}
        return {"canary": snapshot(self.canary), "home": home, "git": git}

    def escapes(self):
        """Places outside of the workspace and in git's folder, as a tool gets them."""
        return ["../canary/new", "../canary/old", f"{self.canary}/new", f"{self.environment['HOME']}/new", ".git/hooks/post-commit"]

    def escape_command(self):
        tries = [f"echo x > {shlex.quote(path)}" for path in self.escapes()]
        return "(" + "; ".join([*tries, f"rm -rf {shlex.quote(str(self.canary))}"]) + ") 2> /dev/null; :"

    def check(self, story):
        self.assertEqual(self.around(), self.untouched, "something outside of the workspace changed")
        for path in {block.path for block in story.blocks}:
            self.assertEqual((self.work / path).read_bytes().decode(), story.text_of(path), path)
        self.assert_same(snapshot(self.work), self.replayed(story), "the tree is not what the log and the saves say")
        self.galley("audit", "verify", expect=0)

    def events(self, story):
        """The saves and the commits in their order."""
        commits = ((rows[0]["time_ns"], rows) for rows in self.commits())
        return sorted([*story.saves, *commits], key=lambda event: event[0])

    def replayed(self, story):
        """The tree that the log and the saves make of the first one. Each change must begin where the one before ended."""
        tree = {path: plain(entry) for path, entry in story.first.items()}
        for _, *what in self.events(story):
            if len(what) == 2:
                name, text = what
                mode = tree.get(name, (0, 0o644))[1]
                tree[name] = (stat.S_IFREG, mode, hashlib.sha256(text).hexdigest())
                continue
            for row in what[0]:
                where = f"transaction {row['tx']} began at another state of {row['path']}"
                if row["from_path"]:
                    self.assertIn(row["from_path"], tree, where)
                if not self.is_made_by_agent(row):
                    self.assertEqual(tree.get(row["path"]), self.entry(row, "before"), where)
            for row in what[0]:
                tree.pop(row["from_path"], None)
            for row in what[0]:
                tree[row["path"]] = self.entry(row, "after")
            tree = {path: entry for path, entry in tree.items() if entry}
        return tree

    @staticmethod
    def entry(row, side):
        """A row of the log in the form of snapshot(), with the hash of a link's target."""
        kind, mode, content = (row[f"{side}_{part}"] for part in ("kind", "mode", "content"))
        return {"absent": None, "directory": (stat.S_IFDIR, mode), "file": (stat.S_IFREG, mode, content),
                "symlink": (stat.S_IFLNK, content)}[kind]

    def assert_same(self, found, expected, said):
        found, expected = ({path: plain(entry) for path, entry in tree.items()} for tree in (found, expected))
        different = {path: (found.get(path), expected.get(path)) for path in set(found) | set(expected)
                     if found.get(path) != expected.get(path)}
        self.assertEqual(different, {}, said)

    def is_made_by_agent(self, row):
        """Whether the agent's own program made this change, so that others may have been between it and the record."""
        return False

    def replay_diffs(self, story):
        """The diffs of the log, put by git onto the first tree, make the contents of the present one."""
        other = self.scratch / f"replay {self.work.name}"
        story.copy.rename(other)
        for event in self.events(story):
            if len(event) == 3:
                (other / event[1]).parent.mkdir(parents=True, exist_ok=True)  # git's diffs leave out empty folders
                (other / event[1]).write_bytes(event[2])
                continue
            diff = self.galley("show", event[1][0]["tx"], expect=0).stdout
            if b"\ndiff --git " in diff:
                applied = self.git("apply", "--whitespace=nowarn", "-", work=other, check=False, stdin=diff)
                self.assertEqual(applied.returncode, 0, applied.stderr + diff)
        trees = ({path: plain(entry)[-1] for path, entry in snapshot(tree).items() if entry[0] != stat.S_IFDIR}
                 for tree in (self.work, other))
        self.assert_same(*trees, "the diffs of the log do not make this tree")
        shutil.rmtree(other)

    def take_back(self, story):
        players = story.choice.sample(story.players, len(story.players))
        for player in players:
            session = self.recorded(player)
            turns = json.loads(self.galley("--json", "turns", "--session", session, expect=0).stdout)["turns"]
            before = snapshot(self.work)
            if not turns:
                continue
            story.tell("undo of", session)
            if story.choice.random() < 0.3:
                for turn in turns:
                    self.galley("undo", "--turn", turn["id"], expect=0)
            else:
                self.galley("undo", "--session", session, expect=0)
                if story.choice.random() < 0.5:
                    self.galley("redo", expect=0)
                    self.assert_same(snapshot(self.work), before, "undo and redo")
                    self.galley("undo", "--session", session, expect=0)
        self.assert_same(snapshot(self.work), story.after_undo(), "the undo of all sessions")
        self.assert_same(snapshot(self.work), self.replayed(story), "the tree is not what the log and the saves say")
        self.galley("audit", "verify", expect=0)

    # --- doors ------------------------------------------------------------------------------------

    def only_stages(self, player, step):
        """Whether this step must not change the workspace."""
        return False

    def enter(self, story, player):
        pass

    def leave(self, player):
        pass

    def begin_turn(self, story, player):
        pass

    def end_turn(self, story, player):
        pass

    def recorded(self, player):
        """The id of the session in the log."""
        return player.session

    def install_agents(self, names, script):
        """Makes programs of these names in a home that the runs do not see."""
        programs = self.scratch / "home" / "tools" / "bin"
        programs.mkdir(parents=True)
        self.environment |= {"HOME": str(self.scratch / "home"), "PATH": f"{programs}:/usr/bin:/bin"}
        for name in names:
            (programs / name).write_text(script)
            (programs / name).chmod(0o755)
