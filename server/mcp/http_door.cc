#include "server/mcp/http_door.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "base/encoding.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kSessionHeader = "mcp-session-id";
constexpr const char* kAgentSessionHeader = "galley-session";
constexpr const char* kVersionHeader = "mcp-protocol-version";
constexpr int kHeaderMismatch = -32020;  // since 2026-07-28
constexpr size_t kSessionDigits = 32;

constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kWrongMethod = 405;
constexpr int kNotAcceptable = 406;
constexpr int kConflict = 409;
constexpr int kTooLarge = 413;
constexpr int kWrongType = 415;
constexpr int kUnavailable = 503;

HttpResponse refused(int status, const RpcError& error, const std::optional<RpcId>& id = {}) {
  return {status, "application/json", error_line(id, error)};
}

HttpResponse refused(int status, std::string why) {
  return refused(status, {rpc::kInvalidRequest, std::move(why)});
}

std::string path_of(const HttpRequest& request) {
  return request.target.substr(0, request.target.find('?'));
}

bool is_listed(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Whether the header Accept names the type, or a range with it.
bool accepts(const HttpRequest& request, std::string_view type) {
  const std::string accepted = request.header("accept");
  const std::string range = std::string(type.substr(0, type.find('/'))) + "/*";
  for (size_t at = 0; at < accepted.size();) {
    const size_t end = std::min(accepted.find(',', at), accepted.size());
    const std::string given = media_type(std::string_view(accepted).substr(at, end - at));
    if (given == type || given == range || given == "*/*") return true;
    at = end + 1;
  }
  return false;
}

/// The version that a stateless request states in itself; null if it states none.
const json* stated_version(const RpcMessage& message) {
  const auto meta = message.params.find("_meta");
  if (meta == message.params.end() || !meta->is_object()) return nullptr;
  const auto version = meta->find(kMcpVersionKey);
  return version == meta->end() ? nullptr : &*version;
}

/// Values that a header cannot have are sent as base64: `=?base64?eA==?=`.
std::optional<std::string> decoded_header(const std::string& value) {
  constexpr std::string_view kStart = "=?base64?";
  constexpr std::string_view kEnd = "?=";
  if (!value.starts_with(kStart) || !value.ends_with(kEnd) ||
      value.size() < kStart.size() + kEnd.size()) {
    return value;
  }
  std::string bytes;
  const std::string_view digits =
      std::string_view(value).substr(kStart.size(), value.size() - kStart.size() - kEnd.size());
  if (!from_base64(digits, bytes)) return std::nullopt;
  return bytes;
}

/// Returns how the headers of a stateless request differ from its message; empty if they agree.
std::string header_mismatch(const HttpRequest& request, const RpcMessage& message) {
  const json* version = stated_version(message);
  if (version == nullptr || !version->is_string() ||
      request.header(kVersionHeader) != version->get_ref<const std::string&>()) {
    return "the header MCP-Protocol-Version must repeat the version of the message";
  }
  if (request.header("mcp-method") != message.method) {
    return "the header Mcp-Method must repeat the method of the message";
  }
  const bool has_name = message.method == "tools/call" || message.method == "prompts/get";
  if (!has_name && message.method != "resources/read") return {};
  const char* key = has_name ? "name" : "uri";
  const auto name = message.params.find(key);
  if (name == message.params.end() || !name->is_string()) return {};
  if (decoded_header(request.header("mcp-name")) == name->get_ref<const std::string&>()) return {};
  return std::string("the header Mcp-Name must repeat '") + key + "' of the message";
}

/// The status of an answer to a stateless request. In a session it is 200.
int status_of(const McpServer::Outgoing& message) {
  if (message.error == rpc::kMethodNotFound) return kNotFound;
  const bool is_bad = message.is_refused || message.error == rpc::kMissingCapability;
  return message.error != 0 && is_bad ? kBadRequest : 200;
}

}  // namespace

McpHttpDoor::McpHttpDoor(LocalListener& listener, Options options, const Clock& clock)
    : listener_(listener), options_(std::move(options)), clock_(clock) {}

McpHttpDoor::~McpHttpDoor() { end_all(); }

Result<void> McpHttpDoor::open() {
  for (const auto& [path, open] : options_.paths) {
    GALLEY_ASSIGN(shared_[path], open_client(path, {true}));
  }
  return {};
}

Result<void> McpHttpDoor::serve() {
  LocalListener::Wait wait;
  wait.patience = kRequestTime;
  wait.look = [this](std::string_view bytes) {
    const HttpParse parsed = parse(bytes);
    return LocalListener::Look{parsed.missing, parsed.interim};
  };
  while (!options_.must_end || !options_.must_end()) {
    wait.until = Deadline::after(clock_, kTick);
    GALLEY_ASSIGN(const auto event, listener_.next(wait));
    keep_streams_awake();
    if (event.is_closed) {
      peer_left(event.connection);
    } else if (event.connection) {
      take(event);
    }
  }
  end_all();
  return {};
}

