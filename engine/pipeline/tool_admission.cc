#include "engine/pipeline/tool_admission.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/pipeline/granting.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

Error tools_by_agent() {
  return {ErrorKind::kRefused, "tool.by_agent",
          "an agent neither adds nor removes tools; have a person say it, without --agent", "", 0};
}

}  // namespace

Result<void> record_admission(WorkspaceState& workspace, const TransactionOptions& who,
                              AuditKind kind, ordered_json input) {
  AuditEvent event;
  event.kind = kind;
  event.tool = kind == AuditKind::kToolsAdded ? "tools.add" : "tools.remove";
  event.input = std::make_shared<const ordered_json>(std::move(input));
  return say_as_person(workspace, who, std::move(event), tools_by_agent(),
                       [] { return Result<void>(); });
}

Result<void> admit_tools(WorkspaceState& workspace, const TransactionOptions& who,
                         const UserSettings& settings, const ToolFolder& folder) {
  GALLEY_TRY(check_tools_have_a_place(settings, workspace.root_path));
  ordered_json names = ordered_json::array();
  for (const CustomManifest& manifest : folder.manifests) names.push_back(manifest.info.name);
  GALLEY_TRY(record_admission(
      workspace, who, AuditKind::kToolsAdded,
      {{"folder", folder.path}, {"hash", folder.hash.hex()}, {"tools", std::move(names)}}));
  return trust_tools(settings, workspace.root_path, folder, workspace.clock().wall_ns());
}

Result<bool> dismiss_tool(WorkspaceState& workspace, const TransactionOptions& who,
                          const UserSettings& settings, const std::string& name) {
  GALLEY_TRY(record_admission(workspace, who, AuditKind::kToolsRemoved, {{"tool", name}}));
  return forget_tool(settings, workspace.root_path, name);
}

}  // namespace galley
