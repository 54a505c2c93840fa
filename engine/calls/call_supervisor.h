#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
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
  using Attempt = std::function<ToolResult(ReadNotes& notes)>;

  /// Does it, perhaps more than once, perhaps not at all: meta.attempts and meta.cached tell.
  [[nodiscard]] ToolResult run(const Call& call, const Attempt& attempt);

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
  [[nodiscard]] ToolResult repeat(const Call& call, const Attempt& attempt, ReadNotes& notes) const;

  const Clock* clock_;
  const std::map<std::string, ToolConfig>* configs_;
  RetryRule retry_;
  ToolHealth health_;
  ToolQuotas quotas_;
  ResultCache cache_;
};

}  // namespace galley
