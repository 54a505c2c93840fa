#include "engine/audit/recorder.h"

#include <atomic>
#include <charconv>
#include <utility>

#include "base/encoding.h"

namespace galley {
namespace {

constexpr std::string_view kIdDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr size_t kIdLength = 6;
constexpr uint64_t kIds = 2'176'782'336;     // 36 to the power of 6
constexpr uint64_t kStride = 1'000'000'007;  // coprime to kIds, so each number occurs once

/// Each process begins at a random number and then takes every number once.
uint64_t next_id_number() {
  static const uint64_t start = [] {
    const std::string digits = random_hex(sizeof(uint64_t));
    uint64_t number = 0;
    constexpr int kHex = 16;
    (void)std::from_chars(digits.data(), digits.data() + digits.size(), number, kHex);
    return number;
  }();
  static std::atomic<uint64_t> taken{0};
  return (start + taken.fetch_add(1) % kIds * kStride) % kIds;
}

bool is_refusal(const AuditEvent& event) {
  return event.error && event.error->code == ToolErrorCode::kPermission;
}

}  // namespace

std::string new_execution_id(const Clock& clock) {
  // 2024-01-01T12:34:56.789Z without the separators.
  const std::string now = rfc3339_utc(clock.wall_ns());
  std::string id = "exec-";
  id.append(now, 0, 4).append(now, 5, 2).append(now, 8, 2).push_back('-');
  id.append(now, 11, 2).append(now, 14, 2).append(now, 17, 2).push_back('-');
  uint64_t number = next_id_number();
  for (size_t i = 0; i < kIdLength; ++i, number /= kIdDigits.size()) {
    id.push_back(kIdDigits[number % kIdDigits.size()]);
  }
  return id;
}

void Recorder::complete(AuditEvent& event) const {
  if (event.tx.empty()) event.tx = tx_;
  event.rules = rules_;
  if (event.execution_id.empty()) event.execution_id = new_execution_id(*clock_);
}

bool Recorder::is_silent(AuditKind kind) const {
  if (time_ != RecordTime::kCalls && time_ != RecordTime::kTries) return false;
  switch (kind) {
    case AuditKind::kCall:
    case AuditKind::kCallDryRun:
    case AuditKind::kCallsDropped:
    case AuditKind::kBegun:  // the executor has already checked it
    case AuditKind::kConfirmation:
      return false;
    case AuditKind::kEdit:
    case AuditKind::kEditsDropped:
    case AuditKind::kFix:
      return time_ == RecordTime::kCalls;
    default:
      return true;
  }
}

void Recorder::build_last() {
  if (!last_) return;
  held_.push_back(audit_members(last_->event, last_->wall_ns));
  last_.reset();
  held_bytes_ += sizeof(AuditMembers) + held_.back().bytes();
}

Result<void> Recorder::make_room() {
  build_last();
  return held_bytes_ > kMaxHeldRecordBytes ? write_held() : Result<void>();
}

Result<void> Recorder::record(AuditEvent event) {
  if (time_ != RecordTime::kAtEnd || is_refusal(event)) return record_now(std::move(event));
  complete(event);
  build_last();
  last_ = {std::move(event), clock_->wall_ns()};
  return {};
}

Result<void> Recorder::record_now(AuditEvent event) {
  if (is_silent(event.kind) || log_() == nullptr) return {};
  complete(event);
  GALLEY_TRY(log_()->append(event));
  return {};
}

Result<void> Recorder::write_held() {
  if (log_() == nullptr) return {};
  build_last();
  if (held_.empty()) return {};
  GALLEY_TRY(log_()->append(held_));
  held_.clear();
  held_bytes_ = 0;
  return {};
}

Result<void> Recorder::write_or_drop_held() {
  auto written = write_held();
  if (!written) {
    held_.clear();
    held_bytes_ = 0;
  }
  return written;
}

}  // namespace galley
