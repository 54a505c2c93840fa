#pragma once

#include <galley/outcome.h>
#include <galley/proposal.h>
#include <galley/transaction.h>
#include <galley/verdict.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/check/staged_fixes.h"
#include "engine/policy/config.h"
#include "staging/formats/edit_set.h"
#include "staging/git/git_branch.h"

namespace galley {

class CommandRunner;
struct UserSettings;

/// The part of a git repository to judge, and its base.
struct CheckSource {
  enum class Kind : uint8_t {
    kStaged,    ///< the index, against HEAD: exactly what `git commit` would commit; during a
                ///< merge, against the contents of all parents
    kWorktree,  ///< the files of the work tree, including untracked ones, against HEAD
    kCommit,    ///< `to`, against its parents
    kRange,     ///< `to`, against its merge base with `from`, under the rules of `from`
    kPatch,     ///< `patch` applied to HEAD
  };
  Kind kind = Kind::kStaged;
  /// A revision, for kRange; empty: there was nothing before (a first push).
  std::string from = {};
  std::string to = {};                            ///< a revision, for kCommit and kRange
  std::string patch = {};                         ///< an edit document of any format, for kPatch
  DocumentEnd patch_end = DocumentEnd::kUnknown;  ///< whether the patch may be cut off
  std::string rules = {};  ///< the revision whose galley.toml counts, for kRange; empty: `from`
  /// For kRange: compare with `from` itself instead of the merge base, as for a push. There it is
  /// the merge base, unless the branch loses commits.
  bool is_direct = false;
  /// For kRange: further commits besides `from` whose content is not new either. Then the base is
  /// the merge of all of them. For kStaged: the other parents of the next commit; empty: those of
  /// MERGE_HEAD.
  std::vector<std::string> known = {};
  /// For kRange: commits whose files are not new where `to` has the same, except the rules.
  std::vector<std::string> same = {};
};

/// The requester, and the resources of the judgement.
struct CheckOptions {
  TransactionOptions who = {};
  /// Replaces the galley.toml of the base: a file of the host that a person named.
  std::string config_file = {};
  Approver approver = {};
  /// Ignore findings that the unchanged files have as well.
  bool only_new = false;
  /// Nothing: the current one, or the repository that GIT_DIR etc. name.
  std::optional<GitAccess> repository = {};
  std::shared_ptr<const UserSettings> user = nullptr;  ///< null: loaded
  CommandRunner* runner = nullptr;                     ///< null: the sandbox
  const Clock* clock = nullptr;                        ///< null: the machine's
};

/// One change of a git repository that the gate judges in place: in the index, between commits, in
/// a patch. Nothing is checked out, stashed or refreshed.
///
///     open -> proposal, tree            read lazily from the repository
///          -> judge                     the same gate as a transaction's
///          -> fix                       (the index only; see there)
///
/// The rules come from the galley.toml of the base: of a commit's first parent, of the target of a
/// range, else of HEAD. If HEAD has none, the work tree's galley.toml counts for local changes. A
/// change of galley.toml needs approval, because its author must not be judged by the changed
/// rules.
///
/// Invariant: only fix() writes to the index and the work tree; stash and refs are never written.
/// Ownership: owns the readers of the repository; the result of proposal() may outlive it.
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

  /// The judged change, with base() as its base.
  [[nodiscard]] const Proposal& proposal() const;
  /// The tree of the base, for reading.
  [[nodiscard]] const Directory& base() const;
  [[nodiscard]] const Config& config() const;
  /// The id of base().
  [[nodiscard]] const std::string& base_tree() const;
  /// The text of the galley.toml with the rules; empty when there is none.
  [[nodiscard]] Result<std::string> rules() const;
  /// Those of judging_files().
  [[nodiscard]] Result<std::vector<std::pair<std::string, ContentId>>> rule_files() const;
  /// Absolute path of the work tree, or of a bare repository.
  [[nodiscard]] const std::string& root_path() const;
  /// Notices for people about the rules and the state, one line each.
  [[nodiscard]] const std::vector<std::string>& notices() const;

  /// Lets the gate judge the change.
  Result<Preview> judge(const std::function<void(const Verdict::Progress&)>& on_progress = {});

  /// Runs the validators with `fix = true` on the staged files. Writes their changes to the index,
  /// and to each file of the work tree that equalled the index. Only for kStaged. Afterwards open a
  /// new GitCheck, because the proposal has changed. The fix is recorded, as fix_what_is_staged()
  /// describes.
  /// Errors: those of fix_what_is_staged(); kUsage `check.fix_staged_only`.
  Result<StagedFixes> fix();

 private:
  struct State;
  explicit GitCheck(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace galley
