#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/edit_set.h"

namespace galley {

/// What all binary patches of one document may state that they make, in either direction.
inline constexpr uint64_t kMaxBinaryPatchBytes = uint64_t{256} << 20U;

/// Decodes one line of git's base85 (git's base85.c): a length letter, then groups of five.
/// Errors: kInvalid, reason `edit.corrupt_binary`.
Result<std::string> decode_base85_line(std::string_view line);

/// What applying a patch takes, by what it states itself: the size that it inflates to and, of a
/// delta, the size of what that makes. Inflates a few bytes at most.
/// Errors: kQuota `limit.binary_patch`.
Result<uint64_t> stated_bytes(const BinaryPatch& patch);

/// True when the deflated data of `patch` are all there and make what it states.
[[nodiscard]] bool is_whole(const BinaryPatch& patch);

/// The bytes that a binary patch makes of `base`: an inflated literal, or a git pack delta on it.
/// Nothing is allocated for a size that the patch only states and cannot have.
/// Errors: kInvalid `edit.corrupt_binary`, kQuota `limit.binary_patch`; reason `edit.binary_base`
///         when a delta was made for a base of another size.
Result<std::string> apply_binary(const BinaryPatch& patch, std::string_view base);

}  // namespace galley
