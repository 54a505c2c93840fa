#include "staging/overlay/stage_checks.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/fs/host_file.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/placing/mend.h"
#include "staging/placing/text_view.h"
#include "staging/text/diff.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// The error of a missing file. The remedy in it depends on the dialect.
tl::unexpected<Error> missing(const FileEdit& edit, const RelPath& path, bool is_reversed) {
  // An edit that has the content to delete probably has the right name.
  if (edit.op == FileOp::kDelete &&
      (!edit.hunks.empty() || edit.binary || edit.whole || names_blob(edit.old_blob))) {
    return fail(ErrorKind::kRefused, "patch.already_applied",
                "'" + path.str() + "' is already not there" + already_applied_note(is_reversed),
                path.str());
  }
  std::string way = "diff from /dev/null";
  if (edit.whole) {
    way =
        "name its folder (./ for the top) and the language of its fence, or say that it is all of "
        "the file (--complete)";
  } else if (!edit.text_edits.empty()) {
    way = edit.text_edits.front().whole_lines ? "leave the SEARCH part empty"
                                              : "give its whole content";
  } else if (!edit.hunks.empty() && !edit.hunks.front().has_numbers) {
    way += " or use '*** Add File:'";
  }
  return fail(ErrorKind::kNotFound, "patch.file_not_found",
              "'" + path.str() + "' does not exist; to create it, " + way, path.str());
}

/// The number of names that two paths share at their ends.
size_t shared_names(const RelPath& one, const RelPath& other) {
  const std::string a = "/" + one.str();
  const std::string b = "/" + other.str();
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first;
  return static_cast<size_t>(std::count(a.rbegin(), end, '/'));
}

// Why such names are refused:
//
// For the kernel, "~/.bashrc" is a file in a folder named "~", and "src\new.txt" is a file in the
// root. An agent that writes such a name means another place. It believes that the edit was made,
// but the new file is in an unexpected place. Such names are legal on Linux, so existing files may
// be edited.

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The length of a drive at the start of a name: `c:`. In `c:new.txt`, the drive's current
/// directory is meant.
size_t drive_length(std::string_view text) {
  return text.size() >= 2 && is_letter(text[0]) && text[1] == ':' ? 2 : 0;
}

/// A name with one of these characters cannot be a Windows path, so its backslash is an ordinary
/// character. Patterns and `\\?\` have `?` and `*`.
bool may_be_of_windows(std::string_view text) {
  return text.find_first_of("\"<>|") == std::string_view::npos;
}

/// True for a variable or a command of a shell: `$PWD`, `${name}`, `$env:NAME`, `%NAME%`, `$(pwd)`.
/// `$name` is the name of a directory for some programs, unless it is in capital letters.
bool is_variable(std::string_view text) {
  const auto is_name = [](std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
    });
  };
  if (text.size() > 2 && text.starts_with('%') && text.ends_with('%')) {
    return is_name(text.substr(1, text.size() - 2));
  }
  if (!text.starts_with('$')) return false;
  text.remove_prefix(1);
  if (text.starts_with('(')) return text.ends_with(')');
  if (text.starts_with('{')) return text.ends_with('}');
  if (text.starts_with("env:")) return is_name(text.substr(4));
  return is_name(text) &&
         std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// The paths that are suffixes of `text`, longest first.
std::vector<RelPath> ends_of(std::string_view text) {
  std::vector<RelPath> out;
  while (!text.empty()) {
    if (auto path = RelPath::parse(text)) out.push_back(*std::move(path));
    const size_t slash = text.find('/');
    text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
  }
  return out;
}

// Why such lines are refused:
//
// A model writes "// ... existing code ..." for lines that shall stay. If the line were written as
// it is, those lines would be lost, or a file would have a comment that means nothing. What was
// left out is known only to the model.

/// True if `text` is one of the words of `list`, which are between blanks.
bool is_one_of(std::string_view text, std::string_view list) {
  return !text.empty() && list.find(" " + std::string(text) + " ") != std::string_view::npos;
}

/// Code that begins with `#`. `text` is the text after it.
bool is_directive(std::string_view text) {
  const std::string_view after = trim(text);
  const std::string_view word = after.substr(0, after.find_first_of(" \t(<\""));
  return is_one_of(word, " include define undef ifdef ifndef elif endif pragma ") ||
         (text.starts_with(word) && is_one_of(word, " if else error warning import line region "));
}

