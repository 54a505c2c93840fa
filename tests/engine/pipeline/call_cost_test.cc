// Counts the allocations and allocated bytes of a tool call, and of a preview and a commit for each
// file. It measures no time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <galley/workspace.h>
#include "base/parallel.h"
#include "support/temp_directory.h"
#include "tools/tool.h"

namespace {

thread_local size_t allocations_made = 0;
thread_local size_t bytes_allocated = 0;

void* counted_or_null(size_t bytes) {
  ++allocations_made;
  bytes_allocated += bytes;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* counted(size_t bytes) {
  void* memory = counted_or_null(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes); }
void* operator new[](size_t bytes) { return counted(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return counted_or_null(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace galley {
namespace {

using nlohmann::json;

std::string text_of_lines(int number) {
  std::string text;
  for (int line = 0; line < 100; ++line) text += "a line of a file of middling length\n";
  return text + "word " + std::to_string(number) + "\n";
}

struct CallCost {
  size_t allocations = 0;
  size_t bytes = 0;
};

/// The cost of one call in a stored transaction, with saving, as a server makes it.
CallCost cost_of(Transaction& transaction, const std::string& tool, const json& arguments) {
  const std::string text = arguments.dump();
  const size_t allocations = allocations_made;
  const size_t bytes = bytes_allocated;
  const auto called = transaction.call(tool, text);
  EXPECT_TRUE(called && called.result().ok);
  EXPECT_TRUE(transaction.save());
  return {allocations_made - allocations, bytes_allocated - bytes};
}

std::string file_of(int number) { return "d/f" + std::to_string(number); }

/// The mean of `calls` calls.
template <class Call>
CallCost mean_of(int calls, const Call& call) {
  CallCost sum;
  for (int i = 0; i < calls; ++i) {
    const CallCost one = call(i);
    sum.allocations += one.allocations;
    sum.bytes += one.bytes;
  }
  return {sum.allocations / static_cast<size_t>(calls), sum.bytes / static_cast<size_t>(calls)};
}

/// The median of `calls` calls. One call more compiles a rule of the redactor: the first one whose
/// text may match it, which the random name of the folder decides.
template <class Call>
CallCost median_of(int calls, const Call& call) {
  std::vector<size_t> allocations;
  std::vector<size_t> bytes;
  for (int i = 0; i < calls; ++i) {
    const CallCost one = call(i);
    allocations.push_back(one.allocations);
    bytes.push_back(one.bytes);
  }
  std::sort(allocations.begin(), allocations.end());
  std::sort(bytes.begin(), bytes.end());
  return {allocations[allocations.size() / 2], bytes[bytes.size() / 2]};
}

TEST(CallCost, IsBoundedForOneCallOfEachStandardTool) {
  const TempDirectory tree;
  const auto workspace = *Workspace::open(tree.path());
  auto transaction = *workspace->begin_stored();
  constexpr int kCalls = 50;
  const auto write = [&](int i) {
    return cost_of(transaction, "Write",
                   {{"file_path", file_of(i)}, {"content", text_of_lines(i)}});
  };
  const auto edit = [&](int i) {
    return cost_of(transaction, "Edit",
                   {{"file_path", file_of(i)},
                    {"old_string", "word " + std::to_string(i)},
                    {"new_string", "word x"}});
  };
  const auto read = [&](int i) {
    return cost_of(transaction, "Read", {{"file_path", file_of(i)}});
  };
  write(kCalls);  // the first call opens the log and compiles the schemas
  const CallCost writing = median_of(kCalls, write);
  const CallCost editing = median_of(kCalls, edit);
  const CallCost reading = median_of(kCalls, read);
  // The file has 3.6 kB. In November 2026: 596, 507 and 152 allocations; 92, 74 and 31 kB.
  EXPECT_LE(writing.allocations, 640U);
  EXPECT_LE(writing.bytes, 105'000U);
  EXPECT_LE(editing.allocations, 550U);
  EXPECT_LE(editing.bytes, 85'000U);
  EXPECT_LE(reading.allocations, 170U);
  EXPECT_LE(reading.bytes, 36'000U);
}

TEST(SessionCost, TheLastCallsOfALongSessionCostWhatTheFirstDo) {
  const TempDirectory tree;
  const auto workspace = *Workspace::open(tree.path());
  auto transaction = *workspace->begin_stored();
  constexpr int kCalls = 10'000;
  constexpr int kPart = 1'000;
  int number = 0;
  const auto write = [&](int) {
    ++number;
    return cost_of(transaction, "Write", {{"file_path", file_of(number)}, {"content", "text\n"}});
  };
  const CallCost first = mean_of(kPart, write);
  mean_of(kCalls - 2 * kPart, write);
  const CallCost last = mean_of(kPart, write);
  EXPECT_LE(last.allocations * 10, first.allocations * 12);
  EXPECT_LE(last.bytes * 10, first.bytes * 12);
}

struct FileCosts {
  CallCost preview;  ///< staging, gate and diff
  CallCost commit;
};

/// The costs of a patch that changes one line of so many files.
FileCosts costs_of_files(int files) {
  const TempDirectory tree;
  std::string patch;
  for (int i = 0; i < files; ++i) {
    tree.write(file_of(i), text_of_lines(i));
    const std::string line = "-word " + std::to_string(i) + "\n+word x\n";
    patch += "--- a/" + file_of(i) + "\n+++ b/" + file_of(i) + "\n@@ -101 +101 @@\n" + line;
  }
  const auto workspace = *Workspace::open(tree.path());
  auto transaction = *workspace->begin();
  const auto now = [] { return CallCost{allocations_made, bytes_allocated}; };
  const auto between = [](const CallCost& from, const CallCost& to) {
    return CallCost{to.allocations - from.allocations, to.bytes - from.bytes};
  };
  const CallCost begin = now();
  EXPECT_TRUE(transaction.apply(patch));
  const auto preview = transaction.preview();
  EXPECT_TRUE(preview && render_diff(preview->proposal));
  const CallCost middle = now();
  const auto outcome = transaction.commit();
  EXPECT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome));
  return {between(begin, middle), between(middle, now())};
}

TEST(FileCost, IsBoundedForEachFileOfAPreviewAndOfACommit) {
  // Fewer files than are shared among threads; the difference is the files'.
  constexpr int kFew = 8;
  constexpr int kMore = static_cast<int>(kMinSharedItems) - 1;
  const FileCosts few = costs_of_files(kFew);
  const FileCosts more = costs_of_files(kMore);
  const auto each = [](const CallCost& less, const CallCost& all) {
    constexpr size_t kFiles = kMore - kFew;
    return CallCost{(all.allocations - less.allocations) / kFiles,
                    (all.bytes - less.bytes) / kFiles};
  };
  const CallCost preview = each(few.preview, more.preview);
  const CallCost commit = each(few.commit, more.commit);
  // A file has 3.6 kB. In November 2026: 89 and 21 allocations; 23 and 22 kB.
  EXPECT_LE(preview.allocations, 100U);
  EXPECT_LE(preview.bytes, 26'000U);
  EXPECT_LE(commit.allocations, 25U);
  EXPECT_LE(commit.bytes, 26'000U);
}

}  // namespace
}  // namespace galley
