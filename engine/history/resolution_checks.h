#pragma once

#include "base/result.h"
#include "engine/history/rebase.h"

namespace galley {

/// A decision is about the three sides that its author has seen.
/// Errors: kConflict `resolve.changed`.
[[nodiscard]] Result<void> check_version(const Resolution& resolution,
                                         const PathConflict& conflict);

/// The error kUsage `resolve.choices` for a path whose conflict has this number of hunks.
[[nodiscard]] tl::unexpected<Error> unsuited(const RelPath& path, size_t hunks);

/// Whether a text without a last newline would run into the line after the hunk.
[[nodiscard]] bool joins_lines(const Resolution::Choice& choice, const ConflictHunk& hunk);

}  // namespace galley
