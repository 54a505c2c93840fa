#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <galley/proposal.h>

#include "base/text.h"

// The text of a node in the files of a stored transaction: `kind mode size content`, then
// ` uid gid` if it has an owner; numbers decimal, the mode octal. The text of a name: a control
// character is DEL (0x7f) and its two hexadecimal digits, so that a name cannot end a field or a
// line.

namespace galley {

/// Appends the text of a node to `out`.
void append_node(std::string& out, const Node& node);

/// Reads a node. Returns false for a text that append_node() does not write.
[[nodiscard]] bool read_node(std::string_view text, Node& node);

/// Appends the text of a name.
void append_name(std::string& out, std::string_view name);

/// Reads a name. Returns nothing for a text that append_name() does not write.
[[nodiscard]] std::optional<std::string> read_name(std::string_view text);

/// As above, for the name of a path.
[[nodiscard]] std::optional<RelPath> read_path_name(std::string_view text);

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
