#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/file_plan.h"

namespace galley {

/// The path that an edit names, which may be absolute below `root`; refuses protected paths.
Result<RelPath> editable_path(const std::string& text, const std::string& root);

/// Refuses a path that is not a file or link, and a patch for a file on a link or the reverse.
/// `is_reversed`: the whole document is reversed.
Result<void> check_kind(const FileEdit& edit, const RelPath& path, const PlannedFile& file,
                        bool is_reversed);

/// A deletion without a body must have the id of the current content, if it has one.
Result<void> check_blob(const FileEdit& edit, const RelPath& path, const std::string& content);

/// The file with the same last names one directory further down or up, if there is only one:
/// `src/app/main.py` for `app/main.py`. Lists the root and looks up one name in each of its
/// directories.
[[nodiscard]] std::optional<RelPath> same_name_nearby(const Directory& workspace,
                                                      const RelPath& path);

/// Refuses letters in UTF-8 in a file that uses another encoding.
Result<void> check_encoding(const RelPath& path, std::string_view file, std::string_view added);

/// The Error of an edit that was not placed because StageOptions::is_over returned true.
[[nodiscard]] Error interrupted(const std::string& path);

/// ": this patch seems to be applied already", or reversed.
[[nodiscard]] std::string already_applied_note(bool is_reversed);

}  // namespace galley