bool is_line_comment(std::string_view line) {
  const std::string_view text = trim(line);
  for (const std::string_view mark : {"//", "/*", "{/*", "<!--", ";;", "-- ", "; ", "% ", "*/"}) {
    if (text.starts_with(mark)) return true;
  }
  if (text == "*" || text.starts_with("* ")) return true;
  // "##" begins a heading of Markdown.
  return text.starts_with('#') && !text.starts_with("##") && !text.starts_with("#!") &&
         !text.starts_with("#[") && !is_directive(text.substr(1));
}

/// The words of a comment, without its marks and dots.
std::string comment_words(std::string_view line) {
  return to_lower(trim(line, " \t\r\n/*#<>!-;%{}()[].,:\xE2\x80\xA6"));
}

bool begins_with_dots(std::string_view line) {
  const std::string_view text = trim(line, " \t\r\n/*#<!-;%{([");
  return text.starts_with("...") || text.starts_with("\xE2\x80\xA6");
}

template <size_t kCount>
bool has_one_of(std::string_view text, const std::array<std::string_view, kCount>& phrases) {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view phrase) {
    return text.find(phrase) != std::string_view::npos;
  });
}

/// True if the text has only words with which elisions are written.
bool has_only_words_of_elisions(std::string_view text) {
  constexpr std::string_view kWords =
      " a above all and are as before body brevity class code content etc existing file for "
      "function functions here implementation imports in is keep left lines logic method methods "
      "module no not of omitted original other out previous remain remaining remains rest same "
      "shown stay stays tests the this unchanged unmodified was with your ";
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \t,.;:()-/"), text.size());
    if (end > 0 && !is_one_of(text.substr(0, end), kWords)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

/// Whether a line can be a comment or begin with dots. Few lines of code pass this check of one
/// character.
bool may_stand_for_lines(std::string_view line) {
  const auto* first = std::find_if_not(line.begin(), line.end(), is_space);
  constexpr std::string_view kFirst = "/*#<!-;%{([.\xE2";
  return first != line.end() && kFirst.find(*first) != std::string_view::npos;
}

/// True for a comment that consists of dots.
bool is_comment_of_dots(std::string_view line) {
  return may_stand_for_lines(line) && is_line_comment(line) && begins_with_dots(line) &&
         comment_words(line).empty();
}

bool is_in(std::string_view file, std::string_view line) {
  return file.find(trim(line)) != std::string_view::npos;
}

/// True for a short comment or a line of dots that most often stands for lines, but may be meant.
bool may_stand_in(std::string_view line) {
  static constexpr std::array<std::string_view, 22> kSays = {
      "same as",       "as before",     "as above",     "as they are",  "existing",
      "rest of",       "the rest",      "remain",       "no change",    "unchanged",
      "other code",    "other cases",   "other lines",  "other method", "previous code",
      "previous impl", "original code", "see original", "code continu", "snip",
      "the other",     "keep the"};
  constexpr size_t kMostWords = 6;
  std::string_view text = trim(line, " \t\r\n");
  if (text.starts_with("pass"))
    text = trim(text.substr(4));  // a statement of Python without effect
  if (text.find_first_not_of(" .[]()\"'") == text.npos)
    return text.find("..") != text.npos || text.find(". .") != text.npos;
  const std::string words = comment_words(text);
  if (is_line_comment(text) && words.empty()) return text.find('.') != text.npos;
  if (!is_line_comment(text) && !begins_with_dots(text)) return false;
  if (is_line_comment(text) && begins_with_dots(text)) return true;  // in any language
  const auto blanks = std::count(words.begin(), words.end(), ' ');
  return static_cast<size_t>(blanks) < kMostWords &&
         (words == "etc" || words == "rest" || has_one_of(words, kSays));
}

tl::unexpected<Error> left_out(const RelPath& path, const char* reason, std::string_view line) {
  constexpr size_t kMostQuoted = 60;
  return fail(ErrorKind::kRefused, reason,
              "'" + path.str() + "': the new text has '" +
                  std::string(trim(line).substr(0, kMostQuoted)) +
                  "' in place of lines, and they would be lost; send those lines, or an edit of "
                  "the changed lines alone",
              path.str());
}

/// The first new line that may stand for lines, in the place of at least two more lines of code
/// than the new text has there.
std::optional<std::string_view> line_for_lost_lines(std::string_view file,
                                                    std::string_view old_text, const Lines& added) {
  constexpr size_t kLost = 2;
  const auto is_new = [&](std::string_view line) {
    return may_stand_in(line) && !is_in(old_text, line) && !is_in(file, line);
  };
  bool has_any = false;
  for (size_t i = 0; i < added.size() && !has_any; ++i) has_any = is_new(added[i]);
  if (!has_any) return std::nullopt;
  const Lines before(old_text);
  const auto is_code = [](std::string_view line) {
    return is_telling_line(line) && !is_line_comment(line);
  };
  for (const ChangedRange& range : diff_lines(before, added)) {
    size_t lost = 0;
    for (size_t i = range.old_begin; i < range.old_end; ++i) lost += is_code(before[i]) ? 1 : 0;
    size_t made = 0;
    std::optional<std::string_view> stand_in;
    for (size_t i = range.new_begin; i < range.new_end; ++i) {
      if (is_new(added[i])) {
        if (!stand_in) stand_in = added[i];
      } else {
        made += is_code(added[i]) ? 1 : 0;
      }
    }
    if (stand_in && lost >= made + kLost) return stand_in;
  }
  return std::nullopt;
}

/// The first line of `added` that stands for lines, if neither the file nor `old_text` has it.
std::optional<std::string_view> elided_line(std::string_view file, std::string_view old_text,
                                            std::string_view added) {
  const Lines lines(added);
  const size_t old_count = static_cast<size_t>(std::count(old_text.begin(), old_text.end(), '\n'));
  const bool is_shorter = lines.size() <= old_count;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!stands_for_lines(lines[i]) && !(is_shorter && is_comment_of_dots(lines[i]))) continue;
    if (!is_in(old_text, lines[i]) && !is_in(file, lines[i])) return lines[i];
  }
  return line_for_lost_lines(file, old_text, lines);
}

