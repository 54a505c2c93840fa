#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

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

/// Something of Galley's in a configuration of JSON, comments and last commas allowed: the member
/// at the end of `keys`, or an element of the list there.
///
/// Only the bytes of the entry, and of the objects around it that are missing, are added; all else
/// stays as it is. What add() made of a text, take_away() makes back into that text, byte for byte.
///
/// Errors: of both kInvalid `agents.configuration` with file, line and column for a text that is no
///         JSON object; kRefused `agents.foreign_entry` for an entry that is there and is not ours.
class JsonConfigEntry {
 public:
  JsonConfigEntry(std::vector<std::string> keys, nlohmann::ordered_json value, bool is_element)
      : keys_(std::move(keys)), value_(std::move(value)), is_element_(is_element) {}

  /// Nothing stands for a file that is not there. The same text where the entry is there already.
  [[nodiscard]] Result<std::string> add(const std::optional<std::string>& text,
                                        const std::string& file) const;
  /// Nothing where add() had made the file. The same text where no such entry is there.
  [[nodiscard]] Result<std::optional<std::string>> take_away(const std::string& text,
                                                             const std::string& file) const;
  [[nodiscard]] Result<bool> is_in(const std::string& text, const std::string& file) const;

 private:
  struct Place;
  struct Found;
  [[nodiscard]] Result<Found> find(const std::string& text, const std::string& file) const;
  [[nodiscard]] bool is_ours(std::string_view plain, const TextRange& value) const;
  [[nodiscard]] std::string addition(const std::string& text, const Found& found) const;
  [[nodiscard]] std::string spread(size_t known, const std::string& indent,
                                   const std::string& unit) const;
  [[nodiscard]] std::string compact(size_t known) const;

  std::vector<std::string> keys_;
  nlohmann::ordered_json value_;
  bool is_element_;
};

}  // namespace galley
