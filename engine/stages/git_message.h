#pragma once

#include <string>

#include "base/result.h"
#include "staging/fs/directory.h"

// The message of the commit of git that a tool of a stored transaction asked for: the file
// `git-commit` of its stage.

namespace galley {

/// The longest message that is kept.
inline constexpr size_t kMaxGitMessageBytes = size_t{64} << 10U;

/// Keeps it; the last one counts.
[[nodiscard]] Result<void> keep_git_message(const WritableDirectory& stage,
                                            const std::string& message);

/// Empty when none was asked for.
[[nodiscard]] Result<std::string> kept_git_message(const Directory& stage);

}  // namespace galley
