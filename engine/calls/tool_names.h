#pragma once

#include <string>
#include <vector>

#include "staging/overlay/overlay.h"

namespace galley {

/// Groups of standard tools, in every dialect, that have the same effect. An action that is not a
/// tool call is checked against the agent's list of tools by its group. The first tool is the one
/// that messages name.
enum class ToolEffect : uint8_t {
  kEdit,    ///< change an existing file
  kWrite,   ///< create a file
  kDelete,  ///< remove a path
  kMove,
  kCopy,
  kChmod,
  kChown,
  kSymlink,
  kMakeDirectory,
  kRun,     ///< run a program
  kChange,  ///< any of them except kRun
};

[[nodiscard]] std::vector<std::string> tools_with_effect(ToolEffect effect);

/// The effect on one path.
struct StagedEffect {
  RelPath path = RelPath::root();
  ToolEffect effect = ToolEffect::kEdit;
};

/// Returns the effects between `before` and `now`, one per path. Directories that are created or
/// removed together with files in them are not listed.
[[nodiscard]] std::vector<StagedEffect> staged_effects(const Overlay::Entries& before,
                                                       const Overlay::Entries& now);

}  // namespace galley
