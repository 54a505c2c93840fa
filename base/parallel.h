#pragma once

#include <cstddef>
#include <functional>

namespace galley {

/// Threads that share one loop, the caller's own among them.
inline constexpr size_t kMaxWorkers = 16;

/// Fewer items than this are done by the caller alone: starting threads would cost more.
inline constexpr size_t kMinSharedItems = 32;

/// Calls `work(begin, end)` for every block of at most `block` items of [0, count), side by side on
/// the cores that this process may use, and returns when all are done.
///
/// Blocks are begun in order, but end in any: `work` puts what it finds where only it writes, and
/// the caller takes it from there in order, so that nobody can tell how many threads ran. A thread
/// that cannot be started is done without.
///
/// Threads: `work` runs on several at once, the caller's among them. What it throws (lack of
///          memory) is thrown again here, once all have stopped.
///
/// With fewer than `min_shared` items the caller does all of them.
void for_each_block(size_t count, size_t block, const std::function<void(size_t, size_t)>& work,
                    size_t min_shared = kMinSharedItems);

}  // namespace galley
