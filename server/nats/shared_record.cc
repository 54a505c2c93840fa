#include "server/nats/shared_record.h"

#include <nats/nats.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "server/nats/nats_connection.h"

namespace galley {
namespace {

constexpr int64_t kNsOfHour = 3'600'000'000'000;
constexpr int64_t kLeaseLastsNs = 24 * kNsOfHour;  ///< leases of forgotten sessions go away
constexpr int64_t kPingMs = 2'000;
constexpr std::chrono::milliseconds kLookAgain{100};  ///< for the end of a call
constexpr char kPerformedBy = ' ';                    ///< between a call and its process
constexpr int64_t kAnswerLastsNs =
    std::chrono::duration_cast<std::chrono::nanoseconds>(AnswerBook::kLast).count();

/// Keys take few characters, so they are hashes.
std::string bucket_key(const std::string& session, const std::string& call_id = {}) {
  return ContentId::of(session + "\n" + call_id).hex();
}

/// The text and the revision of a key; an empty text: it does not exist.
natsStatus read_entry(kvStore* bucket, const std::string& key, SharedRecord::Lease& out) {
  kvEntry* entry = nullptr;
  const natsStatus status = kvStore_Get(&entry, bucket, key.c_str());
  if (status != NATS_OK) return status == NATS_NOT_FOUND ? NATS_OK : status;
  out.holder.assign(static_cast<const char*>(kvEntry_Value(entry)),
                    static_cast<size_t>(kvEntry_ValueLen(entry)));
  out.revision = kvEntry_Revision(entry);
  kvEntry_Destroy(entry);
  return NATS_OK;
}

/// Whether a text is the name of a process, which becomes a part of a subject.
bool is_holder(const std::string& text) {
  return text.size() == SharedRecord::kHolderDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Opens a bucket, or makes it.
natsStatus open_bucket(kvStore** bucket, jsCtx* context, const std::string& name, int64_t ttl) {
  const natsStatus status = js_KeyValue(bucket, context, name.c_str());
  if (status != NATS_NOT_FOUND) return status;
  kvConfig config;
  kvConfig_Init(&config);
  config.Bucket = name.c_str();
  config.History = 1;
  config.TTL = ttl;
  return js_CreateKeyValue(bucket, context, &config);
}

/// Adds one to a count as long as it lives.
struct Counted {
  explicit Counted(std::atomic<uint32_t>& of) : count(&of), number(++of) {}
  ~Counted() { --*count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  std::atomic<uint32_t>* count;
  uint32_t number;
};

Error buckets_error(natsStatus status) {
  return jetstream_error(
      "the buckets of this group cannot be opened in JetStream (needed only with `jetstream` in "
      "the configuration)",
      status);
}

}  // namespace

struct SharedRecord::Buckets {
  std::string group;
  natsConnection* connection = nullptr;
  jsCtx* context = nullptr;
  kvStore* leases = nullptr;
  kvStore* answers = nullptr;

  Buckets() = default;
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;
  ~Buckets() {
    kvStore_Destroy(answers);
    kvStore_Destroy(leases);
    jsCtx_Destroy(context);
  }
};

SharedRecord::SharedRecord(std::unique_ptr<Buckets> buckets, std::string holder,
                           uint32_t calls_at_once)
    : buckets_(std::move(buckets)), holder_(std::move(holder)), calls_at_once_(calls_at_once) {}
SharedRecord::~SharedRecord() = default;

Result<std::unique_ptr<SharedRecord>> SharedRecord::open(void* connection, const std::string& group,
                                                         std::string holder,
                                                         uint32_t calls_at_once) {
  auto buckets = std::make_unique<Buckets>();
  buckets->group = group;
  buckets->connection = static_cast<natsConnection*>(connection);
  const natsStatus s = natsConnection_JetStream(&buckets->context, buckets->connection, nullptr);
  if (s != NATS_OK) return buckets_error(s);
  std::unique_ptr<SharedRecord> record(
      new SharedRecord(std::move(buckets), std::move(holder), calls_at_once));
  GALLEY_TRY(record->check());
  return record;
}

/// A handle has only names, so those that exist stay in use for a bucket that is made again.
Result<void> SharedRecord::check() {
  const auto open_one = [&](kvStore*& handle, const char* name, int64_t ttl) {
    kvStore* opened = nullptr;
    const natsStatus s = open_bucket(&opened, buckets_->context, name + buckets_->group, ttl);
    if (s == NATS_OK && handle == nullptr) std::swap(handle, opened);
    kvStore_Destroy(opened);
    return s;
  };
  natsStatus s = open_one(buckets_->leases, "galley-sessions-", kLeaseLastsNs);
  if (s == NATS_OK) s = open_one(buckets_->answers, "galley-calls-", kAnswerLastsNs);
  if (s != NATS_OK) return buckets_error(s);
  return {};
}

// --- leases ---------------------------------------------------------------------------------

Result<SharedRecord::Lease> SharedRecord::lease_of(const std::string& session) {
  Lease lease;
  natsStatus s = read_entry(buckets_->leases, bucket_key(session), lease);
  if (s != NATS_OK && check()) {  // perhaps it was deleted
    s = read_entry(buckets_->leases, bucket_key(session), lease);
  }
  if (s != NATS_OK)
    return jetstream_error(
        "the holder of the session cannot be read in JetStream (needed only with `jetstream` in "
        "the configuration)",
        s);
  if (!is_holder(lease.holder)) lease.holder.clear();
  return lease;
}

Result<bool> SharedRecord::take(const std::string& session, const Lease& last) {
  const std::string key = bucket_key(session);
  const natsStatus s =
      last.revision == 0
          ? kvStore_CreateString(nullptr, buckets_->leases, key.c_str(), holder_.c_str())
          : kvStore_UpdateString(nullptr, buckets_->leases, key.c_str(), holder_.c_str(),
                                 last.revision);
  if (s == NATS_OK) return true;
  // cnats returns a general error for a lost comparison, so look up the winner.
  GALLEY_ASSIGN(const Lease now, lease_of(session));
  if (now.revision != last.revision) return now.holder == holder_;
  return jetstream_error(
      "the session cannot be taken in JetStream (needed only with `jetstream` in the "
      "configuration)",
      s);
}

Result<void> SharedRecord::drop(const std::string& session) {
  const natsStatus s = kvStore_Delete(buckets_->leases, bucket_key(session).c_str());
  if (s != NATS_OK)
    return jetstream_error(
        "the session cannot be given back in JetStream (needed only with `jetstream` in the "
        "configuration)",
        s);
  return {};
}

// --- results of calls -----------------------------------------------------------------------

std::string SharedRecord::subject_of(const std::string& holder, const std::string& last) {
  return "nachos.holder." + holder + "." + last;
}

bool SharedRecord::is_gone(const std::string& holder) const {
  natsMsg* pong = nullptr;
  const natsStatus status = natsConnection_Request(
      &pong, buckets_->connection, subject_of(holder, kPing).c_str(), nullptr, 0, kPingMs);
  natsMsg_Destroy(pong);
  return status == NATS_NO_RESPONDERS;
}

/// A value is the hash of the call and the process that performs it, and after its end the hash, a
/// newline and the result.
Result<std::optional<SharedAnswers::Answer>> SharedRecord::begin(const std::string& session,
                                                                 const std::string& call_id,
                                                                 const std::string& hash,
                                                                 const std::stop_token& stop) {
  const std::string key = bucket_key(session, call_id);
  const std::string begun = hash + kPerformedBy + holder_;
  const auto end = std::chrono::steady_clock::now() + kMostWait;
  bool was_gone = false;
  std::optional<Counted> counted;  // while it waits
  for (bool is_again = false;;) {
    Lease kept;
    const natsStatus s =
        kvStore_CreateString(nullptr, buckets_->answers, key.c_str(), begun.c_str());
    if (s == NATS_OK) return std::optional<Answer>();
    const natsStatus read = read_entry(buckets_->answers, key, kept);
    if (read != NATS_OK || kept.holder.empty()) {
      if (!std::exchange(is_again, true) && check()) continue;  // perhaps the bucket was deleted
      return jetstream_error(
          "the call cannot be recorded in JetStream (needed only with `jetstream` in the "
          "configuration)",
          read == NATS_OK ? s : read);
    }
    const size_t head = kept.holder.find('\n');
    if (head != std::string::npos) {
      return Answer{kept.holder.substr(0, head), kept.holder.substr(head + 1)};
    }
    const size_t call = kept.holder.find(kPerformedBy);
    Answer answer{kept.holder.substr(0, call)};
    const std::string holder = call == std::string::npos ? "" : kept.holder.substr(call + 1);
    const bool may_end = answer.call == hash && is_holder(holder) && holder != holder_ &&
                         !stop.stop_requested() && std::chrono::steady_clock::now() < end;
    if (may_end && !counted) counted.emplace(waiting_);
    if (!may_end || was_gone || counted->number >= calls_at_once_) {
      return std::optional<Answer>(std::move(answer));
    }
    was_gone = is_gone(holder);  // then looks once more: it may have told its result before it left
    is_again = false;
    if (!was_gone) std::this_thread::sleep_for(kLookAgain);
  }
}

void SharedRecord::keep(const std::string& session, const std::string& call_id,
                        const Answer& answer) {
  const std::string key = bucket_key(session, call_id);
  const std::string text = answer.call + "\n" + answer.result;
  if (kvStore_PutString(nullptr, buckets_->answers, key.c_str(), text.c_str()) == NATS_OK) return;
  // A result that is too large is not kept: then a second delivery says that it began.
  kvStore_PutString(nullptr, buckets_->answers, key.c_str(), answer.call.c_str());
}

void SharedRecord::forget(const std::string& session, const std::string& call_id) {
  // If that fails, a second delivery says that the call began.
  kvStore_Delete(buckets_->answers, bucket_key(session, call_id).c_str());
}

}  // namespace galley