// --- requests -----------------------------------------------------------------------------------

HttpParse McpHttpDoor::parse(std::string_view bytes) const {
  return parse_http(bytes, {McpServer::kMaxMessageBytes,
                            [this](const HttpRequest& head) { return is_admitted(head); }});
}

bool McpHttpDoor::is_admitted(const HttpRequest& request) const {
  constexpr std::string_view kBearer = "bearer ";
  const std::string given = request.header("authorization");
  const bool has_token =
      options_.token.empty() ||
      (to_lower(given).starts_with(kBearer) &&  // RFC 9110 11.1: the case of a scheme is free
       equal_in_constant_time(std::string_view(given).substr(kBearer.size()), options_.token));
  return has_token && options_.host.is_meant_by(request) &&
         options_.paths.contains(path_of(request));
}

/// Says why a request is not admitted.
HttpResponse McpHttpDoor::refusal_of(const HttpRequest& request) const {
  if (!options_.host.is_meant_by(request)) {
    return refused(kForbidden, "Host or Origin is not the address that galley mcp printed");
  }
  if (!options_.paths.contains(path_of(request))) {
    std::string known;
    for (const auto& [path, open] : options_.paths) known += " " + path;
    return refused(kNotFound, "nothing is served at this path, but at" + known);
  }
  HttpResponse response =
      refused(kUnauthorized, "send the token that galley mcp printed: Authorization: Bearer TOKEN");
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"galley mcp\"");
  return response;
}

void McpHttpDoor::take(const LocalListener::Event& event) {
  const HttpParse parsed = parse(event.bytes);
  HttpResponse response;
  if (!parsed.request) {
    const bool is_large = parsed.status == kTooLarge;
    response =
        refused(parsed.status, is_large ? "a head has at most 16 KiB, a message 16 MiB, the lines "
                                          "between its chunks 64 KiB"
                                        : parsed.why);
  } else if (is_admitted(*parsed.request)) {
    return answer({*parsed.request, event.connection});
  } else {
    response = refusal_of(*parsed.request);
  }
  event.connection->send(http_text(response));
  event.connection->finish();
}

namespace {

void respond(const std::shared_ptr<LocalConnection>& connection, const HttpResponse& response) {
  connection->send(http_text(response));
  connection->finish();
}

}  // namespace

void McpHttpDoor::answer(const Exchange& exchange) {
  const std::string& method = exchange.request.method;
  if (method == "POST") return post(exchange);
  const bool has_session = exchange.request.headers.contains(kSessionHeader);
  if (method == "GET" && has_session) return get(exchange);
  if (method == "DELETE" && has_session) return end(exchange);
  HttpResponse response = refused(
      kWrongMethod, "send messages with POST; GET and DELETE need the header Mcp-Session-Id");
  response.headers.emplace_back("Allow", "POST, GET, DELETE");
  respond(exchange.connection, response);
}

void McpHttpDoor::post(const Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  if (media_type(request.header("content-type")) != "application/json") {
    return respond(exchange.connection,
                   refused(kWrongType, "a message has the Content-Type application/json"));
  }
  if (!accepts(request, "application/json") || !accepts(request, "text/event-stream")) {
    return respond(
        exchange.connection,
        refused(kNotAcceptable, "a client accepts both application/json and text/event-stream"));
  }
  auto read = read_message(request.body);
  if (const auto* broken = std::get_if<BrokenMessage>(&read)) {
    return respond(exchange.connection, refused(kBadRequest, broken->error, broken->id));
  }
  auto& message = std::get<RpcMessage>(read);
  if (request.headers.contains(kSessionHeader)) {
    return post_to_session(exchange, std::move(message));
  }
  const bool is_stateless = stated_version(message) != nullptr ||
                            is_listed(stateless_versions(), request.header(kVersionHeader));
  if (is_stateless) return post_stateless(exchange, std::move(message));
  if (message.kind == RpcMessage::Kind::kRequest && message.method == "initialize") {
    return begin_session(exchange, std::move(message));
  }
  respond(exchange.connection,
          refused(kBadRequest,
                  "send 'initialize' first, and then the header Mcp-Session-Id of its answer"));
}

McpHttpDoor::ClientPtr McpHttpDoor::session_of(const Exchange& exchange) {
  const auto found = sessions_.find(exchange.request.header(kSessionHeader));
  if (found == sessions_.end() || found->second->path != path_of(exchange.request)) {
    respond(exchange.connection,
            refused(kNotFound, "this session has ended: send 'initialize' again"));
    return nullptr;
  }
  const std::string version = exchange.request.header(kVersionHeader);
  if (!version.empty() && !is_listed(handshake_versions(), version)) {
    respond(exchange.connection,
            refused(kBadRequest, "this MCP-Protocol-Version is not one of a session"));
    return nullptr;
  }
  found->second->used = clock_.steady();
  return found->second;
}

