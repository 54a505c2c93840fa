#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "tools/tool.h"

namespace galley {

/// What a caller can say about one call, one command, or several that are staged together.
///
/// `secrets`, `logger` and `stop` are called and looked at on the thread of the call only.
struct CallOptions {
  std::string call_id;  ///< the caller's own id of the call; on record
  std::string task_id;  ///< what it belongs to; on record
  std::string goal_id;
  std::string reason;  ///< why; empty: the reason of the transaction
  /// How long a tool may take, ten minutes unless said; a command never gets more than galley.toml
  /// allows.
  std::optional<std::chrono::milliseconds> timeout;
  bool dry_run = false;        ///< tell what would be staged, keep nothing
  bool deterministic = false;  ///< commands see a fixed time and locale, and no network
  SecretProvider secrets;      ///< answers `$ENV.NAME`; empty: there are none
  std::function<void(const ToolLog&)> logger;  ///< what tools say while they run
  std::stop_token stop;  ///< a request ends a command; what was begun is taken back
};

}  // namespace galley
