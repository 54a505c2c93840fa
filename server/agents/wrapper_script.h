#pragma once

#include <string>
#include <string_view>

namespace galley {

/// The part below the first line of a shell script that runs an agent inside `galley run` and
/// passes its arguments on. The agent writes its own state directly.
[[nodiscard]] std::string wrapper_script(std::string_view agent);

}  // namespace galley
