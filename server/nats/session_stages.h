#pragma once

#include <galley/workspace.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace galley {

/// The stored transactions of Nachos' sessions in a workspace, also those of other processes. A
/// transaction belongs to the session that its message names.
///
/// Ownership: borrows the workspace. Threads: safe to share.
/// Errors:    those of Workspace::stages.
class SessionStages {
 public:
  SessionStages(const Workspace& workspace, std::string agent)
      : workspace_(&workspace), agent_(std::move(agent)) {}

  [[nodiscard]] static std::string message_of(const std::string& session) {
    return "Nachos session " + session;
  }
  /// Returns the id of the oldest transaction of a session; empty if it has none. Lists one folder,
  /// and reads only stages that it has not seen.
  [[nodiscard]] Result<std::string> find(const std::string& session);
  /// Returns the number of open transactions of the workspace, of any agent.
  [[nodiscard]] Result<size_t> count();

 private:
  struct Seen {
    std::string message;  ///< empty: of another agent or user
    int64_t begun_ns = 0;
  };
  Result<void> look();

  const Workspace* workspace_;
  std::string agent_;
  std::mutex mutex_;
  std::map<std::string, Seen> seen_;  ///< by id
};

}  // namespace galley
