#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// One line in which a file names another file or a package.
struct ImportLine {
  std::string module;  ///< as in the line: `os.path`, `./api`, `stdio.h`
  uint32_t line = 0;   ///< 1-based
};

/// The language of a file, by the extension of its name; empty for a language without import rules.
[[nodiscard]] std::string_view import_language(std::string_view file_name);

/// The imports of a text, found line by line without parsing the language. It also finds lines in
/// multi-line comments, and misses names that are built at run time.
[[nodiscard]] std::vector<ImportLine> import_lines(std::string_view language,
                                                   std::string_view text);

}  // namespace galley
