#include "cli/progress.h"

#include <cstdio>
#include <string_view>
#include <utility>

namespace galley {
namespace {

constexpr std::chrono::milliseconds kShownAfter{500};
/// The time is shown from here on, and then every second.
constexpr std::chrono::seconds kTimedAfter{2};
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

/// The part that does not change with the progress: "validators" of "validators: 1 of 2 done".
std::string_view kind_of(std::string_view text) { return text.substr(0, text.find(':')); }

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
    if (kind_of(text_) != kind_of(text)) begun_ = std::chrono::steady_clock::now();
    text_ = std::move(text);
    columns_ = columns;
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

std::chrono::seconds Progress::elapsed() const {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now() - begun_);
}

void Progress::draw() {
  has_line_ = true;
  std::string line = text_;
  if (elapsed() >= kTimedAfter) line += ", " + std::to_string(elapsed().count()) + " s";
  std::fprintf(stderr, "%s%s", kEraseLine, cut(std::move(line), columns_).c_str());
  std::fflush(stderr);
}

void Progress::wait_and_show() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (text_.empty()) {
      changed_.wait(lock);
    } else if (has_line_) {
      const auto next = begun_ + elapsed() + std::chrono::seconds(1);
      if (changed_.wait_until(lock, next) == std::cv_status::timeout && has_line_) draw();
    } else if (std::chrono::steady_clock::now() - begun_ >= kShownAfter) {
      draw();
    } else {
      changed_.wait_until(lock, begun_ + kShownAfter);
    }
  }
}

}  // namespace galley
