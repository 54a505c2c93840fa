#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// `text` as the diff was before `git diff --color=always` or `diff --color=always` put color codes
/// (SGR sequences, ECMA-48) into it; nothing when it is not such a diff.
///
/// Only a diff whose headers are all colored is one. There, exactly the codes go that those
/// programs write: around a line, behind its sign, around white space at its end. So the bytes of
/// files that hold escape sequences themselves are never touched, in colored diffs or plain ones.
///
/// Errors: kInvalid, reason `edit.color_codes`, where codes of the diff cannot be told from bytes
///         of a file.
Result<std::optional<std::string>> without_color_codes(std::string_view text);

}  // namespace galley
