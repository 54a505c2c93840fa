#include "server/grpc/transactions_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "server/grpc/message_stream.h"

namespace galley {
namespace {

using aios::tools::ExecuteRequest;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using grpc::Status;
using grpc::StatusCode;
using Events = MessageStream<v1::ExecuteEvent>;
using Questions = MessageStream<v1::Question>;

v1::ExecuteEvent event_of(const CallOptions::Log& log) {
  v1::ExecuteEvent event;
  const std::string text(log.text);
  if (log.stream == CallOptions::Log::Stream::kStdout) event.set_stdout(text);
  if (log.stream == CallOptions::Log::Stream::kStderr) event.set_stderr(text);
  if (log.stream == CallOptions::Log::Stream::kNote) event.set_note(sanitized_text(text));
  return event;
}

v1::Question message_of(const CallOptions::Question& question) {
  v1::Question message;
  message.set_id(question.id);
  message.set_agent_id(question.agent);
  message.set_tool_name(question.tool);
  message.set_input_json(question.arguments);
  message.set_why(sanitized_text(question.why));
  return message;
}

}  // namespace

ServerUnaryReactor* TransactionsService::take(Step step, CallbackServerContext* context,
                                              const v1::TransactionRequest* request,
                                              v1::TransactionState* response) {
  return PooledCall::begin(parts_.pool, *context, [=, this](const std::stop_token& stop) {
    const ServedPrincipal* who = nullptr;
    if (auto status = callers_.admit(*context, request->agent_id(), who); !status.ok()) {
      return status;
    }
    if (auto status = check_name("task_id", request->task_id(), true); !status.ok()) return status;
    if (auto status = check_reason(request->reason()); !status.ok()) return status;
    auto state = (parts_.serving.*step)(*request, {*who, context->deadline(), stop});
    if (state) *response = *std::move(state);
    if (!state) response->set_error(error_text(state.error()));
    response->set_success(response->error().empty());
    return Status::OK;
  });
}

ServerUnaryReactor* TransactionsService::Begin(CallbackServerContext* context,
                                               const v1::TransactionRequest* request,
                                               v1::TransactionState* response) {
  return take(&Serving::begin, context, request, response);
}

ServerUnaryReactor* TransactionsService::Preview(CallbackServerContext* context,
                                                 const v1::TransactionRequest* request,
                                                 v1::TransactionState* response) {
  return take(&Serving::preview, context, request, response);
}

ServerUnaryReactor* TransactionsService::Commit(CallbackServerContext* context,
                                                const v1::TransactionRequest* request,
                                                v1::TransactionState* response) {
  return take(&Serving::commit, context, request, response);
}

ServerUnaryReactor* TransactionsService::Rollback(CallbackServerContext* context,
                                                  const v1::TransactionRequest* request,
                                                  v1::TransactionState* response) {
  return take(&Serving::drop, context, request, response);
}

grpc::ServerWriteReactor<v1::ExecuteEvent>* TransactionsService::Execute(
    CallbackServerContext* context, const ExecuteRequest* request) {
  auto* events = new Events(false);
  const bool is_taken = parts_.pool.submit([this, context, request, events] {
    const Status status = guarded([&]() -> Status {
      AdmittedCall admitted;
      if (auto refused = check_call(callers_, *context, *request, admitted); !refused.ok()) {
        return refused;
      }
      const ServedPrincipal& who = *admitted.who;
      if (events->stop().stop_requested()) return Status::OK;
      CallOptions options = options_of_call(parts_.questions, who, events->stop());
      options.logger = [events](const CallOptions::Log& log) { events->send_all(event_of(log)); };
      options.progress = [events](uint64_t done, uint64_t total) {
        v1::ExecuteEvent event;
        event.mutable_progress()->set_done(done);
        event.mutable_progress()->set_total(total);
        events->send_all(std::move(event));
      };
      const auto warn = [events](const std::string& text) {
        events->send_all(event_of({CallOptions::Log::Stream::kNote, text}));
      };
      v1::ExecuteEvent last;
      *last.mutable_response() =
          parts_.serving.execute(*request, std::move(admitted.call), std::move(options),
                                 {who, context->deadline(), events->stop(), warn});
      events->send_all(std::move(last));
      return Status::OK;
    });
    // This may delete the stream.
    events->finish(events->stop().stop_requested() ? stopped_status(*context) : status);
  });
  if (!is_taken) events->finish(overloaded());
  return events;
}

grpc::ServerWriteReactor<v1::Question>* ApprovalsService::Questions(
    CallbackServerContext* context, const v1::QuestionsRequest* /*request*/) {
  const auto number = std::make_shared<std::optional<uint64_t>>();
  auto* stream = new galley::Questions(true, [this, number] {
    if (*number) parts_.questions.leave(**number);
  });
  const ServedPrincipal* who = nullptr;
  if (auto status = callers_.admit_with(*context, kApproveRight, who); !status.ok()) {
    stream->finish(status);
    return stream;
  }
  // A question for which there is no room is sent to the next stream; galley approve answers it,
  // too.
  *number = parts_.questions.listen(
      *who, {[stream](const CallOptions::Question& one) { (void)stream->send(message_of(one)); },
             [stream] {
               stream->finish({StatusCode::UNAVAILABLE, "the server ends"});
             }});
  if (!*number) {
    stream->finish(overloaded());
  } else {
    stream->StartSendInitialMetadata();  // a client that has it knows that it listens
  }
  return stream;
}

ServerUnaryReactor* ApprovalsService::Answer(CallbackServerContext* context,
                                             const v1::AnswerRequest* request,
                                             v1::AnswerResponse* /*response*/) {
  // Without the pool, whose threads may all wait for answers.
  auto* reactor = context->DefaultReactor();
  reactor->Finish(guarded([&]() -> Status {
    const ServedPrincipal* who = nullptr;
    if (auto status = callers_.admit_with(*context, kApproveRight, who); !status.ok()) {
      return status;
    }
    const auto answered = parts_.questions.answer(*who, request->id(), request->approve());
    if (answered) return Status::OK;
    const bool is_own = answered.error().kind == ErrorKind::kRefused;
    return {is_own ? StatusCode::PERMISSION_DENIED : StatusCode::NOT_FOUND,
            error_text(answered.error())};
  }));
  return reactor;
}

}  // namespace galley
