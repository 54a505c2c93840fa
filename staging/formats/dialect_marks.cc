#include "staging/formats/dialect_marks.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "staging/formats/patch_path.h"

namespace galley {
namespace {

constexpr size_t kMinSigns = 5;
constexpr size_t kMaxSigns = 9;
/// Maximum indentation of a marker. The limit bounds how often a text is searched.
constexpr size_t kMaxIndent = 16;

constexpr std::array<std::pair<std::string_view, char>, 7> kEntities = {{{"&lt;", '<'},
                                                                         {"&gt;", '>'},
                                                                         {"&amp;", '&'},
                                                                         {"&quot;", '"'},
                                                                         {"&#39;", '\''},
                                                                         {"&#x27;", '\''},
                                                                         {"&apos;", '\''}}};

size_t indent_width(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

/// A line with five to nine repetitions of one sign, and a word.
struct Mark {
  char sign = 0;
  size_t count = 0;
  std::string_view word;
};

std::optional<Mark> mark_of(std::string_view line, size_t min_signs = kMinSigns,
                            size_t max_signs = kMaxSigns) {
  if (indent_width(line) > kMaxIndent) return std::nullopt;
  const std::string_view text = trimmed(line);
  if (text.empty()) return std::nullopt;
  const char sign = text.front();
  if (sign != '<' && sign != '>' && sign != '=' && sign != '-' && sign != '+') return std::nullopt;
  const size_t count = std::min(text.find_first_not_of(sign), text.size());
  if (count < min_signs || count > max_signs) return std::nullopt;
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

/// The text after the signs of a fence.
std::string_view fence_info(std::string_view fence) {
  const std::string_view line = trimmed(fence);
  return trimmed(line.substr(std::min(line.find_first_not_of(line.front()), line.size())));
}

/// Returns the file that the fence at line `at` names; empty if it names none.
std::string shown_name(const Lines& document, size_t at, size_t floor) {
  const std::string_view info = fence_info(document[at]);
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

/// Appends the files that the lines from `floor` up to the fence at `at` name in backticks or bold.
void add_files_in_sentences(const Lines& document, size_t floor, size_t at,
                            std::vector<std::string>& out) {
  for (size_t i = floor; i < at; ++i) {
    for (const std::string_view mark : {"`", "**"}) {
      std::string_view rest = document[i];
      for (size_t open = rest.find(mark); open != rest.npos; open = rest.find(mark)) {
        rest.remove_prefix(open + mark.size());
        const size_t close = rest.find(mark);
        if (close == rest.npos) break;
        std::string name = file_name_in(trim(rest.substr(0, close), "`:"));
        if (has_file_ending(name)) out.push_back(std::move(name));
        rest.remove_prefix(close + mark.size());
      }
    }
  }
}

/// Returns the file that a line announces as new: "Create `src/b.py`:"; empty if it does not.
std::string announced_name(std::string_view line) {
  static constexpr std::array<std::string_view, 3> kVerbs = {"new", "create", "add"};
  static constexpr std::array<std::string_view, 6> kFillers = {"file", "a",   "the",
                                                               "now",  "and", "then"};
  const size_t gap = line.find_last_of(' ');
  if (gap == std::string_view::npos) return {};
  bool is_new = false;
  std::string_view rest = line.substr(0, gap);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string word = to_lower(trim(rest.substr(0, end), "#*:.-0123456789"));
    const bool is_verb = std::find(kVerbs.begin(), kVerbs.end(), word) != kVerbs.end();
    const bool is_filler = std::find(kFillers.begin(), kFillers.end(), word) != kFillers.end();
    if (!word.empty() && !is_verb && !is_filler) return {};
    is_new = is_new || is_verb;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return is_new ? file_name_in(trim(line.substr(gap + 1), "`*:")) : std::string();
}

/// The signs of a fence, and the text after them.
struct FenceMark {
  std::string_view signs;
  std::string_view info;
};

FenceMark fence_mark_of(std::string_view line) {
  line = trimmed(line);
  const size_t count = std::min(line.find_first_not_of(line.front()), line.size());
  return {line.substr(0, count), trimmed(line.substr(count))};
}

/// True for a fence that is text in a fence of more signs than the usual three.
bool is_inner_fence(std::string_view line, const FenceMark& outer) {
  constexpr size_t kUsualSigns = 3;
  return outer.signs.size() > kUsualSigns && fence_mark_of(line).signs.size() < outer.signs.size();
}

/// True for the signs of a fence that are code in the fence of line `outer`: they are indented four
/// columns further (CommonMark, 4.5).
bool is_code(std::string_view line, std::string_view outer) {
  constexpr size_t kOfCode = 4;
  return indent_width(line) >= indent_width(outer) + kOfCode;
}

/// True if the fence at line `at` may be text of the fence that begins at line `open`. It has a
/// label; or text follows at once, and that ends at once in a fence without a label. Text that ends
/// in a colon introduces the second fence.
bool may_be_inner(const Lines& document, size_t open, size_t at) {
  const FenceMark outer = fence_mark_of(document[open]);
  const FenceMark inner = fence_mark_of(document[at]);
  if (!inner.info.empty()) return inner.signs == outer.signs;
  size_t next = at + 1;
  while (next < document.size() && !is_fence(document[next])) ++next;
  if (next == document.size() || fence_mark_of(document[next]).signs != outer.signs) return false;
  const std::string_view language = outer.info.substr(0, outer.info.find(' '));
  const bool is_markdown = language.empty() || language == "md" || language == "markdown";
  // One line of words introduces the second fence.
  if (next == at + 2 && !is_markdown && indent_width(document[at]) == indent_width(document[open]))
    return false;
  const std::string_view last = trimmed(document[next - 1]);
  return next > at + 1 && !trimmed(document[at + 1]).empty() && !last.empty() &&
         !last.ends_with(':') && fence_mark_of(document[next]).info.empty() &&
         file_name_in(last).empty();
}

FencedFile unclear_file(std::string name, size_t open, size_t at) {
  FencedFile file{std::move(name), open, at};
  file.is_unclear = true;
  return file;
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

std::string without_entities(std::string_view line) {
  std::string out;
  for (size_t at = 0; at < line.size();) {
    size_t length = 0;
    for (const auto& [entity, c] : kEntities) {
      if (!line.substr(at).starts_with(entity)) continue;
      out.push_back(c);
      length = entity.size();
      break;
    }
    if (length == 0) out.push_back(line[at++]);
    at += length;
  }
  return out;
}

bool is_escaped(std::string_view line) {
  if (line.find_first_of("<>") != std::string_view::npos) return false;
  for (size_t at = line.find('&'); at != std::string_view::npos; at = line.find('&', at + 1)) {
    const bool is_entity = std::any_of(kEntities.begin(), kEntities.end(), [&](const auto& entity) {
      return line.substr(at).starts_with(entity.first);
    });
    if (!is_entity) return false;
  }
  return true;
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

bool is_block_end(std::string_view line) {
  const auto mark = mark_of(line);
  return mark && is_end(*mark);
}

std::string without_escaped_marks(std::string_view text) {
  std::string out;
  const Lines lines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    out += line.starts_with('\\') && mark_of(line.substr(1)) ? line.substr(1) : line;
  }
  return out;
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
  const auto strip_front = [&] {
    name.remove_prefix(std::min(name.find_first_not_of("#*` "), name.size()));
  };
  strip_front();
  for (const std::string_view label : {"File: ", "File:*", "file: "}) {
    if (name.starts_with(label)) name.remove_prefix(label.size());
  }
  strip_front();
  while (!name.empty() && (name.back() == ':' || name.back() == '*' || name.back() == '`')) {
    name.remove_suffix(1);
  }
  const auto quoted = read_quoted_name(name);  // the only form for a name with blanks
  if (quoted && quoted->length == name.size()) return quoted->name;
  if (name.find(' ') != std::string_view::npos) return {};
  return std::string(name);
}

std::string fence_name_of(std::string_view fence) {
  const std::string_view info = fence_info(fence);
  if (info.ends_with(".net")) return {};  // the languages VB.NET and ASP.NET
  return file_name_in(info.substr(info.find_last_of(' ') + 1));
}

bool is_bare_word(std::string_view line) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "BUILD",      "WORKSPACE", "NOTICE",  "VERSION", "AUTHORS", "COPYING", "CHANGELOG",
      "CODEOWNERS", "OWNERS",    "LICENSE", "README",  "CNAME",   "gradlew"};
  const std::string name = block_name_of(line);
  return line.find_first_of("`\"") == std::string_view::npos &&
         name.find_first_of("./_-0123456789") == std::string::npos && !name.ends_with("file") &&
         std::find(kNames.begin(), kNames.end(), name) == kNames.end();
}

BlockTag block_tag_of(std::string_view line) {
  // Elements inside the element of one file.
  static constexpr std::array<std::string_view, 8> kInside = {
      "diff", "content", "args", "edit", "edits", "patch", "search_replace", "block"};
  BlockTag tag;
  line = trimmed(line);
  tag.is_tag = line.size() > 2 && line.starts_with('<') && line.ends_with('>') &&
               line.find_first_not_of('<') == 1;
  if (!tag.is_tag) return tag;
  for (const std::string_view name : {"path", "file", "file_path"}) {
    const std::string open = "<" + std::string(name) + ">";
    const size_t begin = line.find(open);
    const size_t end = line.find("</" + std::string(name) + ">", std::min(begin, line.size()));
    if (end != std::string_view::npos) {
      tag.name = trimmed(line.substr(begin + open.size(), end - begin - open.size()));
    }
    for (const std::string_view quote : {"\"", "'"}) {
      const std::string key = " " + std::string(name) + "=" + std::string(quote);
      const size_t value = line.find(key);
      const size_t close =
          value == std::string_view::npos ? value : line.find(quote, value + key.size());
      if (close != std::string_view::npos) {
        tag.name = trimmed(line.substr(value + key.size(), close - value - key.size()));
      }
    }
    if (!tag.name.empty()) return tag;
  }
  const std::string_view inner = line.substr(1, line.size() - 2);
  const bool is_inside =
      std::find(kInside.begin(), kInside.end(), inner.starts_with('/') ? inner.substr(1) : inner) !=
      kInside.end();
  const bool is_end = inner.starts_with('/') && inner.find_first_of("<> \"'.") == std::string::npos;
  const bool is_line = inner.starts_with("start_line>") && inner.ends_with("</start_line");
  tag.begins_file = !is_inside && !is_end && !is_line;
  return tag;
}

std::string block_name_line(std::string_view path) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (block_name_of(path) == path && !is_bare_word(path) && !block_tag_of(path).is_tag &&
      !is_fence(path) && std::none_of(path.begin(), path.end(), is_control)) {
    return std::string(path);
  }
  std::string out = "\"";
  for (const char c : path) {
    if (is_control(c)) {
      const auto digit = [c](int shift) { return static_cast<char>('0' + ((c >> shift) & 7)); };
      out += {'\\', digit(6), digit(3), digit(0)};
      continue;
    }
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "\"";
}

size_t skip_block_headers(const Lines& document, size_t begin, size_t end) {
  const auto is_header = [](std::string_view line) {
    for (const std::string_view key : {":start_line", ":end_line"}) {
      const std::string_view rest = line.substr(std::min(key.size(), line.size()));
      if (!line.starts_with(key) || rest.find_first_of(":=>") != 0) continue;
      const std::string_view number = trimmed(rest.substr(1));
      return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
    }
    return false;
  };
  size_t at = begin;
  while (at < end && is_header(trimmed(document[at]))) ++at;
  const bool is_any = at > begin;
  return is_any && at < end && trimmed(document[at]) == "-------" ? at + 1 : at;
}

bool has_file_ending(std::string_view name) {
  // Each with the ending of JavaScript.
  static constexpr std::array<std::string_view, 12> kLibraries = {
      "node", "next", "vue",   "react", "express", "three",
      "d3",   "nuxt", "chart", "ember", "angular", "alpine"};
  static constexpr std::array<std::string_view, 52> kEndings = {
      "bash", "c",    "cc",   "cfg",  "cjs",   "cmake", "conf", "cpp", "cs",     "css",   "csv",
      "cxx",  "dart", "go",   "h",    "hh",    "hpp",   "html", "ini", "java",   "js",    "json",
      "jsx",  "kt",   "less", "lua",  "md",    "mjs",   "php",  "pl",  "proto",  "py",    "pyi",
      "rb",   "rs",   "rst",  "sass", "scala", "scss",  "sh",   "sql", "svelte", "swift", "toml",
      "ts",   "tsx",  "txt",  "vue",  "xml",   "yaml",  "yml",  "zsh"};
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const size_t dot = lower.rfind('.');
  if (dot == std::string::npos || lower.starts_with("self.") || lower.starts_with("this.")) {
    return false;
  }
  const auto has = [](const auto& all, std::string_view word) {
    return std::find(all.begin(), all.end(), word) != all.end();
  };
  const bool is_library = lower.ends_with(".js") && has(kLibraries, lower.substr(0, dot));
  return !is_library && has(kEndings, std::string_view(lower).substr(dot + 1));
}

bool may_have_file(std::string_view fence, std::string_view content, std::string_view name) {
  static constexpr std::array<std::string_view, 13> kShells = {
      "bash", "sh",  "shell", "zsh",  "console",      "powershell", "cmd",
      "bat",  "ps1", "pwsh",  "fish", "shellsession", "sh-session"};
  static constexpr std::array<std::string_view, 10> kOutputs = {
      "diff",      "patch",  "output", "text",     "log",
      "plaintext", "stdout", "stderr", "terminal", "mermaid"};
  const std::string_view info = fence_info(fence);
  const std::string language = to_lower(info.substr(0, info.find(' ')));
  const auto is_one_of = [&](const auto& all) {
    return std::find(all.begin(), all.end(), language) != all.end();
  };
  if (is_one_of(kOutputs)) return language.ends_with("text") && name.ends_with(".txt");
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return !is_one_of(kShells) || (name.ends_with(".sh") && content.find(last) == content.npos);
}

std::string shown_file_at(const Lines& document, size_t at, size_t floor) {
  std::string name = shown_name(document, at, floor);
  for (size_t back = 1; name.empty() && back <= 2 && at >= floor + back; ++back) {
    const std::string_view before = trimmed(document[at - back]);
    if (before.empty()) continue;
    name = announced_name(before);
    break;
  }
  const bool is_hidden = name.size() > 1 && name[0] == '.' && name[1] >= 'a' && name[1] <= 'z';
  const bool is_file = has_file_ending(name) || is_hidden;
  return is_file && name.front() != '/' ? name : std::string();
}

std::vector<FencedFile> fenced_files(const Lines& document) {
  std::vector<FencedFile> out;
  std::set<std::string> shown;
  size_t floor = 0;  // the line after the last fence
  size_t open = document.size();
  for (size_t at = 0; at < document.size(); ++at) {
    if (!is_fence(document[at])) continue;
    if (open == document.size()) {
      open = at;
      continue;
    }
    const std::string_view mark = trimmed(document[at]);
    const FenceMark begin = fence_mark_of(document[open]);
    if (is_inner_fence(mark, begin) || is_code(document[at], document[open])) continue;
    std::string name = shown_name(document, open, floor);
    if (!name.empty() && may_be_inner(document, open, at)) return {unclear_file(name, open, at)};
    if (mark != begin.signs) return {};
    if (!name.empty() && !shown.insert(name).second) return {};
    std::vector<std::string> mentioned;
    if (name.empty()) add_files_in_sentences(document, floor, open, mentioned);
    if (!name.empty()) out.push_back({std::move(name), open, at});
    for (std::string& other : mentioned) {
      if (may_have_file(document[open], document.span(open + 1, at), other))
        out.push_back({std::move(other), open, at, true});
    }
    floor = at + 1;
    open = document.size();
  }
  if (open != document.size() || shown.empty()) return {};
  const auto is_shown = [&](const std::string& name) {
    const std::string end = "/" + (name.starts_with("./") ? name.substr(2) : name);
    return std::any_of(shown.begin(), shown.end(),
                       [&](const std::string& file) { return ("/" + file).ends_with(end); });
  };
  std::erase_if(out,
                [&](const FencedFile& file) { return file.is_mentioned && is_shown(file.name); });
  return out;
}

NestedFile nested_file_at(const Lines& document, size_t at, size_t floor) {
  const FenceMark outer = fence_mark_of(document[at]);
  if (!is_inner_fence("```", outer) || shown_name(document, at, floor).empty()) {
    return {at + 1, false};
  }
  bool is_any = false;
  bool is_inside = false;
  for (size_t line = at + 1; line < document.size(); ++line) {
    const std::string_view text = document[line];
    if (is_fence(text) && is_inner_fence(text, outer)) {
      is_any = true;
      is_inside = !is_inside;
    } else if (trimmed(text) == outer.signs) {
      return {line + 1, is_any};
    } else if (!is_inside && (is_block_head(text) || is_patch_begin(text) ||
                              text.starts_with("@@") || text.starts_with("diff --git "))) {
      return {line, false};  // it shows edits
    }
  }
  return {document.size(), false};
}

bool begins_call(std::string_view line) {
  // `git show` indents commit messages by four blanks.
  constexpr std::string_view kOfMessage = "    ";
  const std::string_view text = line.starts_with(kOfMessage) ? "" : trimmed(line);
  const auto has = [&](std::string_view what) { return text.find(what) != std::string_view::npos; };
  const bool may_have_tokens = has("<|") || has("<\uff5c");
  if (may_have_tokens &&
      (has(kDeepSeekCall) || has(kKimiCall) || (has("to=functions.") && has("<|message|>")))) {
    return true;
  }
  return text.starts_with("[TOOL_CALLS]") || text.starts_with("<|python_tag|>") ||
         std::any_of(kCallTags.begin(), kCallTags.end(),
                     [&](std::string_view tag) { return text.starts_with(tag); });
}

size_t edit_element_end(const Lines& document, size_t at) {
  const std::string_view line = trimmed(document[at]);
  if (!line.starts_with('<')) return at;
  for (const std::string_view name : kEditElements) {
    if (line != "<" + std::string(name) + ">") continue;
    const std::string end = "</" + std::string(name) + ">";
    for (size_t next = at + 1; next < document.size(); ++next) {
      if (trimmed(document[next]).ends_with(end)) return next + 1;
    }
    return document.size();
  }
  return at;
}

size_t normal_change_end(const Lines& document, size_t at) {
  static const re2::RE2 kCommand(R"(\d+(?:,\d+)?([acd])\d+(?:,\d+)?)");
  const auto text = [&](size_t line) {
    return line < document.size() ? without_terminator(document[line]) : std::string_view();
  };
  std::string kind;
  if (text(at).empty() || !is_digit(text(at).front()) ||
      !re2::RE2::FullMatch(text(at), kCommand, &kind)) {
    return at;
  }
  size_t next = at + 1;
  const auto take = [&](char sign) {
    const size_t first = next;
    const std::string marked = {sign, ' '};
    while (text(next) == marked.substr(0, 1) || text(next).starts_with(marked)) ++next;
    if (next > first && text(next).starts_with("\\ ")) ++next;
    return next > first;
  };
  if (kind != "a" && !take('<')) return at;
  if (kind == "c" && text(next++) != "---") return at;
  return kind == "d" || take('>') ? next : at;
}

bool is_normal_diff(const Lines& document, size_t begin, size_t end) {
  bool is_any = false;
  while (begin < end) {
    const size_t next = normal_change_end(document, begin);
    const std::string_view line = trimmed(document[begin]);
    if (next == begin && !line.empty() && !line.starts_with("diff ")) return false;
    is_any = is_any || next > begin;
    begin = std::max(next, begin + 1);
  }
  return is_any;
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
  constexpr size_t kFewestSigns = 3;
  if (const auto mark = mark_of(line, kFewestSigns, std::string_view::npos)) {
    if (mark->count < kMinSigns || mark->count > kMaxSigns) return is_head(*mark) || is_end(*mark);
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
