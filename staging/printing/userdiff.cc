#include "staging/printing/userdiff.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "staging/printing/userdiff_patterns.h"

namespace galley {

namespace {

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class PlainUserDiff final : public UserDiff {
 public:
  [[nodiscard]] std::string_view name() const override { return {}; }
  [[nodiscard]] std::optional<std::string_view> heading(std::string_view line,
                                                        size_t limit) const override {
    if (line.empty()) return std::nullopt;
    const char first = line.front();
    if (!is_ascii_letter(first) && first != '_' && first != '$') return std::nullopt;
    line = line.substr(0, limit);
    while (is_plain_space(line.back())) line.remove_suffix(1);
    return line;
  }
};

struct Extension {
  std::string_view extension;  // lower case
  std::string_view driver;
};

// git leaves this table to the user's .gitattributes.
constexpr std::array kExtensions = std::to_array<Extension>({
    {"adb", "ada"},           {"ads", "ada"},     {"bash", "bash"},  {"c", "cpp"},
    {"c++", "cpp"},           {"cc", "cpp"},      {"cpp", "cpp"},    {"cs", "csharp"},
    {"css", "css"},           {"cxx", "cpp"},     {"ex", "elixir"},  {"exs", "elixir"},
    {"go", "golang"},         {"h", "cpp"},       {"h++", "cpp"},    {"hh", "cpp"},
    {"hpp", "cpp"},           {"htm", "html"},    {"html", "html"},  {"hxx", "cpp"},
    {"java", "java"},         {"kt", "kotlin"},   {"kts", "kotlin"}, {"m", "objc"},
    {"markdown", "markdown"}, {"md", "markdown"}, {"mm", "objc"},    {"pas", "pascal"},
    {"php", "php"},           {"pl", "perl"},     {"pm", "perl"},    {"py", "python"},
    {"pyi", "python"},        {"rb", "ruby"},     {"rs", "rust"},    {"scm", "scheme"},
    {"sh", "bash"},           {"ss", "scheme"},   {"tex", "tex"},
});

}  // namespace

const UserDiff& UserDiff::plain() {
  static const PlainUserDiff plain;
  return plain;
}

const UserDiff& UserDiff::for_path(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return plain();
  const std::string extension = to_lower(name.substr(dot + 1));
  const auto* const found =
      std::find_if(kExtensions.begin(), kExtensions.end(),
                   [&](const Extension& known) { return known.extension == extension; });
  if (found == kExtensions.end()) return plain();
  const UserDiff* driver = pattern_driver(found->driver);
  return driver != nullptr ? *driver : plain();
}

}  // namespace galley
