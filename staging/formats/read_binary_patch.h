#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// What the binary patches of one document state that they make, in each direction.
struct BinaryTotals {
  uint64_t forward = 0;
  uint64_t backward = 0;
};

/// Reads what follows the line `GIT binary patch` (git's apply.c, parse_binary): a part for each
/// direction, the second of which may be missing. Returns the line after it.
///
/// Errors: kInvalid, reasons `edit.corrupt_binary`, `edit.bad_header` and, where the document ends
///         inside a part, `edit.truncated`; kQuota `limit.binary_patch`.
Result<size_t> read_binary_patch(const Lines& document, size_t at, const ReadOptions& options,
                                 FileEdit& edit, BinaryTotals& totals);

}  // namespace galley
