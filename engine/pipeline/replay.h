#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <galley/workspace.h>
#include "engine/calls/transcript.h"

namespace galley {

/// One thing that is not as the transcript has it.
struct ReplayDifference {
  /// `not_replayed` (a call that was left out; `message` says why), `base` (the tree was another
  /// one before the call), `result` or `tree` (after it).
  std::string what;
  size_t call = 0;  ///< 1-based, of the transcript
  std::string tool;
  std::string where;  ///< a path, or a place in the result as RFC 6901 has it
  std::string expected;
  std::string found;
  std::string reason = {};  ///< of `not_replayed`: `replay.tool_missing`, `replay.other_version`,
                            ///< `replay.secret_missing`, `replay.outside`, `replay.cut`,
                            ///< `replay.redacted`
  std::string message = {};
};

/// What became of a transcript on another tree.
struct ReplayReport {
  size_t calls = 0;
  size_t replayed = 0;
  std::vector<ReplayDifference> differences;  ///< in the order of the calls
  size_t more = 0;                            ///< differences beyond kMaxReplayDifferences
  [[nodiscard]] bool is_equal() const { return differences.empty(); }
};

inline constexpr size_t kMaxReplayDifferences = 1000;

/// How a transcript is replayed.
struct ReplayOptions {
  SecretProvider secrets = {};  ///< values for the placeholders
  std::stop_token stop = {};
};

/// Makes the calls of a transcript in this transaction of the workspace, one after the other, and
/// compares what each answers and changes with what it did then. Paths in the old workspace become
/// paths in this one. A call that cannot be replayed as it was is left out, and said; the others are made.
///
/// Compared are ok, code and reason of a result, its data (two times are equal, whatever they say),
/// and kind, mode and content of every path that the call changed then or changes now. Not
/// compared: durations, resources, ids of executions, messages.
Result<ReplayReport> replay(Workspace& workspace, Transaction& transaction,
                            const std::vector<TranscriptCall>& calls,
                            const ReplayOptions& options = {});

/// A line for each difference, and one for the whole.
[[nodiscard]] std::string describe(const ReplayReport& report);

}  // namespace galley
