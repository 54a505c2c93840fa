// The JSON of edits and tool calls in an answer.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "base/text.h"
#include "staging/formats/answer.h"

namespace galley {
namespace {

using KnownKeys = std::span<const std::string_view>;
constexpr std::array<std::string_view, 8> kEditKeys = {"path", "file_path", "edits",   "content",
                                                       "tool", "args",      "call_id", "reason"};
constexpr std::array<std::string_view, 11> kRawCallKeys = {
    "name",       "arguments", "parameters", "input",        "function",  "function_call",
    "tool_calls", "type",      "id",         "functionCall", "candidates"};
/// Maximum number of white space bytes before the first key.
constexpr size_t kMaxLead = 64;

/// Returns the byte after the closing quote of the string whose opening quote is at `at`.
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

bool begins_with_a_key(std::string_view text, size_t begin, KnownKeys known) {
  size_t at = begin;
  const size_t last = std::min(text.size(), begin + kMaxLead);
  while (at < last && (is_plain_space(text[at]) || text[at] == '[' || text[at] == '{')) ++at;
  if (at >= last || text[at] != '"') return false;
  const std::string_view rest = text.substr(at + 1);
  return std::any_of(known.begin(), known.end(), [&](std::string_view key) {
    return rest.starts_with(key) && rest.substr(key.size()).starts_with('"');
  });
}

/// The known keys of the document's object, or of the objects in its array.
struct KeyScan {
  std::set<std::string_view> keys;
  size_t end = 0;
  bool is_cut_off = false;

  [[nodiscard]] bool has(std::string_view key) const { return keys.count(key) > 0; }
};

/// Reads the document that begins at byte `begin`, if its first key is one of `known`.
std::optional<KeyScan> scan_keys(std::string_view text, size_t begin, KnownKeys known) {
  if (begin >= text.size() || (text[begin] != '{' && text[begin] != '[')) return std::nullopt;
  if (!begins_with_a_key(text, begin, known)) return std::nullopt;
  const size_t key_depth = text[begin] == '{' ? 1 : 2;
  KeyScan scan;
  size_t depth = 0;
  for (size_t at = begin; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const size_t end = string_end(text, at);
      if (end > text.size()) break;
      size_t after = end;
      while (after < text.size() && is_plain_space(text[after])) ++after;
      const bool is_key = depth == key_depth && after < text.size() && text[after] == ':';
      const auto key = std::find(known.begin(), known.end(), text.substr(at + 1, end - at - 2));
      if (is_key && key != known.end()) scan.keys.insert(*key);
      at = end;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0) {
      scan.end = at;
      return scan;
    }
  }
  scan.end = text.size();
  scan.is_cut_off = true;
  return scan;
}

}  // namespace

std::optional<JsonExtent> json_edit_at(std::string_view text, size_t begin) {
  const auto scan = scan_keys(text, begin, kEditKeys);
  if (!scan) return std::nullopt;
  const bool is_edit =
      (scan->has("path") || scan->has("file_path")) && (scan->has("edits") || scan->has("content"));
  const EditFormat format = scan->has("tool")             ? EditFormat::kCalls
                            : is_edit || scan->is_cut_off ? EditFormat::kEdits
                                                          : EditFormat::kAuto;
  return JsonExtent{format, scan->end, scan->is_cut_off};
}

std::optional<JsonExtent> raw_call_at(std::string_view text, size_t begin) {
  const auto scan = scan_keys(text, begin, kRawCallKeys);
  if (!scan) return std::nullopt;
  const bool has_arguments =
      scan->has("arguments") || scan->has("parameters") || scan->has("input");
  const bool is_call = (scan->has("name") && has_arguments) || scan->has("tool_calls") ||
                       scan->has("functionCall") || scan->has("function_call") ||
                       scan->has("candidates") ||
                       (scan->has("function") && (scan->has("type") || scan->has("id")));
  return JsonExtent{is_call ? EditFormat::kCalls : EditFormat::kAuto, scan->end, scan->is_cut_off};
}

}  // namespace galley
