#include "engine/audit/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/limits.h"
#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "tools/schema.h"

namespace galley {
namespace {

constexpr int64_t kNow = 1'795'000'000'123'000'000;

class FixedClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override { return kNow; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point() + std::chrono::seconds(steps_++);
  }

 private:
  mutable int64_t steps_ = 0;
};

AuditEvent event(const std::string& id) {
  AuditEvent out;
  out.kind = AuditKind::kCall;
  out.execution_id = id;
  out.tool = "Write";
  out.agent = "bot";
  return out;
}

class AuditTest : public ::testing::Test {
 protected:
  std::string text(const char* name = "audit.jsonl") {
    return *read_file(*directory_, *RelPath::parse(name), limits::kMaxFileBytes);
  }
  void put(const std::string& bytes, const char* name = "audit.jsonl") {
    auto file = directory_->open_writable_file(*RelPath::parse(name), OpenMode::kOpenOrCreate);
    ASSERT_TRUE((*file)->truncate(0));
    ASSERT_TRUE((*file)->write_at(0, bytes));
  }
  std::vector<std::string> lines() {
    std::vector<std::string> out;
    const std::string all = text();
    for (size_t start = 0; start < all.size();) {
      const size_t end = all.find('\n', start);
      out.push_back(all.substr(start, end - start + 1));
      start = end + 1;
    }
    return out;
  }
  void put_lines(const std::vector<std::string>& all) {
    std::string joined;
    for (const std::string& line : all) joined += line;
    put(joined);
  }
  void append(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(log_.append(event("exec-" + std::to_string(++appended_))));
    }
  }
  /// "reason@line/seq …" of every defect.
  std::string defects() {
    const auto verification = log_.verify();
    if (!verification) return verification.error().reason;
    std::string out;
    for (const AuditDefect& defect : verification->defects) {
      out += (out.empty() ? "" : " ") + defect.reason + "@" + std::to_string(defect.line) + "/" +
             std::to_string(defect.seq);
    }
    return out;
  }

  FixedClock clock_;
  std::unique_ptr<WritableDirectory> directory_ = make_memory_directory();
  AuditLog log_{*directory_, clock_, *RelPath::parse("audit.head")};
  int appended_ = 0;
};

TEST_F(AuditTest, EachRecordNamesTheOneBefore) {
  append(3);
  const auto all = lines();
  ASSERT_EQ(all.size(), 3U);
  const auto first = nlohmann::json::parse(all[0]);
  const auto second = nlohmann::json::parse(all[1]);
  EXPECT_EQ(first["schema"], "galley.audit-record/1");
  EXPECT_EQ(first["seq"], 1);
  EXPECT_EQ(first["prev"], std::string(64, '0'));
  EXPECT_EQ(first["timestamp"], "2026-11-18T11:06:40.123Z");
  EXPECT_EQ(second["prev"], first["hash"]);
  auto without_hash = second;
  without_hash.erase("hash");
  EXPECT_EQ(second["hash"], ContentId::of(without_hash.dump()).hex());
  EXPECT_EQ(defects(), "");
}

TEST_F(AuditTest, AnEmptyLogIsIntact) {
  EXPECT_EQ(defects(), "");
  EXPECT_TRUE(directory_->list()->empty());  // verify writes nothing
}

TEST_F(AuditTest, AChangedRecordIsNamed) {
  append(5);
  auto all = lines();
  const size_t at = all[2].find("bot");
  all[2].replace(at, 3, "bob");
  put_lines(all);
  EXPECT_EQ(defects(), "audit.changed@3/3");
}

TEST_F(AuditTest, AChangedRecordWithARecomputedHashIsNamed) {
  append(5);
  auto all = lines();
  auto record = nlohmann::json::parse(all[2]);
  record["agent"] = "bob";
  record.erase("hash");
  record["hash"] = ContentId::of(record.dump()).hex();
  all[2] = record.dump() + "\n";
  put_lines(all);
  EXPECT_EQ(defects(), "audit.changed@3/3");
}

TEST_F(AuditTest, AMissingRecordIsNamed) {
  append(5);
  auto all = lines();
  all.erase(all.begin() + 1, all.begin() + 3);
  put_lines(all);
  EXPECT_EQ(defects(), "audit.missing@2/2");
}

