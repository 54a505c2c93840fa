#pragma once

#include "staging/fs/directory.h"

namespace galley {

/// As Directory::stat, and kAbsent for what lies behind a symbolic link, as for what lies below a
/// file: for paths that were named when the link was not there yet.
inline Result<FileStat> reachable_stat(const Directory& directory, const RelPath& path) {
  auto stat = directory.stat(path);
  if (!stat && stat.error().reason == "path.through_symlink") return FileStat();
  return stat;
}

}  // namespace galley
