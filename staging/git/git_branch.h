#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/git/git_objects.h"
#include "staging/git/git_program.h"
#include "staging/git/git_tree.h"
#include "staging/git/git_writer.h"

namespace galley {

/// A repository whose layout and configuration were read, with processes of git that read and write
/// its objects. Each opening starts new ones, so a caller opens it once.
///
/// Ownership: a value; copies share the processes. Threads: safe to share.
struct GitAccess {
  GitProgram git;
  GitLayout layout;
  std::shared_ptr<const GitObjects> objects;
  std::shared_ptr<const GitTrees> trees;
  std::shared_ptr<const GitWriters> writers;
  /// Another repository has all that counts, so commits here need not survive a power cut.
  bool is_cache = false;

  /// Errors: those of GitProgram.
  static Result<GitAccess> open(GitProgram git);
  /// GIT_DIR and similar variables are ignored, because the caller names the repository.
  static Result<GitAccess> open(const std::string& directory);
};

/// The newest commit of a branch, and the tree of that commit. Both are ids in hexadecimal.
struct GitTip {
  std::string commit;
  std::string tree;

  bool operator==(const GitTip&) const = default;
};

/// Another repository.
struct GitRemote {
  std::string name;        ///< as the caller gave it
  std::string text;        ///< the address that git uses
  bool is_folder = false;  ///< a person typed a path or file://

  /// For people and records: without the name and password that an address may have.
  [[nodiscard]] std::string shown() const;
};

/// Where a branch is checked out.
struct GitWorkPlace {
  std::string path;
  bool is_gone = false;  ///< git still lists the work tree, but its folder does not exist
};

/// The result of a push of a branch.
struct GitPush {
  std::string address;  ///< of the other repository, without a password
  std::string from;     ///< the commit that its branch had; empty: it had no such branch
  std::string to;       ///< the commit that it has now
};

/// A branch of a git repository, which may be bare, and a read-only view of its files.
///
/// The view shows the tree of one commit. Only follow() moves it to another one. Nothing is checked
/// out, and only trees and blobs that a caller names are read.
///
/// Ownership: owns the view. Threads: safe to share.
/// Errors:    those of GitProgram and GitObjects; kUsage `git.not_a_branch`; kNotFound
///            `git.no_such_branch`.
class GitBranch {
 public:
  /// Opens a branch. `name` is a branch, a whole name below `refs/`, or `HEAD` for the branch that
  /// HEAD names. Tags and remote-tracking branches are refused, because commits do not move them.
  static Result<std::unique_ptr<GitBranch>> open(GitAccess repository, const std::string& name);
  ~GitBranch();

  [[nodiscard]] const std::string& name() const { return name_; }  ///< `refs/heads/main`
  [[nodiscard]] const GitLayout& layout() const { return repository_.layout; }
  [[nodiscard]] const GitProgram& git() const { return repository_.git; }
  [[nodiscard]] bool is_in_cache() const { return repository_.is_cache; }
  [[nodiscard]] const std::shared_ptr<const GitTrees>& trees() const { return repository_.trees; }
  [[nodiscard]] const GitWriters& writers() const { return *repository_.writers; }

  /// The files of the shown commit. They follow follow().
  [[nodiscard]] const Directory& files() const;
  [[nodiscard]] GitTip shown() const;
  /// The id of a path in the shown commit; empty if it does not exist.
  Result<std::string> id_of(const RelPath& path) const;
  /// Reads the present tip of the branch and shows it.
  Result<GitTip> follow() const;
  /// Reads the present tip of the branch.
  Result<GitTip> tip() const;

  /// Returns a work tree in which the branch is checked out, or the file of a rebase or bisection
  /// that will come back to it, or an empty path.
  Result<GitWorkPlace> work_tree_with_it() const;
  /// Whether the commit is in the history of the branch, or was there at some time according to its
  /// reflog. A commit that does not exist is not.
  Result<bool> contains(const std::string& commit) const;
  /// Moves the branch from one commit to another, if it still has the first one. Returns false if
  /// it has another one. `reason` goes to the reflog, if git keeps one for this branch.
  /// Errors: kRefused `git.ref_locked`; kUndecided `git.branch_unknown` if the branch cannot be
  ///         read after a failure. After any other Error the branch has not moved.
  Result<bool> move(const std::string& from, const std::string& to,
                    const std::string& reason) const;
  /// The repository that a name of a remote or an address means.
  /// Errors: kUsage `push.unknown_remote`.
  Result<GitRemote> remote(const std::string& name) const;
  /// Gives the present commit to the branch of the same name in another repository, if that branch
  /// has an older commit of this history, or does not exist, and does not move meanwhile. A name
  /// cannot mean a folder, because the hooks of the repository there run, and the configuration of
  /// this repository chooses what a name means. That configuration may not redirect addresses or
  /// weaken HTTP. With `expected`, a parent of this commit, the branch there must have it.
  /// If a push fails, the state of the branch there tells whether it was pushed, has moved or was
  /// refused.
  /// Errors: kConflict `push.remote_moved`; kRefused `push.remote_refused`, `push.odd_config`,
  ///         `push.remote_is_a_folder`, `git.protocol`; kIo `push.failed`; kUndecided
  ///         `push.unknown` if git did not end.
  Result<GitPush> push(const GitRemote& remote, const std::string& expected = {}) const;

 private:
  class Files;
  GitBranch(GitAccess repository, std::string name);
  [[nodiscard]] std::shared_ptr<const GitTree> tree() const;
  [[nodiscard]] bool had(const std::string& commit) const;
  [[nodiscard]] Result<std::string> unfinished_work() const;
  [[nodiscard]] std::vector<std::string> push_words(const GitRemote& remote,
                                                    const std::string& commit,
                                                    const std::string& expected) const;
  [[nodiscard]] Result<bool> is_parent(const std::string& parent, const std::string& commit) const;
  [[nodiscard]] Error remote_moved() const;
  [[nodiscard]] Result<GitPush> try_push(const GitRemote& remote,
                                         const std::string& expected) const;

  GitAccess repository_;
  std::string name_;
  std::unique_ptr<const Files> files_;
  mutable std::mutex mutex_;  ///< guards the next two
  mutable GitTip shown_;
  mutable std::shared_ptr<const GitTree> tree_;
};

}  // namespace galley
