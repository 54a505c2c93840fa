#include "server/nats/job_book.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/nats/nats_connection.h"
#include "tools/json_input.h"

namespace galley {
namespace {

constexpr const char* kBucket = "galley-receipts";
constexpr const char* kClaim = "claim";  ///< member of a claim: the digest of its job

}  // namespace

Result<void> JobBook::check_same(const std::string& id, const std::string& digest,
                                 const std::string& known) {
  if (digest.empty() || known.empty() || digest == known) return {};
  return fail(ErrorKind::kInvalid, "job.other_job",
              "another job has the id '" + id + "'; give this one an id of its own");
}

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
  std::string text(static_cast<const char*>(kvEntry_Value(found)),
                   static_cast<size_t>(kvEntry_ValueLen(found)));
  entry.revision = kvEntry_Revision(found);
  kvEntry_Destroy(found);
  if (const auto receipt = parse_receipt(text)) {
    entry.receipt = std::move(text);
    entry.job = receipt->job;
    entry.outcome = receipt->outcome;
  } else if (const auto claim = parse_json(text); claim && claim->is_object()) {
    entry.job = text_member(*claim, kClaim);
  }
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

Result<uint64_t> JobBook::claim(const std::string& id, const std::string& digest,
                                const Entry& last) const {
  const std::string claim = nlohmann::json{{kClaim, digest}}.dump();
  uint64_t revision = 0;
  const natsStatus s =
      last.revision == 0
          ? kvStore_CreateString(&revision, store_.get(), id.c_str(), claim.c_str())
          : kvStore_UpdateString(&revision, store_.get(), id.c_str(), claim.c_str(), last.revision);
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
    const bool is_committed =
        !now.receipt.empty() && now.outcome == JobReceipt::Outcome::kCommitted;
    if (now.receipt == text || is_committed) return true;
    if (now.revision == claim) return fail(jetstream_error("the receipt cannot be stored", s));
    if (receipt.outcome != JobReceipt::Outcome::kCommitted) return false;
    claim = now.revision;
  }
}

}  // namespace galley
