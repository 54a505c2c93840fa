#include "staging/fs/line_stream.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace galley {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10U;
// A pipe that poll() calls ready takes so much without blocking (PIPE_BUF).
constexpr size_t kAtOnce = 4096;

/// Writes as much as is taken without waiting: -1 and EAGAIN where that is nothing, EOPNOTSUPP
/// where the descriptor knows no such writing (before Linux 6.5 no pipe did).
ssize_t write_what_fits(int descriptor, std::string_view bytes) {
  const iovec one{const_cast<char*>(bytes.data()), bytes.size()};  // NOLINT: it is only read
  constexpr off_t kAppend = -1;
  return ::pwritev2(descriptor, &one, 1, kAppend, RWF_NOWAIT);
}

}  // namespace

Result<std::optional<LineReader::Line>> LineReader::next() {
  for (;;) {
    const size_t end = pending_.find('\n', searched_);
    if (end != std::string::npos) {
      Line line;
      line.is_too_long = std::exchange(skips_, false) || end > max_bytes_;
      if (!line.is_too_long) line.text = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      searched_ = 0;
      return line;
    }
    if (pending_.size() > max_bytes_) {
      skips_ = true;
      pending_.clear();
    }
    searched_ = pending_.size();
    if (is_at_end_) {
      if (pending_.empty() && !skips_) return std::optional<Line>();
      Line last;
      last.is_too_long = std::exchange(skips_, false);
      last.text = std::exchange(pending_, {});
      searched_ = 0;
      return last;
    }
    const size_t before = pending_.size();
    pending_.resize(before + kReadBytes);
    const ssize_t count = ::read(descriptor_, pending_.data() + before, kReadBytes);
    pending_.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno != EINTR) return fail(os_error(errno, "reading", "standard input"));
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
        return fail(ErrorKind::kTimeout, "stream.slow", "nobody reads what is written");
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
