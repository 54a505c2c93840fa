"""A scripted model on loopback. Agents use it like a real model.

It speaks the protocols between agents and their models, with server-sent events: the Responses API
of OpenAI and its chat completions, the Gemini API and the Messages API of Anthropic. A generator,
the script, produces its answers:

    def script():
        seen = yield Call("Edit", {"file_path": "a.txt", ...})  # the result, as the agent shows it
        assert "not on disk" in seen
        yield Say("done")

Any error (an assertion of the script, an unexpected request, a turn after the end) is stored as
`failure`, and the agent is told to stop; `check()` raises it in the test.
"""

import http.server
import itertools
import json
import re
import threading
import traceback
from dataclasses import dataclass

MAX_REQUEST_BYTES = 64 << 20
MAX_TURNS = 60  # ends an agent that runs in circles


@dataclass
class Call:
    """The model calls a tool. `kind` is `function`, or one of codex's other kinds: `custom` (the
    input is a text and not JSON) and `tool_search`. `namespace` is where codex keeps the tools of a
    server."""

    name: str
    arguments: object
    kind: str = "function"
    namespace: str = ""


@dataclass
class Say:
    """The model's last words: the agent's turn is over."""

    text: str


class Unexpected(Exception):
    """A request that no agent of these tests should make."""


class ModelServer:
    """Serves one script on its own port. Use it as a context manager."""

    def __init__(self, script):
        self.script = script()
        self.failure = None
        self.is_over = False
        self.requests = []  # bodies of the turns, in order
        self.transcript = []  # (the model's action, the result that was shown to it)
        self.lock = threading.Lock()
        self.ids = itertools.count(1)
        self.called = None  # id of the call whose result is awaited
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                outer.serve(self)

            def do_GET(self):
                outer.refuse(self, Unexpected(f"GET {self.path}"))

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.script.close()

    def check(self):
        """Raises the stored error. The script must have ended."""
        if self.failure:
            raise AssertionError(f"{self.failure}\nthe model's transcript:\n{self.told()}")
        if not self.is_over:
            raise AssertionError(f"the agent ended before its script\n{self.told()}")

    def told(self):
        return "\n".join(f"> {turn}\n< {shown}" for turn, shown in self.transcript)

    # --- requests ---------------------------------------------------------------------------

    def serve(self, handler):
        try:
            length = int(handler.headers.get("Content-Length", ""))
            if length > MAX_REQUEST_BYTES:
                raise Unexpected(f"{length} bytes")
            body = json.loads(handler.rfile.read(length))
            dialect = next((each for each in DIALECTS if re.fullmatch(each.path, handler.path)), None)
            if dialect is None:
                raise Unexpected(f"POST {handler.path}")
            if not dialect.is_streamed(body):
                raise Unexpected(f"a request of {handler.path} that is not streamed")
            with self.lock:
                turn = self.turn_of(dialect, body)
                events = "".join(dialect.events(turn, self.called))
            self.stream(handler, events)
        except BrokenPipeError:
            pass  # the agent has ended, which its own test notices
        except Exception as error:  # the test must see any error
            self.refuse(handler, error)

    def refuse(self, handler, error):
        self.failure = self.failure or "".join(traceback.format_exception(error))
        handler.close_connection = True
        try:
            handler.send_response(404)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        except OSError:
            pass

    @staticmethod
    def stream(handler, events):
        body = events.encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    # --- turns ------------------------------------------------------------------------------

    def turn_of(self, dialect, body):
        if aside := dialect.aside(body):
            return Say(aside)
        if self.failure:
            return Say("stop")
        self.requests.append(body)
        try:
            if len(self.requests) > MAX_TURNS:
                raise Unexpected(f"more than {MAX_TURNS} turns")
            shown = None
            if self.called:
                shown = dialect.result_of(body, self.called)
                self.transcript[-1][1] = shown
            turn = self.script.send(shown)
        except StopIteration:
            self.failure = "a turn after the script's end"
            return Say("stop")
        except Exception as error:  # assertions of the script
            self.failure = "".join(traceback.format_exception(error))
            return Say("stop")
        self.transcript.append([turn, None])
        self.called = f"call_{next(self.ids)}" if isinstance(turn, Call) else None
        self.is_over = isinstance(turn, Say)
        return turn


