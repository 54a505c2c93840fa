#include <nlohmann/json.hpp>
#include <utility>

#include "staging/overlay/stage_edits.h"
#include "tools/adapters.h"
#include "tools/call_diff.h"
#include "tools/perform.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

ordered_json placement_json(const Placement& placement) {
  ordered_json out;
  out["id"] = placement.id;
  out["step"] = match_step_name(placement.step);
  out["line"] = placement.line;
  if (placement.offset != 0) out["offset"] = placement.offset;
  if (placement.fuzz != 0) out["fuzz"] = placement.fuzz;
  if (!placement.indent.empty()) out["indent"] = placement.indent;
  return out;
}

ordered_json placements_json(const EditOutcome& outcome) {
  ordered_json out = ordered_json::array();
  constexpr size_t kMaxListed = 1000;
  for (const FileOutcome& file : outcome.files) {
    for (const Placement& placement : file.placements) {
      if (out.size() == kMaxListed) return out;
      ordered_json item = placement_json(placement);
      item["path"] = file.path;
      out.push_back(std::move(item));
    }
  }
  return out;
}

ordered_json failure_json(const EditFailure& failure, const std::string& path) {
  ordered_json out;
  out["path"] = path;
  out["edit"] = failure.edit + 1;
  out["id"] = failure.id;
  out["reason"] = failure.reason;
  out["message"] = failure.message;
  if (failure.nearest_line > 0) {
    out["nearestLine"] = failure.nearest_line;
    out["expected"] = failure.expected;
    out["found"] = failure.found;
  }
  for (const Candidate& candidate : failure.candidates) {
    out["candidates"].push_back(
        {{"id", candidate.id}, {"line", candidate.line}, {"excerpt", candidate.excerpt}});
  }
  if (!failure.rebased.empty()) out["rebased"] = failure.rebased;
  return out;
}

/// The error of an edit that does not fit: the first reason as its own, all of them in the details.
ToolError error_of(const EditOutcome& outcome) {
  ToolError error{ToolErrorCode::kRuntime, "", describe(outcome), nullptr};
  ordered_json details;
  for (const FileOutcome& file : outcome.files) {
    if (file.refusal) {
      if (error.reason.empty()) {
        error = tool_error_from(*file.refusal);
        error.message = describe(outcome);
      }
      details["failures"].push_back({{"path", file.path},
                                     {"reason", file.refusal->reason},
                                     {"message", file.refusal->message}});
    }
    for (const EditFailure& failure : file.failures) {
      if (error.reason.empty()) error.reason = failure.reason;
      details["failures"].push_back(failure_json(failure, file.path));
    }
  }
  if (error.reason.empty()) error.reason = "patch.failed";
  error.details = std::make_shared<const ordered_json>(std::move(details));
  return error;
}

Performed data_of(const EditFiles& edit, const EditOutcome& outcome, CallDiff& diff) {
  ordered_json data;
  data["applied"] = !edit.check_only;
  if (outcome.files.size() == 1) {
    const FileOutcome& file = outcome.files.front();
    data["filePath"] = file.new_path.empty() ? file.path : file.new_path;
  }
  data["placements"] = placements_json(outcome);
  for (const Leniency& leniency : outcome.leniencies) {
    data["leniencies"].push_back({{"rule", leniency.rule}, {"message", leniency.message}});
  }
  GALLEY_TRY(diff.finish(data));
  return data;
}

}  // namespace

ToolResult perform_edit(const EditFiles& edit, ToolContext& context) {
  const auto failed = [](const Error& error) {
    return ToolResult::failure(tool_error_from(error));
  };
  const auto intent = intent_of(edit);
  if (!intent) return failed(intent.error());
  auto diff = CallDiff::watch(context.overlay, intent->writes);
  if (!diff) return failed(diff.error());
  StageOptions options;
  options.root = context.root;
  std::optional<Overlay::Entries> before;
  if (edit.check_only) before = context.overlay.entries();
  const auto outcome = stage_edits(context.overlay, edit.edits, options);
  if (!outcome) return failed(outcome.error());
  if (!outcome->is_complete) return ToolResult::failure(error_of(*outcome));
  auto data = data_of(edit, *outcome, *diff);
  if (before) context.overlay.restore(std::move(*before));
  if (!data) return failed(data.error());
  (*data)["staged"] = !edit.check_only && !context.dry_run;
  return ToolResult::success(std::move(*data));
}

}  // namespace galley
