#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/file_plan.h"

namespace galley {

/// Parses the path that an edit names. It may be absolute below `root`. Refuses protected paths.
Result<RelPath> editable_path(const std::string& text, const std::string& root);

/// Refuses a path that is not a file or a link, an edit of a file if the path is a link, and the
/// reverse. `is_reversed`: the whole document is reversed.
Result<void> check_kind(const FileEdit& edit, const RelPath& path, const PlannedFile& file,
                        bool is_reversed);

/// Refuses an edit without hunks whose index line names another content than the current one.
Result<void> check_blob(const FileEdit& edit, const RelPath& path, const std::string& content);

/// Finds the file whose path has one directory more or less at its start, if there is only one:
/// `src/app/main.py` for `app/main.py`. Lists the root, and looks up one path in each of its
/// directories.
[[nodiscard]] std::optional<RelPath> same_name_nearby(const Directory& workspace,
                                                      const RelPath& path);

/// Finds the file with the same name, anywhere, that shares more folders above it with `path` than
/// any other: `src/app/main.py` for `main.py` or `source/app/main.py`. Hidden folders do not count.
/// Nothing if the tree is large, because another file could be as near.
[[nodiscard]] std::optional<RelPath> same_name_elsewhere(const Directory& workspace,
                                                         const RelPath& path);

/// Finds the file in the same folder whose name differs only in case, or by a misspelling. Lists
/// that folder.
[[nodiscard]] std::optional<RelPath> nearly_same_name(const Directory& workspace,
                                                      const RelPath& path);

/// Names the file that an absolute path of another root probably means in the error `path.outside`:
/// the only one of same_name_elsewhere(). Returns it; nothing for another error, or for a file that
/// may not be read.
[[nodiscard]] std::optional<RelPath> name_file_inside(
    const Directory& workspace, const std::function<bool(const RelPath&)>& may_read,
    Error& outside);

/// True if most lines with a letter or digit of each text are lines of the other.
[[nodiscard]] bool has_most_lines(std::string_view one, std::string_view other);

/// Refuses to add letters in UTF-8 to a file that uses another encoding.
Result<void> check_encoding(const RelPath& path, std::string_view file, std::string_view added);

/// The Error for an edit that was not placed because StageOptions::is_over returned true.
[[nodiscard]] Error interrupted(const std::string& path);

/// Returns ": this patch seems to be applied already", or "reversed".
[[nodiscard]] std::string already_applied_note(bool is_reversed);

}  // namespace galley
