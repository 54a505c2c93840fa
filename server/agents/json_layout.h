#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// A half-open range of bytes.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;
};

/// One member of an object, or one element of an array.
struct JsonItem {
  std::string key;   ///< as it stands between its quotes; empty for an element
  size_t begin = 0;  ///< of the key, or of the element
  TextRange value;
};

/// The text with spaces, byte for byte, in place of what JSON as it is written for people has more:
/// a byte order mark, `//` and `/* */` comments, commas before a closing bracket.
[[nodiscard]] std::string plain_json(std::string_view text);

/// The items of the object or array that begins at `at`, in their order. `json` is well-formed JSON
/// as plain_json() makes it.
[[nodiscard]] std::vector<JsonItem> items_of(std::string_view json, size_t at);
/// Where the value that begins at `at` ends.
[[nodiscard]] size_t end_of_value(std::string_view json, size_t at);

}  // namespace galley
