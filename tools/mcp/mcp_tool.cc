#include "tools/mcp/mcp_tool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/encoding.h"
#include "base/printable.h"
#include "base/text.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/process_streams.h"
#include "tools/custom_tool.h"
#include "tools/json_input.h"
#include "tools/mcp/http_answer.h"
#include "tools/mcp/rpc_message.h"
#include "tools/schema.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using std::chrono::milliseconds;

/// The texts of a list of content blocks.
std::string texts_of(const json& content) {
  std::string text;
  for (const json& block : content) {
    const auto words = block.find("text");
    if (words == block.end() || !words->is_string()) continue;
    text += (text.empty() ? "" : "\n") + words->get<std::string>();
  }
  return text;
}

class McpTool final : public Tool {
 public:
  McpTool(std::shared_ptr<const TrustedMcpServer> server, std::string own_name, ToolInfo info,
          std::optional<JsonSchema> structured)
      : server_(std::move(server)),
        own_name_(std::move(own_name)),
        info_(std::move(info)),
        structured_(std::move(structured)) {}

  [[nodiscard]] const ToolInfo& info() const override { return info_; }
  [[nodiscard]] TextSanitizer sanitizer() const override { return sanitized_text; }

  Result<Intent> intent(const json& /*args*/, const PathOrigin& /*origin*/) const override {
    Intent intent;
    intent.is_open_ended = true;
    const std::string program = mcp_server_command(*server_).argv.front();
    intent.programs = {program.substr(program.rfind('/') + 1)};
    return intent;
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    if (context.commands == nullptr) {
      return failure(
          {ErrorKind::kRefused, "sandbox.unavailable",
           named() + " asks a program, and none can be run here: no sandbox was set up"});
    }
    auto command = command_for(context);
    if (!command) return failure(command.error());
    const Overlay::Entries before = context.overlay.entries();
    auto done = run_mcp_server(
        *server_, errand(args, context), *std::move(command),
        [&](const Command& one) { return context.commands->run(one, context.overlay); });
    if (!done) return failure(done.error());
    if (!done->reply) return failure(done->reply.error());
    ToolResult result = result_of(done->reply->result);
    if (result.ok) {
      auto refusal = check_program_effects(before, {}, named(), context);
      if (refusal) return ToolResult::failure(*std::move(refusal));
    }
    result.meta.cpu_ms = std::chrono::duration_cast<milliseconds>(done->ran.cpu).count();
    result.meta.peak_memory = static_cast<int64_t>(done->ran.peak_memory_bytes);
    return result;
  }

 private:
  [[nodiscard]] std::string named() const { return "the tool '" + info_.name + "'"; }
  static ToolResult failure(const Error& error) {
    return ToolResult::failure(tool_error_from(error));
  }

  Result<Command> command_for(const ToolContext& context) const {
    Command command = mcp_server_command(*server_);
    command.working_directory = context.cwd;
    command.is_deterministic = context.deterministic;
    if (context.deterministic) command.network = NetworkAccess::kNone;
    if (!context.deadline.is_never()) {
      command.limits.wall = std::min(server_->timeout, context.deadline.left(context.clock));
    }
    command.stop = context.stop;
    for (const std::string& name : server_->secrets) {
      const auto value = context.secrets ? context.secrets(name) : std::nullopt;
      if (!value) {
        return fail(ErrorKind::kRefused, "secret.unavailable",
                    named() + " needs the secret '" + name +
                        "', which is not provided here; give it with --secret " + name);
      }
      command.environment[name] = *value;
    }
    if (context.logger) {
      command.on_output = [&context](OutputStream stream, std::string_view text) {
        if (stream == OutputStream::kStderr) context.logger({ToolLog::Stream::kStderr, text});
      };
    }
    return command;
  }

  McpClientTask errand(const json& args, const ToolContext& context) const {
    McpClientTask errand;
    errand.version = server_->version;
    errand.root = context.root;
    errand.call = McpClientTask::Call{own_name_, args};
    errand.check = [this](const std::vector<json>& now) { return server_->check_definitions(now); };
    if (context.logger) {
      errand.on_log = [&context](const std::string& line) {
        context.logger({ToolLog::Stream::kNote, line});
      };
    }
    return errand;
  }

