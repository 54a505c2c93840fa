#pragma once

#include <galley/outcome.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hash.h"
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
  std::string session = {};            ///< the agent's session; may be empty
  uint64_t turn = 0;                   ///< the turn of that session, from 1; 0: not known
  std::string prompt = {};             ///< the beginning of that turn's prompt; may be empty
  std::vector<TxId> also_undoes = {};  ///< undone together with `undoes`
  std::string git_commit = {};         ///< of a git workspace: the id of its commit; else empty
};

/// The maximum length of the id of an agent's session.
inline constexpr size_t kMaxSessionBytes = 128;
/// The maximum length of the beginning of a prompt that is kept with the commits of its turn.
inline constexpr size_t kMaxPromptBytes = 200;

/// Whether a text can be the id of a session: printable ASCII characters without spaces.
[[nodiscard]] inline bool is_session_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSessionBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

using ConflictHunk = Conflict::Hunk;
using ConflictPath = Conflict::Path;

/// The outcome of publishing an approved proposal; a failure is an Error instead.
/// ErrorKind::kUndecided means that the commit point was passed and that undoing the swaps failed.
/// The next open decides.
using PublishOutcome = std::variant<Receipt, Conflict>;

}  // namespace galley
