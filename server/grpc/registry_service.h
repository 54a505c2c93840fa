#pragma once

#include <grpcpp/grpcpp.h>

#include "aios_tools.grpc.pb.h"
#include "server/grpc/call_pool.h"
#include "server/grpc/caller_check.h"
#include "server/grpc/custom_handlers.h"
#include "server/grpc/question_book.h"
#include "server/grpc/serving.h"

namespace galley {

/// The parts that all services of a server share.
struct ServingParts {
  Serving& serving;
  QuestionBook& questions;
  CustomHandlers& handlers;
  CallPool& pool;
};

/// A call of a tool whose request was checked.
struct AdmittedCall {
  const ServedPrincipal* who = nullptr;
  ToolCall call = {};
};

/// Checks a request to call a tool, and parses its JSON. Without any, the call has no arguments.
/// Errors: INVALID_ARGUMENT; those of CallerCheck::admit().
grpc::Status check_call(const CallerCheck& callers, const grpc::CallbackServerContext& context,
                        const aios::tools::ExecuteRequest& request, AdmittedCall& admitted);

/// The options of a call: its stop, and a principal to confirm it if one listens.
CallOptions options_of_call(QuestionBook& questions, const ServedPrincipal& who,
                            const std::stop_token& stop);

/// The service of aiOS (aios_tools.proto).
class RegistryService final : public aios::tools::ToolRegistry::CallbackService {
 public:
  RegistryService(const ServingParts& parts, CallerCheck callers)
      : parts_(parts), callers_(callers) {}

  grpc::ServerUnaryReactor* ListTools(grpc::CallbackServerContext* context,
                                      const aios::tools::ListToolsRequest* request,
                                      aios::tools::ListToolsResponse* response) override;
  grpc::ServerUnaryReactor* GetTool(grpc::CallbackServerContext* context,
                                    const aios::tools::GetToolRequest* request,
                                    aios::tools::ToolDefinition* response) override;
  grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext* context,
                                    const aios::tools::ExecuteRequest* request,
                                    aios::tools::ExecuteResponse* response) override;
  grpc::ServerUnaryReactor* Rollback(grpc::CallbackServerContext* context,
                                     const aios::tools::RollbackRequest* request,
                                     aios::tools::RollbackResponse* response) override;
  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const aios::tools::RegisterRequest* request,
                                     aios::tools::RegisterResponse* response) override;

 private:
  /// Admits the caller for the agent of a request that only looks; without an agent, every
  /// principal.
  grpc::Status admit_look(const grpc::CallbackServerContext& context,
                          const std::string& agent) const;

  ServingParts parts_;
  CallerCheck callers_;
};

}  // namespace galley
