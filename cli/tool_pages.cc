#include "cli/tool_pages.h"

#include <string>

namespace galley {

std::string_view tool_page(std::string_view tool) {
  // A page begins with its only heading of the first level.
  constexpr std::string_view kTitle = "\n# ";
  const std::string title = "# " + std::string(tool) + "\n";
  const std::string_view all = tool_pages::kAll;
  size_t begin = all.starts_with(title) ? 0 : all.find("\n" + title);
  if (begin == std::string_view::npos) return {};
  if (begin > 0) ++begin;
  const size_t end = all.find(kTitle, begin);
  return all.substr(begin, end == std::string_view::npos ? end : end + 1 - begin);
}

}  // namespace galley
