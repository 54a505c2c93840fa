#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace galley {

struct TomlNode;

/// An entry of Galley in a TOML configuration: a table, or an element of an array of tables,
/// written as a separate block at the end of the file.
///
/// The rest is not changed. remove_entry() restores the exact text that add() got, byte for byte.
///
/// Errors: both functions return kInvalid `agents.configuration` with file, line and column for a
///         text that is not TOML, or to which a table cannot be added; kRefused
///         `agents.foreign_entry` for an existing table that is not ours.
class TomlConfigEntry {
 public:
  /// `block` is TOML with only the entry, from its header to a newline; `keys` is its path. For an
  /// element its header is `[[…]]`.
  TomlConfigEntry(std::vector<std::string> keys, std::string block, bool is_element)
      : keys_(std::move(keys)), block_(std::move(block)), is_element_(is_element) {}

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
  /// The line of the entry; nullopt when it does not exist.
  [[nodiscard]] Result<std::optional<uint32_t>> find(const std::string& text,
                                                     const std::string& file) const;
  [[nodiscard]] std::string with_block(const std::string& text) const;

  std::vector<std::string> keys_;
  std::string block_;
  bool is_element_;
};

}  // namespace galley
