// Memory that runs out at every allocation of a commit, once and for good: the exception reaches
// the caller, whose process goes on, and its next open finds the old tree or the new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "crash/cases.h"
#include "staging/fs/disk_directory.h"
#include "support/scratch_directory.h"

namespace {

/// Allocations of this thread until the one that fails; 0 is none.
thread_local size_t allocations_left = 0;
thread_local bool is_lasting = false;

void* allocate(size_t bytes) {
  if (allocations_left > 0 && --allocations_left == 0) {
    if (is_lasting) allocations_left = 1;
    throw std::bad_alloc();
  }
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace galley {
namespace {

constexpr int kCommitted = 0;
constexpr int kRanOut = 3;
constexpr int kNotRecovered = 4;
constexpr int kRefused = 5;

/// A commit that runs out of memory at its `at`-th allocation, in a process that then goes on.
int commit_and_run_out(const CrashCase& shape, const std::string& path, size_t at, bool lasting) {
  const auto mine = open_writable_disk_directory(path);
  if (!mine) return kRefused;
  const Proposal proposal = propose_case(shape, **mine);
  try {
    is_lasting = lasting;
    allocations_left = at;
    const auto outcome = publish(**mine, proposal);
    allocations_left = 0;
    return outcome && std::holds_alternative<Receipt>(*outcome) ? kCommitted : kRefused;
  } catch (const std::bad_alloc&) {
    allocations_left = 0;
  }
  return reopen(**mine) ? kRanOut : kNotRecovered;
}

class MemoryFacts : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Of, MemoryFacts, testing::Bool(),
                         [](const auto& lasting) { return lasting.param ? "Lasting" : "Once"; });

TEST_P(MemoryFacts, AFailedAllocationInACommitLeavesTheOldOrTheNewTree) {
  const CrashCase& shape = crash_case("rich");
  const TreePicture after = picture_after(shape);
  CrashRow row(std::string(GetParam() ? "no memory from: " : "no memory at: ") + shape.name);
  for (size_t at = 1;; at += stride_of(shape, 5)) {
    const ScratchDirectory scratch;
    const auto directory = open_writable_disk_directory(scratch.path());
    ASSERT_TRUE(directory);
    prepare_case(shape, **directory);
    const TreePicture before = picture_of(**directory);
    const int status =
        in_child([&] { return commit_and_run_out(shape, scratch.path(), at, GetParam()); });
    if (status == kCommitted) break;
    const std::string where = "allocation " + std::to_string(at);
    ASSERT_EQ(status, kRanOut) << where;
    row.set_calls(at);
    row.judge(**directory, before, after, where);
    if (HasFailure()) return;
  }
  EXPECT_GT(row.old_trees(), 0U);
  EXPECT_GT(row.new_trees(), 0U);
}

}  // namespace
}  // namespace galley
