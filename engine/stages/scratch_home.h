#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

// The git-ignored outputs of a stored transaction's commands. They are layers under the next
// command, and overlayfs refuses a lower layer that lies in another one, which the workspace is: so
// they lie below $TMPDIR, in a private directory whose path is the file `scratch-home` of the
// stage.

namespace galley {

inline constexpr uint64_t kMaxHostPathBytes = 4096;  ///< of a file that holds a path of the host

/// The stage's directory for layers, made when it has none or when it was swept away: then the
/// ignored outputs are gone, as they may.
[[nodiscard]] Result<std::string> need_scratch_home(const WritableDirectory& stage);

/// Removes it with all that lies in it.
[[nodiscard]] Result<void> drop_scratch_home(const Directory& stage);

/// Where those of all stages are, by stage id: to be dropped when the stages are.
[[nodiscard]] Result<std::map<std::string, std::string>> scratch_homes(const StateDirectory& state);

}  // namespace galley
