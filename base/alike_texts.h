#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

/// What is said of many things, in order. Texts that are the same but for the name of the thing are
/// said once, with how many there are and the names of some.
///
/// Invariant: of three or more alike only the first is printed; one or two are printed as they are.
class AlikeTexts {
 public:
  /// `text` ends with a newline and is about `name`. Texts are alike when their keys are equal: see
  /// key_without().
  void add(std::string key, std::string name, std::string text);

  /// One for each that is printed.
  [[nodiscard]] std::vector<std::string> said() const;
  /// All of them in one.
  [[nodiscard]] std::string str() const;

 private:
  std::vector<std::pair<size_t, std::string>> texts_;  ///< each with its group
  std::map<std::string, size_t> groups_;               ///< by key
  std::vector<std::vector<std::string>> names_;        ///< of each group
};

/// `text` without the places where `name` is in it.
[[nodiscard]] std::string key_without(std::string text, std::string_view name);

}  // namespace galley
