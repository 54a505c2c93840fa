#pragma once

#include <galley/proposal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/rel_path.h"
#include "staging/fs/directory.h"

namespace galley {

using BaseStamp = Change::Base;

/// A path that was read and may have influenced the proposal: a file, a link, a directory or an
/// absent path.
struct Read {
  RelPath path = RelPath::root();
  Node node;
  BaseStamp base;                    ///< of `node`
  bool is_changed = false;           ///< the proposal changes it, too: only `listing` counts
  std::optional<ContentId> listing;  ///< listing_id() of a directory whose entries were read

  bool operator==(const Read&) const = default;
};

/// The hash of the names and kinds of a directory's entries, without protected names.
[[nodiscard]] ContentId listing_id(std::vector<DirectoryEntry> entries);

/// True for a git submodule: a directory whose content is the line with its commit in git's diff.
[[nodiscard]] bool is_submodule(const Node& node);

/// True for a regular file or a symbolic link.
[[nodiscard]] bool is_file_or_link(const Node& node);

/// The hash that names a proposal. It covers paths, nodes and rename sources, but not stamps.
[[nodiscard]] ContentId change_set_id(const ChangeSet& changes);

/// Returns the change of `path`, or null. `changes` must be sorted by path.
[[nodiscard]] const Change* find_change(const ChangeSet& changes, const RelPath& path);

}  // namespace galley
