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

/// What `.galley/format` says: which workspace this is, and which folder was made for it.
///
///     galley 2 <workspace id> <inode of .galley> <its birth time in nanoseconds>
///
/// No archive, clone or copy can know the last two beforehand: the file system chooses them when
/// the folder is made, and nothing can set them. Where the file system keeps no birth time it is 0,
/// and the workspace id, which is random, is recorded outside the workspace with the inode. Version
/// 1 had neither.
struct StateFormat {
  WorkspaceId id{};
  uint64_t inode = 0;  ///< 0: version 1
  int64_t birth_ns = 0;

  [[nodiscard]] std::string text() const;
  /// nullopt when it is damaged or of a newer Galley.
  [[nodiscard]] static std::optional<StateFormat> parse(std::string_view text);
};

/// Whether it is of a Galley that is newer than this one.
[[nodiscard]] bool is_newer_format(std::string_view text);

/// RFC 4122 version 4: 122 random bits.
[[nodiscard]] WorkspaceId random_workspace_id();
[[nodiscard]] std::string uuid_text(const WorkspaceId& id);

/// Whether `format` was written for the very folder that `folder` is the stat of.
Result<bool> was_made_here(const StateFormat& format, const FileStat& folder);
/// Names `folder` in `format`, and records it outside the workspace if it has no birth time.
/// Errors: kRefused `state.no_record` when that cannot be done.
Result<void> bind_to_folder(StateFormat& format, const FileStat& folder);

/// A file or folder that has the name of private state and is not where StateDirectory::own() puts
/// it: an earlier Galley left it, or a pull, an archive or a copy brought it. Nothing reads it.
struct UnboundState {
  std::string kind;   ///< "stage"
  std::string place;  ///< below `.galley`: "stage/0123456789ab"
};

/// All of it, by place. One look at each folder.
Result<std::vector<UnboundState>> unbound_state(const StateDirectory& state);

/// One line for people: what is ignored, why, and the way out.
[[nodiscard]] std::string told(const std::vector<UnboundState>& unbound);

/// Makes it the workspace's own, on a person's word.
/// Errors: kConflict `state.changed` when something of that name is kept already.
Result<void> bind_state(const StateDirectory& state, const UnboundState& unbound);

}  // namespace galley
