#include "staging/placing/doubtful_place.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "staging/placing/anchors.h"
#include "staging/placing/damage.h"
#include "staging/placing/hunk_text.h"
#include "staging/text/fold.h"

// Why context that is elsewhere is evidence against a place:
//
// Two functions are similar, and the lines that an edit removes have changed in the one that it
// means. Then only the other function has these lines. But a context line of the edit may be in the
// intended function alone. Without such a line, the other function is the wrong place, no matter
// how much of the rest it has. A context line that is nowhere in the file tells nothing: it may
// have changed at either place.

namespace galley {
namespace {

/// Maximum distance by which inserted lines may have moved a context line.
constexpr int64_t kMoved = 4;
/// Maximum distance of a context line that is on the other side of the change now.
constexpr int64_t kInOtherOrder = 2;
/// A context line of the same block is looked for in as many lines, because the hunk may leave
/// lines out.
constexpr int64_t kLeftOut = 400;
/// A line that occurs more often tells nothing.
constexpr size_t kFrequent = 16;

class SurroundingLines {
 public:
  SurroundingLines(FileIndex& index, const Hunk& hunk, int64_t begin, int64_t end, int64_t change)
      : index_(index), hunk_(hunk), begin_(begin), end_(end), change_(change) {
    const auto is_changed = [](const HunkLine& line) { return line.role != LineRole::kContext; };
    const auto& lines = hunk.lines;
    first_ =
        static_cast<size_t>(std::find_if(lines.begin(), lines.end(), is_changed) - lines.begin());
    last_ =
        lines.size() - static_cast<size_t>(std::find_if(lines.rbegin(), lines.rend(), is_changed) -
                                           lines.rbegin());
  }

  /// True if the file has the context line `i` of the hunk, but not around the place.
  bool lack(size_t i) {
    const std::string_view text = hunk_.lines[i].text;
    if (hunk_.lines[i].role != LineRole::kContext || !is_telling_line(text)) return false;
    const auto there = index_.lines_like(text, LineFolding::kBlanks);
    if (there.empty() || there.size() > kFrequent) return false;
    return std::none_of(there.begin(), there.end(),
                        [&](uint32_t line) { return is_around(i, static_cast<int64_t>(line)); });
  }

 private:
  bool is_around(size_t i, int64_t line) {
    if (line >= begin_ && line < end_) return true;
    const bool is_above = line < begin_;
    const int64_t distance = is_above ? begin_ - line : line - end_ + 1;
    const bool is_on_its_side = is_above ? i < last_ : i >= first_;
    const bool is_near =
        distance <= (is_on_its_side ? kMoved + old_lines_to_change(i) : kInOtherOrder);
    if (is_on_its_side && hunk_leaves_block(i)) return is_near;
    const size_t width = std::min(indent(text_of(line)), width_of_change());
    if (!is_near && (!is_on_its_side || distance > kLeftOut || width == 0)) return false;
    return !file_leaves_block(line, is_above, width + (is_inside_of(i) ? 1 : 0));
  }

  [[nodiscard]] std::string_view text_of(int64_t line) const {
    return index_.lines()[static_cast<size_t>(line)];
  }
  static size_t indent(std::string_view line) { return indent_of(line).size(); }

  /// The number of old lines from the line `i` of the hunk to its nearest change.
  [[nodiscard]] int64_t old_lines_to_change(size_t i) const {
    const auto& lines = hunk_.lines;
    const size_t from = i < first_ ? i : std::min(last_, i);
    const size_t to = i < first_ ? first_ : i;
    return std::count_if(lines.begin() + static_cast<int64_t>(from),
                         lines.begin() + static_cast<int64_t>(to),
                         [](const HunkLine& line) { return line.role != LineRole::kAdded; });
  }

