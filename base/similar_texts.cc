#include "base/similar_texts.h"

#include <utility>

#include "base/text.h"

namespace galley {
namespace {

constexpr size_t kFewAlike = 2;
constexpr size_t kNamedAlike = 20;

}  // namespace

void SimilarTexts::add(std::string key, std::string name, std::string text) {
  const size_t group = groups_.try_emplace(std::move(key), groups_.size()).first->second;
  names_.resize(groups_.size());
  names_[group].push_back(std::move(name));
  texts_.emplace_back(group, std::move(text));
}

std::vector<std::string> SimilarTexts::printed() const {
  std::vector<std::string> all;
  std::vector<bool> is_said(names_.size());
  for (const auto& [group, text] : texts_) {
    const std::vector<std::string>& names = names_[group];
    if (names.size() <= kFewAlike) {
      all.push_back(text);
    } else if (!is_said[group]) {
      std::vector<std::string> others(names.begin() + 1, names.end());
      std::erase(others, "");
      all.push_back(text + "  the same for " + std::to_string(names.size() - 1) + " more" +
                    (others.empty() ? "" : ": " + join_some(others, kNamedAlike)) + "\n");
    }
    is_said[group] = true;
  }
  return all;
}

std::string SimilarTexts::str() const { return join(printed(), ""); }

std::string key_without(std::string text, std::string_view name) {
  for (size_t at = 0; !name.empty() && (at = text.find(name, at)) != std::string::npos; ++at) {
    text.replace(at, name.size(), 1, '\0');
  }
  return text;
}

}  // namespace galley
