#include "server/nats/job_queue.h"

#include <nats/nats.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/hash.h"
#include "base/text.h"
#include "server/nats/job_book.h"
#include "server/nats/nats_connection.h"
#include "server/telemetry/telemetry.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kSameJobNs = 3'600 * kNsOfSecond;  ///< a job sent again is recognised
constexpr int64_t kAckWaitNs = 30 * kNsOfSecond;  ///< then the job of a silent worker is given on
/// Then the server removes an unused consumer of an unusual subject: there may be any number.
constexpr int64_t kUnusualLastsNs = 24 * 3'600 * kNsOfSecond;
constexpr int64_t kNsOfMs = 1'000'000;
constexpr milliseconds kTryEvery{1'000};    ///< after an error of JetStream
constexpr milliseconds kBeatEvery{10'000};  ///< "in progress", well within kAckWaitNs
constexpr milliseconds kLookEvery{100};     ///< for the end of a running job
constexpr milliseconds kLeastIdle{100};     ///< before the next look for a job, then doubled
constexpr milliseconds kMostIdle{1'000};
constexpr int64_t kAnswerMs = 5'000;  ///< JetStream answers at once
constexpr int64_t kMostDelayMs = 600'000;
constexpr int kMessageBytes = static_cast<int>(Job::kMostBytes) + 4'096;  // and headers
constexpr uint64_t kMostDoubled = 10;  ///< of a delay: 2^10 seconds are more than kMostDelayMs
constexpr const char* kStream = "GALLEY_JOBS";
constexpr const char* kDeadStream = "GALLEY_DEAD";
constexpr const char* kAuditStream = "GALLEY_AUDIT";
constexpr int64_t kNoLimit = -1;
constexpr int64_t kMostDead = 100'000;
constexpr int64_t kMostKeptBytes = int64_t{1} << 30U;  ///< of the letters, and of the records
constexpr std::string_view kSessionPrefix = "job-";    ///< Job::session()
constexpr std::array kOrder = {Job::Priority::kHigh, Job::Priority::kNormal, Job::Priority::kLow};
constexpr std::string_view kJobs = "galley.jobs.";
constexpr size_t kSlots = 64;      ///< of a priority
constexpr int kMostMessages = 16;  ///< of a job whose earlier messages were removed from the queue

/// Repositories take turns by their slots, a part of their hash. With one queue for each, the
/// number of queues would have no limit.
std::string subject_of(const Job& job) {
  constexpr size_t kDigits = 4;
  const std::string hash = ContentId::of(job.repository).hex().substr(0, kDigits);
  const auto slot = std::strtoul(hash.c_str(), nullptr, 16) % kSlots;
  return std::string(kJobs) + std::string(word_of(job.priority)) + "." + std::to_string(slot);
}

/// Adds a stream of one subject. An administrator may have made it before, with other limits.
natsStatus add_stream(jsCtx* context, const char* name, const char* subject,
                      const std::function<void(jsStreamConfig&)>& set_limits) {
  jsStreamConfig stream;
  jsStreamConfig_Init(&stream);
  stream.Name = name;
  stream.Subjects = &subject;
  stream.SubjectsLen = 1;
  stream.Duplicates = kSameJobNs;
  set_limits(stream);
  jsErrCode code{};
  const natsStatus status = js_AddStream(nullptr, context, &stream, nullptr, &code);
  return code == JSStreamNameExistErr ? NATS_OK : status;
}

natsStatus add_job_stream(jsCtx* context) {
  return add_stream(context, kStream, "galley.jobs.>", [](jsStreamConfig& stream) {
    stream.Retention = js_WorkQueuePolicy;
    stream.Discard = js_DiscardNew;
    stream.MaxMsgs = JobQueue::kMostWaiting;
    stream.MaxMsgSize = kMessageBytes;
  });
}

/// The letters of dead jobs, or the audit records. The oldest make room for new ones.
natsStatus add_kept_stream(jsCtx* context, const char* name, const char* subject, int64_t most) {
  return add_stream(context, name, subject, [most](jsStreamConfig& stream) {
    stream.MaxMsgs = most;
    stream.MaxBytes = kMostKeptBytes;
    stream.MaxAge = std::chrono::nanoseconds(JobReceipt::kKept).count();
  });
}

/// The id of the message by which a dead job is submitted again.
std::string again_id(const std::string& id, uint64_t dead_revision) {
  return id + "." + std::to_string(dead_revision);
}

std::string text_of_message(natsMsg* message) {
  return {natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))};
}

/// A message of the work queue. Its reply subject takes acknowledgements and tells about the
/// delivery, as NATS' ADR-15 defines:
/// `$JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.TIMES.SEQUENCE.DELIVERED.NS.PENDING[.RANDOM]`.
class Delivery {
 public:
  Delivery(natsConnection* connection, natsMsg* message)
      : connection_(connection), message_(message) {}
  ~Delivery() { natsMsg_Destroy(message_); }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  [[nodiscard]] std::string text() const { return text_of_message(message_); }
  /// How often the message was delivered, and when it was sent. An unknown time is 0.
  struct About {
    uint64_t times = 1;
    int64_t sent_s = 0;
  };
  [[nodiscard]] About about() const {
    constexpr size_t kFewestWords = 9;
    constexpr size_t kBeforeTimes = 4;
    constexpr size_t kFromTimesToNs = 3;
    constexpr size_t kOfDomain = 2;
    const std::string_view subject = natsMsg_GetReply(message_);
    std::vector<std::string_view> words;
    for (const auto word : std::views::split(subject, '.'))
      words.emplace_back(word.begin(), word.end());
    if (words.size() < kFewestWords) return {};
    const size_t at = kBeforeTimes + (words.size() == kFewestWords ? 0 : kOfDomain);
    const auto sent_ns = number_of<int64_t>(words.at(at + kFromTimesToNs));
    return {number_of<uint64_t>(words.at(at)).value_or(1), sent_ns.value_or(0) / kNsOfSecond};
  }
  /// The id that the sender gave; empty: none.
  [[nodiscard]] std::string id() const {
    const char* id = nullptr;
    return natsMsgHeader_Get(message_, "Nats-Msg-Id", &id) == NATS_OK ? id : "";
  }
  natsStatus acknowledge() {
    natsMsg* answer = nullptr;
    const natsStatus s = natsConnection_RequestString(
        &answer, connection_, natsMsg_GetReply(message_), "+ACK", kAnswerMs);
    natsMsg_Destroy(answer);
    return s;
  }
  void keep() { say("+WPI"); }
  void give_back(int64_t delay_ms) {
    say("-NAK {\"delay\":" + std::to_string(delay_ms * kNsOfMs) + "}");
  }

 private:
  void say(const std::string& word) {
    natsConnection_PublishString(connection_, natsMsg_GetReply(message_), word.c_str());
  }

  natsConnection* connection_;
  natsMsg* message_;
};

/// Tells the server that a job is in progress, and asks the job to stop when the worker must end.
class Attendance {
 public:
  Attendance(Delivery& delivery, const std::function<bool()>& must_end, milliseconds drain)
      : thread_([this, &delivery, &must_end, drain] { attend(delivery, must_end, drain); }) {}
  ~Attendance() {
    {
      const std::lock_guard guard(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
  }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  void attend(Delivery& delivery, const std::function<bool()>& must_end, milliseconds drain) {
    using clock = std::chrono::steady_clock;
    auto last_beat = clock::now();
    std::optional<clock::time_point> end;
    std::unique_lock lock(mutex_);
    while (!over_.wait_for(lock, kLookEvery, [&] { return is_over_; })) {
      const auto now = clock::now();
      if (now - last_beat >= kBeatEvery) {
        delivery.keep();
        last_beat = now;
      }
      if (!end && must_end()) end = now + drain;
      if (end && now >= *end) stop_.request_stop();
    }
    nats_ReleaseThreadMemory();
  }

  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::jthread thread_;
};

/// Tells an idle worker of a new job. Each job rings one bell. It does not ring for a job that
/// comes back, and not if the user may not subscribe to the jobs.
class Bell {
 public:
  explicit Bell(natsConnection* connection) {
    natsConnection_QueueSubscribeSync(&subscription_, connection, "galley.jobs.>", "idle-workers");
  }
  ~Bell() { natsSubscription_Destroy(subscription_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  /// Returns early, and true, if it rings.
  bool wait(milliseconds most, const std::function<bool()>& must_end) {
    for (; most.count() > 0 && !must_end(); most -= kLookEvery) {
      natsMsg* message = nullptr;
      const natsStatus s =
          natsSubscription_NextMsg(&message, subscription_, std::min(most, kLookEvery).count());
      natsMsg_Destroy(message);
      if (s == NATS_OK) return true;
      if (s != NATS_TIMEOUT) poll(nullptr, 0, static_cast<int>(kLookEvery.count()));
    }
    return false;
  }

 private:
  natsSubscription* subscription_ = nullptr;
};

}  // namespace

struct JobQueue::State {
  NatsConfig config;
  natsConnection* connection = nullptr;
  jsCtx* context = nullptr;
  std::optional<JobBook> book;
  Telemetry* telemetry = nullptr;
  std::set<std::string> consumers;                    ///< the names of those that exist
  std::array<std::string, kOrder.size() + 1> served;  ///< the subject of the last job

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    book.reset();
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
    nats_CloseAndWait(0);
  }

  Result<void> connect(const std::string& address);
  Result<void> open_queue();
  Result<void> open_streams() const;
  Result<std::vector<std::string>> subjects_with_jobs() const;
  Result<void> open_consumer(const std::string& subject, const std::string& name);
  Result<std::unique_ptr<Delivery>> next(const std::string& subject);
  Result<std::unique_ptr<Delivery>> next();
  /// What the tries of a delivery have in common.
  struct Attempt {
    JobWorker& worker;
    std::stop_token stop;
  };
  Result<JobReceipt> attempt(const Job& job, const JobBook::Entry& claim, JobReceipt dead,
                             Attempt how) const;
  std::optional<JobReceipt> given_up(const Job& job, const JobBook::Entry& claim, JobReceipt dead,
                                     const Error& met, Attempt how) const;
  Result<void> handle(Delivery& delivery, JobWorker& worker, const std::function<bool()>& must_end,
                      const std::function<void(const std::string&)>& log) const;
  Result<void> settle(Delivery& delivery, const JobReceipt& receipt, uint64_t claim) const;
  natsStatus publish(const std::string& subject, const std::string& text,
                     const std::string& message_id) const;
  Result<void> publish_record(std::string_view record, const std::string& id) const;
  Result<void> finish(Delivery& delivery, const std::string& id, const JobBook::Entry& ended) const;
};

JobQueue::JobQueue(std::unique_ptr<State> state) : state_(std::move(state)) {}
JobQueue::~JobQueue() = default;

Result<void> JobQueue::State::connect(const std::string& address) {
  GALLEY_ASSIGN(const NatsOptions options, connection_options(address, config));
  natsStatus s = open_connection(&connection, options.get(), config);
  if (s != NATS_OK) {
    return fail(
        connection_error("no connection to the NATS server at " + shown_address(address), s));
  }
  s = natsConnection_JetStream(&context, connection, nullptr);
  if (s != NATS_OK) return fail(jetstream_error("the queue of jobs cannot be opened", s));
  return open_queue();
}

/// Makes the queue and the bucket of receipts, if they do not exist.
Result<void> JobQueue::State::open_queue() {
  const natsStatus s = add_job_stream(context);
  if (s != NATS_OK) return fail(jetstream_error("the queue of jobs cannot be opened", s));
  GALLEY_ASSIGN(book, JobBook::open(context));
  return {};
}

Result<std::unique_ptr<JobQueue>> JobQueue::open(const std::string& address,
                                                 const NatsConfig& config) {
  auto state = std::make_unique<State>();
  state->config = config;
  GALLEY_TRY(state->connect(address));
  return std::unique_ptr<JobQueue>(new JobQueue(std::move(state)));
}

// --- for those who send jobs ----------------------------------------------------------------

Result<JobQueue::Submitted> JobQueue::submit(std::string_view text) {
  GALLEY_ASSIGN(const Job job, parse_job(text));
  GALLEY_ASSIGN(const JobBook::Entry known, find(job.id));
  GALLEY_TRY(JobBook::check_same(job.id, job.digest, known.job));
  const bool is_dead = !known.receipt.empty() && known.outcome == JobReceipt::Outcome::kDead;
  const Submitted submitted = {job.id, job.digest, is_dead ? known.revision : 0};
  if (!known.receipt.empty() && !is_dead) return submitted;
  std::string message_id = is_dead ? again_id(job.id, known.revision) : job.id;
  jsErrCode code{};
  natsStatus s = NATS_OK;
  for (int made = 0; s == NATS_OK && made < kMostMessages; ++made) {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MsgId = message_id.c_str();
    jsPubAck* answer = nullptr;
    s = js_Publish(&answer, state_->context, subject_of(job).c_str(), text.data(),
                   static_cast<int>(text.size()), &options, &code);
    if (s != NATS_OK) break;
    const bool is_duplicate = answer->Duplicate;
    const uint64_t sequence = answer->Sequence;
    jsPubAck_Destroy(answer);
    if (!is_duplicate) return submitted;
    GALLEY_ASSIGN(const bool is_there, has_job(submitted, sequence));
    if (is_there) return submitted;
    message_id = again_id(job.id, sequence);
  }
  if (s == NATS_OK) {
    return fail(ErrorKind::kIo, "nats.jetstream",
                "messages of this job were removed from the queue too often: give it another id");
  }
  Error error = jetstream_error("the job is not in the queue", s);
  // The code also stands for a full disk and for files that were removed. Only the words of the
  // server, "maximum messages exceeded" or "maximum bytes exceeded", tell of a full queue.
  if (code == JSStreamStoreFailedErr && error.message.ends_with(" exceeded")) {
    error = jetstream_error("the queue takes no more jobs now", s);
    error.kind = ErrorKind::kQuota;
    error.reason = "limit.jobs";
  }
  return fail(error);
}

/// Checks that the message of this sequence, which has the job's id, is the same job. Returns false
/// if it was removed before a worker took it, as `nats stream purge` does.
Result<bool> JobQueue::has_job(const Submitted& job, uint64_t sequence) {
  natsMsg* message = nullptr;
  const natsStatus s = js_GetMsg(&message, state_->context, kStream, sequence, nullptr, nullptr);
  if (s == NATS_NOT_FOUND) {
    GALLEY_ASSIGN(const JobBook::Entry known, find(job.id));
    GALLEY_TRY(JobBook::check_same(job.id, job.digest, known.job));
    return !known.receipt.empty() && known.revision != job.dead;
  }
  if (s != NATS_OK) return fail(jetstream_error("the earlier job of this id cannot be read", s));
  const auto earlier = parse_job(text_of_message(message));
  natsMsg_Destroy(message);
  GALLEY_TRY(JobBook::check_same(job.id, job.digest, earlier ? earlier->digest : std::string()));
  return true;
}

bool JobQueue::is_closed() const { return natsConnection_IsClosed(state_->connection); }

Result<JobBook::Entry> JobQueue::find(const std::string& id) { return state_->book->find(id); }

Result<std::vector<std::string>> JobQueue::receipts() { return state_->book->receipts(kMostShown); }

Result<uint64_t> JobQueue::waiting() {
  jsStreamInfo* about = nullptr;
  const natsStatus s = js_GetStreamInfo(&about, state_->context, kStream, nullptr, nullptr);
  if (s != NATS_OK) return fail(jetstream_error("the queue cannot be read", s));
  const uint64_t count = about->State.Msgs;
  jsStreamInfo_Destroy(about);
  return count;
}

/// The whole text of a header of NATS: `NATS/1.0\r\nNAME: VALUE\r\n…`.
bool has_message_id(std::string_view headers, const std::string& id) {
  const std::string line = "Nats-Msg-Id: " + id;
  const size_t at = headers.find(line);
  if (at == headers.npos) return false;
  const std::string_view rest = headers.substr(at + line.size());
  return rest.starts_with('\r') || rest.starts_with('.');  // or of a job that was submitted again
}

Result<bool> JobQueue::is_waiting(const std::string& id) {
  const std::string subject = "$JS.API.STREAM.MSG.GET." + std::string(kStream);
  uint64_t sequence = 0;
  for (size_t looked = 0; looked < kMostShown; ++looked) {
    const std::string request =
        nlohmann::json{{"seq", sequence + 1}, {"next_by_subj", "galley.jobs.>"}}.dump();
    natsMsg* message = nullptr;
    const natsStatus s = natsConnection_RequestString(&message, state_->connection, subject.c_str(),
                                                      request.c_str(), kAnswerMs);
    if (s != NATS_OK) return fail(jetstream_error("the queue cannot be read", s));
    const std::string text = text_of_message(message);
    natsMsg_Destroy(message);
    const auto answer = nlohmann::json::parse(text, nullptr, false);
    if (!answer.is_object() || !answer.contains("message")) return false;
    const nlohmann::json& found = answer["message"];
    std::string headers;
    std::string body;
    if (from_base64(text_member(found, "hdrs"), headers) && has_message_id(headers, id))
      return true;
    if (headers.empty() && from_base64(text_member(found, "data"), body)) {
      const auto job = parse_job(body);
      if (job && job->id == id) return true;
    }
    sequence = found.value("seq", sequence + 1);
  }
  return true;  // perhaps
}

// --- for workers ----------------------------------------------------------------------------

Result<void> JobQueue::State::open_streams() const {
  natsStatus s = add_kept_stream(context, kDeadStream, "galley.dead.*", kMostDead);
  if (s == NATS_OK) s = add_kept_stream(context, kAuditStream, "galley.audit.*", kNoLimit);
  if (s == NATS_OK) return {};
  return fail(jetstream_error("the streams of dead jobs and of records cannot be opened", s));
}

/// Whether a subject is one of submit(). Clients of NATS may use others below `galley.jobs`.
bool is_usual(std::string_view subject) {
  subject.remove_prefix(kJobs.size());
  const std::string_view slot = subject.substr(subject.find('.') + 1);
  const auto number = number_of<size_t>(slot);
  if (!number || *number >= kSlots || std::to_string(*number) != slot) return false;
  return std::ranges::any_of(kOrder, [&](Job::Priority priority) {
    return subject.substr(0, subject.size() - slot.size()) == std::string(word_of(priority)) + ".";
  });
}

/// The subjects that have jobs, also of other workers, sorted.
Result<std::vector<std::string>> JobQueue::State::subjects_with_jobs() const {
  jsOptions options;
  jsOptions_Init(&options);
  options.Stream.Info.SubjectsFilter = "galley.jobs.>";
  jsStreamInfo* about = nullptr;
  const natsStatus s = js_GetStreamInfo(&about, context, kStream, &options, nullptr);
  if (s != NATS_OK) return fail(jetstream_error("the queue cannot be read", s));
  std::vector<std::string> subjects;
  const jsStreamStateSubjects* found = about->State.Subjects;
  for (int i = 0; found != nullptr && i < found->Count; ++i) {
    subjects.emplace_back(found->List[i].Subject);
  }
  jsStreamInfo_Destroy(about);
  std::ranges::sort(subjects);
  return subjects;
}

/// Makes the consumer that all workers share for a subject, or changes one that exists.
Result<void> JobQueue::State::open_consumer(const std::string& subject, const std::string& name) {
  if (consumers.contains(name)) return {};
  jsConsumerConfig consumer;
  jsConsumerConfig_Init(&consumer);
  consumer.Durable = name.c_str();
  consumer.FilterSubject = subject.c_str();
  consumer.AckPolicy = js_AckExplicit;
  consumer.AckWait = kAckWaitNs;
  if (!is_usual(subject)) consumer.InactiveThreshold = kUnusualLastsNs;
  const natsStatus s = js_AddConsumer(nullptr, context, kStream, &consumer, nullptr, nullptr);
  if (s != NATS_OK) return fail(jetstream_error("no jobs can be taken", s));
  consumers.insert(name);
  return {};
}

/// A job of one subject; null: all are being performed. It asks once and waits for the answer. The
/// library's fetch that does not wait returns before the answer and keeps the job that comes then:
/// a worker would hold jobs that it does not perform, and take one of a lower priority first.
Result<std::unique_ptr<Delivery>> JobQueue::State::next(const std::string& subject) {
  std::string name = "workers-" + (is_usual(subject) ? subject.substr(kJobs.size())
                                                     : ContentId::of(subject).hex());
  std::ranges::replace(name, '.', '-');
  GALLEY_TRY(open_consumer(subject, name));
  const std::string request = "$JS.API.CONSUMER.MSG.NEXT." + std::string(kStream) + "." + name;
  natsMsg* message = nullptr;
  const natsStatus s = natsConnection_RequestString(&message, connection, request.c_str(),
                                                    R"({"batch":1,"no_wait":true})", kAnswerMs);
  if (s != NATS_OK) {
    consumers.erase(name);  // perhaps it was removed
    return fail(jetstream_error("no jobs can be taken", s));
  }
  auto delivery = std::make_unique<Delivery>(connection, message);
  // JetStream's status has no reply subject. Its header `Status` may be in a job, too.
  if (natsMsg_GetReply(message) == nullptr) return nullptr;
  return delivery;
}

/// The next job of the highest priority, of the slot after that of the last job; null: there is
/// none. Messages of unusual subjects come last. A subject that gives an error holds up no other.
/// The look ends early if JetStream lets it wait for two answers.
Result<std::unique_ptr<Delivery>> JobQueue::State::next() {
  const auto end = std::chrono::steady_clock::now() + milliseconds(2 * kAnswerMs);
  GALLEY_ASSIGN(const auto all, subjects_with_jobs());
  Result<std::unique_ptr<Delivery>> none = nullptr;
  for (size_t i = 0; i <= kOrder.size(); ++i) {
    const bool is_odd = i == kOrder.size();
    const std::string start =
        std::string(kJobs) + (is_odd ? std::string() : std::string(word_of(kOrder.at(i))) + ".");
    std::vector<std::string> some;
    std::ranges::copy_if(all, std::back_inserter(some), [&](const auto& subject) {
      return subject.starts_with(start) && is_usual(subject) != is_odd;
    });
    std::ranges::rotate(some, std::ranges::upper_bound(some, served.at(i)));
    for (const std::string& subject : some) {
      auto delivery = next(subject);
      if (!delivery) none = fail(delivery.error());
      if (!delivery && std::chrono::steady_clock::now() >= end) return none;
      if (!delivery || *delivery == nullptr) continue;
      served.at(i) = subject;
      return delivery;
    }
  }
  return none;
}

/// A dead job and its receipt, for people. A text that is not JSON becomes a string.
std::string letter_of(const std::string& job, const std::string& receipt) {
  JsonLimits limits;
  limits.max_bytes = Job::kMostBytes;
  const auto document = parse_json(job, limits);
  nlohmann::json letter = {{"job", document ? *document : nlohmann::json(job)},
                           {"receipt", nlohmann::json::parse(receipt, nullptr, false)}};
  return json_text(letter);
}

/// Publishes a text that a stream keeps. A text of the same id is kept once.
natsStatus JobQueue::State::publish(const std::string& subject, const std::string& text,
                                    const std::string& message_id) const {
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MsgId = message_id.c_str();
  const auto put = [&] {
    return js_Publish(nullptr, context, subject.c_str(), text.data(), static_cast<int>(text.size()),
                      &options, nullptr);
  };
  const natsStatus s = put();
  return s == NATS_NO_RESPONDERS && open_streams() ? put() : s;  // the stream was deleted
}

/// Publishes one line of an audit log, or one of the same form.
Result<void> JobQueue::State::publish_record(std::string_view record, const std::string& id) const {
  const auto document = parse_json(record);
  std::string hash;
  if (document && document->is_object()) hash = text_member(*document, "hash");
  if (hash.empty()) hash = ContentId::of(record).hex();
  const natsStatus s = publish("galley.audit." + id, std::string(record), hash);
  if (s != NATS_OK) return fail(jetstream_error("an audit record cannot be published", s));
  return {};
}

/// Publishes the receipt, and the letter of a dead job. Then it acknowledges the job.
Result<void> JobQueue::State::finish(Delivery& delivery, const std::string& id,
                                     const JobBook::Entry& ended) const {
  if (!ended.receipt.empty()) {
    const nlohmann::ordered_json record = {
        {"kind", "job"}, {"receipt", nlohmann::ordered_json::parse(ended.receipt, nullptr, false)}};
    GALLEY_TRY(publish_record(json_text(record), id));
  }
  if (!ended.receipt.empty() && ended.outcome == JobReceipt::Outcome::kDead) {
    const std::string subject = "galley.dead." + id;
    const std::string message_id = again_id(id, ended.revision);
    natsStatus s = publish(subject, letter_of(delivery.text(), ended.receipt), message_id);
    if (s == NATS_MAX_PAYLOAD) {  // the job alone almost filled a message
      s = publish(subject, letter_of("null", ended.receipt), message_id);
    }
    if (s != NATS_OK) return fail(jetstream_error("the dead job cannot be published", s));
  }
  const natsStatus s = delivery.acknowledge();
  if (s != NATS_OK) return fail(jetstream_error("the job cannot be acknowledged", s));
  return {};
}

/// Stores the receipt, and ends the job. If another worker has the job since, its receipt counts,
/// and this one is dropped.
Result<void> JobQueue::State::settle(Delivery& delivery, const JobReceipt& receipt,
                                     uint64_t claim) const {
  GALLEY_ASSIGN(const bool is_stored, book->settle(receipt, claim));
  if (!is_stored) {
    return fail(ErrorKind::kConflict, "job.claimed",
                "another worker has the job '" + receipt.id + "' since; its receipt counts");
  }
  GALLEY_ASSIGN(const JobBook::Entry ended, book->find(receipt.id));
  return finish(delivery, receipt.id, ended);
}

/// The receipt of a job that failed too often. Its last delivery may have moved the branch without
/// learning it. A search that fails, too, does not keep the job alive.
JobReceipt last_receipt(JobReceipt dead, const Job& job, JobWorker& worker,
                        const std::stop_token& stop) {
  const auto landed = worker.landed(job, stop);
  if (!landed || !*landed) return dead;
  JobReceipt done = **landed;
  done.attempts = dead.attempts;
  return done;
}

/// Makes one try. `dead` is the receipt if there will be no further one.
/// Errors: those of JobWorker::perform, if another delivery is to make the next try.
Result<JobReceipt> JobQueue::State::attempt(const Job& job, const JobBook::Entry& claim,
                                            JobReceipt dead, Attempt how) const {
  if (claim.lost >= kMostLost) {
    dead.reason = "job.deliveries";
    dead.message =
        "its workers died or lost the connection " + std::to_string(kMostLost) + " times";
    // If the search kills workers, too, it is left out.
    return claim.lost == kMostLost ? last_receipt(dead, job, how.worker, how.stop) : dead;
  }
  GALLEY_TRY(how.worker.publish_records(job));
  const std::string subject = "galley.progress." + job.id;
  auto done = how.worker.perform(job, how.stop, [&](const std::string& line) {
    natsConnection_PublishString(connection, subject.c_str(), line.c_str());
  });
  GALLEY_TRY(how.worker.publish_records(job));  // else another delivery finds what this one did
  if (done) done->attempts = dead.attempts;
  return done;
}

/// The receipt of a job whose try failed, if there is to be no further one.
std::optional<JobReceipt> JobQueue::State::given_up(const Job& job, const JobBook::Entry& claim,
                                                    JobReceipt dead, const Error& met,
                                                    Attempt how) const {
  dead.reason = met.reason;
  dead.message = met.message;
  if (met.reason == kNoRepository && claim.missing + 1 >= kMostMissing) {
    dead.outcome = JobReceipt::Outcome::kRefused;
    dead.message = "after " + std::to_string(claim.missing + 1) + " tries: " + met.message;
    return dead;
  }
  const int64_t age_s = SystemClock().wall_ns() / kNsOfSecond - claim.since_s;
  if (age_s < std::chrono::seconds(kTried).count()) return std::nullopt;
  return last_receipt(dead, job, how.worker, how.stop);
}

Telemetry::Outcome end_of(const JobReceipt& receipt) {
  return {std::string(word_of(receipt.outcome)),
          receipt.outcome == JobReceipt::Outcome::kDead,
          "job-" + receipt.id,
          {{"galley.job", receipt.id},
           {"galley.reason", receipt.reason},
           {"galley.commit", receipt.commit},
           {"galley.attempts", std::to_string(receipt.attempts)}}};
}

/// A delivery that did not end its job.
Telemetry::Outcome retried(const std::string& job_id, const std::string& reason) {
  return {"retried", true, "job-" + job_id, {{"galley.job", job_id}, {"galley.reason", reason}}};
}

Result<void> JobQueue::State::handle(Delivery& delivery, JobWorker& worker,
                                     const std::function<bool()>& must_end,
                                     const std::function<void(const std::string&)>& log) const {
  const std::string text = delivery.text();
  const auto [times, sent_s] = delivery.about();
  JobReceipt dead;
  dead.outcome = JobReceipt::Outcome::kDead;
  dead.attempts = static_cast<uint32_t>(times);
  auto job = parse_job(text);
  dead.id = job ? job->id : "unreadable-" + ContentId::of(text).hex();
  dead.job = job ? job->digest : ContentId::of(text).hex();
  GALLEY_ASSIGN(const JobBook::Entry last, book->find(dead.id));
  const bool is_other = !last.job.empty() && last.job != dead.job;
  if (is_other) log("dropped: another job has the id " + dead.id);
  if (is_other) return finish(delivery, dead.id, {});
  // With a receipt, only the end of an earlier delivery was lost.
  const bool is_again = delivery.id() == again_id(dead.id, last.revision);
  if (!last.receipt.empty() && !is_again) return finish(delivery, dead.id, last);
  GALLEY_ASSIGN(const JobBook::Entry claim, book->claim(dead.id, dead.job, last));
  const Telemetry::Work work(telemetry);
  if (!job) {
    dead.reason = job.error().reason;
    dead.message = job.error().message;
    work.end(end_of(dead));
    return settle(delivery, dead, claim.revision);
  }
  job->sent_s = sent_s;
  const Attendance attendance(delivery, must_end, milliseconds(config.drain_ms));
  const Attempt how = {worker, attendance.token()};
  const auto tried = attempt(*job, claim, dead, how);
  const bool was_stopped = how.stop.stop_requested();
  std::optional<JobReceipt> done;
  if (tried) {
    done = *tried;
  } else {
    log("job " + job->id + ": " + tried.error().message);
    if (!was_stopped) done = given_up(*job, claim, dead, tried.error(), how);
  }
  if (done) {
    auto settled = settle(delivery, *done, claim.revision);
    work.end(settled ? end_of(*done) : retried(job->id, settled.error().reason));
    return settled;
  }
  work.end(retried(job->id, tried.error().reason));
  book->release(job->id, claim, was_stopped ? nullptr : &tried.error());
  const int64_t delay_ms = int64_t{1'000} << std::min(times, kMostDoubled);
  delivery.give_back(was_stopped ? 0 : std::min(kMostDelayMs, delay_ms));
  return {};
}

void JobQueue::report_to(Telemetry* telemetry) { state_->telemetry = telemetry; }

Result<void> JobQueue::serve(JobWorker& worker, const std::function<bool()>& must_end,
                             const std::function<void(const std::string&)>& log) {
  GALLEY_TRY(state_->open_streams());
  worker.publish_to([this](std::string_view record, const std::string& id) {
    return state_->publish_record(record, id);
  });
  // JetStream perhaps begins again, or lost the queue. The next error tries again. A stream that
  // is made while the server still removes the earlier one loses its files to that.
  const auto recover = [&](const Error& why) {
    log(why.message);
    poll(nullptr, 0, static_cast<int>(kTryEvery.count()));
    if (const auto opened = state_->open_queue(); !opened) log(opened.error().message);
  };
  milliseconds idle = kLeastIdle;
  std::unique_ptr<Bell> bell;
  while (!must_end()) {
    const auto delivery = state_->next();
    if (natsConnection_IsClosed(state_->connection)) {
      const char* why = nullptr;
      natsConnection_GetLastError(state_->connection, &why);
      return fail(
          ErrorKind::kIo, "nats.connection",
          "the NATS server closed the connection: " + printable_line(why == nullptr ? "" : why));
    }
    if (!delivery) recover(delivery.error());
    if (!delivery || *delivery == nullptr) {
      if (bell == nullptr) {
        bell = std::make_unique<Bell>(state_->connection);
        continue;  // a job may have come before
      }
      const bool rang = bell->wait(idle, must_end);
      idle = rang ? kLeastIdle : std::min(2 * idle, kMostIdle);
      continue;
    }
    bell.reset();
    idle = kLeastIdle;
    const auto handled = state_->handle(**delivery, worker, must_end, log);
    if (!handled) recover(handled.error());  // the server delivers the job again
  }
  return {};
}

}  // namespace galley
