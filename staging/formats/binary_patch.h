#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/edit_set.h"

namespace galley {

/// The most bytes that all binary patches of one document may state, in either direction.
inline constexpr uint64_t kMaxBinaryPatchBytes = uint64_t{256} << 20U;

/// Decodes one line of git's base85 (git's base85.c): a length letter, then groups of five.
/// Errors: kInvalid, reason `edit.corrupt_binary`.
Result<std::string> decode_base85_line(std::string_view line);

/// The memory for applying a patch, by its own statement: the size that it inflates to and, for a
/// delta, the size of the result. Inflates a few bytes at most.
/// Errors: kQuota `limit.binary_patch`.
Result<uint64_t> stated_bytes(const BinaryPatch& patch);

/// True when the deflated data of `patch` are complete and have the stated size.
[[nodiscard]] bool is_whole(const BinaryPatch& patch);

/// The result of a binary patch on `base`: an inflated literal, or a git pack delta. Nothing is
/// allocated for a stated size that the data cannot have.
/// Errors: kInvalid `edit.corrupt_binary`, kQuota `limit.binary_patch`; reason `edit.binary_base`
///         when a delta was made for a base of another size.
Result<std::string> apply_binary(const BinaryPatch& patch, std::string_view base);

}  // namespace galley
