#include <utility>

#include "server/mcp/server.h"

namespace galley {
namespace {

/// So many times nothing was begun: then nobody looks on any more.
constexpr int kQuietLooks = 50;

}  // namespace

Result<void> McpServer::serve(const Input& input) {
  std::thread other([this, &input] { read_in_turns(1, input); });
  read_in_turns(0, input);
  other.join();
  finish();
  return reading_.result;
}

void McpServer::read_in_turns(int me, const Input& input) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (reading_.reader != me) look_on(lock, me);
    if (reading_.is_over) return;
    lock.unlock();
    const auto line = input();
    if (line && *line) {
      take_line(**line, me);
      lock.lock();
      continue;
    }
    drain();
    lock.lock();
    if (!line) reading_.result = fail(line.error());
    reading_.is_over = true;
    watch_.notify_all();
    return;
  }
}

/// Returns when `me` is to read: the other one has worked on one request since the last look.
void McpServer::look_on(std::unique_lock<std::mutex>& lock, int me) {
  uint64_t seen = reading_.works;
  int quiet = 0;
  while (!reading_.is_over && reading_.reader != me) {
    if (quiet == kQuietLooks) {
      reading_.is_unwatched = true;
      watch_.wait(lock, [this] { return !reading_.is_unwatched || reading_.is_over; });
      quiet = 0;
      seen = reading_.works;
    }
    watch_.wait_for(lock, kReadAgainAfter, [this] { return reading_.is_over; });
    if (reading_.is_at_work && reading_.works == seen) {
      reading_.is_at_work = false;
      reading_.reader = me;
    }
    quiet = reading_.works == seen ? quiet + 1 : 0;
    seen = reading_.works;
  }
}

void McpServer::take_line(const Line& line, int me) {
  if (line.is_too_long) return refuse_long_line();
  if (line.text.empty()) return;
  Task task = accept(line.text);
  if (!task) return;
  if (line.has_next || !begin_here(task)) return enqueue(std::move(task));
  McpAnswer answered = run(*task);
  std::unique_lock lock(mutex_);
  const bool is_wanted = leave(*task);
  lock.unlock();
  if (is_wanted) reply(task->id, std::move(answered));
  lock.lock();
  // By now the other one may read, and work.
  if (reading_.reader == me) reading_.is_at_work = false;
}

/// Whether nobody works on anything, so that who reads may do it.
bool McpServer::begin_here(const Task& task) {
  const std::lock_guard lock(mutex_);
  if (!running_.empty() || is_over_) return false;
  running_.emplace(task->id, task);
  if (!task->lane.empty()) busy_lanes_.insert(task->lane);
  reading_.is_at_work = true;
  ++reading_.works;
  if (std::exchange(reading_.is_unwatched, false)) watch_.notify_all();
  return true;
}

/// Waits until what was begun has ended, and stops what has not.
void McpServer::drain() {
  std::unique_lock lock(mutex_);
  if (std::exchange(is_over_, true)) return;
  wake_.notify_all();
  work_.notify_all();
  wake_.wait_for(lock, kDrainTime, [this] { return running_.empty(); });
  for (const auto& [id, task] : running_) task->stop.request_stop();
  wake_.notify_all();
}

}  // namespace galley