  ToolResult result_of(const json& answer) const {
    const json& content = answer.at("content");
    if (answer.value("isError", json()) == true) {
      std::string said = texts_of(content);
      if (said.empty()) said = "it gives no reason";
      return failure({ErrorKind::kIo, "tool.failed", named() + " says: " + said});
    }
    ordered_json data;
    data["content"] = ordered_json(content);
    const auto structured = answer.find("structuredContent");
    const bool has_structure = structured != answer.end() && !structured->is_null();
    if (has_structure) data["structuredContent"] = ordered_json(*structured);
    if (structured_) {
      const auto violations =
          has_structure ? structured_->check(*structured)
                        : std::vector<SchemaViolation>{{"", "there is no structuredContent"}};
      if (!violations.empty()) {
        return failure({ErrorKind::kIo, "tool.output",
                        named() + " gave a result that does not match its own outputSchema: " +
                            describe(violations)});
      }
    }
    return ToolResult::success(std::move(data));
  }

  std::shared_ptr<const TrustedMcpServer> server_;
  std::string own_name_;
  ToolInfo info_;
  std::optional<JsonSchema> structured_;
};

/// The time that a server has to exit after its input was closed.
constexpr milliseconds kServerEndTime{500};

/// Kills a server that does not exit.
///
/// Threads: arm() and the destructor on one thread; another thread waits.
class EndTimer {
 public:
  [[nodiscard]] std::stop_token token() const { return end_.get_token(); }
  void end_now() { end_.request_stop(); }
  void arm() {
    if (waiter_.joinable()) return;
    waiter_ = std::jthread([this](const std::stop_token& is_done) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any wake;
      wake.wait_for(lock, is_done, kServerEndTime, [] { return false; });
      if (!is_done.stop_requested()) end_.request_stop();
    });
  }

 private:
  std::stop_source end_;
  std::jthread waiter_;  ///< the last member: joined before end_ is destroyed
};

Error server_error(ErrorKind kind, std::string reason, const std::string& message) {
  return {kind, std::move(reason), message};
}

std::string named(const TrustedMcpServer& server) { return "the MCP server '" + server.name + "'"; }

/// An error of the dialogue, which knows no name.
Error renamed(const TrustedMcpServer& server, Error error) {
  constexpr std::string_view kNobody = "the server ";
  if (error.message.starts_with(kNobody)) {
    error.message.replace(0, kNobody.size() - 1, named(server));
  }
  return error;
}

Error breach_error(const TrustedMcpServer& server, const LimitBreach& breach) {
  if (breach.kind == LimitKind::kWall) {
    return server_error(ErrorKind::kTimeout, "tool.timeout",
                        named(server) + " gave no answer in the " + std::to_string(breach.limit) +
                            " ms it has; it was ended, and nothing was staged");
  }
  Error error = breach.error();
  error.message = named(server) + ": " + error.message;
  return error;
}

/// The result of a run. An error that ended the dialogue comes first, then errors of the sandbox.
Result<McpReply> judged(const TrustedMcpServer& server, const McpDialogue& dialogue,
                        const CommandResult& ran) {
  auto outcome = dialogue.outcome();
  if (!outcome && dialogue.is_over()) return fail(renamed(server, outcome.error()));
  if (ran.breach) return fail(breach_error(server, *ran.breach));
  if (!outcome) {
    std::string message = named(server) + " " + end_of_program(ran) + " before it answered";
    const std::string complaint = output_tail(ran.standard_error);
    if (!complaint.empty()) message += "; it says: " + complaint;
    return fail(server_error(ErrorKind::kIo, "tool.exit", message));
  }
  if (!ran.refused.empty()) {
    return fail(server_error(ErrorKind::kIo, "tool.effects",
                             named(server) + " left '" + printable_line(ran.refused.front().path) +
                                 "', which " + ran.refused.front().why + "; nothing was staged"));
  }
  return outcome;
}

// --- over HTTP --------------------------------------------------------------------------------

