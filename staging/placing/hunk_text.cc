#include "staging/placing/hunk_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "staging/placing/file_index.h"
#include "staging/text/diff.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// Makes the splices of one hunk, one for each group of adjacent changed lines.
class HunkSplicer {
 public:
  HunkSplicer(const Lines& file, const Hunk& hunk, size_t start, LineFolding fold)
      : file_(file), hunk_(hunk), line_(start), fold_(fold) {
    const std::vector<std::string_view> pattern = pre_image(hunk);
    has_pattern_ = !pattern.empty();
    keeps_context_ = keeps_context(start);
    ends_alike_ = ends_alike(file, pattern, static_cast<int64_t>(start));
  }

  void run(const IndentMap& indent, std::vector<Splice>& out) {
    for (size_t i = 0; i < hunk_.lines.size();) {
      if (hunk_.lines[i].role == LineRole::kContext) {
        ++line_;
        ++i;
        continue;
      }
      i = splice_run(i, indent, out);
    }
  }

 private:
  size_t splice_run(size_t i, const IndentMap& indent, std::vector<Splice>& out) {
    const size_t first = line_;
    std::vector<std::string_view> added;
    std::vector<std::string_view> removed;
    for (; i < hunk_.lines.size() && hunk_.lines[i].role != LineRole::kContext; ++i) {
      if (hunk_.lines[i].role == LineRole::kRemoved) {
        removed.push_back(hunk_.lines[i].text);
        ++line_;
      } else {
        added.push_back(hunk_.lines[i].text);
      }
    }
    const size_t offset = file_.offset(first);
    Splice splice{offset, file_.offset(line_) - offset, {}};
    // A new line gets the terminator of the line that it replaces, or of the line before it.
    const size_t like = line_ > first || first == 0 ? first : first - 1;
    const bool is_last = line_ == file_.size();
    // The line before stays. If it lacks a terminator, the new text must begin with one.
    const bool glues = first > 0 && terminator_of(file_[first - 1]).empty();
    if (glues && !added.empty()) splice.text += neighbour_terminator(like);
    for (size_t k = 0; k < added.size(); ++k) {
      const size_t at = line_ > first ? std::min(first + k, line_ - 1) : like;
      const bool is_very_last = is_last && k + 1 == added.size();
      const bool is_uneven = fold_ >= LineFolding::kBlanks && !indent.is_uniform();
      const IndentMap& carried = is_uneven ? own_indent(indent, removed, first, added, k) : indent;
      splice.text += new_line(added[k], at, carried, is_very_last, glues);
    }
    out.push_back(std::move(splice));
    return i;
  }

  /// The indentation map for the new line `added[k]` if the lines are shifted unevenly: from the
  /// line that it replaces or, if the numbers of lines differ, from all replaced lines. For
  /// insertions: from the old lines with its indentation.
  [[nodiscard]] IndentMap own_indent(const IndentMap& indent,
                                     const std::vector<std::string_view>& removed, size_t first,
                                     const std::vector<std::string_view>& added, size_t k) const {
    if (removed.empty()) return indent.with_shift_of(added[k]);
    IndentMap own = indent.without_shift();
    for (size_t i = 0; i < removed.size(); ++i) {
      if (removed.size() != added.size() || i == k) own.add(removed[i], file_[first + i]);
    }
    // The replaced line has lost its indentation, and the new line has it.
    const auto is_of_edit = [&](std::string_view line) { return own.is_of_the_edit(line); };
    const bool has_kept = (indent.keeps(added[k]) && !is_of_edit(added[k])) ||
                          (keeps_context_ && std::none_of(added.begin(), added.end(), is_of_edit));
    return has_kept ? indent.without_shift() : own;
  }

  /// True if there is indented context, and all context has the indentation of the file.
  [[nodiscard]] bool keeps_context(size_t at) const {
    bool is_any = false;
    for (const HunkLine& line : hunk_.lines) {
      if (line.role == LineRole::kAdded) continue;
      const std::string_view own = at < file_.size() ? file_[at] : std::string_view();
      ++at;
      if (line.role != LineRole::kContext || is_blank_text(line.text)) continue;
      if (indent_of(line.text) != indent_of(own)) return false;
      is_any = is_any || !indent_of(own).empty();
    }
    return is_any;
  }

