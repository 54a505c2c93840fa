#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"
#include "staging/text/text_pattern.h"
#include "tools/perform.h"
#include "tools/walk.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxAnswerLines = 10'000;
constexpr size_t kMaxAnswerBytes = size_t{4} << 20U;
constexpr uint64_t kMaxSearchedFileBytes = uint64_t{64} << 20U;  // larger files are skipped
constexpr size_t kMaxShownLineBytes = 2000;
constexpr size_t kShownBeforeMatch = 200;  ///< bytes before the match of a longer line

/// The glob of each of ripgrep's type names.
const std::map<std::string, std::string>& file_types() {
  static const std::map<std::string, std::string> table = {
      {"c", "*.{c,h}"},
      {"cpp", "*.{cc,cpp,cxx,h,hh,hpp,hxx,ipp}"},
      {"css", "*.{css,scss,less}"},
      {"go", "*.go"},
      {"html", "*.{html,htm}"},
      {"java", "*.java"},
      {"js", "*.{js,jsx,mjs,cjs}"},
      {"json", "*.json"},
      {"md", "*.{md,markdown}"},
      {"php", "*.php"},
      {"py", "*.{py,pyi}"},
      {"ruby", "*.rb"},
      {"rust", "*.rs"},
      {"sh", "*.{sh,bash,zsh}"},
      {"sql", "*.sql"},
      {"toml", "*.toml"},
      {"ts", "*.{ts,tsx,mts,cts}"},
      {"txt", "*.txt"},
      {"xml", "*.xml"},
      {"yaml", "*.{yaml,yml}"},
  };
  return table;
}

Result<std::unique_ptr<TextPattern>> pattern_of(const SearchText& search) {
  auto pattern = std::make_unique<TextPattern>(
      "(?m)" + search.pattern, TextPattern::Options{.ignores_case = search.ignore_case,
                                                    .dot_matches_newline = search.multiline,
                                                    .matches_newlines = search.multiline});
  if (pattern->compiled().ok()) return pattern;
  return fail(ErrorKind::kInvalid, "args.pattern",
              "the pattern '" + search.pattern +
                  "' cannot be used: " + pattern->compiled().error() +
                  " (RE2 syntax, without look-around and back-references)");
}

/// One match: the bytes [begin, end) of the content.
struct Match {
  size_t begin = 0;
  size_t end = 0;
};

std::vector<Match> matches_in(const re2::RE2& expression, std::string_view text, size_t limit) {
  std::vector<Match> out;
  const re2::StringPiece all(text.data(), text.size());
  re2::StringPiece found;
  for (size_t at = 0; at <= text.size() && out.size() < limit;) {
    if (!expression.Match(all, at, text.size(), re2::RE2::UNANCHORED, &found, 1)) break;
    const auto begin = static_cast<size_t>(found.data() - text.data());
    // The end of the text does not begin a line.
    const bool is_behind = begin == text.size() && (text.empty() || text.back() == '\n');
    if (is_behind && found.empty()) break;
    out.push_back({begin, begin + found.size()});
    at = begin + std::max<size_t>(1, found.size());
  }
  return out;
}

/// Collects the answer of one search.
class SearchAnswer {
 public:
  SearchAnswer(const SearchText& search, size_t limit) : search_(search), limit_(limit) {}

  /// Returns false when the search is full.
  bool take(const RelPath& path, std::string_view text, const std::vector<Match>& matches) {
    const size_t before = names_.size() + lines_;
    const bool goes_on = put(path, text, matches);
    if (names_.size() + lines_ > before) {
      ++files_;
      matches_ += matches.size();
    }
    return goes_on;
  }

