#pragma once

#include <string>
#include <vector>

#include "staging/overlay/overlay.h"

namespace galley {

/// The standard tools, in every dialect, that do one thing: what an agent's list of tools is asked
/// for when the same is done without a tool call. The first is the one that messages name.
enum class ToolDeed : uint8_t {
  kEdit,    ///< change a file that is there
  kWrite,   ///< make a file
  kDelete,  ///< remove a path
  kMove,
  kCopy,
  kChmod,
  kSymlink,
  kMakeDirectory,
  kRun,     ///< run a program
  kChange,  ///< any of them but kRun
};

[[nodiscard]] std::vector<std::string> tools_that(ToolDeed deed);

/// What was done to one path.
struct StagedDeed {
  RelPath path = RelPath::root();
  ToolDeed deed = ToolDeed::kEdit;
};

/// What was staged from `before` to `now`, deed by deed. Directories that come and go with the
/// files in them count as part of those.
[[nodiscard]] std::vector<StagedDeed> staged_deeds(const Overlay::Entries& before,
                                                   const Overlay::Entries& now);

}  // namespace galley
