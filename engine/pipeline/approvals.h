#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/content_id.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// Somebody's yes to one proposal, given before it is asked for.
struct GivenApproval {
  ContentId proposal;
  std::string by;  ///< who said it, for the record
  int64_t given_ns = 0;
};

/// Keeps a yes as `.galley/approvals/<workspace id>/<hex id>`; a second one replaces the first.
///
///     galley approval 1
///     <wall clock, ns>
///     <who>
[[nodiscard]] Result<void> keep_approval(const StateDirectory& state, const GivenApproval& approval);

/// The yes that was given to this proposal.
/// Errors: kInvalid `approval.damaged`.
[[nodiscard]] Result<std::optional<GivenApproval>> find_approval(const StateDirectory& state,
                                                                 const ContentId& proposal);

/// Takes it back, or away once it was used; absent is fine.
[[nodiscard]] Result<void> drop_approval(const StateDirectory& state, const ContentId& proposal);

}  // namespace galley