  std::string new_line(std::string_view text, size_t at, const IndentMap& indent, bool is_very_last,
                       bool glues) const {
    if (fold_ == LineFolding::kBytes) {
      const bool has_end = !terminator_of(text).empty();
      // If no line was compared, the line ends of the patch may not be those of the file.
      const bool takes_end = has_end ? hunk_.at_end && !has_pattern_ : !is_very_last;
      if (!takes_end) return std::string(text);
      return std::string(without_terminator(text)) + neighbour_terminator(at);
    }
    std::string out = indent.carry(without_terminator(text));
    if (is_very_last && !ends_with_terminator(text, glues)) return out;
    const std::string_view given = terminator_of(text);
    out += ends_alike_ && !given.empty() ? std::string(given) : neighbour_terminator(at);
    return out;
  }

  /// Whether the new last line of the file gets a terminator. If the patch changes that, the patch
  /// decides, otherwise the file.
  bool ends_with_terminator(std::string_view text, bool glues) const {
    const std::vector<std::string_view> before = pre_image(hunk_);
    const bool was = before.empty() || !terminator_of(before.back()).empty();
    const bool becomes = !terminator_of(text).empty();
    if (was != becomes) return becomes;
    return !glues && (file_.empty() || file_.ends_with_newline());
  }

  [[nodiscard]] std::string neighbour_terminator(size_t at) const {
    return std::string(line_end_near(file_.text(), file_.offset(std::min(at, file_.size()))));
  }

  const Lines& file_;
  const Hunk& hunk_;
  size_t line_;
  LineFolding fold_;
  bool has_pattern_ = false;
  bool keeps_context_ = false;
  bool ends_alike_ = false;
};

/// Context lines of a corrected hunk: at first, and at most, until its old lines occur once.
constexpr size_t kLeastUniqueContext = 3;
constexpr size_t kMostUniqueContext = 12;

/// The changes as hunks. Changes are one hunk if less than two times `context` lines are between
/// them, or with `is_one`.
std::vector<PlacedHunk> hunks_of(const Lines& before, const Lines& after, size_t context,
                                 bool is_one) {
  const EditScript script = diff_lines(before, after);
  std::vector<PlacedHunk> out;
  for (size_t first = 0; first < script.size();) {
    size_t last = first;
    while (last + 1 < script.size() &&
           (is_one || script[last + 1].old_begin - script[last].old_end <= 2 * context)) {
      ++last;
    }
    PlacedHunk placed;
    const size_t lead = std::min<size_t>(script[first].old_begin, context);
    placed.old_begin = script[first].old_begin - lead;
    placed.new_begin = script[first].new_begin - lead;
    size_t at = placed.old_begin;
    const auto keep_until = [&](size_t end) {
      for (; at < end; ++at) placed.hunk.lines.push_back({LineRole::kContext, before[at]});
    };
    for (size_t i = first; i <= last; ++i) {
      keep_until(script[i].old_begin);
      for (; at < script[i].old_end; ++at) {
        placed.hunk.lines.push_back({LineRole::kRemoved, before[at]});
      }
      for (size_t k = script[i].new_begin; k < script[i].new_end; ++k) {
        placed.hunk.lines.push_back({LineRole::kAdded, after[k]});
      }
    }
    keep_until(std::min<size_t>(at + context, before.size()));
    out.push_back(std::move(placed));
    first = last + 1;
  }
  return out;
}

std::string with_mark(char mark, std::string_view line) {
  std::string out(1, mark);
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
  return out;
}

std::string marked_lines(const Hunk& hunk) {
  std::string out;
  for (const HunkLine& line : hunk.lines) {
    const bool is_context = line.role == LineRole::kContext;
    out += with_mark(is_context ? ' ' : line.role == LineRole::kAdded ? '+' : '-', line.text);
  }
  return out;
}

std::string range_of(size_t begin, size_t count) {
  return std::to_string(count == 0 ? begin : begin + 1) + "," + std::to_string(count);
}

// How a line keeps the file's quotes and blanks:
//
// Suppose that the file has “Hello”, and the edit replaces "Hello" by "Hi". Lines are divided into
// units: words, runs of blanks, single signs, and the end of the line with the blanks before it.
// The removed lines of the hunk and the file's lines have the same units, but some are spelled
// differently. A diff of the removed and the added units shows which ones stay. These are written
// as in the file. Blanks at the start of a line are not units: IndentMap carries them.
//
// If units repeat, there are several such diffs. So it is computed forwards and backwards, and both
// must result in the same lines. Blanks repeat most: outside quotes, one stays only next to a unit
// that stays. The end of a line stays if a single new line keeps words of the line.

