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

using ConflictHunk = Conflict::Hunk;
using ConflictPath = Conflict::Path;

/// What publishing an approved proposal comes to. An Error instead means "could not find out"; with
/// ErrorKind::kUndecided the commit point was passed and putting back failed: the next open
/// decides.
using PublishOutcome = std::variant<Receipt, Conflict>;

}  // namespace galley
