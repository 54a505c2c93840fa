#include "tools/mcp/mcp_dialogue.h"

#include <algorithm>
#include <utility>

#include "base/contains.h"
#include "base/printable.h"
#include "base/text.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxShownBytes = 500;  // of a server's text in one of our messages

std::string server_words(std::string_view words) { return printable_line(words, kMaxShownBytes); }

/// The name of the workspace in the answer to a server: the last component of its path.
std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Escapes a path for a URI (RFC 3986): all characters except the unreserved ones.
std::string file_uri(const std::string& path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = "file://";
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    uri += '%';
    uri += kDigits[byte >> 4U];
    uri += kDigits[byte & 0xFU];
  }
  return uri;
}

ordered_json client_info() { return {{"name", "galley"}, {"title", "Galley"}, {"version", "1"}}; }

}  // namespace

// --- outgoing messages ----------------------------------------------------------------------

void McpDialogue::ask(std::string_view method, ordered_json params, Step step) {
  if (is_stateless_) {
    params["_meta"][kMcpVersionKey] = stateless_versions().back();
    params["_meta"][kMcpCapabilitiesKey] = ordered_json::object();
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = client_info();
  }
  step_ = step;
  out_ += request_line(++last_id_, method, params) + "\n";
}

std::string McpDialogue::begin() {
  const bool is_known_stateless = contains(stateless_versions(), errand_.version);
  if (is_known_stateless) {
    is_stateless_ = true;
    reply_.version = errand_.version;
    ask_list(Step::kList);
  } else if (errand_.version.empty() && !errand_.skips_probe) {
    is_stateless_ = true;
    ask("server/discover", ordered_json::object(), Step::kProbe);
  } else {
    ask_initialize();
  }
  return std::exchange(out_, {});
}

void McpDialogue::ask_initialize() {
  is_stateless_ = false;
  ordered_json params;
  params["protocolVersion"] =
      errand_.version.empty() ? handshake_versions().back() : errand_.version;
  params["capabilities"] = ordered_json::object();
  if (!errand_.root.empty()) params["capabilities"]["roots"]["listChanged"] = false;
  params["clientInfo"] = client_info();
  ask("initialize", std::move(params), Step::kInitialize);
}

void McpDialogue::ask_list(Step step) {
  list_changed_ = false;
  pages_ = 0;
  cursors_.clear();
  ended_by_empty_ = false;
  ++readings_;
  reply_.definitions.clear();
  ask("tools/list", ordered_json::object(), step);
}

void McpDialogue::ask_call() {
  ordered_json params;
  params["name"] = errand_.call->tool;
  params["arguments"] = ordered_json(errand_.call->arguments);
  ask("tools/call", std::move(params), Step::kCall);
}

void McpDialogue::end(Error error) {
  if (!error_) error_ = std::move(error);
  step_ = Step::kOver;
}

void McpDialogue::end_garbage(const std::string& clause) {
  end({ErrorKind::kIo, "tool.output", "the server " + clause});
}

Result<McpReply> McpDialogue::outcome() const {
  if (error_) return fail(*error_);
  if (is_over()) return reply_;
  static constexpr std::string_view kWaits[] = {"which versions it speaks", "the handshake",
                                                "the list of its tools",    "the call",
                                                "the list of its tools",    ""};
  return fail(
      ErrorKind::kIo, "tool.output",
      "the server ended without an answer to " + std::string(kWaits[static_cast<size_t>(step_)]));
}

// --- incoming messages ----------------------------------------------------------------------

std::string McpDialogue::take(std::string_view piece) {
  taken_ += piece.size();
  pending_ += piece;
  size_t begin = 0;
  while (!is_over()) {
    const size_t line_end = pending_.find('\n', std::max(begin, searched_));
    if (line_end == std::string::npos) break;
    take_line(std::string_view(pending_).substr(begin, line_end - begin));
    begin = searched_ = line_end + 1;
  }
  pending_.erase(0, begin);
  searched_ = pending_.size();
  if (!is_over() && pending_.size() > kMaxMcpMessageBytes) {
    end({ErrorKind::kQuota, "limit.tool_output",
         "the server wrote a message of more than " + std::to_string(kMaxMcpMessageBytes) +
             " bytes"});
  }
  if (!is_over() && taken_ > kMaxMcpDialogueBytes) {
    end({ErrorKind::kQuota, "limit.tool_output",
         "the server wrote more than " + std::to_string(kMaxMcpDialogueBytes) +
             " bytes in one call"});
  }
  if (is_over()) pending_.clear();
  return std::exchange(out_, {});
}

