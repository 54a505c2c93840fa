#include "engine/pipeline/tool_admission.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/pipeline/granting.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

Error by_agent() {
  return {ErrorKind::kRefused, "tool.by_agent",
          "an agent neither adds nor removes tools; have a person say it, without --agent", "", 0};
}

AuditEvent event_of(AuditKind kind, ordered_json input) {
  AuditEvent event;
  event.kind = kind;
  event.tool = kind == AuditKind::kToolsAdded ? "tools.add" : "tools.remove";
  event.input = std::make_shared<const ordered_json>(std::move(input));
  return event;
}

}  // namespace

Result<void> admit_tools(WorkspaceState& workspace, const TransactionOptions& who,
                         const UserSettings& settings, const ToolFolder& folder) {
  ordered_json names = ordered_json::array();
  for (const CustomManifest& manifest : folder.manifests) names.push_back(manifest.info.name);
  AuditEvent event =
      event_of(AuditKind::kToolsAdded,
               {{"folder", folder.path}, {"hash", folder.hash.hex()}, {"tools", std::move(names)}});
  GALLEY_TRY(say_as_person(workspace, who, std::move(event), by_agent(), [&] {
    return check_tools_have_a_place(settings, workspace.root_path);
  }));
  return trust_tools(settings, workspace.root_path, folder, workspace.clock().wall_ns());
}

Result<bool> dismiss_tool(WorkspaceState& workspace, const TransactionOptions& who,
                          const UserSettings& settings, const std::string& name) {
  AuditEvent event = event_of(AuditKind::kToolsRemoved, {{"tool", name}});
  GALLEY_TRY(
      say_as_person(workspace, who, std::move(event), by_agent(), [] { return Result<void>(); }));
  return forget_tool(settings, workspace.root_path, name);
}

}  // namespace galley
