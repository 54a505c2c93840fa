#pragma once

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
/// Threads: confined to one thread; it has others.
/// Errors:  kUsage `serve.address`; kRefused `serve.no_tls`, `listener.file`; those of
///          Workspace::open() and parse_serving_config(); kIo.
class GrpcServer {
 public:
  static Result<std::unique_ptr<GrpcServer>> open(const GrpcServerOptions& options);
  virtual ~GrpcServer() = default;

  /// The address, with the port that was taken.
  [[nodiscard]] virtual const std::string& address() const = 0;
  /// Takes no more calls, lets the present ones end, and stops those that take too long.
  virtual void drain() = 0;
};

}  // namespace galley
