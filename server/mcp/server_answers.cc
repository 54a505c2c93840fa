#include <algorithm>
#include <exception>
#include <utility>

#include "server/mcp/request.h"
#include "server/mcp/server.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// How long a stateless client may cache an answer, in milliseconds.
constexpr int64_t kDiscoverTtlMs = 60'000;
constexpr int64_t kListTtlMs = 5'000;
constexpr int64_t kContentTtlMs = 0;

/// Arguments of a call: an object, empty when there are none.
std::optional<json> arguments_of(const json& params) {
  const auto found = params.find("arguments");
  if (found == params.end() || found->is_null()) return json::object();
  if (!found->is_object()) return {};
  return *found;
}

RpcError invalid(std::string why) { return {rpc::kInvalidParams, std::move(why)}; }

std::optional<int64_t> ttl_of(const std::string& method) {
  if (method == "server/discover") return kDiscoverTtlMs;
  if (method == "resources/read") return kContentTtlMs;
  return method.ends_with("/list") ? std::optional(kListTtlMs) : std::nullopt;
}

}  // namespace

ordered_json McpServer::server_info() const {
  const McpFeatures::Identity identity = features_->identity();
  ordered_json out = {{"name", identity.name}};
  if (!identity.title.empty()) out["title"] = identity.title;
  out["version"] = identity.version;
  return out;
}

ordered_json McpServer::capabilities(bool is_stateless) {
  ordered_json out = {{"tools", {{"listChanged", true}}},
                      {"resources", {{"subscribe", true}, {"listChanged", true}}},
                      {"prompts", {{"listChanged", false}}},
                      {"completions", ordered_json::object()}};
  if (!is_stateless) out["logging"] = ordered_json::object();
  return out;
}

void McpServer::send(const Outgoing& message) {
  const std::lock_guard lock(send_mutex_);
  send_(message);
}

void McpServer::reply(const RpcId& id, Origin origin, McpAnswer answer) {
  if (const auto* error = std::get_if<RpcError>(&answer)) {
    send({error_line(id, *error), origin.stream, true, error->code});
  } else {
    send({result_line(id, std::get<ordered_json>(std::move(answer))), origin.stream, true});
  }
}

void McpServer::end(const Running& task, bool is_wanted, McpAnswer answer) {
  if (is_wanted) return reply(task.id, task.origin, std::move(answer));
  if (task.origin.stream != 0) send({"", task.origin.stream, true});
}

/// A worker: takes requests in order.
void McpServer::work() {
  std::unique_lock lock(mutex_);
  ++idle_;
  while (true) {
    Task task;
    work_.wait(lock, [&] { return (task = next_task()) || (is_over_ && waiting_.empty()); });
    --idle_;
    if (!task) return;
    lock.unlock();
    McpAnswer answered = run(*task);
    lock.lock();
    const bool is_wanted = leave(*task);
    // Before the answer is sent, so that the client's next request finds this worker.
    ++idle_;
    lock.unlock();
    end(*task, is_wanted, std::move(answered));
    lock.lock();
  }
}

/// The first waiting request whose lane is free, and which is not one call too many; null when
/// there is none.
McpServer::Task McpServer::next_task() {
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    Task task = *at;
    const bool is_call = task->method == kCall;
    const std::string& lane = task->arrival.lane;
    const bool is_guest = task->arrival.only_reads && asking_lanes_.contains(lane);
    if ((busy_lanes_.contains(lane) && !is_guest) || (is_call && calls_ >= kMaxCalls)) continue;
    task->is_guest = is_guest;
    waiting_.erase(at);
    if (is_call) ++calls_;
    if (!lane.empty()) busy_lanes_.insert(lane);
    return task;
  }
  return nullptr;
}

/// Ends the work on a request, under the lock and before the answer is sent: the client's next
/// request may have the same id. Returns whether the request must be answered.
bool McpServer::leave(const Running& task) {
  running_.erase(Key(task.origin.client, task.id));
  if (!task.is_guest) busy_lanes_.erase(task.arrival.lane);
  if (task.method == kCall) --calls_;
  if (!waiting_.empty() || is_over_) work_.notify_all();
  if (is_over_) wake_.notify_all();
  return !task.is_silent || task.is_owed;
}

McpAnswer McpServer::run(Running& task) {
  McpAnswer answered = RpcError{rpc::kInternalError, "the server ended"};
  if (task.is_silent) return answered;
  try {
    Request request(*this, task);
    if (auto refused = request.take_round()) {
      answered = *std::move(refused);
    } else {
      answered = answer(task, request);
      while (request.wait_for_answers()) answered = answer(task, request);
      if (auto open = request.open_questions()) answered = *std::move(open);
    }
  } catch (const std::exception& error) {
    answered = RpcError{rpc::kInternalError, std::string("unexpected: ") + error.what()};
  }
  if (auto* result = std::get_if<ordered_json>(&answered)) finish_answer(task, *result);
  return answered;
}

