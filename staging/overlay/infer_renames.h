#pragma once

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// Maximum total size of files that are compared by similarity. Above it, only equal contents are
/// paired.
inline constexpr uint64_t kMaxInferredRenameBytes = uint64_t{32} << 20U;

/// Finds the files that a command moved. It pairs paths that are gone since `before` with new
/// paths, as git does (staging/printing/rename.h). Each paired new path then names its source, as
/// after Overlay::move. Nodes do not change.
Result<void> infer_renames(const Overlay::Entries& before, Overlay& overlay);

}  // namespace galley
