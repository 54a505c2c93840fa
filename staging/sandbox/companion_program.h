#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// Returns a path by which this process can execute one of its own programs. This is an embedded
/// program (embedded_programs.h), or else one that is installed next to this program or in its
/// libexec directory.
///
/// An embedded program always has the right version, so installed ones are then ignored. Its path
/// is that of a descriptor (nameless_program.h), which stays open until the process ends; forked
/// children may use it, too.
/// Threads: safe to call from any.
/// Errors:  kNotFound `program.not_installed`; those of make_nameless_program().
[[nodiscard]] Result<std::string> companion_program(std::string_view name);

}  // namespace galley
