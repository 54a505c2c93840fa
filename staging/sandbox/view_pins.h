#pragma once

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// The mounted overlay of a command that runs, as seen from outside its namespace.
struct LiveView {
  const WritableDirectory& mount;  ///< the root of the overlay, without what is mounted below it
  const WritableDirectory& upper;  ///< its upper layer, as it lies on disk
};

/// Makes a view keep what it shows of every path of `changes`, whatever becomes of those paths in
/// the layer below it, which is to be changed next:
///
///     the path                 what is done                          what holds it then
///     exists below             a change of nothing, through the      a copy in the upper layer
///                              mount: overlayfs copies it up
///     comes new                a whiteout in the upper layer         the whiteout
///     a directory of the       it is marked opaque                   the mark
///     view's own comes below
///     is the view's own, or    nothing                               the upper layer
///     hidden by it already
///
/// Nobody is stopped meanwhile. A program in the view that looks at a path that comes new may see
/// an empty directory there for some microseconds (view_pins.cc says why).
///
/// Nothing has to be taken back: a copy without a change and a whiteout of nothing are no effects
/// of the command. So a caller may die afterwards, or go on without changing the layer below.
///
/// Errors: kRefused `run.not_its_view` when `mount` is no overlay with this upper layer; kIo when a
///         path cannot be copied up. The paths before it are pinned, which does no harm.
[[nodiscard]] Result<void> pin_view(const LiveView& view, const ChangeSet& changes);

}  // namespace galley
