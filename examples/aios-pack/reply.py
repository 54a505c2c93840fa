"""The protocol of a custom tool: one request on stdin, one answer on stdout (docs/tools.md)."""

import json
import sys


class Refusal(Exception):
    """The tool's answer instead of data: an error code of Galley or of the tool, and the remedy."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def serve(tools):
    """Serves one request. `tools` maps each tool's name to a function from arguments to data."""
    request = json.load(sys.stdin)
    try:
        answer = {"ok": True, "data": tools[request["tool"]](request["arguments"])}
    except Refusal as refusal:
        answer = {"ok": False, "error": {"code": refusal.code, "message": str(refusal)}}
    except OSError as error:
        answer = {"ok": False, "error": {"code": "ERUNTIME", "message": f"{error.filename or 'the system'}: {error.strerror}"}}
    json.dump(answer, sys.stdout)


def text_of(path):
    """Returns the text of a file, or an empty text if the view does not have it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def fields_of(text, separator=":"):
    """Parses `Name: value` lines into a dictionary."""
    pairs = (line.split(separator, 1) for line in text.splitlines() if separator in line)
    return {name.strip(): value.strip() for name, value in pairs}


def memory():
    """Returns the bytes of each entry of /proc/meminfo, by name."""
    return {name: int(value.split()[0]) * 1024 for name, value in fields_of(text_of("/proc/meminfo")).items()
            if value.split()[0].isdigit()}
