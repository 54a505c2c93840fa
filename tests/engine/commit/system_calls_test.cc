#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "base/parallel.h"
#include "doubles/fault_directory.h"
#include "engine/commit/publisher.h"
#include "staging/formats/read_edits.h"
#include "staging/fs/disk_directory.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/stage_edits.h"
#include "support/commit_fixture.h"
#include "support/scratch_directory.h"

namespace galley {
namespace {

constexpr size_t kMaxCallsAFileOfAPreview = 4;
constexpr size_t kMaxCallsAFileOfAnApply = 15;

/// The system calls that a call at the seam makes on a disk, closing what it opens included.
std::map<std::string, size_t> on_disk(const FaultCall& call) {
  const bool has_parent = call.path.find('/') != std::string::npos;
  if (call.name == "open_file" && call.mutates) return {{"openat2", 1}, {"close", 1}};
  if (call.name == "open_file") return {{"openat2", 1}, {"statx", 1}, {"close", 1}};
  if (call.name == "open_directory") return {{"openat2", 1}, {"close", 1}};
  if (call.name == "stat" && has_parent) return {{"openat2", 1}, {"statx", 1}, {"close", 1}};
  if (call.name == "stat" || call.name == "fstat") return {{"statx", 1}};
  return {{call.name, 1}};
}

/// An hour late, so that the files are not so new that their times cannot be believed.
class LaterClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override {
    return clock_.wall_ns() + std::chrono::nanoseconds(std::chrono::hours(1)).count();
  }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return clock_.steady();
  }

 private:
  SystemClock clock_;
};

/// What to count: staging a patch, or also committing it.
enum class Work : uint8_t { kPreview, kApply };

/// The calls of this work with a patch over so many files of one directory.
std::map<std::string, size_t> calls_of(Work work, size_t files) {
  const ScratchDirectory scratch;
  auto opened = open_writable_disk_directory(scratch.path());
  EXPECT_TRUE(opened);
  std::string patch;
  for (size_t i = 0; i < files; ++i) {
    const std::string name = "src/f" + std::to_string(100 + i);
    put_file(**opened, name, "one\ntwo\nthree\n");
    patch += "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name +
             "\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
  }
  const auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(std::move(*opened), plan);
  const LaterClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  const auto edits = read_unified(patch, {});
  EXPECT_TRUE(edits);
  const auto staged = stage_edits(overlay, *edits, {});
  EXPECT_TRUE(staged && staged->is_staged);
  const Proposal proposal = Proposal::freeze(overlay);
  EXPECT_TRUE(render_diff(proposal, {}));
  if (work == Work::kApply) {
    const auto outcome = publish(*workspace, proposal);
    EXPECT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome));
  }
  std::map<std::string, size_t> calls;
  for (const FaultCall& call : plan->calls) {
    for (const auto& [name, times] : on_disk(call)) calls[name] += times;
  }
  return calls;
}

/// Expects at most `most` calls for each file more.
void expect_calls(Work work, size_t most) {
  // The double is for one thread, so fewer files than are shared; the difference is the files'.
  constexpr size_t kFew = 8;
  constexpr size_t kMore = kMinSharedItems - 1;
  const auto few = calls_of(work, kFew);
  const auto more = calls_of(work, kMore);
  std::string table;
  size_t sum = 0;
  for (const auto& [name, times] : more) {
    const size_t before = few.count(name) == 0 ? 0 : few.at(name);
    sum += times - before;
    table += name + " " + std::to_string(times - before) + "\n";
  }
  constexpr size_t kFiles = kMore - kFew;
  EXPECT_LE(sum, most * kFiles) << "calls of " << kFiles << " files more:\n" << table;
  ::testing::Test::RecordProperty("calls", table);
}

TEST(SystemCalls, APreviewMakesAtMostFourCallsPerFile) {
  expect_calls(Work::kPreview, kMaxCallsAFileOfAPreview);
}

TEST(SystemCalls, AnApplyMakesAtMostFifteenCallsPerFile) {
  expect_calls(Work::kApply, kMaxCallsAFileOfAnApply);
}

}  // namespace
}  // namespace galley
