#include "server/nats/shared_record.h"

#include <nats/nats.h>

#include <chrono>
#include <utility>

#include "base/hash.h"
#include "server/nats/nats_connection.h"

namespace galley {
namespace {

constexpr int64_t kNsOfHour = 3'600'000'000'000;
constexpr int64_t kLeaseLastsNs = 24 * kNsOfHour;  ///< leases of forgotten sessions go away
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

Error buckets_error(natsStatus status) {
  return jetstream_error(
      "the buckets of this group cannot be opened in JetStream (needed only with `jetstream` in "
      "the configuration)",
      status);
}

}  // namespace

struct SharedRecord::Buckets {
  std::string group;
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

SharedRecord::SharedRecord(std::unique_ptr<Buckets> buckets, std::string holder)
    : buckets_(std::move(buckets)), holder_(std::move(holder)) {}
SharedRecord::~SharedRecord() = default;

Result<std::unique_ptr<SharedRecord>> SharedRecord::open(void* connection, const std::string& group,
                                                         std::string holder) {
  auto buckets = std::make_unique<Buckets>();
  buckets->group = group;
  natsStatus s = natsConnection_JetStream(&buckets->context,
                                          static_cast<natsConnection*>(connection), nullptr);
  if (s != NATS_OK) return buckets_error(s);
  std::unique_ptr<SharedRecord> record(new SharedRecord(std::move(buckets), std::move(holder)));
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

/// A value is the hash of the call, and after its end a newline and the result.
Result<std::optional<SharedAnswers::Answer>> SharedRecord::begin(const std::string& session,
                                                                 const std::string& call_id,
                                                                 const std::string& hash) {
  const std::string key = bucket_key(session, call_id);
  Lease kept;
  for (bool is_again = false;; is_again = true) {
    const natsStatus s =
        kvStore_CreateString(nullptr, buckets_->answers, key.c_str(), hash.c_str());
    if (s == NATS_OK) return std::optional<Answer>();
    const natsStatus read = read_entry(buckets_->answers, key, kept);
    if (read == NATS_OK && !kept.holder.empty()) break;
    if (!is_again && check()) continue;  // perhaps the bucket was deleted
    return jetstream_error(
        "the call cannot be recorded in JetStream (needed only with `jetstream` in the "
        "configuration)",
        read == NATS_OK ? s : read);
  }
  const size_t end = kept.holder.find('\n');
  Answer answer{kept.holder.substr(0, end), {}};
  if (end != std::string::npos) answer.result = kept.holder.substr(end + 1);
  return std::optional<Answer>(std::move(answer));
}

void SharedRecord::keep(const std::string& session, const std::string& call_id,
                        const Answer& answer) {
  // A result that is too large is not kept: then a second delivery says that it began.
  kvStore_PutString(nullptr, buckets_->answers, bucket_key(session, call_id).c_str(),
                    (answer.call + "\n" + answer.result).c_str());
}

void SharedRecord::forget(const std::string& session, const std::string& call_id) {
  // If that fails, a second delivery says that the call began.
  kvStore_Delete(buckets_->answers, bucket_key(session, call_id).c_str());
}

}  // namespace galley
