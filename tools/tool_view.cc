#include "tools/tool_view.h"

#include <algorithm>
#include <set>
#include <string>

namespace galley {
namespace {

/// `*` matches any text, and `?` matches one byte. Each `*` takes linear time, so no pattern is
/// slow.
bool matches(std::string_view pattern, std::string_view name) {
  size_t at = 0;
  size_t in = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (in < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = in;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in])) {
      ++at;
      ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace

bool ToolView::sees(const ToolInfo& info, const ToolAvailability& availability) const {
  if (!registry_->is_enabled(info.name)) return false;
  const auto& agents = availability.agents;
  const bool is_named =
      agents.empty() || std::any_of(agents.begin(), agents.end(), [&](const std::string& pattern) {
        return matches(pattern, caller_.agent);
      });
  if (!is_named) return false;
  for (const std::string& needed : availability.capabilities) {
    if (caller_.has && !caller_.has(needed)) return false;
  }
  return !availability.holds || availability.holds(caller_);
}

Result<std::vector<ToolRegistry::EntryPointer>> ToolView::find(std::string_view name) const {
  std::vector<ToolRegistry::EntryPointer> found = registry_->all_named(name);
  if (found.empty()) {
    std::vector<std::string> names;
    for (const ToolInfo& info : list()) names.push_back(info.name);
    return fail(unknown_tool(name, names));
  }
  const std::string tool = found.front()->tool->info().name;
  if (!registry_->is_enabled(tool)) {
    return fail(ErrorKind::kRefused, "tool.disabled",
                "the tool '" + tool + "' is disabled here; use another one");
  }
  std::erase_if(found, [&](const auto& entry) {
    return !sees(entry->tool->info(), entry->precedence.availability);
  });
  if (found.empty()) {
    return fail(
        ErrorKind::kRefused, "tool.not_available",
        "the tool '" + tool +
            "' is not available to this caller; `galley tools list` lists the available ones");
  }
  std::erase_if(found, [&](const auto& entry) { return !is_listed(entry->tool->info()); });
  if (found.empty()) {
    return fail(ErrorKind::kRefused, "tool.not_read_only",
                "the tool '" + tool + "' changes something, and this session only reads");
  }
  return found;
}

std::vector<ToolInfo> ToolView::list() const {
  std::vector<ToolInfo> out;
  std::set<std::string> seen;
  for (const ToolRegistry::Status& status : registry_->statuses()) {
    if (seen.contains(status.info.name)) continue;
    if (!sees(status.info, status.precedence.availability) || !is_listed(status.info)) continue;
    // A fallback may have been registered before the tool that is called.
    for (const auto& entry : registry_->all_named(status.info.name)) {
      const ToolInfo& info = entry->tool->info();
      if (!sees(info, entry->precedence.availability) || !is_listed(info)) continue;
      if (seen.insert(info.name).second) out.push_back(info);
      break;
    }
  }
  return out;
}

}  // namespace galley
