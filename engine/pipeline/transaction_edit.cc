#include <galley/transaction.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/content_id.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/transaction_state.h"
#include "tools/edit_report_json.h"
#include "tools/json_input.h"

namespace galley {
namespace {

/// The first thing of a document that does not fit, as the one-line answer.
std::optional<Error> misfit_of(const EditOutcome& outcome) {
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

ReadOptions reading_of(const EditOptions& options) {
  ReadOptions reading;
  reading.strip = options.strip;
  reading.reverse = options.reverse;
  reading.directory = options.directory;
  return reading;
}

StageOptions staging_of(const EditOptions& options) {
  StageOptions staging;
  if (options.exact) staging.match.last_step = MatchStep::kExact;
  staging.match.choices = options.choices;
  staging.reject = options.reject;
  staging.check_only = options.check_only;
  staging.only = options.only;
  staging.except = options.except;
  return staging;
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
    error_ = misfit_of(*outcome);
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

EditResult Transaction::edit(std::string_view path, std::string_view old_text,
                             std::string_view new_text, bool replace_all) {
  return stage_replacement(path, old_text, new_text, replace_all);
}

EditResult Transaction::apply(std::string document, const EditOptions& options) {
  return apply(std::move(document), staging_of(options), reading_of(options), options.format);
}

EditResult Transaction::apply(std::string document, const StageOptions& options,
                              const ReadOptions& reading, EditFormat format) {
  return stage_document(std::move(document), options, reading, format);
}

JsonDocument text_on_record(std::string_view text, const std::string& path) {
  nlohmann::ordered_json input = {{"bytes", text.size()}, {"sha256", ContentId::of(text).hex()}};
  if (!path.empty()) input["path"] = path;
  return std::make_shared<const nlohmann::ordered_json>(std::move(input));
}

Result<void> Transaction::State::settle(Transaction& transaction, const Overlay::Entries& before,
                                        AuditEvent event) {
  State* const state_ = transaction.state_.get();
  const Principals who = state_->options.principals();
  if (state_->stage && !who.is_alone()) {
    const auto denied =
        denied_changes(state_->workspace->config, who, before, state_->overlay.entries());
    if (!denied.empty()) {
      state_->overlay.restore(before);
      return refused_by(denied.front());
    }
  }
  const auto recorded = transaction.record(std::move(event));
  if (!recorded) state_->overlay.restore(before);
  return recorded;
}

Result<void> Transaction::check_may_edit(const RelPath& path) {
  const Policy policy(state_->workspace->config);
  const Principals who = state_->options.principals();
  GALLEY_ASSIGN(const Node node, state_->overlay.node_without_content(path));
  const bool is_new = node.kind == FileKind::kAbsent;
  for (const Judgement& judgement :
       {policy.judge_path(path, is_new ? Operation::kCreate : Operation::kModify, who),
        policy.judge_read(path, who)}) {
    if (judgement.decision == Decision::kDeny) return refused_by(judgement);
  }
  if (is_new || node.kind == FileKind::kRegular) return {};
  return fail(ErrorKind::kInvalid, "edit.no_file",
              "'" + path.str() + "' is no file: an editor can only be given files", path.str());
}

Result<std::string> Transaction::text_to_edit(std::string_view path) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  GALLEY_TRY(check_may_edit(target));
  GALLEY_ASSIGN(const Node node, state_->overlay.node_without_content(target));
  if (node.kind == FileKind::kAbsent) return std::string();
  GALLEY_ASSIGN(const Content content, state_->overlay.read(target));
  return *content;
}

Result<void> Transaction::stage_edited(std::string_view path, std::string text) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  GALLEY_TRY(check_may_edit(target));
  AuditEvent event = own_event("call", state_->options);
  event.tool = "edit";
  event.input = text_on_record(text, target.str());
  const Overlay::Entries before = state_->overlay.entries();
  GALLEY_TRY(state_->overlay.write(target, std::move(text)));
  return State::settle(*this, before, std::move(event));
}

}  // namespace galley
