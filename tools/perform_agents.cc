#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "tools/json_input.h"
#include "tools/perform.h"
#include "tools/walk.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxAgentFiles = 1000;
constexpr uint64_t kMaxAgentFileBytes = uint64_t{1} << 20U;

std::vector<std::string> capabilities_of(const json& agent) {
  std::vector<std::string> out;
  const auto field = agent.find("capabilities");
  if (field == agent.end() || !field->is_array()) return out;
  for (const json& one : *field) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
  return out;
}

bool is_wanted(const FindAgents& find, const json& agent) {
  const std::string text =
      to_lower(text_member(agent, "name") + "\n" + text_member(agent, "description"));
  if (text.find(to_lower(find.query)) == std::string::npos) return false;
  const auto capabilities = capabilities_of(agent);
  return find.capability.empty() ||
         std::find(capabilities.begin(), capabilities.end(), find.capability) != capabilities.end();
}

}  // namespace

Performed perform_agents(const FindAgents& find, ToolContext& context) {
  GALLEY_ASSIGN(const auto entries, context.overlay.list(find.folder));
  ordered_json agents = ordered_json::array();
  ordered_json unreadable = ordered_json::array();
  size_t files = 0;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind != FileKind::kRegular || !entry.name.ends_with(".json")) continue;
    const auto name = RelPath::parse(entry.name);
    const auto path = name ? find.folder.join(*name) : name;
    if (!path || (context.may_read && !context.may_read(*path))) continue;
    if (++files > kMaxAgentFiles) {
      return fail(ErrorKind::kQuota, "limit.agents",
                  "'" + find.folder.str() + "' has more than " + std::to_string(kMaxAgentFiles) +
                      " descriptions of agents");
    }
    const auto content = peek(context.overlay, *path, kMaxAgentFileBytes);
    const auto agent = content ? parse_json(**content) : Result<json>(content.error());
    if (!agent || !agent->is_object() || text_member(*agent, "name").empty()) {
      unreadable.push_back(path->str());
      continue;
    }
    if (!is_wanted(find, *agent)) continue;
    agents.push_back({{"name", text_member(*agent, "name")},
                      {"description", text_member(*agent, "description")},
                      {"capabilities", capabilities_of(*agent)},
                      {"path", path->str()}});
  }
  ordered_json data;
  data["count"] = agents.size();
  data["agents"] = std::move(agents);
  if (!unreadable.empty()) data["unreadable"] = std::move(unreadable);
  return data;
}

}  // namespace galley