void McpDialogue::take_line(std::string_view line) {
  if (is_blank(line, " \t\r")) return;
  auto read = read_message(line);
  if (const auto* broken = std::get_if<BrokenMessage>(&read)) {
    return end_garbage("wrote a line that is not a message: " +
                       server_words(broken->error.message));
  }
  auto& message = std::get<RpcMessage>(read);
  switch (message.kind) {
    case RpcMessage::Kind::kRequest:
      return take_request(message);
    case RpcMessage::Kind::kNotification:
      return take_notification(message);
    case RpcMessage::Kind::kResponse:
      return take_response(std::move(message));
  }
}

/// Handles pings and requests for the workspace's root. Others are refused: a server cannot ask a
/// model or a person.
void McpDialogue::take_request(const RpcMessage& message) {
  if (++requests_ > kMaxServerRequests) {
    return end({ErrorKind::kQuota, "limit.tool_output",
                "the server asked for more than " + std::to_string(kMaxServerRequests) +
                    " things in one call"});
  }
  if (message.method == "ping") {
    out_ += result_line(message.id, ordered_json::object()) + "\n";
  } else if (message.method == "roots/list" && !errand_.root.empty()) {
    ordered_json root;
    root["uri"] = file_uri(errand_.root);
    root["name"] = last_component(errand_.root);
    ordered_json result;
    result["roots"] = ordered_json::array({std::move(root)});
    out_ += result_line(message.id, result) + "\n";
  } else {
    out_ += error_line(message.id, {rpc::kMethodNotFound, "this client does not offer '" +
                                                              server_words(message.method) + "'"}) +
            "\n";
  }
}

void McpDialogue::take_notification(const RpcMessage& message) {
  if (message.method == "notifications/tools/list_changed") list_changed_ = true;
  if (message.method != "notifications/message" || !errand_.on_log) return;
  const auto data = message.params.find("data");
  if (data == message.params.end()) return;
  errand_.on_log(data->is_string() ? data->get<std::string>() : data->dump());
}

void McpDialogue::take_response(RpcMessage message) {
  const auto* id = std::get_if<int64_t>(&message.id);
  if (id == nullptr || *id != last_id_) {
    return end_garbage("answered a request that was not made, or was answered before");
  }
  switch (step_) {
    case Step::kProbe:
      return take_probe(message);
    case Step::kInitialize:
      return take_hello(message);
    case Step::kList:
    case Step::kListAgain:
      return take_page(message);
    case Step::kCall:
      return take_result(std::move(message));
    case Step::kOver:
      return;
  }
}

/// Handles the answer to the probe. A server of the handshake era answers with an error.
void McpDialogue::take_probe(const RpcMessage& message) {
  const json& result = message.result;
  if (message.error || !result.is_object()) return ask_initialize();
  const std::string& ours = stateless_versions().back();
  const auto versions = result.find("supportedVersions");
  const bool is_shared =
      versions != result.end() && versions->is_array() &&
      std::ranges::any_of(*versions, [&](const json& one) { return one == ours; });
  if (!is_shared) return ask_initialize();
  reply_.version = ours;
  if (const auto meta = result.find("_meta"); meta != result.end() && meta->is_object()) {
    note_server(*meta, "io.modelcontextprotocol/serverInfo");
  }
  ask_list(Step::kList);
}

/// Stores the name and version that the server reports.
void McpDialogue::note_server(const json& from, const char* key) {
  const auto info = from.find(key);
  if (info == from.end() || !info->is_object()) return;
  reply_.server = text_member(*info, "name") + " " + text_member(*info, "version");
}

void McpDialogue::take_hello(const RpcMessage& message) {
  if (message.error) {
    return end_garbage("refused the handshake: " + server_words(message.error->message));
  }
  if (!message.result.is_object()) return end_garbage("answered the handshake with no object");
  reply_.version = text_member(message.result, "protocolVersion");
  if (!contains(handshake_versions(), reply_.version)) {
    return end_garbage("speaks version '" + server_words(reply_.version) +
                       "' of the protocol, which this client does not");
  }
  note_server(message.result, "serverInfo");
  out_ += notification_line("notifications/initialized", ordered_json::object()) + "\n";
  ask_list(Step::kList);
}

