#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include <galley/proposal.h>

#include "base/text.h"

// The text of a node in the files of a stored transaction: `kind mode size content`, numbers
// decimal, the mode octal.

namespace galley {

/// Adds the text of a node.
void append_node(std::string& out, const Node& node);

/// Reads a node; false for any text that append_node did not write.
[[nodiscard]] bool read_node(std::string_view text, Node& node);

/// Reads a number that is the whole text; false for any other text.
template <std::integral T>
[[nodiscard]] bool read_number(std::string_view text, T& number, int base = 10) {
  const auto read = number_of<T>(text, base);
  if (read) number = *read;
  return read.has_value();
}

/// The fields of a line between separators; one more than there are separators.
[[nodiscard]] std::vector<std::string_view> split_fields(std::string_view text, char separator);

}  // namespace galley