TEST_F(AuditTest, TheFirstRecordMissingIsNamed) {
  append(3);
  auto all = lines();
  all.erase(all.begin());
  put_lines(all);
  EXPECT_EQ(defects(), "audit.missing@1/1");
}

TEST_F(AuditTest, ReorderedRecordsAreNamed) {
  append(5);
  auto all = lines();
  std::swap(all[1], all[2]);
  put_lines(all);
  EXPECT_EQ(defects(), "audit.reordered@3/2");
}

TEST_F(AuditTest, ARepeatedRecordIsNamed) {
  append(3);
  auto all = lines();
  all.insert(all.begin() + 2, all[0]);
  put_lines(all);
  EXPECT_EQ(defects().substr(0, 19), "audit.reordered@3/1");
}

TEST_F(AuditTest, ATruncatedRecordIsNamed) {
  append(3);
  const std::string all = text();
  put(all.substr(0, all.size() - 10));
  EXPECT_EQ(defects(), "audit.truncated@3/3 audit.truncated@4/3");
}

TEST_F(AuditTest, MissingRecordsAtTheEndAreNamed) {
  append(4);
  auto all = lines();
  all.resize(2);
  put_lines(all);
  EXPECT_EQ(defects(), "audit.truncated@3/3");
}

TEST_F(AuditTest, AnInvalidLineIsNamed) {
  append(3);
  auto all = lines();
  all[1] = "hello\n";
  put_lines(all);
  EXPECT_EQ(defects(), "audit.malformed@2/2");
}

TEST_F(AuditTest, WhiteSpaceInARecordIsAChange) {
  append(2);
  auto all = lines();
  all[0].insert(1, " ");
  put_lines(all);
  EXPECT_EQ(defects(), "audit.malformed@1/1");
}

TEST_F(AuditTest, AppendingAfterATruncatedRecordAddsAGapRecord) {
  append(3);
  const std::string all = text();
  put(all.substr(0, all.size() - 10));
  append(1);
  const auto now = lines();
  ASSERT_EQ(now.size(), 4U);
  const auto gap = nlohmann::json::parse(now[2]);
  EXPECT_EQ(gap["kind"], "audit.gap");
  EXPECT_EQ(gap["output"]["lost_records"], 1);
  EXPECT_GT(gap["output"]["cut_bytes"], 0);
  EXPECT_EQ(defects(), "audit.lost@3/3");
}

TEST_F(AuditTest, AppendingToATruncatedLogRecordsHowManyRecordsAreLost) {
  append(4);
  auto all = lines();
  all.resize(1);
  put_lines(all);
  append(1);
  EXPECT_EQ(nlohmann::json::parse(lines()[1])["output"]["lost_records"], 3);
  EXPECT_EQ(defects(), "audit.lost@2/2");
}

TEST_F(AuditTest, ALogWithoutItsHeadContinuesWithARecordThatSaysSo) {
  const auto spoils = std::vector<std::function<void()>>{
      [this] { put("", "audit.head"); }, [this] { put("something else\n", "audit.head"); },
      [this] { ASSERT_TRUE(directory_->remove_file(*RelPath::parse("audit.head"))); }};
  for (size_t done = 0; done < spoils.size(); ++done) {
    append(3);
    spoils[done]();
    const auto before = log_.verify();
    ASSERT_TRUE(before && !before->defects.empty());
    EXPECT_FALSE(before->is_intact());
    EXPECT_THAT(before->defects.back().message, testing::HasSubstr("anchor of the log is missing"));
    append(1);
    EXPECT_EQ(lines().size(), (done + 1) * 5);
    const auto gap = nlohmann::json::parse(lines()[done * 5 + 3]);
    EXPECT_EQ(gap["kind"], "audit.gap");
    EXPECT_EQ(gap["output"]["anchor"], "missing");
    const auto after = log_.verify();
    ASSERT_TRUE(after);
    EXPECT_EQ(after->defects.size(), done + 1);
    EXPECT_TRUE(after->is_intact());
  }
}

