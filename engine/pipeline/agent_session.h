#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <galley/path.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The state of an agent's session between the calls of its hook, below
/// `.galley/sessions/<workspace id>/<hash of the session's id>/`:
///
///     turn       lines with `galley turn 1`, the number of the turn, the beginning of its prompt
///     <hash>.j   the old state of the paths of one edit: a journal that is never published
///
/// A lost or damaged file costs only what it says: the turn or the edit is not known.
/// Ownership: borrows the state. Threads: any; each call of an agent has files of its own.
class AgentSession {
 public:
  /// A prompt of a person, and the work of the agent until the next one.
  struct Turn {
    uint64_t number = 0;  ///< from 1; 0: no prompt is known
    std::string prompt;   ///< its beginning
  };

  AgentSession(const StateDirectory& state, std::string_view id);

  [[nodiscard]] Turn turn() const;
  /// Begins the next turn. The cost is constant.
  [[nodiscard]] Result<void> begin_turn(std::string_view prompt) const;

  /// Keeps the old state of the paths that the call `call` of the agent is about to change.
  /// Errors: kQuota `limit.kept_edit` above kMaxKeptEditBytes.
  [[nodiscard]] Result<void> keep_edit(std::string_view call, const Proposal& proposal,
                                       int64_t now_ns) const;
  /// Returns the change from the kept state to the present one, and forgets what was kept. Empty
  /// if nothing is kept of this call, or only since more than kKeptEditLastsNs.
  [[nodiscard]] Result<std::optional<Proposal>> take_edit(std::string_view call,
                                                          const Directory& workspace,
                                                          const Clock& clock) const;

 private:
  [[nodiscard]] RelPath place(const std::string& name) const;

  const StateDirectory* state_;
  std::string folder_;
};

/// The contents that one edit of an agent may replace; a larger edit is made, but not recorded.
inline constexpr uint64_t kMaxKeptEditBytes = uint64_t{64} << 20U;
/// An agent whose call takes longer is treated as gone.
inline constexpr int64_t kKeptEditLastsNs = int64_t{24} * 3600 * 1'000'000'000;

/// The result of removing stale files of sessions, or of a dry run of that.
struct SessionCleaning {
  size_t files = 0;
  uint64_t bytes = 0;
};

/// Removes kept edits that count no more, and sessions that had no prompt for 30 days.
Result<SessionCleaning> clear_sessions(const StateDirectory& state, int64_t now_ns, bool dry_run);

/// The first line of a text with a character other than a blank, at most `max_bytes` long.
[[nodiscard]] std::string first_words(std::string_view text, size_t max_bytes);

}  // namespace galley
