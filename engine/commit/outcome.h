#pragma once

#include <galley/outcome.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/content_id.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// The origin and reason of a commit.
struct CommitMeta {
  std::string agent;               ///< the agent that asked; may be empty
  std::string tool;                ///< `apply`, `commit`, `undo`, a tool's name
  std::string message;             ///< the reason given
  std::optional<TxId> undoes;      ///< the transaction that this one undoes
  std::vector<std::string> audit;  ///< canonical audit records that become durable with the commit
  /// The agent that began the transaction, when it is not `agent`.
  std::optional<std::string> owner = std::nullopt;
};

using ConflictHunk = Conflict::Hunk;
using ConflictPath = Conflict::Path;

/// The outcome of publishing an approved proposal; a failure is an Error instead.
/// ErrorKind::kUndecided means that the commit point was passed and that undoing the swaps failed.
/// The next open decides.
using PublishOutcome = std::variant<Receipt, Conflict>;

}  // namespace galley
