#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/calls/result_cache.h"
#include "engine/calls/retry_rule.h"
#include "engine/calls/tool_health.h"
#include "engine/calls/tool_quotas.h"
#include "engine/policy/tool_config.h"
#include "staging/overlay/overlay.h"
#include "tools/registry.h"

namespace galley {

/// The contents that one attempt of a call read so far.
///
/// Threads: confined to the thread of the attempt.
class ReadNotes {
 public:
  explicit ReadNotes(bool is_wanted) : is_wanted_(is_wanted) {}
  /// Records the contents of a path before the tool reads it. If they change during the read, the
  /// cached result is then invalid.
  void note(Overlay& overlay, const RelPath& path);
  /// Call it if the result also depends on other input, for example a secret. Then it is not
  /// cached.
  void forbid_caching() { is_wanted_ = false; }
  [[nodiscard]] bool is_whole() const { return is_wanted_; }
  [[nodiscard]] std::vector<ReadContent> take() { return std::move(reads_); }

 private:
  bool is_wanted_;
  std::vector<ReadContent> reads_;
};

/// Manages the allowed tool calls of all transactions of a workspace: cached results, health, rate,
/// queue and retries.
///
///     cached? -> healthy? -> rate and queue -> attempt -> transient? -> pause -> attempt -> …
///
/// Ownership: borrows clock and configuration, which must outlive it.
/// Threads:   safe to share; waits on the caller's thread.
/// Errors:    those of ToolQuotas and ToolHealth, as a ToolResult.
class CallSupervisor {
 public:
  CallSupervisor(const Clock& clock, const std::map<std::string, ToolConfig>& configs,
                 RetryRule retry = {}, HealthRule health = {});

  /// One allowed call.
  struct Call {
    const ToolRegistry::Entry& entry;
    const nlohmann::json& args;
    Overlay& overlay;
    const std::vector<RelPath>& reads;  ///< the paths that its intent lists
    bool is_open_ended = false;         ///< its effects are known only after it ran
    std::string cwd = {};
    Deadline deadline = {};
    std::stop_token stop = {};
    bool is_nested = false;     ///< called by a tool: it does not wait in a queue
    uint64_t memory_bytes = 0;  ///< memory that its programs may use; 0: it runs none
    /// Whether the caller may read a path. Needed before it gets a result that was cached for
    /// another agent.
    std::function<bool(const RelPath&)> may_read = {};
  };
  /// The state of one call.
  class SupervisedCall;
  /// Looks for a cached result. If there is none, waits until the tool may be called.
  [[nodiscard]] SupervisedCall take(const Call& call);

  /// The settings of `[tools.NAME]`, or the defaults.
  [[nodiscard]] const ToolConfig& config_of(const std::string& tool) const;
  /// The maximum duration of one call. `usual` is the duration in the definition of the tool.
  [[nodiscard]] std::chrono::milliseconds time_for(const std::string& tool,
                                                   std::chrono::milliseconds usual) const;
  [[nodiscard]] ToolHealth::State health_of(const std::string& tool) const {
    return health_.state(tool);
  }

 private:
  [[nodiscard]] ToolResult quota_failure(const std::string& tool, const Error& why) const;
  void update_health(const std::string& tool, const ToolConfig& config, const ToolResult& result);

  const Clock* clock_;
  const std::map<std::string, ToolConfig>* configs_;
  RetryRule retry_;
  ToolHealth health_;
  ToolQuotas quotas_;
  ResultCache cache_;
};

/// Call answer() first. While it is empty, run the tool and pass each result to note():
///
///     while (!supervised.answer()) supervised.note(try_it(supervised.notes()));
///
/// Ownership: borrows the call and the supervisor. Its destructor frees the place of the call.
class CallSupervisor::SupervisedCall {
 public:
  /// The result for the caller. `meta.attempts` and `meta.cached` show how it was obtained.
  [[nodiscard]] std::optional<ToolResult>& answer() { return answer_; }
  /// The notes of the next attempt.
  [[nodiscard]] ReadNotes& notes() { return notes_; }
  /// Takes the result of an attempt. Either it becomes the answer, or note() reverts the staged
  /// changes, pauses, and another attempt follows.
  void note(ToolResult result);

 private:
  friend class CallSupervisor;
  SupervisedCall(CallSupervisor& owner, const Call& call);
  [[nodiscard]] bool is_retried(const ToolResult& result) const;

  CallSupervisor* owner_;
  const Call* call_;
  const ToolConfig* config_;
  bool is_watched_ = false;
  bool may_repeat_ = false;
  uint32_t attempts_ = 0;
  std::optional<ContentId> question_;
  std::optional<Overlay::Entries> before_;
  std::optional<ToolQuotas::Place> place_;
  ReadNotes notes_;
  std::optional<ToolResult> answer_;
};

}  // namespace galley
