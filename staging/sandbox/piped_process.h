#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// Options of a PipedProcess.
struct PipedProcessOptions {
  std::string directory;                 ///< its working directory; empty: this process's
  std::vector<std::string> environment;  ///< NAME=value; replaces variables of this process
  std::vector<std::string> unset;        ///< variables of this process that it does not get
  /// Time limit for each read and write and for its end; in run_piped(), for all together. After
  /// that it is ended, first by SIGTERM. 0: no limit.
  std::chrono::milliseconds time{0};
  /// Limit of its memory, without files that it maps (RLIMIT_DATA); 0: none of its own.
  uint64_t data_bytes = 0;
  /// In run_piped(): the program is ended when this stops, as after its time.
  std::stop_token stop = {};
};

/// A program of the host with piped input and output, for example git. It runs outside every
/// sandbox with the rights of the user, so it is never a command from an agent.
///
/// Ownership: the destructor closes both ends and waits for it, at most kEndTime if a time is set.
/// Threads:   confined to one thread at a time.
/// Errors:    kTimeout `host.timeout` when it took too long and was ended.
class PipedProcess {
 public:
  /// Bytes of its standard error that are kept.
  static constexpr size_t kMaxStandardErrorBytes = size_t{16} << 10U;
  /// The time that it has to end by itself after its pipes are closed or SIGTERM was sent.
  static constexpr std::chrono::milliseconds kEndTime{2000};

  /// Starts `argv`, whose first word is looked up on PATH.
  /// Errors: kNotFound `host.not_found` when there is no such program; kIo.
  static Result<std::unique_ptr<PipedProcess>> start(const std::vector<std::string>& argv,
                                                     const PipedProcessOptions& options = {});
  virtual ~PipedProcess() = default;

  /// Writes all of `text` to its input. A caller with much input must read in between: use
  /// run_piped().
  /// Errors: kIo when it no longer reads.
  virtual Result<void> write(std::string_view text) = 0;
  virtual void end_input() = 0;
  /// Waits for output and returns at most `max_bytes` of it; empty at the end of the output.
  virtual Result<std::string> read(size_t max_bytes) = 0;
  /// Closes both ends, waits, and returns its exit status: 128 + n for signal n.
  virtual Result<int> wait() = 0;
  /// The beginning of its standard error so far.
  [[nodiscard]] virtual std::string complaint() const = 0;
};

/// The output and status of an ended program.
struct PipedOutput {
  int status = 0;
  std::string output;
  std::string complaint;
};

/// Sends a program its `input` and waits for its end. The program gets SIGTERM if this process is
/// killed.
/// Errors: those of start(); kQuota `limit.host_output` when it writes more than
///         `max_output_bytes`; kTimeout `host.timeout`, `host.stopped`.
Result<PipedOutput> run_piped(const std::vector<std::string>& argv,
                              const PipedProcessOptions& options, std::string_view input,
                              size_t max_output_bytes);

}  // namespace galley
