#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// The sums of the sizes that the binary patches of one document state, for each direction.
struct BinaryTotals {
  uint64_t forward = 0;
  uint64_t backward = 0;
};

/// Reads the lines after `GIT binary patch` (git's apply.c, parse_binary). There is one part for
/// each direction; the second part may be missing. Returns the line after the parts.
///
/// Errors: kInvalid, reasons `edit.corrupt_binary`, `edit.bad_header` and, if the document ends
///         inside a part, `edit.truncated`; kQuota `limit.binary_patch`.
Result<size_t> read_binary_patch(const Lines& document, size_t at, const ReadOptions& options,
                                 FileEdit& edit, BinaryTotals& totals);

}  // namespace galley