  ordered_json finish() {
    ordered_json data;
    switch (search_.output) {
      case SearchText::Output::kFiles:
        data["mode"] = "files_with_matches";
        break;
      case SearchText::Output::kContent:
        data["mode"] = "content";
        break;
      case SearchText::Output::kCount:
        data["mode"] = "count";
        break;
    }
    data["numFiles"] = files_;
    // A file is not searched beyond its first match for its name.
    if (search_.output != SearchText::Output::kFiles) data["numMatches"] = matches_;
    data["filenames"] = std::move(names_);
    if (search_.output != SearchText::Output::kFiles) {
      data["content"] = std::move(content_);
      data["numLines"] = lines_;
    }
    data["truncated"] = is_cut_;
    return data;
  }

 private:
  bool put(const RelPath& path, std::string_view text, const std::vector<Match>& matches) {
    switch (search_.output) {
      case SearchText::Output::kFiles:
        return names_.size() < limit_ ? (names_.push_back(path.str()), true) : cut();
      case SearchText::Output::kCount:
        return put_line(name_in_line(path.str()) + ":" + std::to_string(matches.size()));
      case SearchText::Output::kContent:
        return search_.only_matching ? put_matches(path, text, matches)
                                     : put_lines(path, text, matches);
    }
    return true;
  }

  bool cut() {
    is_cut_ = true;
    return false;
  }

  bool put_line(std::string_view line) {
    if (lines_ >= limit_ || content_.size() > kMaxAnswerBytes) return cut();
    ++lines_;
    content_.append(line) += '\n';
    return true;
  }

  /// Shows at most kMaxShownLineBytes of a line. They begin shortly before `match` if it comes
  /// later.
  bool put_numbered(const RelPath& path, size_t line, char sign, std::string_view text,
                    size_t match = 0) {
    std::string out = name_in_line(path.str()) + sign;
    if (search_.show_numbers) out += std::to_string(line + 1) + sign;
    const auto is_inside = [&](size_t at) {  // of a character of UTF-8
      return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
    };
    size_t begin = match + kShownBeforeMatch > kMaxShownLineBytes ? match - kShownBeforeMatch : 0;
    if (text.size() <= kMaxShownLineBytes) begin = 0;
    size_t end = std::min(text.size(), begin + kMaxShownLineBytes);
    for (int i = 0; i < 3 && is_inside(begin); ++i) ++begin;
    for (int i = 0; i < 3 && end > begin && is_inside(end); ++i) --end;
    if (begin > 0) out += "…";
    out.append(text.substr(begin, end - begin));
    if (end < text.size()) out += "…";
    return put_line(out);
  }

  bool put_matches(const RelPath& path, std::string_view text, const std::vector<Match>& matches) {
    const Lines lines(text);
    for (const Match& match : matches) {
      const std::string_view found = text.substr(match.begin, match.end - match.begin);
      if (!put_numbered(path, lines.line_at(match.begin), ':', found)) return false;
    }
    return true;
  }

  bool put_lines(const RelPath& path, std::string_view text, const std::vector<Match>& matches) {
    const Lines lines(text);
    std::vector<std::pair<size_t, size_t>> spans;  // lines that hold a match
    std::vector<size_t> columns;                   // of the first match of each
    for (const Match& match : matches) {
      const size_t first = lines.line_at(match.begin);
      const size_t last = lines.line_at(std::max(match.begin, match.end - (match.end > 0 ? 1 : 0)));
      if (!spans.empty() && first <= spans.back().second) {
        spans.back().second = std::max(spans.back().second, last);
      } else {
        spans.emplace_back(first, last);
        columns.push_back(match.begin - static_cast<size_t>(lines[first].data() - text.data()));
      }
    }
    size_t next = 0;  // first line not shown yet
    for (size_t i = 0; i < spans.size(); ++i) {
      const auto [first, last] = spans[i];
      const size_t begin = std::max(next, first - std::min<size_t>(first, search_.lines_before));
      const size_t end = std::min(lines.size(), last + 1 + search_.lines_after);
      const bool has_context = search_.lines_before + search_.lines_after > 0;
      if (has_context && begin > next && lines_ > 0 && !put_line("--")) return false;
      for (size_t line = begin; line < end; ++line) {
        if (i + 1 < spans.size() && line >= spans[i + 1].first) break;
        const bool is_match = line >= first && line <= last;
        const std::string_view shown = without_terminator(lines[line]);
        const size_t column = line == first ? std::min(columns[i], shown.size()) : 0;
        if (!put_numbered(path, line, is_match ? ':' : '-', shown, column)) return false;
        next = line + 1;
      }
    }
    return true;
  }

