#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// Another reading of a text edit: without something that is not a part of its lines.
struct TextReading {
  std::string old_text;
  std::string new_text;
  uint64_t line = 0;  ///< the stated line, 1-based; 0: none
  const char* rule = "";
  const char* message = "";
};

/// Returns the other readings of an edit whose old text `file` does not have: without the line
/// numbers of a listing, the escapes of HTML, Roo's backslashes, or blank lines at the end.
[[nodiscard]] std::vector<TextReading> other_readings(std::string_view file, const TextEdit& edit);

}  // namespace galley
