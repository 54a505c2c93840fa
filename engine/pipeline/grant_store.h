#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <galley/workspace.h>
#include "base/result.h"
#include "engine/audit/audit.h"
#include "engine/commit/state_directory.h"
#include "engine/policy/config.h"
#include "engine/policy/grant_book.h"

namespace galley {

class PersistentState;
class Rules;
using Grant = Workspace::Grant;

/// The store of grants and revocations: `.galley/grants/<workspace id>/<hash>`, one file per agent
/// and capability, readable by this user only. The newest one replaces the earlier ones.
///
///     galley grant 1
///     <wall clock, ns>
///     <person>
///     <agent>
///     <capability, with ! in front if it was revoked>
///
/// Ownership: borrows the state directory.
/// Threads:   confined to one thread.
/// Errors:    kInvalid `grant.damaged` for a file that cannot be trusted. It may be a revocation,
///            so no grant is valid until it is deleted. kQuota `limit.grants`; kIo.
class GrantStore {
 public:
  static constexpr size_t kMaxGrants = 1000;  ///< grants and revocations of a workspace

  explicit GrantStore(const StateDirectory& state) : state_(&state) {}

  Result<void> keep(const Grant& grant) const;
  /// Returns the grants and revocations, oldest first.
  [[nodiscard]] Result<std::vector<Grant>> list() const;
  /// Returns the status of the folder, to detect changes. kAbsent is a value.
  [[nodiscard]] Result<FileStat> stat() const;

 private:
  const StateDirectory* state_;
};

/// Converts grants to the form that the policy reads.
/// Errors: kInvalid `grant.damaged`.
[[nodiscard]] Result<GrantBook::Pages> pages_of(const std::vector<Grant>& grants);

/// Returns why this capability cannot be granted (galley.toml denies it to the agent, or it is for
/// people only), or nothing.
/// Errors: kRefused `grant.wider_than_configuration`; kInvalid `grant.agent`, `capability.invalid`.
[[nodiscard]] std::optional<Error> objection_to_grant(const Config& config, const Grant& grant);

/// Records a decision that only a person may take. Refuses it with `no_agent` if the caller is an
/// agent, or with the error of `check`.
Result<void> record_person_decision(const Rules& rules, PersistentState& persistent,
                                    const TransactionOptions& who, AuditEvent event,
                                    const Error& no_agent,
                                    const std::function<Result<void>()>& check);

/// Records and stores a grant or revocation, with the present time. It applies from the next call.
/// Errors: as Workspace::grant.
Result<void> record_grant(const Rules& rules, PersistentState& persistent,
                          const TransactionOptions& who, Grant grant);

}  // namespace galley
