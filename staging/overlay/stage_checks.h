#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/file_plan.h"

namespace galley {

/// The path that an edit names, which may be absolute below `root`; refuses what no edit may touch.
Result<RelPath> editable_path(const std::string& text, const std::string& root);

/// Refuses what is no file or link, and a patch for the one on the other. `is_reversed`: the whole
/// document is.
Result<void> check_kind(const FileEdit& edit, const RelPath& path, const PlannedFile& file,
                        bool is_reversed);

/// A deletion without a body must name the content that it means, when it names one.
Result<void> check_blob(const FileEdit& edit, const RelPath& path, const std::string& content);

/// The file with the same last names one directory further down or up, where it is the only one:
/// `src/app/main.py` for `app/main.py`. Lists the root and asks for one name in each of its
/// directories.
[[nodiscard]] std::optional<RelPath> same_name_nearby(const Directory& workspace,
                                                      const RelPath& path);

/// Refuses letters in UTF-8 for a file whose letters are in another encoding.
Result<void> check_encoding(const RelPath& path, std::string_view file, std::string_view added);

/// Why an edit was not placed any more: StageOptions::is_over said so.
[[nodiscard]] Error interrupted(const std::string& path);

/// ": this patch seems to be applied already", or reversed.
[[nodiscard]] std::string seems_done(bool is_reversed);

}  // namespace galley
