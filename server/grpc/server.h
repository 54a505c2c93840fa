#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/grpc/serving_config.h"

namespace galley {

/// The options of galley-serve-grpc.
struct GrpcServerOptions {
  std::string workspace;  ///< an absolute path
  std::string address;    ///< `unix:PATH`, or `HOST:PORT` with certificates
  std::string config;     ///< a file; empty: that of serving_config_of_user()
  std::string profile = "aios";
};

/// A running gRPC server of one workspace (docs/grpc.md).
///
/// Threads: confined to one thread, but has_calls() may be called from several; it has others.
/// Errors:  kUsage `serve.address`; kRefused `serve.no_tls`, `file.others_write`,
///          `listener.file`; those of Workspace::open() and parse_serving_config(); kIo.
class GrpcServer {
 public:
  static constexpr std::chrono::seconds kDrainTime{10};  ///< of the calls that run at the end

  static Result<std::unique_ptr<GrpcServer>> open(const GrpcServerOptions& options);
  virtual ~GrpcServer() = default;

  /// The address, with the port that was taken.
  [[nodiscard]] virtual const std::string& address() const = 0;
  /// Takes no more calls, lets the present ones end, and stops those that take too long.
  virtual void drain() = 0;
  /// Whether a call runs or waits.
  [[nodiscard]] virtual bool has_calls() const = 0;
};

}  // namespace galley
