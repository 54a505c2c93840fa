#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "crash/cases.h"
#include "doubles/memory_directory.h"
#include "engine/commit/publisher.h"

namespace galley {
namespace {

constexpr const char* kRecord = "the record of the commit";

/// An audit log that outlives every process.
class SinkInMemory final : public AuditSink {
 public:
  Result<void> add(const std::vector<std::string>& records) override {
    if (fails) return fail(os_error(EIO, "cannot write", "the log"));
    lines.insert(lines.end(), records.begin(), records.end());
    return {};
  }
  Result<void> settle(const std::vector<std::string>& records) override {
    for (const auto& record : records) {
      if (std::count(lines.begin(), lines.end(), record) == 0) GALLEY_TRY(add({record}));
    }
    return {};
  }

  std::vector<std::string> lines;
  bool fails = false;
};

Result<PublishOutcome> publish_with(const WritableDirectory& workspace, const Proposal& proposal,
                                    SinkInMemory& sink) {
  PublisherOptions options = test_options();
  options.audit = &sink;
  return publish(workspace, proposal, options, {"", "", "", {}, {kRecord}});
}

Result<RecoveryReport> reopen_with(const WritableDirectory& workspace, SinkInMemory& sink) {
  GALLEY_ASSIGN(const auto state, StateDirectory::open(workspace));
  RecoveryOptions options;
  options.boot_id = kBoot;
  options.audit = &sink;
  return recover_if_needed(workspace, *state, kSystemClock, options);
}

Result<void> retire_with(const WritableDirectory& workspace, SinkInMemory& sink) {
  GALLEY_ASSIGN(const auto state, StateDirectory::open(workspace));
  GALLEY_ASSIGN(auto lock, WriterLock::take(*state, kSystemClock, std::chrono::milliseconds(0)));
  GALLEY_ASSIGN(const auto ids, journal_ids(state->journals()));
  GALLEY_TRY(retire(workspace, *state, lock, ids, {state->session(kBoot), &sink}));
  return {};
}

size_t pending(const WritableDirectory& workspace) {
  const auto state = StateDirectory::open(workspace);
  return journal_ids((*state)->journals())->size();
}

/// Settles what a kill left; the record must be there once if the tree is new, else not at all.
void expect_on_record(const CaseWorkspace& shape, const WritableDirectory& left, SinkInMemory& sink,
                      const std::string& where) {
  const auto report = reopen_with(left, sink);
  ASSERT_TRUE(report) << where << ": " << report.error().message;
  const auto retired = retire_with(left, sink);
  ASSERT_TRUE(retired) << where << ": " << retired.error().message;
  EXPECT_EQ(pending(left), 0U) << where;
  const bool is_new = picture_of(left) == shape.after;
  EXPECT_EQ(std::count(sink.lines.begin(), sink.lines.end(), kRecord), is_new ? 1 : 0) << where;
}

TEST(AuditRecordFacts, NoRecordIsLostWhenCommitAndRecoveryAreKilled) {
  const CrashCase& shape = crash_case("change three");
  size_t kills = 0;
  for (size_t at = 1;; ++at) {
    const auto workspace = make_case(shape);
    SinkInMemory sink;
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    static_cast<void>(publish_with(*make_fault_directory(open_memory_tree(workspace.tree), plan),
                                   *workspace.proposal, sink));
    if (!plan->is_dead) break;
    for (size_t then = 1;; ++then) {
      const auto tree = copy_of(*workspace.tree);
      SinkInMemory log = sink;
      const auto recovery = std::make_shared<FaultPlan>();
      recovery->at = then;
      recovery->kills = true;
      static_cast<void>(reopen_with(*make_fault_directory(open_memory_tree(tree), recovery), log));
      expect_on_record(workspace, *open_memory_tree(tree), log,
                       "call " + std::to_string(at) + ", recovery call " + std::to_string(then));
      ++kills;
      if (HasFailure() || !recovery->is_dead) break;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(kills, 500U);
}

TEST(AuditRecordFacts, RecordsAreAddedBeforeTheCommitReturns) {
  const auto workspace = make_case(crash_case("change one"));
  SinkInMemory sink;
  const auto outcome = publish_with(*workspace.directory, *workspace.proposal, sink);
  ASSERT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome));
  EXPECT_EQ(sink.lines, std::vector<std::string>{kRecord});
  EXPECT_TRUE(std::get<Receipt>(*outcome).warnings.empty());
}

TEST(AuditRecordFacts, AJournalIsKeptUntilTheLogAcceptsItsRecords) {
  const auto workspace = make_case(crash_case("change one"));
  const WritableDirectory& raw = *workspace.directory;
  ASSERT_TRUE(retire_all(raw));
  SinkInMemory sink;
  sink.fails = true;
  const auto outcome = publish_with(raw, *workspace.proposal, sink);
  ASSERT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome));
  EXPECT_EQ(std::get<Receipt>(*outcome).warnings.size(), 1U);
  ASSERT_TRUE(retire_with(raw, sink));
  EXPECT_EQ(pending(raw), 1U);
  sink.fails = false;
  ASSERT_TRUE(retire_with(raw, sink));
  EXPECT_EQ(pending(raw), 0U);
  EXPECT_EQ(sink.lines, std::vector<std::string>{kRecord});
}

TEST(AuditRecordFacts, NoRecordOfAnAbortedCommitIsAdded) {
  const auto workspace = make_case(crash_case("change three"));
  SinkInMemory sink;
  PublisherOptions options = test_options();
  options.audit = &sink;
  options.before_apply = [&] { save_file(*workspace.directory, "c", "the user's"); };
  const auto outcome =
      publish(*workspace.directory, *workspace.proposal, options, {"", "", "", {}, {kRecord}});
  ASSERT_TRUE(outcome && std::holds_alternative<Conflict>(*outcome));
  ASSERT_TRUE(retire_with(*workspace.directory, sink));
  EXPECT_TRUE(sink.lines.empty());
}

}  // namespace
}  // namespace galley
