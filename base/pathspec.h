#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// Whether what a person typed names this path: the path itself, a directory above it, or a pattern
/// of which `*` and `?` also match `/`. A path that really has `*` or `[` in its name is found by
/// that name. Source: gitglossary(7), "pathspec".
[[nodiscard]] bool pathspec_names(std::string_view pathspec, std::string_view path);

/// The path, or a directory above one, that a pathspec which names none of them most likely meant.
[[nodiscard]] std::optional<std::string> nearest_pathspec(std::string_view pathspec,
                                                          const std::vector<std::string>& paths);

}  // namespace galley
