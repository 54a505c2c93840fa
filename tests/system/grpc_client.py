"""A server of `galley serve --grpc`, and clients over python3-grpcio, for tests."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import grpc

from support import GALLEY, ROOT

PROTOS = ROOT / "server" / "grpc"
DEADLINE_S = 60


def messages(folder):
    """Generates the messages of both files into `folder`, and returns their modules."""
    subprocess.run(["protoc", f"-I{PROTOS}", f"--python_out={folder}", f"--grpc_out={folder}",
                    "--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin", "aios_tools.proto",
                    "galley/v1/transactions.proto"], check=True)
    sys.path.insert(0, str(folder))
    import aios_tools_pb2
    import aios_tools_pb2_grpc
    from galley.v1 import transactions_pb2, transactions_pb2_grpc
    return aios_tools_pb2, aios_tools_pb2_grpc, transactions_pb2, transactions_pb2_grpc


_GENERATED = tempfile.TemporaryDirectory(prefix="galley-grpc-messages-")
aios, aios_services, v1, v1_services = messages(Path(_GENERATED.name))
sys.path.insert(0, str(ROOT / "python"))
import galley_aios  # noqa: E402 it needs the messages


class Server:
    """Starts `galley serve --grpc` and waits until it serves."""

    def __init__(self, work, address, *options, env, user=()):
        self.process = subprocess.Popen([*user, GALLEY, "-C", str(work), "serve", "--grpc", address, *map(str, options)],
                                        env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        line = self.process.stderr.readline().decode()
        if "metrics at " in line:
            line = self.process.stderr.readline().decode()
        if not line.startswith("serving "):
            self.process.wait(timeout=DEADLINE_S)
            rest = self.process.stderr.read().decode()
            self.process.stderr.close()
            raise AssertionError(line + rest)
        self.address = line.split(" ", 1)[1].strip()

    def end(self, signal=15):
        """Returns the status. A server that has ended before keeps its own."""
        if self.process.stderr.closed:
            return self.process.returncode
        if self.process.poll() is None:
            self.process.send_signal(signal)
        status = self.process.wait(timeout=DEADLINE_S)
        self.said = self.process.stderr.read().decode()
        self.process.stderr.close()
        return status


class Client:
    """One connection."""

    def __init__(self, address, credentials=None, options=()):
        # Clients of one process share a connection without this.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0), *options]
        self.channel = (grpc.secure_channel(address, credentials, options) if credentials
                        else grpc.insecure_channel(address, options))
        self.tools = aios_services.ToolRegistryStub(self.channel)
        self.transactions = v1_services.TransactionsStub(self.channel)
        self.approvals = v1_services.ApprovalsStub(self.channel)

    @staticmethod
    def request(tool, arguments=None, agent="bot", task="task-1", reason="a test"):
        text = arguments if isinstance(arguments, bytes) else json.dumps(arguments or {}).encode()
        return aios.ExecuteRequest(tool_name=tool, agent_id=agent, task_id=task, input_json=text, reason=reason)

    def execute(self, *words, timeout=DEADLINE_S, **more):
        return self.tools.Execute(self.request(*words, **more), timeout=timeout)

    def start(self, *words, timeout=DEADLINE_S, **more):
        return self.tools.Execute.future(self.request(*words, **more), timeout=timeout)

    def close(self):
        self.channel.close()
