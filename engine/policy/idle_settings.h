#pragma once

#include <string>
#include <vector>

#include "engine/policy/config.h"

namespace galley {

/// Returns the settings that select nothing, one line each, with their place. They are not errors:
/// a galley.toml that could not be read would also refuse its own repair.
[[nodiscard]] std::vector<std::string> idle_settings(const Config& config);

}  // namespace galley
