#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

/// A list of texts about many things, in order. Texts that differ only in the name of the thing are
/// printed once, with their number and some of the names.
///
/// Invariant: of three or more alike texts only the first is printed; one or two are printed as
///            they are.
class SimilarTexts {
 public:
  /// `text` must end with a newline and be about `name`. Texts are alike when their keys are equal:
  /// see key_without().
  void add(std::string key, std::string name, std::string text);

  /// The printed texts.
  [[nodiscard]] std::vector<std::string> printed() const;
  /// The printed texts as one.
  [[nodiscard]] std::string str() const;

 private:
  std::vector<std::pair<size_t, std::string>> texts_;  ///< each with its group
  std::map<std::string, size_t> groups_;               ///< by key
  std::vector<std::vector<std::string>> names_;        ///< of each group
};

/// `text` with every occurrence of `name` replaced by a zero byte.
[[nodiscard]] std::string key_without(std::string text, std::string_view name);

}  // namespace galley
