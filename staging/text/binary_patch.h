#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/text/edit.h"

namespace galley {

/// Decodes one line of git's base85 (git's base85.c): a length letter, then groups of five.
/// Errors: kInvalid, reason `edit.corrupt_binary`.
Result<std::string> decode_base85_line(std::string_view line);

/// The bytes that a binary patch makes of `base`: an inflated literal, or a git pack delta on it.
/// Errors: kInvalid `edit.corrupt_binary`, kQuota `limit.file_size`; reason `edit.binary_base` when
///         a delta was made for a base of another size.
Result<std::string> apply_binary(const BinaryPatch& patch, std::string_view base);

}  // namespace galley