def texts_of(content):
    """Returns the text of a content: a text, or a list of parts of which some are texts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") in ("text", "input_text", "output_text"))


class Dialect:
    """The protocol between an agent and its model. `path` is the path of its requests."""

    path = ""

    @staticmethod
    def is_streamed(body):
        return body.get("stream")


class Responses(Dialect):
    """OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses-streaming), as codex reads it."""

    path = "/v1/responses"

    @staticmethod
    def aside(body):
        """On a terminal codex asks for a title in a separate request, by a schema."""
        return '{"title": "A title"}' if "format" in body.get("text", {}) else None

    @staticmethod
    def result_of(body, call):
        for item in reversed(body["input"]):
            if item.get("call_id") == call and item["type"].endswith("_output"):
                return texts_of(item["output"]) if "output" in item else json.dumps(item)
        raise Unexpected(f"a turn without the result of {call}")

    @staticmethod
    def item(turn, call):
        if isinstance(turn, Say):
            return {"type": "message", "role": "assistant", "id": "msg_1",
                    "content": [{"type": "output_text", "text": turn.text}]}
        if turn.kind == "custom":
            return {"type": "custom_tool_call", "call_id": call, "name": turn.name, "input": turn.arguments}
        if turn.kind == "tool_search":
            return {"type": "tool_search_call", "call_id": call, "execution": "client", "arguments": turn.arguments}
        item = {"type": "function_call", "call_id": call, "name": turn.name, "arguments": json.dumps(turn.arguments)}
        if turn.namespace:
            item["namespace"] = turn.namespace
        return item

    @classmethod
    def events(cls, turn, call):
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
                 "total_tokens": 2}
        for event in ({"type": "response.created", "response": {"id": "resp_1"}},
                      {"type": "response.output_item.done", "item": cls.item(turn, call)},
                      {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


class ChatCompletions(Dialect):
    """OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat-streaming), as opencode reads them."""

    path = "/v1/chat/completions"

    @staticmethod
    def aside(body):
        """opencode asks for a title of the session in a separate request, which has no tools."""
        return None if body.get("tools") else "A title"

    @staticmethod
    def result_of(body, call):
        for message in reversed(body["messages"]):
            if message["role"] == "tool" and message["tool_call_id"] == call:
                return texts_of(message["content"])
        raise Unexpected(f"a turn without the result of {call}")

    @staticmethod
    def events(turn, call):
        if isinstance(turn, Say):
            delta, reason = {"role": "assistant", "content": turn.text}, "stop"
        else:
            function = {"name": turn.name, "arguments": json.dumps(turn.arguments)}
            delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": call, "type": "function", "function": function}]}
            reason = "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        for choices, extra in (([{"index": 0, "delta": delta, "finish_reason": None}], {}),
                               ([{"index": 0, "delta": {}, "finish_reason": reason}], {"usage": usage})):
            chunk = {"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 0, "model": "scripted",
                     "choices": choices, **extra}
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"


class GenerateContent(Dialect):
    """The Gemini API (https://ai.google.dev/api/generate-content), as Gemini CLI reads it."""

    path = r"/v1/v1beta/models/[\w.-]+:streamGenerateContent\?alt=sse"

    @staticmethod
    def is_streamed(_body):
        return True  # it has its own path

    @staticmethod
    def aside(body):
        return None

    @staticmethod
    def result_of(body, call):
        for content in reversed(body["contents"]):
            for part in content["parts"]:
                response = part.get("functionResponse")
                if response and response["id"] == call:
                    return response["response"].get("output") or response["response"]["error"]
        raise Unexpected(f"a turn without the result of {call}")

    @staticmethod
    def events(turn, call):
        if isinstance(turn, Say):
            part = {"text": turn.text}
        else:
            part = {"functionCall": {"id": call, "name": turn.name, "args": turn.arguments}}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        yield f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': usage})}\r\n\r\n"


class Messages(Dialect):
    """Anthropic's Messages API (https://platform.claude.com/docs/en/build-with-claude/streaming), as Claude Code reads it."""

    path = r"/v1/messages(\?beta=true)?"

    @staticmethod
    def aside(body):
        return None

    @staticmethod
    def result_of(body, call):
        for message in reversed(body["messages"]):
            for part in message["content"] if isinstance(message["content"], list) else ():
                if part["type"] == "tool_result" and part["tool_use_id"] == call:
                    return texts_of(part["content"]) or json.dumps(part["content"])
        raise Unexpected(f"a turn without the result of {call}")

    @staticmethod
    def events(turn, call):
        if isinstance(turn, Say):
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}
            reason = "end_turn"
        else:
            block = {"type": "tool_use", "id": call, "name": turn.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
            reason = "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{call}", "type": "message", "role": "assistant", "model": "scripted", "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        for event in ({"type": "message_start", "message": message},
                      {"type": "content_block_start", "index": 0, "content_block": block},
                      {"type": "content_block_delta", "index": 0, "delta": delta},
                      {"type": "content_block_stop", "index": 0},
                      {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
                      {"type": "message_stop"}):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


DIALECTS = (Responses, ChatCompletions, GenerateContent, Messages)
