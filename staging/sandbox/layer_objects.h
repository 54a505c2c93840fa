#pragma once

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

// Objects of overlayfs layers that Directory does not cover: whiteouts, copied owners, trees that
// are hard to remove (kernel documentation, overlayfs.rst).

namespace galley {

inline constexpr const char* kOpaqueMark = "user.overlay.opaque";

/// Returns whether `name` in `directory` is a whiteout: a character device 0:0.
[[nodiscard]] bool is_whiteout(const Directory& directory, const RelPath& name);

/// Returns whether a directory of a layer hides the contents that it has in lower layers.
[[nodiscard]] Result<bool> is_opaque(const Directory& layer, const RelPath& directory);

/// Makes a whiteout at `path`, whose parent exists.
/// Errors: kIo; `os_error` is EEXIST when the path exists, EPERM where whiteouts cannot be made.
[[nodiscard]] Result<void> make_whiteout(const WritableDirectory& directory, const RelPath& path);

/// Gives the root of `layer` the mode and the owner of the workspace's root, which it covers. A
/// command sees those of the upper layer. The owner can write to the layers below it, with any
/// mode of the workspace's root.
[[nodiscard]] Result<void> set_root_like(const WritableDirectory& layer, const Directory& workspace,
                                         bool is_upper);

/// Gives `path` the owner of `like` if this process is root; does nothing for other users.
[[nodiscard]] Result<void> set_owner_like(const WritableDirectory& directory, const RelPath& path,
                                          const FileStat& like);

/// Removes the tree `name`, at any depth and with any modes. Follows no link. An absent tree is not
/// an error.
[[nodiscard]] Result<void> erase_layer(const WritableDirectory& parent, const RelPath& name);

}  // namespace galley
