#pragma once

#include <optional>
#include <string>

#include <galley/proposal.h>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

// Owners in change sets. A node has an owner only if a call of the transaction set one (ADR 106).

namespace galley {

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
