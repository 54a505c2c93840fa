#pragma once

#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// What was staged since the overlay held `before`, as a proposal of its own.
[[nodiscard]] Proposal staged_since(const Overlay::Entries& before, const Overlay& overlay);

}  // namespace galley
