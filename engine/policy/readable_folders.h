#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Returns a folder of `sandbox.readable` as an absolute path, with `~/` replaced by `home`. Empty
/// if the folder needs the home and `home` is empty.
[[nodiscard]] std::string expanded_folder(std::string_view folder, std::string_view home);

/// Returns why commands must not see a folder of the host; empty if they may. Compares only names.
/// Refuses a folder that is, contains or is inside a folder of secrets (keys, tokens, a whole home)
/// or of sockets and devices. If `home` is empty, only folders with `~/` are known to be in it.
[[nodiscard]] std::string objection_to_readable(std::string_view folder, std::string_view home);

/// Returns why a run must not write to or over an absolute folder of the host; empty if it may.
/// Refuses a folder that contains or is inside a folder of secrets, or of files that configure the
/// services of the machine. A folder with a program's own state is allowed, also in
/// `~/.local/state`.
[[nodiscard]] std::string objection_to_writable(std::string_view folder, std::string_view home);

/// The same for a folder of programs and settings that the host runs later. A layer over it does
/// not reach the host.
[[nodiscard]] std::string objection_to_start_place(std::string_view folder, std::string_view home);

}  // namespace galley
