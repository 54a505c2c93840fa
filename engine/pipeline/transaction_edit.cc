// Staging. All functions here use the executor. The overlay is changed nowhere else.
#include <galley/transaction.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hash.h"
#include "engine/calls/early_policy.h"
#include "engine/calls/tool_names.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/persistent_state.h"
#include "engine/pipeline/transaction_state.h"
#include "staging/formats/read_edits.h"
#include "staging/git/ignore_files.h"
#include "staging/git/white_space_attributes.h"
#include "staging/overlay/staged_step.h"
#include "tools/edit_formats.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

/// Describes a text in a record: size and hash.
ordered_json text_on_record(std::string_view text) {
  return {{"bytes", text.size()}, {"sha256", ContentId::of(text).hex()}};
}

/// An edit under the name of the standard tool with the same effect.
Action edit_action(std::string tool, ToolEffect effect, ordered_json input = {}) {
  Action action;
  action.record.kind = AuditKind::kEdit;
  action.record.tool = std::move(tool);
  if (!input.is_null()) action.record.input = json_document(std::move(input));
  action.tools = tools_with_effect(effect);
  return action;
}

/// An edit that the overlay makes in one step. If it fails, nothing is staged.
Action atomic_edit(std::string tool, ToolEffect effect, ordered_json input) {
  Action action = edit_action(std::move(tool), effect, std::move(input));
  action.is_atomic = true;
  return action;
}

/// Returns why an edit does not fit, as the error of a tool: the first reason.
std::optional<ToolError> misfit_of(const EditOutcome& outcome) {
  if (outcome.is_staged) return {};
  for (const FileOutcome& file : outcome.files) {
    if (file.refusal) return tool_error_from(*file.refusal);
    if (file.failures.empty()) continue;
    const EditFailure& failure = file.failures.front();
    return ToolError{ToolErrorCode::kRuntime, failure.reason, file.path + ": " + failure.message,
                     nullptr};
  }
  return ToolError{ToolErrorCode::kRuntime, "edit.nothing_staged", "nothing was staged", nullptr};
}

Result<void> check_document_size(const LimitsConfig& limits, size_t size) {
  const uint64_t most = limits.max_patch_bytes;
  if (most == 0 || size <= most) return {};
  return fail(ErrorKind::kQuota, "limit.patch_size",
              "the edit document has " + std::to_string(size) +
                  " bytes; limits.max_patch_bytes allows " + std::to_string(most));
}

ReadOptions reading_of(const EditOptions& options) {
  ReadOptions reading;
  reading.strip = options.strip;
  reading.reverse = options.reverse;
  reading.directory = options.directory;
  if (options.is_complete) {
    reading.end = *options.is_complete ? DocumentEnd::kComplete : DocumentEnd::kCutOff;
  }
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

}  // namespace

// --- one path -------------------------------------------------------------------------------

Result<void> Transaction::write(std::string_view path, std::string content) {
  return pass(atomic_edit("Write", ToolEffect::kWrite, {{"path", path}}),
              [&](AuditEvent& event) -> Result<void> {
                GALLEY_ASSIGN(const RelPath target, parse(path));
                const size_t bytes = content.size();
                GALLEY_TRY(state_->overlay.write(target, std::move(content)));
                if (state_->recorder.is_silent(event.kind)) return {};
                const auto staged = state_->overlay.entries().find(target);
                event.input = json_document({{"path", target.str()},
                                             {"bytes", bytes},
                                             {"sha256", staged->second.now.content.hex()}});
                return {};
              });
}

