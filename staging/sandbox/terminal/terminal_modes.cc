#include "staging/sandbox/terminal/terminal_modes.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace galley {
namespace {

constexpr char kEscape = '\x1b';
constexpr size_t kMaxSequenceBytes = 64;
constexpr int kCursor = 25;  // on by default
/// Application keys, alternate screens, the mouse, focus, pasted text.
constexpr std::array kKnown = {1,    9,    kCursor, 47,   1000, 1002, 1003,
                               1004, 1005, 1006,    1015, 1047, 1049, 2004};

}  // namespace

void TerminalModes::see(std::string_view output) {
  for (const char byte : output) {
    if (byte == kEscape) {
      sequence_ = byte;
      continue;
    }
    if (sequence_.empty()) continue;
    sequence_ += byte;
    const bool is_start = sequence_.size() == 2;
    const bool is_last = !is_start && byte >= '@' && byte <= '~';
    if (is_last) take(std::string_view(sequence_).substr(2, sequence_.size() - 3), byte);
    const bool is_none = is_start && byte != '[';
    if (is_last || is_none || sequence_.size() > kMaxSequenceBytes) sequence_.clear();
  }
}

void TerminalModes::take(std::string_view body, char last) {
  const char mark = body.empty() ? '\0' : body.front();
  if (last == 'u' && mark == '>') ++keyboards_;
  const bool sets = mark == '?' && (last == 'h' || last == 'l');
  const bool pops = mark == '<' && last == 'u';
  if (!sets && !pops) return;
  body.remove_prefix(1);
  int number = 1;
  if (pops) {
    (void)std::from_chars(body.data(), body.data() + body.size(), number);
    keyboards_ -= std::clamp(number, 0, keyboards_);
    return;
  }
  while (!body.empty()) {
    number = 0;
    (void)std::from_chars(body.data(), body.data() + body.size(), number);
    body.remove_prefix(std::min(body.find(';'), body.size() - 1) + 1);
    if (std::find(kKnown.begin(), kKnown.end(), number) == kKnown.end()) continue;
    if ((last == 'h') != (number == kCursor)) {
      changed_.insert(number);
    } else {
      changed_.erase(number);
    }
  }
}

std::string TerminalModes::restore() const {
  std::string text;
  if (keyboards_ > 0) text += "\x1b[<" + std::to_string(keyboards_) + "u";
  for (const int mode : changed_) {
    text += "\x1b[?" + std::to_string(mode) + (mode == kCursor ? "h" : "l");
  }
  return text.empty() ? text : text + "\x1b[0m";
}

}  // namespace galley
