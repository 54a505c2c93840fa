#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/policy/policy.h"
#include "staging/overlay/overlay.h"
#include "tools/tool.h"

namespace galley {

/// What the policy can say of a tool call before anything is done: the agent's tools, the paths
/// that the call names, and what the agent may read.
///
/// It only ever adds a no: a write is refused here when the policy would refuse it whatever it did
/// to the path, and everything else is left to the gate, which sees the effect. Reading is decided
/// here for good, since it has no effect that the gate could see.
/// Ownership: borrows configuration and overlay. Threads: as the overlay.
class EarlyPolicy {
 public:
  EarlyPolicy(const Config& config, Principals who, Overlay& overlay)
      : config_(&config), policy_(config), who_(std::move(who)), overlay_(&overlay) {}

  /// Nothing when the call may go on.
  [[nodiscard]] std::optional<ToolError> refusal(const ToolInfo& info, const Intent& intent) const;
  /// which files searches may show; empty when the agent may read everything.
  [[nodiscard]] std::function<bool(const RelPath&)> reading_rule() const;
  /// What this agent's calls are given, as strings: with `net:host` only where both its profile
  /// and galley.toml grant the network.
  [[nodiscard]] std::vector<std::string> capabilities() const;

 private:
  [[nodiscard]] Judgement judge_write(const RelPath& path) const;
  [[nodiscard]] Judgement judge_source(const RelPath& path, bool only_looks) const;

  const Config* config_;
  Policy policy_;
  Principals who_;
  Overlay* overlay_;
};

/// The denials among what was staged from `before` to `now`, for each file or link; directories
/// are left to the gate.
[[nodiscard]] std::vector<Judgement> denied_changes(const Config& config, const Principals& who,
                                                    const Overlay::Entries& before,
                                                    const Overlay::Entries& now);

/// What the entry does to its path, as rules name it.
[[nodiscard]] PathOperation staged_operation(const Overlay::Entry& entry);

}  // namespace galley