  /// The indentation of the first telling changed line of the hunk.
  [[nodiscard]] size_t stated_width_of_change() const {
    for (size_t k = first_; k < last_; ++k) {
      if (is_telling_line(hunk_.lines[k].text)) return indent(hunk_.lines[k].text);
    }
    return 0;
  }

  /// The indentation of the file's lines at the change.
  size_t width_of_change() {
    const FileIndex::Outline& outline = index_.outline();
    const auto width_at = [&](int64_t line) {
      const bool counts = line >= 0 && line < static_cast<int64_t>(index_.lines().size()) &&
                          outline.counts[static_cast<size_t>(line)];
      return counts ? indent(text_of(line)) : 0;
    };
    const size_t width = width_at(change_);
    const bool inserts = first_ < last_ && hunk_.lines[first_].role == LineRole::kAdded;
    return inserts || width == 0 ? std::max(width, width_at(change_ - 1)) : width;
  }

  /// True if the line `i` of the hunk is above the change, which is deeper.
  [[nodiscard]] bool is_inside_of(size_t i) const {
    return i < first_ && stated_width_of_change() > indent(hunk_.lines[i].text);
  }

  /// True if a line of the hunk between its line `i` and the change ends a block that has both.
  [[nodiscard]] bool hunk_leaves_block(size_t i) const {
    const size_t width =
        std::min(indent(hunk_.lines[i].text), stated_width_of_change()) + (is_inside_of(i) ? 1 : 0);
    const size_t from = i < first_ ? i + 1 : std::min(last_, i);
    const size_t to = i < first_ ? first_ : i;
    for (size_t k = from; k < to; ++k) {
      const HunkLine& line = hunk_.lines[k];
      if (line.role == LineRole::kAdded || !is_telling_line(line.text)) continue;
      if (!line.text.starts_with('#') && indent(line.text) < width) return true;
    }
    return false;
  }

  /// True if a line of the file between `line` and the place has less indentation than `width`.
  bool file_leaves_block(int64_t line, bool is_above, size_t width) {
    const FileIndex::Outline& outline = index_.outline();
    const int64_t from = is_above ? line + 1 : end_;
    const int64_t to = is_above ? begin_ : line;
    for (int64_t k = from; k < to; ++k) {
      if (outline.counts[static_cast<size_t>(k)] && indent(text_of(k)) < width) return true;
    }
    return false;
  }

