#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "staging/fs/local_listener.h"

namespace galley {

class ConfigTable;

/// What an administrator wants to know of a server (docs/scale.md). By default it tells nothing.
struct TelemetryOptions {
  std::string metrics;  ///< `unix:/PATH`, `PORT` or `ADDRESS:PORT`, on this machine; empty: none
  std::string spans;    ///< a file, absolute; empty: none

  /// The files that the server makes, and their folders. A link may be among the latter.
  [[nodiscard]] std::vector<std::string> places() const;
};

/// Reads the keys `metrics` and `spans` of a server's configuration.
void read_telemetry(ConfigTable& root, TelemetryOptions& options);

/// Counts the work of a server. On request it serves metrics in the text format of Prometheus
/// (prometheus.io/docs/instrumenting/exposition_formats, 0.0.4) at /metrics, and adds one line of
/// OTLP/JSON for each span to a file (opentelemetry.io/docs/specs/otel/protocol/file-exporter).
///
/// Invariant: the number of series is bounded: kMostOutcomes. No argument of a call, path, address
///            or secret is in a metric or span.
/// Ownership: owns its listener and a thread, which it ends.
/// Threads:   safe to share.
/// Errors:    of a span that cannot be written: none, they are logged. See open().
class Telemetry {
 public:
  static constexpr size_t kMostOutcomes = 16;  ///< further ones count as `other`

  /// What the work of this server is.
  struct Service {
    std::string name;  ///< `galley-worker`
    std::string work;  ///< `job`: galley_jobs_total and so on
    /// Whether the work is taken from a queue, and not asked for by a waiting client.
    bool is_queued = false;
  };
  using Log = std::function<void(const std::string& line)>;

  /// Errors: kUsage `listener.address`; those of LocalListener.
  static Result<std::unique_ptr<Telemetry>> open(TelemetryOptions options, Service service,
                                                 const Clock& clock, Log log);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  /// The end of a piece of work.
  struct Outcome {
    std::string word;         ///< one of a few: `committed`
    bool is_failure = false;  ///< of the span
    std::string trace = {};   ///< spans with the same text are one trace; empty: one of its own
    std::vector<std::pair<std::string, std::string>> attributes = {};  ///< of the span
  };

  /// One piece of work, which is in work until this is destroyed. Null telemetry: nothing is told.
  class Work {
   public:
    explicit Work(Telemetry* telemetry);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    void end(const Outcome& outcome) const;

   private:
    Telemetry* telemetry_;
    int64_t begin_wall_ns_ = 0;
    std::chrono::steady_clock::time_point begin_;
  };

  /// The metrics as Prometheus reads them.
  [[nodiscard]] std::string metrics() const;

 private:
  using Seconds = std::chrono::duration<double>;
  struct Span {
    int64_t begin_wall_ns = 0;
    std::chrono::nanoseconds time{0};
  };

  Telemetry(TelemetryOptions options, Service service, const Clock& clock, Log log);
  void count(const std::string& outcome, Seconds time);
  void write(const Outcome& outcome, const Span& span);
  void serve(const std::stop_token& stop);

  TelemetryOptions options_;
  Service service_;
  const Clock& clock_;
  Log log_;
  std::unique_ptr<LocalListener> listener_;

  mutable std::mutex mutex_;  ///< guards the following
  std::map<std::string, uint64_t> by_outcome_;
  std::vector<uint64_t> by_time_;  ///< one for each bucket, not cumulative
  double seconds_ = 0;             ///< of all ended work
  uint64_t in_work_ = 0;

  std::mutex file_mutex_;  ///< guards the file of spans
  std::jthread thread_;    ///< last: it uses all of the above
};

}  // namespace galley