/// The time for the request that deletes a session. A call reserves it.
constexpr milliseconds kFarewellTime{1000};
/// The longest time for it, if the call leaves more. A busy machine needs it to start curl.
constexpr milliseconds kLongestFarewell{5000};
constexpr size_t kBodyPieceBytes = size_t{32} << 10U;  // curl reads lines of at most 100 kB
constexpr size_t kMaxSessionIdBytes = 1024;
constexpr size_t kMaxShownAnswerBytes = 300;
constexpr int kFirstRedirection = 300;
constexpr int kFirstHttpError = 400;

/// A line of curl's configuration file.
std::string curl_line(std::string_view key, std::string_view value) {
  std::string line = std::string(key) + " = \"";
  for (const char c : value) {
    switch (c) {
      case '\n':
        line += "\\n";
        break;
      case '\r':
        line += "\\r";
        break;
      case '"':
      case '\\':
        line += '\\';
        [[fallthrough]];
      default:
        line += c;
    }
  }
  return line + "\"\n";
}

/// Whether a header can have this value.
bool is_header_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
  });
}

std::string curl_header(const std::string& name, const std::string& value) {
  return curl_line("header", name + ": " + value);
}

/// The body of a request. Long ones need curl 7.82, whose `json` joins pieces.
std::string curl_body(std::string_view body) {
  if (body.size() <= kBodyPieceBytes) return curl_line("data-raw", body);
  std::string lines;
  while (!body.empty()) {
    size_t size = std::min(body.size(), kBodyPieceBytes);
    while (size < body.size() && body[size] == '@') ++size;  // a piece with it would name a file
    lines += curl_line("json", body.substr(0, size));
    body.remove_prefix(size);
  }
  return lines;
}

/// A value for a header that mirrors a message: text that a header cannot have is encoded.
std::string mirrored_value(const std::string& text) {
  const bool is_plain = !text.empty() && text.front() != ' ' && text.back() != ' ' &&
                        !text.starts_with("=?base64?") &&
                        std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return is_plain ? text : "=?base64?" + base64(text) + "?=";
}

/// The headers that mirror arguments which a schema marks with `x-mcp-header`.
std::string mirrored_arguments(const json& schema, const json& arguments) {
  std::string lines;
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object() || !arguments.is_object())
    return lines;
  for (const auto& [key, property] : properties->items()) {
    const auto value = arguments.find(key);
    if (!property.is_object() || value == arguments.end() || value->is_null()) continue;
    const std::string name = text_member(property, "x-mcp-header");
    if (!name.empty() && is_http_token(name) && value->is_primitive()) {
      const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
      lines += curl_header("Mcp-Param-" + name, mirrored_value(text));
    }
    lines += mirrored_arguments(property, *value);
  }
  return lines;
}

/// A dialogue with a server over HTTP: each message is one POST, made by one run of curl.
///
/// Threads: confined to one thread.
class RemoteTalk {
 public:
  using Runner = std::function<Result<CommandResult>(const Command&)>;

  RemoteTalk(const TrustedMcpServer& server, McpClientTask errand, Command command,
             const Runner& run)
      : server_(server),
        dialogue_(std::move(errand)),
        command_(std::move(command)),
        run_(run),
        wall_(command_.limits.wall.value_or(server.timeout)) {
    for (const auto& [name, value] : server.headers) {
      const std::string meant = with_secrets(value, command_.environment);
      if (!is_header_value(meant)) bad_header_ = name;
      own_headers_ += curl_header(name, meant);
    }
    command_.environment.clear();
    command_.passes_all_output = true;
    watch_ = std::move(command_.on_output);
  }

  Result<McpServerRun> hold() {
    if (command_.network != NetworkAccess::kHost) {
      return fail(unreachable("a deterministic call has no network"));
    }
    if (!bad_header_.empty()) {
      return fail(ErrorKind::kRefused, "mcp.header",
                  "the secret in the header '" + bad_header_ +
                      "' has a line break or another control character, which no header can have");
    }
    add_to_send(dialogue_.begin());
    Result<void> sent;
    while (sent && !to_send_.empty() && !is_over()) {
      const std::string message = std::move(to_send_.front());
      to_send_.pop_front();
      sent = post(message);
    }
    if (!session_.empty()) delete_session();
    GALLEY_TRY(sent);
    ran_.wall = used_;
    return McpServerRun{outcome(), std::move(ran_)};
  }

