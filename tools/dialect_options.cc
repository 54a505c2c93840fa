#include "tools/dialect_options.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace galley {
namespace {

/// The pieces between separators, without blanks around them and without empty ones.
std::vector<std::string> pieces_of(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    std::string_view piece = text.substr(0, end);
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    while (piece.ends_with(' ')) piece.remove_suffix(1);
    if (!piece.empty()) out.emplace_back(piece);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

DialectOptions dialect_options(const ToolSetting& setting) {
  DialectOptions options;
  const auto take = [&](std::string_view tool, std::string_view key, std::string& out) {
    std::string value = setting(tool, key);
    if (!value.empty()) out = std::move(value);
  };
  const std::string folders = setting("filesystem", "allowedPaths");
  if (!folders.empty()) options.nachos.allowed = pieces_of(folders, ',');
  TenexSettings& tenex = options.tenex;
  take("read_specs", "folder", tenex.specs);
  take("update_spec", "default_agent", tenex.default_agent);
  take("remember_lesson", "folder", tenex.lessons);
  take("find_agent", "folder", tenex.agents);
  tenex.orchestrators = pieces_of(setting("find_agent", "orchestrators"), ',');
  tenex.test_command = pieces_of(setting("run_tests", "command"), ' ');
  tenex.build_command = pieces_of(setting("build_project", "command"), ' ');
  return options;
}

}  // namespace galley
