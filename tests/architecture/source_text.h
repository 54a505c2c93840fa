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

/// A function with a body, as far as a lexer can tell.
struct FunctionExtent {
  std::string head;  ///< text before the opening brace
  int first_line = 0;
  int last_line = 0;
};

/// The text with comments, string and character literals blanked out; line breaks stay.
[[nodiscard]] std::string without_comments_and_literals(std::string_view source);

/// Every include of a source text.
[[nodiscard]] std::vector<Include> includes_of(std::string_view source);

/// Every function body at namespace or class scope; lambdas count as part of their function.
[[nodiscard]] std::vector<FunctionExtent> functions_of(std::string_view source);

/// Number of lines.
[[nodiscard]] int line_count(std::string_view source);

}  // namespace galley::architecture
