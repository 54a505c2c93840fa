#pragma once

#include <string>
#include <string_view>

namespace galley {

/// A shell script that runs an agent inside of `galley run`, with the arguments that it is given:
/// what it says below its first line. The agent's own state is written through.
[[nodiscard]] std::string wrapper_script(std::string_view agent);

}  // namespace galley