using Texts = std::vector<std::string_view>;

struct Unit {
  std::string_view text;
  bool is_end = false;     ///< the blanks at the end of a line
  bool is_quoted = false;  ///< after an odd number of equal quotes in its line

  bool operator==(const Unit& other) const { return text == other.text && is_end == other.is_end; }
};
using Units = std::vector<Unit>;

bool is_blank_sign(std::string_view text) {
  const auto [kin, length] = ascii_equivalent(text);
  return length > 0 ? kin == ' '
                    : std::string_view(" \t\f\r").find(text.front()) != std::string::npos;
}

bool has_high(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

/// The length of the first unit of `text`.
size_t unit_length(std::string_view text) {
  const auto sign = [](std::string_view rest) {
    return std::max<size_t>(ascii_equivalent(rest).second, 1);
  };
  const auto is_plain = [](std::string_view rest) { return ascii_equivalent(rest).second == 0; };
  const bool is_word = is_plain(text) && is_telling_line(text.substr(0, 1));
  size_t end = sign(text);
  if (is_blank_sign(text)) {
    while (end < text.size() && is_blank_sign(text.substr(end))) end += sign(text.substr(end));
  } else if (is_word) {
    while (end < text.size() && is_plain(text.substr(end)) &&
           is_telling_line(text.substr(end, 1))) {
      ++end;
    }
  }
  return end;
}

void append_units(std::string_view line, Units& out) {
  std::string_view text = without_terminator(line);
  const size_t begin = out.size();
  std::array<bool, 3> is_open = {};
  while (!text.empty()) {
    const size_t length = unit_length(text);
    const bool is_quoted = is_open[0] || is_open[1] || is_open[2];
    const size_t quote = std::string_view("\"'`").find(text.front());
    if (quote < is_open.size()) is_open[quote] = !is_open[quote];
    if (out.size() > begin || !is_blank_sign(text)) {
      out.push_back({text.substr(0, length), false, is_quoted});
    }
    text.remove_prefix(length);
  }
  if (out.size() > begin && is_blank_sign(out.back().text)) {
    out.back().is_end = true;
  } else {
    out.push_back({text, true, false});
  }
}

/// For each added unit, the index of the removed unit that it keeps; npos for a new unit.
std::vector<size_t> shared_units(const Units& removed, const Units& added, bool is_backwards) {
  std::map<std::pair<bool, std::string_view>, LineId> ids;
  const auto ids_of = [&](const Units& units) {
    std::vector<LineId> out;
    for (const Unit& unit : units) {
      const auto next = static_cast<LineId>(ids.size());
      out.push_back(ids.emplace(std::pair(unit.is_end, unit.text), next).first->second);
    }
    if (is_backwards) std::reverse(out.begin(), out.end());
    return out;
  };
  const std::vector<LineId> before = ids_of(removed);
  const std::vector<LineId> after = ids_of(added);
  std::vector<size_t> out(added.size(), std::string::npos);
  size_t old_at = 0;
  size_t new_at = 0;
  const auto keep_until = [&](size_t new_end) {
    for (; new_at < new_end; ++new_at, ++old_at) {
      const size_t to = is_backwards ? added.size() - 1 - new_at : new_at;
      out[to] = is_backwards ? removed.size() - 1 - old_at : old_at;
    }
  };
  for (const ChangedRange& range : diff_ids(before, after)) {
    keep_until(range.new_begin);
    old_at = range.old_end;
    new_at = range.new_end;
  }
  keep_until(added.size());
  return out;
}

/// A group of adjacent changed lines, and the file's lines that it removes.
struct Respelling {
  Units removed;
  Units own;
  Units added;
};

/// A unit; a run of blanks with both its neighbours. The first unit of a line is no run of blanks.
using Neighbourhood = std::array<std::string_view, 3>;
Neighbourhood neighbourhood(const Units& units, size_t at) {
  if (!is_blank_sign(units[at].text)) return {units[at].text};
  return {units[at].text, units[at - 1].text, units[at + 1].text};
}

/// True if a unit that the file spells differently is removed and added elsewhere.
bool moves_unit(const Respelling& run, const std::vector<size_t>& shared) {
  std::vector<bool> stays(run.removed.size(), false);
  std::set<Neighbourhood> fresh;
  for (size_t k = 0; k < run.added.size(); ++k) {
    if (shared[k] != std::string::npos) {
      stays[shared[k]] = true;
    } else if (!run.added[k].is_end) {
      fresh.insert(neighbourhood(run.added, k));
    }
  }
  for (size_t i = 0; i < run.removed.size(); ++i) {
    if (stays[i] || run.removed[i].is_end || run.removed[i] == run.own[i]) continue;
    if (fresh.contains(neighbourhood(run.removed, i))) return true;
  }
  return false;
}

/// Added unit `k` as the file spells it.
std::string_view spelled(const Respelling& run, const std::vector<size_t>& shared, size_t k) {
  const size_t from = shared[k];
  const Unit& unit = run.added[k];
  if (from == std::string::npos) return unit.text;
  const std::string_view own = run.own[from].text;
  const bool is_spacing = !unit.is_end && is_blank_sign(unit.text) && !has_high(own);
  if (!is_spacing || unit.is_quoted) return own;
  const bool is_held = shared[k - 1] == from - 1 || shared[k + 1] == from + 1;
  return is_held ? own : unit.text;
}

/// The blanks at the end of a new line that could be that of several removed lines, or of none;
/// nullopt if it is unclear what the file has in their place.
std::optional<std::string_view> spelled_end(const Respelling& run, const Unit& end) {
  std::optional<std::string_view> own;
  for (size_t i = 0; has_high(end.text) && i < run.removed.size(); ++i) {
    if (!(run.removed[i] == end)) continue;
    if (own && *own != run.own[i].text) return std::nullopt;
    own = run.own[i].text;
  }
  return own ? own : end.text;
}

/// The line of each unit, 0-based.
std::vector<size_t> lines_of(const Units& units) {
  std::vector<size_t> out;
  size_t line = 0;
  for (const Unit& unit : units) {
    out.push_back(line);
    line += unit.is_end ? 1 : 0;
  }
  return out;
}

/// For the end of each added line, the end of the removed line of which it keeps words; npos if
/// there are several, or if another added line keeps words of the same line.
std::vector<size_t> kept_ends(const Respelling& run, const std::vector<size_t>& forwards,
                              const std::vector<size_t>& backwards) {
  const std::vector<size_t> old_lines = lines_of(run.removed);
  std::vector<size_t> ends;  // of the removed lines
  for (size_t i = 0; i < run.removed.size(); ++i) {
    if (run.removed[i].is_end) ends.push_back(i);
  }
  std::vector<std::set<size_t>> kept(1);       // removed lines, by added line
  std::map<size_t, std::set<size_t>> keepers;  // added lines, by removed line
  for (size_t k = 0; k < run.added.size(); ++k) {
    const bool is_kept = forwards[k] != std::string::npos && forwards[k] == backwards[k] &&
                         is_telling_line(run.added[k].text);
    if (is_kept) {
      kept.back().insert(old_lines[forwards[k]]);
      keepers[old_lines[forwards[k]]].insert(kept.size());
    }
    if (run.added[k].is_end) kept.emplace_back();
  }
  std::vector<size_t> out(run.added.size(), std::string::npos);
  for (size_t k = 0, line = 0; k < run.added.size(); ++k) {
    if (!run.added[k].is_end) continue;
    const std::set<size_t>& from = kept[line++];
    if (from.size() == 1 && keepers[*from.begin()].size() == 1) out[k] = ends[*from.begin()];
  }
  return out;
}

/// The added units in the file's spelling; nullopt if it is uncertain.
std::optional<Texts> rewritten(const Respelling& run) {
  if (run.removed.size() != run.own.size()) return std::nullopt;
  const std::vector<size_t> forwards = shared_units(run.removed, run.added, false);
  const std::vector<size_t> backwards = shared_units(run.removed, run.added, true);
  if (moves_unit(run, forwards) || moves_unit(run, backwards)) return std::nullopt;
  Texts out;
  const std::vector<size_t> ends = kept_ends(run, forwards, backwards);
  for (size_t k = 0; k < run.added.size(); ++k) {
    const Unit& unit = run.added[k];
    std::optional<std::string_view> text = spelled(run, forwards, k);
    if (unit.is_end) {
      const bool is_kept = ends[k] != std::string::npos && run.removed[ends[k]] == unit;
      text = is_kept ? run.own[ends[k]].text : spelled_end(run, unit);
    } else if (*text != spelled(run, backwards, k)) {
      return std::nullopt;
    }
    if (!text) return std::nullopt;
    out.push_back(*text);
  }
  return out;
}

/// `line` with `texts` from `at` in the place of its units.
std::string with_units(std::string_view line, const Units& units, const Texts& texts, size_t& at) {
  std::string out;
  for (bool is_over = false; !is_over; ++at) {
    // Only blanks at the start of the line are between units.
    const auto gap = static_cast<size_t>(units[at].text.data() - line.data());
    out += line.substr(0, gap);
    out += texts[at];
    line.remove_prefix(gap + units[at].text.size());
    is_over = units[at].is_end;
  }
  return out + std::string(line);
}

}  // namespace

