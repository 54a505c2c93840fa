"""The protocol of a custom tool: one request on standard input, one answer on standard output (docs/tools.md)."""

import json
import sys


class Refusal(Exception):
    """What the tool answers instead of data: a code of Galley's or one of its own, and what to do."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def serve(tools):
    """`tools` has a function for each tool that the program is; it takes the arguments and returns the data."""
    request = json.load(sys.stdin)
    try:
        answer = {"ok": True, "data": tools[request["tool"]](request["arguments"])}
    except Refusal as refusal:
        answer = {"ok": False, "error": {"code": refusal.code, "message": str(refusal)}}
    except OSError as error:
        answer = {"ok": False, "error": {"code": "ERUNTIME", "message": f"{error.filename or 'the system'}: {error.strerror}"}}
    json.dump(answer, sys.stdout)


def text_of(path):
    """A file that the view may not have; empty then."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def fields_of(text, separator=":"):
    """`Name: value` lines as a dictionary."""
    pairs = (line.split(separator, 1) for line in text.splitlines() if separator in line)
    return {name.strip(): value.strip() for name, value in pairs}


def memory():
    """Bytes of /proc/meminfo, by name."""
    return {name: int(value.split()[0]) * 1024 for name, value in fields_of(text_of("/proc/meminfo")).items()
            if value.split()[0].isdigit()}
