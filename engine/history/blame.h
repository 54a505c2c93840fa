#pragma once

#include <galley/path.h>
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/history/history.h"
#include "staging/fs/directory.h"

namespace galley {

using BlamedLine = Blame::Line;
using LineOrigin = Blame::Origin;

/// Finds for each line of a workspace file the transaction that wrote it. Follows renames and
/// copies.
/// Errors: kNotFound; kRefused `blame.binary` for a binary file.
Result<Blame> blame(const History& history, const Directory& workspace, const RelPath& path);

}  // namespace galley
