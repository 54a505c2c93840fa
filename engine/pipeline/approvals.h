#pragma once

#include <galley/path.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// The approval of one proposal by a person, given before the gate asks.
struct GivenApproval {
  ContentId proposal;
  std::vector<std::string> by;  ///< the persons, for the record; at least one
  int64_t given_ns = 0;
  TxId after = {};  ///< the newest transaction at that time; 0 for an empty history
};

/// How long an approval of a proposal, or of a call of a tool, stays valid.
inline constexpr int64_t kApprovalLastsNs = int64_t{24} * 3600 * 1'000'000'000;

/// Writes an approval to `.galley/approvals/<workspace id>/<hex id>`. If another person
/// gave one before, the file has both; it is then as old as the first one.
///
///     galley approval 2
///     <wall clock, ns>
///     <newest transaction>
///     <person>, one or more lines
[[nodiscard]] Result<void> keep_approval(const StateDirectory& state, const ContentId& proposal,
                                         const std::string& by, int64_t now_ns);

/// Returns the approval of this proposal if it is at most a day old and no commit has used it.
/// After a crash the file may outlive its commit, so the function also searches the history since
/// the approval. If that part of the history was pruned, the approval is not valid.
/// Errors: kInvalid `approval.damaged`.
[[nodiscard]] Result<std::optional<GivenApproval>> find_approval(const StateDirectory& state,
                                                                 const ContentId& proposal,
                                                                 int64_t now_ns);

/// Removes the approval of a proposal, if there is one.
[[nodiscard]] Result<void> drop_approval(const StateDirectory& state, const ContentId& proposal);

}  // namespace galley
