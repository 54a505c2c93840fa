#pragma once

#include <array>
#include <string_view>

#include "engine/policy/config.h"

namespace galley {

/// The decisions of one mode for calls of each tier, 0 to 4.
struct ModeRow {
  SecurityMode mode;
  std::string_view name;
  std::array<Decision, 5> by_tier;
};

/// The table of docs/policy.md: kAllow runs, kAsk needs a confirmation, kDeny refuses.
inline constexpr std::array<ModeRow, 3> kModeTable = {{
    {SecurityMode::kStrict,
     "strict",
     {Decision::kAllow, Decision::kAllow, Decision::kAsk, Decision::kDeny, Decision::kDeny}},
    {SecurityMode::kStandard,
     "standard",
     {Decision::kAllow, Decision::kAllow, Decision::kAllow, Decision::kAsk, Decision::kDeny}},
    {SecurityMode::kPermissive,
     "permissive",
     {Decision::kAllow, Decision::kAllow, Decision::kAllow, Decision::kAsk, Decision::kAsk}},
}};

/// Returns the row of a mode.
[[nodiscard]] inline const ModeRow& mode_row(SecurityMode mode) {
  return kModeTable.at(static_cast<size_t>(mode));
}
/// Returns the mode's decision for a call of a tool of this tier; kDeny for an unknown tier.
[[nodiscard]] inline Decision decision_of(SecurityMode mode, unsigned tier) {
  const auto& by_tier = mode_row(mode).by_tier;
  return tier < by_tier.size() ? by_tier.at(tier) : Decision::kDeny;
}

}  // namespace galley
