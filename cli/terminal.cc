#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/printable.h"

namespace galley {
namespace {

constexpr size_t kDefaultWidth = 80;
constexpr std::string_view kErrorColor = "\033[31m";
constexpr std::string_view kPlainColor = "\033[m";

bool wants_color(ColorWhen when, bool is_terminal) {
  if (when != ColorWhen::kAuto) return when == ColorWhen::kAlways;
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: any non-empty value
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return is_terminal && (term == nullptr || std::string_view(term) != "dumb");
}

/// Returns $GALLEY_PAGER, $PAGER, or less. An empty value or `cat` means no pager.
std::string pager_line() {
  const char* own = std::getenv("GALLEY_PAGER");
  const char* shared = std::getenv("PAGER");
  const std::string line = own != nullptr ? own : (shared != nullptr ? shared : "less");
  return line == "cat" ? std::string() : line;
}

/// Whether the terminal supports links, by its environment variables. Most others set none of
/// these.
bool knows_links() {
  constexpr long kFirstVte = 5000;  // 0.50
  const char* vte = std::getenv("VTE_VERSION");
  if (vte != nullptr && std::strtol(vte, nullptr, 10) >= kFirstVte) return true;
  constexpr std::array<const char*, 7> kNames = {
      "TERM_PROGRAM", "WT_SESSION",          "KITTY_WINDOW_ID", "KONSOLE_VERSION",
      "WEZTERM_PANE", "ALACRITTY_WINDOW_ID", "DOMTERM"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
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
      is_input_terminal_(::isatty(STDIN_FILENO) == 1),
      is_error_terminal_(::isatty(STDERR_FILENO) == 1),
      has_color_(!options.is_json && wants_color(options.color, is_terminal_)),
      has_error_color_(wants_color(options.color, is_error_terminal_)),
      progress_(is_error_terminal_ && !options.is_json && !options.is_quiet) {}

bool Terminal::has_links(std::string_view when) const {
  if (when != "auto" || options_.is_json) return when == "always" && !options_.is_json;
  // Pagers other than less may print links as raw characters.
  return has_color_ && is_terminal_ && knows_links() &&
         (!options_.has_pager || pager_line().empty() || pager_line() == "less");
}

size_t Terminal::width() const {
  const size_t columns = is_terminal_ ? window().ws_col : 0;
  return columns == 0 ? kDefaultWidth : columns;
}

bool Terminal::is_longer_than_screen(std::string_view text) const {
  const auto rows = static_cast<std::ptrdiff_t>(window().ws_row);
  return rows > 0 && std::count(text.begin(), text.end(), '\n') >= rows;
}

std::unique_ptr<HostProcess> Terminal::start_pager(const std::string& device) const {
  const std::string line = options_.has_pager ? pager_line() : std::string();
  if (line.empty() || !check_line_outside(line, workspace_)) return nullptr;
  HostProcessOptions options;
  options.output = device;
  auto started = line == "less" ? HostProcess::start({"less", "-FRX"}, options)
                                : HostProcess::start({"sh", "-c", line}, options);
  return started ? *std::move(started) : nullptr;
}

void Terminal::print(std::string_view text, bool pages) {
  progress_.erase();
  if (pages && is_terminal_ && !options_.is_json && !pager_ && is_longer_than_screen(text)) {
    std::fflush(stdout);
    pager_ = start_pager("");
  }
  if (pager_ != nullptr) {
    (void)pager_->write(text);
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Terminal::work_on(std::string text) { progress_.work_on(std::move(text), width()); }

void Terminal::release_terminal() {
  progress_.erase();
  if (pager_ != nullptr) (void)pager_->wait();
  pager_.reset();
  std::fflush(stdout);
}

void Terminal::print_message(std::string_view text) {
  release_terminal();  // keep the order: both streams may be the same pipe or screen
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Terminal::say(std::string_view line) {
  print_message(line);
  if (!line.ends_with('\n')) print_message("\n");
}

std::string Terminal::content(std::string_view bytes) const {
  if (!escapes()) return std::string(bytes);
  std::string out;
  append_printable(bytes, has_color_, out);
  return out;
}

void Terminal::print_error(std::string_view line) {
  release_terminal();
  const std::string text = indented(line);
  const std::string_view on = has_error_color_ ? kErrorColor : "";
  const std::string_view off = has_error_color_ ? kPlainColor : "";
  std::fprintf(stderr, "%.*sgalley:%.*s %.*s\n", static_cast<int>(on.size()), on.data(),
               static_cast<int>(off.size()), off.data(), static_cast<int>(text.size()),
               text.data());
}

bool Terminal::finish() {
  release_terminal();
  return has_no_reader_ || std::ferror(stdout) == 0;  // of any earlier write
}

std::string indented(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    out.push_back(c);
    if (c == '\n') out += "  ";
  }
  return out;
}

}  // namespace galley