  FileIndex& index_;
  const Hunk& hunk_;
  int64_t begin_;
  int64_t end_;
  int64_t change_;
  size_t first_ = 0;  ///< hunk.lines[first_, last_) begins and ends with a change
  size_t last_ = 0;
};

// When an edit counts as already applied:
//
// After the answer "already there" an agent continues. If the answer is wrong, the change is
// silently lost. So the file must have the context of the edit, and the new lines in it. A new line
// alone may be in the file for another reason.
//
// The opposite mistake is to add lines twice. An edit that only adds lines still fits after it was
// applied. It is refused if one of its old lines proves that. Otherwise (an insertion by line
// number, lines at the end) it is applied again, and the report mentions the equal neighbouring
// lines.

bool is_role(const HunkLine& line, LineRole role) { return line.role == role; }

/// True if each change without a telling new line has context before and after it.
bool frames_removals(const Hunk& hunk, bool is_at_start, bool is_at_end) {
  const std::vector<HunkLine>& lines = hunk.lines;
  for (size_t begin = 0; begin < lines.size();) {
    if (is_role(lines[begin], LineRole::kContext)) {
      ++begin;
      continue;
    }
    size_t end = begin;
    bool tells = false;
    for (; end < lines.size() && !is_role(lines[end], LineRole::kContext); ++end) {
      tells = tells || (is_role(lines[end], LineRole::kAdded) && is_telling_line(lines[end].text));
    }
    const bool is_framed = (begin > 0 || is_at_start) && (end < lines.size() || is_at_end);
    if (!tells && !is_framed) return false;
    begin = end;
  }
  return true;
}

bool tells_context(const Hunk& hunk) {
  return std::any_of(hunk.lines.begin(), hunk.lines.end(), [](const HunkLine& line) {
    return is_role(line, LineRole::kContext) && is_telling_line(line.text);
  });
}

/// The hunk that reverts the change, without anchors that the change removes.
Hunk reversed(const Hunk& hunk) {
  Hunk out = hunk;
  std::string one;
  std::string other;
  for (HunkLine& line : out.lines) {
    if (is_role(line, LineRole::kContext)) continue;
    line.role = is_role(line, LineRole::kAdded) ? LineRole::kRemoved : LineRole::kAdded;
    if (is_role(line, LineRole::kRemoved)) continue;
    std::erase_if(out.anchors, [&](std::string_view anchor) {
      return folded(anchor, LineFolding::kBlanks, one) ==
             folded(line.text, LineFolding::kBlanks, other);
    });
  }
  return out;
}

bool is_proved_at(FileIndex& index, const Hunk& hunk, const Hunk& back, int64_t start) {
  if (anchor_against(index, back, start)) return false;
  // A line number proves nothing: other lines may have moved there.
  if (!tells_context(hunk)) return false;
  // Only at the start or end of the file may a diff with numbers lack context.
  const auto size = static_cast<int64_t>(index.lines().size());
  const int64_t end = start + static_cast<int64_t>(pre_image(back).size());
  const bool shows_ends = hunk.has_numbers || hunk.at_end;
  return frames_removals(hunk, shows_ends && start == 0, shows_ends && end == size);
}

/// Maximum number of places of equal lines that are looked at.
constexpr size_t kTriedPlaces = 20;

/// True if the file has the context of the hunk at another place than `done`, around other lines
/// than the new ones. Then the hunk may mean that place, whose lines have changed since.
bool has_twin(FileIndex& index, const Hunk& hunk, int64_t done) {
  const std::vector<std::string_view> before = pre_image(hunk);
  const std::vector<std::string_view> after = post_image(hunk);
  const ContextCounts context = context_counts(hunk);
  const bool by_leading = context.leading >= context.trailing;
  const size_t count = by_leading ? context.leading : context.trailing;
  const size_t skipped = by_leading ? 0 : before.size() - count;
  const std::vector<std::string_view> run(before.begin() + static_cast<int64_t>(skipped),
                                          before.begin() + static_cast<int64_t>(skipped + count));
  if (!std::any_of(run.begin(), run.end(), is_telling_line)) return false;
  const auto has_context_at = [&](int64_t start) {
    int64_t line = start;
    for (const HunkLine& part : hunk.lines) {
      if (is_role(part, LineRole::kAdded)) continue;
      const bool is_context = is_role(part, LineRole::kContext);
      if (is_context && !index.matches_at({part.text}, line, LineFolding::kLineEnds)) return false;
      ++line;
    }
    return true;
  };
  for (const uint32_t found : index.find(run, LineFolding::kLineEnds, kTriedPlaces)) {
    const int64_t start = static_cast<int64_t>(found) - static_cast<int64_t>(skipped);
    const bool is_apart = start + static_cast<int64_t>(before.size()) <= done ||
                          start >= done + static_cast<int64_t>(after.size());
    if (start < 0 || !is_apart || !has_context_at(start)) continue;
    if (!index.matches_at(after, start, LineFolding::kLineEnds)) return true;
  }
  return false;
}

bool is_at(std::string_view file, size_t at, std::string_view text) {
  return at <= file.size() && file.substr(at).starts_with(text);
}

bool begins_line(std::string_view file, size_t at) { return at == 0 || file[at - 1] == '\n'; }

bool ends_line(std::string_view file, size_t at) {
  return at == file.size() || begins_line(file, at) || file[at] == '\n' || is_at(file, at, "\r\n");
}

/// Whether the lines `before` and `behind` surround the old text at `offset`.
bool stand_around(std::string_view file, size_t offset, size_t length, std::string_view before,
                  std::string_view behind) {
  if (offset < before.size()) return false;
  const size_t begin = offset - before.size();
  const size_t end = offset + length + behind.size();
  return is_at(file, begin, before) && is_at(file, offset + length, behind) &&
         (before.empty() || begins_line(file, begin)) && (behind.empty() || ends_line(file, end));
}

std::string_view line_at(const Lines& file, int64_t line) {
  return file[static_cast<size_t>(line)];
}

/// One side of a change.
struct Edge {
  int64_t line = 0;  ///< the file's first line on this side
  int64_t like = 0;  ///< the file's line that is compared with others
  int64_t at = 0;    ///< the hunk's first line on this side
  int64_t step = 0;  ///< 1 after the change, -1 before it
};

/// Compares how many lines equal to `edge.like` follow in the file and in the hunk. Returns true if
/// the hunk shows which one is meant. `removes`: the line itself is removed, so the blanks of the
/// equal lines in the file matter, too.
bool tells_equal_lines(const Lines& file, const Hunk& stated, Edge edge, bool removes) {
  const auto size = static_cast<int64_t>(file.size());
  const auto last = static_cast<int64_t>(stated.lines.size());
  if (edge.like < 0 || edge.like >= size) return true;
  const std::string_view like = line_at(file, edge.like);
  if (!removes && is_blank(like)) return true;
  std::string one;
  std::string other;
  const std::string_view wanted = folded(like, LineFolding::kBlanks, one);
  const auto is_like = [&](std::string_view text) {
    return folded(text, LineFolding::kBlanks, other) == wanted;
  };
  int64_t in_file = 0;
  bool are_equal = true;  // byte for byte
  for (int64_t line = edge.line; line >= 0 && line < size && is_like(line_at(file, line));
       line += edge.step) {
    ++in_file;
    are_equal = are_equal && line_at(file, line) == like;
  }
  int64_t in_hunk = 0;
  int64_t at = edge.at;
  const auto text_there = [&] { return stated.lines[static_cast<size_t>(at)].text; };
  for (; at >= 0 && at < last && is_like(text_there()); at += edge.step) ++in_hunk;
  if (in_file == in_hunk || (!removes && in_hunk == 0)) return true;
  const bool ends_there = at < 0 || at >= last || is_elision(text_there());
  return in_hunk < in_file && (are_equal || !removes) && ends_there;
}

/// The groups of adjacent changed lines: index of the first line, and index after the last.
std::vector<std::pair<size_t, size_t>> changed_stretches(const Hunk& hunk) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t i = 0; i < hunk.lines.size(); ++i) {
    if (hunk.lines[i].role == LineRole::kContext) continue;
    if (out.empty() || out.back().second != i) out.emplace_back(i, i);
    out.back().second = i + 1;
  }
  return out;
}

