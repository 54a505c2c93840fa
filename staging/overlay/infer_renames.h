#pragma once

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// Above this total size, files are compared only for equal contents.
inline constexpr uint64_t kMaxInferredRenameBytes = uint64_t{32} << 20U;

/// Finds the files that a command moved. Paths that are gone since `before` and new paths are
/// paired as in git (staging/printing/rename.h), and each new path then names its source, as after
/// Overlay::move. No node changes.
Result<void> infer_renames(const Overlay::Entries& before, Overlay& overlay);

}  // namespace galley
