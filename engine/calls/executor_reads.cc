#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "engine/calls/executor.h"
#include "engine/calls/secrets.h"

namespace galley {

// Consecutive calls that only read run in parallel. Each thread has its own view of the overlay
// (Overlay::reading_view). Results and records keep the order of the calls.
//
//     find tools | prepare, check, run    | take reads, record
//     this thread| on all cores, by blocks| this thread, in order
//
// A worker may use its view, its block of calls, immutable objects (options, scope, registry
// entries) and objects with their own lock (the supervisor, the store). The policy reads the
// overlay itself, under policy_mutex; no other thread uses the overlay meanwhile. Log, progress and
// secrets need the thread of the caller, so these calls get none, and calls that ask for a secret
// do not run here.

namespace {

using nlohmann::json;

/// Starting a thread costs about as much as one small Read.
constexpr size_t kMinReads = 4;
/// Results that are held back until the first of them is returned.
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

/// One of the parallel calls.
struct Executor::ParallelRead {
  const ToolCall* call = nullptr;
  std::vector<ToolRegistry::EntryPointer> tools;
  std::optional<Ran> ran = {};  ///< empty: it has not run yet, and runs in its turn
};

/// Whether calls of the tool need an approval, whatever their arguments are.
bool Executor::asks_for_confirmation(const ToolInfo& info) const {
  return options_.desk && rule_for_call(options_.desk->mode, info).decision != Decision::kAllow;
}

/// Returns the calls from `first` on that can run in parallel, each with its tools.
std::vector<Executor::ParallelRead> Executor::parallel_reads(const std::vector<ToolCall>& calls,
                                                             size_t first) const {
  std::vector<ParallelRead> side;
  if (calls.size() - first < kMinReads) return side;
  for (size_t at = first; at < calls.size() && side.size() < kMaxReads; ++at) {
    if (calls[at].flaw) break;
    auto tools = find_tools(calls[at].tool);
    if (!tools || !only_reads(*tools->front())) break;
    if (asks_for_confirmation(tools->front()->tool->info())) break;
    // The rate limit must not depend on which thread is faster.
    if (config_of(tools->front()->tool->info()).calls_per_minute > 0) break;
    if (calls[at].args && mentions_secret(*calls[at].args)) break;
    ParallelRead one;
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
  std::vector<ParallelRead> side = parallel_reads(calls, first);
  if (side.empty() || !recorder_->make_room()) return 0;  // one after another, an error is told
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
          read_in_parallel(side[i], views[begin / block], policy_mutex);
      },
      kMinReads);
  for (size_t begin = 0; begin < side.size(); begin += block) {
    // If two threads saw a file in two states, the first state counts, and the others read again.
    const bool is_consistent = overlay.take_reads(views[begin / block]);
    for (size_t i = begin; i < std::min(begin + block, side.size()); ++i) {
      results.push_back(finish_parallel_read(side[i], overlay, is_consistent));
      if (!results.back().ok) return i + 1;
    }
  }
  return side.size();
}

/// Runs on any thread.
void Executor::read_in_parallel(ParallelRead& one, Overlay& view, std::mutex& policy_mutex) {
  const ToolRegistry::Entry& entry = *one.tools.front();
  Admitted what = asked(*one.call);
  prepare(entry, view, what);
  if (what.action.record.error || what.action.intent.is_open_ended) return;
  {
    const std::lock_guard lock(policy_mutex);
    if (refusal(what.action)) return;
  }
  Allowed allowed(std::move(what));
  const SecretProvider none;
  CallSecrets secrets(none, options_.known_secrets);
  ToolResult result = run_supervised(allowed, {entry, view, secrets, &policy_mutex});
  measure(allowed.what().arrival, result.meta);
  one.ran = Ran(std::move(allowed), secrets.redacted(std::move(result)));
}

/// Records the call as if it ran now. A call that has not run yet runs now.
ToolResult Executor::finish_parallel_read(ParallelRead& one, Overlay& overlay, bool is_consistent) {
  const bool counts = one.ran && is_consistent && (one.ran->result_.ok || one.tools.size() == 1);
  if (!counts) {
    const Overlay::Entries before = overlay.entries();
    return call_once(overlay, before, *one.call);
  }
  AuditEvent& record = one.ran->action_.record;
  name_call(*one.call, record);
  const SecretProvider none;
  CallSecrets(none, options_.known_secrets).redact(record);
  note_absent(one.ran->action_.intent, overlay);
  ToolResult result = record_result(*std::move(one.ran), {.overlay = &overlay}).result;
  add_warnings(*one.tools.front(), result.meta);
  return result;
}

}  // namespace galley
