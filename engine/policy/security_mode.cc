#include "engine/policy/security_mode.h"

namespace galley {

const ModeRow& mode_row(SecurityMode mode) { return kModeTable.at(static_cast<size_t>(mode)); }

Decision decision_of(SecurityMode mode, unsigned tier) {
  const auto& by_tier = mode_row(mode).by_tier;
  return tier < by_tier.size() ? by_tier.at(tier) : Decision::kDeny;
}

}  // namespace galley