/// The lines of one difference, or of several with only blank lines and brackets between them.
struct Replaced {
  size_t code_removed = 0;
  size_t comments = 0;  ///< new, and not a removed line that became a comment
  bool adds_code = false;
  size_t first_comment = 0;

  [[nodiscard]] bool loses_lines() const { return comments > 0 && !adds_code && code_removed > 1; }
};

void add_range(const Lines& before, const Lines& after, const ChangedRange& range, Replaced& out) {
  std::string removed;
  for (size_t i = range.old_begin; i < range.old_end; ++i) {
    if (!is_telling_line(before[i]) || is_line_comment(before[i])) continue;
    ++out.code_removed;
    removed += before[i];
  }
  for (size_t i = range.new_begin; i < range.new_end; ++i) {
    if (!is_line_comment(after[i])) {
      out.adds_code = out.adds_code || is_telling_line(after[i]);
      continue;
    }
    const std::string_view text = trim(after[i], " \t\r\n/*#<>!-;%{}");
    if (text.empty() || removed.find(text) != std::string::npos) continue;
    if (++out.comments == 1) out.first_comment = i;
  }
}

/// True for the line that a program adds when it shows a part of a file: `... (40 more lines)`,
/// `[Showing lines 1-20 of 60]`, perhaps in a comment.
bool is_notice_of_reader(std::string_view line) {
  static constexpr std::array<std::string_view, 4> kWhole = {
      "... (n more lines)", "... n more lines", "[n lines omitted]", "... n lines not shown ..."};
  const std::string_view text = trim_end(trim(line, " \t\r\n/*#<>!-;%"), " \t");
  if (!text.starts_with('[') && !text.starts_with("...")) return false;
  std::string words;
  for (const char c : text) {
    if (!is_digit(c))
      words += c;
    else if (!words.ends_with('n'))
      words += 'n';
  }
  words = to_lower(words);
  return std::find(kWhole.begin(), kWhole.end(), words) != kWhole.end() ||
         (words.starts_with("[showing lines n-n of n") && words.ends_with(']')) ||
         (words.starts_with("... [truncated") &&
          (words.ends_with(']') || words.ends_with("] ...")));
}

/// The first notice of a reader in `lines`.
std::optional<std::string_view> notice_in(const Lines& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    if (is_notice_of_reader(lines[i])) return lines[i];
  }
  return std::nullopt;
}

