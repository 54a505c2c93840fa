#pragma once

namespace galley {

/// A schema for tools whose arguments and results do not matter.
inline constexpr const char* kAnyObject = R"({"type": "object"})";

}  // namespace galley