/// Whether one line becomes the other if a word is replaced by its opposite, also inside a name:
/// `node.left` and `node.right`, `insertLeft` and `insertRight`.
bool are_mirrored(std::string_view one, std::string_view other) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kOpposites = {
      {{"left", "right"},    {"min", "max"},    {"get", "set"},        {"open", "close"},
       {"begin", "end"},     {"start", "stop"}, {"first", "last"},     {"next", "prev"},
       {"up", "down"},       {"top", "bottom"}, {"push", "pop"},       {"add", "remove"},
       {"insert", "delete"}, {"read", "write"}, {"load", "save"},      {"lock", "unlock"},
       {"show", "hide"},     {"true", "false"}, {"enable", "disable"}, {"source", "target"},
       {"width", "height"},  {"row", "column"}}};
  const std::string first = to_lower(trim(without_terminator(one)));
  const std::string second = to_lower(trim(without_terminator(other)));
  const auto becomes = [&](std::string_view from, std::string_view to) {
    std::string text;
    size_t at = 0;
    for (size_t next; (next = first.find(from, at)) != std::string::npos; at = next + from.size()) {
      text.append(first, at, next - at).append(to);
    }
    return at > 0 && text.append(first, at) == second;
  };
  return first != second &&
         std::any_of(kOpposites.begin(), kOpposites.end(), [&](const auto& pair) {
           return becomes(pair.first, pair.second) || becomes(pair.second, pair.first);
         });
}

}  // namespace

