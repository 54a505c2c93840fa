#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/git_hooks/ref_updates.h"
#include "engine/stages/run_commits.h"
#include "staging/git/git_program.h"

namespace galley {

/// Commits of git that runs of a transaction made and that the repository does not have, by the
/// reference that led to them inside.
struct RunHistory {
  struct Commit {
    std::string id;
    std::string subject;  ///< as git has it: any bytes without a newline
  };
  RunRef ref;
  std::vector<Commit> newest;  ///< newest first, at most kListed
  uint64_t count = 0;

  static constexpr size_t kListed = 10;
};

/// The repository of a workspace with the objects that runs of a transaction made.
///
/// What a run wrote is not believed: the objects are read as those of a fetch are, and come into
/// the repository only by `git index-pack --strict`, which checks each name and each link.
///
/// Errors: those of GitProgram.
class RunRepository {
 public:
  /// `objects` is the absolute path of `git/objects` in the stage.
  RunRepository(GitProgram git, const std::string& objects)
      : git_(std::move(git)), with_run_(git_.with_objects(objects)) {}

  /// What is new in each reference; one that leads to nothing new, or to no commit, is left out.
  Result<std::vector<RunHistory>> history(const std::vector<RunRef>& refs) const;

  /// Copies the objects of these commits into the repository, where nothing names them yet.
  Result<void> copy(const std::vector<RunHistory>& commits) const;

  /// The reference that is to keep them: the one of the same name where it is new or only moves
  /// forward, else `refs/galley/TX/NAME`.
  Result<RefUpdate> update_for(const RunHistory& commits, const std::string& tx) const;

  /// Moves it, if it still is where the update says; of the checked-out branch the index follows.
  /// Returns false where entries of the index that were changed meanwhile kept it from following.
  Result<bool> move(const RefUpdate& update) const;

 private:
  Result<std::string> id_of(const std::string& name) const;

  GitProgram git_;
  GitProgram with_run_;
};

}  // namespace galley
