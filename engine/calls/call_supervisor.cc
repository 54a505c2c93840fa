#include "engine/calls/call_supervisor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace galley {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kRateLimited = "service.rate_limited";
constexpr const char* kRetryAfter = "retry_after_ms";  // in the details of a rate limit error
constexpr milliseconds kLongestCoolDown = std::chrono::hours(24);

ToolResult failed(const Error& error) { return ToolResult::failure(tool_error_from(error)); }

/// A standard tool cannot be broken: if it takes too long, its arguments ask for too much work.
bool can_be_broken(const CallSupervisor::Call& call) {
  return call.is_open_ended || call.entry.factory != nullptr ||
         call.entry.tool->info().category != ToolInfo::Category::kDirect;
}

bool can_be_cached(const CallSupervisor::Call& call, const ToolConfig& config) {
  const ToolInfo& info = call.entry.tool->info();
  return call.entry.precedence.depends_only_on_contents && config.is_cached &&
         info.annotations.read_only && info.annotations.idempotent &&
         !info.annotations.open_world && !info.is_context_aware;
}

}  // namespace

void ReadNotes::note(Overlay& overlay, const RelPath& path) {
  if (!is_wanted_) return;
  const auto seen = fingerprint(overlay, path);
  is_wanted_ = seen && reads_.size() < kMaxCachedReads;
  if (is_wanted_) reads_.push_back({path, *seen});
}

CallSupervisor::CallSupervisor(const Clock& clock, const std::map<std::string, ToolConfig>& configs,
                               RetryRule retry, HealthRule health)
    : clock_(&clock),
      configs_(&configs),
      retry_(std::move(retry)),
      health_(clock, health),
      quotas_(clock) {}

const ToolConfig& CallSupervisor::config_of(const std::string& tool) const {
  static const ToolConfig kUsual;
  const auto found = configs_->find(tool);
  return found == configs_->end() ? kUsual : found->second;
}

milliseconds CallSupervisor::time_for(const std::string& tool, milliseconds usual) const {
  const ToolConfig& config = config_of(tool);
  if (config.timeout_ms == 0) return usual;
  const milliseconds said(config.timeout_ms);
  return config.only_narrows ? std::min(said, usual) : said;
}

CallSupervisor::SupervisedCall::SupervisedCall(CallSupervisor& owner, const Call& call)
    : owner_(&owner),
      call_(&call),
      config_(&owner.config_of(call.entry.tool->info().name)),
      notes_(can_be_cached(call, *config_)) {}

CallSupervisor::SupervisedCall CallSupervisor::take(const Call& call) {
  const ToolInfo& info = call.entry.tool->info();
  SupervisedCall supervised(*this, call);
  if (supervised.notes_.is_whole()) {
    supervised.question_ = ResultCache::question(call.entry, call.args, call.cwd);
    if (JsonDocument known = cache_.find(*supervised.question_, call.overlay, call.may_read)) {
      supervised.answer_.emplace().ok = true;
      supervised.answer_->data = std::move(known);
      supervised.answer_->meta.cached = true;
      return supervised;
    }
  }
  supervised.is_watched_ = can_be_broken(call);
  if (supervised.is_watched_) {
    const FactoryTool* factory = call.entry.factory;
    const auto check = [factory] {
      return factory != nullptr ? factory->check_health() : Result<void>();
    };
    if (const auto admitted = health_.admit(info.name, check); !admitted) {
      supervised.answer_ = factory != nullptr
                               ? ToolResult::failure(factory->with_cause(admitted.error()))
                               : failed(admitted.error());
      return supervised;
    }
  }
  const ToolQuota quota{supervised.config_->max_concurrent,
                        supervised.config_->max_queued,
                        supervised.config_->calls_per_minute,
                        milliseconds(supervised.config_->cool_down_ms),
                        call.memory_bytes,
                        &call.overlay};
  auto place = quotas_.enter(info.name, quota, {call.deadline, call.stop, !call.is_nested});
  if (!place) {
    supervised.answer_ = quota_failure(info.name, place.error());
    return supervised;
  }
  supervised.place_.emplace(*std::move(place));
  for (const RelPath& path : call.reads) supervised.notes_.note(call.overlay, path);
  // Changes of files do not fail transiently, and a copy of the overlay is expensive.
  const bool is_read = info.annotations.read_only;
  supervised.may_repeat_ = may_be_repeated(info) && (is_read || call.is_open_ended ||
                                                     info.category != ToolInfo::Category::kDirect);
  if (supervised.may_repeat_ && !is_read) supervised.before_ = call.overlay.entries();
  return supervised;
}

void CallSupervisor::SupervisedCall::note(ToolResult result) {
  result.meta.attempts = ++attempts_;
  if (is_retried(result)) {
    if (before_) call_->overlay.restore(*before_);
    return;
  }
  const std::string& name = call_->entry.tool->info().name;
  if (is_watched_) owner_->health_.note(name, result);
  owner_->update_health(name, *config_, result);
  if (result.ok && notes_.is_whole()) owner_->cache_.keep(*question_, notes_.take(), result.data);
  answer_ = std::move(result);
}

/// Whether the call is tried again: the error is transient and time is left. Pauses before it
/// returns true.
bool CallSupervisor::SupervisedCall::is_retried(const ToolResult& result) const {
  const RetryRule& rule = owner_->retry_;
  const bool may_help = !result.ok && may_repeat_ && is_transient(*result.error) &&
                        attempts_ < rule.attempts && !call_->stop.stop_requested();
  if (!may_help) return false;
  const milliseconds pause = rule.pause_after(attempts_);
  const bool has_time = call_->deadline.is_never() || pause < call_->deadline.left(*owner_->clock_);
  return has_time && rule.wait(pause, call_->stop);
}

/// A call that is refused for its rate gets the time after which it may be repeated.
ToolResult CallSupervisor::quota_failure(const std::string& tool, const Error& why) const {
  ToolError error = tool_error_from(why);
  if (const milliseconds left = quotas_.cool_down_left(tool); left.count() > 0) {
    error.details = std::make_shared<const nlohmann::ordered_json>(
        nlohmann::ordered_json{{kRetryAfter, left.count()}});
  }
  return ToolResult::failure(std::move(error));
}

/// After a rate limit of the service, pauses calls as long as it asks for, or else as configured.
void CallSupervisor::update_health(const std::string& tool, const ToolConfig& config,
                                   const ToolResult& result) {
  if (!result.error || result.error->reason != kRateLimited) return;
  milliseconds span(config.cool_down_ms);
  if (const auto& details = result.error->details; details != nullptr && details->is_object()) {
    const auto said = details->find(kRetryAfter);
    if (said != details->end() && said->is_number_integer()) {
      span = milliseconds(said->get<int64_t>());
    }
  }
  quotas_.cool_down(tool, std::clamp(span, milliseconds(0), kLongestCoolDown));
}

}  // namespace galley
