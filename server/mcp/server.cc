#include "server/mcp/server.h"

#include <algorithm>
#include <utility>

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

}  // namespace galley