TEST_F(AuditTest, AKillDuringTheFirstRecordLooksLikeNoLoss) {
  bool is_over = false;
  for (size_t at = 1; !is_over; ++at) {
    const auto plan = std::make_shared<FaultPlan>();
    const auto disk = make_fault_directory(make_memory_directory(), plan);
    plan->at = at;
    plan->kills = true;
    const RelPath head = *RelPath::parse("audit.head");
    is_over = AuditLog(*disk, clock_, head).append(event("exec-1")).has_value();
    *plan = FaultPlan();
    AuditLog log(*disk, clock_, head);
    const auto found = log.verify();
    if (found) {
      EXPECT_TRUE(found->defects.empty()) << at << ": " << found->defects.front().message;
    }
    ASSERT_TRUE(log.append(event("exec-2")));
    const auto bytes = read_file(*disk, *RelPath::parse("audit.jsonl"), limits::kMaxFileBytes);
    EXPECT_EQ(bytes->find("audit.gap"), std::string::npos) << at;
  }
}

TEST_F(AuditTest, AHeadOlderThanTheLogIsNotADefect) {
  append(2);
  const std::string old_head = text("audit.head");
  append(1);
  put(old_head, "audit.head");
  EXPECT_EQ(defects(), "");
  append(1);
  EXPECT_EQ(defects(), "");
  EXPECT_EQ(lines().size(), 4U);
}

TEST_F(AuditTest, ZerosAtTheEndAreReplacedByAGapRecord) {
  append(2);
  const std::string whole = text();
  const std::string head = text("audit.head");
  // The file had grown by a record, as the head says, and its bytes never came to the disk; then a
  // power cut that took the head, too, and left more zeros than a record is long.
  for (const size_t zeros : {size_t{300}, 3 * kMaxAuditRecordBytes}) {
    put(whole + std::string(zeros, '\0'));
    const uint64_t bytes = whole.size() + zeros;
    put(head.substr(0, 41) + std::string(20 - std::to_string(bytes).size(), '0') +
            std::to_string(bytes) + head.substr(61),
        "audit.head");
    EXPECT_NE(defects(), "");
    ASSERT_TRUE(log_.close_gap());
    EXPECT_EQ(defects(), "audit.lost@3/3");
    EXPECT_EQ(nlohmann::json::parse(lines()[2])["output"]["cut_bytes"], zeros);
  }
}

TEST_F(AuditTest, AReplacedLogIsNotContinued) {
  append(3);
  const std::string head = text("audit.head");
  // The chain of another workspace, whole and longer.
  put("");
  put("", "audit.head");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(log_.append(event("forged-" + std::to_string(i))));
  put(head, "audit.head");
  EXPECT_EQ(log_.append(event("x")).error().reason, "audit.damaged");
  EXPECT_EQ(*log_.begin_new_log(), "audit.1.jsonl");
  EXPECT_EQ(defects(), "audit.lost@1/1");
}

TEST_F(AuditTest, ADamagedLogIsRenamedAndTheNewLogNamesIt) {
  const auto spoil = [this](std::vector<std::string> all, int kind) {
    if (kind == 0) all[1].replace(all[1].find("bot"), 3, "bo");
    if (kind == 1) all.erase(all.begin() + 1);
    if (kind == 2) std::swap(all[1], all[2]);
    if (kind == 3) all[1] = "no record\n";
    if (kind == 4) all[1] = std::string(200, '\0') + all[1];
    if (kind == 5) all.back().replace(all.back().find("bot"), 3, "bo");
    put_lines(all);
  };
  for (int kind = 0; kind < 6; ++kind) {
    append(4);
    const auto before = lines();
    const std::string first = kind == 5 ? before[before.size() - 2] : before[0];
    spoil(before, kind);
    const std::string damaged = text();
    const std::string name = "audit." + std::to_string(kind + 1) + ".jsonl";
    EXPECT_EQ(*log_.begin_new_log(), name);
    EXPECT_EQ(text(name.c_str()).substr(0, damaged.size()), damaged);
    ASSERT_EQ(lines().size(), 1U);
    const auto record = nlohmann::json::parse(lines()[0]);
    EXPECT_EQ(record["kind"], "audit.gap");
    EXPECT_EQ(record["seq"], 1);
    EXPECT_EQ(record["output"]["closed"], name);
    EXPECT_EQ(record["output"]["last_known_hash"], nlohmann::json::parse(first)["hash"]) << kind;
    EXPECT_EQ(record["output"]["closed_sha256"], ContentId::of(text(name.c_str())).hex());
    EXPECT_EQ(defects(), "audit.lost@1/1");
    EXPECT_EQ(*log_.begin_new_log(), "") << "it is sound";
  }
}

