#pragma once

#include <galley/path.h>
#include <galley/proposal.h>
#include <galley/verdict.h>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// The results of a commit. Values. The texts are not escaped for a terminal.
namespace galley {

/// The transaction was committed. It is durable, as far as galley.toml asks for it, once this is
/// returned.
struct Receipt {
  TxId id;              ///< its name in the history; Workspace::undo takes it
  ContentId proposal;   ///< what was committed
  int64_t time_ns = 0;  ///< wall clock of the commit point
  ChangeSet changes;
  std::vector<std::string> warnings;  ///< for example a broken hard link, an owner not kept
  std::string git_commit = {};        ///< hash of the git commit that a tool asked for
};

/// The workspace has changed since the proposal was made: nothing was committed.
struct Conflict {
  /// Lines of one file that both sides changed.
  struct Hunk {
    uint32_t line = 0;   ///< 1-based, of `found` in the workspace's file
    std::string base;    ///< what both sides started from
    std::string found;   ///< what the workspace holds
    std::string wanted;  ///< what the change would write
  };
  /// One path that differs from what the proposal was made on.
  struct Path {
    RelPath path = RelPath::root();
    Node expected;                 ///< the base of the proposal
    Node found;                    ///< what the workspace holds
    std::string message;           ///< one sentence
    std::string diff = {};         ///< in git's format, from expected to found, if it has lines
    std::vector<Hunk> hunks = {};  ///< where both sides changed the same lines
  };

  std::string reason = "conflict.changed_on_disk";  ///< or `conflict.read_changed`
  std::vector<Path> paths;
  /// Files of others that were met while the swaps were taken back, and where they are now.
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

/// The outcome of a commit, and its proposal: after a Receipt, what was committed, merged or not;
/// else what was asked for. An Error instead of an outcome means that the outcome is not known.
/// With ErrorKind::kUndecided the commit point was passed and taking back failed: the next open of
/// the workspace decides.
struct CommitOutcome : std::variant<Receipt, Refused, Conflict, NothingToCommit> {
  using Base = std::variant<Receipt, Refused, Conflict, NothingToCommit>;
  CommitOutcome(Proposal about, Base result)
      : Base(std::move(result)), proposal(std::move(about)) {}
  Proposal proposal;
};

}  // namespace galley
