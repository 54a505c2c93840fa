#pragma once

#include <array>
#include <string_view>

namespace galley {

/// The profiles of tools (tools/profiles.h), for the configuration, which cannot see tools/.
inline constexpr std::array<std::string_view, 10> kToolProfileNames = {
    "native", "claude", "openai", "gemini", "mcp-fs",
    "sage",   "tenex",  "aios",   "nachos", "faultmaven"};

}  // namespace galley
