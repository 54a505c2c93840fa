#include "server/grpc/registry_service.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"

namespace galley {
namespace {

using namespace aios::tools;  // NOLINT(google-build-using-namespace): the messages of the service
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using grpc::Status;
using grpc::StatusCode;

constexpr size_t kMostWarningBytes = 512;  // of a header

/// The status for a tool that cannot be shown.
Status status_of(const Error& error) {
  const bool is_unknown = error.kind == ErrorKind::kUsage || error.kind == ErrorKind::kNotFound;
  const StatusCode code = is_unknown                          ? StatusCode::NOT_FOUND
                          : error.kind == ErrorKind::kRefused ? StatusCode::PERMISSION_DENIED
                                                              : StatusCode::INTERNAL;
  return {code, error_text(error)};
}

}  // namespace

Status check_call(const CallerCheck& callers, const CallbackServerContext& context,
                  const ExecuteRequest& request, AdmittedCall& admitted) {
  const ServedPrincipal*& who = admitted.who;
  if (auto status = callers.admit(context, request.agent_id(), who); !status.ok()) return status;
  if (auto status = check_name("tool_name", request.tool_name()); !status.ok()) return status;
  if (auto status = check_name("task_id", request.task_id(), true); !status.ok()) return status;
  if (auto status = check_reason(request.reason()); !status.ok()) return status;
  const std::string& input = request.input_json();
  auto parsed = ToolCall::parse(request.tool_name(), input.empty() ? "{}" : input);
  if (parsed.flaw || !parsed.args->is_object()) {
    return {StatusCode::INVALID_ARGUMENT,
            "input_json: " + (parsed.flaw ? parsed.flaw->message : "must be a JSON object")};
  }
  admitted.call = std::move(parsed);
  return Status::OK;
}

CallOptions options_of_call(QuestionBook& questions, const ServedPrincipal& who,
                            const std::stop_token& stop) {
  CallOptions options;
  options.stop = stop;
  if (questions.can_ask(who)) {
    options.confirm = [&questions, &who, stop](const CallOptions::Question& question) {
      return questions.ask(who, question, stop);
    };
  }
  return options;
}

Status RegistryService::admit_look(const CallbackServerContext& context,
                                   const std::string& agent) const {
  const ServedPrincipal* who = nullptr;
  return agent.empty() ? callers_.identify(context, who) : callers_.admit(context, agent, who);
}

ServerUnaryReactor* RegistryService::ListTools(CallbackServerContext* context,
                                               const ListToolsRequest* request,
                                               ListToolsResponse* response) {
  return PooledCall::begin(parts_.pool, *context, [=, this](const std::stop_token&) {
    if (auto status = admit_look(*context, request->agent_id()); !status.ok()) return status;
    auto listed = parts_.serving.list(request->agent_id(), request->namespace_());
    if (!listed) return status_of(listed.error());
    *response = *std::move(listed);
    return Status::OK;
  });
}

ServerUnaryReactor* RegistryService::GetTool(CallbackServerContext* context,
                                             const GetToolRequest* request,
                                             aios::tools::ToolDefinition* response) {
  return PooledCall::begin(parts_.pool, *context, [=, this](const std::stop_token&) {
    if (auto status = admit_look(*context, request->agent_id()); !status.ok()) return status;
    if (auto status = check_name("name", request->name()); !status.ok()) return status;
    auto found = parts_.serving.definition(request->name(), request->agent_id());
    if (!found) return status_of(found.error());
    *response = *std::move(found);
    return Status::OK;
  });
}

ServerUnaryReactor* RegistryService::Execute(CallbackServerContext* context,
                                             const ExecuteRequest* request,
                                             ExecuteResponse* response) {
  return PooledCall::begin(parts_.pool, *context, [=, this](const std::stop_token& stop) {
    AdmittedCall admitted;
    if (auto status = check_call(callers_, *context, *request, admitted); !status.ok()) {
      return status;
    }
    const ServedPrincipal& who = *admitted.who;
    const auto warn = [context](std::string text) {
      text.resize(std::min(text.size(), kMostWarningBytes));
      std::replace_if(
          text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
      context->AddTrailingMetadata("galley-warning", text);
    };
    *response = parts_.serving.execute(*request, std::move(admitted.call),
                                       options_of_call(parts_.questions, who, stop),
                                       {who, context->deadline(), stop, warn});
    return Status::OK;
  });
}

ServerUnaryReactor* RegistryService::Rollback(CallbackServerContext* context,
                                              const RollbackRequest* request,
                                              RollbackResponse* response) {
  return PooledCall::begin(parts_.pool, *context, [=, this](const std::stop_token&) -> Status {
    const std::string& id = request->execution_id();
    if (auto status = check_name("execution_id", id); !status.ok()) return status;
    if (auto status = check_reason(request->reason()); !status.ok()) return status;
    const auto caller = parts_.serving.agent_of(id);
    const std::string agent =
        request->agent_id().empty() ? caller.value_or("") : request->agent_id();
    const ServedPrincipal* who = nullptr;
    // The agent of an unknown execution is unknown, too.
    const auto admitted =
        agent.empty() ? callers_.identify(*context, who) : callers_.admit(*context, agent, who);
    if (!admitted.ok()) return admitted;
    if (caller && !who->speaks_for(*caller)) {
      return {StatusCode::PERMISSION_DENIED,
              "this caller may not take back calls of the agent '" + printable_line(*caller) + "'"};
    }
    const auto taken =
        caller ? parts_.serving.roll_back(id, agent, request->reason(), context->deadline())
               : fail(caller.error());
    response->set_success(taken.has_value());
    if (!taken) response->set_error(error_text(taken.error()));
    if (taken) response->mutable_execution_ids()->Add(taken->begin(), taken->end());
    return Status::OK;
  });
}

ServerUnaryReactor* RegistryService::Register(CallbackServerContext* context,
                                              const RegisterRequest* request,
                                              RegisterResponse* response) {
  return PooledCall::begin(parts_.pool, *context, [=, this](const std::stop_token&) {
    const ServedPrincipal* who = nullptr;
    if (auto status = callers_.admit_with(*context, kRegisterRight, who); !status.ok()) {
      return status;
    }
    if (auto status = callers_.admit(*context, request->agent_id(), who); !status.ok()) {
      return status;
    }
    const auto added = parts_.handlers.add(*who, *request);
    response->set_accepted(added.has_value());
    if (!added) response->set_error(error_text(added.error()));
    return Status::OK;
  });
}

}  // namespace galley
