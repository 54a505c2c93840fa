#include "tools/mcp/trusted_mcp_server.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "base/contains.h"
#include "base/printable.h"
#include "base/text.h"
#include "tools/json_input.h"
#include "tools/redactor.h"
#include "tools/schema.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using std::chrono::milliseconds;

constexpr const char* kFormat = "galley.mcp-server/1";
constexpr size_t kMaxListedChanges = 5;
constexpr size_t kMaxShownNameBytes = 100;
constexpr milliseconds kLongestServerTime{600'000};

std::string name_of(const json& definition) { return text_member(definition, "name"); }

std::string short_line(const std::string& text) { return printable_line(text, kMaxShownNameBytes); }

/// The title of a tool in one line for people.
std::string title_of(const json& definition) {
  std::string title = text_member(definition, "title");
  const auto hints = definition.find("annotations");
  if (title.empty() && hints != definition.end() && hints->is_object()) {
    title = text_member(*hints, "title");
  }
  return title.empty() ? name_of(definition) : title;
}

bool hints_at(const json& definition, const char* hint) {
  const auto hints = definition.find("annotations");
  return hints != definition.end() && hints->is_object() && hints->value(hint, json()) == true;
}

/// Text that a model reads is cleaned as in an answer.
Result<std::string> cleaned_schema(const json& schema) {
  GALLEY_ASSIGN(const ordered_json cleaned, sanitized_answer(ordered_json(schema), sanitized_text));
  return json_text(cleaned);
}

tl::unexpected<Error> bad(const char* reason, const std::string& message) {
  return fail(ErrorKind::kInvalid, reason, message);
}

constexpr const char* kSecretPattern = R"(\$ENV\.([A-Za-z_][A-Za-z0-9_]*))";

/// The host of a URL that curl and this program read alike: no user, no fragment, no escapes in the
/// host. Empty if it is not one.
std::string host_of(const std::string& url) {
  static const re2::RE2 kUrl(
      R"(https?://([A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?))"
      R"((?:[/?][A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*)?)");
  std::string host;
  if (url.size() > TrustedMcpServer::kMaxUrlBytes || !re2::RE2::FullMatch(url, kUrl, &host)) {
    return {};
  }
  return host;
}

/// A secret must not pass a network in plain text.
bool is_on_this_machine(const std::string& host) {
  static const re2::RE2 kLoopback(
      R"((?:localhost|127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|\[::1\])(?::[0-9]+)?)");
  return re2::RE2::FullMatch(host, kLoopback);
}

/// Headers that the transport sets.
bool is_own_header(const std::string& name) {
  static constexpr std::string_view kOwn[] = {"accept",
                                              "connection",
                                              "content-length",
                                              "content-type",
                                              "expect",
                                              "host",
                                              "mcp-method",
                                              "mcp-name",
                                              "te",
                                              "upgrade",
                                              "mcp-session-id",
                                              "content-encoding",
                                              "mcp-protocol-version",
                                              "transfer-encoding"};
  return contains(kOwn, to_lower(name));
}

Result<void> check_remote(const TrustedMcpServer& server) {
  const std::string host = host_of(server.url);
  if (host.empty()) {
    return bad("mcp.url", "'" + short_line(server.url) +
                              "' is not a URL that can be asked: https://HOST[:PORT][/PATH], "
                              "without a user name, a fragment and unusual characters");
  }
  if (server.url.starts_with("http://") && !is_on_this_machine(host)) {
    return bad("mcp.url", "'" + short_line(server.url) +
                              "' is not encrypted: use https, or a server of this machine");
  }
  if (!server.command.empty() || !server.environment.empty() || !server.readable.empty()) {
    return bad("mcp.url",
               "a server with a URL is not started, so it has no command, environment "
               "or folder");
  }
  if (server.writes || !server.uses_network) {
    return bad("mcp.url", "a server with a URL is on the network and does not write to the tree");
  }
  std::set<std::string> named;
  for (const auto& [name, value] : server.headers) {
    const bool is_sound = is_http_token(name) && !is_own_header(name) &&
                          value.size() <= TrustedMcpServer::kMaxHeaderBytes &&
                          std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
    if (!is_sound) {
      return bad("mcp.header", "'" + short_line(name) +
                                   "' is not a header that can be sent: NAME: VALUE of ASCII, and "
                                   "none that the transport sets itself");
    }
    static const re2::RE2 kSecret(kSecretPattern);
    re2::StringPiece rest(value);
    std::string secret;
    while (re2::RE2::FindAndConsume(&rest, kSecret, &secret)) named.insert(secret);
  }
  if (named == std::set<std::string>(server.secrets.begin(), server.secrets.end())) return {};
  return bad("mcp.header",
             "the secrets in headers ($ENV.NAME) are those of --secret NAME: name "
             "each in both");
}

Result<void> check_words(const std::vector<std::string>& words, const char* reason) {
  const bool is_sound = words.size() <= TrustedMcpServer::kMaxServerWords &&
                        std::ranges::all_of(words, [](const std::string& word) {
                          return word.find('\0') == std::string::npos;
                        });
  if (is_sound) return {};
  return bad(reason, "an MCP server is started with at most " +
                         std::to_string(TrustedMcpServer::kMaxServerWords) +
                         " words, without NUL bytes");
}

}  // namespace