TEST_F(AuditTest, AnInterruptedRepairDoesNotMakeADamagedLogWhole) {
  constexpr size_t kMostCalls = 100;
  for (const bool kills : {true, false}) {
    bool has_failed = true;
    for (size_t at = 1; has_failed; ++at) {
      ASSERT_LT(at, kMostCalls);
      const auto plan = std::make_shared<FaultPlan>();
      directory_ = make_fault_directory(make_memory_directory(), plan);
      AuditLog log(*directory_, clock_, *RelPath::parse("audit.head"));
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(log.append(event("x")));
      std::string damaged = text();
      put(damaged.replace(damaged.find("bot"), 3, "bog"));
      *plan = FaultPlan();
      plan->at = at;
      plan->os_error = ENOSPC;
      plan->is_lasting = true;
      plan->kills = kills;
      has_failed = !log.begin_new_log() || plan->has_failed;
      *plan = FaultPlan();
      const auto next = log.append(event("next"));
      EXPECT_TRUE(next) << kills << at << next.error().message;
      const auto found = log.verify();
      ASSERT_TRUE(found);
      EXPECT_FALSE(found->defects.empty()) << kills << at << text();
    }
  }
}

TEST_F(AuditTest, ALogThatIsNotAFileIsDamageWithTheSameRemedy) {
  const RelPath log = *RelPath::parse("audit.jsonl");
  append(2);
  for (const int number : {1, 2}) {
    ASSERT_TRUE(directory_->remove_file(log));
    if (number == 1) {
      ASSERT_TRUE(directory_->make_directory(log, 0700));
    } else {
      ASSERT_TRUE(directory_->make_symlink(log, "audit.head"));
    }
    const auto refused = log_.append(event("x"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, "audit.damaged");
    EXPECT_NE(refused.error().message.find("galley doctor --repair"), std::string::npos);
    EXPECT_EQ(log_.append_missing({audit_record(event("y"), kNow)}).error().reason,
              "audit.damaged");
    EXPECT_EQ(defects(), "audit.malformed@0/0");
    const std::string said = log_.verify()->defects.at(0).message;
    EXPECT_NE(said.find("galley doctor --repair"), said.npos);
    EXPECT_EQ(said.find("audit verify"), said.npos) << said;
    const std::string name = "audit." + std::to_string(number) + ".jsonl";
    EXPECT_EQ(*log_.begin_new_log(), name);
    EXPECT_EQ(nlohmann::json::parse(lines().at(0))["output"]["closed"], name);
    EXPECT_EQ(defects(), "audit.lost@1/1");
    EXPECT_TRUE(log_.append(event("z")));
  }
}

TEST_F(AuditTest, AfterADamagedLastRecordAppendingFailsWithARemedy) {
  append(2);
  auto all = lines();
  all[1].replace(all[1].find("bot"), 3, "bo");
  put_lines(all);
  const auto position = log_.append(event("x"));
  ASSERT_FALSE(position);
  EXPECT_EQ(position.error().reason, "audit.damaged");
  EXPECT_NE(position.error().message.find("galley audit verify"), std::string::npos);
}

TEST_F(AuditTest, AnIdInTheContextOfAnotherRecordIsNotARecord) {
  AuditEvent other = event("other");
  other.context = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"environment", {{"execution_id", "commit-1"}}}});
  ASSERT_TRUE(log_.append(other));
  const std::string commit = audit_record(event("commit-1"), kNow);
  EXPECT_EQ(*log_.append_missing({commit}), 1U);
  other.execution_id = "commit-1";
  ASSERT_TRUE(log_.append(other));
  EXPECT_EQ(*log_.append_missing({commit}), 0U);
}