bool may_be_opposite(std::string_view one, std::string_view other) {
  struct Condition {
    std::vector<std::string_view> words;
    std::string signs;
  };
  const auto condition_of = [](std::string_view line) {
    constexpr std::array<std::string_view, 4> kNegations = {"not", "no", "never", "unless"};
    Condition out;
    for (const std::string_view word : words_of(line)) {
      const bool negates =
          std::find(kNegations.begin(), kNegations.end(), word) != kNegations.end();
      if (!negates && word != "if") out.words.push_back(word);
      if (negates) out.signs += '!';
    }
    for (size_t i = 0; i < line.size(); ++i) {
      const char before = i == 0 ? ' ' : line[i - 1];
      const bool is_arrow = line[i] == '>' && (before == '-' || before == '=');
      const bool is_double = line[i] == before && std::string_view("=&|").find(before) < 3;
      const bool compares = std::string_view("!<>").find(line[i]) < 3 && !is_arrow;
      if (is_double || compares) out.signs += line[i];
    }
    return out;
  };
  const Condition first = condition_of(one);
  const Condition second = condition_of(other);
  return (first.words == second.words && first.signs != second.signs) || are_mirrored(one, other);
}

bool points_elsewhere(FileIndex& index, const Hunk& hunk, int64_t begin, int64_t end,
                      int64_t change) {
  SurroundingLines around(index, hunk, begin, end, change);
  for (size_t i = 0; i < hunk.lines.size(); ++i) {
    if (around.lack(i)) return true;
  }
  return false;
}

bool can_prove_applied(const Hunk& hunk) {
  return tells_context(hunk) && frames_removals(hunk, false, false);
}

int64_t already_there(FileIndex& index, const Hunk& hunk, int64_t stated) {
  const Hunk back = reversed(hunk);
  const std::vector<std::string_view> after = pre_image(back);
  const bool is_change = std::any_of(hunk.lines.begin(), hunk.lines.end(), [](const auto& line) {
    return !is_role(line, LineRole::kContext);
  });
  if (!is_change || !std::any_of(after.begin(), after.end(), is_telling_line)) return -1;
  const int64_t made = hunk.has_numbers && hunk.new_start > 0 ? hunk.new_start - 1 : stated;
  for (const int64_t at : {stated, made}) {
    const bool stands = at >= 0 && index.matches_at(after, at, LineFolding::kLineEnds);
    if (stands && is_proved_at(index, hunk, back, at)) return at;
  }
  for (const uint32_t start : index.find(after, LineFolding::kLineEnds, kTriedPlaces)) {
    if (is_proved_at(index, hunk, back, start) && !has_twin(index, hunk, start)) return start;
  }
  return -1;
}

int64_t new_lines_at(FileIndex& index, const Hunk& hunk) {
  const bool tells = std::any_of(hunk.lines.begin(), hunk.lines.end(), [](const HunkLine& line) {
    return is_role(line, LineRole::kAdded) && is_telling_line(line.text);
  });
  if (!tells) return -1;
  const auto starts = index.find(post_image(hunk), LineFolding::kLineEnds, 1);
  return starts.empty() ? -1 : static_cast<int64_t>(starts.front());
}

