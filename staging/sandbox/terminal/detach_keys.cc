#include "staging/sandbox/terminal/detach_keys.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace galley {
namespace {

constexpr char kControlBits = 0x1f;

tl::unexpected<Error> no_keys(std::string_view text, const std::string& why) {
  return fail(ErrorKind::kUsage, "run.detach_keys",
              "--detach-keys cannot be '" + std::string(text) + "': " + why +
                  "; write it as ctrl-p,ctrl-q, or none");
}

/// The byte of one key; nothing if the text is not a key.
std::optional<char> byte_of(std::string_view key) {
  constexpr std::string_view kControl = "ctrl-";
  constexpr std::string_view kControlled = "abcdefghijklmnopqrstuvwxyz@[\\]^_";
  if (key.size() == 1 && key.front() > ' ' && key.front() <= '~') return key.front();
  const bool is_control = key.starts_with(kControl) && key.size() == kControl.size() + 1 &&
                          kControlled.find(key.back()) != std::string_view::npos;
  if (!is_control) return std::nullopt;
  return static_cast<char>(key.back() & kControlBits);
}

/// Reads a number from the front of a text. Returns `otherwise` if the text does not begin with a
/// digit.
int take_number(std::string_view& text, int otherwise) {
  int number = otherwise;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

Result<DetachKeys> DetachKeys::parse(std::string_view text) {
  DetachKeys keys;
  if (text == "none") return keys;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const auto byte = byte_of(rest.substr(0, comma));
    if (!byte) return no_keys(text, "there is no key '" + std::string(rest.substr(0, comma)) + "'");
    keys.keys_.push_back(*byte);
    if (comma == std::string_view::npos) return keys;
    rest.remove_prefix(comma + 1);
  }
}

/// One byte, or a complete CSI <code>[:...] ; <modifiers>[:<event>] [; <text>] u.
DetachKeys::Key DetachKeys::next_key(std::string_view typed) {
  constexpr std::string_view kStart = "\x1b[";
  constexpr int kPlain = 1;  // the protocol adds one to modifiers
  constexpr int kControl = 4;
  constexpr int kLocks = 64 | 128;
  constexpr int kRelease = 3;
  const Key byte{std::string(typed.substr(0, 1)), static_cast<unsigned char>(typed.front()), false};
  if (!typed.starts_with(kStart)) return byte;
  const size_t end = typed.find_first_not_of("0123456789:;", kStart.size());
  if (end == std::string_view::npos || typed[end] != 'u') return byte;
  std::string_view rest = typed.substr(kStart.size(), end - kStart.size());
  Key key{std::string(typed.substr(0, end + 1)), -1, false};
  const int code = take_number(rest, -1);
  rest.remove_prefix(std::min(rest.find(';'), rest.size()));
  if (!rest.empty()) rest.remove_prefix(1);
  const int modifiers = (take_number(rest, kPlain) - kPlain) & ~kLocks;
  if (rest.starts_with(':')) rest.remove_prefix(1);
  key.is_release = take_number(rest, 0) == kRelease;
  constexpr int kLastByte = 0x7f;
  const bool has_byte = code >= 0 && code <= kLastByte;
  if (has_byte && modifiers == 0) key.code = code;
  if (has_byte && modifiers == kControl) key.code = code & kControlBits;
  return key;
}

size_t DetachKeys::pressed() const {
  return static_cast<size_t>(
      std::count_if(held_.begin(), held_.end(), [](const Key& key) { return !key.is_release; }));
}

bool DetachKeys::may_become_ours() const {
  if (held_.front().is_release) return false;
  size_t at = 0;
  for (const Key& key : held_) {
    if (key.is_release) continue;
    if (key.code != static_cast<unsigned char>(keys_[at++])) return false;
  }
  return true;
}

DetachKeys::Typed DetachKeys::take(std::string_view typed) {
  if (keys_.empty()) return {std::string(typed), false};
  Typed result;
  while (!typed.empty()) {
    held_.push_back(next_key(typed));
    typed.remove_prefix(held_.back().bytes.size());
    while (!held_.empty() && !may_become_ours()) {
      result.passed += held_.front().bytes;
      held_.erase(held_.begin());
    }
    if (pressed() < keys_.size()) continue;
    held_.clear();
    result.detaches = true;
    return result;
  }
  return result;
}

}  // namespace galley
