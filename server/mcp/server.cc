#include "server/mcp/server.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "server/mcp/request.h"
#include "tools/json_input.h"

namespace galley {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

const json* member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() ? &*found : nullptr;
}

const json* meta_member(const json& params, const char* key) {
  const json* meta = member(params, "_meta");
  return meta != nullptr && meta->is_object() ? member(*meta, key) : nullptr;
}

bool is_one_of(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Requests of the handshake era that the stateless era removed.
bool is_of_handshake(const std::string& method) {
  static const std::vector<std::string> kMethods = {"initialize", "ping", "logging/setLevel",
                                                    "resources/subscribe", "resources/unsubscribe"};
  return is_one_of(kMethods, method);
}

bool is_log_level(const std::string& word) {
  static const std::vector<std::string> kLevels = {"debug", "info",     "notice", "warning",
                                                   "error", "critical", "alert",  "emergency"};
  return is_one_of(kLevels, word);
}

/// The version for a client that asks for this one: the same, or else the next earlier one.
/// 2025-03-26 is not offered, because its servers must also read batches.
std::string agreed_version(const std::string& asked) {
  std::vector<std::string> offered = handshake_versions();
  std::erase(offered, "2025-03-26");
  const auto later = std::upper_bound(offered.begin(), offered.end(), asked);
  return later == offered.begin() ? offered.back() : *std::prev(later);
}

RpcError no_method(const std::string& method) {
  return {rpc::kMethodNotFound, "there is no method '" + method + "' here"};
}

}  // namespace

McpServer::McpServer(McpFeatures& features, const Clock& clock, Send send)
    : features_(&features), clock_(&clock), send_(std::move(send)), states_(clock) {
  features_->on_change([this](std::string_view uri) { changed(uri); });
}

McpServer::~McpServer() { finish(); }

void McpServer::take(std::string_view line) {
  if (Task task = accept(line)) enqueue(std::move(task));
}

void McpServer::take(RpcMessage message, Origin origin) {
  if (Task task = accept(std::move(message), origin)) enqueue(std::move(task));
}

/// Handles one line. Returns the request in it, if the features must handle it.
McpServer::Task McpServer::accept(std::string_view line) {
  auto read = read_message(line);
  if (const auto* broken = std::get_if<BrokenMessage>(&read)) {
    if (broken->is_answerable) refuse(broken->id, broken->error, {});
    return nullptr;
  }
  return accept(std::move(std::get<RpcMessage>(read)), {});
}

McpServer::Task McpServer::accept(RpcMessage message, Origin origin) {
  switch (message.kind) {
    case RpcMessage::Kind::kRequest:
      return accept_request(std::move(message), origin);
    case RpcMessage::Kind::kNotification:
      take_notification(message, origin);
      break;
    case RpcMessage::Kind::kResponse:
      take_response(std::move(message));
      break;
  }
  return nullptr;
}

/// Refuses an invalid request. If its id belongs to a request in progress, that request gets its
/// own answer, so the refusal must not have the id.
void McpServer::refuse(const std::optional<RpcId>& id, const RpcError& error, Origin origin) {
  const bool is_other = id && is_in_progress({origin.client, *id});
  send({error_line(is_other ? std::nullopt : id, error), origin.stream, true, error.code, true});
}

bool McpServer::is_in_progress(const Key& key) const {
  const std::lock_guard lock(mutex_);
  return running_.count(key) != 0 || listeners_.count(key) != 0;
}

void McpServer::refuse_long_line(const Line& line) {
  const json first = unread_message(line.text).id;
  refuse(rpc_id(first.is_null() ? id_at_end(line.end) : first),
         {rpc::kInvalidRequest, "a message has at most 16 MiB"}, {});
}

