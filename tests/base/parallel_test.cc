#include "base/parallel.h"

#include <gtest/gtest.h>

#include <new>
#include <set>
#include <thread>
#include <vector>

namespace galley {
namespace {

TEST(Parallel, EveryItemIsWorkedOnOnce) {
  for (const size_t count :
       {size_t{0}, size_t{1}, kMinSharedItems - 1, kMinSharedItems, size_t{1000}}) {
    std::vector<int> times(count, 0);
    for_each_block(count, 7, [&](size_t begin, size_t end) {
      ASSERT_LE(end - begin, 7U);
      for (size_t i = begin; i < end; ++i) ++times[i];
    });
    EXPECT_EQ(times, std::vector<int>(count, 1));
  }
}

TEST(Parallel, FewItemsStayOnTheThreadOfTheCaller) {
  std::set<std::thread::id> threads;
  for_each_block(kMinSharedItems - 1, 1,
                 [&](size_t, size_t) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(Parallel, AnExceptionOnAnyThreadReachesTheCaller) {
  const auto fail_at = [](size_t item) {
    for_each_block(4 * kMinSharedItems, 1, [&](size_t begin, size_t) {
      if (begin == item) throw std::bad_alloc();
    });
  };
  for (const size_t item : {size_t{0}, size_t{1}, 4 * kMinSharedItems - 1}) {
    EXPECT_THROW(fail_at(item), std::bad_alloc);
  }
}

}  // namespace
}  // namespace galley