/// The same in `content`, if `file` has none and more lines.
std::optional<std::string_view> notice_for_lines(std::string_view file, std::string_view content) {
  const Lines lines(content);
  const auto notice = notice_in(lines);
  if (!notice) return std::nullopt;
  const Lines own(file);
  return own.size() > lines.size() && !notice_in(own) ? notice : std::nullopt;
}

/// True if all of `content` is in one fence of markdown, with no label or that of a language.
bool is_in_one_fence(std::string_view content) {
  const std::string_view text = trim(content, " \t\r\n");
  const size_t last = text.rfind('\n');
  if (!text.starts_with("```") || last == std::string_view::npos) return false;
  const std::string_view end = text.substr(last + 1);
  const std::string_view title = text.substr(0, text.find('\n'));
  if (end.find_first_not_of('`') != std::string_view::npos || !title.starts_with(end)) return false;
  const std::string_view label = trim(title.substr(end.size()), " \t\r");
  const bool is_word = std::all_of(label.begin(), label.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '#';
  });
  return is_word && text.find("\n" + std::string(end)) == last;
}

/// True for the name of a program or of data, in which a fence is never the whole content.
bool is_name_of_code(const RelPath& path) {
  static constexpr std::array<std::string_view, 32> kCode = {
      ".bash", ".c",   ".cc",   ".cjs", ".cpp",  ".cs",   ".css", ".go",  ".h",    ".hpp", ".htm",
      ".html", ".ini", ".java", ".js",  ".json", ".jsx",  ".kt",  ".lua", ".mjs",  ".php", ".pl",
      ".py",   ".rb",  ".rs",   ".sh",  ".sql",  ".toml", ".ts",  ".tsx", ".yaml", ".yml"};
  const std::string name = to_lower(path.str());
  const size_t dot = name.rfind('.');
  return dot != std::string::npos &&
         std::find(kCode.begin(), kCode.end(), name.substr(dot)) != kCode.end();
}

}  // namespace

Result<RelPath> editable_path(const std::string& text, const std::string& root) {
  GALLEY_ASSIGN(RelPath path, root.empty()
                                  ? RelPath::parse(text)
                                  : RelPath::parse_within(without_entered_link(text, root), root));
  if (path.is_protected()) {
    return fail(ErrorKind::kRefused, "path.protected",
                "'" + path.str() + "' is protected: no edit may touch .git, .galley or .sage",
                path.str());
  }
  return path;
}

Result<void> check_kind(const FileEdit& edit, const RelPath& path, const PlannedFile& file,
                        bool is_reversed) {
  if (file.kind == FileKind::kAbsent) return missing(edit, path, is_reversed);
  if (file.kind == FileKind::kDirectory) {
    return fail(ErrorKind::kRefused, "path.is_directory", "'" + path.str() + "' is a directory",
                path.str());
  }
  if (file.kind == FileKind::kOther) {
    return fail(ErrorKind::kRefused, "path.special_file",
                "'" + path.str() + "' is not a regular file", path.str());
  }
  const bool is_link = file.kind == FileKind::kSymlink;
  if (is_link != is_kind(edit.old_mode, kGitSymlink)) {
    return fail(
        ErrorKind::kRefused, is_link ? "path.is_symlink" : "path.not_symlink",
        "'" + path.str() +
            (is_link ? "' is a symbolic link to '" + *file.content + "' and the edit is for a file"
                     : "' is a file and the edit is for a symbolic link"),
        path.str());
  }
  return {};
}

Result<void> check_blob(const FileEdit& edit, const RelPath& path, const std::string& content) {
  if (edit.op == FileOp::kDelete && edit.whole && *edit.whole != content) {
    return fail(ErrorKind::kRefused, "patch.other_content",
                "'" + path.str() + "' is to be deleted, but does not have the content in line " +
                    std::to_string(edit.document_line) + " of the patch",
                path.str());
  }
  const bool has_proof = names_blob(edit.old_blob);
  if (!has_proof || !edit.hunks.empty() || is_blob(edit.old_blob, content)) return {};
  return fail(ErrorKind::kRefused, "patch.other_content",
              "'" + path.str() + "' is not the file that the patch was made for (index " +
                  edit.old_blob + ")",
              path.str());
}

