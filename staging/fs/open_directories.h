#pragma once

#include <map>
#include <memory>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Opens directories below a top directory, by path. It keeps only a few open, because a tree may
/// be deeper than the limit of descriptors.
///
/// Ownership: borrows the top directory. Threads: confined to one thread.
class OpenDirectories {
 public:
  static constexpr size_t kMaxOpen = 16;  ///< directories kept open

  explicit OpenDirectories(const WritableDirectory& top) : top_(&top) {}

  /// The directory stays open as long as the pointer exists. Release it before you descend.
  Result<std::shared_ptr<const WritableDirectory>> at(const RelPath& path);
  Result<std::vector<DirectoryEntry>> list(const RelPath& path);

 private:
  const WritableDirectory* top_;
  std::map<RelPath, std::shared_ptr<const WritableDirectory>> open_;
};

/// As Directory::stat, but a path through a symbolic link is kAbsent, like a path below a file.
/// Such a path may be older than the link.
inline Result<FileStat> reachable_stat(const Directory& directory, const RelPath& path) {
  auto stat = directory.stat(path);
  if (!stat && stat.error().reason == "path.through_symlink") return FileStat();
  return stat;
}

}  // namespace galley
