#pragma once

#include <string>
#include <string_view>

namespace galley {

/// A folder of `sandbox.readable` as an absolute path, with `~/` replaced by `home`. Empty when it
/// needs the home and `home` is empty.
[[nodiscard]] std::string placed_folder(std::string_view folder, std::string_view home);

/// Why commands must not see a folder of the host, judged by its name alone; empty when they may.
/// Refused folders are, contain or are inside a place of secrets (keys, tokens, a whole home) or of
/// sockets and devices. With an empty `home`, only folders written with `~/` are known to be in it.
[[nodiscard]] std::string objection_to_readable(std::string_view folder, std::string_view home);

/// Why a run must not write to or over an absolute folder of the host; empty when it may. Refused
/// folders contain or are inside a place of secrets, or of files that decide what the machine's
/// services do. A folder for a program's own state is allowed, also in `~/.local/state`.
[[nodiscard]] std::string objection_to_writable(std::string_view folder, std::string_view home);

}  // namespace galley