TEST_F(AuditTest, AppendMissingAddsARecordOnce) {
  append(1);
  const std::string commit = audit_record(event("commit-1"), kNow);
  const std::string other = audit_record(event("commit-2"), kNow);
  EXPECT_EQ(*log_.append_missing({commit, other}), 2U);
  EXPECT_EQ(*log_.append_missing({commit, other}), 0U);
  EXPECT_EQ(*log_.append_missing({}), 0U);
  EXPECT_EQ(lines().size(), 3U);
  EXPECT_EQ(defects(), "");
}

TEST_F(AuditTest, ARecordFarFromTheEndIsNotMissing) {
  const std::string commit = audit_record(event("commit-1"), kNow);
  ASSERT_TRUE(log_.add({commit}));
  AuditEvent large = event("");
  large.reason = std::string(2000, 'r');
  for (int i = 0; i < 700; ++i) {
    large.execution_id = "large-" + std::to_string(i);
    ASSERT_TRUE(log_.append(large));
  }
  ASSERT_GT(text().size(), 8 * 2 * kMaxAuditRecordBytes);
  const std::string newest = audit_record(large, kNow);
  const std::string lost = audit_record(event("lost"), kNow);
  EXPECT_EQ(*log_.missing({commit, lost, newest}), std::vector<size_t>{1});
  EXPECT_EQ(*log_.append_missing({commit, lost}), 1U);
  EXPECT_EQ(defects(), "");
}

TEST_F(AuditTest, AnIdInTheTextOfAnotherRecordDoesNotHideAMissingRecord) {
  AuditEvent call = event("call-1");
  call.reason = "\"execution_id\":\"commit-1\"";
  call.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"execution_id", "commit-1"}, {"a", "\"execution_id\":\"commit-1\""}});
  ASSERT_TRUE(log_.append(call));
  EXPECT_EQ(log_.missing({audit_record(event("commit-1"), kNow)})->size(), 1U);
  EXPECT_EQ(log_.missing({audit_record(call, kNow)})->size(), 0U);
}

TEST_F(AuditTest, ClosingAGapTwiceAddsOneRecord) {
  append(3);
  auto all = lines();
  all.resize(2);
  put_lines(all);
  ASSERT_TRUE(log_.close_gap());
  EXPECT_EQ(defects(), "audit.lost@3/3");
  ASSERT_TRUE(log_.close_gap());
  EXPECT_EQ(defects(), "audit.lost@3/3");
  append(1);
  EXPECT_EQ(lines().size(), 4U);
}

TEST_F(AuditTest, ClosingAGapDoesNotCreateAMissingLog) {
  ASSERT_TRUE(log_.close_gap());
  EXPECT_TRUE(directory_->list()->empty());
}

TEST_F(AuditTest, SettlingAddsMissingRecordsAndFlushesThem) {
  const auto plan = std::make_shared<FaultPlan>();
  const auto directory = make_fault_directory(make_memory_directory(), plan);
  AuditLog log(*directory, clock_, *RelPath::parse("audit.head"));
  const std::string commit = audit_record(event("commit-1"), kNow);
  ASSERT_TRUE(log.settle({commit}));
  ASSERT_TRUE(log.settle({commit}));
  EXPECT_EQ(log.verify()->records, 1U);
  const auto flushes = [&](std::string_view name, std::string_view path) {
    return std::count_if(plan->calls.begin(), plan->calls.end(), [&](const FaultCall& call) {
      return call.name == name && call.path == path;
    });
  };
  EXPECT_EQ(flushes("sync_data", "audit.jsonl"), 2);
  EXPECT_EQ(flushes("sync", ""), 1) << "its name, when it is made";
}

TEST_F(AuditTest, TwoWritersOfOneLogMakeOneChain) {
  AuditLog other(*directory_, clock_, *RelPath::parse("audit.head"));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(log_.append(event("a" + std::to_string(i))));
    ASSERT_TRUE(other.append(event("b" + std::to_string(i))));
  }
  EXPECT_EQ(defects(), "");
  EXPECT_EQ(log_.verify()->records, 20U);
}

