#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "staging/overlay/stage_edits.h"
#include "tools/call_diff.h"
#include "tools/edit_formats.h"
#include "tools/perform.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

/// The error of an edit that does not fit. Its reason is the first one, and its details are the
/// whole report.
ToolError error_of(const EditOutcome& outcome) {
  ToolError error{ToolErrorCode::kRuntime, "patch.failed", {}, nullptr};
  for (const FileOutcome& file : outcome.files) {
    if (file.fits()) continue;
    if (file.refusal) {
      error = tool_error_from(*file.refusal);
    } else {
      error.reason = file.failures.front().reason;
    }
    break;
  }
  error.message = describe(outcome);
  error.details = std::make_shared<const ordered_json>(edit_report_json(outcome));
  return error;
}

Performed edit_data(const EditFiles& edit, EditOutcome outcome, CallDiff& diff,
                    const ToolContext& context) {
  const bool is_staged = !edit.check_only && !context.dry_run;
  outcome.is_staged = outcome.is_staged && is_staged;
  for (FileOutcome& file : outcome.files) file.is_staged = file.is_staged && is_staged;
  ordered_json data;
  data["applied"] = !edit.check_only;
  if (outcome.files.size() == 1) {
    const FileOutcome& file = outcome.files.front();
    data["filePath"] = file.new_path.empty() ? file.path : file.new_path;
  }
  data["report"] = edit_report_json(outcome);
  GALLEY_TRY(diff.finish(data, context.may_read));
  data["staged"] = is_staged;
  return data;
}

/// Refuses to place edits in files that are too large. Renames, modes, deletions and whole contents
/// need no place.
Result<void> check_sizes(const EditSet& edits, Overlay& overlay) {
  for (const FileEdit& file : edits.files) {
    const bool is_placed = !file.hunks.empty() || !file.text_edits.empty() || file.binary;
    if (!is_placed || file.op == FileOp::kDelete || file.whole) continue;
    for (const std::string* name : {&file.path, &file.other_path}) {
      // What is wrong with a path is told by the edit.
      const auto path = RelPath::parse(*name);
      if (!path) continue;
      const auto node = overlay.node_without_content(*path);
      if (!node) continue;
      GALLEY_TRY(check_read_size(*path, *node));
    }
  }
  return {};
}

}  // namespace

ToolResult perform_edit(const EditFiles& edit, ToolContext& context) {
  const auto failed = [](const Error& error) {
    return ToolResult::failure(tool_error_from(error));
  };
  const auto intent = intent_of(edit);
  if (!intent) return failed(intent.error());
  if (const auto fit = check_sizes(edit.edits, context.overlay); !fit) return failed(fit.error());
  auto diff = CallDiff::watch(context.overlay, intent->writes);
  if (!diff) return failed(diff.error());
  StageOptions options;
  options.root = context.root;
  options.match.last_step = context.last_step;
  options.match.strict = context.strict;
  options.match.choices = edit.choices;
  options.is_over = [&context] { return context.is_over(); };
  options.earlier = context.earlier;
  options.is_left_out = context.is_left_out;
  options.is_stale = context.is_stale;
  options.may_read = context.may_read;
  std::optional<Overlay::Entries> before;
  if (edit.check_only) before = context.overlay.entries();
  const auto outcome = stage_edits(context.overlay, edit.edits, options);
  if (!outcome && context.is_over()) {
    return failed(context.interruption("send fewer edits in one call"));
  }
  if (!outcome) return failed(outcome.error());
  if (!outcome->is_complete) {
    ToolError error = error_of(*outcome);
    if (context.args != nullptr) add_corrected_call(edit.form, *context.args, *outcome, error);
    for (const RelPath& path : intent->writes) {
      const bool is_saved = context.overlay.is_saved_since_read(path).value_or(false);
      if (!is_saved) continue;
      error.message +=
          "\n'" + path.str() + "' was saved since this transaction read it: read all of it again";
    }
    return ToolResult::failure(std::move(error));
  }
  auto data = edit_data(edit, *outcome, *diff, context);
  if (before) context.overlay.restore(std::move(*before));
  if (!data) return failed(data.error());
  return ToolResult::success(std::move(*data));
}

}  // namespace galley
