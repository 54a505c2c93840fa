#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// The text form of an overlay's entries, for a transaction that outlives its process.
///
///     galley overlay 1
///     <path> TAB <before> TAB <base> TAB <now> TAB <renamed_from> TAB <copied_from>
///            [TAB <listing>]
///     end <SHA-256 of all lines above>
///
/// A node is `kind mode size content`, a base is `inode device mtime ctime seen`; numbers are
/// decimal, the mode octal. No RelPath holds a tab or a newline, so nothing needs quoting.
[[nodiscard]] std::string encode_entries(const Overlay::Entries& entries);

/// Reads it back.
/// Errors: kInvalid, reason `stage.damaged`, for any text that encode_entries did not write.
Result<Overlay::Entries> decode_entries(std::string_view text);

}  // namespace galley
