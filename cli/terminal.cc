#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/printable.h"

namespace galley {
namespace {

constexpr size_t kDefaultWidth = 80;
constexpr std::string_view kRed = "\033[31m";
constexpr std::string_view kReset = "\033[m";
constexpr std::chrono::milliseconds kShowAfter{500};

bool wants_color(ColorWhen when, bool is_terminal) {
  if (when != ColorWhen::kAuto) return when == ColorWhen::kAlways;
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: any non-empty value
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return is_terminal && (term == nullptr || std::string_view(term) != "dumb");
}

/// $GALLEY_PAGER, $PAGER, or less; an empty one or `cat` means none.
std::vector<std::string> pager_command() {
  const char* own = std::getenv("GALLEY_PAGER");
  const char* shared = std::getenv("PAGER");
  const std::string command = own != nullptr ? own : (shared != nullptr ? shared : "less");
  if (command.empty() || command == "cat") return {};
  if (command == "less") return {"less", "-FRX"};
  return {"sh", "-c", command};
}

winsize window() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

Terminal::Terminal(const Options& options)
    : options_(options),
      is_terminal_(::isatty(STDOUT_FILENO) == 1),
      is_error_terminal_(::isatty(STDERR_FILENO) == 1),
      has_color_(!options.is_json && wants_color(options.color, is_terminal_)),
      has_error_color_(wants_color(options.color, is_error_terminal_)) {}

size_t Terminal::width() const {
  const size_t columns = is_terminal_ ? window().ws_col : 0;
  return columns == 0 ? kDefaultWidth : columns;
}

bool Terminal::is_longer_than_screen(std::string_view text) const {
  const auto rows = static_cast<std::ptrdiff_t>(window().ws_row);
  return rows > 0 && std::count(text.begin(), text.end(), '\n') >= rows;
}

void Terminal::print(std::string_view text) {
  if (is_terminal_ && !options_.is_json && pager_ == nullptr && is_longer_than_screen(text)) {
    const auto command = options_.has_pager ? pager_command() : std::vector<std::string>();
    if (!command.empty()) {
      std::fflush(stdout);
      auto started = HostProcess::start(command);
      if (started) pager_ = *std::move(started);
    }
  }
  if (pager_ != nullptr) {
    (void)pager_->write(text);
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Terminal::talk(std::string_view text) {
  std::fflush(stdout);  // both may be one pipe: keep the order in which things were said
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Terminal::say(std::string_view line) {
  talk(line);
  if (!line.ends_with('\n')) talk("\n");
}

std::string Terminal::content(std::string_view bytes) const {
  if (!escapes()) return std::string(bytes);
  std::string out;
  append_printable(bytes, has_color_, out);
  return out;
}

void Terminal::complain(std::string_view line) {
  const std::string text = indented(line);
  const std::string_view on = has_error_color_ ? kRed : "";
  const std::string_view off = has_error_color_ ? kReset : "";
  std::fprintf(stderr, "%.*sgalley:%.*s %.*s\n", static_cast<int>(on.size()), on.data(),
               static_cast<int>(off.size()), off.data(), static_cast<int>(text.size()),
               text.data());
}

bool Terminal::finish() {
  if (pager_ != nullptr) {
    (void)pager_->wait();
    pager_.reset();
  }
  std::fflush(stdout);
  return std::ferror(stdout) == 0;  // of any write since the start
}

std::string indented(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    out.push_back(c);
    if (c == '\n') out += "  ";
  }
  return out;
}

Progress::~Progress() {
  if (has_line_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::string_view text) {
  if (!is_shown_ || std::chrono::steady_clock::now() - begun_ < kShowAfter) return;
  has_line_ = true;
  std::fprintf(stderr, "\r\033[K%.*s", static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
}

}  // namespace galley
