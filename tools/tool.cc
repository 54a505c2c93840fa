#include "tools/tool.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace galley {
namespace {

/// Whether a refusal states a fact about the tree, not a missing permission.
bool is_about_the_tree(std::string_view reason) {
  static constexpr std::array<std::string_view, 4> kFacts = {
      "path.is_directory", "path.not_directory", "path.exists", "path.directory_not_empty"};
  return std::find(kFacts.begin(), kFacts.end(), reason) != kFacts.end() ||
         reason.starts_with("patch.") || reason.starts_with("edit.");
}

}  // namespace

std::string_view to_string(ToolErrorCode code) {
  switch (code) {
    case ToolErrorCode::kValidation:
      return "EVALIDATION";
    case ToolErrorCode::kPermission:
      return "EPERMISSION";
    case ToolErrorCode::kRuntime:
      return "ERUNTIME";
    case ToolErrorCode::kTimeout:
      return "ETIMEOUT";
    case ToolErrorCode::kQuota:
      return "EQUOTA";
  }
  return "ERUNTIME";
}

ToolError tool_error_from(const Error& error) {
  ToolErrorCode code = ToolErrorCode::kRuntime;
  switch (error.kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kInvalid:
      code = ToolErrorCode::kValidation;
      break;
    case ErrorKind::kRefused:
      code = is_about_the_tree(error.reason) ? ToolErrorCode::kRuntime : ToolErrorCode::kPermission;
      break;
    case ErrorKind::kQuota:
      code = ToolErrorCode::kQuota;
      break;
    case ErrorKind::kTimeout:
      code = ToolErrorCode::kTimeout;
      break;
    case ErrorKind::kNotFound:
    case ErrorKind::kConflict:
    case ErrorKind::kIo:
    case ErrorKind::kInternal:
    case ErrorKind::kUndecided:
      break;
  }
  return ToolError{code, error.reason, error.message, nullptr, {}};
}

Error error_from(const ToolError& error) {
  ErrorKind kind = ErrorKind::kConflict;
  switch (error.code) {
    case ToolErrorCode::kValidation:
      kind = ErrorKind::kInvalid;
      break;
    case ToolErrorCode::kPermission:
      kind = ErrorKind::kRefused;
      break;
    case ToolErrorCode::kTimeout:
      kind = ErrorKind::kTimeout;
      break;
    case ToolErrorCode::kQuota:
      kind = ErrorKind::kQuota;
      break;
    case ToolErrorCode::kRuntime:
      break;
  }
  return {kind, error.reason, error.message};
}

Error call_cancelled() {
  return {ErrorKind::kTimeout, "call.cancelled", "the call was cancelled; nothing of it is staged"};
}

Error ToolContext::interruption(const std::string& remedy) const {
  if (stop.stop_requested()) return call_cancelled();
  return {ErrorKind::kTimeout, "tool.timeout",
          "the time of the call is over and nothing was staged; " + remedy +
              (remedy.empty() ? "" : ", or ") +
              "give it more time: timeout_ms of [tools.NAME] in galley.toml"};
}

ToolResult ToolResult::success(nlohmann::ordered_json data) {
  ToolResult result;
  result.ok = true;
  result.data = std::make_shared<const nlohmann::ordered_json>(std::move(data));
  return result;
}

ToolResult ToolResult::failure(ToolError error) {
  ToolResult result;
  result.error = std::move(error);
  return result;
}

nlohmann::ordered_json to_json(const ToolResult& result) {
  nlohmann::ordered_json out;
  out["schema"] = "galley.tool-result/1";
  out["ok"] = result.ok;
  if (result.data) out["data"] = *result.data;
  if (result.error) {
    auto& error = out["error"];
    error["code"] = to_string(result.error->code);
    error["reason"] = result.error->reason;
    error["message"] = result.error->message;
    if (result.error->details) error["details"] = *result.error->details;
  }
  auto& meta = out["meta"];
  meta["startedAt"] = result.meta.started_at;
  meta["endedAt"] = result.meta.ended_at;
  meta["durationMs"] = result.meta.duration_ms;
  if (result.meta.dry_run) meta["dryRun"] = true;
  if (!result.meta.execution_id.empty()) meta["executionId"] = result.meta.execution_id;
  meta["cpuMs"] = result.meta.cpu_ms;
  meta["peakMemoryBytes"] = result.meta.peak_memory;
  meta["bytesWritten"] = result.meta.bytes_written;
  meta["cached"] = result.meta.cached;
  meta["attempts"] = result.meta.attempts;
  if (!result.meta.warnings.empty()) meta["warnings"] = result.meta.warnings;
  return out;
}

}  // namespace galley
