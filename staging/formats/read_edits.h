#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/edit_set.h"

namespace galley {

/// Reads a unified diff with or without git's extended headers (gitdiff documentation, "Generating
/// patch text with -p"; POSIX diff -u), among prose, mail headers and markdown fences.
///
/// Errors: kInvalid with reason `edit.not_a_patch`, `edit.corrupt_hunk`, `edit.truncated`,
///         `edit.no_file_name`, `edit.bad_header`, `edit.unsupported_diff`, `edit.corrupt_binary`;
///         kQuota `limit.patch_size`. The message names the line of the document.
Result<EditSet> read_unified(std::string text, const ReadOptions& options);

/// Reads V4A, the format of OpenAI's apply_patch tool.
/// Errors: kInvalid with reason `edit.not_a_patch`, `edit.bad_header`, `edit.corrupt_hunk`.
Result<EditSet> read_apply_patch(std::string text, const ReadOptions& options);

/// Reads Aider's SEARCH/REPLACE blocks.
/// Errors: as read_apply_patch, and `edit.no_file_name`, `edit.truncated`.
Result<EditSet> read_search_replace(std::string text, const ReadOptions& options);

/// Reads the JSON documents of an answer (`--format edits`); implemented in tools/.
using JsonReader = Result<EditSet> (*)(std::string_view text, const ReadOptions& options);

/// Reads an answer: edits of any of these dialects, in any order, among prose. It reads all of the
/// answer or refuses it. Text that looks like an edit but cannot be read is an error that names its
/// lines. So is a dialect other than `format`, unless `format` is kAuto.
///
/// Each part (FileEdit::part) must be staged on the result of the parts before it.
/// Errors: those of the readers; kInvalid `edit.unread`; kQuota `limit.answer_parts`. Without
///         `read_json` JSON documents are `edit.not_a_patch`.
Result<EditSet> read_edits(std::string text, EditFormat format, const ReadOptions& options,
                           JsonReader read_json = nullptr);

/// The set after the options: reversed (-R: creations become deletions, and so on, last file
/// first), then with --directory, --include and --exclude applied to its paths.
/// Errors: kInvalid, reason `edit.not_reversible`, when the pre-image is not in the document.
Result<EditSet> with_options(EditSet set, const ReadOptions& options);

}  // namespace galley
