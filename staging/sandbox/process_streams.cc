#include "staging/sandbox/process_streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <utility>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/nameless_program.h"

namespace galley {

size_t OutputCapture::append(std::string_view piece) {
  const auto to_head = std::min<uint64_t>(piece.size(), head_limit_ - head_.size());
  head_.append(piece.substr(0, to_head));
  piece.remove_prefix(to_head);
  if (piece.size() > tail_limit_) {
    omitted_ += tail_.size() + (piece.size() - tail_limit_);
    piece.remove_prefix(piece.size() - tail_limit_);
    tail_.clear();
    tail_start_ = 0;
  }
  const auto grown = std::min<uint64_t>(piece.size(), tail_limit_ - tail_.size());
  tail_.append(piece.substr(0, grown));
  piece.remove_prefix(grown);
  omitted_ += piece.size();
  for (const char byte : piece) {
    tail_[tail_start_] = byte;
    tail_start_ = (tail_start_ + 1) % tail_.size();
  }
  return to_head;
}

CapturedOutput OutputCapture::finish() && {
  std::rotate(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(tail_start_), tail_.end());
  if (omitted_ == 0) return {head_ + tail_, "", 0};
  return {std::move(head_), std::move(tail_), omitted_};
}

namespace {

/// It is small, so that little is taken from a stream that other processes also read.
constexpr size_t kInputPieceBytes = 4096;

}  // namespace

InputRelay::InputRelay(int descriptor, Fd read_end, Fd write_end)
    : descriptor_(descriptor), read_end_(std::move(read_end)), write_end_(std::move(write_end)) {}

Result<std::shared_ptr<InputRelay>> InputRelay::from(int descriptor) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error(errno, "cannot make a pipe", "");
  let_others_open(ends[0]);
  const Fd first(ends[0]);
  const Fd second(ends[1]);
  Fd read_end = duplicate_high(first.get());
  Fd write_end = duplicate_high(second.get());
  if (!read_end.is_open() || !write_end.is_open() ||
      fcntl(write_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return os_error(errno, "cannot make a pipe", "");
  }
  return std::shared_ptr<InputRelay>(
      new InputRelay(descriptor, std::move(read_end), std::move(write_end)));
}

Result<std::shared_ptr<InputRelay>> InputRelay::fed() { return from(-1); }

InputRelay::~InputRelay() {
  int in_pipe = 0;
  (void)ioctl(read_end_.get(), FIONREAD, &in_pipe);
  // A command can write into the pipe, too. Only bytes that were read here are given back.
  const off_t unread = std::min(static_cast<off_t>(pending_.size()) + in_pipe, taken_);
  if (unread > 0) (void)lseek(descriptor_, -unread, SEEK_CUR);  // not a file: the bytes are lost
}

pollfd InputRelay::wanted() const {
  if (!write_end_.is_open()) return {-1, 0, 0};
  if (pending_.empty()) return {descriptor_, POLLIN, 0};  // poll() skips a -1
  return {write_end_.get(), POLLOUT, 0};
}

void InputRelay::advance(const pollfd& answered) {
  if (answered.revents == 0 || !write_end_.is_open()) return;
  if (pending_.empty()) {
    pending_.resize(kInputPieceBytes);
    const ssize_t got = read(descriptor_, pending_.data(), pending_.size());
    const bool is_over = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
    pending_.resize(got > 0 ? static_cast<size_t>(got) : 0);
    taken_ += static_cast<off_t>(pending_.size());
    if (is_over) write_end_ = Fd();
    return;
  }
  const ssize_t wrote = write(write_end_.get(), pending_.data(), pending_.size());
  if (wrote > 0) pending_.erase(0, static_cast<size_t>(wrote));
  if (pending_.empty() && has_ended_) write_end_ = Fd();
}

void InputRelay::end_input() {
  has_ended_ = true;
  if (pending_.empty()) write_end_ = Fd();
}

}  // namespace galley