McpAnswer McpServer::answer(Running& task, Request& request) {
  const std::string& method = task.method;
  if (method == "tools/list") return list(task, "tools", features_->tools());
  if (method == kCall) return call_tool(task, request);
  if (method == "resources/list") return list(task, "resources", features_->resources());
  if (method == "resources/templates/list") {
    return list(task, "resourceTemplates", features_->resource_templates());
  }
  if (method == "resources/read") {
    const std::string uri = text_member(task.params, "uri");
    if (uri.empty()) return invalid("'resources/read' names a 'uri'");
    return features_->read_resource(uri, request);
  }
  if (method == "prompts/list") return list(task, "prompts", features_->prompts());
  if (method == "prompts/get") {
    const auto arguments = arguments_of(task.params);
    const std::string name = text_member(task.params, "name");
    if (name.empty() || !arguments) return invalid("'prompts/get' has a 'name' and 'arguments'");
    return features_->get_prompt(name, *arguments, request);
  }
  if (method == "completion/complete") return complete(task);
  if (method == "server/discover" && task.era.is_stateless) return discover();
  return RpcError{rpc::kMethodNotFound, "there is no method '" + method + "' here"};
}

McpAnswer McpServer::call_tool(const Running& task, Request& request) {
  const std::string name = text_member(task.params, "name");
  const auto arguments = arguments_of(task.params);
  if (name.empty() || !arguments) return invalid("'tools/call' has a 'name' and 'arguments'");
  return features_->call_tool(name, *arguments, request);
}

/// One page of a list. A cursor is the number of the page's first item, and opaque to clients.
McpAnswer McpServer::list(const Running& task, const char* member,
                          std::vector<ordered_json> items) const {
  size_t first = 0;
  if (const auto cursor = task.params.find("cursor"); cursor != task.params.end()) {
    const std::string text = cursor->is_string() ? cursor->get<std::string>() : std::string();
    const bool is_number =
        !text.empty() && text.size() < 8 &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) first = std::stoul(text);
    if (!is_number || first == 0 || first >= items.size()) {
      return invalid("this cursor does not belong to this list");
    }
  }
  const size_t last = std::min(items.size(), first + kPageItems);
  ordered_json out;
  out[member] = ordered_json::array();
  for (size_t i = first; i < last; ++i) out[member].push_back(std::move(items[i]));
  if (last < items.size()) out["nextCursor"] = std::to_string(last);
  return out;
}

McpAnswer McpServer::complete(const Running& task) {
  constexpr size_t kMaxValues = 100;  // the protocol's limit
  const auto reference = task.params.find("ref");
  const auto argument = task.params.find("argument");
  if (reference == task.params.end() || !reference->is_object() || argument == task.params.end() ||
      !argument->is_object()) {
    return invalid("'completion/complete' has a 'ref' and an 'argument'");
  }
  McpFeatures::Completion wanted{*reference, text_member(*argument, "name"),
                                 text_member(*argument, "value")};
  if (const auto context = task.params.find("context");
      context != task.params.end() && context->is_object()) {
    const auto resolved = context->find("arguments");
    if (resolved != context->end() && resolved->is_object()) wanted.resolved = *resolved;
  }
  std::vector<std::string> values = features_->complete(wanted);
  const size_t total = values.size();
  if (total > kMaxValues) values.resize(kMaxValues);
  const ordered_json found = {
      {"values", values}, {"total", total}, {"hasMore", total > kMaxValues}};
  return ordered_json{{"completion", found}};
}

McpAnswer McpServer::discover() const {
  ordered_json out;
  out["supportedVersions"] = stateless_versions();
  out["capabilities"] = capabilities(true);
  const std::string instructions = features_->identity().instructions;
  if (!instructions.empty()) out["instructions"] = instructions;
  return out;
}

/// Adds the members that the stateless era requires in each result.
void McpServer::finish_answer(const Running& task, ordered_json& result) const {
  if (!task.era.is_stateless) return;
  if (!result.contains("resultType")) result["resultType"] = "complete";
  result["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info();
  if (result["resultType"] != "complete") return;
  if (const auto ttl = ttl_of(task.method)) {
    result["ttlMs"] = *ttl;
    result["cacheScope"] = "private";
  }
}

}  // namespace galley
