#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <galley/outcome.h>
#include "base/result.h"
#include "engine/history/rebase.h"
#include "engine/stages/stored_stage.h"
#include "tools/tool.h"

namespace galley {

// Clients cut long results in the middle or at the end. Galley ends a text at this length, and says
// how to get the rest.
inline constexpr size_t kMaxResultText = 30'000;  ///< bytes of text of one answer to an agent
// Leaves room for the line above a page that says which page it is.
inline constexpr size_t kMaxPageText = 29'500;  ///< bytes of one page of a longer text
/// The maximum of a page in a structured answer, as JSON text.
inline constexpr size_t kMaxStructuredPage = 32'000;

/// A `CallToolResult` with complete text and a complete structured form, because some clients show
/// their model only one of them.
[[nodiscard]] nlohmann::ordered_json call_result(std::string text,
                                                 nlohmann::ordered_json structured);
/// The same for a failed call, with the information that a model needs to repair it.
[[nodiscard]] nlohmann::ordered_json failed_result(const ToolError& error);
[[nodiscard]] nlohmann::ordered_json failed_result(const Error& error);

/// The output schema of a tool whose successful answers match `of_success`: that, an error, the
/// refusal of a commit, or an answer that was cut (see bounded_structure()). Clients validate error
/// answers against it too, and do not show their model an answer that does not match.
[[nodiscard]] nlohmann::ordered_json answer_schema(nlohmann::ordered_json of_success);

/// The answer of `tool`, for a model. `tx` names the transaction with its changes; empty: they are
/// on disk, or nothing was changed.
/// `questions` are the rules that will ask a person about these changes.
[[nodiscard]] nlohmann::ordered_json tool_call_result(
    const ToolResult& result, const ToolInfo& tool, const std::string& tx,
    const std::vector<std::string>& questions = {});

/// What the caller should know about the edit of a successful call, a line each: inexact placements
/// and leniencies.
[[nodiscard]] std::string notes_of_edit(const nlohmann::ordered_json& data);

/// The gate's verdict: approved or the reasons, findings with their places, validators. The
/// message of a refusal is left out if a finding has it.
[[nodiscard]] nlohmann::ordered_json verdict_answer(const Verdict& verdict);
[[nodiscard]] std::string verdict_summary(const Verdict& verdict);
/// Adds the first changed paths as `changes`, and the number of all as `count`.
void add_changes(const ChangeSet& changes, nlohmann::ordered_json& structured);
/// The changed paths, a line each: `M src/a.txt`.
[[nodiscard]] std::string changes_summary(const ChangeSet& changes);
/// Adds what a person wrote about the transaction in `galley review`, if anything.
[[nodiscard]] nlohmann::ordered_json with_comments(nlohmann::ordered_json result,
                                                   const std::vector<ReviewComment>& comments);
/// Says that the connection's own transaction ended before the call; `how` goes on after its id.
void tell_ended(const std::string& tx, std::string_view how, nlohmann::ordered_json& result);
/// A part of a text with at most `max_bytes`, cut between lines; `next` is the offset of the rest,
/// or 0 at the end.
[[nodiscard]] std::string page_of(std::string_view text, size_t offset, size_t& next,
                                  size_t max_bytes = kMaxPageText);
/// The same for a structured answer: the part has at most kMaxStructuredPage as JSON text, so that
/// the answer needs no further cut.
[[nodiscard]] std::string structured_page_of(std::string_view text, size_t offset, size_t& next);

/// The result of a commit.
[[nodiscard]] nlohmann::ordered_json commit_result(const CommitOutcome& outcome,
                                                   const std::string& tx);

/// A commit that ended in a conflict, with its hunks and the tools that resolve it. `tx` is empty
/// if nothing stays open to resolve.
[[nodiscard]] nlohmann::ordered_json conflict_result(const Conflict& conflict,
                                                     const std::vector<PathConflict>& listed,
                                                     const std::string& tx);

/// The maximum of characters in one structured answer, as JSON text: clients cut longer ones, in
/// the middle or at the end, which makes them useless.
inline constexpr size_t kMaxStructureText = 38'000;

/// Shortens an answer to that length: long texts and lists keep their beginning, and a first member
/// `leftOut` says where something is missing and how much. A short answer stays unchanged.
[[nodiscard]] nlohmann::ordered_json bounded_structure(nlohmann::ordered_json structure);

}  // namespace galley
