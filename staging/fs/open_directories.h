#pragma once

#include <map>
#include <memory>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Directories below a top directory, by path. Only a few are open at one time: a tree may be
/// deeper than the limit of descriptors.
///
/// Ownership: borrows the top directory. Threads: confined to one thread.
class OpenDirectories {
 public:
  static constexpr size_t kMaxOpen = 16;  ///< directories that a walk keeps open

  explicit OpenDirectories(const WritableDirectory& top) : top_(&top) {}

  /// The directory stays open while the pointer is held; release it before descending.
  Result<std::shared_ptr<const WritableDirectory>> at(const RelPath& path);
  Result<std::vector<DirectoryEntry>> list(const RelPath& path);

 private:
  const WritableDirectory* top_;
  std::map<RelPath, std::shared_ptr<const WritableDirectory>> open_;
};

/// As Directory::stat, but kAbsent for a path behind a symbolic link, as for a path below a file:
/// the path may have been named before the link was made.
inline Result<FileStat> reachable_stat(const Directory& directory, const RelPath& path) {
  auto stat = directory.stat(path);
  if (!stat && stat.error().reason == "path.through_symlink") return FileStat();
  return stat;
}

}  // namespace galley
