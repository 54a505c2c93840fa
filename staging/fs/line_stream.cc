#include "staging/fs/line_stream.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

namespace galley {
namespace {

using std::chrono::steady_clock;

// A peer that has just received an answer often sends the next line at once. To wake from sleep
// costs up to 50 microseconds, or 100 on a virtual machine. For that time, polling is cheaper.
constexpr std::chrono::microseconds kStayAwake{100};
// A pipe that poll() reports as ready accepts this many bytes without blocking (PIPE_BUF).
constexpr size_t kAtOnce = 4096;

/// Writes as much as possible without waiting. Returns -1 with EAGAIN if nothing can be written, or
/// with EOPNOTSUPP if the descriptor does not support this (as pipes before Linux 6.5).
ssize_t write_what_fits(int descriptor, std::string_view bytes) {
  const iovec one{const_cast<char*>(bytes.data()), bytes.size()};  // NOLINT: it is only read
  constexpr off_t kAppend = -1;
  return ::pwritev2(descriptor, &one, 1, kAppend, RWF_NOWAIT);
}

/// Reads available bytes, or waits for some. With several processors it first polls, and then
/// sleeps.
ssize_t read_next(int descriptor, std::span<char> piece) {
  static const bool can_stay_awake = std::thread::hardware_concurrency() > 1;
  const iovec one{piece.data(), piece.size()};
  constexpr off_t kNext = -1;
  const auto until = steady_clock::now() + kStayAwake;
  do {
    const ssize_t count = ::preadv2(descriptor, &one, 1, kNext, RWF_NOWAIT);
    if (count >= 0) return count;
    if (errno != EAGAIN) break;
  } while (can_stay_awake && steady_clock::now() < until);
  return ::read(descriptor, piece.data(), piece.size());
}

}  // namespace

/// Keeps only the ends of a line that is too long, of which `bytes` were read since the last call.
void LineReader::skip(size_t bytes) {
  const std::string_view piece = std::string_view(pending_).substr(0, bytes);
  if (!skips_) long_.text = piece.substr(0, kKeptBytes);
  skips_ = true;
  long_.end += piece.substr(bytes - std::min(bytes, kKeptBytes));
  long_.end.erase(0, long_.end.size() - std::min(long_.end.size(), kKeptBytes));
}

/// Takes a line, whose last bytes are the first `end` ones of `pending_`.
LineReader::Line LineReader::take(size_t end) {
  Line line;
  if (skips_ || end > max_bytes_) {
    skip(end);
    line = std::exchange(long_, {});
    line.is_too_long = true;
    skips_ = false;
  } else {
    line.text = pending_.substr(0, end);
  }
  pending_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

Result<std::optional<LineReader::Line>> LineReader::next() {
  for (;;) {
    const size_t end = pending_.find('\n', searched_);
    if (end != std::string::npos) return take(end);
    if (pending_.size() > max_bytes_) {
      skip(pending_.size());
      pending_.clear();
    }
    searched_ = pending_.size();
    if (is_at_end_) {
      if (pending_.empty() && !skips_) return std::optional<Line>();
      return take(pending_.size());
    }
    const ssize_t count = read_next(descriptor_, piece_);
    if (count < 0 && errno != EINTR) return fail(os_error(errno, "reading", "standard input"));
    if (count > 0) pending_.append(piece_.data(), static_cast<size_t>(count));
    if (count == 0) is_at_end_ = true;
  }
}

Result<void> write_line(int descriptor, std::string_view line, const Deadline& deadline,
                        const Clock& clock) {
  std::string bytes(line);
  bytes += '\n';
  std::string_view rest = bytes;
  bool can_try = true;
  while (!rest.empty()) {
    ssize_t count = -1;
    if (can_try) {
      count = write_what_fits(descriptor, rest);
      can_try = count > 0;
    }
    if (count < 0) {
      pollfd one{descriptor, POLLOUT, 0};
      const int wait = deadline.is_never() ? -1 : static_cast<int>(deadline.left(clock).count());
      const int ready = ::poll(&one, 1, wait);
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return fail(os_error(errno, "waiting on", "standard output"));
      if (ready == 0) {
        return fail(ErrorKind::kTimeout, "stream.slow", "the reader does not take what is written");
      }
      count = ::write(descriptor, rest.data(), std::min(rest.size(), kAtOnce));
    }
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return fail(os_error(errno, "writing", "standard output"));
    rest.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace galley
