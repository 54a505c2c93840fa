#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// Maximum sum of the sizes that all binary patches of one document state, for each direction.
inline constexpr uint64_t kMaxBinaryPatchBytes = uint64_t{256} << 20U;

/// Decodes one line of git's base85 (git's base85.c): a length letter, then groups of five.
/// Errors: kInvalid, reason `edit.corrupt_binary`.
Result<std::string> decode_base85_line(std::string_view line);

/// Returns the bytes of memory that the patch claims to need: its inflated size and, for a delta,
/// also the size of the result. Inflates only the first bytes of a delta.
/// Errors: kQuota `limit.binary_patch`.
Result<uint64_t> stated_bytes(const BinaryPatch& patch);

/// True if the deflated data of `patch` is complete and inflates to the stated size.
[[nodiscard]] bool is_whole(const BinaryPatch& patch);

/// Applies a binary patch to `base`. The patch is a deflated literal or a deflated git pack delta.
/// No memory is allocated for a stated size that the data cannot have.
/// Errors: kInvalid `edit.corrupt_binary`, or `edit.binary_base` if a delta was made for a base of
///         another size; kQuota `limit.binary_patch`.
Result<std::string> apply_binary(const BinaryPatch& patch, std::string_view base);

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