/// An empty cursor is a cursor, but some servers mean the end of the list. Asked for it, they
/// refuse it, or begin again: then each tool and the next cursor are known.
void McpDialogue::take_page(const RpcMessage& message) {
  if (message.error && ended_by_empty_) return judge_list();
  if (message.error) {
    return end_garbage("refused to list its tools: " + server_words(message.error->message));
  }
  const bool is_object = message.result.is_object();
  const auto tools = is_object ? message.result.find("tools") : message.result.end();
  if (!is_object || tools == message.result.end() || !tools->is_array()) {
    return end_garbage("listed no 'tools'");
  }
  const auto& known = reply_.definitions;
  const std::string next = text_member(message.result, "nextCursor");
  const bool begins_again = ended_by_empty_ &&
                            (!tools->empty() || next.empty() || cursors_.contains(next)) &&
                            std::ranges::all_of(*tools, [&](json tool) {
                              if (tool.is_object()) tool.erase("_meta");
                              return contains(known, tool);
                            });
  if (begins_again) return judge_list();
  for (const json& tool : *tools) {
    if (!tool.is_object() || text_member(tool, "name").empty()) {
      return end_garbage("listed a tool without a name");
    }
    if (reply_.definitions.size() >= kMaxMcpTools) {
      return end({ErrorKind::kQuota, "limit.mcp_tools",
                  "the server lists more than " + std::to_string(kMaxMcpTools) + " tools"});
    }
    reply_.definitions.push_back(tool);
    reply_.definitions.back().erase("_meta");
  }
  take_cursor(message.result);
}

void McpDialogue::take_cursor(const json& page) {
  const auto next = page.find("nextCursor");
  if (next == page.end() || next->is_null()) return judge_list();
  if (!next->is_string()) return end_garbage("lists its tools with a cursor that is not text");
  const auto& cursor = next->get_ref<const std::string&>();
  if (!cursors_.insert(cursor).second) {
    return end_garbage("lists its tools with the cursor '" + server_words(cursor) + "' twice");
  }
  if (++pages_ >= kMaxListPages) return end_garbage("does not end the list of its tools");
  ended_by_empty_ = cursor.empty();
  ordered_json params;
  params["cursor"] = cursor;
  ask("tools/list", std::move(params), step_);
}

void McpDialogue::judge_list() {
  auto& all = reply_.definitions;
  std::ranges::sort(all, [](const json& a, const json& b) {
    return text_member(a, "name") < text_member(b, "name");
  });
  const auto twin = std::ranges::adjacent_find(all, [](const json& a, const json& b) {
    return text_member(a, "name") == text_member(b, "name");
  });
  if (twin != all.end()) {
    return end_garbage("lists two tools named '" + server_words(text_member(*twin, "name")) + "'");
  }
  if (list_changed_ && readings_ >= kMaxListReadings) {
    return end_garbage("keeps changing the list of its tools");
  }
  if (list_changed_) return ask_list(step_);
  if (errand_.check) {
    if (const auto sound = errand_.check(all); !sound) return end(sound.error());
  }
  if (errand_.call && step_ == Step::kList) return ask_call();
  step_ = Step::kOver;
}

void McpDialogue::take_result(RpcMessage message) {
  if (message.error) {
    return end({ErrorKind::kIo, "tool.failed",
                "the server says: " + server_words(message.error->message) + " (" +
                    std::to_string(message.error->code) + ")"});
  }
  if (!message.result.is_object()) return end_garbage("answered the call with no object");
  const std::string type = text_member(message.result, "resultType");
  if (type == "input_required") {
    return end(
        {ErrorKind::kIo, "tool.failed",
         "the server wants to ask a person or a model something, which is not offered here"});
  }
  const auto content = message.result.find("content");
  const bool is_content =
      content != message.result.end() && content->is_array() &&
      std::ranges::all_of(*content, [](const json& block) {
        return block.is_object() && block.contains("type") && block["type"].is_string();
      });
  if (!is_content) return end_garbage("answered the call without a list 'content'");
  reply_.result = std::move(message.result);
  if (list_changed_) return ask_list(Step::kListAgain);
  step_ = Step::kOver;
}

}  // namespace galley
