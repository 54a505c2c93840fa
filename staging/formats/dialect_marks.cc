#include "staging/formats/dialect_marks.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace galley {
namespace {

constexpr size_t kMinSigns = 5;
constexpr size_t kMaxSigns = 9;
/// Maximum indentation of a marker. The limit bounds how often a text is searched.
constexpr size_t kMaxIndent = 16;

size_t indent_width(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

/// A line with five to nine repetitions of one sign, and a word.
struct Mark {
  char sign = 0;
  size_t count = 0;
  std::string_view word;
};

std::optional<Mark> mark_of(std::string_view line) {
  if (indent_width(line) > kMaxIndent) return std::nullopt;
  const std::string_view text = trimmed(line);
  if (text.empty()) return std::nullopt;
  const char sign = text.front();
  if (sign != '<' && sign != '>' && sign != '=' && sign != '-' && sign != '+') return std::nullopt;
  const size_t count = std::min(text.find_first_not_of(sign), text.size());
  if (count < kMinSigns || count > kMaxSigns) return std::nullopt;
  return Mark{sign, count, trimmed(text.substr(count))};
}

bool is_head(const Mark& mark) {
  return (mark.sign == '<' || mark.sign == '-') && mark.word == "SEARCH";
}

bool is_end(const Mark& mark) {
  return (mark.sign == '>' || mark.sign == '+') && mark.word == "REPLACE";
}

bool is_divider(const Mark& mark) { return mark.sign == '=' && mark.word.empty(); }

/// The markers after the head of a block, by their lines.
struct BlockLines {
  std::vector<size_t> dividers;  ///< same number of signs as the head
  std::vector<size_t> others;    ///< other numbers of signs
  size_t end = 0;                ///< 0: none
  size_t next_head = 0;          ///< 0: none before the end
};

BlockLines block_lines(const Lines& document, size_t head, bool same_signs) {
  const size_t signs = mark_of(document[head])->count;
  const size_t indent = indent_width(document[head]);
  BlockLines out;
  for (size_t at = head + 1; at < document.size(); ++at) {
    const auto mark = mark_of(document[at]);
    if (!mark || indent_width(document[at]) > indent) continue;
    const bool is_same = mark->count == signs;
    if (is_divider(*mark)) (is_same ? out.dividers : out.others).push_back(at);
    if (same_signs && !is_same) continue;
    if (is_head(*mark)) {
      out.next_head = at;
      return out;
    }
    if (is_end(*mark)) {
      out.end = at;
      return out;
    }
  }
  return out;
}

/// Returns the file name that `text` consists of; empty if it is not one. A file name has a dot or
/// a slash.
std::string file_name_in(std::string_view text) {
  for (const std::string_view label : {"File:", "file:", "title=", "file=", "filename=", "path="}) {
    if (text.starts_with(label)) text = trimmed(text.substr(label.size()));
  }
  text = trim(text, "\"'{}");
  const size_t colon = text.find(':');  // `python:app.py`
  if (colon != std::string_view::npos && colon + 1 < text.size()) text = text.substr(colon + 1);
  std::string name = block_name_of(text);
  const bool is_path = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./-+@").find(c) != std::string_view::npos;
  });
  const bool is_name = name.find_first_of("./") != std::string::npos &&
                       std::string_view("./-").find(name.back()) == std::string_view::npos;
  return is_name && is_path ? name : std::string();
}

/// Returns the file that the fence at line `at` names; empty if it names none.
std::string shown_name(const Lines& document, size_t at, size_t floor) {
  const std::string_view line = trimmed(document[at]);
  const std::string_view info =
      trimmed(line.substr(std::min(line.find_first_not_of(line.front()), line.size())));
  if (info == "diff" || info == "patch") return {};
  std::string name = file_name_in(info.substr(info.find_last_of(' ') + 1));
  for (size_t back = 1; name.empty() && back <= 2 && at >= floor + back; ++back) {
    const std::string_view before = trimmed(document[at - back]);
    if (before.empty()) continue;
    name = file_name_in(before);
    break;
  }
  return name;
}

BlockMarks problem(BlockMarks marks, const char* reason, size_t line, std::string what) {
  marks.reason = reason;
  marks.problem = std::move(what);
  marks.problem_line = line;
  return marks;
}

}  // namespace

std::string_view trimmed(std::string_view line) { return trim(line, kPlainSpaces); }

std::string without_crlf(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out.push_back(text[i]);
  }
  return out;
}

bool is_fence(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with("```") || text.starts_with("~~~");
}

std::optional<PatchOperation> patch_operation_of(std::string_view line) {
  struct Form {
    std::string_view prefix;
    PatchOperation::Kind kind;
  };
  static constexpr std::array<Form, 3> kForms = {{
      {"*** Add File:", PatchOperation::Kind::kAdd},
      {"*** Delete File:", PatchOperation::Kind::kDelete},
      {"*** Update File:", PatchOperation::Kind::kUpdate},
  }};
  const std::string_view text = trimmed(line);
  for (const Form& form : kForms) {
    if (text.starts_with(form.prefix)) {
      return PatchOperation{form.kind, trimmed(text.substr(form.prefix.size()))};
    }
  }
  return std::nullopt;
}

bool is_patch_begin(std::string_view line) { return trimmed(line) == "*** Begin Patch"; }

