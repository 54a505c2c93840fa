#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Returns the path of a program that is installed with this one: beside it, or in its libexec
/// directory. Returns nothing when it is not there.
[[nodiscard]] std::string companion_program(std::string_view name);

}  // namespace galley
