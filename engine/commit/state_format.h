#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// The contents of `.galley/format`: the id of the workspace and the identity of the folder.
///
///     galley 2 <workspace id> <inode of .galley> <its birth time in nanoseconds>
///
/// An archive, a clone or a copy cannot have the right last two values: the file system chooses
/// them when the folder is made, and no program can set them. On a file system without birth times
/// the time is 0, and the random workspace id is recorded outside the workspace with the inode.
/// Version 1 has only the workspace id.
struct StateFormat {
  WorkspaceId id{};
  uint64_t inode = 0;  ///< 0: version 1
  int64_t birth_ns = 0;

  [[nodiscard]] std::string text() const;
  /// Returns nullopt if the text is damaged or was written by a newer Galley.
  [[nodiscard]] static std::optional<StateFormat> parse(std::string_view text);
};

/// Whether a newer Galley wrote the text of a `format`.
[[nodiscard]] bool is_newer_format(std::string_view text);

/// RFC 4122 version 4: 122 random bits.
[[nodiscard]] WorkspaceId random_workspace_id();
[[nodiscard]] std::string uuid_text(const WorkspaceId& id);

/// Whether `format` was written for exactly the folder whose stat is `folder`.
Result<bool> was_created_for(const StateFormat& format, const FileStat& folder);
/// Names `folder` in `format`. A folder without a birth time is also recorded outside the
/// workspace.
/// Errors: kRefused `state.no_record` when that cannot be done.
Result<void> bind_to_folder(StateFormat& format, const FileStat& folder);

/// A file or folder that has the name of private state, but is not at the path of
/// StateDirectory::own(). An earlier Galley left it, or a pull, an archive or a copy brought it. It
/// is never read.
struct UnboundState {
  std::string kind;   ///< "stage"
  std::string place;  ///< below `.galley`: "stage/0123456789ab"
};

/// Lists all unbound state, sorted by place. Reads each folder once.
Result<std::vector<UnboundState>> unbound_state(const StateDirectory& state);

/// One line for people: what is ignored, why, and how to fix it.
[[nodiscard]] std::string describe_unbound(const std::vector<UnboundState>& unbound);

/// Adopts unbound state as the workspace's own, after a person agreed.
/// Errors: kConflict `state.changed` if the workspace already has state of that name.
Result<void> bind_state(const StateDirectory& state, const UnboundState& unbound);

}  // namespace galley
