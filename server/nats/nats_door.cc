#include "server/nats/nats_door.h"

#include <nats/nats.h>
#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/printable.h"
#include "server/nats/shared_record.h"
#include "tools/shapes.h"

namespace galley {
namespace {

constexpr int64_t kConnectMs = 5'000;
constexpr int64_t kReconnectWaitMs = 250;
constexpr int64_t kWriteMs = 10'000;  ///< a server that takes nothing for so long is gone
constexpr int64_t kFlushMs = 5'000;
constexpr int kReconnectBufferBytes = 8 << 20;
constexpr int kLookEveryMs = 100;                     ///< how often serve() looks at must_end
constexpr auto kStopTime = std::chrono::seconds(10);  ///< of a call that was asked to stop
constexpr int64_t kPingMs = 2'000;
constexpr int kMostLooks = 8;  ///< how often a lease that another process took is looked up
constexpr size_t kMostRemembered = 10'000;  ///< sessions that this process holds
constexpr size_t kHolderDigits = 32;
constexpr const char* kPing = "ping";
constexpr const char* kManifests = "nachos.tool.manifests";

Error connection_error(const std::string& what, natsStatus status) {
  return {ErrorKind::kIo, "nats.connection", what + ": " + natsStatus_GetText(status), "", 0};
}

/// The subject on which one process hears of the sessions that it holds.
std::string holder_subject(const std::string& holder, const std::string& last) {
  return "nachos.holder." + holder + "." + last;
}

struct OptionsDeleter {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};
using NatsOptions = std::unique_ptr<natsOptions, OptionsDeleter>;

/// Runs the setters of cnats in order and keeps the first failure.
Result<NatsOptions> connection_options(const std::string& address, const NatsConfig& config) {
  natsOptions* made = nullptr;
  if (const natsStatus s = natsOptions_Create(&made); s != NATS_OK) {
    return connection_error("the NATS library cannot start", s);
  }
  NatsOptions options(made);
  natsStatus s = natsOptions_SetURL(made, address.c_str());
  const auto set = [&](bool wanted, const std::function<natsStatus()>& setter) {
    if (wanted && s == NATS_OK) s = setter();
  };
  set(true, [&] { return natsOptions_SetName(made, "galley"); });
  set(true, [&] { return natsOptions_SetTimeout(made, kConnectMs); });
  set(true, [&] { return natsOptions_SetMaxReconnect(made, -1); });
  set(true, [&] { return natsOptions_SetReconnectWait(made, kReconnectWaitMs); });
  set(true, [&] { return natsOptions_SetReconnectBufSize(made, kReconnectBufferBytes); });
  set(true, [&] { return natsOptions_SetWriteDeadline(made, kWriteMs); });
  set(true, [&] { return natsOptions_SetNoEcho(made, true); });
  set(true, [&] { return natsOptions_SetSendAsap(made, true); });
  set(true, [&] { return natsOptions_UseGlobalMessageDelivery(made, true); });
  set(!config.credentials.empty(), [&] {
    return natsOptions_SetUserCredentialsFromFiles(made, config.credentials.c_str(), nullptr);
  });
  set(!config.nkey.empty(), [&] {
    return natsOptions_SetNKeyFromSeed(made, config.nkey.c_str(), config.nkey_seed.c_str());
  });
  const bool is_secure = !config.ca.empty() || !config.certificate.empty();
  set(is_secure, [&] { return natsOptions_SetSecure(made, true); });
  set(!config.ca.empty(),
      [&] { return natsOptions_LoadCATrustedCertificates(made, config.ca.c_str()); });
  set(!config.certificate.empty(), [&] {
    return natsOptions_LoadCertificatesChain(made, config.certificate.c_str(), config.key.c_str());
  });
  if (s != NATS_OK) {
    return connection_error("the address, certificates or keys cannot be used", s);
  }
  return options;
}

}  // namespace

struct NatsDoor::State {
  /// kForwarded: a call of a session that this process holds; kPing: whether this process lives.
  enum class Kind : uint8_t { kCall, kForwarded, kHealth, kValidate, kDiscovery, kPing };

  struct Request {
    Kind kind = Kind::kCall;
    std::string tool;
    std::string text;
    std::string reply;
  };