 private:
  [[nodiscard]] bool is_over() const {
    return dialogue_.is_over() || failure_ || ran_.breach.has_value();
  }

  [[nodiscard]] Error unreachable(const std::string& why) const {
    return server_error(ErrorKind::kIo, "net.unreachable",
                        named(server_) + " at " + server_.host() + " cannot be asked: " + why);
  }

  void add_to_send(std::string_view lines) {
    while (!lines.empty()) {  // each ends with a line end
      const size_t line_end = lines.find('\n');
      to_send_.emplace_back(lines.substr(0, line_end));
      lines.remove_prefix(line_end + 1);
    }
  }

  /// What every request has.
  [[nodiscard]] std::string request(const std::string& method) const {
    std::string lines = curl_line("url", server_.url) + curl_line("request", method) +
                        curl_line("proto", server_.url.starts_with("https:") ? "=https" : "=http");
    lines += "include\nsilent\nshow-error\nno-buffer\ngloboff\nheader = \"Expect:\"\n";
    lines += curl_header("Accept", "application/json, text/event-stream") + own_headers_;
    if (!session_.empty()) lines += curl_header("Mcp-Session-Id", session_);
    return lines;
  }

  /// The headers of a POST that follow from its message.
  [[nodiscard]] std::string message_headers(const json& message) const {
    std::string version = dialogue_.version();
    const json params = message.value("params", json::object());
    const json meta = params.value("_meta", json::object());
    const bool is_stateless = meta.contains(kMcpVersionKey);
    if (is_stateless) version = text_member(meta, kMcpVersionKey);
    std::string lines = curl_header("Content-Type", "application/json");
    if (!version.empty()) lines += curl_header("MCP-Protocol-Version", version);
    if (!is_stateless) return lines;
    const std::string method = text_member(message, "method");
    lines += curl_header("Mcp-Method", method);
    if (method != "tools/call") return lines;
    const std::string name = text_member(params, "name");
    lines += curl_header("Mcp-Name", mirrored_value(name));
    for (const json& tool : server_.definitions) {
      if (text_member(tool, "name") != name) continue;
      lines += mirrored_arguments(tool.value("inputSchema", json::object()), params["arguments"]);
    }
    return lines;
  }

  /// Runs curl once. `left` is the time that it has.
  Result<CommandResult> run_curl(Command command, milliseconds left) {
    command.limits.wall = left;
    auto ran = run_(command);
    if (!ran && ran.error().reason == "sandbox.program_not_found") {
      return fail(ErrorKind::kRefused, "sandbox.program_not_found",
                  named(server_) + " is asked by the program curl, which is not installed");
    }
    if (!ran && ran.error().reason == "command.network_denied") {
      Error error = ran.error();
      error.message = named(server_) + " is at " + server_.host() + ": " + error.message;
      return fail(std::move(error));
    }
    if (ran) {
      used_ += std::max(std::chrono::ceil<milliseconds>(ran->wall), milliseconds(1));
      ran->cpu += ran_.cpu;
      ran->peak_memory_bytes = std::max(ran->peak_memory_bytes, ran_.peak_memory_bytes);
    }
    return ran;
  }

  [[nodiscard]] milliseconds time_left() const {
    const milliseconds kept =
        session_.empty() ? milliseconds(0) : std::min(kFarewellTime, wall_ / 4);
    return std::max(wall_ - kept - used_, milliseconds(1));
  }

  Result<void> post(const std::string& text) {
    const json message = json::parse(text);
    HttpAnswer answer;
    std::stop_source enough;
    Command command = command_;
    command.input = request("POST") + message_headers(message) + curl_body(text);
    command.end = enough.get_token();
    const int64_t asked = dialogue_.last_id();
    command.on_output = [&](OutputStream stream, std::string_view piece) {
      if (stream == OutputStream::kStderr) {
        if (watch_) watch_(stream, piece);
        return;
      }
      take(answer, piece);
      // A stream may stay open after the answer to its request.
      const bool is_answered = message.contains("id") && dialogue_.last_id() != asked;
      if (is_over() || is_answered) enough.request_stop();
    };
    GALLEY_ASSIGN(ran_, run_curl(std::move(command), time_left()));
    if (ran_.breach && ran_.breach->kind == LimitKind::kWall) {
      ran_.breach->limit = static_cast<uint64_t>(wall_.count());
    }
    if (is_over()) return {};
    add_to_send(dialogue_.take(answer.end()));
    judge(answer, message);
    return {};
  }

