#include "staging/text/fold.h"

#include <algorithm>

#include "staging/text/lines.h"

namespace galley {
namespace {

bool is_line_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && is_line_space(line.back())) line.remove_suffix(1);
  while (!line.empty() && is_line_space(line.front())) line.remove_prefix(1);
  return line;
}

bool has_inner_run(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\t' || (text[i] == ' ' && i + 1 < text.size() && is_line_space(text[i + 1]))) {
      return true;
    }
  }
  return false;
}

void append_collapsed(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (!is_line_space(c)) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
}

std::string without_typography(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto [kin, length] = ascii_equivalent(text.substr(i));
    out.push_back(length > 0 ? kin : text[i]);
    i += std::max<size_t>(length, 1);
  }
  return out;
}

bool is_all(std::string_view text, char c) {
  return std::all_of(text.begin(), text.end(), [c](char x) { return x == c; });
}

}  // namespace

std::pair<char, size_t> ascii_equivalent(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.size() >= 2 && byte(0) == 0xC2 && byte(1) == 0xA0) return {' ', 2};  // U+00A0
  if (text.size() < 3) return {0, 0};
  if (byte(0) == 0xE2 && byte(1) == 0x80) {
    const unsigned char last = byte(2);
    if (last >= 0x82 && last <= 0x8A) return {' ', 3};   // U+2002-200A
    if (last >= 0x90 && last <= 0x95) return {'-', 3};   // U+2010-2015
    if (last >= 0x98 && last <= 0x9B) return {'\'', 3};  // U+2018-201B
    if (last >= 0x9C && last <= 0x9F) return {'"', 3};   // U+201C-201F
    if (last == 0xAF) return {' ', 3};                   // U+202F
  }
  if (byte(0) == 0xE2 && byte(1) == 0x88 && byte(2) == 0x92) return {'-', 3};  // U+2212
  if (byte(0) == 0xE2 && byte(1) == 0x81 && byte(2) == 0x9F) return {' ', 3};  // U+205F
  if (byte(0) == 0xE3 && byte(1) == 0x80 && byte(2) == 0x80) return {' ', 3};  // U+3000
  return {0, 0};
}

std::string_view folded(std::string_view line, LineFolding fold, std::string& storage) {
  if (fold == LineFolding::kBytes) return line;
  if (fold == LineFolding::kLineEnds) return without_terminator(line);
  std::string_view text = trimmed(line);
  const bool has_high = std::any_of(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (fold == LineFolding::kTypography && has_high) {
    const std::string plain = without_typography(text);
    storage.clear();
    append_collapsed(plain, storage);
    return storage;
  }
  if (!has_inner_run(text)) return text;
  storage.clear();
  append_collapsed(text, storage);
  return storage;
}

bool is_telling_line(std::string_view line) {
  return std::any_of(line.begin(), line.end(), is_word);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && is_word(line[end])) ++end;
    if (end > i) words.push_back(line.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return words;
}

std::string_view indent_of(std::string_view line) {
  const size_t end = line.find_first_not_of(" \t");
  return line.substr(0, std::min(end, line.size()));
}

std::string_view terminator_of(std::string_view line) {
  if (line.ends_with("\r\n")) return line.substr(line.size() - 2);
  if (line.ends_with('\n') || line.ends_with('\r')) return line.substr(line.size() - 1);
  return {};
}

void IndentMap::add(std::string_view pattern_line, std::string_view file_line) {
  if (trimmed(pattern_line).empty()) return;
  if (const auto kin = ascii_equivalent(trimmed(pattern_line)); kin.first == ' ') return;
  const std::string_view from = indent_of(pattern_line);
  const std::string_view to = indent_of(file_line);
  for (const auto& [known_from, known_to] : pairs_) {
    if (known_from == from) {
      if (known_to != to) has_conflict_ = true;
      return;
    }
  }
  pairs_.emplace_back(from, to);
}

bool IndentMap::is_identity() const {
  return !has_conflict_ && std::all_of(pairs_.begin(), pairs_.end(),
                                       [](const auto& p) { return p.first == p.second; });
}

std::optional<std::string> IndentMap::added_prefix() const {
  if (pairs_.empty() || has_conflict_) return std::nullopt;
  const auto& [from, to] = pairs_.front();
  if (to.size() < from.size() || !to.ends_with(from)) return std::nullopt;
  const std::string prefix = to.substr(0, to.size() - from.size());
  for (const auto& [f, t] : pairs_) {
    if (t != prefix + f) return std::nullopt;
  }
  return prefix;
}

std::optional<std::string> IndentMap::removed_prefix() const {
  if (pairs_.empty() || has_conflict_) return std::nullopt;
  const auto& [from, to] = pairs_.front();
  if (from.size() < to.size() || !from.ends_with(to)) return std::nullopt;
  const std::string prefix = from.substr(0, from.size() - to.size());
  for (const auto& [f, t] : pairs_) {
    if (f != prefix + t) return std::nullopt;
  }
  return prefix;
}

size_t IndentMap::tab_ratio(bool to_tabs) const {
  if (has_conflict_) return 0;
  size_t ratio = 0;
  for (const auto& [from, to] : pairs_) {
    const std::string& blanks = to_tabs ? from : to;
    const std::string& tabs = to_tabs ? to : from;
    if (!is_all(blanks, ' ') || !is_all(tabs, '\t')) return 0;
    if (blanks.empty() != tabs.empty()) return 0;
    if (tabs.empty()) continue;
    if (blanks.size() % tabs.size() != 0) return 0;
    const size_t here = blanks.size() / tabs.size();
    if (ratio != 0 && ratio != here) return 0;
    ratio = here;
  }
  return ratio;
}

bool IndentMap::is_uniform() const {
  return is_identity() || added_prefix() || removed_prefix() || tab_ratio(true) > 0 ||
         tab_ratio(false) > 0;
}

std::string IndentMap::carry(std::string_view line) const {
  if (is_identity()) return std::string(line);
  if (trimmed(line).empty()) {
    const auto prefix = removed_prefix();
    return std::string(prefix && line.starts_with(*prefix) ? line.substr(prefix->size()) : line);
  }
  const std::string_view indent = indent_of(line);
  const std::string rest(line.substr(indent.size()));
  if (const auto prefix = added_prefix()) return *prefix + std::string(line);
  if (const auto prefix = removed_prefix()) {
    return std::string(line.starts_with(*prefix) ? line.substr(prefix->size()) : line);
  }
  if (const size_t ratio = tab_ratio(true); ratio > 0 && is_all(indent, ' ')) {
    return std::string(indent.size() / ratio, '\t') + std::string(indent.size() % ratio, ' ') +
           rest;
  }
  if (const size_t ratio = tab_ratio(false); ratio > 0 && is_all(indent, '\t')) {
    return std::string(indent.size() * ratio, ' ') + rest;
  }
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& pair : pairs_) {
    if (indent.starts_with(pair.first) && (!best || pair.first.size() > best->first.size())) {
      best = &pair;
    }
  }
  if (best == nullptr) return std::string(line);
  return best->second + std::string(indent.substr(best->first.size())) + rest;
}

std::string IndentMap::describe() const {
  if (is_identity()) return {};
  if (const auto prefix = added_prefix()) return "+" + *prefix;
  if (const auto prefix = removed_prefix()) return "-" + *prefix;
  return {};
}

}  // namespace galley
