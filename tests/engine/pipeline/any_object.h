#pragma once

namespace galley {

/// The schema of tools whose arguments and results do not matter.
inline constexpr const char* kAnyObject = R"({"type": "object"})";

}  // namespace galley
