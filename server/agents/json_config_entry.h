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
  std::string key;   ///< as written between its quotes; empty for an element
  size_t begin = 0;  ///< of the key, or of the element
  TextRange value;
};

/// Replaces every byte of common extensions of JSON by a space: a byte order mark, `//` and `/* */`
/// comments, commas before a closing bracket.
[[nodiscard]] std::string plain_json(std::string_view text);

/// The items of the object or array that begins at `at`, in order. `json` must be well-formed, as
/// plain_json() returns it.
[[nodiscard]] std::vector<JsonItem> items_of(std::string_view json, size_t at);
/// The end of the value that begins at `at`.
[[nodiscard]] size_t end_of_value(std::string_view json, size_t at);

/// The part of a hook's command that names Galley and the agent, with any options; empty for other
/// texts. Two hooks of one event that have it would judge each call twice.
[[nodiscard]] std::string hook_of_galley(std::string_view text);

/// An entry of Galley in a JSON configuration, with comments and trailing commas allowed: the
/// member at the end of `keys`, or an element of that list.
///
/// Only the bytes of the entry, and of missing objects around it, are added; everything else stays
/// unchanged. remove_entry() restores the exact text that add() got, byte for byte.
///
/// Errors: both functions return kInvalid `agents.configuration` with file, line and column for a
///         text that is not a JSON object; kRefused `agents.foreign_entry` for an existing entry
///         that is not ours.
class JsonConfigEntry {
 public:
  JsonConfigEntry(std::vector<std::string> keys, nlohmann::ordered_json value, bool is_element)
      : keys_(std::move(keys)), value_(std::move(value)), is_element_(is_element) {}

  /// Adds the entry; nullopt means a missing file. Returns the same text if the entry exists.
  [[nodiscard]] Result<std::string> add(const std::optional<std::string>& text,
                                        const std::string& file) const;
  /// Removes the entry. Returns nullopt if add() had made the file, and the same text if the entry
  /// does not exist.
  [[nodiscard]] Result<std::optional<std::string>> remove_entry(const std::string& text,
                                                                const std::string& file) const;
  [[nodiscard]] Result<bool> is_installed_in(const std::string& text,
                                             const std::string& file) const;

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
