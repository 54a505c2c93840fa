#pragma once

#include <galley/proposal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/content_store.h"
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

/// Whether the stat proves that the object is unchanged since the base was recorded.
[[nodiscard]] bool is_signature_of(const BaseStamp& base, uint64_t size, const FileStat& stat);

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

// Owners in change sets. A node has an owner only if a call of the transaction set one (ADR 106).
using Owner = Node::Owner;

[[nodiscard]] Owner owner_of(const FileStat& stat);

/// Whether the change gives an existing path another owner.
[[nodiscard]] bool changes_owner(const Node& before, const Node& after);

/// Adds an owner to the node of a file or directory.
[[nodiscard]] Node with_owner(Node node, const Owner& owner);

/// Adds the owner of `stat` to a node that was read from the disk, if `wanted` has an owner. Then
/// the two can be compared.
[[nodiscard]] Node with_owner_like(const Node& found, const Node& wanted, const FileStat& stat);

/// Checks whether this process may make `wanted` the owner of a path, as chown(2) does. `now` is
/// the present owner; nothing for a path that the transaction makes.
/// Errors: kRefused `owner.not_permitted`.
Result<void> check_owner_change(const RelPath& path, const std::optional<Owner>& now,
                                const Owner& wanted);

/// "1000:1000"
[[nodiscard]] std::string owner_text(const Owner& owner);

}  // namespace galley