std::vector<std::string_view> pre_image(const Hunk& hunk) {
  std::vector<std::string_view> out;
  out.reserve(hunk.lines.size());
  for (const HunkLine& line : hunk.lines) {
    if (line.role != LineRole::kAdded) out.push_back(line.text);
  }
  return out;
}

std::vector<std::string_view> post_image(const Hunk& hunk) {
  std::vector<std::string_view> out;
  out.reserve(hunk.lines.size());
  for (const HunkLine& line : hunk.lines) {
    if (line.role != LineRole::kRemoved) out.push_back(line.text);
  }
  return out;
}

std::string partner_lines(const Lines& file, const Hunk& hunk,
                          const std::vector<int64_t>& partner) {
  std::string out;
  const std::vector<std::string_view> stated = pre_image(hunk);
  for (size_t i = 0; i < stated.size(); ++i) {
    out += partner[i] < 0 ? stated[i] : file[static_cast<size_t>(partner[i])];
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

Hunk with_kept_lines(const Hunk& hunk) {
  Hunk out = hunk;
  out.lines.clear();
  for (size_t begin = 0; begin < hunk.lines.size();) {
    std::vector<HunkLine> removed;
    std::vector<HunkLine> added;
    size_t end = begin;
    for (; end < hunk.lines.size() && hunk.lines[end].role != LineRole::kContext; ++end) {
      const HunkLine& line = hunk.lines[end];
      (line.role == LineRole::kRemoved ? removed : added).push_back(line);
    }
    const size_t most = std::min(removed.size(), added.size());
    size_t head = 0;
    while (head < most && removed[head].text == added[head].text) ++head;
    size_t tail = 0;
    while (tail < most - head &&
           removed[removed.size() - 1 - tail].text == added[added.size() - 1 - tail].text) {
      ++tail;
    }
    const auto put = [&](const std::vector<HunkLine>& lines, size_t first, size_t last,
                         bool keeps) {
      for (size_t i = first; i < last; ++i) {
        out.lines.push_back({keeps ? LineRole::kContext : lines[i].role, lines[i].text});
      }
    };
    if (head + tail == 0) {
      put(hunk.lines, begin, end, false);  // old and new lines may alternate
    } else {
      put(removed, 0, head, true);
      put(removed, head, removed.size() - tail, false);
      put(added, head, added.size() - tail, false);
      put(removed, removed.size() - tail, removed.size(), true);
    }
    if (end == begin) out.lines.push_back(hunk.lines[end++]);
    begin = end;
  }
  return out;
}

bool ends_alike(const Lines& file, const std::vector<std::string_view>& pattern, int64_t start) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    const int64_t line = start + static_cast<int64_t>(i);
    if (line < 0 || static_cast<size_t>(line) >= file.size()) continue;
    if (terminator_of(file[static_cast<size_t>(line)]) != terminator_of(pattern[i])) return false;
  }
  return true;
}