void McpHttpDoor::post_to_session(const Exchange& exchange, RpcMessage message) {
  if (const ClientPtr client = session_of(exchange)) {
    forward(client, exchange, std::move(message));
  }
}

void McpHttpDoor::post_stateless(const Exchange& exchange, RpcMessage message) {
  if (message.kind == RpcMessage::Kind::kResponse) {
    return respond(exchange.connection,
                   refused(kBadRequest, "a client without a session has nothing to answer"));
  }
  if (exchange.request.headers.contains(kAgentSessionHeader)) {
    return respond(exchange.connection,
                   refused(kBadRequest,
                           {rpc::kInvalidParams,
                            "Galley-Session needs a client that sends 'initialize': a client "
                            "without a session names its transaction with 'tx'"},
                           message.id));
  }
  const bool is_request = message.kind == RpcMessage::Kind::kRequest;
  if (is_request && stated_version(message) == nullptr) {
    return respond(
        exchange.connection,
        refused(kBadRequest,
                {rpc::kInvalidParams,
                 std::string("a request says its version in _meta[\"") + kMcpVersionKey + "\""},
                message.id));
  }
  if (const std::string wrong = is_request ? header_mismatch(exchange.request, message) : "";
      !wrong.empty()) {
    return respond(exchange.connection, refused(kBadRequest, {kHeaderMismatch, wrong}, message.id));
  }
  // A notification has no effect: a request is cancelled by closing its connection.
  if (!is_request) return respond(exchange.connection, {202, "application/json", ""});
  forward(shared_.at(path_of(exchange.request)), exchange, std::move(message));
}

void McpHttpDoor::begin_session(const Exchange& exchange, RpcMessage message) {
  if (text_member(message.params, "protocolVersion").empty()) {
    return respond(
        exchange.connection,
        refused(kBadRequest, {rpc::kInvalidParams, "'initialize' says its protocolVersion"},
                message.id));
  }
  if (!make_room()) {
    return respond(
        exchange.connection,
        refused(kUnavailable, "too many sessions are in use: end one with DELETE, or wait"));
  }
  auto client =
      open_client(path_of(exchange.request), {false, exchange.request.header(kAgentSessionHeader)});
  if (!client) {
    const bool is_bad = client.error().kind == ErrorKind::kUsage;
    return respond(exchange.connection, refused(is_bad ? kBadRequest : kUnavailable,
                                                {is_bad ? rpc::kInvalidParams : rpc::kInternalError,
                                                 printable_line(client.error().message)},
                                                message.id));
  }
  const std::string id = random_hex(kSessionDigits);
  sessions_.emplace(id, *client);
  forward(*client, exchange, std::move(message), {{"Mcp-Session-Id", id}});
}

/// Gives a message to the server. Its answers go to the connection.
void McpHttpDoor::forward(const ClientPtr& client, const Exchange& exchange, RpcMessage message,
                          std::vector<std::pair<std::string, std::string>> headers) {
  if (message.kind != RpcMessage::Kind::kRequest) {
    respond(exchange.connection, {202, "application/json", ""});
    return client->server->take(std::move(message), {});
  }
  const uint64_t stream = open_stream(*client, exchange);
  {
    const std::lock_guard lock(mutex_);
    streams_.at(stream).headers = std::move(headers);
  }
  client->server->take(std::move(message), {client->is_shared ? stream : 0, stream});
}

void McpHttpDoor::get(const Exchange& exchange) {
  const ClientPtr client = session_of(exchange);
  if (!client) return;
  if (!accepts(exchange.request, "text/event-stream")) {
    return respond(exchange.connection,
                   refused(kNotAcceptable, "GET answers with text/event-stream"));
  }
  const uint64_t stream = open_stream(*client, exchange);
  std::unique_lock lock(mutex_);
  if (streams_.contains(client->notices)) {
    streams_.erase(stream);
    lock.unlock();
    return respond(exchange.connection,
                   refused(kConflict, "this session already has a stream of notifications"));
  }
  client->notices = stream;
  begin_events(streams_.at(stream));
}

void McpHttpDoor::end(const Exchange& exchange) {
  ClientPtr client = session_of(exchange);
  if (!client) return;
  sessions_.erase(exchange.request.header(kSessionHeader));
  respond(exchange.connection, {200, "application/json", "{}"});
  retire(std::move(client));
}

// --- streams ------------------------------------------------------------------------------------

uint64_t McpHttpDoor::open_stream(Client& client, const Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  Stream stream{.connection = exchange.connection, .client = &client, .used = clock_.steady()};
  streams_.emplace(++last_stream_, std::move(stream));
  return last_stream_;
}