/// The era of a request.
std::variant<McpServer::Era, RpcError> McpServer::era_of(const RpcMessage& message) const {
  const json* version = meta_member(message.params, kMcpVersionKey);
  const std::lock_guard lock(mutex_);
  if (version == nullptr) {
    if (is_initialized_ || message.method == "initialize" || message.method == "ping") {
      return Era{false, client_capabilities_};
    }
    return RpcError{rpc::kInvalidParams,
                    std::string("a request says its version in _meta[\"") + kMcpVersionKey +
                        "\"; clients of earlier versions send 'initialize' first"};
  }
  if (!version->is_string() ||
      !is_one_of(stateless_versions(), version->get_ref<const std::string&>())) {
    return RpcError{rpc::kUnsupportedVersion,
                    "this protocol version is not supported",
                    {{"supported", stateless_versions()}, {"requested", *version}}};
  }
  const json* capabilities = meta_member(message.params, kMcpCapabilitiesKey);
  if (capabilities == nullptr || !capabilities->is_object()) {
    return RpcError{rpc::kInvalidParams, std::string("a request says what its client can do in "
                                                     "_meta[\"") +
                                             kMcpCapabilitiesKey + "\""};
  }
  return Era{true, *capabilities};
}

McpServer::Task McpServer::accept_request(RpcMessage message, Origin origin) {
  if (is_in_progress({origin.client, message.id})) {
    refuse(message.id,
           {rpc::kInvalidRequest,
            "a request with this id is being worked on: " + json_text(to_json(message.id))},
           origin);
    return nullptr;
  }
  auto found = era_of(message);
  if (const auto* error = std::get_if<RpcError>(&found)) {
    refuse(message.id, *error, origin);
    return nullptr;
  }
  Era& era = std::get<Era>(found);
  if (era.is_stateless && is_of_handshake(message.method)) {
    refuse(message.id, no_method(message.method), origin);
    return nullptr;
  }
  if (answer_at_once(message, era, origin)) return nullptr;
  auto task = std::make_shared<Running>();
  task->arrival = features_->arrive(message.method, message.params);
  task->id = std::move(message.id);
  task->origin = origin;
  task->method = std::move(message.method);
  task->params = std::move(message.params);
  task->era = std::move(era);
  return task;
}

/// Handles requests that do not need the workspace.
bool McpServer::answer_at_once(const RpcMessage& message, const Era& era, Origin origin) {
  const std::string& method = message.method;
  const auto answer = [&](McpAnswer now) { reply(message.id, origin, std::move(now)); };
  if (method == "initialize") {
    answer(initialize(message.params));
  } else if (method == "ping") {
    answer(ordered_json::object());
  } else if (method == "logging/setLevel") {
    const json* level = member(message.params, "level");
    if (level == nullptr || !level->is_string() || !is_log_level(level->get<std::string>())) {
      answer(RpcError{rpc::kInvalidParams, "'level' is a level of syslog"});
      return true;
    }
    {
      const std::lock_guard lock(mutex_);
      log_level_ = level->get<std::string>();
    }
    answer(ordered_json::object());
  } else if (method == "resources/subscribe" || method == "resources/unsubscribe") {
    answer(subscribe(message.params, method == "resources/subscribe"));
  } else if (method == "subscriptions/listen" && era.is_stateless) {
    listen(message, origin);
  } else {
    return false;
  }
  return true;
}

McpAnswer McpServer::initialize(const json& params) {
  const json* version = member(params, "protocolVersion");
  if (version == nullptr || !version->is_string()) {
    return RpcError{rpc::kInvalidParams, "'initialize' says its protocolVersion"};
  }
  const json* capabilities = member(params, "capabilities");
  {
    const std::lock_guard lock(mutex_);
    is_initialized_ = true;
    if (capabilities != nullptr && capabilities->is_object()) client_capabilities_ = *capabilities;
  }
  ordered_json out;
  out["protocolVersion"] = agreed_version(version->get_ref<const std::string&>());
  out["capabilities"] = McpServer::capabilities(false);
  out["serverInfo"] = server_info();
  const std::string instructions = features_->identity().instructions;
  if (!instructions.empty()) out["instructions"] = instructions;
  return out;
}

