#include "staging/text/userdiff.h"

namespace galley {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class PlainUserDiff final : public UserDiff {
 public:
  [[nodiscard]] std::string_view name() const override { return {}; }
  [[nodiscard]] std::optional<std::string_view> heading(std::string_view line) const override {
    if (line.empty()) return std::nullopt;
    const char first = line.front();
    if (!is_ascii_letter(first) && first != '_' && first != '$') return std::nullopt;
    while (is_space(line.back())) line.remove_suffix(1);
    return line;
  }
};

}  // namespace

const UserDiff& UserDiff::plain() {
  static const PlainUserDiff plain;
  return plain;
}

const UserDiff& UserDiff::for_path(std::string_view /*path*/) { return plain(); }

}  // namespace galley
