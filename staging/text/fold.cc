#include "staging/text/fold.h"

#include <algorithm>
#include <iterator>

#include "base/contains.h"
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

/// The white space at the start of a line, typographic blanks included.
std::string_view wide_indent_of(std::string_view line) {
  size_t end = 0;
  while (end < line.size()) {
    const auto [kin, length] = ascii_equivalent(line.substr(end));
    const bool is_plain = line[end] == ' ' || line[end] == '\t';
    if (!is_plain && (length == 0 || kin != ' ')) break;
    end += std::max<size_t>(length, 1);
  }
  return line.substr(0, end);
}

/// The characters of an indentation.
std::vector<std::string_view> signs_of(std::string_view indent) {
  std::vector<std::string_view> out;
  while (!indent.empty()) {
    out.push_back(indent.substr(0, std::max<size_t>(ascii_equivalent(indent).second, 1)));
    indent.remove_prefix(out.back().size());
  }
  return out;
}

bool is_all(std::string_view text, char c) {
  return std::ranges::all_of(text, [c](char x) { return x == c; });
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
  if (fold == LineFolding::kNoBlanks) {
    storage.clear();
    std::ranges::copy_if(line, std::back_inserter(storage),
                         [](char c) { return !is_line_space(c); });
    return storage;
  }
  std::string_view text = trimmed(line);
  const bool has_high =
      std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
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

bool is_telling_line(std::string_view line) { return std::ranges::any_of(line, is_word); }

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
  const std::string_view from = wide_indent_of(pattern_line);
  const std::string_view to = wide_indent_of(file_line);
  if (trimmed(pattern_line.substr(from.size())).empty()) return;
  for (Pair& known : pairs_) {
    if (known.pattern == from) {
      known.is_open = known.is_open || known.second != to;
      has_conflict_ = has_conflict_ || known.is_open;
      return;
    }
  }
  pairs_.push_back({std::string(from), std::string(from), std::string(to), false});
  const auto before = signs_;
  learn(from, to);
  if (signs_.empty()) return;
  const size_t changed = signs_ == before ? pairs_.size() - 1 : 0;
  for (size_t i = changed; i < pairs_.size(); ++i) {
    pairs_[i].first = in_file_signs(pairs_[i].pattern);
  }
}

/// Learns which blanks of the file stand for which ones of the pattern. Those at the end are
/// compared first, because a shift adds or removes blanks at the start.
void IndentMap::learn(std::string_view from, std::string_view to) {
  std::vector<std::string_view> wanted = signs_of(from);
  std::vector<std::string_view> found = signs_of(to);
  while (!wanted.empty() && !found.empty() && wanted.back() == found.back()) {
    learn_sign(wanted.back(), found.back());
    wanted.pop_back();
    found.pop_back();
  }
  const auto is_plain = [](std::string_view sign) { return sign.size() == 1; };
  if (wanted.empty() || found.empty() ||
      (std::ranges::all_of(wanted, is_plain) && std::ranges::all_of(found, is_plain))) {
    return;
  }
  const auto are_equal = [](const std::vector<std::string_view>& signs) {
    return std::ranges::count(signs, signs.front()) == static_cast<int64_t>(signs.size());
  };
  if (wanted.size() == found.size()) {
    for (size_t i = 0; i < wanted.size(); ++i) learn_sign(wanted[i], found[i]);
  } else if (are_equal(wanted) && are_equal(found)) {
    learn_sign(wanted.front(), found.front());
    is_scaled_ = true;
  } else {
    for (const std::string_view sign : wanted) learn_sign(sign, {});
  }
}

/// An ASCII blank that is also one in the file stays as it is.
void IndentMap::learn_sign(std::string_view from, std::string_view to) {
  const auto [at, is_new] = signs_.try_emplace(std::string(from), to);
  if (is_new || at->second == to) return;
  const bool stays = from.size() == 1 && (from == to || at->second == from);
  at->second = stays ? from : std::string_view();
}

std::string IndentMap::in_file_signs(std::string_view line) const {
  if (signs_.empty()) return std::string(line);
  std::string out;
  const std::string_view indent = wide_indent_of(line);
  for (const std::string_view sign : signs_of(indent)) {
    const auto found = signs_.find(std::string(sign));
    out += found == signs_.end() || found->second.empty() ? sign : std::string_view(found->second);
  }
  return out.append(line.substr(indent.size()));
}

