#include "server/nats/job_book.h"

#include <chrono>

#include "server/nats/nats_connection.h"

namespace galley {
namespace {

constexpr const char* kBucket = "galley-receipts";
constexpr const char* kClaim = "claimed";  ///< a receipt begins with '{'

bool is_committed(const std::string& receipt) {
  const auto read = parse_receipt(receipt);
  return read && read->outcome == JobReceipt::Outcome::kCommitted;
}

}  // namespace

Result<JobBook> JobBook::open(jsCtx* context) {
  kvStore* store = nullptr;
  natsStatus s = js_KeyValue(&store, context, kBucket);
  if (s == NATS_NOT_FOUND) {
    kvConfig wanted;
    kvConfig_Init(&wanted);
    wanted.Bucket = kBucket;
    wanted.History = 1;
    wanted.TTL = std::chrono::nanoseconds(JobReceipt::kKept).count();
    s = js_CreateKeyValue(&store, context, &wanted);
    if (s != NATS_OK) s = js_KeyValue(&store, context, kBucket);  // another process made it
  }
  if (s != NATS_OK) return fail(jetstream_error("the receipts of jobs cannot be opened", s));
  return JobBook(store);
}

Result<JobBook::Entry> JobBook::find(const std::string& id) const {
  kvEntry* found = nullptr;
  const natsStatus s = kvStore_Get(&found, store_.get(), id.c_str());
  if (s == NATS_NOT_FOUND) return Entry();
  if (s != NATS_OK) return fail(jetstream_error("the receipt cannot be read", s));
  Entry entry;
  entry.receipt.assign(static_cast<const char*>(kvEntry_Value(found)),
                       static_cast<size_t>(kvEntry_ValueLen(found)));
  if (entry.receipt == kClaim) entry.receipt.clear();
  entry.revision = kvEntry_Revision(found);
  kvEntry_Destroy(found);
  return entry;
}

Result<std::vector<std::string>> JobBook::receipts(size_t most) const {
  kvKeysList keys{};
  const natsStatus s = kvStore_Keys(&keys, store_.get(), nullptr);
  std::vector<std::string> names;
  if (s == NATS_OK) {
    names.assign(keys.Keys, keys.Keys + keys.Count);
    kvKeysList_Destroy(&keys);
  } else if (s != NATS_NOT_FOUND) {
    return fail(jetstream_error("the receipts cannot be listed", s));
  }
  std::vector<std::string> texts;
  for (const std::string& name : names) {
    if (texts.size() == most) break;
    GALLEY_ASSIGN(Entry entry, find(name));
    if (!entry.receipt.empty()) texts.push_back(std::move(entry.receipt));
  }
  return texts;
}

Result<uint64_t> JobBook::claim(const std::string& id, const Entry& last) const {
  uint64_t revision = 0;
  const natsStatus s =
      last.revision == 0
          ? kvStore_CreateString(&revision, store_.get(), id.c_str(), kClaim)
          : kvStore_UpdateString(&revision, store_.get(), id.c_str(), kClaim, last.revision);
  if (s != NATS_OK) return fail(jetstream_error("the job '" + id + "' cannot be claimed", s));
  return revision;
}

Result<bool> JobBook::settle(const JobReceipt& receipt, uint64_t claim) const {
  const std::string text = receipt.json();
  while (true) {
    const natsStatus s =
        kvStore_UpdateString(nullptr, store_.get(), receipt.id.c_str(), text.c_str(), claim);
    if (s == NATS_OK) return true;
    // cnats returns a general error for a lost comparison, so look up the winner.
    GALLEY_ASSIGN(const Entry now, find(receipt.id));
    if (now.receipt == text || is_committed(now.receipt)) return true;
    if (now.revision == claim) return fail(jetstream_error("the receipt cannot be stored", s));
    if (receipt.outcome != JobReceipt::Outcome::kCommitted) return false;
    claim = now.revision;
  }
}

}  // namespace galley
