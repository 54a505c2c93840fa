#pragma once

#include <stop_token>

#include "base/clock.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/policy/validator.h"

namespace galley {

/// The part of the tree that a command's result depends on.
struct VisibleInputs {
  GlobList inputs;   ///< empty: every file
  GlobList ignored;  ///< directories that persist between runs
};

/// Returns a hash of all paths of the proposed tree that `inputs` selects: kind, mode, target and
/// content. A content is hashed by its id if the proposal changes it, by its bytes if it is small,
/// else by size, inode and times on disk.
///
/// Errors: kQuota `limit.validator_inputs` for more than kMaxInputs paths; kTimeout if stopped.
inline constexpr size_t kMaxInputs = 200'000;  ///< files that a validator's result depends on
[[nodiscard]] Result<ContentId> hash_visible(const ValidatorContext& context,
                                             const VisibleInputs& visible);

}  // namespace galley
