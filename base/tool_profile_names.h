#pragma once

#include <array>
#include <string_view>

namespace galley {

/// The names of the tool profiles (tools/profiles.h). The code that reads the configuration must
/// not include tools/, so it uses these.
inline constexpr std::array<std::string_view, 10> kToolProfileNames = {
    "native", "claude", "openai", "gemini", "mcp-fs",
    "sage",   "tenex",  "aios",   "nachos", "faultmaven"};

}  // namespace galley
