#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/arguments.h"
#include "engine/commit/outcome.h"
#include "engine/policy/finding.h"
#include "engine/policy/gate.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// The JSON documents of `--json`. Each has a schema in docs/json/, which tests check. Bytes that
/// are not UTF-8 become U+FFFD.
using Json = nlohmann::ordered_json;

[[nodiscard]] Json error_document(const Error& error);
[[nodiscard]] Json usage_document(std::string_view message);
[[nodiscard]] Json node_json(const Node& node);
[[nodiscard]] Json change_json(const Change& change);
[[nodiscard]] Json changes_json(const ChangeSet& changes);
[[nodiscard]] Json paths_json(const std::vector<RelPath>& paths);
[[nodiscard]] Json finding_json(const Finding& finding);
[[nodiscard]] Json verdict_json(const Verdict& verdict);
[[nodiscard]] Json receipt_json(const Receipt& receipt);
[[nodiscard]] Json hunks_json(const std::vector<ConflictHunk>& hunks);
Json conflict_json(const Conflict& conflict);

/// Adds `diff` and `diff_is_exact` to a document. The latter is false if bytes had to be replaced.
void add_diff(Json& document, const std::string& diff);

/// Returns the text of a document, with a newline at its end. With `is_ascii`, other characters are
/// escaped as `\u202e`. If a text in it is not UTF-8, `not_utf8` has its exact bytes
/// (docs/start.md).
[[nodiscard]] std::string document_text(const Json& document, bool is_ascii = false);

/// "create", "modify", "delete", "rename", "copy", "mode" or "type".
[[nodiscard]] std::string_view operation_of(const Change& change);

/// Refuses edit options that have no effect in a format, so that no option is silently ignored.
/// Errors: kUsage `usage.option_of_format`, which names option and format.
Result<void> check_format_options(const EditArguments& arguments, EditFormat format);

/// Returns whether the document is complete, according to --complete and --truncated.
[[nodiscard]] DocumentEnd document_end(const EditArguments& arguments);

}  // namespace galley
