#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/architecture/rules.h"

namespace galley::architecture {

/// Returns the rooms in the drawing of docs/ARCHITECTURE.md, in its order: highest first.
[[nodiscard]] std::vector<std::string> rooms_in_drawing(std::string_view architecture_page);

/// Returns the table of doors of the page: each header, with the places that may include it.
[[nodiscard]] std::map<std::string, std::set<std::string>> doors_in_page(
    std::string_view architecture_page);

/// Returns the header that a source belongs to: `a/x.h` for `a/x.cc`, else the longest `a/x.h` for
/// `a/x_more.cc`. The result is empty if `headers` has no such header.
[[nodiscard]] std::string header_of_source(std::string_view source_path,
                                           const std::set<std::string>& headers);

inline constexpr size_t kMaxCommentColumns = 100;

/// Returns contract comments in the wrong form and comments that are too wide.
/// The form of a `///` comment:
///
///     /// Prose.
///     ///
///     ///     a drawing, between empty lines
///     ///
///     /// Invariant: a paragraph, whose next lines
///     ///            are indented.
///     /// Errors: the same.
[[nodiscard]] Violations badly_laid_out_comments(std::string_view path, std::string_view source);

}  // namespace galley::architecture