tl::unexpected<Error> deletes_more(const RelPath& path, bool is_reversed) {
  return fail(ErrorKind::kRefused, "patch.delete_leaves_content",
              "'" + path.str() + "' holds more than the patch that deletes it knows of" +
                  (is_reversed ? "; its 'index' line would prove what the file holds"
                               : "; if the file is to stay, name it after '+++' in place of "
                                 "'/dev/null'"),
              path.str());
}

Result<RelPath> chosen_of_two(const RelPath& one, const RelPath& other) {
  const auto is_spare_of = [](std::string_view copy, std::string_view file) {
    if (!copy.starts_with(file)) return false;
    const std::string_view ending = copy.substr(file.size());
    return ending == "~" || (ending.starts_with('.') && ending.find('/') == ending.npos);
  };
  if (is_spare_of(other.str(), one.str())) return one;
  if (is_spare_of(one.str(), other.str())) return other;
  const auto last = [](const RelPath& path) {
    return path.str().substr(path.str().rfind('/') + 1);  // npos + 1 is 0
  };
  return fail(
      ErrorKind::kRefused, "patch.ambiguous_path",
      "both '" + one.str() + "' and '" + other.str() + "' exist; " +
          (last(one) == last(other) ? "choose one with -p, or with a/ and b/ before the names"
                                    : "write the one to change after '---' and after '+++'"),
      one.str());
}

std::optional<RelPath> same_name_nearby(const Directory& workspace, const RelPath& path) {
  constexpr size_t kAskedDirectories = 100;
  std::optional<RelPath> found;
  size_t count = 0;
  const auto ask = [&](const std::string& text) {
    const auto there = RelPath::parse(text);
    if (!there || there->is_protected()) return;
    const auto stat = workspace.stat(*there);
    if (!stat || stat->kind != FileKind::kRegular) return;
    found = *there;
    ++count;
  };
  const std::string& text = path.str();
  if (const size_t slash = text.find('/'); slash != std::string::npos) ask(text.substr(slash + 1));
  const auto names = workspace.list();
  if (!names) return std::nullopt;
  size_t asked = 0;
  for (const DirectoryEntry& entry : *names) {
    if (entry.kind != FileKind::kDirectory) continue;
    if (++asked > kAskedDirectories) return std::nullopt;
    ask(entry.name + "/" + text);
  }
  return count == 1 ? found : std::nullopt;
}

SameName same_name_elsewhere(const Directory& workspace, const RelPath& path) {
  constexpr size_t kListedFolders = 1000;
  constexpr size_t kComparedNames = 50'000;
  const std::string name = path.str().substr(path.str().rfind('/') + 1);  // npos + 1 is 0
  std::optional<RelPath> found;
  size_t most = 0;
  size_t count = 0;
  bool is_only_one = true;
  std::deque<RelPath> folders = {RelPath::root()};
  size_t listed = 0;
  for (size_t names = 0; !folders.empty(); folders.pop_front()) {
    if (++listed > kListedFolders) return {};
    const RelPath& folder = folders.front();
    const auto opened = workspace.open_directory(folder);
    if (!opened) continue;
    const auto entries = (*opened)->list();
    if (!entries) continue;
    names += entries->size();
    if (names > kComparedNames) return {};
    for (const DirectoryEntry& entry : *entries) {
      const bool is_folder = entry.kind == FileKind::kDirectory && !entry.name.starts_with('.');
      const bool is_it = entry.kind == FileKind::kRegular && entry.name == name;
      if (!is_folder && !is_it) continue;
      const auto there =
          RelPath::parse(folder.is_root() ? entry.name : folder.str() + "/" + entry.name);
      if (!there || there->is_protected()) continue;
      if (is_folder) folders.push_back(*there);
      if (!is_it) continue;
      ++count;
      const size_t shared = shared_names(path, *there);
      is_only_one = !found || shared > most || (is_only_one && shared < most);
      if (found && shared <= most) continue;
      found = *there;
      most = shared;
    }
  }
  return {is_only_one ? found : std::nullopt, count == 0, count == 1};
}

