#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "engine/calls/action.h"
#include "engine/policy/policy.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// What a session refuses, whoever asks.
struct SessionBounds {
  bool reads_only = false;
  std::string live_run = {};  ///< the transaction whose run stages here; empty: none does
  /// Why grants cannot be read: then nothing is granted, and this is the reason of every no.
  std::optional<Error> no_grants = {};
};

/// What the policy can say of an action before anything is done: the agent's list of tools, the
/// paths that a call names, and what the agent may read.
///
/// It only ever adds a no: a write is refused here when the policy would refuse it whatever it did
/// to the path, and everything else is left to the gate, which sees the effect. Reading is decided
/// here for good, since it has no effect that the gate could see.
/// Ownership: borrows configuration and overlay, which may be null where no path is named.
/// Threads:   as the overlay.
class EarlyPolicy {
 public:
  EarlyPolicy(const Config& config, Principals who, Overlay* overlay, SessionBounds session = {})
      : config_(&config),
        policy_(config),
        who_(std::move(who)),
        overlay_(overlay),
        session_(std::move(session)) {}

  /// Nothing when the action may go on.
  [[nodiscard]] std::optional<Error> refusal(const Action& action) const;
  /// Nothing when what was staged may stay until the gate judges it. In a transaction of several
  /// nothing stays that one of them may not do; an edit has to be what the listed tools could make.
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Action& action,
                                                       const Overlay::Entries& before,
                                                       const Overlay::Entries& now) const;
  /// Whether refusal_of_effect can say no at all.
  [[nodiscard]] bool judges_effects() const;
  /// which files searches may show; empty when the agent may read everything.
  [[nodiscard]] std::function<bool(const RelPath&)> reading_rule() const;
  /// What this agent's calls are given, as strings, before refusal() narrows it: everything but the
  /// network, and `net:host` only where both its profile and galley.toml grant it.
  [[nodiscard]] std::vector<std::string> capabilities() const;
  /// Whether who asks has a capability, by profile, grants and revocations as they are now; of
  /// files, programs and network a part of it is enough.
  [[nodiscard]] bool gives(std::string_view needed) const;

 private:
  [[nodiscard]] std::optional<Error> refusal_by_session(const Action& action) const;
  [[nodiscard]] std::optional<Error> refusal_by_rules(const Action& action) const;
  /// Why a tool cannot be called by this name: it is not in the caller's profile of tools.
  [[nodiscard]] std::optional<Error> not_in_profile(std::string_view tool) const;
  /// Why a command cannot be run: no tool of the caller's profile runs one.
  [[nodiscard]] std::optional<Error> no_shell_in_profile() const;
  [[nodiscard]] Judgement judge_write(const RelPath& path) const;
  [[nodiscard]] Judgement judge_source(const RelPath& path, bool only_looks) const;

  const Config* config_;
  Policy policy_;
  Principals who_;
  Overlay* overlay_;
  SessionBounds session_;
};

/// Whether a file may have the size that a change gives it.
/// Errors: kQuota `limit.file_size`.
Result<void> check_file_size(const LimitsConfig& limits, const RelPath& path, const Node& before,
                             const Node& after);

/// What a session that only reads is refused.
[[nodiscard]] Error refusal_of_writing();

/// The denials among what was staged from `before` to `now`, for each file or link; directories
/// are left to the gate.
[[nodiscard]] std::vector<Judgement> denied_changes(const Config& config, const Principals& who,
                                                    const Overlay::Entries& before,
                                                    const Overlay::Entries& now);

/// A denial as an Error that names the rule and the way out.
[[nodiscard]] Error error_of(const Judgement& judgement);

/// What the entry does to its path, as rules name it.
[[nodiscard]] PathOperation staged_operation(const Overlay::Entry& entry);

/// What of a proposal may be shown to somebody, and the paths that were left out.
struct ReadablePart {
  Proposal proposal;
  std::vector<RelPath> left_out;
};

/// Whether the agent may be shown what a file holds: `fs:read` of its profile, if it has one.
[[nodiscard]] bool may_show(const Policy& policy, const RelPath& path, std::string_view agent);

/// Leaves out every file that the agent may not read, and every file whose content came from one.
[[nodiscard]] ReadablePart readable_part(const Proposal& proposal, const Policy& policy,
                                         std::string_view agent);

}  // namespace galley
