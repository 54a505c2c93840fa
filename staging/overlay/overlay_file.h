#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// Returns the text form of an overlay's entries, for a stored transaction.
///
///     galley overlay 1
///     <path> TAB <before> TAB <base> TAB <now> TAB <renamed_from> TAB <copied_from>
///            [TAB <listing> [TAB <written>]]
///     end <SHA-256 of all lines above>
///
/// A node is `kind mode size content`, a base is `inode device mtime ctime seen`. Numbers are
/// decimal, the mode is octal. append_name() writes the paths.
[[nodiscard]] std::string encode_entries(const Overlay::Entries& entries);

/// Reads the text form.
/// Errors: kInvalid, reason `stage.damaged`, for a text that encode_entries() does not write.
Result<Overlay::Entries> decode_entries(std::string_view text);

/// The entries of a text form that grows: the text of encode_entries(), then blocks, each with the
/// differences from the text before it. So a save writes only the changes since the last save.
///
///     <lines as above, of paths that are new or have changed>
///     <path> TAB                      of a path whose entry was removed
///     end <SHA-256 of the last line before the block, and the lines of the block>
struct AppendableEntries {
  Overlay::Entries entries;
  size_t whole_bytes = 0;  ///< of the text without blocks
  size_t bytes = 0;        ///< of the text with all complete blocks
  std::string last_line;   ///< with its line feed
};
/// Reads the growing text form. Ignores an incomplete last block, whose save did not finish.
/// Errors: as decode_entries().
Result<AppendableEntries> decode_appendable_entries(std::string_view text);
/// The same value as decode_appendable_entries() returns for `text`, which is the text form of
/// `entries` without blocks.
[[nodiscard]] AppendableEntries appendable_entries(Overlay::Entries entries, std::string_view text);
/// Returns the block with the differences between `known` and `now`; empty if there are none.
/// Updates `known`.
[[nodiscard]] std::string encode_more_entries(AppendableEntries& known,
                                              const Overlay::Entries& now);

}  // namespace galley
