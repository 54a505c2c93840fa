#include "staging/formats/json_extent.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "base/text.h"

namespace galley {
namespace {

constexpr std::array<std::string_view, 8> kFirstKeys = {"path", "file_path", "edits",   "content",
                                                        "tool", "args",      "call_id", "reason"};
/// The most white space before the first key.
constexpr size_t kMaxLead = 64;

/// The end of the string whose opening quote is at `at`: the byte after its closing quote.
size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size() + 1;
}

bool begins_with_a_key(std::string_view text, size_t begin) {
  size_t at = begin;
  const size_t last = std::min(text.size(), begin + kMaxLead);
  while (at < last && (is_plain_space(text[at]) || text[at] == '[' || text[at] == '{')) ++at;
  if (at >= last || text[at] != '"') return false;
  const std::string_view rest = text.substr(at + 1);
  return std::any_of(kFirstKeys.begin(), kFirstKeys.end(), [&](std::string_view key) {
    return rest.starts_with(key) && rest.substr(key.size()).starts_with('"');
  });
}

/// Collects the keys of the document's object, or of the objects in its array.
class Keys {
 public:
  void add(std::string_view key) {
    for (const std::string_view known : kFirstKeys) {
      if (key == known) found_.insert(known);
    }
  }

  [[nodiscard]] EditFormat format() const {
    if (has("tool")) return EditFormat::kCalls;
    const bool is_edit = (has("path") || has("file_path")) && (has("edits") || has("content"));
    return is_edit ? EditFormat::kEdits : EditFormat::kAuto;
  }

 private:
  [[nodiscard]] bool has(std::string_view key) const { return found_.count(key) > 0; }

  std::set<std::string_view> found_;
};

}  // namespace

std::optional<JsonExtent> json_edit_at(std::string_view text, size_t begin) {
  if (begin >= text.size() || (text[begin] != '{' && text[begin] != '[')) return std::nullopt;
  if (!begins_with_a_key(text, begin)) return std::nullopt;
  const size_t key_depth = text[begin] == '{' ? 1 : 2;
  Keys keys;
  size_t depth = 0;
  for (size_t at = begin; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const size_t end = string_end(text, at);
      if (end > text.size()) break;
      size_t after = end;
      while (after < text.size() && is_plain_space(text[after])) ++after;
      const bool is_key = depth == key_depth && after < text.size() && text[after] == ':';
      if (is_key) keys.add(text.substr(at + 1, end - at - 2));
      at = end;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0) return JsonExtent{keys.format(), at, false};
  }
  const EditFormat format = keys.format();
  return JsonExtent{format == EditFormat::kAuto ? EditFormat::kEdits : format, text.size(), true};
}

}  // namespace galley
