#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/result.h"

namespace galley {

void for_each_block(size_t count, size_t block, const std::function<void(size_t, size_t)>& work,
                    size_t min_shared) {
  GALLEY_CHECK(block > 0);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto take_blocks = [&]() noexcept {
    try {
      for (;;) {
        const size_t begin = next.fetch_add(block, std::memory_order_relaxed);
        if (begin >= count) return;
        work(begin, std::min(count, begin + block));
      }
    } catch (...) {
      // An exception must not leave the thread. The caller rethrows it after all threads have
      // stopped.
      next = count;
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  if (count >= min_shared) {
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const size_t blocks = (count + block - 1) / block;
    const size_t workers = std::min({cores, kMaxWorkers, blocks});
    try {
      while (others.size() + 1 < workers) others.emplace_back(take_blocks);
    } catch (const std::system_error&) {
      // This process cannot start more threads. The running ones, including this one, do all the
      // work.
    }
  }
  take_blocks();
  others.clear();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace galley