Result<void> TrustedMcpServer::check() const {
  if (!is_tool_name(name) || name.find('.') != std::string::npos) {
    return bad("tool.name", "'" + short_line(name) +
                                "' is not a name for an MCP server: 1 to 64 of A-Z a-z 0-9 _ -");
  }
  if (!url.empty() || !headers.empty()) {
    GALLEY_TRY(check_remote(*this));
  } else if (command.empty() || command.front().empty()) {
    return bad("mcp.command", "an MCP server needs its command after --, or --url");
  }
  GALLEY_TRY(check_words(command, "mcp.command"));
  GALLEY_TRY(check_words(readable, "mcp.readable"));
  GALLEY_TRY(check_words(secrets, "mcp.environment"));
  static const re2::RE2 kName("[A-Za-z_][A-Za-z0-9_]{0,127}");
  const auto is_name = [](const std::string& text) { return re2::RE2::FullMatch(text, kName); };
  const bool are_names =
      environment.size() <= kMaxServerWords && std::ranges::all_of(secrets, is_name) &&
      std::ranges::all_of(environment, [&](const auto& variable) {
        return is_name(variable.first) && variable.second.find('\0') == std::string::npos;
      });
  if (!are_names) {
    return bad("mcp.environment", "variables of an MCP server have names of A-Z a-z 0-9 _");
  }
  for (const std::string& folder : readable) {
    if (folder.starts_with('/')) continue;
    return bad("mcp.readable", "'" + short_line(folder) + "' is not an absolute path of a folder");
  }
  if (timeout.count() > 0 && timeout <= kLongestServerTime) return {};
  return bad("mcp.command", "a call of an MCP server takes 1 ms to 10 minutes");
}

ordered_json TrustedMcpServer::to_json() const {
  ordered_json out;
  out["format"] = kFormat;
  out["name"] = name;
  out["command"] = command;
  if (!url.empty()) {
    out["url"] = url;
    out["headers"] = headers;
  }
  out["environment"] = environment;
  out["readable"] = readable;
  out["secrets"] = secrets;
  out["network"] = uses_network;
  out["writes"] = writes;
  out["timeout_ms"] = timeout.count();
  if (memory_bytes) out["memory_bytes"] = *memory_bytes;
  out["version"] = version;
  out["given_ns"] = given_ns;
  out["tools"] = ordered_json::array();
  // Through the sorted form: two spellings of one definition become the same bytes.
  for (const json& definition : definitions) out["tools"].push_back(ordered_json(definition));
  return out;
}

std::optional<TrustedMcpServer> TrustedMcpServer::from_json(const json& document) {
  try {
    if (document.at("format") != kFormat) return {};
    TrustedMcpServer server;
    server.name = document.at("name").get<std::string>();
    server.command = document.at("command").get<std::vector<std::string>>();
    if (document.contains("url")) {
      server.url = document.at("url").get<std::string>();
      server.headers = document.at("headers").get<std::map<std::string, std::string>>();
    }
    server.environment = document.at("environment").get<std::map<std::string, std::string>>();
    server.readable = document.at("readable").get<std::vector<std::string>>();
    server.secrets = document.at("secrets").get<std::vector<std::string>>();
    server.uses_network = document.at("network").get<bool>();
    server.writes = document.at("writes").get<bool>();
    server.timeout = milliseconds(document.at("timeout_ms").get<int64_t>());
    if (document.contains("memory_bytes")) {
      server.memory_bytes = document.at("memory_bytes").get<uint64_t>();
    }
    server.version = document.at("version").get<std::string>();
    server.given_ns = document.at("given_ns").get<int64_t>();
    server.definitions = document.at("tools").get<std::vector<json>>();
    const auto is_definition = [](const json& one) {
      return one.is_object() && !name_of(one).empty();
    };
    const auto& tools = server.definitions;
    if (!std::ranges::all_of(tools, is_definition) || !server.check()) return {};
    return server;
  } catch (const json::exception&) {
    return {};
  }
}

std::string TrustedMcpServer::host() const { return host_of(url); }