  /// A call that waits for an earlier one of its session.
  struct LaneCall {
    NachosCall call;
    std::string reply;
    size_t bytes = 0;  ///< of its request
  };

  struct Subscription {
    State* door;
    Kind kind;
    std::string tool;
    natsSubscription* handle = nullptr;
  };

  NachosRunner* runner = nullptr;
  Options options;
  natsConnection* connection = nullptr;
  std::unique_ptr<SharedRecord> shared;  ///< null without JetStream
  std::deque<Subscription> subscriptions;

  std::mutex mutex;
  std::condition_variable changed;  ///< `waiting` or `has_ended`
  std::condition_variable idle;     ///< no request is held
  std::deque<Request> waiting;
  std::map<std::string, std::deque<LaneCall>> lanes;  ///< the sessions whose calls run now
  size_t held = 0;                                    ///< requests that are not answered
  size_t held_bytes = 0;
  std::set<std::string> mine;  ///< the sessions that this process holds, until a reconnection
  bool has_ended = false;
  std::stop_source stop;
  std::vector<std::jthread> workers;

  ~State();
  void log(const std::string& line) { options.log(printable_line(line)); }
  Result<void> connect();
  Result<void> subscribe(Kind kind, const std::string& subject, const std::string& tool);
  Result<void> subscribe_all();
  void take(const Subscription& subscription, natsMsg* message);
  std::string accept(Request request);
  void work();
  void handle(Request& request);
  void handle_call(Request& request);
  std::string unexpected(const std::exception& error);
  bool is_mine(const std::string& session);
  void set_mine(const std::string& session, bool is_mine);
  Result<bool> forwarded(const NachosCall& call, const Request& request);
  void drop_lease_after(const NachosCall& call);
  bool is_gone(const std::string& holder);
  void end_workers();
  bool enter_lane(LaneCall& call);
  std::optional<LaneCall> next_of_lane(const std::string& session);
  void settle(size_t bytes);
  void reply(const std::string& subject, const std::string& text);
  void answer(const LaneCall& call);
  bool is_idle_before(std::chrono::milliseconds time);
  void drain();
};

// --- connection -----------------------------------------------------------------------------

void NatsDoor::State::end_workers() {
  {
    const std::lock_guard guard(mutex);
    has_ended = true;
  }
  changed.notify_all();
  workers.clear();
}

NatsDoor::State::~State() {
  stop.request_stop();
  end_workers();
  if (connection == nullptr) return;
  natsConnection_Close(connection);
  shared.reset();
  for (const Subscription& one : subscriptions) natsSubscription_Destroy(one.handle);
  natsConnection_Destroy(connection);
  // The threads of the library may use this state until they end.
  nats_CloseAndWait(0);
}

Result<void> NatsDoor::State::connect() {
  GALLEY_ASSIGN(const NatsOptions made, connection_options(options.address, options.config));
  natsOptions_SetDisconnectedCB(
      made.get(),
      [](natsConnection*, void* state) {
        static_cast<State*>(state)->log("disconnected from the NATS server, and trying again");
      },
      this);
  natsOptions_SetReconnectedCB(
      made.get(),
      [](natsConnection* of, void* closure) {
        auto* state = static_cast<State*>(closure);
        {
          // Another process may have taken a session over meanwhile.
          const std::lock_guard guard(state->mutex);
          state->mine.clear();
        }
        natsConnection_FlushTimeout(of, kFlushMs);
        state->log("connected to the NATS server again");
      },
      this);
  natsOptions_SetErrorHandler(
      made.get(),
      [](natsConnection* of, natsSubscription*, natsStatus status, void* state) {
        const char* text = nullptr;
        natsConnection_GetLastError(of, &text);
        static_cast<State*>(state)->log(std::string("the NATS server said: ") +
                                        natsStatus_GetText(status) + " " +
                                        (text == nullptr ? "" : text));
      },
      this);
  const natsStatus status = natsConnection_Connect(&connection, made.get());
  if (status == NATS_OK) return {};
  return fail(connection_error(
      "no connection to the NATS server at " + shown_address(options.address), status));
}

Result<void> NatsDoor::State::subscribe(Kind kind, const std::string& subject,
                                        const std::string& tool) {
  subscriptions.push_back({this, kind, tool});
  Subscription& one = subscriptions.back();
  const natsStatus status = natsConnection_QueueSubscribe(
      &one.handle, connection, subject.c_str(), options.config.group.c_str(),
      [](natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
        const auto* subscription = static_cast<const Subscription*>(closure);
        try {
          subscription->door->take(*subscription, message);
        } catch (const std::exception& error) {  // the library is C
          subscription->door->log(std::string("a request is lost: ") + error.what());
        }
        natsMsg_Destroy(message);
      },
      &one);
  if (status == NATS_OK) return {};
  return fail(connection_error("no subscription to " + subject, status));
}

Result<void> NatsDoor::State::subscribe_all() {
  GALLEY_ASSIGN(const auto tools, runner->subjects());
  for (const auto& [token, tool] : tools) {
    const std::string subject = "nachos.tool." + token;
    GALLEY_TRY(subscribe(Kind::kCall, subject + ".request", tool));
    GALLEY_TRY(subscribe(Kind::kCall, "tool." + token + ".request", tool));
    GALLEY_TRY(subscribe(Kind::kHealth, subject + ".health", tool));
    GALLEY_TRY(subscribe(Kind::kValidate, subject + ".validate", tool));
    if (shared == nullptr) continue;
    GALLEY_TRY(subscribe(Kind::kForwarded, holder_subject(shared->holder(), token), tool));
  }
  if (shared != nullptr) {
    GALLEY_TRY(subscribe(Kind::kPing, holder_subject(shared->holder(), kPing), ""));
  }
  GALLEY_TRY(subscribe(Kind::kDiscovery, kManifests, ""));
  reply(kManifests, runner->manifests());
  if (const natsStatus s = natsConnection_FlushTimeout(connection, kFlushMs); s != NATS_OK) {
    return fail(connection_error("the NATS server does not answer", s));
  }
  return {};
}

void NatsDoor::State::reply(const std::string& subject, const std::string& text) {
  if (subject.empty()) return;
  const natsStatus status = natsConnection_Publish(connection, subject.c_str(), text.data(),
                                                   static_cast<int>(text.size()));
  if (status != NATS_OK) {
    log("an answer could not be sent: " + std::string(natsStatus_GetText(status)));
  }
}

// --- requests -------------------------------------------------------------------------------

/// Runs on the thread of the library that delivers messages, so it must not wait.
void NatsDoor::State::take(const Subscription& subscription, natsMsg* message) {
  const char* to = natsMsg_GetReply(message);
  if (subscription.kind == Kind::kPing) return reply(to == nullptr ? "" : to, "");
  const auto size = static_cast<size_t>(natsMsg_GetDataLength(message));
  std::string problem;
  if (size > options.config.most_request_bytes) {
    problem = "the request has " + std::to_string(size) + " bytes, and the limit is " +
              std::to_string(options.config.most_request_bytes);
  } else {
    problem = accept({subscription.kind, subscription.tool,
                      std::string(natsMsg_GetData(message), size), to == nullptr ? "" : to});
  }
  if (!problem.empty() && to != nullptr) reply(to, NachosRunner::bare_error(problem));
}

/// Returns why a request is not accepted.
std::string NatsDoor::State::accept(Request request) {
  const size_t bytes = request.text.size();
  {
    const std::lock_guard guard(mutex);
    if (has_ended) return "the server ends: send the request again";
    // A manifest is published on the subject of its requests.
    if (request.kind == Kind::kDiscovery && request.reply.empty()) return {};
    if (held >= options.config.most_waiting || held_bytes + bytes > kMostWaitingBytes) {
      return "too many requests wait: send it again later";
    }
    ++held;
    held_bytes += bytes;
    waiting.push_back(std::move(request));
  }
  changed.notify_one();
  return {};
}

void NatsDoor::State::settle(size_t bytes) {
  {
    const std::lock_guard guard(mutex);
    --held;
    held_bytes -= bytes;
    if (held > 0) return;
  }
  idle.notify_all();
}

void NatsDoor::State::work() {
  while (true) {
    Request request;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return has_ended || !waiting.empty(); });
      if (has_ended) break;
      request = std::move(waiting.front());
      waiting.pop_front();
    }
    handle(request);
  }
  nats_ReleaseThreadMemory();
}

