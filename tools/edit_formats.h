#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/stage_edits.h"

namespace galley {

/// Reads `--format edits`: one object, or an array of such, each for one file:
///
///     {"path": P, "edits": [EDIT...]}    edits one after the other, each on the result of the last
///     {"path": P, "content": TEXT}       the whole file
///
/// EDIT is {"oldText", "newText"} or {"old_string", "new_string", "replace_all"?}, or
/// {"insert_line", "insert_text"}, or {"start_line", "end_line", "new_text", "hash"?} where `hash`
/// is the SHA-256 (8 digits or more) of those lines as they were read. `path` may be `file_path`.
///
/// Errors: those of parse_json; kInvalid, reason `edit.bad_edits`, with a JSON pointer to the
///         place.
Result<EditSet> parse_edits_json(std::string_view text, const ReadOptions& options = {});

/// JSON as models get it wrong, written as JSON: line ends and tabs inside of strings, strings in
/// single quotes, commas before a closing bracket, and one closing brace that is missing at the
/// end. A list that is not closed may lack more than its bracket: it stays as it is, unless the
/// document is complete. Nothing is closed in one that was cut off. Any other mistake remains.
[[nodiscard]] std::string mended_json(std::string_view text, DocumentEnd end);

/// The JSON of a document of tool calls (`--format calls`), alone or in a markdown fence; nothing
/// when the document is, or also holds, anything else.
[[nodiscard]] std::optional<std::string_view> calls_document(std::string_view text);

/// True for a document of tool calls as providers send them and chat templates write them, and no
/// other edit in it: `--format auto` reads it as `tool_text`.
[[nodiscard]] bool is_raw_calls(std::string_view text);

/// The outcome of staging edits for programs; its shape is docs/json/edits.schema.json.
[[nodiscard]] nlohmann::ordered_json edit_report_json(const EditOutcome& outcome);

}  // namespace galley