ContentId TrustedMcpServer::hash() const {
  json document = to_json();
  document.erase("given_ns");
  return ContentId::of(json_text(document));
}

std::vector<std::string> TrustedMcpServer::changes_to(const std::vector<json>& now) const {
  std::map<std::string, const json*> before;
  for (const json& definition : definitions) before[name_of(definition)] = &definition;
  std::vector<std::string> changes;
  for (const json& definition : now) {
    const auto old = before.find(name_of(definition));
    if (old == before.end()) {
      changes.push_back("+ " + name_of(definition));
      continue;
    }
    std::string members;
    json difference = *old->second;
    difference.update(definition);
    for (const auto& [key, value] : difference.items()) {
      const bool is_same = old->second->contains(key) && definition.contains(key) &&
                           old->second->at(key) == definition.at(key);
      if (!is_same) members += (members.empty() ? "" : ", ") + key;
    }
    if (!members.empty()) changes.push_back("~ " + name_of(definition) + ": " + members);
    before.erase(old);
  }
  for (const auto& [gone, definition] : before) changes.push_back("- " + gone);
  return changes;
}

Result<void> TrustedMcpServer::check_definitions(const std::vector<json>& now) const {
  const auto changes = changes_to(now);
  if (changes.empty()) return {};
  std::string which;
  for (size_t i = 0; i < changes.size() && i < kMaxListedChanges; ++i) {
    which += (i == 0 ? "" : "; ") + short_line(changes[i]);
  }
  if (changes.size() > kMaxListedChanges) which += "; …";
  return fail(ErrorKind::kRefused, "tool.definition_changed",
              "the MCP server '" + name + "' defines other tools than those that were trusted (" +
                  which + "); a person reviews and trusts them with: galley tools trust " + name);
}

Result<ToolInfo> TrustedMcpServer::tool_info(const json& definition) const {
  ToolInfo info;
  info.name = name + "." + name_of(definition);
  info.namespace_name = name;
  info.title = sanitized_text(title_of(definition));
  info.description = sanitized_text(text_member(definition, "description"));
  if (info.description.find_first_not_of(" \t\r\n") == std::string::npos) {
    info.description = "A tool of the MCP server " + name + ", which does not describe it.";
  }
  if (!url.empty()) info.description += "\n\nIt is asked over HTTP at " + host() + ".";
  const auto input = definition.find("inputSchema");
  if (input == definition.end() || !input->is_object() || text_member(*input, "type") != "object") {
    return bad("tool.schema", "the tool '" + short_line(info.name) +
                                  "' has no inputSchema with \"type\": \"object\"");
  }
  GALLEY_ASSIGN(info.input_schema, cleaned_schema(*input));
  // McpTool validates the structured answer against the server's output schema. That schema is not
  // nested here: its references would point elsewhere inside another schema.
  info.output_schema =
      R"({"type":"object","required":["content"],"properties":{"content":{"type":"array",)"
      R"("items":{"type":"object"}},"structuredContent":{"type":"object"}}})";
  info.category = ToolInfo::Category::kMcp;
  info.timeout = timeout;
  info.max_memory_bytes = memory_bytes;
  info.capabilities = {"fs:read", "exec"};
  if (writes) info.capabilities.emplace_back("fs:write");
  if (uses_network) info.capabilities.emplace_back("net:host");
  info.annotations.read_only = !writes && !uses_network;
  info.annotations.destructive = writes || !url.empty();
  info.annotations.open_world = true;
  info.is_reversible = writes && !uses_network;
  // Effects outside the tree cannot be undone.
  info.security_tier = uses_network ? ToolInfo::Tier::kRestricted : ToolInfo::Tier::kElevated;
  const bool is_grave = uses_network || hints_at(definition, "destructiveHint");
  info.risk_level = is_grave ? ToolInfo::Risk::kHigh : ToolInfo::Risk::kMedium;
  return info;
}

bool is_http_token(std::string_view name) {
  static const re2::RE2 kToken("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}");
  return re2::RE2::FullMatch(re2::StringPiece(name.data(), name.size()), kToken);
}

std::string with_secrets(const std::string& value,
                         const std::map<std::string, std::string>& secrets) {
  static const re2::RE2 kNext(std::string("(?s)(.*?)") + kSecretPattern);
  std::string out;
  re2::StringPiece rest(value);
  std::string before;
  std::string name;
  while (re2::RE2::Consume(&rest, kNext, &before, &name)) {
    const auto secret = secrets.find(name);
    out += before + (secret == secrets.end() ? "$ENV." + name : secret->second);
  }
  return out.append(rest.data(), rest.size());
}

}  // namespace galley
