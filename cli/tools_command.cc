#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/mcp_servers.h"
#include "cli/person.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/mcp_servers.h"
#include "engine/pipeline/stored_tools.h"

namespace galley {
namespace {

/// Returns one tool for the question to a person: the text that a model reads, then its rights.
std::string shown_tool(const CustomManifest& manifest) {
  std::string text = fmt::format("{} {}: {}\n", printable_line(manifest.info.name),
                                 manifest.info.version, printable_line(manifest.info.title));
  text += "  is described as: " + printable_line(manifest.info.description) + "\n";
  text += manifest.executable.empty()
              ? "  cannot be called: its manifest names no executable\n"
              : fmt::format("  runs {} in the sandbox, at most {} ms\n",
                            printable_line(manifest.executable), manifest.info.timeout->count());
  std::string needs;
  for (const std::string& need : manifest.info.capabilities) {
    needs += (needs.empty() ? "" : ", ") + printable_line(need);
  }
  text += "  needs " + needs + "\n";
  if (manifest.uses_network) text += "  reaches the network of this machine, all of it\n";
  for (const std::string& name : manifest.secrets) {
    text += "  gets the secret " + printable_line(name) + "\n";
  }
  text += manifest.writes ? "  what it writes is staged\n" : "  what it writes is dropped\n";
  return text;
}

std::string shown_folder(const ToolFolder& folder) {
  std::string text;
  for (const CustomManifest& manifest : folder.manifests) text += shown_tool(manifest);
  for (const ToolFolder::Item& item : folder.items) {
    text += fmt::format("# {} {}\n", ContentId::of(item.bytes).hex(), printable_line(item.path));
  }
  text += fmt::format("# {} in {}\n# hash {}\n", counted(folder.items.size(), "file"),
                      printable_line(folder.path), folder.hash.hex());
  return text;
}

Json folder_json(const Workspace& workspace, const ToolFolder& folder, bool is_added) {
  Json document = {{"schema", "galley.tools-add/1"}, {"ok", true},
                   {"root", workspace.root_path()},  {"folder", folder.path},
                   {"hash", folder.hash.hex()},      {"added", is_added},
                   {"tools", Json::array()}};
  for (const CustomManifest& manifest : folder.manifests) {
    document["tools"].push_back({{"name", manifest.info.name},
                                 {"version", manifest.info.version},
                                 {"executable", manifest.executable},
                                 {"capabilities", manifest.info.capabilities},
                                 {"network", manifest.uses_network},
                                 {"secrets", manifest.secrets},
                                 {"writes", manifest.writes}});
  }
  return document;
}

/// Checks that the registry would accept the tools: valid names and schemas, no duplicate name.
Result<void> check_fits(const Workspace& workspace, const UserSettings& user,
                        const ToolFolder& folder) {
  GALLEY_ASSIGN(ToolRegistry * registry, tools_of(workspace).registry());
  GALLEY_ASSIGN(const auto kept, trusted_tools(user, workspace.root_path()));
  for (const TrustedTools& old : kept) {
    if (old.source != folder.path) continue;
    for (const std::string& name : old.names) registry->remove(name);
  }
  return add_tools_of(*registry, folder);
}

Result<int> add(Session& session) {
  if (!session.arguments().mcp.name.empty()) return add_mcp_server(session);
  if (session.arguments().words.size() != 1) {
    return fail(ErrorKind::kUsage, "usage.one_folder",
                "galley tools add takes one folder; a server is added with --mcp NAME -- COMMAND");
  }
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  GALLEY_ASSIGN(const ToolFolder folder, ToolFolder::read(session.arguments().words.front()));
  GALLEY_TRY(check_fits(*workspace, session.user(), folder));
  const bool is_shown_only = session.arguments().dry_run;
  const bool is_vouched = is_trusted_in_advance(session.user(), folder.hash);
  const bool is_asked = !is_shown_only && !is_vouched && !session.is_unattended();
  if (!is_asked && !session.is_json()) session.print(shown_folder(folder));
  if (!is_shown_only) {
    GALLEY_TRY(refuse_inside_exec("tools add"));
    // An agent is refused on record, without a question.
    if (!is_vouched && session.transaction_options().agent.empty()) {
      GALLEY_TRY(require_person(
          session, shown_folder(folder),
          "Trust these tools for this workspace, as long as their files stay the same?"));
    }
    GALLEY_TRY(admit_tools(*workspace, session.transaction_options(), session.user(), folder));
  }
  if (session.is_json()) {
    session.print(folder_json(*workspace, folder, !is_shown_only));
  } else if (!is_shown_only) {
    const std::string& first = folder.manifests.front().info.name;
    session.say(fmt::format("added {}; take one away with: {}",
                            counted(folder.manifests.size(), "tool"),
                            session.hint("tools remove " + first)));
  }
  return kExitDone;
}

Result<int> remove(Session& session) {
  GALLEY_TRY(refuse_inside_exec("tools remove"));
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  const std::string& name = session.arguments().name;
  const bool is_trial = session.arguments().dry_run;
  GALLEY_ASSIGN(const auto kept, trusted_tools(session.user(), workspace->root_path()));
  const bool is_known = std::any_of(kept.begin(), kept.end(), [&](const TrustedTools& tools) {
    return std::find(tools.names.begin(), tools.names.end(), name) != tools.names.end();
  });
  GALLEY_ASSIGN(const auto servers, trusted_mcp_servers(session.user(), workspace->root_path()));
  const bool is_server =
      std::any_of(servers.begin(), servers.end(),
                  [&](const TrustedMcpServer& server) { return server.name == name; });
  if (!is_known && !is_server) {
    return fail(ErrorKind::kUsage, "tool.unknown",
                "there is no custom tool named '" + printable_line(name) +
                    "' and no MCP server of that name here; galley tools add DIR adds the tools of "
                    "a folder");
  }
  if (!is_trial && is_known) {
    GALLEY_TRY(remove_stored_tool(*workspace, session.transaction_options(), session.user(), name));
  } else if (!is_trial) {
    GALLEY_TRY(record_admission(*workspace, session.transaction_options(), AuditKind::kToolsRemoved,
                                {{"server", name}}));
    GALLEY_TRY(forget_mcp_server(session.user(), workspace->root_path(), name));
  }
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.tools-remove/1"},
                       {"ok", true},
                       {"root", workspace->root_path()},
                       {"name", name},
                       {"removed", !is_trial}});
  } else {
    session.say(fmt::format("{} {} called here", printable_line(name),
                            is_trial ? "would no longer be" : "can no longer be"));
  }
  return kExitDone;
}

}  // namespace

int run_tools_add(Session& session) { return session.finish(add(session)); }
int run_tools_trust(Session& session) { return session.finish(trust_mcp_server_again(session)); }
int run_tools_remove(Session& session) { return session.finish(remove(session)); }

}  // namespace galley
