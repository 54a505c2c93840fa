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
///            [TAB <listing> [TAB <written>]]
///     end <SHA-256 of all lines above>
///
/// A node is `kind mode size content`, a base is `inode device mtime ctime seen`; numbers are
/// decimal, the mode octal. No RelPath holds a tab or a newline, so nothing needs quoting.
[[nodiscard]] std::string encode_entries(const Overlay::Entries& entries);

/// Reads the text form.
/// Errors: kInvalid, reason `stage.damaged`, for any text that encode_entries did not write.
Result<Overlay::Entries> decode_entries(std::string_view text);

/// A text form that grows: encode_entries(), then any number of blocks, each with the differences
/// from the text before it. A save thus writes only the changes since the last save, however much
/// is staged.
///
///     <lines as above, of paths that are new or have changed>
///     <path> TAB                      of a path whose entry was removed
///     end <SHA-256 of the last line before the block, and the lines of the block>
struct AppendableEntries {
  Overlay::Entries entries;
  size_t whole_bytes = 0;  ///< without the blocks
  size_t bytes = 0;        ///< with all complete blocks; the rest is ignored
  std::string last_line;   ///< with its line feed
};
/// Reads the growing text form. It ignores a last block that was cut short: that save did not
/// finish.
/// Errors: as decode_entries().
Result<AppendableEntries> decode_appendable_entries(std::string_view text);
/// The text form without blocks, as decode_appendable_entries() would read it from `text`.
[[nodiscard]] AppendableEntries appendable_entries(Overlay::Entries entries, std::string_view text);
/// The block that records the difference between `known` and `now`; empty if there is none. Updates
/// `known`.
[[nodiscard]] std::string encode_more_entries(AppendableEntries& known,
                                              const Overlay::Entries& now);

}  // namespace galley