void NatsDoor::State::handle(Request& request) {
  std::string text;
  try {
    if (request.kind == Kind::kCall || request.kind == Kind::kForwarded)
      return handle_call(request);
    text = request.kind == Kind::kHealth     ? runner->health(request.tool)
           : request.kind == Kind::kValidate ? runner->validate(request.tool, request.text)
                                             : runner->manifests();
  } catch (const std::exception& error) {
    text = unexpected(error);
  }
  settle(request.text.size());
  reply(request.reply, text);
}

std::string NatsDoor::State::unexpected(const std::exception& error) {
  log(std::string("a request ended with an exception: ") + error.what());
  return NachosRunner::bare_error("the request ended unexpectedly: the log of the server says why");
}

void NatsDoor::State::handle_call(Request& request) {
  const size_t bytes = request.text.size();
  auto parsed = runner->parse(request.tool, request.text);
  if (!parsed) {
    settle(bytes);
    return reply(request.reply, NachosRunner::bare_error(parsed.error().message));
  }
  const auto elsewhere = forwarded(*parsed, request);
  if (!elsewhere || *elsewhere) {
    settle(bytes);
    if (!elsewhere) reply(request.reply, runner->refusal(*parsed, elsewhere.error()));
    return;
  }
  const std::string session = parsed->session;
  std::optional<LaneCall> call = LaneCall{*std::move(parsed), std::move(request.reply), bytes};
  if (!enter_lane(*call)) return;
  while (call) {
    answer(*call);
    call = next_of_lane(session);
  }
}

