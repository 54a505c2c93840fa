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

/// Appends the text of a node to `out`.
void append_node(std::string& out, const Node& node);

/// Reads a node. Returns false for a text that append_node() does not write.
[[nodiscard]] bool read_node(std::string_view text, Node& node);

/// Reads a number. Returns false if the text is not exactly one number.
template <std::integral T>
[[nodiscard]] bool read_number(std::string_view text, T& number, int base = 10) {
  const auto read = number_of<T>(text, base);
  if (read) number = *read;
  return read.has_value();
}

/// Splits a line at its separators. There is one more field than separators.
[[nodiscard]] std::vector<std::string_view> split_fields(std::string_view text, char separator);

}  // namespace galley