bool changes_line_ends(const Hunk& hunk) {
  // In most hunks all lines end alike.
  const bool has_other =
      std::any_of(hunk.lines.begin(), hunk.lines.end(),
                  [](const HunkLine& line) { return terminator_of(line.text) != "\n"; });
  if (!has_other) return false;
  for (size_t begin = 0; begin < hunk.lines.size();) {
    if (hunk.lines[begin].role == LineRole::kContext) {
      ++begin;
      continue;
    }
    std::unordered_map<std::string_view, std::string_view> removed;  // text to terminator
    size_t end = begin;
    for (; end < hunk.lines.size() && hunk.lines[end].role != LineRole::kContext; ++end) {
      const std::string_view line = hunk.lines[end].text;
      if (hunk.lines[end].role == LineRole::kRemoved) {
        removed.emplace(without_terminator(line), terminator_of(line));
      }
    }
    for (; begin < end; ++begin) {
      const std::string_view line = hunk.lines[begin].text;
      if (hunk.lines[begin].role != LineRole::kAdded || terminator_of(line).empty()) continue;
      const auto was = removed.find(without_terminator(line));
      if (was != removed.end() && !was->second.empty() && was->second != terminator_of(line)) {
        return true;
      }
    }
  }
  return false;
}

ContextCounts context_counts(const Hunk& hunk) {
  const auto is_change = [](const HunkLine& line) { return line.role != LineRole::kContext; };
  const auto first = std::find_if(hunk.lines.begin(), hunk.lines.end(), is_change);
  const auto last = std::find_if(hunk.lines.rbegin(), hunk.lines.rend(), is_change);
  return {static_cast<size_t>(first - hunk.lines.begin()),
          static_cast<size_t>(last - hunk.lines.rbegin())};
}

