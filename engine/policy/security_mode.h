#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/policy/config.h"

namespace galley {

/// What one mode does with a call of each tier, 0 to 4.
struct ModeRow {
  SecurityMode mode;
  std::string_view name;
  std::array<Decision, 5> by_tier;
};

/// The table of docs/policy.md: kAllow runs, kAsk needs somebody's yes, kDeny refuses.
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

[[nodiscard]] const ModeRow& mode_row(SecurityMode mode);
/// What the mode does with a call of a tool of this tier; a tier that there is not is refused.
[[nodiscard]] Decision decision_of(SecurityMode mode, unsigned tier);

}  // namespace galley
