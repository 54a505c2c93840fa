#pragma once

#include "staging/overlay/earlier_version.h"

namespace galley {

class PersistentState;

/// Returns a source of earlier contents of a path, for edits that do not fit. A history that cannot
/// be read knows nothing: it is only asked to explain.
///
/// Ownership: borrows the workspace, which must outlive the function.
[[nodiscard]] EarlierVersions earlier_versions(const PersistentState& persistent);

}  // namespace galley
