#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/history/history.h"
#include "staging/fs/directory.h"

namespace galley {

using BlamedLine = Blame::Line;
using LineOrigin = Blame::Origin;

/// Says for each line of a file of the workspace which transaction wrote it. Renames and copies are
/// followed.
/// Errors: kNotFound; kRefused `blame.binary` for a file that has no lines.
Result<Blame> blame(const History& history, const Directory& workspace, const RelPath& path);

}  // namespace galley