bool resembles(const Lines& file, const Hunk& hunk, int64_t start) {
  size_t context_telling = 0;
  size_t removed_telling = 0;
  bool context_fits = true;
  bool removed_fits = true;
  int64_t line = start;
  for (const HunkLine& part : hunk.lines) {
    if (part.role == LineRole::kAdded) continue;
    const bool fits = line >= 0 && static_cast<size_t>(line) < file.size() &&
                      without_terminator(line_at(file, line)) == without_terminator(part.text);
    ++line;
    const bool is_context = part.role == LineRole::kContext;
    bool& all_fit = is_context ? context_fits : removed_fits;
    all_fit = all_fit && fits;
    if (is_telling_line(part.text)) ++(is_context ? context_telling : removed_telling);
  }
  return (context_fits && context_telling >= 2) || (removed_fits && removed_telling >= 1);
}

bool has_lines_near(const Lines& file, const Hunk& hunk, int64_t start, int64_t found) {
  constexpr int64_t kInserted = 3;
  const std::vector<std::string_view> pattern = pre_image(hunk);
  const auto count = static_cast<int64_t>(pattern.size());
  const auto size = static_cast<int64_t>(file.size());
  const int64_t end = std::min(start + count + kInserted, size);
  int64_t at = std::max<int64_t>(start - kInserted, 0);
  size_t telling = 0;
  for (const std::string_view line : pattern) {
    if (!is_telling_line(line)) continue;
    const auto is_it = [&](int64_t there) {
      return (there < found || there >= found + count) &&
             without_terminator(line_at(file, there)) == without_terminator(line);
    };
    while (at < end && !is_it(at)) ++at;
    if (at++ >= end) return false;
    ++telling;
  }
  return telling >= 2;
}

namespace {

/// True if at least half of the words of two lines are equal and at equal positions.
bool are_alike(std::string_view one, std::string_view other) {
  const auto words = words_of(one);
  const auto others = words_of(other);
  if (words.empty() || words.size() != others.size()) return false;
  size_t equal = 0;
  for (size_t i = 0; i < words.size(); ++i) equal += words[i] == others[i] ? 1 : 0;
  return 2 * equal >= words.size() && indent_of(one) == indent_of(other);
}

/// True if the place `start` has half of the telling old lines of an insertion, and lines that are
/// similar to the others.
bool has_similar_lines(const Lines& file, const std::vector<std::string_view>& old_lines,
                       int64_t start) {
  size_t telling = 0;
  size_t equal = 0;
  for (const std::string_view line : old_lines) {
    const int64_t at = start++;
    if (!is_telling_line(line)) continue;
    if (at < 0 || at >= static_cast<int64_t>(file.size())) return false;
    const std::string_view there = without_terminator(line_at(file, at));
    const bool is_equal = there == without_terminator(line);
    if (!is_equal && !are_alike(line, there)) return false;
    equal += is_equal ? 1 : 0;
    ++telling;
  }
  return equal > 0 && 2 * equal >= telling;
}

}  // namespace

bool is_changed_near(FileIndex& index, const Hunk& hunk, int64_t stated, int64_t found) {
  constexpr int64_t kNear = 3;
  const std::vector<std::string_view> before = pre_image(hunk);
  const std::vector<std::string_view> after = post_image(hunk);
  const auto has_role = [&](LineRole role) {
    return std::any_of(hunk.lines.begin(), hunk.lines.end(), [&](const HunkLine& line) {
      return is_role(line, role) && is_telling_line(line.text);
    });
  };
  const bool adds = has_role(LineRole::kAdded);
  const bool removes = has_role(LineRole::kRemoved);
  const auto fits = [&](const std::vector<std::string_view>& lines, int64_t at) {
    return index.matches_at(lines, at, LineFolding::kTypography);
  };
  // Either all of the context is there, or all removed lines with some of it. The context alone
  // proves less, the farther it is from the stated line.
  const auto has_changed_version_at = [&](int64_t at) {
    int64_t line = at;
    size_t telling = 0;
    bool has_context = true;
    bool has_removed = removes;
    for (const HunkLine& part : hunk.lines) {
      if (is_role(part, LineRole::kAdded)) continue;
      const bool is_context = is_role(part, LineRole::kContext);
      const bool is_there = fits({part.text}, line++);
      bool& has_all = is_context ? has_context : has_removed;
      has_all = has_all && is_there;
      telling += is_context && is_there && is_telling_line(part.text) ? 1 : 0;
    }
    const size_t least = std::abs(at - stated) <= 1 ? 1 : 2;
    return (has_context && telling >= least) || (has_removed && telling >= 1);
  };
  const int64_t found_end = found + static_cast<int64_t>(before.size());
  const auto longest = static_cast<int64_t>(std::max(before.size(), after.size()));
  const int64_t made = hunk.new_start > 0 ? static_cast<int64_t>(hunk.new_start) - 1 : stated;
  const int64_t first = std::max<int64_t>(std::min(stated, made) - kNear, 0);
  for (int64_t at = first; stated >= 0 && at <= std::max(stated, made) + kNear; ++at) {
    if (at + longest > found && at < found_end) continue;
    if (adds && fits(after, at)) return true;
    if (!removes && at == stated && has_similar_lines(index.lines(), before, at)) return true;
    if (removes && has_changed_version_at(at) && !fits(before, at)) return true;
  }
  return false;
}

