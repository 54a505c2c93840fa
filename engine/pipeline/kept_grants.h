#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <galley/workspace.h>
#include "base/result.h"
#include "engine/audit/audit.h"
#include "engine/commit/state_directory.h"
#include "engine/policy/config.h"
#include "engine/policy/grant_book.h"

namespace galley {

using Grant = Workspace::Grant;

/// What people granted and revoked: `.galley/grants/<workspace id>/<hash>`, one file for each agent
/// and capability, of this user alone. What was said last of the two replaces what was said before.
///
///     galley grant 1
///     <wall clock, ns>
///     <who said it>
///     <agent>
///     <capability, with ! in front when it was revoked>
///
/// Ownership: borrows the state directory. Threads: confined to one thread.
/// Errors:    kInvalid `grant.damaged` for a file that cannot be believed: what it took away is not
///            known, so that nothing counts until it is gone; kQuota `limit.grants`; kIo.
class KeptGrants {
 public:
  static constexpr size_t kMaxGrants = 1000;

  explicit KeptGrants(const StateDirectory& state) : state_(&state) {}

  Result<void> keep(const Grant& grant) const;
  /// Oldest first.
  [[nodiscard]] Result<std::vector<Grant>> list() const;
  /// The folder as it is, to see whether it changed; kAbsent is a value.
  [[nodiscard]] Result<FileStat> stat() const;

 private:
  const StateDirectory* state_;
};

/// Grants as the policy reads them.
/// Errors: kInvalid `grant.damaged`.
[[nodiscard]] Result<GrantBook::Pages> pages_of(const std::vector<Grant>& grants);

/// Why this cannot be granted: galley.toml denies it to the agent, or it is for people only;
/// nothing when it can.
/// Errors: kRefused `grant.wider_than_configuration`; kInvalid `grant.agent`, `capability.invalid`.
[[nodiscard]] std::optional<Error> objection_to_grant(const Config& config, const Grant& grant);

/// What only a person may say: it goes on record, and is refused with `no_agent` when an agent says
/// it, or when `check` does.
Result<void> say_as_person(const Rules& rules, KeptState& kept, const TransactionOptions& who,
                           AuditEvent event, const Error& no_agent,
                           const std::function<Result<void>()>& check);

/// Grants or revokes: on record, then kept, and from the next call on it counts. The time is filled
/// in.
/// Errors: as Workspace::grant.
Result<void> say_grant(const Rules& rules, KeptState& kept, const TransactionOptions& who,
                       Grant grant);

}  // namespace galley