bool is_patch_end(const Lines& document, size_t begin, size_t at) {
  if (trimmed(document[at]) != "*** End Patch") return false;
  if (indent_width(document[at]) == 0 || indent_width(document[begin]) > 0) return true;
  for (size_t next = at + 1; next < document.size(); ++next) {
    if (is_fence(document[next])) return true;
    if (!trimmed(document[next]).empty()) return false;
  }
  return true;
}

bool is_block_head(std::string_view line) {
  const auto mark = mark_of(line);
  return mark && is_head(*mark);
}

BlockMarks find_block(const Lines& document, size_t head) {
  BlockMarks marks;
  marks.head = head;
  BlockLines lines = block_lines(document, head, true);
  if (lines.end == 0) lines = block_lines(document, head, false);
  const std::vector<size_t>& dividers = lines.dividers.empty() ? lines.others : lines.dividers;
  if (dividers.empty()) {
    return problem(marks, "edit.truncated", head, "a SEARCH block without '=======' after it");
  }
  if (lines.next_head > 0) {
    return problem(marks, "edit.corrupt_hunk", lines.next_head,
                   "a SEARCH inside a block; '>>>>>>> REPLACE' missing");
  }
  if (lines.end == 0) {
    return problem(marks, "edit.truncated", head,
                   "a SEARCH block without '>>>>>>> REPLACE' after it");
  }
  if (dividers.size() > 1) {
    return problem(marks, "edit.corrupt_hunk", dividers[1],
                   "a second divider in a SEARCH block (the first is line " +
                       std::to_string(dividers[0] + 1) +
                       "); write the block's three markers with another number of signs, five to "
                       "nine, than the text has");
  }
  marks.divider = dividers.front();
  marks.end = lines.end;
  return marks;
}

std::string block_name_of(std::string_view line) {
  std::string_view name = trimmed(line);
  while (!name.empty() && (name.front() == '#' || name.front() == '*' || name.front() == '`' ||
                           name.front() == ' ')) {
    name.remove_prefix(1);
  }
  while (!name.empty() && (name.back() == ':' || name.back() == '*' || name.back() == '`')) {
    name.remove_suffix(1);
  }
  if (name.find(' ') != std::string_view::npos) return {};
  return std::string(name);
}

size_t skip_block_headers(const Lines& document, const BlockMarks& marks) {
  const auto is_header = [](std::string_view line) {
    for (const std::string_view key : {":start_line:", ":end_line:"}) {
      if (!line.starts_with(key)) continue;
      const std::string_view number = trimmed(line.substr(key.size()));
      return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
    }
    return false;
  };
  size_t at = marks.head + 1;
  while (at < marks.divider && is_header(trimmed(document[at]))) ++at;
  const bool is_any = at > marks.head + 1;
  return is_any && at < marks.divider && trimmed(document[at]) == "-------" ? at + 1 : at;
}

std::vector<FencedFile> fenced_files(const Lines& document) {
  std::vector<FencedFile> out;
  size_t floor = 0;  // the line after the last fence
  size_t open = document.size();
  for (size_t at = 0; at < document.size(); ++at) {
    if (!is_fence(document[at])) continue;
    if (open == document.size()) {
      open = at;
      continue;
    }
    const std::string_view mark = trimmed(document[at]);
    const std::string_view begin = trimmed(document[open]);
    const size_t signs = begin.find_first_not_of(begin.front());
    if (mark != begin.substr(0, signs)) return {};
    std::string name = shown_name(document, open, floor);
    const bool is_known = std::any_of(out.begin(), out.end(),
                                      [&](const FencedFile& file) { return file.name == name; });
    if (is_known) return {};
    if (!name.empty()) out.push_back({std::move(name), open, at});
    floor = at + 1;
    open = document.size();
  }
  return open == document.size() ? out : std::vector<FencedFile>();
}

bool begins_call(std::string_view line) {
  // `git show` indents commit messages by four blanks.
  constexpr std::string_view kOfMessage = "    ";
  const std::string_view text = line.starts_with(kOfMessage) ? "" : trimmed(line);
  return text.starts_with("[TOOL_CALLS]") || text.starts_with("<|python_tag|>") ||
         std::any_of(kCallTags.begin(), kCallTags.end(),
                     [&](std::string_view tag) { return text.starts_with(tag); });
}

bool is_nearly_mark(std::string_view line) {
  static constexpr std::array<std::string_view, 5> kOld = {"search", "original", "old", "find",
                                                           "before"};
  static constexpr std::array<std::string_view, 5> kNew = {"replace", "updated", "new",
                                                           "replacement", "after"};
  static constexpr std::array<std::string_view, 9> kVerbs = {
      "begin ", "add ", "update ", "delete ", "modify ", "create ", "move ", "rename ", "remove "};
  const auto is_one_of = [](std::string_view word, const std::array<std::string_view, 5>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (const auto mark = mark_of(line)) {
    std::string word = to_lower(mark->word);
    while (!word.empty() && (word.back() == ':' || word.back() == '>')) word.pop_back();
    return (mark->sign == '<' && is_one_of(word, kOld)) ||
           (mark->sign == '>' && is_one_of(word, kNew));
  }
  const std::string text = to_lower(trimmed(line));
  if (!text.starts_with("*** ")) return false;
  const std::string_view rest = trimmed(std::string_view(text).substr(4));
  const bool is_verb = std::any_of(kVerbs.begin(), kVerbs.end(),
                                   [&](std::string_view verb) { return rest.starts_with(verb); });
  return is_verb && (rest.find(" file:") != std::string_view::npos || rest == "begin patch" ||
                     rest.starts_with("move to:"));
}

}  // namespace galley
