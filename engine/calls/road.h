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

// The stations of an action on its way through the executor:
//
//     Admitted -> Allowed -> Ran -> Recorded
//
// No station can be skipped: only the executor makes the later ones, and each is made of the one
// before it. A refusal goes from Admitted to Ran at once.

/// When an action came in.
struct Arrival {
  int64_t wall_ns = 0;
  std::chrono::steady_clock::time_point steady;
};

/// What was asked, understood: a call of a tool with arguments that the tool takes, or anything
/// else. What was found wrong with it is `action.record.error`: nothing is done then, and it is on
/// record.
struct Admitted {
  Action action;
  Arrival arrival = {};
  /// Of a call: the first one answers, and the others where it cannot.
  std::vector<ToolRegistry::EntryPointer> tools = {};
  std::shared_ptr<const nlohmann::json> given = nullptr;  ///< the arguments as they were sent
  std::shared_ptr<const nlohmann::json> args = nullptr;   ///< with the defaults of the schema
  std::vector<std::string> warnings = {};                 ///< for whoever reads the result
};

/// Nobody said no, and what runs a program is on record as begun.
class Allowed {
 public:
  [[nodiscard]] const Admitted& what() const { return what_; }

 private:
  friend class Executor;
  friend class Ran;
  explicit Allowed(Admitted&& what) : what_(std::move(what)) {}
  Admitted what_;
};

/// It was done or refused, and what is not kept was taken back.
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
  std::optional<Error> no_;  ///< why it failed or was refused; a tool's own failure has none
  bool is_refused_ = false;  ///< before or after it was done
  bool is_silent_ = false;   ///< not even the refusal goes on record
  ToolResult result_;
  ChangeSet changes_ = {};  ///< of what is staged
};

/// What came of an action, on record or held with the records of its transaction; only now its
/// caller hears of it.
struct Recorded {
  ToolResult result;
  std::optional<Error> error;  ///< it failed, was refused or could not be recorded
};

}  // namespace galley
