#pragma once

#include <galley/workspace.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/stages/stored_stage.h"

namespace galley {

/// The session of a door's transactions and commits: `DOOR-ID`, or `DOOR#HASH` if the session of a
/// transaction cannot have this id (TransactionOptions::session).
[[nodiscard]] std::string session_of_door(std::string_view door, const std::string& id);

/// The stored transactions of the sessions in a workspace, also those of other processes.
///
/// Ownership: borrows the workspace. Threads: safe to share.
/// Errors:    those of Workspace::stages.
class SessionStages {
 public:
  explicit SessionStages(const Workspace& workspace) : workspace_(&workspace) {}

  /// Returns the id of the oldest transaction that the agent has in the session; empty if it has
  /// none. Lists one folder, and reads only stages that it has not seen.
  [[nodiscard]] Result<std::string> find(const std::string& agent, const std::string& session);
  /// Returns the number of open transactions of the workspace, of any agent.
  [[nodiscard]] Result<size_t> count();

 private:
  Result<void> look();

  const Workspace* workspace_;
  std::mutex mutex_;
  std::map<std::string, StageHeader> seen_;  ///< by id
};

}  // namespace galley
