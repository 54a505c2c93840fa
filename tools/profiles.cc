#include "tools/profiles.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "tools/catalogue.h"

namespace galley {
namespace {

std::vector<ToolProfile> read_profiles() {
  const auto file = nlohmann::json::parse(catalogue_text::kProfiles);
  std::vector<ToolProfile> all;
  for (const nlohmann::json& said : file["profiles"]) {
    ToolProfile profile{said["name"], said["about"], {}};
    for (const CatalogueRow& row : catalogue()) {
      const auto& shown = row.profiles;
      if (!contains(shown, profile.name)) continue;
      profile.tools.push_back({row.info.name, row.verb});
    }
    for (const nlohmann::json& row : file["elsewhere"]) {
      const auto& shown = row["profiles"];
      if (!contains(shown, profile.name)) continue;
      profile.tools.push_back({row["name"], row["verb"]});
    }
    all.push_back(std::move(profile));
  }
  return all;
}

bool is_standard(std::string_view tool) {
  const auto& rows = catalogue();
  return std::ranges::any_of(
      rows, [&](const CatalogueRow& row) { return row.is_standard && row.info.name == tool; });
}

bool is_in_some_profile(std::string_view tool) {
  const auto lists = [&](const ToolProfile& profile) {
    return contains(profile.tools, tool, &ToolProfile::Row::tool);
  };
  return std::ranges::any_of(profiles(), lists);
}

bool is_own_of_galley(std::string_view tool) {
  return is_standard(tool) || is_in_some_profile(tool);
}

}  // namespace

const std::vector<ToolProfile>& profiles() {
  static const std::vector<ToolProfile> table = read_profiles();
  return table;
}

Result<const ToolProfile*> profile_named(std::string_view name) {
  std::vector<std::string> names;
  for (const ToolProfile& profile : profiles()) {
    if (profile.name == name) return &profile;
    names.emplace_back(profile.name);
  }
  return fail(ErrorKind::kUsage, "profile.unknown",
              "there is no profile of tools named '" + std::string(name) + "'; there are " +
                  join(names) + did_you_mean(name, names));
}

bool ToolProfile::shows(std::string_view tool) const {
  const bool is_listed = contains(tools, tool, &Row::tool);
  return is_listed || !is_own_of_galley(tool);
}

bool ToolProfile::runs_programs() const { return contains(tools, "run", &Row::verb); }

Result<void> ToolProfile::check_shows(std::string_view tool) const {
  if (shows(tool)) return {};
  std::vector<std::string> names;
  for (const Row& row : tools) names.emplace_back(row.tool);
  return fail(ErrorKind::kUsage, "tool.not_in_profile",
              "the profile '" + std::string(name) + "' has no tool named '" + std::string(tool) +
                  "'" + did_you_mean(tool, names) + "; galley tools list --profile " +
                  std::string(name) + " shows those that it has");
}

bool is_shown_without_profile(std::string_view tool) {
  return is_standard(tool) || !is_in_some_profile(tool);
}

std::vector<ToolInfo> shown_tools(const ToolRegistry& registry, const ToolProfile* profile) {
  std::vector<ToolInfo> shown = registry.list();
  std::erase_if(shown, [&](const ToolInfo& info) {
    return profile != nullptr ? !profile->shows(info.name) : !is_shown_without_profile(info.name);
  });
  return shown;
}

}  // namespace galley
