#pragma once

#include <vector>

#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The paths whose nodes differ between two states of the overlay; paths that were only read are
/// not included.
[[nodiscard]] std::vector<RelPath> restaged_paths(const Overlay::Entries& before,
                                                  const Overlay::Entries& now);

/// The changes staged since the overlay had `before`, as a proposal of its own.
[[nodiscard]] Proposal staged_since(const Overlay::Entries& before, const Overlay& overlay);

}  // namespace galley
