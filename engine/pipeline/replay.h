#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <galley/workspace.h>
#include "engine/calls/transcript.h"

namespace galley {

/// One difference between the transcript and its replay.
struct ReplayDifference {
  /// `not_replayed` (the call was skipped; `message` says why), `base` (the tree differed before
  /// the call), `result`, or `tree` (the tree differed after the call).
  std::string what;
  size_t call = 0;  ///< its number in the transcript, from 1
  std::string tool;
  std::string where;  ///< a path, or a JSON pointer (RFC 6901) into the result
  std::string expected;
  std::string found;
  std::string reason = {};  ///< of `not_replayed`: `replay.tool_missing`, `replay.other_version`,
                            ///< `replay.secret_missing`, `replay.outside`, `replay.cut`,
                            ///< `replay.redacted`
  std::string message = {};
};

/// The result of a replay.
struct ReplayReport {
  size_t calls = 0;
  size_t replayed = 0;
  std::vector<ReplayDifference> differences;  ///< in the order of the calls
  size_t more = 0;                            ///< differences beyond kMaxReplayDifferences
  [[nodiscard]] bool is_equal() const { return differences.empty(); }
};

inline constexpr size_t kMaxReplayDifferences = 1000;  ///< differences that a replay lists

/// The options of a replay.
struct ReplayOptions {
  SecretProvider secrets = {};  ///< values for the placeholders
  std::stop_token stop = {};
};

/// Repeats the calls of a transcript in order in this transaction. Compares the result and the
/// changes of each call with the transcript. Paths of the old workspace become paths of this one.
/// Skips and reports a call that cannot be repeated exactly.
///
/// Compares ok, code, reason and data of a result (any two time stamps are equal), and the kind,
/// mode and content of every path that the call changed then or changes now. Ignores durations,
/// resources, execution ids and messages.
Result<ReplayReport> replay(Workspace& workspace, Transaction& transaction,
                            const std::vector<TranscriptCall>& calls,
                            const ReplayOptions& options = {});

/// Returns a line for each difference, and a summary.
[[nodiscard]] std::string describe(const ReplayReport& report);

}  // namespace galley
