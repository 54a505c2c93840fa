#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/architecture/rules.h"

namespace galley::architecture {

/// The rooms that the drawing of docs/ARCHITECTURE.md lists, in its order, highest first.
[[nodiscard]] std::vector<std::string> rooms_in_drawing(std::string_view architecture_page);

/// The table of doors of the page: each row's headers and the places that may include them.
[[nodiscard]] std::map<std::string, std::set<std::string>> doors_in_page(
    std::string_view architecture_page);

/// The header that a source belongs to: `a/x.h` of `a/x.cc`, else the longest `a/x.h` of
/// `a/x_more.cc`; empty when `headers` has none.
[[nodiscard]] std::string header_of_source(std::string_view source_path,
                                           const std::set<std::string>& headers);

inline constexpr size_t kMaxCommentColumns = 100;

/// Contracts that lost their form, and comments that are too wide. The form of a `///` comment:
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
