#include "staging/placing/anchors.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "staging/placing/hunk_text.h"

// Why every anchor must agree with the place of a hunk:
//
// "@@ class Second:" names the class of the change. Perhaps class Second has changed since, and
// only class First has the lines of the hunk now. Without the anchor, the change would silently go
// into class First. So a place is accepted only if every anchor agrees.
//
// A block ends where its indentation ends (FileIndex::Outline). A line that does not open a block,
// such as an import, only means that the place is below it.

namespace galley {
namespace {

/// Maximum number of lines that are tried for one anchor.
constexpr size_t kTriedLines = 1000;

/// The depth of a heading of Markdown below the first; 0 for other lines. A single `#` begins
/// comments, too.
size_t heading_depth(std::string_view line) {
  const size_t depth = std::min(line.find_first_not_of('#'), line.size());
  return depth >= 2 && depth < line.size() && line[depth] == ' ' ? depth : 0;
}

/// Whether a line without indentation begins a section of a file without blocks.
bool heads_section(std::string_view line) {
  return is_section_head(line) || heading_depth(line) > 0;
}

/// The lines of the file that equal the anchor. If none has white space at the same places, those
/// that have it elsewhere.
std::span<const uint32_t> lines_of_anchor(FileIndex& index, std::string_view anchor) {
  const auto lines = index.lines_like(anchor, LineFolding::kBlanks);
  return lines.empty() ? index.lines_like(anchor, LineFolding::kNoBlanks) : lines;
}

/// The lines of the file that show which blocks contain a change: the hunk's lines up to its first
/// change. If these do not show it, the nearest line above.
class ChangedPlace {
 public:
  ChangedPlace(FileIndex& index, const Hunk& hunk, int64_t start) : outline_(index.outline()) {
    const auto leading = static_cast<int64_t>(context_counts(hunk).leading);
    const auto size = static_cast<int64_t>(index.lines().size());
    for (int64_t line = start; line < std::min(start + leading, size); ++line) add(line);
    const bool adds = static_cast<size_t>(leading) < hunk.lines.size() &&
                      hunk.lines[static_cast<size_t>(leading)].role == LineRole::kAdded;
    const int64_t first = start + leading;
    const bool tells = first < size && outline_.counts[static_cast<size_t>(first)];
    // Inserted lines may continue the block above them.
    const bool looks_up = lines_.empty() && (adds || !tells);
    for (int64_t line = start; looks_up && lines_.empty() && line > 0;) add(--line);
    if (tells) lines_.push_back(first);
  }

  /// Whether the change is in the block that the line `anchor` opens.
  [[nodiscard]] bool is_inside(int64_t anchor) const {
    return std::any_of(lines_.begin(), lines_.end(), [&](int64_t line) {
      return line == anchor || outline_.is_inside(line, anchor);
    });
  }

 private:
  void add(int64_t line) {
    if (line >= 0 && outline_.counts[static_cast<size_t>(line)]) lines_.push_back(line);
  }