bool must_end_file(const Hunk& hunk) {
  const auto is_unended_last = [&](LineRole other) {
    const auto last = std::find_if(hunk.lines.rbegin(), hunk.lines.rend(),
                                   [&](const HunkLine& line) { return line.role != other; });
    return last != hunk.lines.rend() && !last->text.ends_with('\n');
  };
  return hunk.at_end || is_unended_last(LineRole::kAdded) || is_unended_last(LineRole::kRemoved);
}

bool leaves_end_of_file(const Lines& file, const Hunk& hunk, int64_t end) {
  if (!must_end_file(hunk)) return false;
  for (auto at = static_cast<size_t>(std::max<int64_t>(end, 0)); at < file.size(); ++at) {
    if (!is_blank_text(file[at])) return true;
  }
  return false;
}

void splice_hunk(const Lines& file, const Hunk& hunk, size_t start, LineFolding fold,
                 const IndentMap& indent, std::vector<Splice>& out) {
  HunkSplicer(file, hunk, start, fold).run(indent, out);
}

bool holds_all(const std::vector<std::string_view>& words,
               const std::vector<std::string_view>& wanted) {
  size_t at = 0;
  for (const std::string_view word : wanted) {
    while (at < words.size() && words[at] != word) ++at;
    if (at++ >= words.size()) return false;
  }
  return true;
}

std::string_view line_end_near(std::string_view file, size_t offset) {
  size_t newline = file.find('\n', offset);
  if (newline == std::string_view::npos && offset > 0) newline = file.rfind('\n', offset - 1);
  if (newline == std::string_view::npos) return "\n";
  const bool has_return = newline > 0 && file[newline - 1] == '\r';
  return has_return ? file.substr(newline - 1, 2) : file.substr(newline, 1);
}

namespace {

std::string without_returns(const Lines& lines) {
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    out += without_terminator(lines[i]);
    if (lines[i].ends_with('\n')) out.push_back('\n');
  }
  return out;
}

/// For each new line, the number of old lines up to and with the one that it keeps, replaces or
/// follows.
std::vector<size_t> lines_alike(const Lines& before, const Lines& after) {
  std::vector<size_t> out;
  size_t old_at = 0;
  const std::string one = without_returns(before);
  const std::string other = without_returns(after);
  for (const ChangedRange& range : diff_lines(Lines(one), Lines(other))) {
    while (out.size() < range.new_begin) out.push_back(++old_at);
    while (out.size() < range.new_end) {
      if (old_at < range.old_end) ++old_at;
      out.push_back(old_at);
    }
    old_at = range.old_end;
  }
  while (out.size() < after.size()) out.push_back(++old_at);
  return out;
}

}  // namespace

std::string with_line_ends_of(std::string_view file, size_t offset, size_t length,
                              std::string_view text) {
  const Lines before(file.substr(offset, length));
  const Lines after(text);
  const std::vector<size_t> alike = lines_alike(before, after);
  const bool follows = offset > 0 && file[offset - 1] == '\n';
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < after.size(); ++i) {
    out += without_terminator(after[i]);
    if (!after[i].ends_with('\n')) break;
    const size_t above = follows ? offset - 1 : offset;
    out += line_end_near(file, alike[i] > 0 ? offset + before.offset(alike[i] - 1) : above);
  }
  return out;
}

