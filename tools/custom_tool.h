#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/custom_manifest.h"
#include "tools/tool.h"

namespace galley {

/// What the program of a custom tool answered: one JSON object (docs/tools.md).
///
/// Invariant: ok means that `data` is set to an object; otherwise `message` says why not.
struct CustomAnswer {
  bool ok = false;
  JsonDocument data;
  std::string code;     ///< SAGE's, Nachos', a transient reason, its own, or empty
  std::string message;  ///< of an error
  std::optional<int64_t> retry_after_ms;  ///< the service asked to be left alone for so long
  JsonDocument details;                   ///< may be null
  std::vector<std::string> warnings;

  /// Reads what a program wrote on its standard output.
  /// Errors: kInvalid `tool.output`, whose message is a clause that says what is wrong with it.
  static Result<CustomAnswer> read(std::string_view text);
};

/// Where the files of a custom tool lie.
struct CustomToolFiles {
  std::string folder;  ///< absolute; its program sees it, read-only, and nothing else beside it
  /// Asked before each call whether the files are still those that a person trusted.
  /// Errors: kRefused `tool.changed`.
  std::function<Result<void>()> check;
};

/// A tool that is a program: it gets one JSON object on its standard input, answers with one on its
/// standard output, and runs in the sandbox on the tree that the transaction proposes
/// (docs/tools.md has the protocol).
///
/// Its intent is open-ended: what it touches shows when it has ended, and then each path is judged.
/// Threads: as every Tool.
/// Errors:  `tool.timeout`, `limit.tool_output`, `tool.output`, `tool.exit`, `tool.failed`,
///          `tool.effects`, `tool.no_program`, `service.rate_limited`, whose details have
///          `retry_after_ms`; those of is_transient(), of CommandRunner and of `check`.
[[nodiscard]] std::unique_ptr<const Tool> make_custom_tool(CustomManifest manifest,
                                                           CustomToolFiles files);

/// The error of every call of a custom tool whose manifest names no program; nothing for any other
/// tool.
[[nodiscard]] std::optional<Error> missing_tool_program(const Tool& tool);

/// Whether the same call may succeed in a moment: `service.unavailable`, `service.timeout`,
/// `net.unreachable`, `net.timeout`, `tool.busy`.
[[nodiscard]] bool is_transient(const ToolError& error);

/// Whether a failure of a call says that the tool itself is not well: it hung, flooded, crashed, or
/// answered with what is no answer. What callers do wrong, what policy refuses and what the tool
/// reports in good order does not.
[[nodiscard]] bool is_fault_of_tool(const ToolError& error);

}  // namespace galley
