#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <galley/outcome.h>
#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// Clients cut long results in the middle or at the end; a text of ours ends here, and says how to
/// get the rest.
inline constexpr size_t kMaxResultText = 30'000;
/// A page of a longer one leaves room for the line in front that says which page it is.
inline constexpr size_t kMaxPageText = 29'500;
/// A page in a structured answer, as JSON text.
inline constexpr size_t kMaxStructuredPage = 32'000;

/// A `CallToolResult` whose text alone is enough, and whose structured form alone is enough: some
/// clients show a model the one, some the other.
[[nodiscard]] nlohmann::ordered_json call_result(std::string text,
                                                 nlohmann::ordered_json structured);
/// The same for a call that failed, so that a model can repair it.
[[nodiscard]] nlohmann::ordered_json failed_result(const ToolError& error);
[[nodiscard]] nlohmann::ordered_json failed_result(const Error& error);

/// The output schema of a tool whose own answers fit `of_success`: that, an error, the refusal of a
/// commit, or an answer that was cut (bounded_structure.h). Clients hold answers that are errors to
/// it, too, and show their model none that does not fit.
[[nodiscard]] nlohmann::ordered_json answer_schema(nlohmann::ordered_json of_success);

/// What a tool answered, as a model reads it. `tx` names where it is staged; empty: it is on disk,
/// or nothing was changed.
[[nodiscard]] nlohmann::ordered_json tool_call_result(const ToolResult& result,
                                                      const std::string& tx);

/// The gate's answer: approved or why not, findings with their places, validators.
[[nodiscard]] nlohmann::ordered_json verdict_answer(const Verdict& verdict);
[[nodiscard]] std::string verdict_words(const Verdict& verdict);
/// What changed, a line each: `M src/a.txt`.
[[nodiscard]] nlohmann::ordered_json changed_paths(const ChangeSet& changes);
[[nodiscard]] std::string changed_words(const ChangeSet& changes);
/// A part of a text that is as long as `max_bytes` at most, cut between lines; `next` is where the
/// rest begins, 0 when there is none.
[[nodiscard]] std::string page_of(std::string_view text, size_t offset, size_t& next,
                                  size_t max_bytes = kMaxPageText);
/// The same for a structured answer: the part is as long as kMaxStructuredPage at most as JSON
/// text, so that the answer needs no further cut.
[[nodiscard]] std::string structured_page_of(std::string_view text, size_t offset, size_t& next);

/// What became of a commit.
[[nodiscard]] nlohmann::ordered_json commit_result(const CommitOutcome& outcome,
                                                   const std::string& tx);

/// Characters of one structured answer, as JSON text: clients cut longer ones, in the middle or at
/// the end, where the cut makes no sense.
inline constexpr size_t kMaxStructureText = 38'000;

/// An answer that is no longer than that: its long texts and lists keep their beginning, and the
/// member `leftOut`, which then stands first, says where something is missing and how much. One
/// that is short enough is as it was.
[[nodiscard]] nlohmann::ordered_json bounded_structure(nlohmann::ordered_json structure);

}  // namespace galley
