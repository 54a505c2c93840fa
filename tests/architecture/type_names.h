#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace galley::architecture {

/// Returns the types that a source defines in a named namespace, qualified below `galley`: classes,
/// structs, unions, enumerations and aliases. It leaves out types that are only declared, nested in
/// a class or local to the file.
[[nodiscard]] std::vector<std::string> namespace_types(std::string_view source);

}  // namespace galley::architecture
