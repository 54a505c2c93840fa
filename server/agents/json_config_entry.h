#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/agents/json_layout.h"

namespace galley {

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
