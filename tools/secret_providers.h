#pragma once

#include <galley/tool.h>

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// The secrets of a file: a line `NAME=value` each. Empty lines and lines that begin with `#` say
/// nothing; a value is taken as it stands, to the end of its line.
/// Errors: kInvalid `secret.file_malformed`, with the line's number and never its text.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_secrets(std::string_view text);

/// The bytes of a file of secrets, and the secrets in it.
inline constexpr size_t kMaxSecretFileBytes = size_t{1} << 20U;

}  // namespace galley
