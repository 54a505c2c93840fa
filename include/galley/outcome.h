#pragma once

#include <galley/path.h>
#include <galley/proposal.h>
#include <galley/verdict.h>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// What becomes of a commit. Values; the texts are not escaped for a terminal.
namespace galley {

/// It was committed: durable, as far as galley.toml asks for it, when this is returned.
struct Receipt {
  TxId id;              ///< names it in the history: Workspace::undo takes it back
  ContentId proposal;   ///< what was committed
  int64_t time_ns = 0;  ///< wall clock of the commit point
  ChangeSet changes;
  std::vector<std::string> warnings;  ///< for example a broken hard link, an owner not kept
  std::string git_commit = {};        ///< hash of the commit of git that a tool asked for
};

/// The workspace changed underneath: nothing was committed.
struct Conflict {
  /// Lines of one file that both sides changed.
  struct Hunk {
    uint32_t line = 0;   ///< 1-based, of `found` in the workspace's file
    std::string base;    ///< what both sides started from
    std::string found;   ///< what the workspace has
    std::string wanted;  ///< what the change would put there
  };
  /// One path that is not what the proposal was made on.
  struct Path {
    RelPath path = RelPath::root();
    Node expected;                 ///< the base of the proposal
    Node found;                    ///< what the workspace holds
    std::string message;           ///< one sentence
    std::string diff = {};         ///< git's, from expected to found, where it has lines
    std::vector<Hunk> hunks = {};  ///< where both sides changed the same lines
  };

  std::string reason = "conflict.changed_on_disk";  ///< or `conflict.read_changed`
  std::vector<Path> paths;
  /// Files of others that were met while the swaps were taken back, and where they are now.
  std::vector<std::string> warnings = {};
};

/// What a preview shows: the frozen proposal and what the gate says of it.
struct Preview {
  Proposal proposal;
  Verdict verdict;
};

/// The gate's no to a commit, with the proposal it was about; the transaction stays open.
struct Refused {
  Preview preview;
  [[nodiscard]] const Refusal& refusal() const {
    return std::get<Refusal>(preview.verdict.decision);
  }
};

/// Nothing differs from the workspace, so nothing was committed.
struct NothingToCommit {};

/// What a commit comes to, and the proposal that it was about: after a Receipt what was committed,
/// merged or not, else what was asked for. An Error beside it means "could not find out"; with
/// ErrorKind::kUndecided the commit point was passed and putting back failed: the next open of the
/// workspace decides.
struct CommitOutcome : std::variant<Receipt, Refused, Conflict, NothingToCommit> {
  using Base = std::variant<Receipt, Refused, Conflict, NothingToCommit>;
  CommitOutcome(Proposal about, Base result)
      : Base(std::move(result)), proposal(std::move(about)) {}
  Proposal proposal;
};

}  // namespace galley
