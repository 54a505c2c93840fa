#pragma once

#include <string>
#include <vector>

#include "engine/policy/finding.h"

namespace galley {

/// For each finding a hash that stays when lines move: of its rule, path and message, and how many
/// with the same three stand before it. SARIF calls this a partial fingerprint.
[[nodiscard]] std::vector<std::string> fingerprints_of(const std::vector<Finding>& findings);

}  // namespace galley
