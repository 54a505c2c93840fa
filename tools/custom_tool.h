#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "tools/custom_manifest.h"
#include "tools/tool.h"

namespace galley {

/// Where the files of a custom tool lie.
struct CustomToolFiles {
  std::string folder;  ///< absolute; its program sees it, read-only, and nothing else beside it
  /// Asked before each call whether the files are still those that a person trusted.
  /// Errors: kRefused `tool.changed`.
  std::function<Result<void>()> check;
};

/// A tool that is a program: it gets one JSON object on its standard input, answers with one on its
/// standard output, and runs in the sandbox on the tree that the transaction proposes
/// (docs/custom-tools.md has the protocol).
///
/// Its intent is open-ended: what it touches shows when it has ended, and then each path is judged.
/// Threads: as every Tool.
/// Errors:  `tool.timeout`, `limit.tool_output`, `tool.output`, `tool.exit`, `tool.failed`,
///          `tool.effects`, `service.rate_limited`, whose details have `retry_after_ms`;
///          those of CommandRunner and of `check`.
[[nodiscard]] std::unique_ptr<const Tool> make_custom_tool(CustomManifest manifest,
                                                           CustomToolFiles files);

/// Whether a failure of a call says that the tool itself is not well: it hung, flooded, crashed, or
/// answered with what is no answer. What callers do wrong, what policy refuses and what the tool
/// reports in good order does not.
[[nodiscard]] bool is_fault_of_tool(const ToolError& error);

}  // namespace galley
