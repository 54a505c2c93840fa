#pragma once

#include "staging/overlay/earlier_version.h"

namespace galley {

class PersistentState;

/// Returns a function that finds earlier contents of a path, to explain an edit that does not fit.
/// It returns nothing if the history cannot be read.
///
/// Ownership: borrows the workspace, which must outlive the function.
[[nodiscard]] EarlierVersions earlier_versions(const PersistentState& persistent);

}  // namespace galley
