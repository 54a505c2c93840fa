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

/// Writes the transcript of one transaction to a file that only the user can read.
///
/// Invariant: whole lines are appended under a lock, so several processes may share a file. If a
///            call cannot be written, its result has a warning, and later calls are refused.
/// Ownership: owns the open folder.
/// Threads:   confined to one thread.
/// Errors:    kUsage `transcript.in_workspace`, kRefused `transcript.mode` for a file that others
///            can read, kQuota `limit.transcript`, kTimeout `transcript.locked`, kIo.
class TranscriptFile {
 public:
  /// Opens the file, or creates it with mode 0600.
  static Result<TranscriptFile> open(const std::string& path, TranscriptHeader header);

  /// Checks that the file has room for another call. Always fails after a failed write.
  Result<void> check_room();
  /// Returns a provider that remembers which secrets a call receives.
  [[nodiscard]] SecretProvider watched(const SecretProvider& provider);
  /// Appends the results of calls that were staged together. `tools` has their versions.
  void add(const std::vector<ToolCall>& calls, std::vector<ToolResult>& results,
           const std::vector<StagedStep>& steps, const CallOptions& options,
           const ToolRegistry& tools);
  /// Appends a step that did not come from a call.
  void add(const StagedStep& step);

 private:
  TranscriptFile(std::unique_ptr<WritableDirectory> folder, RelPath name, TranscriptHeader header)
      : folder_(std::move(folder)), name_(std::move(name)), header_(std::move(header)) {}
  /// Opens the file again; its lock lives as long as the result.
  [[nodiscard]] Result<std::unique_ptr<WritableFile>> open_own() const;
  Result<void> append(const std::string& text);

  std::unique_ptr<WritableDirectory> folder_;
  RelPath name_;
  TranscriptHeader header_;
  TranscriptLines lines_;
  std::set<std::string> given_;  ///< names of secrets that the running calls received
  std::map<std::string, std::string> secrets_;  ///< the secrets that lines_ knows
  std::optional<Error> broken_;
};

}  // namespace galley