  void take(HttpAnswer& answer, std::string_view piece) {
    taken_ += piece.size();
    add_to_send(dialogue_.take(answer.take(piece)));
    if (const std::string id = answer.header("mcp-session-id"); !id.empty()) session_ = id;
    const bool is_plain = std::ranges::all_of(session_, [](char c) { return c > ' ' && c <= '~'; });
    if (session_.size() > kMaxSessionIdBytes || !is_plain) {
      session_.clear();
      failure_ = server_error(ErrorKind::kIo, "tool.output",
                              named(server_) + " has an id of its session that is not one");
    } else if (answer.is_garbage()) {
      failure_ =
          server_error(ErrorKind::kIo, "tool.output",
                       named(server_) +
                           " answered with another protocol than HTTP, or with "
                           "more than " +
                           std::to_string(HttpAnswer::kMaxHttpHeadBytes) + " bytes of headers");
    } else if (answer.is_too_long() || taken_ > McpDialogue::kMaxMcpDialogueBytes) {
      failure_ = server_error(
          ErrorKind::kQuota, "limit.tool_output",
          named(server_) + " wrote more than " +
              std::to_string(answer.is_too_long() ? McpDialogue::kMaxMcpMessageBytes
                                                  : McpDialogue::kMaxMcpDialogueBytes) +
              " bytes in one " + (answer.is_too_long() ? "message" : "call"));
    }
  }

  /// Judges an answer that has ended, by its status.
  void judge(const HttpAnswer& answer, const json& message) {
    if (ran_.breach || dialogue_.is_over()) return;
    const int status = answer.status();
    if (status == 0) {
      const std::string complaint = output_tail(ran_.standard_error);
      failure_ = unreachable(complaint.empty() ? "it gave no answer" : complaint);
    } else if (status >= kFirstRedirection && status < kFirstHttpError) {
      failure_ = server_error(
          ErrorKind::kIo, "tool.output",
          named(server_) + " redirects to '" +
              printable_line(answer.header("location"), kMaxShownAnswerBytes) +
              "', which is not followed; if that is right, add the server with this --url");
    } else if (status >= kFirstHttpError && message.contains("id") && message.contains("method")) {
      add_to_send(dialogue_.take(refusal(answer, status, message.at("id").get<int64_t>()) + "\n"));
    }
  }

  /// The error for the dialogue when HTTP refuses a request. The body may have it.
  static std::string refusal(const HttpAnswer& answer, int status, int64_t id) {
    std::string text = answer.text();
    std::ranges::replace(text, '\n', ' ');
    const auto read = read_message(text);
    const auto* message = std::get_if<RpcMessage>(&read);
    if (message != nullptr && message->error && message->id == RpcId(id)) return text;
    std::string why = "HTTP status " + std::to_string(status);
    if (!is_blank(text)) why += ": " + printable_line(text, kMaxShownAnswerBytes);
    constexpr int kUnauthorized = 401;
    constexpr int kForbidden = 403;
    if (status == kUnauthorized || status == kForbidden) {
      why += "; give what it asks for with --header and --secret of galley tools add";
    }
    return error_line(RpcId(id), {status, why});
  }

  /// Ends the session also after a cancelled call: it has its own token.
  void delete_session() {
    std::stop_source mine;
    Command command = command_;
    command.stop = mine.get_token();
    command.on_output = {};
    command.input = request("DELETE") + "max-time = 1\n";
    const std::string& version = dialogue_.version();
    if (!version.empty()) command.input += curl_header("MCP-Protocol-Version", version);
    // A server may refuse it, and a session that stays ends by itself.
    (void)run_curl(std::move(command), std::clamp(wall_ - used_, kFarewellTime, kLongestFarewell));
  }