void McpServer::enqueue(Task task) {
  std::unique_lock lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) {
    lock.unlock();
    refuse(task->id, {rpc::kInternalError, "too many requests wait for an answer"}, task->origin);
    return;
  }
  running_.emplace(Key(task->origin.client, task->id), task);
  waiting_.push_back(std::move(task));
  if (idle_ < waiting_.size() && workers_.size() < kMaxWorkers) {
    workers_.emplace_back([this] { work(); });
  }
  work_.notify_one();
}

void McpServer::take_notification(const RpcMessage& message, Origin origin) {
  // The others need no action; an unknown one is not an error.
  if (message.method == "notifications/cancelled") cancel(message.params, origin);
}

/// Some clients cancel requests that were already answered, so an unknown id is not an error.
void McpServer::cancel(const json& params, Origin origin) {
  const json* id = member(params, "requestId");
  const auto which = id == nullptr ? std::nullopt : rpc_id(*id);
  if (!which) return;
  Task task;
  {
    const std::lock_guard lock(mutex_);
    listeners_.erase(Key(origin.client, *which));
    const auto found = running_.find(Key(origin.client, *which));
    if (found == running_.end()) return;
    task = found->second;
    task->is_silent = true;
  }
  stop({task});
}

/// What a stop calls may take locks, so it is requested without ours. A request that looks for a
/// stop under the lock and then sleeps must not miss it.
void McpServer::stop(const std::vector<Task>& tasks) {
  for (const Task& task : tasks) task->stop.request_stop();
  const std::lock_guard lock(mutex_);
  wake_.notify_all();
}

void McpServer::leave(uint64_t client) {
  std::vector<Task> left;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(listeners_, [&](const auto& each) { return each.first.first == client; });
    for (const auto& [key, task] : running_) {
      if (key.first != client) continue;
      task->is_silent = true;
      left.push_back(task);
    }
  }
  stop(left);
}

void McpServer::lose(uint64_t stream) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, question] : questions_) {
    if (question.stream == stream) question.is_answered = true;
  }
  wake_.notify_all();
}

void McpServer::take_response(RpcMessage message) {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(message.id);
  if (found == questions_.end() || found->second.is_answered) return;
  found->second.is_answered = true;
  if (message.error) {
    found->second.answer = {{"error", message.error->message}};
  } else {
    found->second.answer = std::move(message.result);
  }
  wake_.notify_all();
}

void McpServer::finish() {
  drain();
  std::vector<std::thread> workers;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_finished_, true)) return;
    workers = std::move(workers_);
    workers_.clear();
  }
  for (std::thread& worker : workers) worker.join();
  end_listeners();
  features_->on_change({});
}

namespace {

/// After this number of looks without a new request, the watching thread sleeps.
constexpr int kQuietLooks = 50;

}  // namespace

Result<void> McpServer::serve(const Input& input) {
  std::thread other([this, &input] { read_in_turns(1, input); });
  read_in_turns(0, input);
  other.join();
  finish();
  return reading_.result;
}

void McpServer::read_in_turns(int me, const Input& input) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (reading_.reader != me) wait_to_read(lock, me);
    if (reading_.is_over) return;
    lock.unlock();
    const auto line = input();
    if (line && *line) {
      take_line(**line, me);
      lock.lock();
      continue;
    }
    drain();
    lock.lock();
    if (!line) reading_.result = fail(line.error());
    reading_.is_over = true;
    watch_.notify_all();
    return;
  }
}

/// Watches the other thread. Returns when `me` must read, because the other thread is still
/// handling the same request as at the last look, or when reading is over.
void McpServer::wait_to_read(std::unique_lock<std::mutex>& lock, int me) {
  uint64_t seen = reading_.works;
  int quiet = 0;
  while (!reading_.is_over && reading_.reader != me) {
    if (quiet == kQuietLooks) {
      reading_.is_unwatched = true;
      watch_.wait(lock, [this] { return !reading_.is_unwatched || reading_.is_over; });
      quiet = 0;
      seen = reading_.works;
    }
    watch_.wait_for(lock, kReadAgainAfter, [this] { return reading_.is_over; });
    if (reading_.is_at_work && reading_.works == seen) {
      reading_.is_at_work = false;
      reading_.reader = me;
    }
    quiet = reading_.works == seen ? quiet + 1 : 0;
    seen = reading_.works;
  }
}

