#pragma once

#include <galley/proposal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/content_id.h"
#include "base/rel_path.h"
#include "staging/fs/directory.h"

namespace galley {

using BaseStamp = Change::Base;

/// Something that was read and may have influenced the proposal: a file, a link, a directory, an
/// absence.
struct Read {
  RelPath path = RelPath::root();
  Node node;
  BaseStamp base;                    ///< of `node`
  bool is_changed = false;           ///< the proposal changes it as well: only `listing` counts
  std::optional<ContentId> listing;  ///< listing_id() of a directory whose entries were read

  bool operator==(const Read&) const = default;
};

/// The hash of the names and kinds in a directory, without protected names.
[[nodiscard]] ContentId listing_id(std::vector<DirectoryEntry> entries);

/// A git submodule: a directory whose content is the line for its commit in git's diff.
[[nodiscard]] bool is_submodule(const Node& node);

/// A regular file or a symbolic link.
[[nodiscard]] bool is_file_or_link(const Node& node);

/// The hash that names a proposal: of paths, nodes and rename sources, not of stamps.
[[nodiscard]] ContentId change_set_id(const ChangeSet& changes);

/// The change of `path`, or null. Changes are sorted by their paths.
[[nodiscard]] const Change* find_change(const ChangeSet& changes, const RelPath& path);

}  // namespace galley