  [[nodiscard]] Result<McpReply> outcome() const {
    auto reply = dialogue_.outcome();
    if (!reply && dialogue_.is_over()) return fail(renamed(server_, reply.error()));
    if (!dialogue_.is_over() && failure_) return fail(*failure_);
    if (!dialogue_.is_over() && ran_.breach) return fail(breach_error(server_, *ran_.breach));
    if (!reply) return fail(renamed(server_, reply.error()));
    return reply;
  }

  const TrustedMcpServer& server_;
  McpDialogue dialogue_;
  Command command_;
  const Runner& run_;
  milliseconds wall_;
  milliseconds used_{0};
  std::function<void(OutputStream, std::string_view)> watch_;
  std::string own_headers_;
  std::string bad_header_;  ///< the name of one that cannot be sent; empty: none
  std::string session_;
  std::deque<std::string> to_send_;
  size_t taken_ = 0;
  std::optional<Error> failure_;
  CommandResult ran_;
};

}  // namespace

Result<std::unique_ptr<const Tool>> make_mcp_tool(std::shared_ptr<const TrustedMcpServer> server,
                                                  const json& definition) {
  GALLEY_ASSIGN(ToolInfo info, server->tool_info(definition));
  std::optional<JsonSchema> structured;
  if (const auto schema = definition.find("outputSchema"); schema != definition.end()) {
    auto compiled = JsonSchema::compile(json_text(*schema));
    if (!compiled) {
      return fail(ErrorKind::kInvalid, "tool.schema",
                  "the output schema of '" + printable_line(info.name) +
                      "' cannot be checked: " + compiled.error().message);
    }
    structured = *std::move(compiled);
  }
  return std::unique_ptr<const Tool>(
      std::make_unique<McpTool>(std::move(server), definition.at("name").get<std::string>(),
                                std::move(info), std::move(structured)));
}

Command mcp_server_command(const TrustedMcpServer& server) {
  Command command;
  if (!server.url.empty()) {
    // Its input has the rest, because other processes can read arguments.
    command.argv = {"curl", "-q", "--config", "-"};
    command.limits.wall = server.timeout;
    command.limits.max_memory_bytes = server.memory_bytes;
    command.network = NetworkAccess::kHost;
    command.effects = EffectsRule::kDrop;
    return command;
  }
  command.argv = server.command;
  command.environment = server.environment;
  command.readable = server.readable;
  command.limits.wall = server.timeout;
  command.limits.max_memory_bytes = server.memory_bytes;
  if (server.uses_network) command.network = NetworkAccess::kHost;
  // A server's exit status says nothing about its answer; many servers are ended by a signal.
  command.effects = server.writes ? EffectsRule::kStageAlways : EffectsRule::kDrop;
  return command;
}

Result<McpServerRun> run_mcp_server(
    const TrustedMcpServer& server, McpClientTask errand, Command command,
    const std::function<Result<CommandResult>(const Command&)>& run) {
  if (!server.url.empty()) {
    errand.root.clear();  // a path of this machine says nothing there
    return RemoteTalk(server, std::move(errand), std::move(command), run).hold();
  }
  GALLEY_ASSIGN(command.input_relay, InputRelay::fed());
  McpDialogue dialogue(std::move(errand));
  EndTimer timer;
  InputRelay& relay = *command.input_relay;
  relay.feed(dialogue.begin());
  command.passes_all_output = true;
  command.end = timer.token();
  command.on_output = [&, watch = std::move(command.on_output)](OutputStream stream,
                                                                std::string_view text) {
    if (watch) watch(stream, text);
    if (stream != OutputStream::kStdout || dialogue.is_over()) return;
    relay.feed(dialogue.take(text));
    if (!dialogue.is_over()) return;
    relay.end_input();
    if (dialogue.outcome()) {
      timer.arm();
    } else {
      timer.end_now();
    }
  };
  GALLEY_ASSIGN(CommandResult ran, run(command));
  Result<McpReply> reply = judged(server, dialogue, ran);
  return McpServerRun{std::move(reply), std::move(ran)};
}

}  // namespace galley
