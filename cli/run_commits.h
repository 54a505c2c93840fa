#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/git_hooks/run_history.h"

namespace galley {

/// Errors: kRefused `person.agent` when an agent asks to keep git commits.
[[nodiscard]] Result<void> check_git_commits(const Arguments& arguments);

/// The git commits that runs of a transaction made. The functions are called in this order:
///
///     of -> say           lists them in the summary
///        -> wants_keep    follows --git-commits, or asks the person
///        -> copy          copies their objects, before a commit of the transaction drops the stage
///        -> keep          asks the gate as a push does, and then moves each reference
///
/// Ownership: borrows the session.
class RunCommits {
 public:
  static Result<RunCommits> of(Session& session, const std::string& tx);

  [[nodiscard]] bool is_empty() const { return commits_.empty(); }
  [[nodiscard]] bool is_wanted() const { return is_wanted_; }
  /// Says that the run ended on another branch. Returns whether its changes therefore contain what
  /// differs between the two.
  Result<bool> say_branch(const RunRef& head) const;
  void say() const;
  [[nodiscard]] Json json() const;

  /// Errors: those of check_git_commits().
  Result<bool> wants_keep();
  /// Does nothing unless wants_keep() returned true; the same for keep().
  Result<void> copy();
  /// Returns false when a commit was refused or could not be kept. It still keeps the others.
  /// `has_files`: the transaction's files are committed, so git sees them as changes.
  bool keep(bool has_files);
  /// Reports the commits that are dropped with the transaction.
  void report_dropped() const;

 private:
  RunCommits(Session& session, std::string tx) : session_(&session), tx_(std::move(tx)) {}
  /// The one that the sandbox showed to the run: GIT_DIR etc. of the environment are ignored.
  [[nodiscard]] RunRepository repository() const;
  Result<bool> keep_one(const RunHistory& one, bool has_files, std::string& kept);

  Session* session_;
  std::string tx_;
  std::string root_;  ///< of the workspace
  std::string objects_;
  std::vector<RunHistory> commits_;
  std::vector<std::string> kept_;  ///< the reference that each is kept in; empty: none
  bool is_wanted_ = false;
};

}  // namespace galley
