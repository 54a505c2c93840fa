#include "tools/program_effects.h"

#include <algorithm>

#include "base/glob.h"
#include "base/printable.h"
#include "staging/overlay/staged_step.h"

namespace galley {
namespace {

constexpr size_t kMaxStandardErrorBytes = 2048;  // of its standard error, in a message

/// Whether one of these sorted paths is below `path`.
bool is_parent_of_one(const RelPath& path, const std::vector<RelPath>& paths) {
  const std::string below = path.str() + "/";
  const auto first = std::partition_point(
      paths.begin(), paths.end(), [&](const RelPath& other) { return other.str() < below; });
  return first != paths.end() && first->str().starts_with(below);
}

}  // namespace

std::optional<ToolError> check_program_effects(const Overlay::Entries& before,
                                               const std::vector<std::string>& writable,
                                               const std::string& named,
                                               const ToolContext& context) {
  std::vector<RelPath> changed = restaged_paths(before, context.overlay.entries());
  if (changed.empty()) return {};
  std::sort(changed.begin(), changed.end());
  const auto patterns = GlobList::parse(writable);
  for (const RelPath& path : changed) {
    if (writable.empty() || (patterns && patterns->selects(path))) continue;
    if (is_parent_of_one(path, changed)) continue;  // it is a parent of a changed path
    return ToolError{ToolErrorCode::kPermission, "tool.effects",
                     named + " changed '" + printable_line(path.str()) +
                         "', which its manifest does not list; nothing was staged",
                     nullptr};
  }
  if (!context.judge) return {};
  Intent intent;
  intent.writes = std::move(changed);
  const auto allowed = context.judge(intent);
  if (allowed) return {};
  return tool_error_from(allowed.error());
}

std::string output_tail(const CapturedOutput& output) {
  const std::string text = output.text();
  const size_t from =
      text.size() > kMaxStandardErrorBytes ? text.size() - kMaxStandardErrorBytes : 0;
  return printable(std::string_view(text).substr(from));
}

std::string end_of_program(const CommandResult& ran) {
  if (ran.exit_signal) return "was ended by signal " + std::to_string(*ran.exit_signal);
  return "ended with status " + std::to_string(ran.exit_code.value_or(-1));
}

}  // namespace galley
