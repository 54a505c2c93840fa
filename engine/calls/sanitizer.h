#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"
#include "tools/tool.h"

namespace galley {

/// What the default sanitizer says to the arguments of a call. It rejects and never rewrites: what
/// a tool gets is what its caller wrote. Contents are not judged beyond UTF-8 and NUL, since a file
/// may hold any character; names and commands are, since people read them to decide.
/// Errors: EVALIDATION `args.encoding`, `args.nul`, `args.control`, `args.bidi`; EQUOTA
///         `limit.name_bytes`, `limit.command_bytes`; each names the argument by its JSON Pointer.
[[nodiscard]] std::optional<ToolError> input_refusal(const nlohmann::json& arguments);

/// A path or another name among the arguments, and a command: what a single argument of a program
/// may have at most on Linux.
inline constexpr size_t kMaxNameArgumentBytes = size_t{4} << 10U;
inline constexpr size_t kMaxCommandArgumentBytes = (size_t{128} << 10U) - 1;

/// Runs a command for an agent: what looks like a key or token is taken out of its output, as it
/// comes and in the result. A person gets the exact bytes, from the runner itself.
/// Errors: the runner's.
[[nodiscard]] Result<CommandResult> run_redacted(CommandRunner& runner, const Command& command,
                                                 Overlay& overlay);

}  // namespace galley
