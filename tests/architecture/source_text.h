#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace galley::architecture {

/// One `#include` line.
struct Include {
  std::string header;
  bool is_angled = false;
  int line = 0;  ///< 1-based
};

/// A function with a body, as far as a lexer can find it.
struct FunctionExtent {
  std::string head;  ///< text before the opening brace
  int first_line = 0;
  int last_line = 0;
};

/// Returns the text with comments, string literals and character literals blanked out. Line breaks
/// stay.
[[nodiscard]] std::string without_comments_and_literals(std::string_view source);

/// Returns every include of a source text.
[[nodiscard]] std::vector<Include> includes_of(std::string_view source);

/// Returns every function body at namespace or class scope. A lambda counts as part of its
/// function.
[[nodiscard]] std::vector<FunctionExtent> functions_of(std::string_view source);

[[nodiscard]] int line_count(std::string_view source);

}  // namespace galley::architecture
