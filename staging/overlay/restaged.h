#pragma once

#include <vector>

#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The paths that hold something else in one state of what is staged than in another; what was only
/// read is not among them.
[[nodiscard]] std::vector<RelPath> restaged_paths(const Overlay::Entries& before,
                                                  const Overlay::Entries& now);

/// What was staged since the overlay held `before`, as a proposal of its own.
[[nodiscard]] Proposal staged_since(const Overlay::Entries& before, const Overlay& overlay);

}  // namespace galley
