#include "engine/policy/principals.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/glob.h"
#include "base/text.h"
#include "engine/policy/config.h"

namespace galley {
namespace {

/// Every non-empty list of agents in galley.toml.
std::vector<const std::vector<std::string>*> agent_lists(const Config& config) {
  std::vector<const std::vector<std::string>*> lists;
  const auto take = [&lists](const std::vector<std::string>& names) {
    if (!names.empty()) lists.push_back(&names);
  };
  for (const PathRule& rule : config.policy.rules) take(rule.agents);
  for (const ValidatorConfig& validator : config.validators) take(validator.agents);
  return lists;
}

}  // namespace

void Principals::add(std::string_view name) {
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.emplace_back(name);
}

bool names_agent(const std::vector<std::string>& patterns, std::string_view agent) {
  if (patterns.empty()) return true;
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return name_matches(pattern, agent); });
}

bool names_one_of(const std::vector<std::string>& patterns, const Principals& who) {
  return std::any_of(who.names().begin(), who.names().end(),
                     [&](const std::string& name) { return names_agent(patterns, name); });
}

bool knows_agent(const Config& config, std::string_view agent) {
  const auto lists = agent_lists(config);
  if (agent.empty() || (config.agents.empty() && lists.empty())) return true;
  if (config.agents.contains(std::string(agent)) || config.agents.contains("*")) return true;
  return std::any_of(lists.begin(), lists.end(),
                     [&](const auto* list) { return names_agent(*list, agent); });
}

std::string unknown_agent(const Config& config, std::string_view agent) {
  if (knows_agent(config, agent)) return {};
  std::set<std::string> known;
  for (const auto& [name, profile] : config.agents) known.insert(name);
  for (const auto* list : agent_lists(config)) known.insert(list->begin(), list->end());
  const std::string file = config.file.empty() ? std::string(kConfigFileName) : config.file;
  return fmt::format("{} knows no agent '{}'{}", file, agent,
                     did_you_mean(agent, {known.begin(), known.end()}));
}

Result<void> check_agent_is_known(const Config& config, std::string_view agent) {
  const std::string unknown = unknown_agent(config, agent);
  if (unknown.empty()) return {};
  return fail(ErrorKind::kRefused, "agent.unknown",
              fmt::format("{}{} Nothing is done under a name that no rule was written for; use a "
                          "name that it knows, or have [agents.{}] or [agents.\"*\"] added to it",
                          unknown, unknown.ends_with('?') ? "" : ".", agent));
}

}  // namespace galley