std::optional<size_t> equal_lines_next_to(std::string_view file, size_t offset,
                                          std::string_view old_text, std::string_view new_text) {
  // The new text may contain the old text at its start or end.
  const size_t first = new_text.find(old_text);
  if (first == std::string_view::npos) return std::nullopt;
  for (const size_t at : {first, new_text.rfind(old_text)}) {
    const std::string_view before = new_text.substr(0, at);
    const std::string_view behind = new_text.substr(at + old_text.size());
    const bool has_lines =
        before.find('\n') != std::string_view::npos || behind.find('\n') != std::string_view::npos;
    if (!has_lines || (!is_telling_line(before) && !is_telling_line(behind))) continue;
    if (stand_around(file, offset, old_text.size(), before, behind)) return offset - before.size();
  }
  return std::nullopt;
}

bool has_text_next_to(std::string_view file, size_t offset, std::string_view old_text,
                      std::string_view new_text) {
  const auto tells = [](std::string_view added) {
    return is_telling_line(added) && added.find('\n') == std::string_view::npos;
  };
  if (new_text.size() <= old_text.size()) return false;
  const size_t added = new_text.size() - old_text.size();
  if (new_text.starts_with(old_text) && tells(new_text.substr(old_text.size())) &&
      is_at(file, offset, new_text)) {
    return true;
  }
  return new_text.ends_with(old_text) && tells(new_text.substr(0, added)) && offset >= added &&
         is_at(file, offset - added, new_text);
}

Leniency same_lines_note(std::string_view path, size_t line, uint32_t document_line) {
  return {"repeated_lines",
          "what is added is next to its place already, at line " + std::to_string(line),
          std::string(path), document_line};
}

bool may_mean_an_equal_line(const Lines& file, const Hunk& made, const Hunk& stated) {
  const auto changes = changed_stretches(made);
  const auto meant = changed_stretches(stated);
  if (!made.has_numbers || changes.size() != meant.size()) return false;
  auto begin = static_cast<int64_t>(made.old_start) - 1;  // the file's line where the change begins
  size_t at = 0;
  const auto lines_until = [&](size_t end) {
    int64_t count = 0;
    for (; at < end; ++at) count += made.lines[at].role == LineRole::kAdded ? 0 : 1;
    return count;
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    begin += lines_until(changes[i].first);
    const int64_t end = begin + lines_until(changes[i].second);
    const bool removes = end > begin;
    const Edge behind = {end, removes ? end - 1 : end, static_cast<int64_t>(meant[i].second), 1};
    const Edge before = {begin - 1, removes ? begin : begin - 1,
                         static_cast<int64_t>(meant[i].first) - 1, -1};
    if (!tells_equal_lines(file, stated, behind, removes)) return true;
    if (!tells_equal_lines(file, stated, before, removes)) return true;
    begin = end;
  }
  return false;
}

