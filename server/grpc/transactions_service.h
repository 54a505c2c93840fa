#pragma once

#include <grpcpp/grpcpp.h>

#include "galley/v1/transactions.grpc.pb.h"
#include "server/grpc/registry_service.h"

namespace galley {

/// The open transactions of tasks, and calls that send their output (galley/v1/transactions.proto).
class TransactionsService final : public v1::Transactions::CallbackService {
 public:
  TransactionsService(const ServingParts& parts, CallerCheck callers)
      : parts_(parts), callers_(callers) {}

  grpc::ServerUnaryReactor* Begin(grpc::CallbackServerContext* context,
                                  const v1::TransactionRequest* request,
                                  v1::TransactionState* response) override;
  grpc::ServerUnaryReactor* Preview(grpc::CallbackServerContext* context,
                                    const v1::TransactionRequest* request,
                                    v1::TransactionState* response) override;
  grpc::ServerUnaryReactor* Commit(grpc::CallbackServerContext* context,
                                   const v1::TransactionRequest* request,
                                   v1::TransactionState* response) override;
  grpc::ServerUnaryReactor* Rollback(grpc::CallbackServerContext* context,
                                     const v1::TransactionRequest* request,
                                     v1::TransactionState* response) override;
  grpc::ServerWriteReactor<v1::ExecuteEvent>* Execute(
      grpc::CallbackServerContext* context, const aios::tools::ExecuteRequest* request) override;

 private:
  using Step = Result<v1::TransactionState> (Serving::*)(const v1::TransactionRequest& request,
                                                         const ServedCaller& caller);
  grpc::ServerUnaryReactor* take(Step step, grpc::CallbackServerContext* context,
                                 const v1::TransactionRequest* request,
                                 v1::TransactionState* response);

  ServingParts parts_;
  CallerCheck callers_;
};

/// The questions about calls of other principals.
class ApprovalsService final : public v1::Approvals::CallbackService {
 public:
  ApprovalsService(const ServingParts& parts, CallerCheck callers)
      : parts_(parts), callers_(callers) {}

  grpc::ServerWriteReactor<v1::Question>* Questions(grpc::CallbackServerContext* context,
                                                    const v1::QuestionsRequest* request) override;
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                   const v1::AnswerRequest* request,
                                   v1::AnswerResponse* response) override;

 private:
  ServingParts parts_;
  CallerCheck callers_;
};

}  // namespace galley
