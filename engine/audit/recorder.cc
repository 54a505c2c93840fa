#include "engine/audit/recorder.h"

#include <utility>

#include "base/hex.h"

namespace galley {
namespace {

constexpr size_t kExecutionDigits = 24;

bool is_refusal(const AuditEvent& event) {
  return event.error && event.error->code == ToolErrorCode::kPermission;
}

}  // namespace

std::string new_execution_id() { return "exec-" + random_hex(kExecutionDigits); }

void Recorder::complete(AuditEvent& event) const {
  if (event.tx.empty()) event.tx = tx_;
  if (event.execution_id.empty()) event.execution_id = new_execution_id();
}

Result<void> Recorder::record(AuditEvent event) {
  if (is_silent()) return {};
  if (time_ == RecordTime::kAtOnce || is_refusal(event)) return record_now(std::move(event));
  complete(event);
  held_.push_back(audit_record(event, clock_->wall_ns()));
  held_bytes_ += held_.back().size();
  const bool is_too_much = held_bytes_ > kMaxHeldRecordBytes && log_() != nullptr;
  return is_too_much ? write_held() : Result<void>();
}

Result<void> Recorder::record_now(AuditEvent event) {
  if (is_silent() || log_() == nullptr) return {};
  complete(event);
  GALLEY_TRY(log_()->append(event));
  return {};
}

Result<void> Recorder::write_held() {
  if (held_.empty() || log_() == nullptr) return {};
  GALLEY_TRY(log_()->add(held_));
  held_.clear();
  held_bytes_ = 0;
  return {};
}

}  // namespace galley