std::optional<RelPath> name_file_inside(const Directory& workspace,
                                        const std::function<bool(const RelPath&)>& may_read,
                                        Error& outside) {
  const std::string_view text = outside.path;
  if (outside.reason != "path.outside" || !text.starts_with('/')) return std::nullopt;
  const auto path = RelPath::parse(text.substr(std::min(text.find_first_not_of('/'), text.size())));
  auto found = path ? same_name_elsewhere(workspace, *path).nearest : std::nullopt;
  if (!found || (may_read && !may_read(*found))) return std::nullopt;
  outside.message += ", but '" + found->str() +
                     "' is in it and its path ends in the same way: name that file if it is meant";
  return found;
}

bool has_most_lines(std::string_view one, std::string_view other) {
  const auto telling = [](std::string_view text) {
    std::multiset<std::string_view> out;
    const Lines lines(text);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (is_telling_line(lines[i])) out.insert(trimmed(lines[i]));
    }
    return out;
  };
  const auto left = telling(one);
  const auto right = telling(other);
  std::vector<std::string_view> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                        std::back_inserter(both));
  return 2 * both.size() > std::max(left.size(), right.size());
}

std::optional<RelPath> nearly_same_name(const Directory& workspace, const RelPath& path) {
  constexpr size_t kComparedNames = 2000;
  const auto folder = workspace.open_directory(path.parent());
  if (!folder) return std::nullopt;
  const auto entries = (*folder)->list();
  if (!entries || entries->size() > kComparedNames) return std::nullopt;
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind == FileKind::kRegular) names.push_back(entry.name);
  }
  const std::string& text = path.str();
  const size_t slash = text.rfind('/');
  const auto name = nearest_name(text.substr(slash + 1), names);  // npos + 1 is 0
  if (!name) return std::nullopt;
  const auto found = RelPath::parse(text.substr(0, slash + 1) + *name);
  return found && !found->is_protected() ? std::optional(*found) : std::nullopt;
}

Result<void> check_columns(const RelPath& path, std::string_view before, std::string_view after) {
  const std::string name = to_lower(path.str());
  if (!name.ends_with(".tsv") && !name.ends_with(".tab")) return {};
  const auto tabs_in = [](std::string_view line) {
    return static_cast<size_t>(std::count(line.begin(), line.end(), '\t'));
  };
  /// The number of tabs in each row; 0 if rows have different numbers.
  const auto tabs_of = [&](const Lines& lines) {
    size_t tabs = std::string_view::npos;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (is_blank(lines[i]) || lines[i].starts_with('#')) continue;
      if (tabs == std::string_view::npos) tabs = tabs_in(lines[i]);
      if (tabs_in(lines[i]) != tabs) return size_t{0};
    }
    return tabs == std::string_view::npos ? 0 : tabs;
  };
  const auto blank_runs_in = [](std::string_view line) {
    size_t runs = 0;
    for (size_t i = 1; i < line.size(); ++i) runs += line[i] == ' ' && line[i - 1] != ' ';
    return runs;
  };
  const size_t tabs = tabs_of(Lines(before));
  const Lines lines(after);
  if (tabs == 0 || tabs_of(lines) > 0) return {};
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    const size_t has = tabs_in(lines[i]);
    const bool is_row = !line.starts_with('#') && has + blank_runs_in(line) >= tabs;
    if (has >= tabs || !is_row) continue;
    return fail(ErrorKind::kRefused, "patch.doubtful_lines",
                "each row of '" + path.str() + "' has " + counted(tabs, "tab") + ", and line " +
                    std::to_string(i + 1) + " would have " + std::to_string(has) +
                    ": the edit has blanks in the place of tabs; send tabs between the columns",
                path.str());
  }
  return {};
}

Result<void> check_encoding(const RelPath& path, std::string_view file, std::string_view added) {
  if (!mixes_encodings(file, added)) return {};
  if (file.find('\0') != std::string_view::npos) {
    return fail(ErrorKind::kRefused, "patch.encoding",
                "'" + path.str() +
                    "' is UTF-32, or UTF-16 without a byte order mark, and the edit is not: the "
                    "file would have two encodings; convert it to UTF-8 first",
                path.str());
  }
  // ISO-2022-JP is ASCII with escape sequences.
  const size_t bad = first_invalid_utf8(file).value_or(file.find('\x1B'));
  const auto line = 1 + std::count(file.begin(), file.begin() + static_cast<int64_t>(bad), '\n');
  return fail(ErrorKind::kRefused, "patch.encoding",
              "'" + path.str() + "' is not UTF-8 (line " + std::to_string(line) +
                  " is in another encoding), and the new text has letters that are: the file would "
                  "have two encodings; convert it to UTF-8 first, or write those letters in ASCII",
              path.str());
}

