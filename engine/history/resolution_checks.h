#pragma once

#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/history/rebase.h"

namespace galley {

/// The three sides of a path.
[[nodiscard]] PathConflict sides_of(const RelPath& path, const Node& base, const Node& found,
                                    const Node& wanted);

/// A decision is about the three sides that its author has seen.
/// Errors: kConflict `resolve.changed`.
[[nodiscard]] Result<void> check_version(const Resolution& resolution,
                                         const PathConflict& conflict);

/// A path that cannot be reached, for the reason `why`, has only the side of the disk.
/// Errors: kUsage `resolve.directory`.
[[nodiscard]] Result<void> check_takes_disk(const Resolution& resolution, const RelPath& path,
                                            const std::string& why);

/// The error kUsage `resolve.choices` for a path whose conflict has this number of hunks.
[[nodiscard]] tl::unexpected<Error> unsuited(const RelPath& path, size_t hunks);

/// Returns the decision about a file that is merged by lines, with its texts as bytes of the file
/// on disk: in its encoding, and hunks with its line ends. `merge` is without a decision;
/// `sides.found_bytes` is set.
/// Errors: kUsage `resolve.choices`; kRefused `patch.encoding`, `resolve.encoding`.
[[nodiscard]] Result<Resolution> suited_resolution(const RelPath& path, Resolution given,
                                                   const FileSides& sides, const FileMerge& merge);

/// Returns a new whole text of `file` in its encoding, with its byte order mark.
/// Errors: kRefused `resolve.encoding`.
[[nodiscard]] Result<std::string> whole_text_like(const RelPath& path, std::string_view file,
                                                  std::string text);

}  // namespace galley
