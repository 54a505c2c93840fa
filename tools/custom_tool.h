#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"
#include "tools/custom_manifest.h"
#include "tools/tool.h"

namespace galley {

/// The answer of a custom tool's program: one JSON object (docs/tools.md).
///
/// Invariant: if `ok` is true, `data` is an object; otherwise `message` gives the reason.
struct CustomAnswer {
  bool ok = false;
  JsonDocument data;
  std::string code;     ///< of SAGE or Nachos, a transient reason, the tool's own, or empty
  std::string message;  ///< of an error
  std::optional<int64_t> retry_after_ms;  ///< the wait that the service asked for
  JsonDocument details;                   ///< may be null
  std::vector<std::string> warnings;

  /// Parses the standard output of a program.
  /// Errors: kInvalid `tool.output`. The message is a clause that names the defect.
  static Result<CustomAnswer> read(std::string_view text);
};

/// The files of a custom tool.
struct CustomToolFiles {
  std::string folder;  ///< absolute; its program can read it, but not the folders next to it
  /// Checks before each call that the files are still those that a person trusted.
  /// Errors: kRefused `tool.changed`.
  std::function<Result<void>()> check;
};

/// A tool that is a program. It reads one JSON object from standard input, and writes one to
/// standard output. It runs in the sandbox, on the tree that the transaction proposes.
/// docs/tools.md describes the protocol.
///
/// Its intent is open-ended: its effects are known only when it has ended. Then each path is
/// judged.
/// Threads: as for every Tool.
/// Errors:  `tool.timeout`, `limit.tool_output`, `tool.output`, `tool.exit`, `tool.failed`,
///          `tool.effects`, `tool.no_program`, `service.rate_limited`, whose details have
///          `retry_after_ms`; those of is_transient(), of CommandRunner and of `check`.
[[nodiscard]] std::unique_ptr<const Tool> make_custom_tool(CustomManifest manifest,
                                                           CustomToolFiles files);

/// The error for a call of a custom tool whose manifest lacks a program; nullopt for other tools.
[[nodiscard]] std::optional<Error> missing_tool_program(const Tool& tool);

/// Whether the same call may succeed soon: `service.unavailable`, `service.timeout`,
/// `net.unreachable`, `net.timeout`, `tool.busy`.
[[nodiscard]] bool is_transient(const ToolError& error);

/// Whether an error shows a defect of the tool: it timed out, crashed, wrote too much, gave an
/// invalid answer, or exceeded its permissions or limits. Wrong arguments, refusals by policy and
/// errors that the tool itself reports do not count.
[[nodiscard]] bool is_tool_defect(const ToolError& error);

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
