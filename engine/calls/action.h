#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/audit/audit.h"
#include "tools/tool.h"

namespace galley {

/// One effect on its way through the executor: what is asked for, before it is done. A tool call
/// is one kind of it, a command, an edit document, a savepoint and an undo are others.
struct Action {
  AuditEvent record;  ///< kind, tool and input; the executor adds who, when and what came of it
  /// Standard tools that do the same. An agent with a list of tools needs one of them in it; empty:
  /// the action needs none.
  std::vector<std::string> tools;
  std::vector<std::string> capabilities = {};  ///< needed at all: those of a tool
  const ToolInfo* called = nullptr;            ///< the tool of a call; borrowed
  const nlohmann::json* arguments = nullptr;   ///< of that call; borrowed
  Intent intent = {};                          ///< of a tool call, as far as its arguments tell
  bool only_looks = false;                     ///< nothing is written, whatever it names
  bool is_trial = false;      ///< what it stages is taken back, and only a refusal is recorded
  bool runs_program = false;  ///< it is on record before a program starts, and again when it ended
  bool is_atomic = false;     ///< an effect that fails leaves the overlay as it was
  bool records_itself = false;  ///< only a refusal is recorded here: the effect does the rest
};

/// Does it. May complete the record: input, output, and an error for what was no failure of the
/// call (an edit that does not fit).
using Effect = std::function<Result<void>(AuditEvent& record)>;

}  // namespace galley