/// Returns false if a call of the session runs: its worker also makes this one.
bool NatsDoor::State::enter_lane(LaneCall& call) {
  const std::lock_guard guard(mutex);
  const auto [lane, is_new] = lanes.try_emplace(call.call.session);
  if (!is_new) lane->second.push_back(std::move(call));
  return is_new;
}

auto NatsDoor::State::next_of_lane(const std::string& session) -> std::optional<LaneCall> {
  const std::lock_guard guard(mutex);
  const auto lane = lanes.find(session);
  if (lane->second.empty() || has_ended) {
    lanes.erase(lane);
    return std::nullopt;
  }
  LaneCall call = std::move(lane->second.front());
  lane->second.pop_front();
  return call;
}

void NatsDoor::State::answer(const LaneCall& call) {
  std::string text;
  try {
    text = runner->answer(call.call, stop.get_token());
    const auto most = static_cast<size_t>(natsConnection_GetMaxPayload(connection));
    if (text.size() > most) {
      text = runner->refusal(call.call, {ErrorKind::kQuota, "nats.answer_size",
                                         "the answer has " + std::to_string(text.size()) +
                                             " bytes, and the NATS server takes at most " +
                                             std::to_string(most) + ": ask for less",
                                         "", 0});
    }
    drop_lease_after(call.call);
  } catch (const std::exception& error) {
    text = unexpected(error);
  }
  settle(call.bytes);
  reply(call.reply, text);
}

// --- sessions of several processes ----------------------------------------------------------

bool NatsDoor::State::is_mine(const std::string& session) {
  const std::lock_guard guard(mutex);
  return mine.contains(session);
}

void NatsDoor::State::set_mine(const std::string& session, bool is_mine) {
  const std::lock_guard guard(mutex);
  if (mine.size() >= kMostRemembered) mine.clear();  // the leases are in JetStream
  if (is_mine) mine.insert(session);
  if (!is_mine) mine.erase(session);
}

/// Whether the process of this name has left the server. A process that is slow has not.
bool NatsDoor::State::is_gone(const std::string& holder) {
  natsMsg* pong = nullptr;
  const natsStatus status = natsConnection_Request(
      &pong, connection, holder_subject(holder, kPing).c_str(), nullptr, 0, kPingMs);
  natsMsg_Destroy(pong);
  return status == NATS_NO_RESPONDERS;
}

