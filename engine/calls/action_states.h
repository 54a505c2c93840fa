#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/calls/action.h"
#include "staging/overlay/staged_step.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

// The stations of an action in the executor:
//
//     Admitted -> Allowed -> Ran -> Recorded
//
// No station can be skipped: only the executor makes the later ones, each from the one before it. A
// refused action goes from Admitted to Ran directly.

/// The time at which an action was received.
struct Arrival {
  int64_t wall_ns = 0;
  std::chrono::steady_clock::time_point steady;
};

/// A request that was parsed: a call of a tool with valid arguments, or another action. If it is
/// invalid, `action.record.error` has the reason: it is recorded but not performed.
struct Admitted {
  Action action;
  Arrival arrival = {};
  /// For a call: the first tool is called, and the next ones only if it cannot answer.
  std::vector<ToolRegistry::EntryPointer> tools = {};
  std::shared_ptr<const nlohmann::json> given = nullptr;  ///< the arguments as received
  std::shared_ptr<const nlohmann::json> args = nullptr;   ///< with the defaults of the schema
  std::vector<std::string> warnings = {};                 ///< for the reader of the result
  /// Of an invalid call: the call that was probably meant. Without arguments, none is known.
  std::string meant_tool = {};
  std::shared_ptr<const nlohmann::json> meant_args = nullptr;
};

/// An action that no check refused. If it runs a program, the start of the program is recorded.
class Allowed {
 public:
  [[nodiscard]] const Admitted& what() const { return what_; }

 private:
  friend class Executor;
  friend class Ran;
  explicit Allowed(Admitted&& what) : what_(std::move(what)) {}
  Admitted what_;
};

/// An action that was performed or refused. Changes that are not kept were reverted.
class Ran {
 private:
  friend class Executor;
  /// A refusal.
  Ran(Admitted&& what, Error no) : action_(std::move(what.action)), arrival_(what.arrival) {
    refuse(std::move(no));
  }
  Ran(Allowed&& what, ToolResult result)
      : action_(std::move(what.what_.action)),
        arrival_(what.what_.arrival),
        result_(std::move(result)) {}
  [[nodiscard]] bool is_kept() const { return result_.ok && !action_.is_trial; }

  void fail(Error why) {
    result_ = ToolResult::failure(tool_error_from(why));
    no_ = std::move(why);
  }
  void refuse(Error why) {
    fail(std::move(why));
    is_refused_ = true;
  }

  Action action_;
  Arrival arrival_;
  std::optional<Error> no_;  ///< why it failed or was refused; not set for a tool's own failure
  bool is_refused_ = false;  ///< refused before or after it was performed
  bool is_silent_ = false;   ///< not recorded, even as a refusal
  ToolResult result_;
  ChangeSet changes_ = {};  ///< to the staged files
};

/// The result of an action whose record is written, or held with the records of its transaction.
/// The caller gets the result only now.
struct Recorded {
  ToolResult result;
  std::optional<Error> error;  ///< why it failed, was refused or could not be recorded
};

}  // namespace galley
