#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

struct TomlEntry;

/// One value of a TOML document with its place. It does not depend on the TOML library.
struct TomlNode {
  enum class Kind : uint8_t { kTable, kArray, kString, kInteger, kFloat, kBoolean, kTime };

  Kind kind = Kind::kTable;
  std::string text;       ///< of kString
  int64_t integer = 0;    ///< of kInteger
  double number = 0;      ///< of kFloat
  bool flag = false;      ///< of kBoolean
  uint32_t line = 0;      ///< 1-based, where the value begins
  uint32_t column = 0;    ///< 1-based, in characters
  uint32_t key_line = 0;  ///< the line of its key; 0 for elements and the document
  uint32_t key_column = 0;
  std::vector<TomlNode> elements;  ///< of kArray
  std::vector<TomlEntry> entries;  ///< of kTable, sorted by key

  [[nodiscard]] const TomlNode* find(std::string_view key) const;
  /// Returns "an integer", "a table", …, for messages.
  [[nodiscard]] std::string_view kind_name() const;
};

/// One key of a table with its value.
struct TomlEntry {
  std::string key;
  TomlNode value;
};

/// The maximum depth of key parts, arrays and tables: deeper documents are refused before parsing.
inline constexpr size_t kMaxTomlDepth = 128;

/// Why and where a document is not TOML.
struct TomlProblem {
  uint32_t line = 0;    ///< 1-based; 0: the parser does not know
  uint32_t column = 0;  ///< 1-based, in characters
  std::string text;     ///< one phrase
};

/// Returns the first problem, or nullopt if the text is TOML 1.0.
[[nodiscard]] std::optional<TomlProblem> find_toml_problem(std::string_view text);

/// Parses TOML 1.0 (toml++ 3.3).
/// Errors: kInvalid `config.syntax`, with a message `FILE:LINE:COLUMN: …`.
[[nodiscard]] Result<TomlNode> parse_toml(std::string_view text, std::string_view file);

/// Returns a text as a TOML basic string in printable ASCII. TOML is UTF-8, so every text of a
/// configuration has such a form.
[[nodiscard]] std::string toml_quoted(std::string_view text);

/// Returns `{"NAME" = "value", …}` in the same form.
[[nodiscard]] std::string toml_inline_table(const std::map<std::string, std::string>& texts);

}  // namespace galley