void McpServer::take_line(const Line& line, int me) {
  if (line.is_too_long) return refuse_long_line(line);
  if (line.text.empty()) return;
  Task task = accept(line.text);
  if (!task) return;
  if (line.has_next || !begin_here(task)) return enqueue(std::move(task));
  McpAnswer answered = run(*task);
  std::unique_lock lock(mutex_);
  const bool is_wanted = leave(*task);
  lock.unlock();
  end(*task, is_wanted, std::move(answered));
  lock.lock();
  // The other thread may now be reading or handling a request.
  if (reading_.reader == me) reading_.is_at_work = false;
}

/// Begins a request on the reading thread. Returns false if another request is in progress.
bool McpServer::begin_here(const Task& task) {
  const std::lock_guard lock(mutex_);
  if (!running_.empty() || is_over_) return false;
  running_.emplace(Key(task->origin.client, task->id), task);
  if (!task->arrival.lane.empty()) busy_lanes_.insert(task->arrival.lane);
  if (task->method == kCall) ++calls_;
  reading_.is_at_work = true;
  ++reading_.works;
  if (std::exchange(reading_.is_unwatched, false)) watch_.notify_all();
  return true;
}

/// Waits until all requests have ended, and stops those that have not.
void McpServer::drain() {
  std::unique_lock lock(mutex_);
  if (std::exchange(is_over_, true)) return;
  wake_.notify_all();
  work_.notify_all();
  wake_.wait_for(lock, kDrainTime, [this] { return running_.empty(); });
  for (const auto& [key, task] : running_) task->stop.request_stop();
  wake_.notify_all();
}

// --- answers ------------------------------------------------------------------------------------

