#pragma once

#include <map>
#include <memory>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Directories below a top one, by path, of which only a few are held open: for walks of trees that
/// may be deeper than there are descriptors.
///
/// Ownership: borrows the top directory. Threads: confined to one thread.
class OpenDirectories {
 public:
  static constexpr size_t kMaxOpen = 16;

  explicit OpenDirectories(const WritableDirectory& top) : top_(&top) {}

  /// Stays open as long as it is held; who descends lets go of it first.
  Result<std::shared_ptr<const WritableDirectory>> at(const RelPath& path);
  Result<std::vector<DirectoryEntry>> list(const RelPath& path);

 private:
  const WritableDirectory* top_;
  std::map<RelPath, std::shared_ptr<const WritableDirectory>> open_;
};

/// As Directory::stat, and kAbsent for what lies behind a symbolic link, as for what lies below a
/// file: for paths that were named when the link was not there yet.
inline Result<FileStat> reachable_stat(const Directory& directory, const RelPath& path) {
  auto stat = directory.stat(path);
  if (!stat && stat.error().reason == "path.through_symlink") return FileStat();
  return stat;
}

}  // namespace galley
