#include "tools/mcp/rpc_message.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json envelope() {
  ordered_json out;
  out["jsonrpc"] = "2.0";
  return out;
}

BrokenMessage broken(std::optional<RpcId> id, std::string why) {
  return {std::move(id), {rpc::kInvalidRequest, std::move(why)}};
}

/// A response to one of our requests.
std::variant<RpcMessage, BrokenMessage> read_response(json document, RpcId id) {
  RpcMessage message;
  message.kind = RpcMessage::Kind::kResponse;
  message.id = std::move(id);
  if (const auto result = document.find("result"); result != document.end()) {
    message.result = std::move(*result);
    return message;
  }
  const json& error = document["error"];
  if (!error.is_object()) return broken({}, "'error' is not an object");
  RpcError why;
  if (const auto code = error.find("code"); code != error.end() && code->is_number_integer()) {
    why.code = static_cast<int>(code->get<int64_t>());
  }
  if (const auto text = error.find("message"); text != error.end() && text->is_string()) {
    why.message = text->get<std::string>();
  }
  message.error = std::move(why);
  return message;
}

/// A message of which only an object is known.
std::variant<RpcMessage, BrokenMessage> read_object(json document) {
  const auto said = document.find("id");
  std::optional<RpcId> id = said == document.end() ? std::nullopt : rpc_id(*said);
  if (document.value("jsonrpc", json()) != "2.0") {
    return broken(std::move(id), "a message says \"jsonrpc\": \"2.0\"");
  }
  if (document.contains("id") && !id) {
    return broken({}, "an id is a string or an integer, never null");
  }
  const auto method = document.find("method");
  if (method == document.end()) {
    if (id && (document.contains("result") != document.contains("error"))) {
      return read_response(std::move(document), *std::move(id));
    }
    return broken(std::move(id), "a request names its method");
  }
  if (!method->is_string()) return broken(std::move(id), "a method is a string");
  RpcMessage message;
  message.kind = id ? RpcMessage::Kind::kRequest : RpcMessage::Kind::kNotification;
  if (id) message.id = *id;
  message.method = method->get<std::string>();
  const auto params = document.find("params");
  if (params != document.end() && !params->is_null()) {
    if (!params->is_object()) {
      return BrokenMessage{std::move(id), {rpc::kInvalidParams, "'params' is an object"}};
    }
    // Serializers write null for an optional member that has no value.
    for (auto& [name, value] : params->items()) {
      if (!value.is_null()) message.params[name] = std::move(value);
    }
  }
  return message;
}

}  // namespace

std::optional<RpcId> rpc_id(const json& value) {
  if (value.is_string()) return RpcId(value.get<std::string>());
  const bool is_larger = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  if (!value.is_number_integer() || is_larger) return std::nullopt;
  return RpcId(value.get<int64_t>());
}

const std::vector<std::string>& handshake_versions() {
  static const std::vector<std::string> kVersions = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                     "2025-11-25"};
  return kVersions;
}

const std::vector<std::string>& stateless_versions() {
  static const std::vector<std::string> kVersions = {"2026-07-28"};
  return kVersions;
}

ordered_json to_json(const RpcId& id) {
  if (const auto* number = std::get_if<int64_t>(&id)) return *number;
  return std::get<std::string>(id);
}

UnreadMessage unread_message(std::string_view text) {
  UnreadMessage found;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '{' || text[at] == '[') ++depth;
    if (text[at] == '}' || text[at] == ']') --depth;
    if (text[at] != '"') continue;
    const size_t begin = at;
    for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    const size_t colon = std::min(text.find_first_not_of(" \t", at + 1), text.size());
    if (depth != 1 || colon == text.size() || text[colon] != ':') continue;
    const std::string_view key = text.substr(begin, at + 1 - begin);
    found.has_method |= key == "\"method\"";
    if (key != "\"id\"" || !found.id.is_null()) continue;
    const size_t value = std::min(text.find_first_not_of(" \t", colon + 1), text.size());
    const bool is_text = value < text.size() && text[value] == '"';
    const size_t end = is_text ? text.find('"', value + 1) : text.find_first_of(" \t,}", value);
    if (end == std::string_view::npos) break;
    const auto id = parse_json(text.substr(value, end + (is_text ? 1 : 0) - value));
    if (id && (id->is_string() || id->is_number())) found.id = *id;
  }
  return found;
}

json id_at_end(std::string_view end) {
  constexpr std::string_view kKey = "\"id\":";
  end = trim(end, " \t\r");
  if (!end.ends_with('}')) return nullptr;
  end = trim(end.substr(0, end.size() - 1), " \t");
  const size_t key = end.rfind(kKey);
  if (key == std::string_view::npos || key == 0) return nullptr;
  const auto id = parse_json(end.substr(key + kKey.size()));
  return id && (id->is_string() || id->is_number()) ? *id : json();
}

std::variant<RpcMessage, BrokenMessage> read_message(std::string_view line) {
  JsonLimits limits;
  limits.max_values = kMaxMessageValues;
  auto parsed = parse_json(line, limits);
  if (!parsed) {
    const bool is_syntax = parsed.error().reason == "json.syntax";
    const auto [id, has_method] = unread_message(line);
    return BrokenMessage{has_method ? rpc_id(id) : std::nullopt,
                         {is_syntax ? rpc::kParseError : rpc::kInvalidRequest,
                          "this is not a message: " + parsed.error().message}};
  }
  json& document = *parsed;
  if (document.is_array()) return broken({}, "batches are not taken; send one message a line");
  if (!document.is_object()) return broken({}, "a message is one JSON object");
  const bool has_method = document.contains("method");
  const bool is_answerable = has_method
                                 ? document.contains("id") || !document["method"].is_string()
                                 : !document.contains("result") && !document.contains("error");
  auto read = read_object(std::move(document));
  if (auto* unread = std::get_if<BrokenMessage>(&read)) unread->is_answerable = is_answerable;
  return read;
}

std::string result_line(const RpcId& id, const ordered_json& result) {
  ordered_json out = envelope();
  out["id"] = to_json(id);
  std::string line = json_text(out);
  line.back() = ',';
  return line.append("\"result\":").append(json_text(result)).append("}");
}

std::string error_line(const std::optional<RpcId>& id, const RpcError& error) {
  ordered_json out = envelope();
  if (id) out["id"] = to_json(*id);
  out["error"]["code"] = error.code;
  out["error"]["message"] = error.message;
  if (!error.data.is_null()) out["error"]["data"] = error.data;
  return json_text(out);
}

std::string request_line(const RpcId& id, std::string_view method, const ordered_json& params) {
  ordered_json out = envelope();
  out["id"] = to_json(id);
  out["method"] = method;
  out["params"] = params;
  return json_text(out);
}

std::string notification_line(std::string_view method, const ordered_json& params) {
  ordered_json out = envelope();
  out["method"] = method;
  if (!params.empty()) out["params"] = params;
  return json_text(out);
}

}  // namespace galley
