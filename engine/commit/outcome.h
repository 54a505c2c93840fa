#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/content_id.h"
#include "base/tx_id.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// Who and why, kept with a commit.
struct CommitMeta {
  std::string agent;               ///< who asked; may be empty
  std::string tool;                ///< `apply`, `commit`, `undo`, a tool's name
  std::string message;             ///< the reason given
  std::optional<TxId> undoes;      ///< the transaction this one takes back
  std::vector<std::string> audit;  ///< canonical audit records that become durable with the commit
  /// Who began the transaction, when that is not `agent`.
  std::optional<std::string> owner = std::nullopt;
};

/// What a commit returns.
struct Receipt {
  TxId id;
  ContentId proposal;
  int64_t time_ns = 0;  ///< wall clock of the commit point
  ChangeSet changes;
  std::vector<std::string> warnings;  ///< for example a broken hard link, an owner not kept
};

/// Lines of one file that both sides changed.
struct ConflictHunk {
  uint32_t line = 0;   ///< 1-based, of `found` in the workspace's file
  std::string base;    ///< what both sides started from
  std::string found;   ///< what the workspace has
  std::string wanted;  ///< what the change would put there
};

/// One path that is not what the proposal was made on.
struct ConflictPath {
  RelPath path = RelPath::root();
  Node expected;                         ///< the base of the proposal
  Node found;                            ///< what the workspace holds
  std::string message;                   ///< one sentence
  std::string diff = {};                 ///< git's, from expected to found, where it has lines
  std::vector<ConflictHunk> hunks = {};  ///< where both sides changed the same lines
};

/// The workspace changed underneath: nothing was committed.
struct Conflict {
  std::string reason = "conflict.changed_on_disk";  ///< or `conflict.read_changed`
  std::vector<ConflictPath> paths;
  /// Files of others that were met while the swaps were taken back, and where they are now.
  std::vector<std::string> warnings = {};
};

/// An Error instead means "could not find out"; with ErrorKind::kUndecided the commit point was
/// passed and putting back failed: the next open decides.
using PublishOutcome = std::variant<Receipt, Conflict>;

}  // namespace galley
