#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/git/git_program.h"
#include "staging/git/git_tree.h"
#include "staging/sandbox/piped_process.h"

namespace galley {

/// The new state of one path in a tree of git.
struct GitPathChange {
  RelPath path = RelPath::root();
  uint32_t mode = 0;  ///< git's; 0: the path is removed
  std::string id;     ///< of the blob, or of the commit of a submodule
};

/// The processes of git that write objects into a repository. Each writes one after the other, so
/// an idle one is kept for later objects.
///
/// Threads: safe to share.
/// Errors:  those of GitProgram.
class GitWriters {
 public:
  explicit GitWriters(GitProgram program) : program_(std::move(program)) {}

  [[nodiscard]] const GitProgram& program() const { return program_; }
  /// An idle process of this command, or a new one.
  Result<std::unique_ptr<PipedProcess>> take(const std::vector<std::string>& command) const;
  /// Keeps a process that answered all requests.
  void put_back(const std::vector<std::string>& command,
                std::unique_ptr<PipedProcess> process) const;

 private:
  GitProgram program_;
  mutable std::mutex mutex_;
  mutable std::multimap<std::vector<std::string>, std::unique_ptr<PipedProcess>> idle_;
};

/// Writes objects into a repository. No object can be reached before a branch moves.
///
/// Errors: those of GitProgram.
class GitWriter {
 public:
  /// With `flushes`, each object is on the disk when the function returns.
  GitWriter(const GitWriters& writers, bool flushes) : writers_(&writers), flushes_(flushes) {}

  /// Writes the bytes of files as blobs, without any filter, and returns the ids. The paths are
  /// absolute.
  Result<std::vector<std::string>> blobs(const std::vector<std::string>& files) const;
  /// Writes the trees in which `base` and its copy with these changes differ, and returns the id of
  /// the copy. Directories in which nothing changes are not read. Empty directories are dropped.
  /// Errors: kRefused `git.submodule` for a path below a submodule, and for a file in its place.
  Result<std::string> tree(const GitTrees& trees, const std::string& base,
                           const std::vector<GitPathChange>& changes) const;
  /// Writes a commit. The author and the committer are those of git's configuration. It is signed
  /// if that asks for it, with the person's own program.
  /// Errors: kRefused `git.no_identity`, `git.no_signature`.
  Result<std::string> commit(const std::string& tree, const std::string& parent,
                             const std::string& message) const;

 private:
  [[nodiscard]] std::vector<std::string> words(std::vector<std::string> command) const;

  const GitWriters* writers_;
  bool flushes_;
};

/// The error for a change of a submodule, or of a path below it.
[[nodiscard]] Error submodule_error(const std::string& path);

}  // namespace galley
