#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/stage_edits.h"
#include "tools/operation.h"
#include "tools/tool.h"

namespace galley {

/// Parses `--format edits`: an object for one file, or an array of such objects:
///
///     {"path": P, "edits": [EDIT...]}    in order, each on the result of the one before
///     {"path": P, "content": TEXT}       the whole file
///
/// EDIT is {"oldText", "newText"} or {"old_string", "new_string", "replace_all"?}, or
/// {"insert_line", "insert_text"}, or {"start_line", "end_line", "new_text", "hash"?}. `hash` is
/// the SHA-256 (8 digits or more) of those lines as they were read. `path` may be called
/// `file_path`.
///
/// Errors: those of parse_json; kInvalid, reason `edit.bad_edits`, with a JSON pointer to the
///         place.
Result<EditSet> parse_edits_json(std::string_view text, const ReadOptions& options = {});

/// Repairs the usual mistakes of models in JSON: line ends and tabs in strings, strings in single
/// quotes, commas before a closing bracket, and one missing closing brace at the end. A list that
/// is not closed may lack more than its bracket, so it is closed only if the document is complete.
/// A document that was cut off is not closed. Other mistakes remain.
[[nodiscard]] std::string repair_json(std::string_view text, DocumentEnd end);
/// The message of the leniency `json_mended`.
inline constexpr std::string_view kJsonIsMended =
    "the JSON has line ends in strings, single quotes, commas at the end of a list or no last "
    "brace; it was read as if it had been written well";

/// The JSON of a document of tool calls (`--format calls`), alone or in a markdown fence; nullopt
/// when the document contains anything else.
[[nodiscard]] std::optional<std::string_view> calls_document(std::string_view text);

/// Whether a document has tool calls as providers send them or chat templates write them, and no
/// other edits. `--format auto` reads it as `tool_text`.
[[nodiscard]] bool is_raw_calls(std::string_view text);

/// The outcome of staging edits, as the document of docs/json/edits.schema.json.
[[nodiscard]] nlohmann::ordered_json edit_report_json(const EditOutcome& outcome);

/// The corrected edits as a document of `--format edits`; null if there are none.
[[nodiscard]] nlohmann::ordered_json corrected_edits_json(const EditOutcome& outcome);

/// Adds the arguments of a call as they fit to its error, as `correction` in the details and as
/// text. `outcome` is that of the call.
void add_corrected_call(const EditForm& form, const nlohmann::json& args,
                        const EditOutcome& outcome, ToolError& error);

/// Adds a call as it fits to the error of another one: its arguments, or the call with its tool if
/// that is another tool than the one that was called.
void add_meant_call(std::string_view called, std::string_view tool, const nlohmann::json& args,
                    ToolError& error);

/// The corrected call of an error that has corrected arguments, as `{"tool", "args"}`; null if it
/// has none.
[[nodiscard]] nlohmann::ordered_json corrected_call_json(std::string_view tool,
                                                         std::string_view call_id,
                                                         const ToolError& error);

/// Replaces the corrected arguments in an error, in its details and its text, by the call: a
/// document of calls is corrected by calls.
void correct_by_call(const nlohmann::ordered_json& call, ToolError& error);

}  // namespace galley
