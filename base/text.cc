#include "base/text.h"

namespace galley {

std::string join(const std::vector<std::string>& texts, std::string_view between) {
  std::string out;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out += between;
    out += text;
  }
  return out;
}

std::string join_some(const std::vector<std::string>& texts, size_t shown) {
  if (texts.size() <= shown) return join(texts);
  const std::vector<std::string> first(texts.begin(),
                                       texts.begin() + static_cast<std::ptrdiff_t>(shown));
  return join(first) + " and " + std::to_string(texts.size() - shown) + " more";
}

}  // namespace galley