Result<void> check_encoding(const RelPath& path, std::string_view file, const Splices& splices) {
  const std::vector<Splice>& all = splices.all();
  if (all.empty()) return {};
  const auto is_high = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  const auto has_letters = [&](const Splice& splice) {
    return std::ranges::any_of(splice.text, is_high) && is_utf8(splice.text);
  };
  const auto letters = std::ranges::find_if(all, has_letters);
  return check_encoding(path, file, letters == all.end() ? std::string_view() : letters->text);
}

Result<void> check_utf8_stays(const RelPath& path, std::string_view file, const Splices& splices) {
  const auto is_raw = [](const Splice& splice) { return !is_utf8(splice.text); };
  const auto bad = std::find_if(splices.all().begin(), splices.all().end(), is_raw);
  if (bad == splices.all().end() || !is_utf8(file)) return {};
  const auto is_high = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  size_t at = 0;
  bool stays = false;
  for (const Splice& splice : splices.all()) {
    const std::string_view kept = file.substr(at, splice.offset - at);
    stays = stays || std::any_of(kept.begin(), kept.end(), is_high);
    at = splice.end();
  }
  stays = stays || std::any_of(file.begin() + static_cast<int64_t>(at), file.end(), is_high);
  if (!stays) return {};
  const auto line =
      1 + std::count(file.begin(), file.begin() + static_cast<int64_t>(bad->offset), '\n');
  return fail(ErrorKind::kRefused, "patch.encoding",
              "'" + path.str() + "' is UTF-8, and new text at line " + std::to_string(line) +
                  " has bytes that are not: the file would have two encodings; send the text in "
                  "UTF-8",
              path.str());
}

Result<void> check_letters_stay(const RelPath& path, std::string_view file,
                                const Splices& splices) {
  // Few places come into question, so the encoding of the whole file is looked at last.
  const bool has_escapes = file.find('\x1B') != std::string_view::npos;
  const auto cut =
      std::find_if(splices.all().begin(), splices.all().end(), [&](const Splice& splice) {
        const bool is_behind_high =
            splice.offset > 0 && static_cast<unsigned char>(file[splice.offset - 1]) >= 0x80;
        return (is_behind_high || has_escapes) && may_be_in_letter(file, splice.offset);
      });
  if (cut == splices.all().end() || !has_other_encoding(file)) return {};
  const auto line =
      1 + std::count(file.begin(), file.begin() + static_cast<int64_t>(cut->offset), '\n');
  return fail(ErrorKind::kRefused, "patch.encoding",
              "'" + path.str() + "' is not UTF-8, and the text at line " + std::to_string(line) +
                  " may be a part of a letter of its encoding; convert it to UTF-8 first, or name "
                  "text that does not begin right after such a letter",
              path.str());
}

Error interrupted(const std::string& path) {
  return Error{ErrorKind::kTimeout, "edit.interrupted",
               "the edits were stopped at '" + path + "'; nothing was staged", path, 0};
}

std::string already_applied_note(bool is_reversed) {
  return std::string(": this patch seems to be ") + (is_reversed ? "reversed" : "applied") +
         " already";
}

std::optional<ForeignName> foreign_name(const RelPath& path) {
  std::string text = path.str();
  const size_t backslash = text.find('\\');
  std::replace(text.begin(), text.end(), '\\', '/');
  const std::string_view first = std::string_view(text).substr(0, text.find('/'));
  const std::string_view rest =
      std::string_view(text).substr(std::min(first.size() + 1, text.size()));
  ForeignName out{{}, RelPath::root(), {}, false};
  const auto head = RelPath::parse(path.str().substr(0, path.str().find('/')));
  if (head) out.head = *head;
  if (const size_t drive = drive_length(first); drive > 0 && text.size() > drive) {
    out.why =
        "begins with the drive '" + std::string(first.substr(0, drive)) + "' of another system";
  } else if (first.starts_with('~')) {
    out.why = "begins with '~', which only a shell takes for a home directory";
  } else if (is_variable(first)) {
    out.why = "begins with '" + std::string(first) + "', which is replaced only in a shell";
  } else if (backslash != std::string::npos && may_be_of_windows(text)) {
    out.why = "has a backslash, which separates no directories here";
    const size_t end = path.str().find('/', backslash);
    if (auto below = RelPath::parse(path.str().substr(0, end))) out.head = *std::move(below);
    if (auto meant = RelPath::parse(text)) out.meant.push_back(*std::move(meant));
    out.is_sure = !out.meant.empty();
    return out;
  } else {
    return std::nullopt;
  }
  const std::string_view after_drive = first.substr(std::min(drive_length(first), first.size()));
  const bool has_drive_path = drive_length(first) > 0 && !after_drive.empty();
  out.meant = ends_of(has_drive_path ? std::string_view(text).substr(drive_length(first)) : rest);
  return out;
}

