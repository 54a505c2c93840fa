#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "aios_tools.grpc.pb.h"
#include "base/result.h"
#include "server/grpc/serving.h"

namespace galley {

/// Tools whose calls programs of principals answer (ToolHandler in aios_tools.proto).
///
/// A tool can be called as long as the server reaches its program. A tool whose program has left is
/// no longer offered, and is removed when another one is added. One that persists stays, and each
/// call connects again if that is needed.
///
/// Ownership: borrows the workspace, which has the tools. Threads: safe to share.
class CustomHandlers {
 public:
  static constexpr size_t kMostTools = 256;
  static constexpr std::string_view kPrefix = "custom.";

  /// `credentials` are for handlers at `HOST:PORT`; null: there are none.
  CustomHandlers(Workspace& workspace, std::shared_ptr<grpc::ChannelCredentials> credentials);
  ~CustomHandlers();

  /// Adds a tool of a principal. One of the same name and principal is replaced,
  /// and stays if the new one is refused.
  /// Errors: kUsage `handler.address`, `handler.name`; kRefused `handler.other_owner`; kQuota
  ///         `limit.handlers`; kIo; those of Workspace::add_tool().
  Result<void> add(const ServedPrincipal& who, const aios::tools::RegisterRequest& request);

 private:
  class Connection;
  class Program;
  struct Handler {
    const ServedPrincipal* owner = nullptr;
    std::shared_ptr<Program> program;
    ToolDefinition tool;  ///< added again if what should replace it is refused
  };
  Result<std::shared_ptr<Connection>> connect(const ServedPrincipal& who,
                                              const std::string& address) const;

  Workspace* workspace_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::mutex mutex_;
  std::map<std::string, Handler> handlers_;  ///< guarded by mutex_
};

}  // namespace galley
