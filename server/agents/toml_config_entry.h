#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

struct TomlNode;

/// Something of Galley's in a configuration of TOML: a table, or an element of an array of tables,
/// written as a block of its own at the end of the file.
///
/// Nothing of the rest is touched. What add() made of a text, take_away() makes back into that
/// text, byte for byte.
///
/// Errors: of both kInvalid `agents.configuration` with file, line and column for a text that is no
///         TOML, or to which a table cannot be added; kRefused `agents.foreign_entry` for a table
///         that is there and is not ours.
class TomlConfigEntry {
 public:
  /// `block` is TOML that holds the entry alone, from its header to a newline; `keys` lead to it.
  /// As an element its header says `[[…]]`.
  TomlConfigEntry(std::vector<std::string> keys, std::string block, bool is_element)
      : keys_(std::move(keys)), block_(std::move(block)), is_element_(is_element) {}

  /// Nothing stands for a file that is not there. The same text where the entry is there already.
  [[nodiscard]] Result<std::string> add(const std::optional<std::string>& text,
                                        const std::string& file) const;
  /// Nothing where add() had made the file. The same text where no such entry is there.
  [[nodiscard]] Result<std::optional<std::string>> take_away(const std::string& text,
                                                             const std::string& file) const;
  [[nodiscard]] Result<bool> is_in(const std::string& text, const std::string& file) const;

 private:
  /// The line of the entry; nothing where it is not there.
  [[nodiscard]] Result<std::optional<uint32_t>> find(const std::string& text,
                                                     const std::string& file) const;
  [[nodiscard]] std::string with_block(const std::string& text) const;

  std::vector<std::string> keys_;
  std::string block_;
  bool is_element_;
};

}  // namespace galley
