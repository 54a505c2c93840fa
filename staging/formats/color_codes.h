#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// Returns `text` without the color codes (SGR sequences, ECMA-48) of `git diff --color=always` or
/// `diff --color=always`; nullopt when it is not such a diff.
///
/// In a colored diff, all headers are colored. Only the codes that those programs write are
/// removed: around a line, after its sign, around white space at its end. So escape sequences in
/// the files themselves are never touched, in colored diffs or plain ones.
///
/// Errors: kInvalid, reason `edit.color_codes`, when codes of the diff cannot be told from bytes of
///         a file.
Result<std::optional<std::string>> without_color_codes(std::string_view text);

}  // namespace galley
