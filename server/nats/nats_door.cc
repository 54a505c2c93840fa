#include "server/nats/nats_door.h"

#include <nats/nats.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/printable.h"
#include "server/nats/nats_connection.h"
#include "server/nats/shared_record.h"
#include "tools/shapes.h"

namespace galley {
namespace {

constexpr int64_t kFlushMs = 5'000;
constexpr int kLookEveryMs = 100;                     ///< how often serve() looks at must_end
constexpr auto kStopTime = std::chrono::seconds(10);  ///< of a call that was asked to stop
constexpr int kMostLooks = 8;  ///< how often a lease that another process took is looked up
constexpr size_t kMostRemembered = 10'000;  ///< sessions that this process holds
constexpr size_t kMostRead = 64;            ///< messages that were read and are not freed yet
constexpr size_t kMostReadBytes = size_t{256} << 10U;  ///< their payloads
constexpr const char* kEnds = "the server ends: send the request again";
constexpr std::string_view kToolSubjects = "nachos.tool.";

std::string manifests_subject() { return std::string(kToolSubjects) + "manifests"; }

/// Whether an answer may go to this subject, which the caller names. The rights of the server are
/// wider than the caller's, so it must not publish where the NATS server or Galley listens.
bool may_reply_to(std::string_view subject) {
  for (const std::string_view taken : {"$", "nachos.", "tool.", "galley."}) {
    if (subject.starts_with(taken)) return false;
  }
  const bool is_plain = std::none_of(subject.begin(), subject.end(), [](unsigned char c) {
    return c <= ' ' || c == 0x7F || c == '*' || c == '>';
  });
  return is_plain && ("." + std::string(subject) + ".").find("..") == std::string::npos;
}

/// The library tells no size of headers, which may be large.
bool has_headers(natsMsg* message) {
  const char** keys = nullptr;
  int count = 0;
  const bool is_any = natsMsgHeader_Keys(message, &keys, &count) == NATS_OK;
  std::free(keys);
  return is_any;
}

}  // namespace

struct NatsDoor::State {
  /// kForwarded: a call of a session that this process holds; kPing: whether this process lives.
  enum class Kind : uint8_t { kCall, kForwarded, kHealth, kValidate, kDiscovery, kPing };

  struct MessageDeleter {
    void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
  };
  using Message = std::unique_ptr<natsMsg, MessageDeleter>;

  struct Request {
    Kind kind = Kind::kCall;
    std::string tool;
    std::string text;
    std::string reply;
    NachosCall call = {};  ///< of kCall and kForwarded
    [[nodiscard]] bool is_call() const { return kind == Kind::kCall || kind == Kind::kForwarded; }
  };

  struct Worker {
    std::condition_variable woken;  ///< it was taken off `idle_workers`, or `has_ended`
    std::jthread thread;
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
  std::condition_variable idle;  ///< no request is held
  std::deque<Request> waiting;
  /// By the sessions of which a call waits or runs: their further calls, as they arrived.
  std::map<std::string, std::deque<Request>> lanes;
  size_t held = 0;  ///< requests that are not answered
  size_t held_bytes = 0;
  std::set<std::string> mine;  ///< the sessions that this process holds, until a reconnection
  bool has_ended = false;
  std::vector<Message> read;  ///< to be freed
  size_t read_bytes = 0;      ///< the payloads of `read`
  std::stop_source stop;
  std::vector<Worker*> idle_workers;  ///< the last one is woken first: its caches are warm
  std::deque<Worker> workers;

  ~State();
  void log(const std::string& line) { options.log(printable_line(line)); }
  Result<void> connect();
  Result<void> subscribe(Kind kind, const std::string& subject, const std::string& tool);
  Result<void> subscribe_all();
  void take(const Subscription& subscription, const Message& message);
  void drop(Message message);
  std::string accept(Request request);
  void work(Worker& self);
  Worker* next_idle();
  void handle(const Request& request);
  std::string answer(const Request& request);
  bool is_mine(const std::string& session);
  void set_mine(const std::string& session, bool is_mine);
  Result<bool> forwarded(const Request& request);
  void drop_lease_after(const NachosCall& call);
  void refuse_queued();
  void end_workers();
  bool enter(Request& request);
  void leave_lane(const std::string& session);
  void settle(const Request& request);
  void reply(const std::string& subject, const std::string& text);
  bool is_idle_before(std::chrono::milliseconds time);
  void drain();
};

// --- connection -----------------------------------------------------------------------------

/// From now on no request begins. Those that wait are answered.
void NatsDoor::State::refuse_queued() {
  std::deque<Request> left;
  {
    const std::lock_guard guard(mutex);
    has_ended = true;
    left.swap(waiting);
    for (auto& [session, lane] : lanes) {
      std::move(lane.begin(), lane.end(), std::back_inserter(left));
      lane.clear();
    }
    idle_workers.clear();
    for (Worker& worker : workers) worker.woken.notify_one();
  }
  const std::string text = NachosRunner::bare_error(kEnds);
  for (const Request& request : left) {
    settle(request);
    reply(request.reply, text);
  }
}

void NatsDoor::State::end_workers() {
  refuse_queued();
  for (Worker& worker : workers) {
    if (worker.thread.joinable()) worker.thread.join();
  }
}

NatsDoor::State::~State() {
  stop.request_stop();
  end_workers();
  if (connection == nullptr) return;
  natsConnection_Close(connection);
  shared.reset();
  {
    const std::lock_guard guard(mutex);
    read.clear();
  }
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
  const natsStatus status = open_connection(&connection, made.get(), options.config);
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
          Message taken(message);
          subscription->door->take(*subscription, taken);
          subscription->door->drop(std::move(taken));
        } catch (const std::exception& error) {  // the library is C
          subscription->door->log(std::string("a request is lost: ") + error.what());
        }
      },
      &one);
  if (status == NATS_OK) return {};
  return fail(connection_error("no subscription to " + subject, status));
}

