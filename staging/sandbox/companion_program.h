#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// Returns a path by which this process can execute a program that belongs to it: one that it has
/// inside (embedded_programs.h), else one that is installed beside it or in its libexec directory.
///
/// What it has inside fits it, so nothing that lies beside it is looked at then. The path of such a
/// program is that of a descriptor (nameless_program.h), which stays open until the process ends; a
/// child that was forked may use it, too.
/// Threads: safe to call from any.
/// Errors:  kNotFound `program.not_installed`; those of make_nameless_program().
[[nodiscard]] Result<std::string> companion_program(std::string_view name);

}  // namespace galley
