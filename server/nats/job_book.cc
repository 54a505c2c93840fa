#include "server/nats/job_book.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "server/nats/nats_connection.h"
#include "tools/json_input.h"

namespace galley {
namespace {

constexpr const char* kBucket = "galley-receipts";
using nlohmann::json;

// The members of a claim; the first is the digest of its job.
constexpr const char* kClaim = "claim";
constexpr const char* kLost = "lost";
constexpr const char* kSince = "since";
constexpr const char* kHeld = "held";
constexpr const char* kTries = "tries";
constexpr const char* kMissing = "missing";
constexpr const char* kMet = "met";
constexpr size_t kMostMetBytes = 1'000;

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
    const auto number = [&](const char* name) {
      const auto member = claim->find(name);
      return member != claim->end() && member->is_number_integer() ? member->get<int64_t>() : 0;
    };
    entry.lost = static_cast<uint32_t>(number(kLost));
    entry.since_s = number(kSince);
    entry.is_held = claim->value(kHeld, json()) == true;
    entry.tries = static_cast<uint32_t>(number(kTries));
    entry.missing = static_cast<uint32_t>(number(kMissing));
    entry.met = text_member(*claim, kMet);
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

/// Replaces the revision of a claim by this claim.
natsStatus JobBook::put(const std::string& id, Entry& claim) const {
  const std::string text = json_text(json{{kClaim, claim.job},
                                          {kLost, claim.lost},
                                          {kSince, claim.since_s},
                                          {kHeld, claim.is_held},
                                          {kTries, claim.tries},
                                          {kMissing, claim.missing},
                                          {kMet, claim.met}});
  return claim.revision == 0
             ? kvStore_CreateString(&claim.revision, store_.get(), id.c_str(), text.c_str())
             : kvStore_UpdateString(&claim.revision, store_.get(), id.c_str(), text.c_str(),
                                    claim.revision);
}

Result<JobBook::Entry> JobBook::claim(const std::string& id, const std::string& digest,
                                      const Entry& last) const {
  Entry claim;
  claim.job = digest;
  claim.revision = last.revision;
  claim.lost = last.lost + (last.is_held ? 1 : 0);
  claim.since_s = last.since_s != 0 ? last.since_s : SystemClock().wall_ns() / kNsOfSecond;
  claim.is_held = true;
  claim.tries = last.tries;
  claim.missing = last.missing;
  claim.met = last.met;
  const natsStatus s = put(id, claim);
  if (s != NATS_OK) return fail(jetstream_error("the job '" + id + "' cannot be claimed", s));
  return claim;
}

void JobBook::release(const std::string& id, const Entry& claim, const Error* met) const {
  Entry released = claim;
  released.is_held = false;
  if (met != nullptr) {
    ++released.tries;
    if (met->reason == kNoRepository) ++released.missing;
    released.met = public_text(met->message, kMostMetBytes);
  }
  put(id, released);
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