TEST_F(AuditTest, AppendingToALockedLogTimesOut) {
  auto holder =
      directory_->open_writable_file(*RelPath::parse("audit.head"), OpenMode::kOpenOrCreate);
  ASSERT_TRUE(*(*holder)->try_lock(LockMode::kExclusive));
  const auto position = log_.append(event("x"));
  ASSERT_FALSE(position);
  EXPECT_EQ(position.error().kind, ErrorKind::kTimeout);
  EXPECT_EQ(position.error().reason, "audit.locked");
}

TEST(AuditRecord, LongTextsAreReplacedByTheirSizeAndHash) {
  AuditEvent call = event("x");
  const std::string content(5000, 'x');
  call.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"file", "a.txt"}, {"content", content}});
  const auto record = nlohmann::json::parse(audit_record(call, kNow));
  EXPECT_EQ(record["input"]["file"], "a.txt");
  EXPECT_EQ(record["input"]["content"]["bytes"], 5000);
  EXPECT_EQ(record["input"]["content"]["sha256"], ContentId::of(content).hex());
}

TEST(AuditRecord, TheLinesOfALongPatchAreReplacedByTheirHash) {
  using nlohmann::json;
  using nlohmann::ordered_json;
  AuditEvent call = event("x");
  call.input = std::make_shared<const ordered_json>(
      ordered_json{{"args", std::vector<std::string>(40, std::string(50, 'a'))}});
  call.output = std::make_shared<const ordered_json>(
      ordered_json{{"lines", std::vector<std::string>(40, std::string(50, 'l'))},
                   {"names", ordered_json::array({"a.txt", "b.txt"})},
                   {"mixed", ordered_json::array({std::string(900, 'm'), 1, "m"})}});
  const json record = json::parse(audit_record(call, kNow));
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::string(50, 'l') + "\n";
  EXPECT_EQ(record["output"]["lines"],
            (json{{"bytes", text.size()}, {"sha256", ContentId::of(text).hex()}}));
  EXPECT_EQ(record["output"]["names"], json::array({"a.txt", "b.txt"}));
  EXPECT_EQ(record["output"]["mixed"].size(), 3U);
  EXPECT_EQ(record["input"]["args"].size(), 40U) << "what was asked for stays readable";
}

TEST(AuditRecord, SecretsAreRedacted) {
  AuditEvent call = event("x");
  call.reason = "use ghp_0123456789abcdefghijABCDEFGHIJ012345 please";
  call.input = std::make_shared<const nlohmann::ordered_json>(nlohmann::ordered_json{
      {"command", "curl -H 'Authorization: Bearer abcdefghijklmnop' https://u:hunter2@x.org"},
      {"env", {{"API_KEY", "whatever"}, {"HOME", "/root"}}}});
  const std::string text = audit_record(call, kNow);
  for (const char* secret : {"ghp_", "abcdefghijklmnop", "hunter2", "whatever"}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << text;
  }
  EXPECT_NE(text.find("[REDACTED:github-token]"), std::string::npos);
  EXPECT_NE(text.find("/root"), std::string::npos);
}

TEST(AuditRecord, ASecretAcrossTheCutOfALongFieldIsRedactedCompletely) {
  for (size_t before = 2000; before < 2060; before += 3) {
    AuditEvent call = event("x");
    call.reason = std::string(before, 'x') + " ghp_0123456789abcdefghijABCDEFGHIJ012345 please";
    EXPECT_EQ(audit_record(call, kNow).find("ghp_"), std::string::npos) << before;
  }
}

TEST(AuditRecord, ASecretThatIsNotUtf8IsRedacted) {
  AuditEvent call = event("x");
  call.reason =
      "see https://u:hunter\xff"
      "2@x.org";
  EXPECT_EQ(audit_record(call, kNow).find("hunter"), std::string::npos);
}

