#pragma once

#include <galley/path.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/content_id.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// A person's yes to one proposal, given before the question.
struct GivenApproval {
  ContentId proposal;
  std::string by;  ///< who said it, for the record
  int64_t given_ns = 0;
  TxId after = {};  ///< the newest transaction of the history then; 0: there was none
};

/// How long a yes that was given beforehand counts, to a proposal and to a call of a tool.
inline constexpr int64_t kApprovalLastsNs = int64_t{24} * 3600 * 1'000'000'000;

/// Keeps a yes as `.galley/approvals/<workspace id>/<hex id>`; a second one replaces the first.
///
///     galley approval 2
///     <wall clock, ns>
///     <newest transaction>
///     <who>
[[nodiscard]] Result<void> keep_approval(const StateDirectory& state, const ContentId& proposal,
                                         const std::string& by, int64_t now_ns);

/// Returns the yes to this proposal if it is at most a day old and no commit has used it. A crash
/// may leave it after its commit, so the history since then is read. If that was pruned, the yes
/// does not count.
/// Errors: kInvalid `approval.damaged`.
[[nodiscard]] Result<std::optional<GivenApproval>> find_approval(const StateDirectory& state,
                                                                 const ContentId& proposal,
                                                                 int64_t now_ns);

/// Takes it back, or away once it was used; absent is fine.
[[nodiscard]] Result<void> drop_approval(const StateDirectory& state, const ContentId& proposal);

}  // namespace galley