bool IndentMap::can_carry(std::string_view line) const {
  const std::string_view indent = wide_indent_of(line);
  if (trimmed(line.substr(indent.size())).empty()) return true;
  const auto is_it = [&](const Pair& pair) { return pair.pattern == indent; };
  const bool is_known = std::ranges::any_of(pairs_, is_it);
  const std::vector<std::string_view> signs = signs_of(indent);
  return std::ranges::all_of(signs, [&](std::string_view sign) {
    const auto found = signs_.find(std::string(sign));
    if (found == signs_.end()) return sign.size() == 1;
    return !found->second.empty() && (found->second == sign || !is_scaled_ || is_known);
  });
}

IndentMap IndentMap::without_shift() const {
  IndentMap out;
  out.signs_ = signs_;
  out.is_scaled_ = is_scaled_;
  return out;
}

IndentMap IndentMap::with_shift_of(std::string_view line) const {
  IndentMap out = without_shift();
  const std::string_view indent = wide_indent_of(line);
  for (const Pair& pair : pairs_) {
    if (pair.pattern == indent && !pair.is_open) out.pairs_.push_back(pair);
  }
  return out;
}

bool IndentMap::keeps(std::string_view line) const {
  const std::string_view indent = wide_indent_of(line);
  return std::ranges::any_of(pairs_, [&](const Pair& pair) {
    return pair.pattern == indent && pair.first == pair.second && !pair.is_open;
  });
}

bool IndentMap::is_of_the_edit(std::string_view line) const {
  const std::string_view indent = wide_indent_of(line);
  return contains(pairs_, indent, &Pair::pattern);
}

bool IndentMap::is_of_the_file(std::string_view line) const {
  const std::string_view indent = wide_indent_of(line);
  return contains(pairs_, indent, &Pair::second);
}

bool IndentMap::is_identity() const {
  return !has_conflict_ &&
         std::ranges::all_of(pairs_, [](const Pair& p) { return p.first == p.second; });
}

std::optional<std::string> IndentMap::added_prefix() const {
  if (pairs_.empty() || has_conflict_) return std::nullopt;
  const std::string& from = pairs_.front().first;
  const std::string& to = pairs_.front().second;
  if (to.size() < from.size() || !to.ends_with(from)) return std::nullopt;
  const std::string prefix = to.substr(0, to.size() - from.size());
  for (const Pair& pair : pairs_) {
    if (pair.second != prefix + pair.first) return std::nullopt;
  }
  return prefix;
}

std::optional<std::string> IndentMap::removed_prefix() const {
  if (pairs_.empty() || has_conflict_) return std::nullopt;
  const std::string& from = pairs_.front().first;
  const std::string& to = pairs_.front().second;
  if (from.size() < to.size() || !from.ends_with(to)) return std::nullopt;
  const std::string prefix = from.substr(0, from.size() - to.size());
  for (const Pair& pair : pairs_) {
    if (pair.first != prefix + pair.second) return std::nullopt;
  }
  return prefix;
}

size_t IndentMap::tab_ratio(bool to_tabs) const {
  if (has_conflict_) return 0;
  size_t ratio = 0;
  for (const Pair& pair : pairs_) {
    const std::string& blanks = to_tabs ? pair.first : pair.second;
    const std::string& tabs = to_tabs ? pair.second : pair.first;
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

std::string IndentMap::carry(std::string_view pattern_line) const {
  const std::string own = in_file_signs(pattern_line);
  const std::string_view line = own;
  if (is_identity()) return own;
  if (trimmed(line).empty()) {
    const auto prefix = removed_prefix();
    return std::string(prefix && line.starts_with(*prefix) ? line.substr(prefix->size()) : line);
  }
  const std::string_view indent = wide_indent_of(line);
  const std::string rest(line.substr(indent.size()));
  if (rest.empty()) return own;
  if (const auto prefix = added_prefix()) return *prefix + own;
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
  const Pair* best = nullptr;
  for (const Pair& pair : pairs_) {
    if (indent.starts_with(pair.first) && (!best || pair.first.size() > best->first.size())) {
      best = &pair;
    }
  }
  if (best == nullptr) return own;
  return best->second + std::string(indent.substr(best->first.size())) + rest;
}

std::string IndentMap::describe() const {
  if (is_identity()) return {};
  if (const auto prefix = added_prefix()) return "+" + *prefix;
  if (const auto prefix = removed_prefix()) return "-" + *prefix;
  return {};
}

}  // namespace galley
