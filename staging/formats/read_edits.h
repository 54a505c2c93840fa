#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/edit_set.h"

namespace galley {

/// Reads a unified diff with or without git's extended headers (gitdiff documentation, "Generating
/// patch text with -p"; POSIX diff -u), among prose, mail headers and markdown fences.
///
/// Errors: kInvalid with reason `edit.not_a_patch`, `edit.corrupt_hunk`, `edit.truncated`,
///         `edit.unread`, `edit.bad_header`, `edit.unsupported_diff`, `edit.corrupt_binary`,
///         `edit.color_codes`; kQuota `limit.patch_size`, `limit.patch_files`, `limit.patch_hunks`,
///         `limit.binary_patch`; those of with_options(). The message names the line of the
///         document.
Result<EditSet> read_unified(std::string text, const ReadOptions& options);

/// Reads V4A, the format of OpenAI's apply_patch tool.
/// Errors: kInvalid with reason `edit.not_a_patch`, `edit.corrupt_hunk`, `edit.truncated`; kQuota
///         `limit.patch_size`, `limit.patch_files`; those of with_options().
Result<EditSet> read_apply_patch(std::string text, const ReadOptions& options);

/// Reads Aider's SEARCH/REPLACE blocks.
/// Errors: kInvalid with reason `edit.not_a_patch`, `edit.corrupt_hunk`, `edit.truncated`,
///         `edit.no_file_name`; kQuota `limit.patch_size`, `limit.patch_hunks`; those of
///         with_options().
Result<EditSet> read_search_replace(std::string text, const ReadOptions& options);

/// Reads the JSON documents of an answer (`--format edits`). The implementation is in tools/.
using JsonReader = Result<EditSet> (*)(std::string_view text, const ReadOptions& options);

/// Reads an answer: edits in any of these dialects, in any order, among prose. It reads all edits
/// or refuses the answer. Text that looks like an edit but cannot be read is an error that names
/// its lines. An edit in another dialect than `format` is an error, too, unless `format` is kAuto.
///
/// Each part (FileEdit::part) must be staged on the result of the parts before it.
/// Errors: those of the readers; kInvalid `edit.unread`; kQuota `limit.answer_parts`. Without
///         `read_json`, a JSON document is the error `edit.not_a_patch`.
Result<EditSet> read_edits(std::string text, EditFormat format, const ReadOptions& options,
                           JsonReader read_json = nullptr);

/// Applies the options to the set. First -R reverses it: creations become deletions, and so on, and
/// the last file comes first. Then --directory, --include and --exclude are applied to the paths.
/// Errors: kInvalid, reason `edit.not_reversible`, if the document does not contain the pre-image.
Result<EditSet> with_options(EditSet set, const ReadOptions& options);

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

/// Maximum number of bytes that mail_subject returns. Further subjects are omitted.
inline constexpr size_t kMaxSubjectBytes = 1000;

/// Returns the subjects of the mails in a document (`git format-patch`, RFC 5322). They have the
/// form of commit messages by `git am`: folded lines are joined, encoded words (RFC 2047, UTF-8)
/// are decoded, `Re:` and `[PATCH n/m]` are removed. Several subjects are joined by "; ". Empty if
/// the document is not a mail.
[[nodiscard]] std::string mail_subject(std::string_view document);

}  // namespace galley
