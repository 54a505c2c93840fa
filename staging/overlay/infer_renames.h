#pragma once

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// Files larger than this together are compared by their whole contents only.
inline constexpr uint64_t kMaxInferredRenameBytes = uint64_t{32} << 20U;

/// Names the files that a command moved: what is gone since `before` and what is new are paired as
/// git pairs them (staging/printing/rename.h), and what is new then says where it came from, as
/// after Overlay::move. Only names: no node changes.
Result<void> infer_renames(const Overlay::Entries& before, Overlay& overlay);

}  // namespace galley
