#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// Returns `text` without the color codes (SGR sequences, ECMA-48) of `git diff --color=always` or
/// `diff --color=always`; nullopt if it is not such a diff.
///
/// A diff counts as colored only if the headers of all files and hunks are colored. Only the codes
/// that those programs write are removed: around a line, after its sign, and around white space at
/// its end. So escape sequences in the files themselves always stay.
///
/// Errors: kInvalid, reason `edit.color_codes`, if codes of the diff cannot be distinguished from
///         bytes of a file.
Result<std::optional<std::string>> without_color_codes(std::string_view text);

}  // namespace galley
