#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/result.h"

namespace galley {

class Workspace;

/// An open transaction in the activity of a workspace.
struct OpenWork {
  std::string tx;
  std::string session;  ///< may be empty
  std::string editor;   ///< the session of an editor that had the last turn in it; may be empty
  std::string agent;
  int64_t begun_ns = 0;
  int64_t changed_ns = 0;
  /// The changed files and links; nullopt while another process has the transaction open.
  std::optional<std::vector<RelPath>> paths;
};

/// The work of one session. An open transaction is of its own session, or of its editor's; without
/// both it is one of its own.
struct SessionActivity {
  std::string session;
  std::string agent;
  int64_t active_ns = 0;       ///< its last commit or staged change
  size_t commits = 0;          ///< among the newest kMaxActivityCommits of the workspace
  std::vector<OpenWork> open;  ///< oldest first
};

/// Who staged or committed a path: a session or, without one, an agent.
struct PathAuthor {
  std::string session;
  std::string agent;
  std::string id;  ///< of the open transaction, or of the commit
};

/// A path that an open transaction changes and that others changed too: in another open
/// transaction, or in a commit since this one was begun. Or one that two sessions committed in
/// their newest turns, each after the prompt of the other.
struct PathOverlap {
  RelPath path = RelPath::root();
  std::vector<PathAuthor> staged;     ///< oldest first
  std::vector<PathAuthor> committed;  ///< newest first
};

/// What sessions do in a workspace. A value.
struct WorkspaceActivity {
  std::vector<SessionActivity> sessions;  ///< with open transactions first, then the latest first
  std::vector<PathOverlap> overlaps;      ///< sorted by path
  bool is_cut = false;                    ///< there are older commits, which were not read
  std::vector<std::string> damaged;       ///< open transactions that cannot be read, sorted
};

/// The commits that are read and compared, newest first, however long the history is.
inline constexpr size_t kMaxActivityCommits = 1000;

/// Returns what sessions have staged and committed. Commits of no session are in overlaps only.
/// Errors: those of the history and of the stages.
[[nodiscard]] Result<WorkspaceActivity> activity_of(const Workspace& workspace);

}  // namespace galley
