#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// One line by which a file names another, or a package.
struct ImportLine {
  std::string module;  ///< as the line has it: `os.path`, `./api`, `stdio.h`
  uint32_t line = 0;   ///< 1-based
};

/// The language of a file by its name's ending; empty for one whose imports are not known.
[[nodiscard]] std::string_view import_language(std::string_view file_name);

/// The imports of a text, line by line and without parsing the language: what stands in a comment
/// of several lines or is put together at run time is not told apart.
[[nodiscard]] std::vector<ImportLine> import_lines(std::string_view language,
                                                   std::string_view text);

}  // namespace galley