bool changes_line_ends(std::string_view old_text, std::string_view new_text) {
  return old_text != new_text &&
         without_returns(Lines(old_text)) == without_returns(Lines(new_text));
}

std::string PlacedHunk::text() const {
  return "@@ -" + range_of(old_begin, pre_image(hunk).size()) + " +" +
         range_of(new_begin, post_image(hunk).size()) + " @@\n" + marked_lines(hunk);
}

std::vector<PlacedHunk> unique_hunks(std::string_view old_text, std::string_view new_text,
                                     bool is_one) {
  const Lines before(old_text);
  const Lines after(new_text);
  FileIndex index(old_text);
  for (size_t context = kLeastUniqueContext; context <= kMostUniqueContext;
       context += kLeastUniqueContext) {
    std::vector<PlacedHunk> hunks = hunks_of(before, after, context, is_one);
    const bool are_unique = std::all_of(hunks.begin(), hunks.end(), [&](const PlacedHunk& placed) {
      const auto lines = pre_image(placed.hunk);
      return !lines.empty() && index.find(lines, LineFolding::kBytes, 2).size() == 1;
    });
    if (are_unique) return hunks;
  }
  return {};
}

std::vector<PlacedHunk> whole_file_hunk(const Lines& lines) {
  PlacedHunk placed;
  for (size_t i = 0; i < lines.size(); ++i) {
    placed.hunk.lines.push_back({LineRole::kAdded, lines[i]});
  }
  return {std::move(placed)};
}

namespace {

/// Whether a line has quotation marks that are not ASCII.
bool has_quote_marks(std::string_view line) {
  constexpr std::array<std::string_view, 4> kMarks = {"\xe2\x80\x9c", "\xe2\x80\x9d",
                                                      "\xe2\x80\x98", "\xe2\x80\x99"};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return line.find(mark) != line.npos; });
}

/// Whether a new text has quotation marks as the edit has them.
bool keeps_typed_quotes(const Respelling& run, const Texts& texts) {
  for (size_t k = 0; k < texts.size(); ++k) {
    if (texts[k].data() == run.added[k].text.data() && has_quote_marks(texts[k])) return true;
  }
  return false;
}

}  // namespace

std::optional<Hunk> with_own_characters(const Lines& file, const Hunk& hunk, size_t start,
                                        std::deque<std::string>& kept) {
  Hunk out = hunk;
  size_t line = start;
  bool has_typed_quotes = false;  // where the file has plain ones
  for (const HunkLine& old : hunk.lines) {
    if (old.role == LineRole::kAdded) continue;
    has_typed_quotes =
        has_typed_quotes || (has_quote_marks(old.text) && !has_quote_marks(file[line]));
    ++line;
  }
  line = start;
  for (size_t i = 0; i < out.lines.size();) {
    if (out.lines[i].role == LineRole::kContext) {
      ++line;
      ++i;
      continue;
    }
    Respelling run;
    const size_t begin = i;
    for (; i < out.lines.size() && out.lines[i].role != LineRole::kContext; ++i) {
      const bool is_removed = out.lines[i].role == LineRole::kRemoved;
      append_units(out.lines[i].text, is_removed ? run.removed : run.added);
      if (is_removed) append_units(file[line++], run.own);
    }
    const bool keeps_added = run.added.empty() || run.removed == run.own;
    const bool adds_quotes =
        keeps_added &&
        std::any_of(out.lines.begin() + static_cast<int64_t>(begin),
                    out.lines.begin() + static_cast<int64_t>(i),
                    [](const HunkLine& added) { return has_quote_marks(added.text); });
    if (has_typed_quotes && adds_quotes) return std::nullopt;
    if (keeps_added) continue;
    const auto texts = rewritten(run);
    if (!texts || (has_typed_quotes && keeps_typed_quotes(run, *texts))) return std::nullopt;
    for (size_t k = begin, unit = 0; k < i; ++k) {
      if (out.lines[k].role != LineRole::kAdded) continue;
      out.lines[k].text = kept.emplace_back(with_units(out.lines[k].text, run.added, *texts, unit));
    }
  }
  return out;
}

}  // namespace galley
