#include "server/mcp/request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The capability that a client must declare to get this question.
std::string capability_for(std::string_view method) {
  return std::string(method.substr(0, method.find('/')));
}

size_t severity_of(std::string_view level) {
  static constexpr std::array<std::string_view, 8> kLevels = {
      "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};
  return static_cast<size_t>(std::find(kLevels.begin(), kLevels.end(), level) - kLevels.begin());
}

}  // namespace

McpServer::Request::Request(McpServer& server, Running& task) : server_(&server), task_(&task) {
  const auto meta = task.params.find("_meta");
  if (meta == task.params.end() || !meta->is_object()) return;
  const auto token = meta->find("progressToken");
  if (token == meta->end()) return;
  if (token->is_string() || token->is_number_integer()) progress_token_ = *token;
}

void McpServer::Request::progress(double done, std::optional<double> total,
                                  std::string_view message) {
  if (!progress_token_ || done <= last_progress_ || task_->is_silent) return;
  last_progress_ = done;
  ordered_json params = {{"progressToken", *progress_token_}, {"progress", done}};
  if (total) params["total"] = *total;
  if (!message.empty()) params["message"] = message;
  server_->send({notification_line("notifications/progress", params), task_->origin.stream});
}

void McpServer::Request::log(std::string_view level, const ordered_json& data) {
  if (task_->is_silent) return;
  if (!task_->era.is_stateless) {
    const std::lock_guard lock(server_->mutex_);
    if (severity_of(level) < severity_of(server_->log_level_)) return;
  } else {
    // Only a client that asks for it in the request gets a log.
    const auto meta = task_->params.find("_meta");
    const auto wanted = meta->find("io.modelcontextprotocol/logLevel");
    if (wanted == meta->end() || !wanted->is_string()) return;
    if (severity_of(level) < severity_of(wanted->get<std::string>())) return;
  }
  ordered_json params = {
      {"level", level}, {"logger", server_->features_->identity().name}, {"data", data}};
  server_->send({notification_line("notifications/message", params), task_->origin.stream});
}

bool McpServer::Request::client_can(std::string_view capability) const {
  const json& all = task_->era.capabilities;
  const auto found = all.find(capability);
  if (found == all.end() || capability != "elicitation") return found != all.end();
  // Without a mode it can show forms. Otherwise it names its modes.
  return !found->is_object() || found->empty() || found->contains("form");
}

std::optional<json> McpServer::Request::ask(std::string_view key, std::string_view method,
                                            ordered_json params) {
  const bool waits_here = !task_->era.is_stateless && !comes_again_;
  if (waits_here) return wait_for_answer(method, params);
  const auto found = answers_.find(key);
  if (found != answers_.end()) return found->second;
  const std::string capability = capability_for(method);
  if (!client_can(capability)) {
    missing_ = capability;
    return {};
  }
  ordered_json question = {{"method", method}, {"params", std::move(params)}};
  open_[std::string(key)] = std::move(question);
  return {};
}

bool McpServer::Request::wait_for_answers() {
  if (task_->era.is_stateless || open_.empty()) return false;
  const ordered_json open = std::exchange(open_, ordered_json::object());
  for (const auto& [key, question] : open.items()) {
    answers_[key] = wait_for_answer(question["method"].get<std::string>(), question["params"]);
  }
  return true;
}

/// Sends the question and waits; returns `null` without an answer. A client that is still there is
/// told that the question is withdrawn, since it may show it to a person.
json McpServer::Request::wait_for_answer(std::string_view method, const ordered_json& params) {
  if (!client_can(capability_for(method))) return nullptr;
  std::unique_lock lock(server_->mutex_);
  const RpcId id = "galley-" + std::to_string(++server_->last_question_);
  server_->questions_.emplace(id, Question{task_->origin.stream});
  const std::string& lane = task_->arrival.lane;
  if (!task_->is_guest) {
    server_->asking_lanes_.insert(lane);
    server_->work_.notify_all();
  }
  lock.unlock();
  server_->send({request_line(id, method, params), task_->origin.stream});
  lock.lock();
  server_->wake_.wait_for(lock, kAnswerTime, [&] {
    return server_->questions_.at(id).is_answered || server_->is_over_ ||
           task_->stop.stop_requested();
  });
  const Question question = std::move(server_->questions_.at(id));
  server_->questions_.erase(id);
  if (!task_->is_guest) server_->asking_lanes_.erase(lane);
  const bool is_withdrawn = !question.is_answered && !server_->is_over_;
  lock.unlock();
  if (is_withdrawn) {
    const ordered_json which = {{"requestId", to_json(id)}};
    server_->send({notification_line("notifications/cancelled", which), task_->origin.stream});
  }
  return question.is_answered ? question.answer : json(nullptr);
}

std::string McpServer::Request::bound_text() const {
  json bound = json::object();
  for (const char* key : {"name", "arguments", "uri"}) {
    const auto found = task_->params.find(key);
    if (found != task_->params.end()) bound[key] = *found;
  }
  return json_text(bound);
}

std::optional<RpcError> McpServer::Request::take_round() {
  const auto responses = task_->params.find("inputResponses");
  if (responses != task_->params.end()) {
    if (!responses->is_object())
      return RpcError{rpc::kInvalidParams, "'inputResponses' is an object"};
    for (const auto& [key, answer] : responses->items()) answers_.emplace(key, answer);
  }
  const auto sealed = task_->params.find("requestState");
  if (sealed == task_->params.end()) return {};
  std::optional<json> state;
  if (sealed->is_string()) {
    state = server_->states_.open(task_->method, bound_text(), sealed->get<std::string>());
  }
  if (!state) {
    return RpcError{rpc::kInvalidParams,
                    "'requestState' was not given for this request, was changed, or has expired; "
                    "send the request again without it"};
  }
  // The client need not repeat answers of earlier rounds.
  if (const auto earlier = state->find("answers"); earlier != state->end()) {
    for (const auto& [key, answer] : earlier->items()) answers_.emplace(key, answer);
  }
  if (const auto kept = state->find("kept"); kept != state->end()) kept_ = *kept;
  return {};
}

std::optional<McpAnswer> McpServer::Request::open_questions() const {
  if (missing_) {
    ordered_json data;
    data["requiredCapabilities"][*missing_] = ordered_json::object();
    return RpcError{rpc::kMissingCapability, "this needs a client that can do '" + *missing_ + "'",
                    std::move(data)};
  }
  if (open_.empty()) return {};
  ordered_json state = {{"answers", answers_}, {"kept", keeps_}};
  ordered_json out;
  out["resultType"] = "input_required";
  out["inputRequests"] = open_;
  out["requestState"] = server_->states_.seal(task_->method, bound_text(), state);
  return McpAnswer(std::move(out));
}

}  // namespace galley
