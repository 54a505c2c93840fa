#include "cli/progress.h"

#include <cstdio>
#include <utility>

namespace galley {
namespace {

constexpr std::chrono::milliseconds kShownAfter{500};
constexpr const char* kEraseLine = "\r\033[K";

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Cuts text to one line of the terminal: a longer text could not be erased.
std::string cut(std::string text, size_t columns) {
  if (text.size() < columns) return text;
  size_t end = columns == 0 ? 0 : columns - 1;
  while (end > 0 && is_continuation(text[end])) --end;
  text.resize(end);
  return text;
}

}  // namespace

Progress::~Progress() {
  erase();
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::work_on(std::string text, size_t columns) {
  if (!is_shown_) return;
  {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) begun_ = std::chrono::steady_clock::now();
    text_ = cut(std::move(text), columns);
    if (has_line_) draw();
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { wait_and_show(); });
  changed_.notify_one();
}

void Progress::erase() {
  const std::lock_guard lock(mutex_);
  text_.clear();
  if (has_line_) std::fputs(kEraseLine, stderr);
  has_line_ = false;
}

void Progress::draw() {
  has_line_ = true;
  std::fprintf(stderr, "%s%s", kEraseLine, text_.c_str());
  std::fflush(stderr);
}

void Progress::wait_and_show() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (text_.empty() || has_line_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() - begun_ >= kShownAfter) {
      draw();
    } else {
      changed_.wait_until(lock, begun_ + kShownAfter);
    }
  }
}

}  // namespace galley
