#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/audit/audit.h"
#include "tools/tool.h"

namespace galley {

/// One effect before the executor performs it: a tool call, a command, an edit document, a
/// savepoint, an undo.
struct Action {
  AuditEvent record;  ///< kind, tool and input; the executor adds agent, time and result
  /// Standard tools with the same effect. If the agent has a list of tools, one of these must be in
  /// it. Empty: no list is checked.
  std::vector<std::string> tools;
  std::vector<std::string> capabilities = {};  ///< the capabilities that the tool declares
  const ToolInfo* called = nullptr;            ///< the tool of a call; borrowed
  const nlohmann::json* arguments = nullptr;   ///< the arguments of that call; borrowed
  Intent intent = {};                          ///< the intent of a tool call, as far as its
                                               ///< arguments show it
  bool only_looks = false;                     ///< it only reads, whatever paths it names
  bool is_trial = false;        ///< its changes are reverted; a person's is recorded only if it is
                                ///< refused
  bool runs_program = false;    ///< recorded before the program starts, and again when it ends
  bool is_atomic = false;       ///< an effect that fails leaves the overlay unchanged
  bool merges = false;          ///< brings in lines of others, which the caller has not seen by it
  bool records_itself = false;  ///< only a refusal is recorded here; the effect records the rest
};

/// Performs the action. It may complete the record: input, output, and an error that does not fail
/// the call (an edit that does not fit).
using Effect = std::function<Result<void>(AuditEvent& record)>;

}  // namespace galley