bool is_split_ambiguous(const Lines& file, int64_t last, int64_t next) {
  if (last < 0 || next <= last + 1) return false;
  std::string one;
  std::string other;
  const auto are_alike = [&](int64_t a, int64_t b) {
    return folded(line_at(file, a), LineFolding::kBlanks, one) ==
           folded(line_at(file, b), LineFolding::kBlanks, other);
  };
  return are_alike(last, next - 1) || are_alike(next, last + 1);
}

bool replaces_across(const Hunk& hunk, size_t i) {
  if (i == 0 || hunk.lines[i - 1].role != LineRole::kRemoved) return false;
  while (i < hunk.lines.size() && hunk.lines[i].role == LineRole::kRemoved) ++i;
  return i < hunk.lines.size() && hunk.lines[i].role == LineRole::kAdded;
}

bool has_equal_line_close(const Lines& file, std::string_view removed, int64_t there) {
  constexpr int64_t kClose = 3;
  const std::string_view line = without_terminator(removed);
  const auto text_at = [&](int64_t at) {
    return without_terminator(file[static_cast<size_t>(at)]);
  };
  if (trim(line).empty() || text_at(there) == line) return false;
  const int64_t last = std::min(static_cast<int64_t>(file.size()) - 1, there + kClose);
  for (int64_t at = std::max<int64_t>(0, there - kClose); at <= last; ++at) {
    if (text_at(at) == line) return true;
  }
  return false;
}

bool tells_blank_lines(const Lines& file, const Hunk& hunk, const std::vector<int64_t>& partner) {
  int64_t before = -1;  // the file's line for the last old line that is not blank
  int64_t blanks = 0;   // blank lines of the hunk since then
  int64_t above = 0;    // those above the added lines
  bool adds = false;
  bool removes = false;
  size_t old = 0;
  for (const HunkLine& line : hunk.lines) {
    if (line.role == LineRole::kAdded) {
      if (!adds) above = blanks;
      adds = true;
      continue;
    }
    const int64_t to = partner[old++];
    removes = removes || line.role == LineRole::kRemoved;
    if (is_blank_text(line.text)) {
      ++blanks;
      continue;
    }
    const int64_t there = to - before - 1;
    const bool is_beside_a_line = there < blanks && (above == 0 || above == blanks);
    if (adds && !removes && before >= 0 && to > before && there != blanks && !is_beside_a_line) {
      for (auto i = static_cast<size_t>(before + 1); i < static_cast<size_t>(to); ++i) {
        if (is_blank_text(file[i])) return false;
      }
    }
    before = to;
    blanks = 0;
    adds = false;
    removes = line.role == LineRole::kRemoved;
  }
  return true;
}

bool adds_what_is_near(const Lines& file, const Hunk& hunk,
                       const std::vector<std::string_view>& old_lines, int64_t start) {
  constexpr int64_t kNear = 4;
  std::string one;
  std::string other;
  int64_t at = start;
  for (auto line = hunk.lines.begin(); line != hunk.lines.end(); ++line) {
    if (line->role != LineRole::kAdded) ++at;
    if (line->role != LineRole::kAdded || !is_telling_line(line->text)) continue;
    const std::string_view added = folded(line->text, LineFolding::kBlanks, one);
    const auto is_it = [&](std::string_view text) {
      return folded(text, LineFolding::kBlanks, other) == added;
    };
    if (std::any_of(old_lines.begin(), old_lines.end(), is_it)) continue;
    const int64_t end = std::min(at + kNear, static_cast<int64_t>(file.size()));
    for (int64_t near = std::max<int64_t>(at - kNear, 0); near < end; ++near) {
      if (is_it(file[static_cast<size_t>(near)])) return true;
    }
  }
  return false;
}

}  // namespace galley
