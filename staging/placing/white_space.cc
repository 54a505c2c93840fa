#include "staging/placing/white_space.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr uint32_t kMaxTabWidth = 63;  // as in git

bool is_blank_line(std::string_view line) {
  return std::all_of(line.begin(), line.end(), is_plain_space);
}

void set_rule(std::string_view word, WhiteSpaceRules& rules) {
  const bool value = !word.starts_with('-');
  if (!value) word.remove_prefix(1);
  if (word == "trailing-space") rules.blank_at_eol = rules.blank_at_eof = value;
  if (word == "blank-at-eol") rules.blank_at_eol = value;
  if (word == "blank-at-eof") rules.blank_at_eof = value;
  if (word == "space-before-tab") rules.space_before_tab = value;
  if (word == "indent-with-non-tab") rules.indent_with_non_tab = value;
  if (word == "tab-in-indent") rules.tab_in_indent = value;
  if (word == "cr-at-eol") rules.cr_at_eol = value;
  if (!word.starts_with("tabwidth=")) return;
  const std::string_view digits = word.substr(9);
  uint32_t width = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), width);
  if (code == std::errc() && width > 0 && width <= kMaxTabWidth) rules.tab_width = width;
}

/// The white space at the start of a line.
struct Indent {
  size_t last_tab_end = 0;    ///< the byte after the last tab; 0: none
  size_t last_space_end = 0;  ///< the byte after the last blank; 0: none
  bool has_space_before_tab = false;
  bool has_wide_spaces = false;  ///< after the last tab: at least a tab's width of blanks
};

Indent indent_in(std::string_view line, uint32_t tab_width) {
  Indent out;
  for (size_t i = 0; i < line.size() && (line[i] == ' ' || line[i] == '\t'); ++i) {
    if (line[i] == '\t') {
      out.has_space_before_tab = out.has_space_before_tab || out.last_space_end > 0;
      out.last_tab_end = i + 1;
    } else {
      out.last_space_end = i + 1;
      if (i + 1 >= out.last_tab_end + tab_width) out.has_wide_spaces = true;
    }
  }
  return out;
}

/// Replaces blanks that fill the width of a tab by a tab.
std::string with_tabs(std::string_view indent, uint32_t tab_width) {
  std::string out;
  uint32_t blanks = 0;
  for (const char c : indent) {
    if (c != ' ') {
      blanks = 0;  // blanks before a tab do not add width
      out.push_back(c);
    } else if (++blanks == tab_width) {
      out.push_back('\t');
      blanks = 0;
    }
  }
  return out.append(blanks, ' ');
}

std::string with_blanks(std::string_view indent, uint32_t tab_width) {
  std::string out;
  for (const char c : indent) {
    out.append(c == '\t' ? tab_width - out.size() % tab_width : 1, ' ');
  }
  return out;
}

void add_word(std::string& list, std::string_view word) {
  if (!list.empty()) list += ", ";
  list += word;
}

}  // namespace

WhiteSpaceRules white_space_rules(std::string_view text) {
  WhiteSpaceRules rules;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(", \t\n\r"), text.size());
    set_rule(text.substr(0, end), rules);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rules;
}

std::string white_space_errors(std::string_view line, const WhiteSpaceRules& rules) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (rules.cr_at_eol && line.ends_with('\r')) line.remove_suffix(1);
  std::string errors;
  if (rules.blank_at_eol) {
    const size_t before = line.size();
    while (!line.empty() && is_plain_space(line.back())) line.remove_suffix(1);
    if (line.size() != before) add_word(errors, "trailing whitespace");
  }
  bool has_space_before_tab = false;
  bool has_tab = false;
  size_t written = 0;
  size_t i = 0;
  for (; i < line.size() && (line[i] == ' ' || line[i] == '\t'); ++i) {
    if (line[i] == ' ') continue;
    if (rules.space_before_tab && written < i) {
      has_space_before_tab = true;
    } else if (rules.tab_in_indent) {
      has_tab = true;
    }
    written = i + 1;
  }
  if (has_space_before_tab) add_word(errors, "space before tab in indent");
  if (rules.indent_with_non_tab && i - written >= rules.tab_width) {
    add_word(errors, "indent with spaces");
  }
  if (has_tab) add_word(errors, "tab in indent");
  return errors;
}

std::string mended_line(std::string_view line, const WhiteSpaceRules& rules) {
  std::string end;
  if (rules.blank_at_eol) {
    if (line.ends_with('\n')) {
      end = "\n";
      line.remove_suffix(1);
      if (line.ends_with('\r')) {
        if (rules.cr_at_eol) end = "\r\n";
        line.remove_suffix(1);
      }
    }
    while (!line.empty() && is_plain_space(line.back())) line.remove_suffix(1);
  }
  const Indent indent = indent_in(line, rules.tab_width);
  std::string out;
  if ((rules.space_before_tab && indent.has_space_before_tab) ||
      (rules.indent_with_non_tab && indent.has_wide_spaces)) {
    const size_t length = rules.indent_with_non_tab
                              ? std::max(indent.last_tab_end, indent.last_space_end)
                              : indent.last_tab_end;
    out = with_tabs(line.substr(0, length), rules.tab_width);
    line.remove_prefix(length);
  } else if (rules.tab_in_indent && indent.last_tab_end > 0) {
    out = with_blanks(line.substr(0, indent.last_tab_end), rules.tab_width);
    line.remove_prefix(indent.last_tab_end);
  }
  out += line;
  return out + end;
}

std::vector<WhiteSpaceFinding> find_white_space(const FileEdit& edit,
                                                const WhiteSpaceRules& rules) {
  std::vector<WhiteSpaceFinding> out;
  for (const Hunk& hunk : edit.hunks) {
    for (const HunkLine& line : hunk.lines) {
      if (line.role != LineRole::kAdded) continue;
      std::string errors = white_space_errors(line.text, rules);
      if (errors.empty()) continue;
      out.push_back({hunk.document_line, std::move(errors)});
      break;
    }
  }
  return out;
}

FileEdit with_lines_mended(const FileEdit& edit, const WhiteSpaceRules& rules,
                           std::deque<std::string>& kept) {
  FileEdit out = edit;
  for (Hunk& hunk : out.hunks) {
    for (HunkLine& line : hunk.lines) {
      if (line.role != LineRole::kAdded) continue;
      std::string mended = mended_line(line.text, rules);
      if (mended == line.text) continue;
      kept.push_back(std::move(mended));
      line.text = kept.back();
    }
  }
  return out;
}

WhiteSpaceRules rules_for(const FileEdit& edit, WhiteSpaceRules rules) {
  for (const Hunk& hunk : edit.hunks) {
    for (const HunkLine& line : hunk.lines) {
      if (line.role != LineRole::kAdded && line.text.ends_with("\r\n")) rules.cr_at_eol = true;
    }
  }
  return rules;
}

size_t blank_lines_added_last(const Hunk& hunk) {
  size_t count = 0;
  for (auto line = hunk.lines.rbegin(); line != hunk.lines.rend(); ++line) {
    if (line->role == LineRole::kRemoved || !is_blank_line(line->text)) break;
    if (line->role == LineRole::kAdded) ++count;
  }
  return count;
}

std::string_view without_last_blank_lines(std::string_view text, size_t count) {
  for (; count > 0 && !text.empty(); --count) {
    const size_t before =
        text.size() < 2 ? std::string_view::npos : text.rfind('\n', text.size() - 2);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (!is_blank_line(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return text;
}

}  // namespace galley
