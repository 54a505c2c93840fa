#include <algorithm>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "engine/calls/executor.h"
#include "engine/calls/secrets.h"

namespace galley {

// Calls that only read and stand one after the other are done side by side: each thread has a view
// of the overlay (Overlay::reading_view), and results and records come in the order of the calls.
//
//     find tools | prepare, judge, run    | take reads, record
//     this thread| on all cores, by blocks| this thread, in order
//
// What a worker may touch: its view, its block of calls, what is immutable here (options, scope,
// registry entries) and what has a lock of its own (the supervisor, the store). The policy looks at
// the overlay itself, which nobody else does meanwhile, under policy_mutex. Log, progress and
// secrets belong to the thread of the call: such a call gets none, and what asks for a secret is
// not done here.

namespace {

using nlohmann::json;

/// Starting a thread costs about what one small Read does.
constexpr size_t kMinReads = 4;
/// Answers that are held before the first of them is handed out.
constexpr size_t kMaxReads = 256;
constexpr size_t kBlocks = 8;

bool mentions_secret(const json& value) {
  if (value.is_string()) {
    return value.get_ref<const std::string&>().find("$ENV.") != std::string::npos;
  }
  return value.is_structured() && std::any_of(value.begin(), value.end(),
                                              [](const json& one) { return mentions_secret(one); });
}

bool only_reads(const ToolRegistry::Entry& entry) {
  const ToolInfo& info = entry.tool->info();
  return info.annotations.read_only && info.annotations.idempotent && !info.requires_confirmation &&
         info.risk_level < ToolInfo::Risk::kHigh && info.category == ToolInfo::Category::kDirect &&
         entry.factory == nullptr && info.security_tier <= ToolInfo::Tier::kStandard;
}

}  // namespace

/// One of the calls that are done side by side.
struct Executor::SideCall {
  const ToolCall* call = nullptr;
  std::vector<ToolRegistry::EntryPointer> tools;
  Action action;
  Prepared prepared;
  ToolResult result;
  bool is_done = false;  ///< `result` counts; else it is done in turn
};

/// How many calls from `first` on can be done side by side, with the tools that they mean.
std::vector<Executor::SideCall> Executor::side_calls(const std::vector<ToolCall>& calls,
                                                     size_t first) const {
  std::vector<SideCall> side;
  for (size_t at = first; at < calls.size() && side.size() < kMaxReads; ++at) {
    auto tools = find_tools(calls[at].tool);
    if (!tools || !only_reads(*tools->front())) break;
    // Which of them is the one too many must not depend on who is faster.
    if (config_of(tools->front()->tool->info()).calls_per_minute > 0) break;
    if (calls[at].args && mentions_secret(*calls[at].args)) break;
    SideCall one;
    one.call = &calls[at];
    one.tools = *std::move(tools);
    side.push_back(std::move(one));
  }
  if (side.size() < kMinReads) side.clear();
  return side;
}

size_t Executor::stage_reads(Overlay& overlay, const std::vector<ToolCall>& calls, size_t first,
                             std::vector<ToolResult>& results) {
  if (stack_.is_nested()) return 0;
  std::vector<SideCall> side = side_calls(calls, first);
  if (side.empty()) return 0;
  const size_t block = (side.size() + kBlocks - 1) / kBlocks;
  std::vector<Overlay> views;
  for (size_t begin = 0; begin < side.size(); begin += block) {
    views.push_back(overlay.reading_view());
  }
  std::mutex policy_mutex;
  for_each_block(
      side.size(), block,
      [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
          read_aside(side[i], views[begin / block], policy_mutex);
      },
      kMinReads);
  for (size_t begin = 0; begin < side.size(); begin += block) {
    // Two that saw a file in two states: what was seen first counts, and the others look again.
    const bool is_consistent = overlay.take_reads(views[begin / block]);
    for (size_t i = begin; i < std::min(begin + block, side.size()); ++i) {
      results.push_back(finish_aside(side[i], overlay, is_consistent));
      if (!results.back().ok) return i + 1;
    }
  }
  return side.size();
}

/// On any thread.
void Executor::read_aside(SideCall& one, Overlay& view, std::mutex& policy_mutex) {
  const int64_t started_ns = clock_->wall_ns();
  const auto started = clock_->steady();
  const ToolRegistry::Entry& entry = *one.tools.front();
  one.action = action_of(*one.call);
  one.prepared.args =
      one.call->args ? one.call->args : std::make_shared<const json>(json::object());
  one.prepared.given = one.prepared.args;
  one.prepared.policy_mutex = &policy_mutex;
  prepare(entry, view, one.prepared, one.action);
  if (one.action.record.error || one.prepared.is_open_ended) return;
  {
    const std::lock_guard lock(policy_mutex);
    if (refusal(one.action)) return;
  }
  const SecretProvider none;
  CallSecrets secrets(none, options_.known_secrets);
  one.result = run_supervised(entry, one.prepared, view, secrets);
  one.result = secrets.redacted(std::move(one.result));
  measure(*clock_, started_ns, started, one.result.meta);
  one.is_done = true;
}

/// Puts it on record as if it had been done now; does it now where it was not done.
ToolResult Executor::finish_aside(SideCall& one, Overlay& overlay, bool is_consistent) {
  const bool counts = one.is_done && is_consistent && (one.result.ok || one.tools.size() == 1);
  if (!counts) {
    const Overlay::Entries before = overlay.entries();
    return call_once(overlay, before, *one.call);
  }
  const std::string id = sign_call(*one.call, one.action);
  ToolResult result = pass(&overlay, nullptr, std::move(one.action), [&](AuditEvent&) {
                        return std::move(one.result);
                      }).result;
  result.meta.execution_id = id;
  add_warnings(*one.tools.front(), result.meta);
  return result;
}

}  // namespace galley