EditResult Transaction::edit(std::string_view path, std::string_view old_text,
                             std::string_view new_text, bool replace_all) {
  Action action = edit_action("Edit", ToolEffect::kEdit,
                              {{"path", path},
                               {"old_string", old_text},
                               {"new_string", new_text},
                               {"replace_all", replace_all}});
  EditOutcome outcome;
  const auto passed = pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    GALLEY_ASSIGN(const RelPath target, parse(path));
    EditSet set;
    set.format = EditFormat::kEdits;
    TextEdit edit;
    edit.old_text = set.keep(std::string(old_text));
    edit.new_text = set.keep(std::string(new_text));
    edit.replace_all = replace_all;
    FileEdit file;
    file.path = target.str();
    file.text_edits.push_back(edit);
    set.files.push_back(std::move(file));
    GALLEY_ASSIGN(outcome, stage_edits(state_->overlay, set, bounded(StageOptions())));
    event.error = misfit_of(outcome);
    return {};
  });
  if (!passed) return Result<EditOutcome>(passed.error());
  return Result<EditOutcome>(std::move(outcome));
}

Result<void> Transaction::remove(std::string_view path) {
  return pass(atomic_edit("Delete", ToolEffect::kDelete, {{"path", path}}),
              [&](AuditEvent&) -> Result<void> {
                GALLEY_ASSIGN(const RelPath target, parse(path));
                return state_->overlay.remove(target);
              });
}

Result<void> Transaction::move(std::string_view from, std::string_view to) {
  return pass(atomic_edit("Move", ToolEffect::kMove, {{"source", from}, {"destination", to}}),
              [&](AuditEvent&) -> Result<void> {
                GALLEY_ASSIGN(const RelPath source, parse(from));
                GALLEY_ASSIGN(const RelPath target, parse(to));
                return state_->overlay.move(source, target);
              });
}

Result<void> Transaction::chmod(std::string_view path, uint32_t mode) {
  return pass(atomic_edit("Chmod", ToolEffect::kChmod, {{"path", path}, {"mode", mode}}),
              [&](AuditEvent&) -> Result<void> {
                GALLEY_ASSIGN(const RelPath target, parse(path));
                return state_->overlay.set_mode(target, mode);
              });
}

Result<void> Transaction::symlink(std::string_view path, const std::string& target) {
  return pass(atomic_edit("Symlink", ToolEffect::kSymlink, {{"path", path}, {"target", target}}),
              [&](AuditEvent&) -> Result<void> {
                GALLEY_ASSIGN(const RelPath link, parse(path));
                return state_->overlay.make_symlink(link, target);
              });
}

Result<void> Transaction::make_directory(std::string_view path) {
  return pass(atomic_edit("MakeDirectory", ToolEffect::kMakeDirectory, {{"path", path}}),
              [&](AuditEvent&) -> Result<void> {
                GALLEY_ASSIGN(const RelPath target, parse(path));
                return state_->overlay.make_directory(target);
              });
}

// --- documents ------------------------------------------------------------------------------

/// Limits the options to what galley.toml allows.
StageOptions Transaction::bounded(StageOptions options) const {
  const EditsConfig& edits = state_->workspace->rules.config.edits;
  options.match.last_step = std::min(options.match.last_step, edits.max_step);
  options.match.strict = edits.strict;
  options.root = state_->workspace->place.path;
  options.is_left_out = left_out_of_checkout(options.root);
  options.earlier = earlier_versions(state_->workspace->persistent);
  options.may_read =
      EarlyPolicy(state_->workspace->rules.config, state_->options.principals(), &state_->overlay)
          .reading_rule();
  if (options.match.white_space != WhiteSpaceFix::kNoWarn && !options.white_space_rules) {
    // Without attributes, git's defaults apply.
    if (auto found = WhiteSpaceAttributes::open(options.root)) {
      const auto attributes = std::make_shared<WhiteSpaceAttributes>(*std::move(found));
      options.white_space_rules = [attributes](const RelPath& path) {
        return white_space_rules(attributes->rules_of(path));
      };
    }
  }
  return options;
}

