#pragma once

#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// The mounted overlay of a running command, from outside its namespace.
struct LiveView {
  const WritableDirectory& mount;  ///< the root of the overlay, without the mounts below it
  const WritableDirectory& upper;  ///< its upper layer on disk
};

/// Makes a view keep its state of every path of `changes`. The caller may then change those paths
/// in the layer below:
///
///     the path                 action                                what keeps it
///     exists below             a chown without effect, through the   a copy in the upper layer
///                              mount: overlayfs copies it up
///     is new below             a whiteout in the upper layer         the whiteout
///     a directory of the       it is marked opaque                   the mark
///     view's own, new below
///     is the view's own, or    nothing                               the upper layer
///     hidden by it already
///
/// The programs are not paused. A program in the view that accesses a new path may see an empty
/// directory there for some microseconds (view_pins.cc explains why).
///
/// Nothing has to be undone: an unchanged copy and a whiteout of an absent path are not effects of
/// the command. So the caller may be killed afterwards, or decide not to change the layer below.
///
/// Errors: kRefused `run.not_its_view` when `mount` is not an overlay with this upper layer; kIo
///         when a path cannot be copied up. The paths before it are pinned, which does no harm.
[[nodiscard]] Result<void> pin_view(const LiveView& view, const ChangeSet& changes);

/// Puts a node at a path of the view, as a program in it could, and makes missing parents. An
/// existing file is written in place, so that the time when the view first wrote it stays. `bytes`
/// is the content of a file or the target of a link. A directory is removed only if it is empty.
///
/// Errors: kRefused `run.not_its_view`, `path.protected`, `path.through_symlink`; kIo.
[[nodiscard]] Result<void> put_in_view(const LiveView& view, const RelPath& path, const Node& node,
                                       std::string_view bytes);

}  // namespace galley
