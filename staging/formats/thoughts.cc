#include "staging/formats/thoughts.h"

#include <algorithm>
#include <array>

namespace galley {
namespace {

struct TagPair {
  std::string_view opening;
  std::string_view closing;
};
constexpr std::array<TagPair, 4> kTags = {{{"<think>", "</think>"},
                                           {"<thinking>", "</thinking>"},
                                           {"<reasoning>", "</reasoning>"},
                                           {"<scratchpad>", "</scratchpad>"}}};

}  // namespace

std::optional<ThoughtTag> thought_at(std::string_view text, size_t at) {
  if (at >= text.size()) return std::nullopt;
  for (const TagPair& tag : kTags) {
    if (text.substr(at).starts_with(tag.opening)) {
      return ThoughtTag{tag.closing, at + tag.opening.size()};
    }
  }
  return std::nullopt;
}

size_t thought_end(std::string_view text, size_t at) {
  for (auto tag = thought_at(text, at); tag; tag = thought_at(text, at)) {
    const size_t close = text.find(tag->closing, tag->end);
    if (close == std::string_view::npos) return close;
    at = close + tag->closing.size();
  }
  return at;
}

bool has_closing_tag(std::string_view text) {
  constexpr std::string_view kStart = "</";
  for (size_t at = text.find(kStart); at != text.npos; at = text.find(kStart, at + 1)) {
    if (closing_tag_length(text, at) > 0) return true;
  }
  return false;
}

size_t closing_tag_length(std::string_view text, size_t at) {
  for (const TagPair& tag : kTags) {
    if (text.substr(std::min(at, text.size())).starts_with(tag.closing)) return tag.closing.size();
  }
  return 0;
}

}  // namespace galley
