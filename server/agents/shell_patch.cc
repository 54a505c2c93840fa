#include "server/agents/shell_patch.h"

#include <algorithm>

#include "base/shell_word.h"
#include "base/text.h"

namespace galley {
namespace {

/// Reads a command from its beginning; stays in place at text it does not understand.
class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : rest_(text) {}

  void skip(std::string_view characters) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  /// A word of plain characters, or one in single quotes, with its meaning for a shell.
  std::optional<std::string> word() {
    if (take("'")) {
      const size_t end = rest_.find('\'');
      if (end == std::string_view::npos) return {};
      std::string text(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return is_over_or(kPlainSpaces) ? std::optional(text) : std::nullopt;
    }
    const size_t end = std::min(rest_.find_first_not_of(kPlainInShell), rest_.size());
    if (end == 0) return {};
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return is_over_or(kPlainSpaces) ? std::optional(text) : std::nullopt;
  }
  [[nodiscard]] bool is_over_or(std::string_view characters) const {
    return rest_.empty() || characters.find(rest_.front()) != std::string_view::npos;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// The word after `<<`; only a quoted one leaves the text unexpanded.
std::optional<std::string> delimiter(ShellReader& reader) {
  const bool is_double = reader.take("\"");
  const bool is_single = !is_double && reader.take("'");
  if (!is_double && !is_single) return {};
  const size_t end = reader.rest().find(is_double ? '"' : '\'');
  if (end == std::string_view::npos || end == 0) return {};
  std::string name(reader.rest().substr(0, end));
  if (name.find_first_not_of(kPlainInShell) != std::string::npos) return {};
  reader.take(name);
  reader.take(is_double ? "\"" : "'");
  return name;
}

/// The text before the delimiter line, if nothing follows that line.
std::optional<std::string> here_document(std::string_view text, const std::string& name) {
  size_t line = 0;
  while (line < text.size()) {
    const size_t end = std::min(text.find('\n', line), text.size());
    if (text.substr(line, end - line) == name) {
      const bool is_last = text.find_first_not_of(kPlainSpaces, end) == std::string_view::npos;
      return is_last ? std::optional(std::string(text.substr(0, line))) : std::nullopt;
    }
    line = end + 1;
  }
  return {};
}

}  // namespace

std::optional<ShellPatch> patch_in_shell_command(std::string_view command) {
  ShellReader reader(command);
  ShellPatch found;
  reader.skip(kPlainSpaces);
  if (reader.take("cd ")) {
    reader.skip(kSpaceAndTab);
    const auto directory = reader.word();
    if (!directory || directory->empty() || directory->front() == '-') return {};
    found.directory = *directory;
    reader.skip(kSpaceAndTab);
    if (!reader.take("&&")) return {};
    reader.skip(kPlainSpaces);
  }
  if (!reader.take("apply_patch") && !reader.take("applypatch")) return {};
  if (!reader.is_over_or(" \t<")) return {};
  reader.skip(kSpaceAndTab);
  if (reader.take("<<")) {
    reader.skip(kSpaceAndTab);
    const auto name = delimiter(reader);
    if (!name) return {};
    reader.skip(kSpaceAndTab);
    if (!reader.take("\n")) return {};
    const auto patch = here_document(reader.rest(), *name);
    if (!patch) return {};
    found.patch = *patch;
    return found;
  }
  if (!reader.rest().starts_with('\'')) return {};
  const auto patch = reader.word();
  if (!patch || reader.rest().find_first_not_of(kPlainSpaces) != std::string_view::npos) return {};
  found.patch = *patch;
  return found;
}

}  // namespace galley
