#include "engine/audit/recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/encoding.h"
#include "engine/audit/audit.h"
#include "engine/audit/audit_chain.h"
#include "staging/fs/disk_directory.h"
#include "support/manual_clock.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

class HeldRecords : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = open_writable_disk_directory(tree_.path());
    ASSERT_TRUE(directory) << directory.error().message;
    directory_ = *std::move(directory);
    log_ = std::make_unique<AuditLog>(*directory_, clock_, *RelPath::parse("audit.head"));
  }

  /// Records more than the recorder holds.
  void record_much() {
    constexpr size_t kReasonBytes = 2000;  // longer ones are cut
    for (size_t bytes = 0; bytes <= kMaxHeldRecordBytes; bytes += kReasonBytes) {
      ASSERT_TRUE(record(kReasonBytes));
    }
  }

  Result<void> record(size_t bytes) {
    AuditEvent event;
    event.kind = AuditKind::kEdit;
    event.reason = std::string(bytes, 'x');
    return recorder_.record(std::move(event));
  }

  /// A folder in the place of the log.
  void break_log() { tree_.write("audit.jsonl/x", ""); }

  TempDirectory tree_;
  SystemClock clock_;
  std::unique_ptr<WritableDirectory> directory_;
  std::unique_ptr<AuditLog> log_;
  Recorder recorder_{log_, clock_, RecordTime::kAtEnd, "tx"};
};

// Limit: kMaxHeldRecordBytes of engine/audit/recorder.h
TEST_F(HeldRecords, AfterAnEffectARecordIsHeldAlsoIfTheLogCannotBeWritten) {
  break_log();
  record_much();
  record_much();
}

TEST_F(HeldRecords, TooManyAreWrittenBeforeTheNextEffectWhichFailsInstead) {
  EXPECT_TRUE(record(1));
  EXPECT_TRUE(recorder_.make_room());
  EXPECT_FALSE(tree_.exists("audit.jsonl")) << "few records wait for the commit";
  record_much();
  EXPECT_TRUE(recorder_.make_room());
  EXPECT_TRUE(tree_.exists("audit.jsonl"));
}

TEST_F(HeldRecords, AreWrittenInOrderWithTheTimesOfTheirEvents) {
  ManualClock clock;
  Recorder recorder(log_, clock, RecordTime::kAtEnd, "tx");
  std::string expected;
  for (const char* reason : {"first", "second"}) {
    AuditEvent event;
    event.kind = AuditKind::kEdit;
    event.reason = reason;
    ASSERT_TRUE(recorder.record(std::move(event)));
    expected += std::string(reason) + " " + rfc3339_utc(clock.wall_ns()) + "\n";
    clock.pass(std::chrono::hours(1));
  }
  ASSERT_TRUE(recorder.write_held());
  std::string written;
  ASSERT_TRUE(for_each_audit_line(*directory_, *RelPath::parse("audit.jsonl"),
                                  [&](std::string_view line, bool) {
                                    const auto record = nlohmann::json::parse(line);
                                    written += record.at("reason").get<std::string>() + " " +
                                               record.at("timestamp").get<std::string>() + "\n";
                                  }));
  EXPECT_EQ(written, expected);
}

TEST_F(HeldRecords, WithoutAWritableLogThereIsNoRoom) {
  break_log();
  record_much();
  EXPECT_FALSE(recorder_.make_room());
}

}  // namespace
}  // namespace galley
