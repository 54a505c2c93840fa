#include "server/agents/json_config_entry.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "tools/json_input.h"

namespace galley {

/// An object or array on the way to the entry.
struct JsonConfigEntry::Place {
  size_t at = 0;                ///< of its opening bracket
  std::vector<JsonItem> items;  ///< its contents
};

/// How far the keys of the entry exist in a text.
struct JsonConfigEntry::Found {
  std::string plain;
  std::vector<Place> places;      ///< the root and the existing values of `keys_`, outermost first
  std::vector<JsonItem> members;  ///< the members that lead from each to the next
  std::optional<JsonItem> entry;
};

namespace {

using nlohmann::ordered_json;

Error foreign(const std::string& file, std::string_view text, size_t at, const std::string& what) {
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return {ErrorKind::kRefused, "agents.foreign_entry",
          file + ":" + std::to_string(line + 1) + ": " + what, file, 0};
}

std::string without(const std::string& text, size_t from, size_t to) {
  return text.substr(0, from) + text.substr(to);
}

/// The text without an item, its comma and the white space before it.
std::string without_item(const std::string& text, std::string_view plain, const JsonItem& item) {
  const size_t from = text.find_last_not_of(kPlainSpaces, item.begin - 1) + 1;
  const size_t to = item.value.end;
  const size_t next = plain.find_first_not_of(kPlainSpaces, to);
  if (next != std::string_view::npos && plain[next] == ',') return without(text, from, next + 1);
  const size_t before = plain.find_last_not_of(kPlainSpaces, item.begin - 1);
  if (plain[before] == ',') return without(without(text, from, to), before, before + 1);
  // It was the only item. A trailing comma, which the plain text does not show, is removed too.
  const size_t last = text.find_first_not_of(kPlainSpaces, to);
  const bool has_comma = last != std::string::npos && text[last] == ',';
  return without(text, from, has_comma ? last + 1 : to);
}

std::string pretty(const ordered_json& value, const std::string& indent, const std::string& unit) {
  const bool is_even = unit.find_first_not_of(unit.front()) == std::string::npos;
  const std::string lines =
      is_even ? value.dump(static_cast<int>(unit.size()), unit.front()) : value.dump(2);
  std::string text;
  for (const char c : lines) text += c == '\n' ? "\n" + indent : std::string(1, c);
  return text;
}

/// The white space between the last newline and `at`; nullopt if there is other text.
std::optional<std::string> indent_before(std::string_view text, size_t at) {
  const size_t line = text.rfind('\n', at == 0 ? 0 : at - 1);
  if (line == std::string_view::npos || line >= at) return {};
  const std::string_view indent = text.substr(line + 1, at - line - 1);
  if (!is_blank(indent, kSpaceAndTab)) return {};
  return std::string(indent);
}

/// An object with one member.
ordered_json object_of(const std::string& key, ordered_json value) {
  ordered_json object = ordered_json::object();
  object[key] = std::move(value);
  return object;
}

/// In one line, with a blank after each comma and colon. Our values are three levels deep.
std::string in_one_line(const ordered_json& value) {
  if (!value.is_structured() || value.empty()) return value.dump();
  std::string text;
  for (const auto& [key, item] : value.items()) {
    text += text.empty() ? "" : ", ";
    if (value.is_object()) text += ordered_json(key).dump() + ": ";
    text += in_one_line(item);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

bool JsonConfigEntry::is_ours(std::string_view plain, const TextRange& value) const {
  const auto there = parse_json(plain.substr(value.begin, value.end - value.begin));
  return there && *there == nlohmann::json(value_);
}

std::string hook_of_galley(std::string_view text) {
  constexpr std::string_view kHook = "agent-hook --agent ";
  const size_t at = text.find(kHook);
  if (at == std::string_view::npos) return {};
  const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + kHook.size());
  return std::string(text.substr(at, end - at));
}

Result<JsonConfigEntry::Found> JsonConfigEntry::find(const std::string& text,
                                                     const std::string& file) const {
  Found found;
  found.plain = plain_json(text);
  const auto document = parse_json(found.plain);
  if (!document) {
    return fail(ErrorKind::kInvalid, "agents.configuration",
                file + " cannot be read, and nothing was changed: " + document.error().message,
                file);
  }
  if (!document->is_object()) {
    return fail(ErrorKind::kInvalid, "agents.configuration",
                file + ":1: this is not a JSON object, and nothing was changed", file);
  }
  const std::string_view plain = found.plain;
  size_t at = plain.find('{');
  const size_t depth = is_element_ ? keys_.size() : keys_.size() - 1;
  for (size_t i = 0;; ++i) {
    found.places.push_back({at, items_of(plain, at)});
    const auto& items = found.places.back().items;
    if (i == depth) break;
    const auto next = std::find_if(items.begin(), items.end(),
                                   [&](const JsonItem& item) { return item.key == keys_[i]; });
    if (next == items.end()) return found;
    const char wanted = is_element_ && i + 1 == depth ? '[' : '{';
    if (plain[next->value.begin] != wanted) {
      return foreign(file, text, next->begin,
                     "'" + keys_[i] +
                         "' is not what the agent's documentation says, so nothing "
                         "is added to it; nothing was changed");
    }
    found.members.push_back(*next);
    at = next->value.begin;
  }
  for (const JsonItem& item : found.places.back().items) {
    const bool is_meant = is_element_ ? is_ours(plain, item.value) : item.key == keys_.back();
    if (is_meant) found.entry = item;
  }
  const std::string hook = is_element_ ? hook_of_galley(value_.dump()) : std::string();
  for (const JsonItem& item : found.places.back().items) {
    if (hook.empty() || found.entry) break;
    const std::string_view element = plain.substr(item.begin, item.value.end - item.begin);
    if (hook_of_galley(element) != hook) continue;
    return foreign(file, text, item.begin,
                   "a hook of Galley is here that this command did not write, or it was changed "
                   "since; nothing was changed. Remove it yourself");
  }
  if (found.entry && !is_ours(plain, found.entry->value)) {
    return foreign(file, text, found.entry->begin,
                   "an entry '" + keys_.back() +
                       "' exists, but this command did not write it, or it was changed since; "
                       "nothing was changed. Remove it yourself, or rename it");
  }
  return found;
}

/// The entry, in the missing objects, from the key `known` on. Our braces and brackets have a blank
/// inside, which distinguishes them from existing ones.
std::string JsonConfigEntry::compact(size_t known) const {
  const size_t depth = is_element_ ? keys_.size() : keys_.size() - 1;
  std::string text = in_one_line(value_);
  if (!is_element_) text = ordered_json(keys_.back()).dump() + ": " + text;
  for (size_t i = depth; i > known; --i) {
    const bool is_list = is_element_ && i == depth;
    text = std::string(is_list ? "[ " : "{ ") + text + (is_list ? " ]" : " }");
    text = ordered_json(keys_[i - 1]).dump() + ": " + text;
  }
  return text;
}

/// The same on several lines. The first line is not indented.
std::string JsonConfigEntry::spread(size_t known, const std::string& indent,
                                    const std::string& unit) const {
  ordered_json whole = value_;
  const size_t depth = is_element_ ? keys_.size() : keys_.size() - 1;
  if (is_element_ && depth == known) return pretty(whole, indent, unit);
  if (is_element_) {
    ordered_json list = ordered_json::array();
    list.push_back(std::move(whole));
    whole = std::move(list);
  } else {
    whole = object_of(keys_.back(), std::move(whole));
  }
  for (size_t i = depth; i > known; --i) whole = object_of(keys_[i - 1], std::move(whole));
  // Leave out the braces around the single member.
  const std::string& key = whole.begin().key();
  return ordered_json(key).dump() + ": " + pretty(whole.begin().value(), indent, unit);
}

std::string JsonConfigEntry::addition(const std::string& text, const Found& found) const {
  const size_t known = found.places.size() - 1;
  const Place& place = found.places.back();
  if (place.items.empty()) return compact(known);
  const auto& root = found.places.front().items;
  std::string unit = root.empty() ? "  " : indent_before(text, root.front().begin).value_or("  ");
  if (unit.empty()) unit = "  ";
  std::string indent;
  for (size_t i = 0; i <= known; ++i) indent += unit;
  indent = indent_before(text, place.items.front().begin).value_or(indent);
  std::string added = "\n" + indent + spread(known, indent, unit) + ",";
  if (text.find("\r\n") == std::string::npos) return added;
  std::string lines;
  for (const char c : added) lines += c == '\n' ? "\r\n" : std::string(1, c);
  return lines;
}

Result<std::string> JsonConfigEntry::add(const std::optional<std::string>& text,
                                         const std::string& file) const {
  if (!text) {
    return "{\n  " + spread(0, "  ", "  ") + "\n}\n";
  }
  GALLEY_ASSIGN(const Found found, find(*text, file));
  if (found.entry) return *text;
  const size_t at = found.places.back().at + 1;
  std::string changed = text->substr(0, at) + addition(*text, found) + text->substr(at);
  // Parse the result again, so that an unforeseen case fails here and does not reach the file.
  GALLEY_ASSIGN(const Found again, find(changed, file));
  if (!again.entry) {
    return fail(ErrorKind::kInternal, "agents.not_added",
                file + ": the entry could not be added; nothing was changed", file);
  }
  return changed;
}

Result<std::optional<std::string>> JsonConfigEntry::remove_entry(const std::string& text,
                                                                 const std::string& file) const {
  GALLEY_ASSIGN(const Found found, find(text, file));
  if (!found.entry) return std::optional(text);
  const auto makes_it = [&](const std::optional<std::string>& before) {
    const auto again = add(before, file);
    return again && *again == text;
  };
  if (makes_it({})) return std::optional<std::string>();
  // The outermost object that contains only the entry may have been added with the entry.
  std::vector<JsonItem> candidates = found.members;
  for (size_t i = candidates.size(); i > 0; --i) {
    if (found.places[i].items.size() == 1) continue;
    candidates.erase(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  for (const JsonItem& member : candidates) {
    std::string before = without_item(text, found.plain, member);
    if (makes_it(before)) return std::optional(std::move(before));
  }
  std::string left = without_item(text, found.plain, *found.entry);
  GALLEY_TRY(find(left, file));
  return std::optional(std::move(left));
}

Result<bool> JsonConfigEntry::is_installed_in(const std::string& text,
                                              const std::string& file) const {
  GALLEY_ASSIGN(const Found found, find(text, file));
  return found.entry.has_value();
}

namespace {

/// The position after the string that begins at `at`; the end of the text for an unclosed string.
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
      // An unclosed comment stays, so that the parser reports it.
      if (end == std::string::npos) return;
      blank(text, at, end + 2);
      at = end + 2;
    } else {
      ++at;
    }
  }
}

/// Blanks one comma after an item and before the bracket; several commas, or a lone one, are
/// errors.
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
    if (item.value.end <= item.begin) return items;  // not JSON
    at = skip_space(json, item.value.end);
    if (at < json.size() && json[at] == ',') at = skip_space(json, at + 1);
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace galley