// Limit: kMaxAuditRecordBytes of engine/audit/audit.h
TEST(AuditRecord, IsBoundedAndCanonicalForAnyInput) {
  AuditEvent call = event(std::string(100'000, 'i'));
  call.agent = "bytes \xff\xfe and \n newline";
  nlohmann::ordered_json edits = nlohmann::ordered_json::array();
  for (int i = 0; i < 10'000; ++i) edits.push_back({{"old", "aaaa"}, {"n", 1.0}, {"x", 1e300}});
  call.input = std::make_shared<const nlohmann::ordered_json>(edits);
  call.output = call.input;
  const std::string text = audit_record(call, kNow);
  EXPECT_LT(text.size(), kMaxAuditRecordBytes);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text).dump(), text);
}

TEST(AuditRecord, ListsAsManyRevertedCallsAsFit) {
  constexpr size_t kCalls = 600;
  AuditEvent rollback = event("x");
  rollback.executions.assign(kCalls, "exec-20240101-123456-abcdef");
  const auto output = nlohmann::json::parse(audit_record(rollback, kNow))["output"];
  EXPECT_GT(output["executions"].size(), 500U);
  EXPECT_EQ(output["executions"].size() + output["executions_more"].get<size_t>(), kCalls);
}

TEST(AuditRecord, GetsAnIdFromItsContentIfItHasNone) {
  AuditEvent call = event("");
  const auto first = nlohmann::json::parse(audit_record(call, kNow));
  const auto again = nlohmann::json::parse(audit_record(call, kNow));
  EXPECT_EQ(first["execution_id"], again["execution_id"]);
  EXPECT_EQ(first["execution_id"].get<std::string>().size(), 21U);
}

TEST_F(AuditTest, RecordsConformToTheirSchema) {
  std::ifstream file(std::string(GALLEY_SOURCE_DIR) + "/docs/json/audit-record.schema.json");
  std::ostringstream text_of_schema;
  text_of_schema << file.rdbuf();
  const auto schema = JsonSchema::compile(text_of_schema.str());
  ASSERT_TRUE(schema) << schema.error().message;
  AuditEvent failed = event("x");
  failed.error = ToolError{ToolErrorCode::kPermission, "path.protected", "no", nullptr};
  failed.risk_level = "high";
  failed.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"content", std::string(5000, 'x')}});
  append(1);
  ASSERT_TRUE(log_.append(failed));
  put(text().substr(0, text().size() - 3));
  append(1);
  for (const std::string& line : lines()) {
    const auto violations = schema->check(nlohmann::json::parse(line));
    EXPECT_TRUE(violations.empty()) << describe(violations) << line;
  }
}

TEST_F(AuditTest, ARecordWithAllMembersIsCanonical) {
  AuditEvent all = event("x");
  for (std::string* text : {&all.parent_execution_id, &all.call_id, &all.tool, &all.agent,
                            &all.task_id, &all.goal_id, &all.session_id, &all.reason,
                            &all.risk_level, &all.tx, &all.open_tx, &all.rules, &all.proposal}) {
    *text = "y";
  }
  all.owner = "";
  all.input = std::make_shared<const nlohmann::ordered_json>(nlohmann::ordered_json{{"b", 1}});
  all.output = all.context = all.input;
  all.error = ToolError{ToolErrorCode::kRuntime, "reason", "message", nullptr, "cause"};
  all.capabilities_used = all.secrets_used = all.executions = {"z"};
  all.changed = {"a", std::string(10'000, 'b')};
  ASSERT_TRUE(log_.append(all));
  ASSERT_TRUE(log_.append(audit_record(all, kNow)));  // as the journal of a commit has it
  std::vector<nlohmann::json> records;
  for (const std::string& line : lines()) {
    records.push_back(nlohmann::json::parse(line));
    EXPECT_EQ(records.back().dump() + "\n", line);
  }
  EXPECT_EQ(defects(), "");
  ASSERT_EQ(records.size(), 2U);
  constexpr size_t kMembers = 30;  // 27 of the event, and 3 of its place in the chain
  EXPECT_EQ(records[0].size(), kMembers);
  for (nlohmann::json& record : records) {
    for (const char* of_the_chain : {"seq", "prev", "hash"}) record.erase(of_the_chain);
  }
  EXPECT_EQ(records[0], records[1]);
}

TEST_F(AuditTest, RecordsWithFloatsPassVerification) {
  AuditEvent call = event("f");
  call.output = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"a", 1.0}, {"b", 0.1}, {"c", 1e300}, {"d", -2.5e-7}});
  ASSERT_TRUE(log_.append(call));
  EXPECT_EQ(defects(), "");
}

}  // namespace
}  // namespace galley
