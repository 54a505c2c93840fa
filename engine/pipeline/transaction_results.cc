// The results of staging calls, for callers that cannot use internal types, and the git commit that
// a tool asked for after a commit of Galley.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include <galley/transaction.h>
#include "engine/agent_tools/git_commit.h"
#include "engine/calls/tool_names.h"
#include "engine/history/rebase.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/stages/stored_stage.h"
#include "staging/overlay/stage_edits.h"
#include "tools/edit_formats.h"
#include "tools/json_input.h"
#include "tools/tool.h"

namespace galley {

namespace {

/// Returns the first edit of a document that does not fit, as a one-line error.
std::optional<Error> first_misfit(const EditOutcome& outcome) {
  for (const FileOutcome& file : outcome.files) {
    if (file.refusal) return file.refusal;
    if (file.failures.empty()) continue;
    const EditFailure& failure = file.failures.front();
    return Error{ErrorKind::kConflict, failure.reason, failure.message, file.path, 0};
  }
  if (!outcome.unmatched.empty()) {
    return Error{ErrorKind::kUsage, "edit.unknown_path",
                 "nothing in this edit is named '" + outcome.unmatched.front() + "'"};
  }
  if (outcome.is_complete) return {};
  return Error{ErrorKind::kConflict, "patch.does_not_apply", describe(outcome)};
}

ErrorKind kind_of(ToolErrorCode code) {
  switch (code) {
    case ToolErrorCode::kValidation:
      return ErrorKind::kInvalid;
    case ToolErrorCode::kPermission:
      return ErrorKind::kRefused;
    case ToolErrorCode::kTimeout:
      return ErrorKind::kTimeout;
    case ToolErrorCode::kQuota:
      return ErrorKind::kQuota;
    case ToolErrorCode::kRuntime:
      return ErrorKind::kConflict;
  }
  return ErrorKind::kInternal;
}

}  // namespace

EditResult::EditResult(Result<EditOutcome> outcome) {
  if (outcome) {
    error_ = first_misfit(*outcome);
    outcome_ = std::make_shared<const EditOutcome>(*std::move(outcome));
  } else {
    error_ = outcome.error();
  }
}

bool EditResult::is_staged() const { return outcome_ != nullptr && outcome_->is_staged; }

std::string EditResult::report() const {
  return outcome_ != nullptr ? describe(*outcome_) : error_->message + "\n";
}

std::string EditResult::json() const {
  return outcome_ != nullptr ? json_text(edit_report_json(*outcome_)) : "{}";
}

Result<EditOutcome> EditResult::outcome() const {
  if (outcome_ == nullptr) return *error_;
  return *outcome_;
}

CallResult::CallResult(ToolResult result) {
  if (result.error) {
    error_ = Error{kind_of(result.error->code), result.error->reason, result.error->message};
  }
  result_ = std::make_shared<const ToolResult>(std::move(result));
}

std::string CallResult::json() const {
  return result_->data != nullptr ? json_text(*result_->data) : "{}";
}

std::string CallResult::document() const { return json_text(to_json(*result_)); }

void Transaction::State::ask_for_git_commits(const std::vector<ToolCall>& calls,
                                             std::vector<ToolResult>& results) {
  for (size_t i = 0; i < calls.size() && i < results.size(); ++i) {
    if (calls[i].tool != kGitCommitTool || results[i].meta.dry_run) continue;
    git_message = results[i].data->at("message").get<std::string>();
    if (!stage) continue;
    const auto kept = write_git_message(stage->directory(), git_message);
    if (!kept) results[i] = ToolResult::failure(tool_error_from(kept.error()));
  }
}

/// The transaction is committed already. Failures here are warnings and do not change the outcome.
void Transaction::State::end_with(Receipt& receipt) {
  is_over = true;
  if (stage && git_message.empty()) {
    git_message = read_git_message(stage->directory()).value_or("");
  }
  if (git_message.empty()) return;
  Recorder own_record = workspace->persistent.recorder();
  Action action;
  action.record.kind = AuditKind::kLink;
  action.record.tool = kGitCommitTool;
  action.record.tx = receipt.id.str();
  action.record.input = json_document({{"message", git_message}});
  action.record.capabilities_used = {"git:commit"};
  action.runs_program = true;
  const auto made = perform_outside_transaction(
      workspace->rules, options, own_record, std::move(action), [&](AuditEvent& event) {
        return commit_to_git(workspace->place.path, git_message, receipt.changes)
            .map([&](std::string hash) {
              event.output = json_document({{"commit", hash}});
              receipt.git_commit = std::move(hash);
            });
      });
  if (made) return;
  receipt.warnings.push_back("the commit of git that was asked for was not made: " +
                             made.error().message);
}

Result<void> Transaction::keep_part(const Proposal& part) {
  Action action = own_step(AuditKind::kRollback);
  action.record.input = json_document({{"to_part", part.id().hex()}});
  action.tools = tools_with_effect(ToolEffect::kEdit);  // the so-called part could contain anything
  action.is_atomic = true;
  const auto passed = pass(std::move(action), [&](AuditEvent&) -> Result<void> {
    GALLEY_TRY(check_may_change_staged());
    // Keep the paths that were only read. The commit checks that they are unchanged.
    Overlay::Entries kept;
    for (const auto& [path, entry] : state_->overlay.entries()) {
      if (entry.before == entry.now) kept.emplace(path, entry);
    }
    state_->overlay.restore(std::move(kept));
    return stage_proposal(part, state_->overlay);
  });
  GALLEY_TRY(passed);
  return save();
}

}  // namespace galley
