"""The Python side of aiOS' tool registry, over gRPC (docs/grpc.md).

    import galley_aios
    galley_aios.connect("unix:/run/user/1000/galley.sock", agent_id="aios-agent-system")
    result = await galley_aios.fs_read("README.md")

It needs python3-grpcio, python3-protobuf and aios_tools_pb2, which protoc generates.
"""

import dataclasses
import inspect
import json
import shutil
import tempfile

import aios_tools_pb2 as messages
import grpc

_REGISTRY = "/aios.tools.ToolRegistry/"
_HANDLER = "aios.tools.ToolHandler"


class ToolError(Exception):
    """A tool or a registration failed. The text begins with the error's code."""

    def __init__(self, error, execution_id=""):
        super().__init__(error)
        self.code = error.split(":", 1)[0]
        self.execution_id = execution_id


@dataclasses.dataclass
class Response:
    output: dict
    execution_id: str
    duration_ms: int


@dataclasses.dataclass
class FsReadResult:
    content: str
    size: int
    modified: str | None
    encoding: str = "utf-8"


class ToolClient:
    """Calls tools as one agent, for one task."""

    def __init__(self, channel, agent_id, task_id=""):
        self._channel, self.agent_id, self.task_id = channel, agent_id, task_id

    def _call(self, method, request, answer, timeout):
        return self._channel.unary_unary(_REGISTRY + method, request_serializer=type(request).SerializeToString,
                                         response_deserializer=answer.FromString)(request, timeout=timeout)

    async def execute(self, tool_name, input, reason="", timeout=None):
        """Returns the Response. Raises ToolError if the tool fails, grpc.RpcError otherwise."""
        request = messages.ExecuteRequest(tool_name=tool_name, agent_id=self.agent_id, task_id=self.task_id,
                                          input_json=json.dumps(input).encode(), reason=reason)
        answer = await self._call("Execute", request, messages.ExecuteResponse, timeout)
        if not answer.success:
            raise ToolError(answer.error, answer.execution_id)
        return Response(json.loads(answer.output_json), answer.execution_id, answer.duration_ms)

    async def rollback(self, execution_id, reason="", timeout=None):
        """Takes back what one call changed. Returns the ids of all calls that were taken back."""
        request = messages.RollbackRequest(execution_id=execution_id, reason=reason, agent_id=self.agent_id)
        answer = await self._call("Rollback", request, messages.RollbackResponse, timeout)
        if not answer.success:
            raise ToolError(answer.error, execution_id)
        return list(answer.execution_ids)


class ToolRegistry:
    """Registers functions of this program as tools. They can be called until it ends or close()."""

    def __init__(self, client):
        self._client, self._server, self._folder, self._handlers = client, None, None, {}

    async def register(self, name, description, input_schema, handler, output_schema=None, required_capabilities=(),
                       risk_level="medium", timeout=None):
        """`handler` is called with the input, and returns the output; it may be a coroutine. A schema
        `{...}` takes every object."""
        await self._listen()
        tool = messages.ToolDefinition(name=name, description=description, input_schema=_schema(input_schema),
                                       output_schema=_schema(output_schema), risk_level=risk_level,
                                       required_capabilities=required_capabilities)
        request = messages.RegisterRequest(tool=tool, agent_id=self._client.agent_id,
                                           handler_address=f"unix:{self._folder}/tools.sock")
        previous, self._handlers[name] = self._handlers.get(name), handler
        answer = await self._client._call("Register", request, messages.RegisterResponse, timeout)
        if not answer.accepted:
            self._handlers[name] = previous
            raise ToolError(answer.error)

    async def close(self):
        if self._server:
            await self._server.stop(None)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._server = None

    async def _listen(self):
        if self._server:
            return
        self._folder = tempfile.mkdtemp(prefix="galley-aios-")  # mode 0700
        server = grpc.aio.server()
        method = grpc.unary_unary_rpc_method_handler(self._execute, request_deserializer=messages.ExecuteRequest.FromString,
                                                     response_serializer=messages.ExecuteResponse.SerializeToString)
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_HANDLER, {"Execute": method})])
        server.add_insecure_port(f"unix:{self._folder}/tools.sock")
        await server.start()
        self._server = server

    async def _execute(self, request, _context):
        handler = self._handlers.get(request.tool_name)
        if handler is None:
            return messages.ExecuteResponse(error=f"{request.tool_name} is not a tool of this program")
        try:
            output = handler(json.loads(request.input_json))
            if inspect.isawaitable(output):
                output = await output
            return messages.ExecuteResponse(success=True, output_json=json.dumps(output).encode())
        except Exception as error:  # a failing tool must not end its program
            return messages.ExecuteResponse(error=f"{type(error).__name__}: {error}")


def _schema(schema):
    is_open = schema is None or schema == {...}
    return json.dumps({"type": "object"} if is_open else schema).encode()


tool_client = None
tool_registry = None


def connect(address, agent_id, task_id="", credentials=None):
    """Sets tool_client and tool_registry. A certificate in `credentials` is for addresses
    HOST:PORT."""
    global tool_client, tool_registry
    options = [("grpc.max_receive_message_length", -1)]  # the server limits its answers
    channel = grpc.aio.secure_channel(address, credentials, options) if credentials else grpc.aio.insecure_channel(address, options)
    tool_client = ToolClient(channel, agent_id, task_id)
    tool_registry = ToolRegistry(tool_client)
    return tool_client


async def fs_read(path):
    """Reads a file's contents."""
    return FsReadResult(**(await tool_client.execute(tool_name="fs.read", input={"path": path})).output)
