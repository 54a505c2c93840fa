#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/calls/executor.h"
#include "engine/calls/transcript.h"
#include "staging/fs/directory.h"

namespace galley {

/// The transcript of one transaction, in a file of its own that only its user can read.
///
/// Invariant: lines are only ever added, whole, under a lock of the file, so several processes may
///            write one. A call that could not be put down is said in its result, and no call is
///            let through after it.
/// Ownership: owns the open folder.
/// Threads:   confined to one thread.
/// Errors:    kUsage `transcript.in_workspace`, kRefused `transcript.mode` for a file that others
///            can read, kQuota `limit.transcript`, kTimeout `transcript.locked`, kIo.
class TranscriptFile {
 public:
  /// Opens or makes it (mode 0600).
  static Result<TranscriptFile> open(const std::string& path, TranscriptHeader header);

  /// Whether there is room for another call; fails for good once a call could not be put down.
  Result<void> check_room();
  /// The provider that a call gets: it notes what it hands out.
  [[nodiscard]] SecretProvider watched(const SecretProvider& provider);
  /// Puts down what became of calls that were staged together. `tools` tells versions.
  void add(const std::vector<ToolCall>& calls, std::vector<ToolResult>& results,
           const std::vector<StagedStep>& steps, const CallOptions& options,
           const ToolRegistry& tools);
  /// Puts down what was staged by something that is no call. Where that fails no call is let
  /// through after it.
  void add(const StagedStep& step);

 private:
  TranscriptFile(std::unique_ptr<WritableDirectory> folder, RelPath name, TranscriptHeader header)
      : folder_(std::move(folder)), name_(std::move(name)), header_(std::move(header)) {}
  /// The file itself, opened anew: its lock lives as long as this.
  [[nodiscard]] Result<std::unique_ptr<WritableFile>> open_own() const;
  Result<void> append(const std::string& text);

  std::unique_ptr<WritableDirectory> folder_;
  RelPath name_;
  TranscriptHeader header_;
  TranscriptLines lines_;
  std::set<std::string> given_;                 ///< names of secrets, to the calls that run now
  std::map<std::string, std::string> secrets_;  ///< that lines_ knows
  std::optional<Error> broken_;
};

}  // namespace galley