bool stands_for_lines(std::string_view line) {
  static constexpr std::array<std::string_view, 13> kSays = {
      "existing",  "rest of",       "unchanged",     "remain",          "omitted",
      "same as",   "previous code", "original code", "other functions", "other methods",
      "no change", "as before",     "unmodified"};
  static constexpr std::array<std::string_view, 9> kSaysAlone = {
      "existing code",   "rest of",       "unchanged",      "omitted",   "remains the same",
      "remain the same", "stay the same", "stays the same", "unmodified"};
  if (!may_stand_for_lines(line)) return false;
  const bool is_comment = is_line_comment(line);
  if (!is_comment && !begins_with_dots(line)) return false;
  const std::string words = comment_words(line);
  const bool has_dots = begins_with_dots(line) && has_one_of(words, kSays);
  const bool is_alone = has_one_of(words, kSaysAlone) && has_only_words_of_elisions(words);
  if (is_comment) return has_dots || is_alone;
  return has_dots && is_alone && trim(line).ends_with("...") && trim(line).starts_with("...");
}

std::optional<size_t> comment_for_lines(const Lines& before, const Lines& after,
                                        const std::vector<ChangedRange>& changed) {
  Replaced run;
  for (size_t k = 0; k < changed.size(); ++k) {
    bool goes_on = k > 0;
    for (size_t i = k > 0 ? changed[k - 1].old_end : 0; goes_on && i < changed[k].old_begin; ++i) {
      goes_on = !is_telling_line(before[i]);
    }
    if (!goes_on) run = Replaced();
    Replaced alone;
    add_range(before, after, changed[k], alone);
    add_range(before, after, changed[k], run);
    if (alone.loses_lines()) return alone.first_comment;
    if (run.loses_lines()) return run.first_comment;
  }
  return std::nullopt;
}

Result<void> check_fence(const RelPath& path, std::string_view file, std::string_view content) {
  if (is_name_of_code(path) && is_in_one_fence(content) && !file.starts_with("```")) {
    return fail(ErrorKind::kRefused, "patch.doubtful_lines",
                "'" + path.str() +
                    "': all of the content is in a markdown fence, which would be written into the "
                    "file; send it without the fence",
                path.str());
  }
  return {};
}

Result<void> check_content(const RelPath& path, std::string_view file, std::string_view content) {
  auto line = elided_line(file, file, content);
  if (!line) line = notice_for_lines(file, content);
  if (line) return left_out(path, "patch.part_of_file", *line);
  return check_fence(path, file, content);
}

Result<void> check_added_lines(const RelPath& path, std::string_view file, const FileEdit& edit) {
  for (const TextEdit& text : edit.text_edits) {
    if (const auto line = elided_line(file, text.old_text, text.new_text)) {
      return left_out(path, "patch.doubtful_lines", *line);
    }
  }
  const auto is_elided = [](const HunkLine& line) {
    return line.role == LineRole::kAdded &&
           (stands_for_lines(line.text) || is_comment_of_dots(line.text) ||
            may_stand_in(line.text));
  };
  for (const Hunk& hunk : edit.hunks) {
    if (std::none_of(hunk.lines.begin(), hunk.lines.end(), is_elided)) continue;
    std::string old_text;
    std::string added;
    for (const HunkLine& line : hunk.lines) {
      if (line.role != LineRole::kAdded) old_text += line.text;
      if (line.role != LineRole::kRemoved) added += line.text;
    }
    if (const auto line = elided_line(file, old_text, added)) {
      return left_out(path, "patch.doubtful_lines", *line);
    }
  }
  return {};
}

}  // namespace galley