  const FileIndex::Outline& outline_;
  std::vector<int64_t> lines_;
};

/// True if the file has a line that encloses the change in the hunk, but a change at line `line`
/// would not be in the block that this line opens. `change` is the index of the first of adjacent
/// changed lines; lines of the hunk before `first` do not count. Lines that are only inserted come
/// before `line`.
bool leaves_block(FileIndex& index, const Hunk& hunk, size_t change, int64_t line, size_t first) {
  Hunk alone;
  alone.anchors = enclosing_lines(hunk.lines, change, first);
  std::erase_if(alone.anchors, [&](std::string_view anchor) {
    return index.lines_like(anchor, LineFolding::kBlanks).empty();
  });
  if (alone.anchors.empty()) return false;
  for (size_t i = change; i < hunk.lines.size(); ++i) {
    if (hunk.lines[i].role == LineRole::kContext) break;
    alone.lines.push_back(hunk.lines[i]);
  }
  return anchor_against(index, alone, line).has_value();
}

/// The first telling line of `lines[begin, end)`; empty if there is none.
std::string_view first_telling(const std::vector<HunkLine>& lines, size_t begin, size_t end) {
  while (begin < end && !is_telling_line(lines[begin].text)) ++begin;
  return begin < end ? lines[begin].text : std::string_view();
}

/// Whether lines with this indentation belong right below line `at` of the file: as the first ones
/// of the block that it opens, or next to it if it opens none.
bool belongs_below(const Lines& file, size_t at, std::string_view indent) {
  constexpr std::string_view kGoesOn = "(,\\=+|&[";
  const std::string_view text = trim(without_terminator(file[at]));
  if (text.empty() || kGoesOn.find(text.back()) != std::string_view::npos) return false;
  size_t next = at + 1;
  while (next < file.size() && trim(without_terminator(file[next])).empty()) ++next;
  const std::string_view below = next < file.size() ? file[next] : std::string_view();
  const std::string_view first = trim(without_terminator(below));
  const bool opens = indent_of(below).size() > indent_of(file[at]).size();
  if (!opens) {
    const bool heads = text.ends_with(':') || text.ends_with('{') || text.ends_with(')');
    return !heads && first.find_first_of("{})].") != 0 && indent == indent_of(file[at]);
  }
  const bool is_docstring = first.find("\"\"\"") != first.npos || first.find("'''") != first.npos;
  return !is_docstring && indent == indent_of(below);
}

}  // namespace

std::optional<Hunk> with_anchor_as_context(const Lines& file, const Hunk& hunk) {
  if (!hunk.is_below_anchor || hunk.anchors.empty()) return std::nullopt;
  std::optional<std::string_view> indent;
  for (const HunkLine& line : hunk.lines) {
    if (!is_telling_line(line.text)) continue;
    if (!indent) indent = indent_of(line.text);
    if (!indent_of(line.text).starts_with(*indent)) return std::nullopt;
  }
  const std::string_view anchor = trim(hunk.anchors.back());
  std::optional<std::string_view> context;
  for (size_t i = 0; i < file.size(); ++i) {
    if (trim(without_terminator(file[i])) != anchor) continue;
    if (context && (*context != file[i] || hunk.anchors.size() == 1)) return std::nullopt;
    if (!indent || !belongs_below(file, i, *indent)) return std::nullopt;
    context = file[i];
  }
  if (!context || !context->ends_with('\n')) return std::nullopt;
  Hunk out = hunk;
  out.anchors.pop_back();
  out.lines.insert(out.lines.begin(), {LineRole::kContext, *context});
  return out;
}

std::optional<size_t> missing_anchor(FileIndex& index, const Hunk& hunk) {
  for (size_t i = 0; i < hunk.anchors.size(); ++i) {
    if (lines_of_anchor(index, hunk.anchors[i]).empty()) return i;
  }
  return std::nullopt;
}

std::vector<std::string_view> enclosing_lines(const std::vector<HunkLine>& lines, size_t change,
                                              size_t first) {
  std::vector<std::string_view> out;
  size_t at = change;
  while (at < lines.size() && !is_telling_line(lines[at].text)) ++at;
  if (at == lines.size()) return out;
  size_t width = indent_of(lines[at].text).size();
  for (size_t i = change; i-- > first && width > 0;) {
    const HunkLine& line = lines[i];
    if (line.role == LineRole::kAdded) continue;
    const size_t indent = indent_of(line.text).size();
    const bool tells = is_telling_line(line.text);
    const bool closes = indent < line.text.size() &&
                        std::string_view("})]").find(line.text[indent]) != std::string_view::npos;
    if (tells && !closes && indent < width) out.insert(out.begin(), line.text);
    if (tells || closes) width = std::min(width, indent);
  }
  for (size_t i = change; i-- > first && out.empty() && width == 0;) {
    const bool is_head = lines[i].role != LineRole::kAdded && heads_section(lines[i].text);
    if (is_head) out.push_back(lines[i].text);
  }
  return out;
}

std::vector<std::string_view> anchors_of_part(const std::vector<HunkLine>& lines, size_t begin,
                                              size_t end, std::string_view elision) {
  std::vector<std::string_view> out = enclosing_lines(lines, begin);
  const size_t width = indent_of(elision).size();
  const bool is_in_block = width > 0 && width >= indent_of(first_telling(lines, begin, end)).size();
  const auto telling =
      std::count_if(lines.begin() + static_cast<int64_t>(begin),
                    lines.begin() + static_cast<int64_t>(end), [](const HunkLine& line) {
                      return line.role != LineRole::kAdded && is_telling_line(line.text);
                    });
  if (out.empty() || telling < 2 || is_in_block) return out;
  const std::string_view above = lines[begin - 1].text;
  const std::string_view text = trim(without_terminator(above));
  const bool is_head = text.ends_with('{') || text.ends_with(':') || heads_section(above);
  return is_head && out.back() == above ? std::vector{above} : std::vector<std::string_view>();
}

bool leaves_a_block(FileIndex& index, const Hunk& hunk, const std::vector<int64_t>& places,
                    const std::vector<size_t>& parts) {
  size_t old = 0;
  size_t first = 0;  // of the part
  // The file's line behind the last one that was found.
  int64_t next = places.empty() ? 0 : std::max<int64_t>(places.front(), 0);
  for (size_t i = 0; i < hunk.lines.size(); ++i) {
    const LineRole role = hunk.lines[i].role;
    const bool begins =
        role != LineRole::kContext && (i == 0 || hunk.lines[i - 1].role == LineRole::kContext);
    const int64_t line = role == LineRole::kRemoved && places[old] >= 0 ? places[old] : next;
    if (std::find(parts.begin(), parts.end(), i) != parts.end()) first = i;
    if (begins && leaves_block(index, hunk, i, line, first)) return true;
    if (role == LineRole::kAdded) continue;
    if (places[old] >= 0) next = places[old] + 1;
    ++old;
  }
  return false;
}

namespace {

/// Whether words are equal, apart from one or two letters at the beginning of both.
bool is_mistyped(std::string_view one, std::string_view other) {
  constexpr size_t kTail = 3;
  if (one == other) return true;
  const auto [end, other_end] =
      std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend());
  const auto heads = {one.rend() - end, other.rend() - other_end};
  return one.size() > kTail && std::min(heads) > 0 && std::max(heads) <= 2;
}

/// The name of a line in quotes, or of a section in brackets, without its marks; empty if it has
/// none. Words that are added to it make another name.
std::string_view marked_name(std::string_view line) {
  line = trim(without_terminator(line));
  if (line.starts_with('[') && line.ends_with(']')) return line.substr(1, line.size() - 2);
  const size_t begin = line.find_first_of("\"'`");
  if (begin == std::string_view::npos) return {};
  const size_t end = line.find(line[begin], begin + 1);
  return end == std::string_view::npos ? std::string_view()
                                       : line.substr(begin + 1, end - begin - 1);
}

/// Whether a line says which item it belongs to: `id = 7`, `"name": "x"`, or `"x": {`.
bool names_item(std::string_view line) {
  constexpr std::string_view kKeys[] = {"id", "image", "key", "label", "name", "slug", "title"};
  constexpr std::string_view kQuotes = "\"'";
  std::string_view text = trim(without_terminator(line));
  const bool is_quoted = !text.empty() && kQuotes.find(text.front()) != std::string_view::npos;
  if (is_quoted && text.ends_with('{')) return true;
  if (text.starts_with("- ")) text = trim(text.substr(2));
  if (!text.empty() && kQuotes.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  for (const std::string_view key : kKeys) {
    if (!text.starts_with(key)) continue;
    std::string_view rest = text.substr(key.size());
    if (!rest.empty() && kQuotes.find(rest.front()) != std::string_view::npos)
      rest.remove_prefix(1);
    rest = trim(rest);
    if (rest.size() > 1 && (rest.front() == ':' || rest.front() == '=')) return true;
  }
  return false;
}

/// Whether the file's block around `line` that is as deep as the line `wanted`, or the next outer
/// one, has another name. Words may have been added or removed.
bool has_other_name(FileIndex& index, std::string_view wanted, int64_t line, bool inserts) {
  const FileIndex::Outline& outline = index.outline();
  const size_t width = indent_of(wanted).size();
  int64_t at = std::min<int64_t>(line, static_cast<int64_t>(index.lines().size()) - 1);
  if (inserts) --at;  // new lines may continue the block above them
  while (at >= 0 && !outline.counts[static_cast<size_t>(at)]) --at;
  if (at >= 0 && !inserts) at = outline.outer[static_cast<size_t>(at)];
  const auto text_at = [&] { return index.lines()[static_cast<size_t>(at)]; };
  while (at >= 0 && indent_of(text_at()).size() > width)
    at = outline.outer[static_cast<size_t>(at)];
  if (at < 0) return false;
  const auto words = words_of(wanted);
  const auto there = words_of(text_at());
  const std::string_view name = marked_name(wanted);
  const std::string_view name_there = marked_name(text_at());
  const bool is_renamed = !name.empty() && !name_there.empty() && name != name_there;
  if (!is_renamed && (holds_all(there, words) || holds_all(words, there))) return false;
  return !std::equal(words.begin(), words.end(), there.begin(), there.end(), is_mistyped);
}

/// Whether git's default rule takes a line for the heading of the hunks below it.
bool heads_hunks(std::string_view line) {
  const char first = line.empty() ? ' ' : to_lower(line.front());
  return (first >= 'a' && first <= 'z') || first == '_' || first == '$';
}

}  // namespace

bool is_of_other_block(FileIndex& index, const Hunk& hunk, const std::vector<int64_t>& places) {
  size_t old = 0;
  int64_t next = places.empty() ? 0 : std::max<int64_t>(places.front(), 0);
  for (size_t i = 0; i < hunk.lines.size(); ++i) {
    const LineRole role = hunk.lines[i].role;
    const bool begins =
        role != LineRole::kContext && (i == 0 || hunk.lines[i - 1].role == LineRole::kContext);
    const bool inserts = role == LineRole::kAdded;
    const int64_t line = !inserts && places[old] >= 0 ? places[old] : next;
    for (const std::string_view outer :
         begins ? enclosing_lines(hunk.lines, i) : std::vector<std::string_view>()) {
      const bool is_known = !index.lines_like(outer, LineFolding::kBlanks).empty();
      const bool is_statement = trim(without_terminator(outer)).ends_with(';');
      if (is_known || is_statement || is_comment(outer)) continue;
      if (has_other_name(index, outer, line, inserts)) return true;
    }
    if (inserts) continue;
    if (places[old] >= 0) next = places[old] + 1;
    ++old;
  }
  return false;
}

bool names_missing_item(FileIndex& index, const Hunk& hunk) {
  return std::any_of(hunk.lines.begin(), hunk.lines.end(), [&](const HunkLine& line) {
    return line.role == LineRole::kContext && names_item(line.text) &&
           index.lines_like(line.text, LineFolding::kBlanks).empty();
  });
}

bool contradicts_section(const Lines& file, const Hunk& hunk, int64_t start) {
  constexpr int64_t kLookedAt = 1000;
  const std::string_view section = trim(hunk.section);
  if (!hunk.has_numbers || !is_telling_line(section)) return false;
  const bool is_of_default_rule = heads_hunks(section);
  const auto size = static_cast<int64_t>(file.size());
  int64_t first = start;
  while (first < size && !is_telling_line(file[static_cast<size_t>(first)])) ++first;
  if (first >= size) return false;
  size_t width = indent_of(file[static_cast<size_t>(first)]).size();
  size_t outer = std::string_view::npos;  // the indentation of the outermost block so far
  for (int64_t at = start - 1; at >= 0; --at) {
    if (start - at > kLookedAt) return false;
    const std::string_view line = file[static_cast<size_t>(at)];
    const std::string_view text = trim(without_terminator(line));
    const size_t indent = indent_of(line).size();
    if (text.starts_with(section)) return outer <= indent;
    if (indent >= width || !is_telling_line(text) || text.starts_with('#')) continue;
    if (is_of_default_rule && indent == 0 && !heads_hunks(text)) continue;
    const bool is_label = text.ends_with(':') && words_of(text).size() == 1;
    if (!is_label) outer = width = indent;
  }
  return true;
}

bool is_below_another_header(FileIndex& index, const Hunk& hunk, int64_t start) {
  if (!hunk.has_numbers || !is_telling_line(hunk.section) || start < 0) return false;
  const auto heads = index.lines_like(hunk.section, LineFolding::kBlanks);
  if (heads.empty()) return false;
  const FileIndex::Outline& outline = index.outline();
  const size_t width = indent_of(index.lines()[heads.front()]).size();
  const auto size = static_cast<int64_t>(index.lines().size());
  int64_t at = start;
  while (at < size && !outline.counts[static_cast<size_t>(at)]) ++at;
  if (at >= size) return false;
  for (at = outline.outer[static_cast<size_t>(at)]; at >= 0;
       at = outline.outer[static_cast<size_t>(at)]) {
    const size_t indent = indent_of(index.lines()[static_cast<size_t>(at)]).size();
    if (indent == width) return std::find(heads.begin(), heads.end(), at) == heads.end();
  }
  return false;
}

namespace {

/// The sign of a comment that is alone in its line and without indentation, and neither continues
/// nor begins a longer comment: it may head a section. Otherwise empty.
std::string_view sign_of_lone_comment(const Lines& file, int64_t line) {
  constexpr std::string_view kSigns[] = {"//", "/*", "<!--", "-- ", "# ", "; ", "% "};
  const auto sign_at = [&](int64_t at) -> std::string_view {
    const bool is_inside = at >= 0 && at < static_cast<int64_t>(file.size());
    const std::string_view text = is_inside ? file[static_cast<size_t>(at)] : std::string_view();
    for (const std::string_view sign : kSigns) {
      if (text.starts_with(sign) && is_telling_line(text)) return sign;
    }
    return {};
  };
  const std::string_view sign = sign_at(line);
  const bool is_lone = sign != sign_at(line - 1) && sign != sign_at(line + 1);
  return is_lone ? sign : std::string_view();
}

/// Whether the section that begins at `line`, with a comment, ends before `end`.
bool ends_at_comment(const Lines& file, int64_t line, int64_t end) {
  const std::string_view sign = sign_of_lone_comment(file, line);
  for (int64_t at = line + 1; !sign.empty() && at < end; ++at) {
    if (sign_of_lone_comment(file, at) == sign) return true;
  }
  return false;
}

/// Whether the section of the heading or comment at `line` ends before the line `end`.
bool ends_before(FileIndex& index, int64_t line, int64_t end) {
  end = std::min(end, static_cast<int64_t>(index.lines().size()));
  if (ends_at_comment(index.lines(), line, end)) return true;
  const auto text_at = [&](int64_t at) { return index.lines()[static_cast<size_t>(at)]; };
  const size_t depth = heading_depth(text_at(line));
  for (int64_t at = line + 1; depth > 0 && at < end; ++at) {
    const size_t other = heading_depth(text_at(at));
    if (other > 0 && other <= depth) return true;
  }
  return false;
}

}  // namespace

std::optional<size_t> anchor_against(FileIndex& index, const Hunk& hunk, int64_t start) {
  if (hunk.anchors.empty()) return std::nullopt;
  const FileIndex::Outline& outline = index.outline();
  const ChangedPlace change(index, hunk, start);
  const auto opens = [&](int64_t line) { return outline.opens[static_cast<size_t>(line)]; };
  // The last anchor is the innermost. So start with it, go up, and take the lowest line for each
  // anchor.
  int64_t below = start + static_cast<int64_t>(std::max<size_t>(pre_image(hunk).size(), 1));
  // New lines before the first old line are still in the section above it.
  const bool adds_first = !hunk.lines.empty() && hunk.lines.front().role == LineRole::kAdded;
  const int64_t section_end = start + (adds_first ? 0 : 1);
  int64_t inner = -1;  // the line of the next inner anchor
  for (size_t i = hunk.anchors.size(); i-- > 0;) {
    const auto lines = lines_of_anchor(index, hunk.anchors[i]);
    auto at = std::lower_bound(lines.begin(), lines.end(), below);
    int64_t found = -1;
    for (size_t tried = 0; at != lines.begin() && tried < kTriedLines && found < 0; ++tried) {
      const int64_t line = *--at;
      const bool holds_change = line >= start || !opens(line) || change.is_inside(line);
      if (ends_before(index, line, section_end)) continue;
      const bool holds_inner = inner < 0 || !opens(line) || outline.is_inside(inner, line);
      if (holds_change && holds_inner) found = line;
    }
    if (found < 0) return i;
    inner = found;
    below = found;
  }
  return std::nullopt;
}

}  // namespace galley
