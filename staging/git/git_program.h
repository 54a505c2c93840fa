#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/piped_process.h"

namespace galley {

/// The directories and the format of a repository, as git itself finds them (GIT_DIR etc. are
/// used).
struct GitLayout {
  std::string work_tree;         ///< absolute; empty in a bare repository
  std::string git_directory;     ///< absolute
  std::string common_directory;  ///< absolute; shared by linked worktrees
  std::string object_format;     ///< `sha1` or `sha256`
  bool is_shallow = false;
  bool is_bare = false;

  /// The object name of the empty tree.
  [[nodiscard]] std::string empty_tree() const;
};

/// Whether `name` can be the whole name of a reference, such as `refs/heads/main`.
/// Source: git-check-ref-format(1).
bool is_ref_name(std::string_view name);

/// Runs the git program on one repository.
///
/// It works with every repository that git can open: sparse and split indexes, shallow and partial
/// clones, linked worktrees, both hashes. git runs no program that the repository's own
/// configuration names (git_settings.h), and fetches nothing. It takes locks only for commands that
/// write the index.
///
/// Ownership: a value; copies share the repository's configuration that was read.
/// Threads:   safe to share.
/// Errors:    kNotFound `git.program_missing`, `git.no_repository`; kRefused `git.other_owner`,
///            `git.index_locked`, `git.object_missing`, `git.foreign_work_tree`; kTimeout
///            `git.timeout`, `host.stopped`; kQuota `limit.git_output`, `limit.git_memory`; kIo
///            `git.object_damaged`, `git.failed` with git's own message.
class GitProgram {
 public:
  /// Time limit of one command, or of one answer of an interactive command. The variable
  /// GALLEY_GIT_TIMEOUT (seconds) replaces it.
  static constexpr std::chrono::milliseconds kMaxTime{300'000};
  /// Memory of one git process, without mapped packs: a few small trees can name each other so that
  /// their paths fill any memory. Large fetches need some GiB.
  static constexpr uint64_t kMaxMemoryBytes = uint64_t{4} << 30U;
  /// Time limit for listing the configuration, which may include a FIFO.
  static constexpr std::chrono::milliseconds kMaxConfigTime{5'000};
  /// Maximum output of one command.
  static constexpr size_t kMaxOutputBytes = size_t{256} << 20U;

  /// Limits of one command.
  struct Bounds {
    std::chrono::milliseconds time;
    size_t output_bytes;
  };

  /// `directory` is git's working directory; empty: that of this process.
  explicit GitProgram(std::string directory = {});

  /// A copy that uses another index (GIT_INDEX_FILE).
  [[nodiscard]] GitProgram with_index(std::string path) const {
    return with(&GitProgram::index_, std::move(path));
  }

  /// A copy that also sees the objects of another folder (GIT_ALTERNATE_OBJECT_DIRECTORIES).
  [[nodiscard]] GitProgram with_objects(std::string path) const {
    return with(&GitProgram::objects_, std::move(path));
  }

  /// A copy that may connect to repositories by these protocols, separated by colons: `https:ssh`.
  [[nodiscard]] GitProgram with_protocols(std::string names) const {
    return with(&GitProgram::protocols_, std::move(names));
  }

  /// A copy with other limits.
  [[nodiscard]] GitProgram with_bounds(const Bounds& bounds) const {
    return with(&GitProgram::bounds_, bounds);
  }

  /// A copy whose run() and try_run() end git when this stops.
  [[nodiscard]] GitProgram with_stop(std::stop_token stop) const {
    return with(&GitProgram::stop_, std::move(stop));
  }

  /// git in another repository. GIT_DIR etc. from the environment are ignored.
  [[nodiscard]] static GitProgram in_other_repository(std::string directory);
  /// The same in a repository that the person or a configuration named: it may be a bare one also
  /// with `safe.bareRepository = explicit`.
  [[nodiscard]] static GitProgram in_named_repository(std::string directory);

  /// git outside of every repository and without any configuration, also the person's: that may
  /// name programs and change what a command does.
  [[nodiscard]] static GitProgram unconfigured();

  [[nodiscard]] Result<GitLayout> layout() const;
  /// Whether git's configuration, also that of the repository, asks for signed commits.
  [[nodiscard]] Result<bool> signs_commits() const;
  /// As key_that_redirects(); empty if there is none.
  [[nodiscard]] Result<std::string> key_that_redirects() const;

  /// Runs git and returns its output. A status other than 0 is an Error.
  Result<std::string> run(const std::vector<std::string>& arguments,
                          std::string_view input = {}) const;
  /// As run(), but any status is a result.
  Result<PipedOutput> try_run(const std::vector<std::string>& arguments,
                              std::string_view input = {}) const;
  /// Starts an interactive command.
  Result<std::unique_ptr<PipedProcess>> start(const std::vector<std::string>& arguments) const;

  /// An Error from the message of a failed command.
  [[nodiscard]] static Error error(std::string_view complaint);
  /// The same for a command that asked another repository. kRefused `git.not_allowed`: it does not
  /// let this user in. kRefused `git.protocol`: with_protocols() does not allow its address.
  [[nodiscard]] static Error remote_error(std::string_view complaint);
  /// An Error that names git, for output that could not be read completely.
  [[nodiscard]] static Error unreadable_output(const Error& why);

 private:
  template <class T>
  [[nodiscard]] GitProgram with(T GitProgram::*member, T value) const {
    GitProgram other = *this;
    other.*member = std::move(value);
    return other;
  }
  [[nodiscard]] std::vector<std::string> words(const std::vector<std::string>& arguments) const;

  [[nodiscard]] PipedProcessOptions surroundings() const;
  /// surroundings(), and settings that disable the programs that the repository names.
  Result<void> check_own_files() const;
  Result<PipedProcessOptions> safe_surroundings() const;

  struct Settings;  ///< overrides of the repository's configuration, computed once

  std::string directory_;
  std::string index_;    ///< empty: that of the environment
  std::string objects_;  ///< the same
  std::string protocols_ = "none";
  Bounds bounds_;
  std::stop_token stop_;
  bool is_elsewhere_ = false;     ///< GIT_DIR etc. are ignored
  bool is_named_ = false;         ///< see in_named_repository()
  bool is_unconfigured_ = false;  ///< without repository and configuration
  std::shared_ptr<Settings> settings_;
};

/// One path of a raw diff (git-diff-index(1), "Raw output format"). Ids are hexadecimal. An id is
/// all zeros if the object is absent or git did not compute its id.
struct GitRawChange {
  uint32_t old_mode = 0;
  uint32_t new_mode = 0;
  std::string old_id;
  std::string new_id;
  char status = 'M';  ///< A, C, D, M, R, T, U
  std::string path;   ///< bytes, not necessarily UTF-8
  std::string from;   ///< of a rename or copy
};

/// Reads the output of `git diff-index --raw -z --no-abbrev` and similar commands.
/// Errors: kInternal `git.bad_diff`.
Result<std::vector<GitRawChange>> parse_raw_diff(std::string_view text);

/// Splits a text into its pieces, each of which is followed by a zero byte.
[[nodiscard]] std::vector<std::string> split_at_nul(std::string_view text);

}  // namespace galley
