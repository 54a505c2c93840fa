#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
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

/// What one attempt at a call looked at; filled in as it reads.
///
/// Threads: confined to the thread of the attempt.
class ReadNotes {
 public:
  explicit ReadNotes(bool is_wanted) : is_wanted_(is_wanted) {}
  /// Before a path is read: an answer about what comes later is then never taken for one about
  /// what was there.
  void note(Overlay& overlay, const RelPath& path);
  /// The answer depends on something else, too (a secret).
  void spoil() { is_wanted_ = false; }
  [[nodiscard]] bool is_whole() const { return is_wanted_; }
  [[nodiscard]] std::vector<ReadContent> take() { return std::move(reads_); }

 private:
  bool is_wanted_;
  std::vector<ReadContent> reads_;
};

/// What stands between a call that may be done and the tool that does it, for all transactions of a
/// workspace: earlier answers, health, queue and rate, and trying again.
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

  /// One call that was allowed.
  struct Call {
    const ToolRegistry::Entry& entry;
    const nlohmann::json& args;
    Overlay& overlay;
    const std::vector<RelPath>& reads;  ///< as its intent has them
    bool is_open_ended = false;         ///< what it touches shows only afterwards
    std::string cwd = {};
    Deadline deadline = {};
    std::stop_token stop = {};
    bool is_nested = false;     ///< a tool makes it: it does not wait in a queue
    uint64_t memory_bytes = 0;  ///< that its programs may take; 0: it runs none
    /// Whether who calls may read a path, for an answer that somebody else asked for.
    std::function<bool(const RelPath&)> may_read = {};
  };
  /// One call on its way to its tool.
  class Turn;
  /// Looks for an earlier answer, and else waits for the tool.
  [[nodiscard]] Turn take(const Call& call);

  /// What `[tools.NAME]` says, or the defaults.
  [[nodiscard]] const ToolConfig& config_of(const std::string& tool) const;
  /// How long one call may take that has `usual` by its definition.
  [[nodiscard]] std::chrono::milliseconds time_for(const std::string& tool,
                                                   std::chrono::milliseconds usual) const;
  [[nodiscard]] ToolHealth::State health_of(const std::string& tool) const {
    return health_.state(tool);
  }

 private:
  [[nodiscard]] ToolResult no_place(const std::string& tool, const Error& why) const;
  void take_heed(const std::string& tool, const ToolConfig& config, const ToolResult& result);

  const Clock* clock_;
  const std::map<std::string, ToolConfig>* configs_;
  RetryRule retry_;
  ToolHealth health_;
  ToolQuotas quotas_;
  ResultCache cache_;
};

/// Ask for answer() first. While that is empty, try the tool and hand over each result:
///
///     while (!turn.answer()) turn.note(try_it(turn.notes()));
///
/// Ownership: borrows the call and the supervisor. Holds the call's place until it goes.
class CallSupervisor::Turn {
 public:
  /// What the caller gets: meta.attempts and meta.cached tell how it came about.
  [[nodiscard]] std::optional<ToolResult>& answer() { return answer_; }
  /// For the next try.
  [[nodiscard]] ReadNotes& notes() { return notes_; }
  /// What came of a try: the answer, or after a pause the reason for another one. What a failed try
  /// staged is taken back before the next.
  void note(ToolResult result);

 private:
  friend class CallSupervisor;
  Turn(CallSupervisor& owner, const Call& call);
  [[nodiscard]] bool is_tried_again(const ToolResult& result) const;

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
