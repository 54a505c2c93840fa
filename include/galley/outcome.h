#pragma once

#include <galley/path.h>
#include <galley/proposal.h>
#include <galley/verdict.h>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// The results of a commit. All types are values. Texts are not escaped for a terminal.
namespace galley {

/// The transaction was committed. It is already as durable as galley.toml requires
/// (`commit.durability`).
struct Receipt {
  TxId id;              ///< its number in the history, for Workspace::undo
  ContentId proposal;   ///< the committed proposal
  int64_t time_ns = 0;  ///< wall clock of the commit point
  ChangeSet changes;
  std::vector<std::string> warnings;  ///< for example: a hard link was broken
  std::string git_commit = {};        ///< hash of the git commit of a branch or for a tool
};

/// The workspace has changed since the proposal was made: nothing was committed.
struct Conflict {
  /// Lines of one file that both sides changed.
  struct Hunk {
    uint32_t line = 0;   ///< first line of `found` in the workspace's file, from 1
    std::string base;    ///< the lines of the common base
    std::string found;   ///< the lines in the workspace
    std::string wanted;  ///< the lines in the proposal
  };
  /// One path that no longer matches the base of the proposal.
  struct Path {
    RelPath path = RelPath::root();
    Node expected;                 ///< the base of the proposal
    Node found;                    ///< the state in the workspace
    std::string message;           ///< one sentence
    std::string diff = {};         ///< as git prints it, from expected to found; may be empty
    std::vector<Hunk> hunks = {};  ///< the lines that both sides changed
  };

  /// Or `conflict.read_changed`, or `conflict.branch_moved`: a branch moved again and again.
  std::string reason = "conflict.changed_on_disk";
  std::vector<Path> paths;
  /// Files that other programs wrote during the commit, and where they are now. They were found
  /// when the swaps were reverted.
  std::vector<std::string> warnings = {};
};

/// The frozen proposal and the gate's verdict on it.
struct Preview {
  Proposal proposal;
  Verdict verdict;
};

/// The gate's refusal of a commit, with its proposal. The transaction stays open.
struct Refused {
  Preview preview;
  [[nodiscard]] const Refusal& refusal() const {
    return std::get<Refusal>(preview.verdict.decision);
  }
};

/// Nothing differs from the workspace, so nothing was committed.
struct NothingToCommit {};

/// The outcome of a commit, and its proposal. With a Receipt, `proposal` is the committed one, and
/// may contain merged lines. Otherwise it is the requested one.
///
/// Errors: a commit that fails returns an Error instead. The workspace is then untouched, except
///         with kUndecided: the commit passed the commit point and could not be reverted, and the
///         next open of the workspace finishes or reverts it.
struct CommitOutcome : std::variant<Receipt, Refused, Conflict, NothingToCommit> {
  using Base = std::variant<Receipt, Refused, Conflict, NothingToCommit>;
  CommitOutcome(Proposal about, Base result)
      : Base(std::move(result)), proposal(std::move(about)) {}
  Proposal proposal;
};

}  // namespace galley
