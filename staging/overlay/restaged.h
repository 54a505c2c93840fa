#pragma once

#include <vector>

#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The paths whose nodes differ between two states of the overlay, without paths that were only
/// read.
[[nodiscard]] std::vector<RelPath> restaged_paths(const Overlay::Entries& before,
                                                  const Overlay::Entries& now);

/// The changes since the overlay had the entries `before`, as a separate proposal.
[[nodiscard]] Proposal staged_since(const Overlay::Entries& before, const Overlay& overlay);

}  // namespace galley
