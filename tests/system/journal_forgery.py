"""Makes a `.galley` in the formats of docs/formats.md, as an attacker would."""

import hashlib
import os
import struct
import uuid
from pathlib import Path

_POLYNOMIAL = 0x82F63B78
_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (_POLYNOMIAL if _byte & 1 else 0)
    _TABLE.append(_byte)

META, OP, IMAGE, COMMIT, UNKNOWN, ABORT = 1, 3, 4, 6, 9, 16
ABSENT, FILE, FOLDER, LINK = 0, 1, 2, 3


def crc32c(data, seed=0):
    crc = ~seed & 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return ~crc & 0xFFFFFFFF


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(value)) + value


class Side:
    """The contents of a path: nothing, or a file or link with its owner and attributes."""

    def __init__(self, kind=ABSENT, content=b"", mode=0o644, uid=None, gid=None, attributes=()):
        self.kind, self.content, self.mode = kind, content, 0 if kind in (ABSENT, LINK) else mode
        self.uid = os.geteuid() if uid is None else uid
        self.gid = os.getegid() if gid is None else gid
        self.attributes = attributes

    def encode(self):
        has_content = self.kind in (FILE, LINK)
        identity = hashlib.sha256(self.content).digest() if has_content else bytes(32)
        head = struct.pack("<BIQ", self.kind, self.mode, len(self.content) if has_content else 0)
        tail = struct.pack("<IIqH", self.uid, self.gid, 0, len(self.attributes))
        return head + identity + tail + b"".join(text(name) + text(value) for name, value in self.attributes)


def journal(workspace, changes, number=1, aborted=False, major=1, unknown_flags=None):
    """Returns the bytes of a committed journal. `changes` maps a path to its sides before and
    after. With `unknown_flags`, the journal has a record of an unknown type with these flags."""
    head = b"GALLEYJ\x01" + struct.pack("<HHIQQ", major, 0, 64, number, number - 1) + workspace.bytes
    head += struct.pack("<qI", 1, 0)
    head += struct.pack("<I", crc32c(head))
    out, chain, digest = bytearray(head), crc32c(head), hashlib.sha256(head)

    def add(kind, payload, digested=None, flags=1):
        nonlocal chain
        frame = struct.pack("<IHHI", len(payload), kind, flags, add.sequence)
        add.sequence += 1
        chain = crc32c(payload, crc32c(frame, chain))
        out.extend(frame + struct.pack("<I", chain) + payload + bytes(-len(payload) % 8))
        digest.update(frame + (payload if digested is None else payload[:digested]))

    add.sequence = 0
    # The time stamp of the file system's clock is far in the future, so nothing in the tree is
    # newer.
    add(META, struct.pack("<q", 2**62) + text("") + bytes(32) + text("") * 3 + struct.pack("<Q", 0))
    for path, (before, after) in sorted(changes.items()):
        add(OP, b"\0" + text(path) + before.encode() + after.encode())
    contents = {side.content for sides in changes.values() for side in sides if side.kind in (FILE, LINK)}
    for content in sorted(contents):
        image = b"\0" + struct.pack("<Q", len(content)) + hashlib.sha256(content).digest() + content
        add(IMAGE, image, digested=41)
    if unknown_flags is not None:
        add(UNKNOWN, b"from a later version", flags=unknown_flags)
    add(COMMIT, b"GALLEYC\x01" + struct.pack("<IQ", add.sequence, len(out)) + digest.digest())
    if aborted:
        add(ABORT, text("forged"))
    return bytes(out)


def forge_state(root, changes, folder_named=True, **options):
    """Makes a `.galley` below `root` with one journal. Its `format` has only what an attacker could
    know."""
    workspace = uuid.uuid4()
    state = Path(root) / ".galley"
    for name in ("", "j", "undo", "slot", "wait"):
        (state / name).mkdir(mode=0o700)
    (state / "j" / "1.j").write_bytes(journal(workspace, changes, **options))
    version = f"galley 2 {workspace} 4711 1700000000000000000\n" if folder_named else f"galley 1 {workspace}\n"
    (state / "format").write_text(version)
    return workspace
