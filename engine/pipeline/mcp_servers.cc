#include "engine/pipeline/mcp_servers.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/contains.h"
#include "base/file_mode.h"
#include "engine/pipeline/custom_tools.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/replace_file.h"
#include "tools/json_input.h"

namespace galley {
namespace {

constexpr std::string_view kPrefix = "mcp-";
constexpr std::string_view kSuffix = ".json";

std::string file_of(std::string_view name) {
  return std::string(kPrefix) + std::string(name) + std::string(kSuffix);
}

std::optional<TrustedMcpServer> parse_server_record(const std::string& text,
                                                    const std::string& root) {
  const auto document = parse_json(text, {TrustedMcpServer::kMaxRecordBytes});
  if (!document || !document->is_object()) return {};
  if (document->value("root", nlohmann::json()) != root) return {};
  return TrustedMcpServer::from_json(*document);
}

/// Returns nothing without a valid record.
Result<std::optional<TrustedMcpServer>> read_server_record(const Directory& home,
                                                           const std::string& file,
                                                           const std::string& root) {
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(file));
  GALLEY_ASSIGN(const auto text, read_own_file(home, path, TrustedMcpServer::kMaxRecordBytes));
  auto server = text ? parse_server_record(*text, root) : std::nullopt;
  if (server && file != file_of(server->name)) server.reset();
  return server;
}

}  // namespace

Result<void> trust_mcp_server(const UserSettings& settings, const std::string& root,
                              const TrustedMcpServer& server) {
  GALLEY_TRY(check_tools_have_a_place(settings, root));
  GALLEY_TRY(server.check());
  nlohmann::ordered_json document = server.to_json();
  document["root"] = root;
  const std::string text = json_text(document) + "\n";
  GALLEY_ASSIGN(const auto kept, trusted_mcp_servers(settings, root));
  const bool is_new = !contains(kept, server.name, &TrustedMcpServer::name);
  if (text.size() > TrustedMcpServer::kMaxRecordBytes ||
      (is_new && kept.size() >= kMaxMcpServers)) {
    return fail(ErrorKind::kQuota, "limit.mcp_record",
                "the MCP server '" + server.name + "' is not kept: a workspace has at most " +
                    std::to_string(kMaxMcpServers) + " of them, and the definitions of one " +
                    std::to_string(TrustedMcpServer::kMaxRecordBytes) + " bytes");
  }
  GALLEY_ASSIGN(const auto home,
                make_disk_directory(tools_folder(settings, root), kPrivateDirectory));
  return replace_shared_file(*home, file_of(server.name), text);
}

Result<std::vector<TrustedMcpServer>> trusted_mcp_servers(const UserSettings& settings,
                                                          const std::string& root) {
  std::vector<TrustedMcpServer> all;
  if (!is_tools_folder_outside(settings, root)) return all;
  const auto home = open_disk_directory(tools_folder(settings, root));
  const bool is_absent =
      !home && (home.error().kind == ErrorKind::kNotFound || home.error().os_error == EACCES);
  if (is_absent) return all;
  if (!home) return fail(home.error());
  GALLEY_ASSIGN(const auto entries, (*home)->list());
  for (const DirectoryEntry& entry : entries) {
    const bool is_record = entry.kind == FileKind::kRegular && entry.name.starts_with(kPrefix) &&
                           entry.name.ends_with(kSuffix);
    if (!is_record) continue;
    GALLEY_ASSIGN(auto server, read_server_record(**home, entry.name, root));
    if (server) all.push_back(*std::move(server));
  }
  std::ranges::sort(all, {}, &TrustedMcpServer::name);
  return all;
}

Result<bool> forget_mcp_server(const UserSettings& settings, const std::string& root,
                               std::string_view name) {
  GALLEY_ASSIGN(const auto kept, trusted_mcp_servers(settings, root));
  const bool is_kept = contains(kept, name, &TrustedMcpServer::name);
  if (!is_kept) return false;
  GALLEY_ASSIGN(const auto home, open_writable_disk_directory(tools_folder(settings, root)));
  GALLEY_ASSIGN(const RelPath place, RelPath::parse(file_of(name)));
  GALLEY_TRY(home->remove_file(place));
  return true;
}

std::vector<SkippedMcpTool> add_mcp_tools(ToolRegistry& registry,
                                          const std::shared_ptr<const TrustedMcpServer>& server) {
  std::vector<SkippedMcpTool> left_out;
  for (const nlohmann::json& definition : server->definitions) {
    auto tool = make_mcp_tool(server, definition);
    auto added = tool ? registry.check_distinct((*tool)->info().name) : fail(tool.error());
    if (added) added = registry.add(*std::move(tool));
    if (!added) left_out.emplace_back(definition.at("name").get<std::string>(), added.error());
  }
  return left_out;
}

Result<std::vector<std::string>> add_mcp_servers(ToolRegistry& registry,
                                                 const UserSettings& settings,
                                                 const std::string& root) {
  GALLEY_ASSIGN(auto kept, trusted_mcp_servers(settings, root));
  std::vector<std::string> notices;
  for (TrustedMcpServer& kept_server : kept) {
    const auto server = std::make_shared<const TrustedMcpServer>(std::move(kept_server));
    for (const auto& [name, why] : add_mcp_tools(registry, server)) {
      if (why.reason != "tool.exists") continue;
      notices.push_back("a tool of the MCP server " + server->name +
                        " is left out: " + why.message);
    }
  }
  return notices;
}

}  // namespace galley