/// Sends the head of a stream of events, under the lock.
void McpHttpDoor::begin_events(Stream& stream) const {
  if (std::exchange(stream.is_started, true)) return;
  stream.connection->send(
      http_stream_head({200, "text/event-stream", "", std::move(stream.headers)}));
}

/// Called by the threads of the servers.
void McpHttpDoor::deliver(Client& client, const McpServer::Outgoing& message) {
  std::unique_lock lock(mutex_);
  const auto found = streams_.find(message.stream == 0 ? client.notices : message.stream);
  if (found == streams_.end()) {
    lock.unlock();
    return client.server->lose(message.stream);
  }
  Stream& stream = found->second;
  stream.used = clock_.steady();
  const bool is_only = message.is_last && !stream.is_started && !message.line.empty();
  if (is_only) {
    const int status = client.is_shared ? status_of(message) : 200;
    stream.connection->send(
        http_text({status, "application/json", message.line, std::move(stream.headers)}));
  } else {
    begin_events(stream);
    if (!message.line.empty()) {
      stream.connection->send("event: message\ndata: " + message.line + "\n\n");
    }
  }
  if (!message.is_last || message.stream == 0) return;
  stream.connection->finish();
  streams_.erase(found);
}

/// Sends a comment to clients that wait for long.
void McpHttpDoor::keep_streams_awake() {
  const auto now = clock_.steady();
  const std::lock_guard lock(mutex_);
  for (auto& [number, stream] : streams_) {
    if (now - stream.used < kQuietTime) continue;
    stream.used = now;
    begin_events(stream);
    stream.connection->send(": still here\n\n");
  }
}

/// A stateless client cancels a request by closing its connection. A request of a session goes on,
/// but cannot ask any more: its client may only have lost the connection.
void McpHttpDoor::peer_left(const std::shared_ptr<LocalConnection>& connection) {
  uint64_t number = 0;
  ClientPtr client;  // null for a session that ends on another thread meanwhile
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const auto& each) {
      return each.second.connection == connection;
    });
    if (found == streams_.end()) return;
    number = found->first;
    for (const auto* clients : {&sessions_, &shared_}) {
      for (const auto& [name, each] : *clients) {
        if (each.get() == found->second.client) client = each;
      }
    }
    streams_.erase(found);
  }
  if (!client) return;
  if (client->is_shared) return client->server->leave(number);
  client->server->lose(number);
}

// --- clients ------------------------------------------------------------------------------------

Result<McpHttpDoor::ClientPtr> McpHttpDoor::open_client(const std::string& path,
                                                        const Opening& opening) {
  auto client = std::make_shared<Client>();
  client->path = path;
  client->is_shared = opening.is_shared;
  client->used = clock_.steady();
  GALLEY_ASSIGN(client->features, options_.paths.at(path)(opening));
  client->server = std::make_unique<McpServer>(
      *client->features, clock_,
      [this, receiver = client.get()](const McpServer::Outgoing& message) {
        deliver(*receiver, message);
      });
  return client;
}

/// Ends a session if there are too many. Returns false if all are in use, or too many still end.
bool McpHttpDoor::make_room() {
  forget_ended();
  if (endings_.size() >= kMaxSessions) return false;
  if (sessions_.size() < kMaxSessions) return true;
  std::vector<const Client*> busy;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, stream] : streams_) busy.push_back(stream.client);
  }
  auto oldest = sessions_.end();
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    if (std::find(busy.begin(), busy.end(), at->second.get()) != busy.end()) continue;
    if (oldest == sessions_.end() || at->second->used < oldest->second->used) oldest = at;
  }
  if (oldest == sessions_.end()) return false;
  ClientPtr client = oldest->second;
  sessions_.erase(oldest);
  retire(std::move(client));
  return true;
}

void McpHttpDoor::forget_ended() {
  std::erase_if(endings_, [](const std::future<void>& one) {
    return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
}

/// Ends a client on another thread, because its requests may take a while to end.
void McpHttpDoor::retire(ClientPtr client) {
  forget_ended();
  endings_.push_back(std::async(std::launch::async, [this, client = std::move(client)]() mutable {
    client->server->finish();
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(streams_, [&](const auto& each) {
        if (each.second.client != client.get()) return false;
        each.second.connection->finish();
        return true;
      });
    }
    client.reset();  // its workspace too must not be closed by the thread that serves
  }));
}

void McpHttpDoor::end_all() {
  for (auto* clients : {&sessions_, &shared_}) {
    for (auto& [name, client] : *clients) retire(std::move(client));
    clients->clear();
  }
  endings_.clear();  // waits for each
  listener_.flush(Deadline::after(clock_, McpServer::kDrainTime));
}

}  // namespace galley