  const SearchText& search_;
  size_t limit_;
  uint64_t files_ = 0;
  uint64_t matches_ = 0;
  size_t lines_ = 0;
  std::vector<std::string> names_;
  std::string content_;
  bool is_cut_ = false;
};

Result<PathFilter> type_filter(const std::string& type) {
  if (type.empty()) return PathFilter::parse("");
  const auto known = file_types().find(type);
  if (known != file_types().end()) return PathFilter::parse(known->second);
  std::string names;
  for (const auto& [name, glob] : file_types()) names += (names.empty() ? "" : ", ") + name;
  return fail(ErrorKind::kInvalid, "args.type",
              "there is no file type '" + type + "'; known are " + names + "; or use 'glob'");
}

}  // namespace

Performed perform_search(const SearchText& search, ToolContext& context) {
  GALLEY_ASSIGN(const auto pattern, pattern_of(search));
  GALLEY_ASSIGN(const PathFilter by_glob, PathFilter::parse(search.glob));
  GALLEY_ASSIGN(const PathFilter by_type, type_filter(search.type));
  const size_t limit = search.head_limit == 0
                           ? kMaxAnswerLines
                           : std::min<size_t>(kMaxAnswerLines, search.head_limit);
  SearchAnswer answer(search, limit);
  uint64_t skipped_tool_warning = 0;
  uint64_t searched = 0;
  const auto look = [&](const RelPath& path) -> Result<WalkStep> {
    auto content = peek(context.overlay, path, kMaxSearchedFileBytes);
    if (!content && content.error().kind == ErrorKind::kQuota) {
      ++skipped_tool_warning;
      return WalkStep::kGoOn;
    }
    if (!content && path != search.under && note_unreadable(content.error(), path, context)) {
      return WalkStep::kGoOn;
    }
    if (!content) return fail(std::move(content.error()));
    if (looks_binary(**content)) return WalkStep::kGoOn;
    const auto matches = matches_in(pattern->for_text(**content), **content,
                                    search.output == SearchText::Output::kFiles ? 1 : SIZE_MAX);
    if (matches.empty()) return WalkStep::kGoOn;
    return answer.take(path, **content, matches) ? WalkStep::kGoOn : WalkStep::kStop;
  };
  const size_t skip = search.under.is_root() ? 0 : search.under.str().size() + 1;
  const auto visit = [&](const RelPath& path, FileKind kind) -> Result<WalkStep> {
    if (kind != FileKind::kRegular) return WalkStep::kGoOn;
    GALLEY_ASSIGN(const RelPath below, RelPath::parse(path.str().substr(skip)));
    if (!by_glob.selects(below) || !by_type.selects(below)) return WalkStep::kGoOn;
    if (context.is_over()) {
      return fail(context.interruption("name a smaller directory or a glob"));
    }
    if (context.call.progress) context.call.progress(++searched, 0);
    return look(path);
  };
  GALLEY_ASSIGN(const Node under, context.overlay.node_without_content(search.under));
  if (under.kind == FileKind::kRegular) {
    GALLEY_TRY(look(search.under));
  } else {
    GALLEY_TRY(walk(context, search.under, search.include_ignored, visit));
  }
  ordered_json data = answer.finish();
  if (skipped_tool_warning > 0) data["filesTooLarge"] = skipped_tool_warning;
  return data;
}

}  // namespace galley
