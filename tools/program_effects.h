#pragma once

#include <optional>
#include <string>
#include <vector>

#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"
#include "tools/tool.h"

namespace galley {

/// Judges, path by path, what the program of a tool staged. Each path must be selected by
/// `writable` (patterns; empty: anywhere), and the caller must be allowed to write it. `named`
/// begins the message: "the tool 'x'". Returns the refusal (`tool.effects`, or the policy's), or
/// nothing.
[[nodiscard]] std::optional<ToolError> check_program_effects(
    const Overlay::Entries& before, const std::vector<std::string>& writable,
    const std::string& named, const ToolContext& context);

/// The end of a program's output for a message, with every character visible.
[[nodiscard]] std::string output_tail(const CapturedOutput& output);

/// How a program ended: "ended with status 2", "was ended by signal 9".
[[nodiscard]] std::string end_of_program(const CommandResult& ran);

}  // namespace galley