Result<void> NatsDoor::State::subscribe_all() {
  GALLEY_ASSIGN(const auto tools, runner->subjects());
  for (const auto& [token, tool] : tools) {
    const std::string subject = std::string(kToolSubjects) + token;
    GALLEY_TRY(subscribe(Kind::kCall, subject + ".request", tool));
    GALLEY_TRY(subscribe(Kind::kCall, "tool." + token + ".request", tool));
    GALLEY_TRY(subscribe(Kind::kHealth, subject + ".health", tool));
    GALLEY_TRY(subscribe(Kind::kValidate, subject + ".validate", tool));
    if (shared == nullptr) continue;
    GALLEY_TRY(
        subscribe(Kind::kForwarded, SharedRecord::subject_of(shared->holder(), token), tool));
  }
  if (shared != nullptr) {
    GALLEY_TRY(subscribe(Kind::kPing,
                         SharedRecord::subject_of(shared->holder(), SharedRecord::kPing), ""));
  }
  GALLEY_TRY(subscribe(Kind::kDiscovery, manifests_subject(), ""));
  reply(manifests_subject(), runner->manifests());
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
void NatsDoor::State::take(const Subscription& subscription, const Message& message) {
  const char* given = natsMsg_GetReply(message.get());
  const std::string to = given == nullptr ? "" : given;
  if (given != nullptr && !may_reply_to(to)) {
    log("a request is dropped: no answer may go to " + to);
    return;
  }
  if (subscription.kind == Kind::kPing) return reply(to, "");
  const auto size = static_cast<size_t>(natsMsg_GetDataLength(message.get()));
  std::string problem;
  if (size > options.config.most_request_bytes) {
    problem = "the request has " + std::to_string(size) + " bytes, and the limit is " +
              std::to_string(options.config.most_request_bytes);
  } else {
    problem = accept({subscription.kind, subscription.tool,
                      std::string(natsMsg_GetData(message.get()), size), to});
  }
  if (!problem.empty()) reply(to, NachosRunner::bare_error(problem));
}

/// Frees a message later, together with others. The library frees messages on a thread of its own,
/// and wakes it for the first one.
void NatsDoor::State::drop(Message message) {
  std::vector<Message> freed;
  const std::lock_guard guard(mutex);
  read_bytes += has_headers(message.get())
                    ? kMostReadBytes
                    : static_cast<size_t>(natsMsg_GetDataLength(message.get()));
  read.push_back(std::move(message));
  if (!has_ended && read.size() < kMostRead && read_bytes < kMostReadBytes) return;
  freed.swap(read);
  read_bytes = 0;
}

/// Returns why a request is not accepted.
std::string NatsDoor::State::accept(Request request) {
  {
    const std::lock_guard guard(mutex);
    if (has_ended) return kEnds;
    // A manifest is published on the subject of its requests.
    if (request.kind == Kind::kDiscovery && request.reply.empty()) return {};
    if (held >= options.config.most_waiting ||
        held_bytes + request.text.size() > kMostWaitingBytes) {
      return "too many requests wait: send it again later";
    }
    ++held;
    held_bytes += request.text.size();
  }
  std::string problem;
  if (request.is_call()) {
    auto parsed = runner->parse(request.tool, request.text);
    if (parsed) request.call = *std::move(parsed);
    if (!parsed) problem = parsed.error().message;
  }
  if (problem.empty() && !enter(request)) problem = kEnds;
  if (!problem.empty()) settle(request);
  return problem;
}

/// Gives a request to the workers, a call after the earlier ones of its session. One thread
/// delivers all messages, so calls come here as they arrived.
bool NatsDoor::State::enter(Request& request) {
  std::unique_lock lock(mutex);
  if (has_ended) return false;
  if (request.is_call()) {
    const auto [lane, is_new] = lanes.try_emplace(request.call.session);
    if (!is_new) {
      lane->second.push_back(std::move(request));
      return true;
    }
  }
  waiting.push_back(std::move(request));
  Worker* const idle_worker = next_idle();
  lock.unlock();
  if (idle_worker != nullptr) idle_worker->woken.notify_one();
  return true;
}

/// Lets the next call of a session wait for a worker. It wakes none: the caller is a worker that
/// takes a request now.
void NatsDoor::State::leave_lane(const std::string& session) {
  const std::lock_guard guard(mutex);
  const auto lane = lanes.find(session);
  if (lane->second.empty()) {
    lanes.erase(lane);
    return;
  }
  waiting.push_back(std::move(lane->second.front()));
  lane->second.pop_front();
}

void NatsDoor::State::settle(const Request& request) {
  {
    const std::lock_guard guard(mutex);
    --held;
    held_bytes -= request.text.size();
    if (held > 0) return;
  }
  idle.notify_all();
}

/// Returns the worker that has waited the shortest time; null if all work. The caller must hold the
/// mutex, and wake the worker after it let go of it, or the worker waits again, for the mutex.
NatsDoor::State::Worker* NatsDoor::State::next_idle() {
  if (idle_workers.empty()) return nullptr;
  Worker* const worker = idle_workers.back();
  idle_workers.pop_back();
  return worker;
}

void NatsDoor::State::work(Worker& self) {
  while (true) {
    Request request;
    {
      std::unique_lock lock(mutex);
      while (!has_ended && waiting.empty()) {
        idle_workers.push_back(&self);
        self.woken.wait(lock);
        std::erase(idle_workers, &self);  // if nothing woke it
      }
      if (has_ended) break;
      request = std::move(waiting.front());
      waiting.pop_front();
    }
    handle(request);
    if (request.is_call()) leave_lane(request.call.session);
  }
  nats_ReleaseThreadMemory();
}

void NatsDoor::State::handle(const Request& request) {
  std::string text;
  try {
    text = request.is_call()                 ? answer(request)
           : request.kind == Kind::kHealth   ? runner->health(request.tool)
           : request.kind == Kind::kValidate ? runner->validate(request.tool, request.text)
                                             : runner->manifests();
  } catch (const std::exception& error) {
    log(std::string("a request ended with an exception: ") + error.what());
    text =
        NachosRunner::bare_error("the request ended unexpectedly: the log of the server says why");
  }
  settle(request);
  if (!text.empty()) reply(request.reply, text);
}

/// Makes a call. Returns no text if another process answers it.
std::string NatsDoor::State::answer(const Request& request) {
  const NachosCall& call = request.call;
  const auto elsewhere = forwarded(request);
  if (!elsewhere) return runner->refusal(call, elsewhere.error());
  if (*elsewhere) return {};
  std::string text = runner->answer(call, stop.get_token());
  const auto most = static_cast<size_t>(natsConnection_GetMaxPayload(connection));
  if (text.size() > most) {
    text = runner->refusal(call, {ErrorKind::kQuota, "nats.answer_size",
                                  "the answer has " + std::to_string(text.size()) +
                                      " bytes, and the NATS server takes at most " +
                                      std::to_string(most) + ": ask for less",
                                  "", 0});
  }
  drop_lease_after(call);
  return text;
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

/// Returns true if another process holds the session and got the call. Takes the lease if the call
/// begins a transaction, or if its holder is gone.
Result<bool> NatsDoor::State::forwarded(const Request& request) {
  const NachosCall& call = request.call;
  const std::string& session = call.session;
  if (shared == nullptr || request.kind == Kind::kForwarded || is_mine(session)) return false;
  if (!NachosRunner::has_ids(call)) return false;  // which is refused
  const bool begins =
      call.tool == NachosRunner::kTransactionTool || options.config.commit == CommitRule::kSession;
  for (int look = 0; look < kMostLooks; ++look) {
    GALLEY_ASSIGN(const SharedRecord::Lease lease, shared->lease_of(session));
    if (lease.holder.empty() && !begins) return false;
    const bool is_own = lease.holder == shared->holder();
    if (!is_own && !lease.holder.empty() && !shared->is_gone(lease.holder)) {
      const std::string subject =
          SharedRecord::subject_of(lease.holder, name_without_dots(call.tool));
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
    refuse_queued();
    stop.request_stop();
    is_idle_before(kStopTime);
  }
  end_workers();
  natsConnection_FlushTimeout(connection, kFlushMs);
}

NatsDoor::NatsDoor(std::unique_ptr<State> state) : state_(std::move(state)) {}
NatsDoor::~NatsDoor() = default;

Result<std::unique_ptr<NatsDoor>> NatsDoor::open(NachosRunner& runner, Options options) {
  auto state = std::make_unique<State>();
  state->runner = &runner;
  state->options = std::move(options);
  GALLEY_TRY(state->connect());
  if (state->options.config.jetstream) {
    GALLEY_ASSIGN(state->shared, SharedRecord::open(state->connection, state->options.config.group,
                                                    random_hex(SharedRecord::kHolderDigits),
                                                    state->options.config.calls_at_once));
    runner.share_answers(state->shared.get());
  }
  for (uint32_t i = 0; i < state->options.config.calls_at_once; ++i) {
    State::Worker& worker = state->workers.emplace_back();
    worker.thread = std::jthread([&door = *state, &worker] { door.work(worker); });
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

}  // namespace galley
