#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// Copies `size` bytes inside the kernel, which shares blocks if the file system supports it.
[[nodiscard]] Result<void> copy_bytes(File& from, WritableFile& to, uint64_t size);

/// The sources of a TreeCopy, besides the overlay.
struct TreeCopySources {
  const WritableDirectory& scratch;  ///< git-ignored outputs of earlier commands
  FileStat owner;                    ///< owner of the copy, if this process is root
};

/// A complete copy of the proposed tree, for machines that cannot mount an overlay.
///
/// Files keep the times of the workspace, or those at which they were written in the transaction.
/// `.galley` and `.sage` are left out. `.git` is a link to the workspace's own, which the command
/// can only read. Git-ignored files are copied, too: a build may need them.
///
/// Ownership: borrows the directory that it copies into.
/// Threads:   confined to one thread.
class TreeCopy {
 public:
  /// Copies what `overlay` proposes into the empty directory `target`.
  static Result<TreeCopy> make(Overlay& overlay, const std::string& workspace,
                               const WritableDirectory& target, const TreeCopySources& sources);

  /// Moves everything that has changed since make() into `upper`, in the form of an overlayfs
  /// layer. Returns the deleted paths, because a file system without overlayfs may not support
  /// whiteouts.
  Result<std::vector<RelPath>> extract_changes(const WritableDirectory& upper);

 private:
  explicit TreeCopy(const WritableDirectory& target) : target_(&target) {}
  Result<void> await_clock_tick();
  Result<void> copy_directory(Overlay& overlay, const RelPath& path, const FileStat& owner);
  Result<void> copy_node(Overlay& overlay, const RelPath& path, FileKind kind);
  Result<void> copy_file(Overlay& overlay, const RelPath& path, const Node& node);
  Result<void> copy_scratch(Overlay& overlay, OpenDirectories& scratch, const RelPath& path,
                            const FileStat& owner);
  Result<void> copy_output(const Directory& scratch, const DirectoryEntry& entry,
                           const RelPath& path);
  Result<void> extract_directory(OpenDirectories& tree, const RelPath& path,
                                 const WritableDirectory& upper);
  Result<void> extract_entry(OpenDirectories& tree, const RelPath& path,
                             const WritableDirectory& upper);

  const WritableDirectory* target_;
  ChangeSet restored_;                    ///< restored_files()
  std::map<std::string, FileStat> made_;  ///< by path, the state after the copy
  std::map<std::string, FileStat> seen_;
  int64_t racy_from_ns_ = 0;
};

}  // namespace galley
