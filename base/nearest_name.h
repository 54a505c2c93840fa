#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// The candidate that a mistyped name most likely meant, by edit distance (Damerau-Levenshtein,
/// optimal string alignment, case ignored), or nothing when none is near. The first of equals wins.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view name,
                                                      const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" or nothing, to end a message with.
[[nodiscard]] std::string did_you_mean(std::string_view name,
                                       const std::vector<std::string>& candidates);

}  // namespace galley
