#pragma once

#include <galley/outcome.h>
#include <galley/proposal.h>
#include <galley/transaction.h>
#include <galley/verdict.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/check/staged_fixes.h"
#include "engine/policy/config.h"

namespace galley {

class CommandRunner;
struct UserSettings;

/// What of a git repository is to be judged, and against what.
struct CheckSource {
  enum class Kind : uint8_t {
    kStaged,    ///< the index, against HEAD: exactly what `git commit` would take; while a merge is
                ///< made, against all that its parents have
    kWorktree,  ///< the files of the work tree with the untracked ones, against HEAD
    kCommit,    ///< `to`, against its parents
    kRange,     ///< `to`, against its merge base with `from`, under the rules of `from`
    kPatch,     ///< `patch` put onto HEAD
  };
  Kind kind = Kind::kStaged;
  /// A revision, for kRange; empty: nothing was there before (a first push).
  std::string from = {};
  std::string to = {};     ///< a revision, for kCommit and kRange
  std::string patch = {};  ///< an edit document of any format, for kPatch
  std::string rules = {};  ///< the revision whose galley.toml counts, for kRange; empty: `from`
  /// For kRange: against `from` itself, as is asked of a branch that loses commits.
  bool is_direct = false;
  /// For kRange: commits beside `from` whose content is not new either; then the base is what all
  /// of them hold together.
  std::vector<std::string> known = {};
};

/// Who asks, and what the judgement may use.
struct CheckOptions {
  TransactionOptions who = {};
  /// Instead of the galley.toml of the base: a file of the host that a person named.
  std::string config_file = {};
  Approver approver = {};
  /// Findings that the unchanged files have as well count for nothing.
  bool only_new = false;
  std::string directory = {};                          ///< empty: the current one
  std::shared_ptr<const UserSettings> user = nullptr;  ///< null: loaded
  CommandRunner* runner = nullptr;                     ///< null: the sandbox
  const Clock* clock = nullptr;                        ///< null: the machine's
};

/// One change of a git repository that the gate judges where it lies: in the index, between
/// commits, in a patch. Nothing is checked out, stashed or refreshed.
///
///     open -> proposal, tree            read lazily from the repository
///          -> judge                     the same gate as a transaction's
///          -> fix                       (the index only; see there)
///
/// The rules are those of the galley.toml of the base: of the target of a range, of HEAD else.
/// Where HEAD has none, that of the work tree counts for what is local. A change of galley.toml is
/// asked about: who changes the rules does not judge by the changed ones.
///
/// Invariant: index, work tree, stash and refs are never written, but by fix().
/// Ownership: owns the readers of the repository; what proposal() returns outlives it.
/// Threads:   confined to one thread.
/// Errors:    those of GitProgram; kUsage `git.no_such_revision`; kRefused `check.unmerged`,
///            `git.shallow`; `config.*`, those of reading an edit document.
class GitCheck {
 public:
  static Result<std::unique_ptr<GitCheck>> open(const CheckSource& source,
                                                CheckOptions options = {});
  ~GitCheck();
  GitCheck(const GitCheck&) = delete;
  GitCheck& operator=(const GitCheck&) = delete;

  /// What would change in the base.
  [[nodiscard]] const Proposal& proposal() const;
  /// The tree that it would change, for reading.
  [[nodiscard]] const Directory& base() const;
  [[nodiscard]] const Config& config() const;
  /// The id of base().
  [[nodiscard]] const std::string& base_tree() const;
  /// The text of the galley.toml that judges; empty where there is none.
  [[nodiscard]] Result<std::string> rules() const;
  /// Absolute path of the work tree, or of a bare repository.
  [[nodiscard]] const std::string& root_path() const;
  /// What was not believed, a line each.
  [[nodiscard]] const std::vector<std::string>& notices() const;

  /// Asks the gate.
  Result<Preview> judge(const std::function<void(const Verdict::Progress&)>& on_progress = {});

  /// Puts what the validators with `fix = true` make of the staged files into the index, and into
  /// each file of the work tree that held what the index held. Only for kStaged; what is proposed
  /// then is another change, so open it anew. It is on record: fix_what_is_staged().
  /// Errors: those of fix_what_is_staged(); kUsage `check.fix_staged_only`.
  Result<StagedFixes> fix();

 private:
  struct State;
  explicit GitCheck(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace galley
