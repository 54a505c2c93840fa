#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "engine/calls/action.h"
#include "engine/policy/policy.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// Restrictions of a session, for every caller.
struct SessionBounds {
  bool reads_only = false;
  std::string live_run = {};  ///< the transaction whose run stages here; empty: none
  /// Why the grants cannot be read. Then nothing is granted, and this error is the reason of every
  /// refusal.
  std::optional<Error> no_grants = {};
};

/// The part of the policy that can be checked before an action is performed: the agent's list of
/// tools, the paths that a call names, and the files that the agent may read.
///
/// It can only refuse. A write is refused here if the policy would refuse every operation on the
/// path. All other writes are left to the gate, which sees the effect. The decision about a read is
/// final, because a read has no effect that the gate could see.
/// Ownership: borrows configuration and overlay. The overlay may be null if no path is named.
/// Threads:   as the overlay.
class EarlyPolicy {
 public:
  EarlyPolicy(const Config& config, Principals who, Overlay* overlay, SessionBounds session = {})
      : config_(&config),
        policy_(config),
        who_(std::move(who)),
        overlay_(overlay),
        session_(std::move(session)) {}

  /// Returns an error if the action must not be performed.
  [[nodiscard]] std::optional<Error> refusal(const Action& action) const;
  /// Returns an error if the staged changes must be reverted now, before the gate judges them. In a
  /// transaction with several contributors, every one of them must be allowed to make every change.
  /// An edit must be a change that the listed tools could make.
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Action& action,
                                                       const Overlay::Entries& before,
                                                       const Overlay::Entries& now) const;
  /// Whether refusal_of_effect can return an error at all.
  [[nodiscard]] bool judges_effects() const;
  /// Returns the filter of files that searches may show. Empty: the agent may read everything.
  [[nodiscard]] std::function<bool(const RelPath&)> reading_rule() const;
  /// The capabilities of this agent's calls, as strings, before refusal() judges each call. They
  /// are all capabilities except the network. `net:host` is included only if both the agent's
  /// profile and galley.toml grant it.
  [[nodiscard]] std::vector<std::string> capabilities() const;
  /// Whether the agent has a capability now, by profile, grants and revocations. For files,
  /// programs and network a part of the capability is enough.
  [[nodiscard]] bool gives(std::string_view needed) const;

 private:
  [[nodiscard]] std::optional<Error> refusal_by_session(const Action& action) const;
  [[nodiscard]] std::optional<Error> refusal_by_rules(const Action& action) const;
  /// Returns an error if the call asks for more time than `sandbox.timeout_ms`.
  [[nodiscard]] std::optional<Error> refusal_of_time(const Intent& intent) const;
  /// Returns an error if the tool is not in the caller's tool profile.
  [[nodiscard]] std::optional<Error> not_in_profile(std::string_view tool) const;
  /// Returns an error if no tool in the caller's tool profile runs commands.
  [[nodiscard]] std::optional<Error> no_shell_in_profile() const;
  [[nodiscard]] std::optional<Error> refusal_by_equal_tool(const Action& action) const;
  [[nodiscard]] Judgement judge_write(const RelPath& path) const;
  [[nodiscard]] Judgement judge_source(const RelPath& path, bool only_looks) const;

  const Config* config_;
  Policy policy_;
  Principals who_;
  Overlay* overlay_;
  SessionBounds session_;
};

/// Checks the size that a change gives a file.
/// Errors: kQuota `limit.file_size`.
Result<void> check_file_size(const LimitsConfig& limits, const RelPath& path, const Node& before,
                             const Node& after);

/// The error for writes in a read-only session.
[[nodiscard]] Error refusal_of_writing();

/// Returns the denials of changes between `before` and `now`, one for each file or link.
/// Directories are left to the gate.
[[nodiscard]] std::vector<Judgement> denied_changes(const Config& config, const Principals& who,
                                                    const Overlay::Entries& before,
                                                    const Overlay::Entries& now);

/// Converts a denial into an Error that names the rule and the remedy.
[[nodiscard]] Error error_of(const Judgement& judgement);

/// The operation on the path of this entry, as rules name it.
[[nodiscard]] PathOperation staged_operation(const Overlay::Entry& entry);

/// The part of a proposal that an agent may see, and the paths that were removed from it.
struct ReadablePart {
  Proposal proposal;
  std::vector<RelPath> left_out;
};

/// Whether the agent may see the contents of a file. If the agent has a profile, its `fs:read`
/// decides.
[[nodiscard]] bool may_show(const Policy& policy, const RelPath& path, std::string_view agent);

/// Removes every file that the agent may not read, and every file whose content came from such a
/// file.
[[nodiscard]] ReadablePart readable_part(const Proposal& proposal, const Policy& policy,
                                         std::string_view agent);

}  // namespace galley
