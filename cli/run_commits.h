#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/git_hooks/run_history.h"

namespace galley {

/// The commits of git that runs of a transaction made, and what becomes of them:
///
///     of -> say           named in the summary
///        -> wants_keep    --git-commits, or a person who is asked
///        -> copy          their objects, before a commit of the transaction drops its stage
///        -> keep          judged by the gate as a push is, then each reference moves
///
/// Ownership: borrows the session.
class RunCommits {
 public:
  static Result<RunCommits> of(Session& session, const std::string& tx);

  [[nodiscard]] bool is_empty() const { return commits_.empty(); }
  void say() const;
  [[nodiscard]] Json json() const;

  /// Errors: kRefused `person.agent` when an agent asks for it.
  Result<bool> wants_keep();
  /// Nothing unless they are to be kept, here and in keep().
  Result<void> copy();
  /// False when the gate refused one, or it could not be kept; the others are.
  bool keep();
  /// What is said of those that go with the transaction.
  void say_dropped() const;

 private:
  RunCommits(Session& session, std::string tx) : session_(&session), tx_(std::move(tx)) {}
  Result<bool> keep_one(const RunHistory& one, std::string& kept);

  Session* session_;
  std::string tx_;
  std::string objects_;
  std::vector<RunHistory> commits_;
  std::vector<std::string> kept_;  ///< the reference that each is kept in; empty: none
  bool is_wanted_ = false;
};

}  // namespace galley
