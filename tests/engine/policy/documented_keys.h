#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/policy/config.h"

namespace galley {

/// The keys that a document has a table row for, `| `key` | type | `default` | meaning |`, with
/// their defaults.
std::map<std::string, std::string> documented_keys(const std::string& document);

/// The same of what a parser knows.
std::map<std::string, std::string> keys_with_defaults(const std::vector<ConfigKey>& keys);

}  // namespace galley
