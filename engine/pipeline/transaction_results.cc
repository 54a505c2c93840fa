// What staging calls return, for those who cannot see the types of the rooms below.
#include <galley/transaction.h>

#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "staging/overlay/stage_edits.h"
#include "tools/edit_formats.h"
#include "tools/json_input.h"
#include "tools/tool.h"

namespace galley {
namespace {

/// The first thing of a document that does not fit, as the one-line answer.
std::optional<Error> first_misfit(const EditOutcome& outcome) {
  for (const FileOutcome& file : outcome.files) {
    if (file.refusal) return file.refusal;
    if (file.failures.empty()) continue;
    const EditFailure& failure = file.failures.front();
    return Error{ErrorKind::kConflict, failure.reason, failure.message, file.path, 0};
  }
  if (!outcome.unmatched.empty()) {
    return Error{ErrorKind::kUsage,
                 "edit.unknown_path",
                 "nothing in this edit is named '" + outcome.unmatched.front() + "'",
                 {},
                 0};
  }
  if (outcome.is_complete) return {};
  return Error{ErrorKind::kConflict, "patch.does_not_apply", describe(outcome), {}, 0};
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
    error_ = Error{kind_of(result.error->code), result.error->reason, result.error->message, {}, 0};
  }
  result_ = std::make_shared<const ToolResult>(std::move(result));
}

std::string CallResult::json() const {
  return result_->data != nullptr ? json_text(*result_->data) : "{}";
}

std::string CallResult::document() const { return json_text(to_json(*result_)); }

}  // namespace galley
