#pragma once

#include <string>
#include <string_view>

namespace galley {

/// A folder of `sandbox.readable` as an absolute path: `~/` is `home`. Empty when it names the
/// home and none is known.
[[nodiscard]] std::string placed_folder(std::string_view folder, std::string_view home);

/// Why commands may not be shown a folder of the host, by its name alone, or nothing: it holds or
/// is a place of secrets (keys, tokens, a whole home) or of sockets and devices. With an empty
/// `home` only what is written with `~/` is known to lie in it.
[[nodiscard]] std::string objection_to_readable(std::string_view folder, std::string_view home);

/// Why a run may not write to or over an absolute folder of the host, or nothing: it holds or is in
/// a place of secrets or of what services of the machine do. A folder that a program has for its
/// own state is neither, in `~/.local/state` either.
[[nodiscard]] std::string objection_to_writable(std::string_view folder, std::string_view home);

}  // namespace galley