EditResult InnerTransaction::apply(std::string document_text, const StageOptions& options,
                                   const ReadOptions& reading, EditFormat format) {
  Action action = edit_action("stage", ToolEffect::kChange);
  action.is_trial = options.check_only;
  EditOutcome outcome;
  const auto passed = outer_->pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    GALLEY_TRY(check_document_size(state_->workspace->rules.config.limits, document_text.size()));
    if (!state_->recorder.is_silent(event.kind))
      event.input = json_document(text_on_record(document_text));
    GALLEY_ASSIGN(const EditSet set,
                  read_edits(std::move(document_text), format, reading, parse_edits_json));
    GALLEY_ASSIGN(outcome, stage_edits(state_->overlay, set, outer_->bounded(options)));
    event.error = misfit_of(outcome);
    return {};
  });
  if (!passed) return Result<EditOutcome>(passed.error());
  return Result<EditOutcome>(std::move(outcome));
}

EditResult Transaction::apply(std::string document_text, const EditOptions& options) {
  return inner(*this).apply(std::move(document_text), staging_of(options), reading_of(options),
                            options.format);
}

Result<bool> Transaction::stage_all(const std::function<Result<bool>()>& steps) {
  const Overlay::Entries before = state_->overlay.entries();
  const size_t earlier_steps = state_->steps.size();
  const auto is_kept = steps();
  if (is_kept && *is_kept) return true;
  if (restaged_paths(before, state_->overlay.entries()).empty() &&
      state_->steps.size() == earlier_steps) {
    state_->overlay.restore(before);
  } else {
    Action action;
    action.record.kind = AuditKind::kEditsDropped;
    action.record.input =
        json_document({{"why", "a later one did not fit, so all were taken back"}});
    for (size_t i = earlier_steps; i < state_->steps.size(); ++i) {
      action.record.executions.push_back(state_->steps[i].execution_id);
    }
    const auto passed = pass(std::move(action), [&](AuditEvent&) -> Result<void> {
      state_->overlay.restore(before);
      return {};
    });
    GALLEY_TRY(passed);
  }
  return is_kept;
}

// --- by a person ----------------------------------------------------------------------------

Result<void> Transaction::check_may_edit(const RelPath& path) {
  const Policy policy(state_->workspace->rules.config);
  const Principals who = state_->options.principals();
  GALLEY_ASSIGN(const Node node, state_->overlay.node_without_content(path));
  const bool is_new = node.kind == FileKind::kAbsent;
  for (const Judgement& judgement :
       {policy.judge_path(path, is_new ? PathOperation::kCreate : PathOperation::kModify, who),
        policy.judge_read(path, who)}) {
    if (judgement.decision == Decision::kDeny) return fail(error_of(judgement));
  }
  if (is_new || node.kind == FileKind::kRegular) return {};
  return fail(ErrorKind::kInvalid, "edit.no_file",
              "'" + path.str() + "' is not a file: an editor can only be given files", path.str());
}

Result<std::string> Transaction::text_to_edit(std::string_view path) {
  Action action = edit_action("edit", ToolEffect::kChange, {{"path", path}});
  action.is_atomic = action.records_itself = true;  // the text that was read stays the base
  std::string text;
  const auto passed = pass(std::move(action), [&](AuditEvent&) -> Result<void> {
    GALLEY_ASSIGN(const RelPath target, parse(path));
    GALLEY_TRY(check_may_edit(target));
    GALLEY_ASSIGN(const Node node, state_->overlay.node_without_content(target));
    if (node.kind == FileKind::kAbsent) return {};
    GALLEY_ASSIGN(const Content content, state_->overlay.read(target));
    text = *content;
    return {};
  });
  GALLEY_TRY(passed);
  return text;
}

Result<void> Transaction::stage_edited(std::string_view path, std::string text) {
  ordered_json input = text_on_record(text);
  input["path"] = path;
  return pass(edit_action("edit", ToolEffect::kChange, std::move(input)),
              [&](AuditEvent&) -> Result<void> {
                GALLEY_ASSIGN(const RelPath target, parse(path));
                GALLEY_TRY(check_may_edit(target));
                return state_->overlay.write(target, std::move(text));
              });
}

}  // namespace galley