namespace {

/// How long a stateless client may cache an answer, in milliseconds.
constexpr int64_t kDiscoverTtlMs = 60'000;
constexpr int64_t kListTtlMs = 5'000;
constexpr int64_t kContentTtlMs = 0;

/// Arguments of a call: an object, empty when there are none.
std::optional<json> arguments_of(const json& params) {
  const auto found = params.find("arguments");
  if (found == params.end()) return json::object();
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

// --- subscriptions ------------------------------------------------------------------------------

namespace {

constexpr const char* kSubscriptionKey = "io.modelcontextprotocol/subscriptionId";

bool is_list(std::string_view uri) { return uri.empty() || uri == McpFeatures::kListOfTools; }

ordered_json params_for(std::string_view uri) {
  ordered_json params = ordered_json::object();
  if (!is_list(uri)) params["uri"] = uri;
  return params;
}

/// The subscriptions that a change concerns.
std::vector<std::string> concerned(const std::set<std::string>& uris, std::string_view changed) {
  std::vector<std::string> found;
  if (is_list(changed)) return found;
  for (auto at = uris.lower_bound(std::string(changed)); at != uris.end(); ++at) {
    const bool is_below = changed.ends_with('/') && at->starts_with(changed);
    if (*at != changed && !is_below) break;
    found.push_back(*at);
  }
  return found;
}

const char* notification_for(std::string_view uri) {
  if (uri == McpFeatures::kListOfTools) return "notifications/tools/list_changed";
  return uri.empty() ? "notifications/resources/list_changed" : "notifications/resources/updated";
}

}  // namespace

McpAnswer McpServer::subscribe(const json& params, bool is_on) {
  const auto uri = params.find("uri");
  if (uri == params.end() || !uri->is_string()) {
    return RpcError{rpc::kInvalidParams, "a subscription names a 'uri'"};
  }
  const std::lock_guard lock(mutex_);
  if (is_on && subscribed_.size() >= kMaxSubscriptions) {
    return RpcError{rpc::kInvalidParams, "one client has at most 1000 subscriptions"};
  }
  if (is_on) {
    subscribed_.insert(uri->get<std::string>());
  } else {
    subscribed_.erase(uri->get<std::string>());
  }
  return ordered_json::object();
}

/// Opens a stream of notifications; its first message says which ones it will contain.
void McpServer::listen(const RpcMessage& message, Origin origin) {
  const auto wanted = message.params.find("notifications");
  if (wanted == message.params.end() || !wanted->is_object()) {
    reply(message.id, origin,
          RpcError{rpc::kInvalidParams, "'subscriptions/listen' names 'notifications'"});
    return;
  }
  Listener listener;
  listener.stream = origin.stream;
  ordered_json agreed = ordered_json::object();
  const auto flag = [&](const char* key) {
    const auto found = wanted->find(key);
    return found != wanted->end() && found->is_boolean() && found->get<bool>();
  };
  if (flag("toolsListChanged")) {
    agreed["toolsListChanged"] = true;
    listener.wants_tools = true;
  }
  if (flag("resourcesListChanged")) {
    agreed["resourcesListChanged"] = true;
    listener.wants_resources = true;
  }
  const auto uris = wanted->find("resourceSubscriptions");
  if (uris != wanted->end() && uris->is_array()) {
    agreed["resourceSubscriptions"] = ordered_json::array();
    for (const json& uri : *uris) {
      if (!uri.is_string() || listener.uris.size() >= kMaxSubscriptions) continue;
      listener.uris.insert(uri.get<std::string>());
      agreed["resourceSubscriptions"].push_back(ordered_json(uri));
    }
  }
  ordered_json params;
  params["_meta"][kSubscriptionKey] = to_json(message.id);
  params["notifications"] = std::move(agreed);
  // Held until the first message is sent, so that later changes are reported after it.
  const std::lock_guard sending(send_mutex_);
  if (!add_listener({origin.client, message.id}, std::move(listener))) {
    send_({error_line(message.id, {rpc::kInvalidRequest, "there are too many subscriptions"}),
           origin.stream, true, rpc::kInvalidRequest});
    return;
  }
  send_({notification_line("notifications/subscriptions/acknowledged", params), origin.stream});
}

bool McpServer::add_listener(const Key& key, Listener listener) {
  const std::lock_guard lock(mutex_);
  if (listeners_.size() >= kMaxSubscriptions) return false;
  return listeners_.emplace(key, std::move(listener)).second;
}

/// The features call it from the thread of a request.
void McpServer::changed(std::string_view uri) {
  std::vector<Outgoing> messages;
  const auto add = [&](std::string_view about, const Key* listener, uint64_t stream) {
    ordered_json params = params_for(about);
    if (listener != nullptr) params["_meta"][kSubscriptionKey] = to_json(listener->second);
    messages.push_back({notification_line(notification_for(about), params), stream});
  };
  {
    const std::lock_guard lock(mutex_);
    if (is_initialized_ && is_list(uri)) add(uri, nullptr, 0);
    for (const std::string& each : concerned(subscribed_, uri)) add(each, nullptr, 0);
    for (const auto& [key, listener] : listeners_) {
      const bool wants_list =
          uri == McpFeatures::kListOfTools ? listener.wants_tools : listener.wants_resources;
      if (is_list(uri) && wants_list) add(uri, &key, listener.stream);
      for (const std::string& each : concerned(listener.uris, uri)) {
        add(each, &key, listener.stream);
      }
    }
  }
  for (const Outgoing& message : messages) send(message);
}

/// A stream that the server ends is answered; one that the client cancelled is not.
void McpServer::end_listeners() {
  std::map<Key, Listener> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(listeners_);
  }
  for (const auto& [key, listener] : ended) {
    ordered_json result;
    result["_meta"][kSubscriptionKey] = to_json(key.second);
    result["resultType"] = "complete";
    reply(key.second, {key.first, listener.stream}, result);
  }
}

}  // namespace galley
