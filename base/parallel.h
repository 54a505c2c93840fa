#pragma once

#include <cstddef>
#include <functional>

namespace galley {

/// Maximum number of threads that share one loop, including the caller's own.
inline constexpr size_t kMaxWorkers = 16;

/// With fewer items the caller does all the work, because starting threads would cost more.
inline constexpr size_t kMinSharedItems = 32;

/// Calls `work(begin, end)` for every block of at most `block` items of [0, count). The calls run
/// in parallel on the cores that this process may use. Returns when all are done.
///
/// Blocks begin in order but end in any order. Each call of `work` must write its results to
/// separate places. The caller then reads them in order, so the result does not depend on the
/// number of threads. If a thread cannot be started, the others do its share.
///
/// Threads: `work` runs on several threads at once, including the caller's. An exception that it
///          throws (out of memory) is rethrown here, after all have stopped.
///
/// With fewer than `min_shared` items the caller does all the work.
void for_each_block(size_t count, size_t block, const std::function<void(size_t, size_t)>& work,
                    size_t min_shared = kMinSharedItems);

}  // namespace galley