/// Returns true if another process holds the session and got the call. Takes the lease if the call
/// begins a transaction, or if its holder is gone.
Result<bool> NatsDoor::State::forwarded(const NachosCall& call, const Request& request) {
  const std::string& session = call.session;
  if (shared == nullptr || request.kind == Kind::kForwarded || is_mine(session)) return false;
  if (!NachosRunner::has_ids(call)) return false;  // which is refused
  const bool begins =
      call.tool == NachosRunner::kTransactionTool || options.config.commit == CommitRule::kSession;
  for (int look = 0; look < kMostLooks; ++look) {
    GALLEY_ASSIGN(const SharedRecord::Lease lease, shared->lease_of(session));
    if (lease.holder.empty() && !begins) return false;
    const bool is_own = lease.holder == shared->holder();
    if (!is_own && !lease.holder.empty() && !is_gone(lease.holder)) {
      const std::string subject = holder_subject(lease.holder, name_without_dots(call.tool));
      const natsStatus s = natsConnection_PublishRequest(
          connection, subject.c_str(), request.reply.empty() ? nullptr : request.reply.c_str(),
          request.text.data(), static_cast<int>(request.text.size()));
      if (s != NATS_OK) return connection_error("the call cannot be passed on", s);
      return true;
    }
    GALLEY_ASSIGN(const bool is_taken, is_own ? Result<bool>(true) : shared->take(session, lease));
    if (!is_taken) continue;  // another process was faster
    set_mine(session, true);
    return false;
  }
  return fail(ErrorKind::kIo, "nats.jetstream",
              "several processes take this session from each other: send the call again");
}

/// Gives the lease back when the transaction of the session has ended.
void NatsDoor::State::drop_lease_after(const NachosCall& call) {
  if (shared == nullptr || call.tool != NachosRunner::kTransactionTool) return;
  const auto goes_on = runner->has_transaction(call.session);
  if (!goes_on || *goes_on || !is_mine(call.session)) return;
  set_mine(call.session, false);
  if (const auto dropped = shared->drop(call.session); !dropped) log(dropped.error().message);
}

// --- the end --------------------------------------------------------------------------------

bool NatsDoor::State::is_idle_before(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex);
  return idle.wait_for(lock, time, [&] { return held == 0; });
}

void NatsDoor::State::drain() {
  const std::chrono::milliseconds time(options.config.drain_ms);
  for (const Subscription& one : subscriptions) {
    natsSubscription_DrainTimeout(one.handle, time.count());
  }
  for (const Subscription& one : subscriptions) {
    natsSubscription_WaitForDrainCompletion(one.handle, time.count());
  }
  if (!is_idle_before(time)) {
    stop.request_stop();
    is_idle_before(kStopTime);
  }
  end_workers();
  natsConnection_FlushTimeout(connection, kFlushMs);
}

NatsDoor::NatsDoor(std::unique_ptr<State> state) : state_(std::move(state)) {}
NatsDoor::~NatsDoor() = default;

Result<std::unique_ptr<NatsDoor>> NatsDoor::open(NachosRunner& runner, Options options) {
  const std::string& address = options.address;
  if (!address.starts_with("nats://") && !address.starts_with("tls://")) {
    return fail(ErrorKind::kUsage, "nats.address",
                "the address of a NATS server is nats://HOST:PORT or tls://HOST:PORT");
  }
  auto state = std::make_unique<State>();
  state->runner = &runner;
  state->options = std::move(options);
  GALLEY_TRY(state->connect());
  if (state->options.config.jetstream) {
    GALLEY_ASSIGN(state->shared, SharedRecord::open(state->connection, state->options.config.group,
                                                    random_hex(kHolderDigits)));
    runner.share_answers(state->shared.get());
  }
  for (uint32_t i = 0; i < state->options.config.calls_at_once; ++i) {
    state->workers.emplace_back([&door = *state] { door.work(); });
  }
  GALLEY_TRY(state->subscribe_all());
  return std::unique_ptr<NatsDoor>(new NatsDoor(std::move(state)));
}

Result<void> NatsDoor::serve(const std::function<bool()>& must_end) {
  while (!must_end()) {
    if (natsConnection_IsClosed(state_->connection)) {
      const char* text = nullptr;
      natsConnection_GetLastError(state_->connection, &text);
      return fail(ErrorKind::kIo, "nats.connection",
                  "the NATS server at " + shown_address(state_->options.address) +
                      " closed the connection: " + printable_line(text == nullptr ? "" : text));
    }
    poll(nullptr, 0, kLookEveryMs);  // a signal ends it early
  }
  state_->drain();
  return {};
}

std::string shown_address(const std::string& address) {
  const size_t scheme = address.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t secret = address.rfind('@');
  if (secret == std::string::npos || secret < begin) return printable_line(address);
  return printable_line(address.substr(0, begin) + address.substr(secret + 1));
}

}  // namespace galley
