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
  std::optional<Ran> ran = {};  ///< nothing: it is done in turn
};

/// Whether calls of the tool wait for somebody, whatever their arguments.
bool Executor::asks_for_a_yes(const ToolInfo& info) const {
  return options_.desk && rule_for_call(options_.desk->mode, info).decision != Decision::kAllow;
}

/// How many calls from `first` on can be done side by side, with the tools that they mean.
std::vector<Executor::SideCall> Executor::side_calls(const std::vector<ToolCall>& calls,
                                                     size_t first) const {
  std::vector<SideCall> side;
  for (size_t at = first; at < calls.size() && side.size() < kMaxReads; ++at) {
    auto tools = find_tools(calls[at].tool);
    if (!tools || !only_reads(*tools->front())) break;
    if (asks_for_a_yes(tools->front()->tool->info())) break;
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

/// Puts it on record as if it had been done now; does it now where it was not done.
ToolResult Executor::finish_aside(SideCall& one, Overlay& overlay, bool is_consistent) {
  const bool counts = one.ran && is_consistent && (one.ran->result_.ok || one.tools.size() == 1);
  if (!counts) {
    const Overlay::Entries before = overlay.entries();
    return call_once(overlay, before, *one.call);
  }
  AuditEvent& record = one.ran->action_.record;
  name_call(*one.call, record);
  const SecretProvider none;
  CallSecrets(none, options_.known_secrets).redact(record);
  ToolResult result = put_on_record(*std::move(one.ran), {.overlay = &overlay}).result;
  add_warnings(*one.tools.front(), result.meta);
  return result;
}

}  // namespace galley
