#include "engine/calls/call_supervisor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace galley {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kRateLimited = "service.rate_limited";
constexpr const char* kRetryAfter = "retry_after_ms";  // in the details of such an error
constexpr milliseconds kLongestCoolDown = std::chrono::hours(24);

ToolResult failed(const Error& error) { return ToolResult::failure(tool_error_from(error)); }

/// Standard tools do what their arguments say; one that takes too long was asked for too much.
bool can_be_broken(const CallSupervisor::Call& call) {
  return call.is_open_ended || call.entry.factory != nullptr ||
         call.entry.tool->info().category != ToolInfo::Category::kDirect;
}

bool can_be_cached(const CallSupervisor::Call& call, const ToolConfig& config) {
  const ToolInfo& info = call.entry.tool->info();
  return call.entry.standing.follows_from_contents && config.is_cached &&
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

ToolResult CallSupervisor::run(const Call& call, const Attempt& attempt) {
  const std::string& name = call.entry.tool->info().name;
  const ToolConfig& config = config_of(name);
  const bool is_cacheable = can_be_cached(call, config);
  std::optional<ContentId> question;
  if (is_cacheable) {
    question = ResultCache::question(call.entry, call.args, call.cwd);
    if (JsonDocument answer = cache_.find(*question, call.overlay, call.may_read)) {
      ToolResult known;
      known.ok = true;
      known.data = std::move(answer);
      known.meta.cached = true;
      return known;
    }
  }
  const bool is_watched = can_be_broken(call);
  if (is_watched) {
    const FactoryTool* factory = call.entry.factory;
    const auto check = [factory] {
      return factory != nullptr ? factory->check_health() : Result<void>();
    };
    if (const auto admitted = health_.admit(name, check); !admitted) {
      return factory != nullptr ? ToolResult::failure(factory->with_cause(admitted.error()))
                                : failed(admitted.error());
    }
  }
  const ToolQuota quota{config.max_concurrent, config.max_queued, config.calls_per_minute,
                        milliseconds(config.cool_down_ms), call.memory_bytes};
  const auto place = quotas_.enter(name, quota, {call.deadline, call.stop, !call.is_nested});
  if (!place) return no_place(name, place.error());
  ReadNotes notes(is_cacheable);
  for (const RelPath& path : call.reads) notes.note(call.overlay, path);
  ToolResult result = repeat(call, attempt, notes);
  if (is_watched) health_.note(name, result);
  take_heed(name, config, result);
  if (result.ok && notes.is_whole()) cache_.keep(*question, notes.take(), result.data);
  return result;
}

/// Who is turned away for being too fast is told when to come again.
ToolResult CallSupervisor::no_place(const std::string& tool, const Error& why) const {
  ToolError error = tool_error_from(why);
  if (const milliseconds left = quotas_.cold_for(tool); left.count() > 0) {
    error.details = std::make_shared<const nlohmann::ordered_json>(
        nlohmann::ordered_json{{kRetryAfter, left.count()}});
  }
  return ToolResult::failure(std::move(error));
}

/// A service that asks to be left alone is, for as long as it says or else as it is configured.
void CallSupervisor::take_heed(const std::string& tool, const ToolConfig& config,
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

/// Attempts while the tool says that it will pass. What a failed one staged is taken back.
ToolResult CallSupervisor::repeat(const Call& call, const Attempt& attempt,
                                  ReadNotes& notes) const {
  const ToolInfo& info = call.entry.tool->info();
  const bool is_read = info.annotations.read_only;
  // What only touches the tree has nothing transient about it, and its state is dear to keep.
  const bool may_repeat = may_be_repeated(info) && (is_read || call.is_open_ended ||
                                                    info.category != ToolInfo::Category::kDirect);
  std::optional<Overlay::Entries> before;
  if (may_repeat && !is_read) before = call.overlay.entries();
  for (uint32_t attempts = 1;; ++attempts) {
    ToolResult result = attempt(notes);
    result.meta.attempts = attempts;
    const bool goes_on = !result.ok && may_repeat && is_transient(*result.error) &&
                         attempts < retry_.attempts && !call.stop.stop_requested();
    if (!goes_on) return result;
    const milliseconds pause = retry_.pause_after(attempts);
    const bool has_time = call.deadline.is_never() || pause < call.deadline.left(*clock_);
    if (!has_time || !retry_.wait(pause, call.stop)) return result;
    if (before) call.overlay.restore(*before);
  }
}

}  // namespace galley
