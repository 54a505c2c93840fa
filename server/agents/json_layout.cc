#include "server/agents/json_layout.h"

#include <algorithm>

#include "base/text.h"

namespace galley {
namespace {

/// Behind the string that begins at `at`; the end of the text where it has none.
size_t end_of_string(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

void blank(std::string& text, size_t begin, size_t end) {
  for (size_t i = begin; i < std::min(end, text.size()); ++i) {
    if (text[i] != '\n' && text[i] != '\r') text[i] = ' ';
  }
}

void blank_comments(std::string& text) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = end_of_string(text, at);
    } else if (text.compare(at, 2, "//") == 0) {
      const size_t end = std::min(text.find('\n', at), text.size());
      blank(text, at, end);
      at = end;
    } else if (text.compare(at, 2, "/*") == 0) {
      const size_t end = text.find("*/", at + 2);
      // One without an end stays, for the parser to complain of.
      if (end == std::string::npos) return;
      blank(text, at, end + 2);
      at = end + 2;
    } else {
      ++at;
    }
  }
}

/// One comma behind an item and before the bracket; more of them, or one alone, are mistakes.
void blank_last_commas(std::string& text) {
  char before = ' ';
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      before = c;
      at = end_of_string(text, at);
      continue;
    }
    if (c == ',' && std::string_view("{[,: ").find(before) == std::string_view::npos) {
      const size_t next = text.find_first_not_of(kPlainSpaces, at + 1);
      const bool is_last = next != std::string::npos && (text[next] == '}' || text[next] == ']');
      if (is_last) text[at] = ' ';
    }
    if (kPlainSpaces.find(c) == std::string_view::npos) before = c;
    ++at;
  }
}

size_t skip_space(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(kPlainSpaces, at), text.size());
}

}  // namespace

std::string plain_json(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string plain(text);
  if (plain.starts_with(kMark)) blank(plain, 0, kMark.size());
  blank_comments(plain);
  blank_last_commas(plain);
  return plain;
}

size_t end_of_value(std::string_view json, size_t at) {
  size_t depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = end_of_string(json, at);
      if (depth == 0) return at;
      continue;
    }
    const bool is_end = c == '}' || c == ']';
    const bool is_between = kPlainSpaces.find(c) != std::string_view::npos;
    if (depth == 0 && (is_end || c == ',' || is_between)) return at;
    if (c == '{' || c == '[') ++depth;
    ++at;
    if (is_end && --depth == 0) return at;
  }
  return json.size();
}

std::vector<JsonItem> items_of(std::string_view json, size_t at) {
  std::vector<JsonItem> items;
  if (at >= json.size()) return items;
  const bool is_object = json[at] == '{';
  at = skip_space(json, at + 1);
  while (at < json.size() && json[at] != '}' && json[at] != ']') {
    JsonItem item;
    item.begin = at;
    if (is_object) {
      const size_t end = end_of_string(json, at);
      item.key = json.substr(at + 1, end - at - 2);
      at = skip_space(json, end);
      at = skip_space(json, at + 1);  // the colon
    }
    item.value = {at, end_of_value(json, at)};
    if (item.value.end <= item.begin) return items;  // no JSON
    at = skip_space(json, item.value.end);
    if (at < json.size() && json[at] == ',') at = skip_space(json, at + 1);
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace galley
