#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// How a PipedProcess is started.
struct PipedProcessOptions {
  std::string directory;                 ///< its working directory; empty: ours
  std::vector<std::string> environment;  ///< NAME=value, in place of what we have by that name
  std::vector<std::string> unset;        ///< names of ours that it does not get
  /// How long it may take to give or take something, and to end; run_piped(): for all of it. One
  /// that takes longer is ended, first by SIGTERM. 0: as long as it wants.
  std::chrono::milliseconds time{0};
};

/// A program of the host that we feed and read: git, when a repository is judged. It runs outside
/// every sandbox with the user's rights, so it is never a command that an agent named.
///
/// Ownership: the destructor closes both ends and waits for it, no longer than kEndTime where a
///            time is set.
/// Threads:   confined to one thread at a time.
/// Errors:    kTimeout `host.timeout` when it took too long and was ended.
class PipedProcess {
 public:
  /// What is kept of the lines it wrote to its standard error.
  static constexpr size_t kMaxComplaintBytes = size_t{16} << 10U;
  /// What one that is done, or was told to end, has to end by itself.
  static constexpr std::chrono::milliseconds kEndTime{2000};

  /// Starts `argv`, whose first word is looked up on PATH.
  /// Errors: kNotFound `host.not_found` when there is no such program; kIo.
  static Result<std::unique_ptr<PipedProcess>> start(const std::vector<std::string>& argv,
                                                     const PipedProcessOptions& options = {});
  virtual ~PipedProcess() = default;

  /// Gives it all of `text` to read. Who gives much must read in between: use run_piped().
  /// Errors: kIo when it no longer reads.
  virtual Result<void> write(std::string_view text) = 0;
  virtual void end_input() = 0;
  /// At most `max_bytes` of its output, as soon as there is some; empty at the end.
  virtual Result<std::string> read(size_t max_bytes) = 0;
  /// Closes both ends, waits, and returns its exit status: 128 + n for signal n.
  virtual Result<int> wait() = 0;
  /// What it wrote to its standard error so far, the beginning of it.
  [[nodiscard]] virtual std::string complaint() const = 0;
};

/// What a program that has ended said.
struct PipedOutput {
  int status = 0;
  std::string output;
  std::string complaint;
};

/// Gives a program `input` to read and waits for its end.
/// Errors: those of start(); kQuota `limit.host_output` when it writes more than
///         `max_output_bytes`; kTimeout `host.timeout`.
Result<PipedOutput> run_piped(const std::vector<std::string>& argv,
                              const PipedProcessOptions& options, std::string_view input,
                              size_t max_output_bytes);

}  // namespace galley
