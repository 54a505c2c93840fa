#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"
#include "tools/tool.h"

namespace galley {

/// Checks the arguments of a call. It rejects and never rewrites: a tool gets exactly what the
/// caller sent. Contents are checked for UTF-8 and NUL only, since a file may have any character.
/// Names and commands are checked for more, because people decide by reading them.
/// Errors: EVALIDATION `args.encoding`, `args.nul`, `args.control`, `args.bidi`; EQUOTA
///         `limit.name_bytes`, `limit.command_bytes`; each names the argument by its JSON Pointer.
[[nodiscard]] std::optional<ToolError> input_refusal(const nlohmann::json& arguments);

/// A path or name in the arguments.
inline constexpr size_t kMaxNameArgumentBytes = size_t{4} << 10U;
/// A command in the arguments: the limit of Linux for one argument of a program.
inline constexpr size_t kMaxCommandArgumentBytes = (size_t{128} << 10U) - 1;

/// Runs a command for an agent. Text that looks like a key or token is removed from its output,
/// both streamed and in the result. For a person, use the runner itself: it returns the exact
/// bytes.
/// Errors: those of the runner.
[[nodiscard]] Result<CommandResult> run_redacted(CommandRunner& runner, const Command& command,
                                                 Overlay& overlay);

}  // namespace galley
