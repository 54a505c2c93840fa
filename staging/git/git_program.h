#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/piped_process.h"

namespace galley {

/// Where the parts of a repository are, as git itself finds them (GIT_DIR and its like count).
struct GitLayout {
  std::string work_tree;         ///< absolute; empty in a bare repository
  std::string git_directory;     ///< absolute
  std::string common_directory;  ///< absolute; what linked worktrees share
  std::string object_format;     ///< `sha1` or `sha256`
  bool is_shallow = false;

  /// The name of the tree that holds nothing.
  [[nodiscard]] std::string empty_tree() const;
};

/// The git program, run as a child on one repository.
///
/// It opens whatever git can open: sparse and split indexes, shallow and partial clones, linked
/// worktrees, repositories of either hash. No program that the repository's own configuration names
/// is run (git_settings.h), nothing is fetched, and no lock is taken but by the calls that write
/// the index.
///
/// Ownership: a value; copies share what they learned of the repository's configuration.
/// Threads:   safe to share.
/// Errors:    kNotFound `git.program_missing`, `git.no_repository`; kRefused `git.other_owner`,
///            `git.index_locked`, `git.object_missing`, `git.foreign_work_tree`; kTimeout
///            `git.timeout`; kQuota `limit.git_output`; kIo `git.object_damaged`, `git.failed` with
///            git's own words.
class GitProgram {
 public:
  /// How long one command may take; one that is spoken with, for one answer. GALLEY_GIT_TIMEOUT, a
  /// number of seconds, stands in for it.
  static constexpr std::chrono::milliseconds kMaxTime{300'000};
  /// How long git may take to list its configuration, which may include a FIFO.
  static constexpr std::chrono::milliseconds kMaxConfigTime{5'000};
  /// What is read of one command.
  static constexpr size_t kMaxOutputBytes = size_t{256} << 20U;

  /// What one command may take of us.
  struct Bounds {
    std::chrono::milliseconds time;
    size_t output_bytes;
  };

  /// `directory` is where it is run; empty: the current one of this process.
  explicit GitProgram(std::string directory = {});

  /// The same with another index (GIT_INDEX_FILE).
  [[nodiscard]] GitProgram with_index(std::string path) const;

  /// The same with the objects of another folder as well (GIT_ALTERNATE_OBJECT_DIRECTORIES).
  [[nodiscard]] GitProgram with_objects(std::string path) const;

  /// The same with other bounds.
  [[nodiscard]] GitProgram with_bounds(const Bounds& bounds) const;

  /// git in another repository, whatever the environment says of this one.
  [[nodiscard]] static GitProgram elsewhere(std::string directory);

  [[nodiscard]] Result<GitLayout> layout() const;

  /// The output of one git command that ended with status 0.
  Result<std::string> run(const std::vector<std::string>& arguments,
                          std::string_view input = {}) const;
  /// As run(), whatever its status.
  Result<PipedOutput> try_run(const std::vector<std::string>& arguments,
                              std::string_view input = {}) const;
  /// Starts one that is spoken with.
  Result<std::unique_ptr<PipedProcess>> start(const std::vector<std::string>& arguments) const;

  /// What a failed command said, as an Error.
  [[nodiscard]] static Error error(std::string_view complaint);
  /// What kept us from hearing a command out, as an Error that names git.
  [[nodiscard]] static Error broken_off(const Error& why);

 private:
  [[nodiscard]] std::vector<std::string> words(const std::vector<std::string>& arguments) const;

  [[nodiscard]] PipedProcessOptions surroundings() const;
  /// surroundings() without the programs that the repository names.
  Result<PipedProcessOptions> safe_surroundings() const;

  struct Settings;  ///< overrides of the repository's configuration, listed once

  std::string directory_;
  std::string index_;    ///< empty: as the environment has it
  std::string objects_;  ///< the same
  Bounds bounds_;
  bool is_elsewhere_ = false;  ///< GIT_DIR and its like do not count
  std::shared_ptr<Settings> settings_;
};

}  // namespace galley
