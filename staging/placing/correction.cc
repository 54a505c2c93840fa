#include "staging/placing/correction.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "staging/formats/read_edits.h"
#include "staging/placing/anchors.h"
#include "staging/placing/doubtful_place.h"
#include "staging/placing/hunk_text.h"
#include "staging/text/fold.h"

// Why few corrections are offered:
//
// An agent sends a correction back without reading it. So it must make exactly the change of the
// edit: the same lines removed, the same lines added. Only wrong context of the edit is replaced by
// the file's lines.
//
// A run is a group of adjacent changed lines of the hunk. Its core must be in the file, line for
// line. The core has the run's removed lines. If there are none, or if the first or last of them is
// not a telling line, it also has context up to a telling line. The weight of a place is the number
// of the hunk's telling context lines around it, in order. Any other place must have less than half
// of that weight, and no context line may be elsewhere in the file only (doubtful_place.h).
//
// A removed line that the file has only with other blanks, quotes or without its final semicolon
// was typed again. In a correction that is only offered, the file's only such line takes its place.
// Its new lines stay as they are.
//
// Correction.MakesTheIntendedChangeOrIsAbsent tests this with random files, edits and mistakes.

namespace galley {
namespace {

/// Maximum number of runs in a hunk that is corrected.
constexpr size_t kRuns = 20;
/// Maximum number of places of a core. A core with more places proves too little.
constexpr size_t kCorePlaces = 8;
/// Context lines of the hunk that count on each side of a core.
constexpr size_t kWeighedLines = 20;
/// Maximum number of lines that the file may have in addition between lines of the hunk.
constexpr int64_t kDriftedLines = 8;
/// Minimum number of context lines. A correction gets more until its place is unique.
constexpr size_t kFewestContext = 3;
constexpr size_t kMostContext = 10;

/// Maximum number of lines of a text with several readings. The tables are quadratic.
constexpr size_t kReadLines = 400;

/// Minimum number of words of a removed line that is found although it was typed again.
constexpr size_t kRetypedWords = 2;

constexpr std::string_view kPatchNames = "--- a/f\n+++ b/f\n";

/// One group of adjacent changed lines.
struct Run {
  size_t begin = 0;  ///< hunk.lines[begin, end)
  size_t end = 0;
  size_t pattern_begin = 0;  ///< pattern[pattern_begin, pattern_end) are removed
  size_t pattern_end = 0;
  size_t core_begin = 0;  ///< pattern[core_begin, core_end) must be in the file
  size_t core_end = 0;
  int64_t start = -1;        ///< the file's line for pattern_begin
  bool is_only_one = false;  ///< its core occurs once, ignoring blanks
};

/// True if one line has all words of the other, in order, and both have at least two words.
bool has_words_of(std::string_view one, std::string_view other) {
  const auto words = words_of(one);
  const auto others = words_of(other);
  return std::min(words.size(), others.size()) >= 2 &&
         (holds_all(words, others) || holds_all(others, words));
}

bool is_telling(const std::vector<std::string_view>& lines, size_t begin, size_t end) {
  return std::any_of(lines.begin() + static_cast<int64_t>(begin),
                     lines.begin() + static_cast<int64_t>(end), is_telling_line);
}

/// The maximum number of telling lines in a common subsequence.
uint32_t telling_in_common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<uint32_t> row(b.size() + 1, 0);
  for (const std::string& line : a) {
    const uint32_t weight = is_telling_line(line) ? 1 : 0;
    uint32_t diagonal = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      const uint32_t above = row[j + 1];
      row[j + 1] = line == b[j] ? std::max(above, diagonal + weight) : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

class Corrector {
 public:
  Corrector(FileIndex& index, const Hunk& hunk, bool is_to_be_made)
      : index_(index),
        file_(index.lines()),
        hunk_(hunk),
        is_to_be_made_(is_to_be_made),
        pattern_(pre_image(hunk)) {}

  std::string run() {
    read_runs();
    if (runs_.empty() || runs_.size() > kRuns) return {};
    for (Run& run : runs_) {
      const bool is_placed = (choose_core(run, 2) && place(run)) ||
                             (is_to_be_made_ && choose_core(run, 1) && place(run));
      if (!is_placed) return {};
    }
    const int64_t start = runs_.front().start;
    const bool is_certain =
        is_in_order() && !points_elsewhere(index_, hunk_, start, end_of(runs_.back()), start);
    return is_certain ? with_unique_context() : std::string();
  }

  /// The correction of a hunk whose old lines are the file's lines from `start`.
  std::string run_at(int64_t start) {
    read_runs();
    for (Run& run : runs_) run.start = start + static_cast<int64_t>(run.pattern_begin);
    return runs_.empty() ? std::string() : with_unique_context();
  }

 private:
  std::string with_unique_context() {
    if (!agrees_with_anchors() || leaves_a_block(index_, hunk_, places()) ||
        is_of_other_block(index_, hunk_, places()) || names_missing_item(index_, hunk_) ||
        has_opposite_context() || !is_at_end())
      return {};
    for (size_t context = kFewestContext; context <= kMostContext; ++context) {
      std::string out = printed(context);
      if (out.empty()) return {};
      if (is_unique(context)) return out;
    }
    return {};
  }

  void read_runs() {
    size_t line = 0;
    for (size_t i = 0; i < hunk_.lines.size();) {
      if (hunk_.lines[i].role == LineRole::kContext) {
        ++line;
        ++i;
        continue;
      }
      Run run;
      run.begin = i;
      run.pattern_begin = line;
      for (; i < hunk_.lines.size() && hunk_.lines[i].role != LineRole::kContext; ++i) {
        if (hunk_.lines[i].role == LineRole::kRemoved) ++line;
      }
      run.end = i;
      run.pattern_end = line;
      runs_.push_back(run);
    }
  }

  /// Chooses the core of a run: its removed lines. If the first or last of them is not telling, the
  /// core is extended by context up to a telling line. A run that only adds lines gets up to `most`
  /// telling lines on each side, because only context shows its place. Returns false if telling
  /// lines are missing.
  bool choose_core(Run& run, size_t most) const {
    run.core_begin = run.pattern_begin;
    run.core_end = run.pattern_end;
    const bool only_adds = run.core_begin == run.core_end;
    const size_t wanted = only_adds ? most : 1;
    if (only_adds || !is_telling_line(pattern_[run.core_begin])) {
      if (run.core_begin == 0) return false;
      size_t told = 0;
      while (run.core_begin > 0 && told < wanted) {
        told += is_telling_line(pattern_[--run.core_begin]) ? 1 : 0;
      }
      if (told == 0) return false;
    }
    if (only_adds || !is_telling_line(pattern_[run.core_end - 1])) {
      if (run.core_end == pattern_.size()) return false;
      size_t told = 0;
      while (run.core_end < pattern_.size() && told < wanted) {
        told += is_telling_line(pattern_[run.core_end++]) ? 1 : 0;
      }
      if (told == 0) return false;
    }
    return is_telling(pattern_, run.core_begin, run.core_end);
  }

  struct Neighbours {
    bool before = false;
    bool behind = false;
  };
  /// Compares the lines next to the core with those of the hunk. If the core occurs only once in
  /// the file, one of two lines may have more words.
  [[nodiscard]] Neighbours neighbours(const Run& run, int64_t start) const {
    const auto size = static_cast<int64_t>(file_.size());
    const int64_t end = start + static_cast<int64_t>(run.core_end - run.core_begin);
    const auto is_at = [&](size_t line, int64_t at) {
      if (at < 0 || at >= size) return false;
      if (of_pattern(line, line + 1) == of_file(at, at + 1)) return true;
      return run.is_only_one && has_words_of(pattern_[line], file_[static_cast<size_t>(at)]);
    };
    return {run.core_begin > 0 && is_at(run.core_begin - 1, start - 1),
            run.core_end < pattern_.size() && is_at(run.core_end, end)};
  }

  /// True if both neighbours match, or one that is a telling line.
  [[nodiscard]] bool has_neighbour(const Run& run, const Neighbours& there) const {
    return (there.before && there.behind) ||
           (there.before && is_telling_line(pattern_[run.core_begin - 1])) ||
           (there.behind && is_telling_line(pattern_[run.core_end]));
  }

  /// The lines that are compared if the core begins at a certain line of the file.
  struct Window {
    size_t first = 0;  ///< pattern[first, last)
    size_t last = 0;
    int64_t low = 0;  ///< the file's lines [low, high)
    int64_t high = 0;
    int64_t core_end = 0;  ///< the file's line after the core
  };
  [[nodiscard]] Window window(const Run& run, int64_t start) const {
    Window out;
    out.first = run.core_begin - std::min(run.core_begin, kWeighedLines);
    out.last = std::min(pattern_.size(), run.core_end + kWeighedLines);
    out.core_end = start + static_cast<int64_t>(run.core_end - run.core_begin);
    const auto before = static_cast<int64_t>(run.core_begin - out.first);
    const auto behind = static_cast<int64_t>(out.last - run.core_end);
    out.low = std::max<int64_t>(start - before - kDriftedLines, 0);
    out.high = std::min(out.core_end + behind + kDriftedLines, static_cast<int64_t>(file_.size()));
    return out;
  }

  /// True if the hunk may mean another, equal line. Either the line next to the core equals the
  /// core's outer line, or a telling line of the core occurs more often around the place than in
  /// the hunk.
  bool is_repeated(const Run& run, int64_t start, const Neighbours& there) const {
    const Window near = window(run, start);
    const int64_t end = near.core_end;
    if (start > 0 && of_file(start - 1, start) == of_file(start, start + 1)) return true;
    if (end < static_cast<int64_t>(file_.size()) &&
        of_file(end - 1, end) == of_file(end, end + 1)) {
      return true;
    }
    const std::vector<std::string> around = of_file(near.low, near.high);
    const std::vector<std::string> meant = of_pattern(near.first, near.last);
    const std::vector<std::string> core = of_pattern(run.core_begin, run.core_end);
    // If the line occurs several times in the hunk, only two matching neighbours show which one is
    // meant.
    const std::vector<std::string>& known = there.before && there.behind ? meant : core;
    return std::any_of(core.begin(), core.end(), [&](const std::string& line) {
      return is_telling_line(line) && std::count(around.begin(), around.end(), line) >
                                          std::count(known.begin(), known.end(), line);
    });
  }

  /// The number of the hunk's telling context lines that are, in order, around a core at `start`.
  uint32_t weight_at(const Run& run, int64_t start) const {
    const Window near = window(run, start);
    uint32_t weight =
        telling_in_common(of_pattern(near.first, run.core_begin), of_file(near.low, start)) +
        telling_in_common(of_pattern(run.core_end, near.last), of_file(near.core_end, near.high));
    for (size_t i = run.core_begin; i < run.core_end; ++i) {
      const bool is_context = i < run.pattern_begin || i >= run.pattern_end;
      if (is_context && is_telling_line(pattern_[i])) ++weight;
    }
    return weight;
  }

  std::vector<std::string> of_pattern(size_t begin, size_t end) const {
    std::vector<std::string> out;
    std::string storage;
    for (size_t i = begin; i < end; ++i) {
      out.emplace_back(folded(pattern_[i], LineFolding::kBlanks, storage));
    }
    return out;
  }

  std::vector<std::string> of_file(int64_t begin, int64_t end) const {
    std::vector<std::string> out;
    std::string storage;
    for (int64_t i = begin; i < end; ++i) {
      out.emplace_back(folded(file_[static_cast<size_t>(i)], LineFolding::kBlanks, storage));
    }
    return out;
  }

  /// Finds the place of the core. Returns false if another place is almost as good.
  bool place(Run& run) {
    const std::vector<std::string_view> core(
        pattern_.begin() + static_cast<int64_t>(run.core_begin),
        pattern_.begin() + static_cast<int64_t>(run.core_end));
    const auto starts = index_.find(core, LineFolding::kLineEnds, kCorePlaces + 1);
    if (starts.empty() || starts.size() > kCorePlaces) return false;
    // If changes may be far apart, the context of one does not prove the place of another.
    if (is_to_be_made_ && runs_.size() > 1 && starts.size() > 1) return false;
    int64_t best = -1;
    uint32_t weight = 0;
    uint32_t rival = 0;
    for (const uint32_t start : starts) {
      const uint32_t here = weight_at(run, start);
      if (best >= 0 && here <= weight) {
        rival = std::max(rival, here);
        continue;
      }
      rival = std::max(rival, weight);
      weight = here;
      best = start;
    }
    rival = std::max(rival, weight_elsewhere(run, best));
    const uint32_t margin = starts.size() > 1 ? 2 : 1;
    if (weight < 2 * rival + margin) return false;
    run.is_only_one = starts.size() == 1 && index_.find(core, LineFolding::kBlanks, 2).size() == 1;
    const Neighbours there = neighbours(run, best);
    if (is_repeated(run, best, there)) return false;
    const bool is_told =
        run.is_only_one && run.pattern_begin < run.pattern_end && weight > 0 && is_long(run);
    const bool has_neighbours = is_to_be_made_ ? (there.before && there.behind) ||
                                                     (is_told && (there.before || there.behind))
                                               : has_neighbour(run, there);
    if (!is_widened(run) && !has_neighbours) return false;
    run.start = best + static_cast<int64_t>(run.pattern_begin - run.core_begin);
    return true;
  }

  /// True if a removed line has so many words that an equal line elsewhere is unlikely.
  [[nodiscard]] bool is_long(const Run& run) const {
    constexpr size_t kWords = 3;
    for (size_t i = run.pattern_begin; i < run.pattern_end; ++i) {
      if (words_of(pattern_[i]).size() >= kWords) return true;
    }
    return false;
  }

  /// True if context lines are part of the core.
  static bool is_widened(const Run& run) {
    return run.core_begin != run.pattern_begin || run.core_end != run.pattern_end;
  }

  /// The maximum number of telling context lines that point to one other place, with or without the
  /// core.
  uint32_t weight_elsewhere(const Run& run, int64_t best) {
    std::vector<std::string_view> context = pattern_;
    for (size_t i = run.pattern_begin; i < run.pattern_end; ++i) context[i] = {};
    const int64_t expected = best - static_cast<int64_t>(run.core_begin);
    const auto nearest = index_.nearest(context, LineFolding::kBlanks, expected);
    const bool is_here = std::abs(nearest.start - expected) <= kDriftedLines;
    return is_here ? nearest.torn_rival_votes : nearest.votes;
  }

  /// True if the runs are in order, and about as far apart as in the hunk.
  bool is_in_order() const {
    for (size_t i = 1; i < runs_.size(); ++i) {
      const Run& before = runs_[i - 1];
      const Run& run = runs_[i];
      const int64_t end = end_of(before);
      const auto apart = static_cast<int64_t>(run.pattern_begin - before.pattern_end);
      if (run.start < end) return false;
      const bool may_be_far = is_to_be_made_ && run.is_only_one && before.is_only_one;
      if (!may_be_far && run.start - end > apart + kDriftedLines) return false;
    }
    return true;
  }

  static int64_t end_of(const Run& run) {
    return run.start + static_cast<int64_t>(run.pattern_end - run.pattern_begin);
  }

  bool agrees_with_anchors() {
    const auto leading = static_cast<int64_t>(runs_.front().pattern_begin);
    const int64_t start = std::max<int64_t>(runs_.front().start - leading, 0);
    return !anchor_against(index_, hunk_, start);
  }

  /// The file's lines for the hunk's removed lines and the lines next to each run; -1: not known.
  [[nodiscard]] std::vector<int64_t> places() const {
    std::vector<int64_t> out(pattern_.size(), -1);
    for (const Run& run : runs_) {
      if (run.pattern_begin > 0) out[run.pattern_begin - 1] = run.start - 1;
      for (size_t i = run.pattern_begin; i < std::min(run.pattern_end + 1, out.size()); ++i) {
        out[i] = run.start + static_cast<int64_t>(i - run.pattern_begin);
      }
    }
    return out;
  }

  /// True if a context line that the file does not have is there as its opposite.
  bool has_opposite_context() const {
    const auto low = static_cast<int64_t>(first_line(kWeighedLines));
    const auto high = static_cast<int64_t>(last_line(kWeighedLines));
    return std::any_of(hunk_.lines.begin(), hunk_.lines.end(), [&](const HunkLine& line) {
      const bool is_open = line.role == LineRole::kContext && is_telling_line(line.text) &&
                           index_.lines_like(line.text, LineFolding::kBlanks).empty();
      for (int64_t at = low; is_open && at < high; ++at) {
        if (may_be_opposite(line.text, file_[static_cast<size_t>(at)])) return true;
      }
      return false;
    });
  }

  bool is_at_end() const {
    const auto rest = static_cast<int64_t>(pattern_.size() - runs_.back().pattern_end);
    return !leaves_end_of_file(file_, hunk_, end_of(runs_.back()) + rest);
  }

  [[nodiscard]] size_t first_line(size_t context) const {
    const auto start = static_cast<size_t>(runs_.front().start);
    return start - std::min(start, context);
  }

  [[nodiscard]] size_t last_line(size_t context) const {
    return std::min(static_cast<size_t>(end_of(runs_.back())) + context, file_.size());
  }

  bool is_unique(size_t context) {
    std::vector<std::string_view> lines;
    for (size_t i = first_line(context); i < last_line(context); ++i) lines.push_back(file_[i]);
    return index_.find(lines, LineFolding::kBytes, 2).size() == 1;
  }

  struct Body {
    std::string text;
    size_t old_count = 0;
    size_t new_count = 0;

    void put(char mark, std::string_view line) {
      text.push_back(mark);
      text += line;
      if (!line.ends_with('\n')) text += "\n\\ No newline at end of file\n";
      old_count += mark == '+' ? 0 : 1;
      new_count += mark == '-' ? 0 : 1;
    }
  };

  std::string printed(size_t context) const {
    const size_t first = first_line(context);
    size_t at = first;
    Body body;
    for (const Run& run : runs_) {
      while (at < static_cast<size_t>(run.start)) body.put(' ', file_[at++]);
      if (!put_run(run, at, body)) return {};
    }
    while (at < last_line(context)) body.put(' ', file_[at++]);
    const auto range = [&](size_t count) {
      return std::to_string(count == 0 ? first : first + 1) +
             (count == 1 ? "" : "," + std::to_string(count));
    };
    std::string out =
        "@@ -" + range(body.old_count) + " +" + range(body.new_count) + " @@\n" + body.text;
    const bool holds = makes_stated_change(file_, hunk_.lines, std::string(kPatchNames) + out);
    return holds ? out : std::string();
  }

  /// Appends a run. Returns false if a line would follow one without a terminator.
  bool put_run(const Run& run, size_t& at, Body& body) const {
    const size_t first = at;
    const auto end = static_cast<size_t>(end_of(run));
    const bool is_last = end == file_.size() && !file_.ends_with_newline();
    if (is_last && end == first) return false;
    size_t left = 0;
    for (size_t i = run.begin; i < run.end; ++i) {
      left += hunk_.lines[i].role == LineRole::kAdded ? 1 : 0;
    }
    // A new line gets the terminator of the line that it replaces, or of the line before it.
    size_t like = end > first || first == 0 ? first : first - 1;
    for (size_t i = run.begin; i < run.end; ++i) {
      if (hunk_.lines[i].role == LineRole::kRemoved) {
        body.put('-', file_[at++]);
        continue;
      }
      std::string text(without_terminator(hunk_.lines[i].text));
      if (--left > 0 || !is_last) text += line_end_near(file_.text(), file_.offset(like));
      if (like + 1 < end) ++like;
      body.put('+', text);
    }
    return true;
  }

  FileIndex& index_;
  const Lines& file_;
  const Hunk& hunk_;
  bool is_to_be_made_;
  std::vector<std::string_view> pattern_;
  std::vector<Run> runs_;
};

/// The removed and added lines, in order, without terminators.
std::vector<std::pair<LineRole, std::string_view>> net_of(const std::vector<HunkLine>& lines) {
  std::vector<std::pair<LineRole, std::string_view>> out;
  for (const HunkLine& line : lines) {
    if (line.role != LineRole::kContext) out.emplace_back(line.role, without_terminator(line.text));
  }
  return out;
}

/// True if the hunk's old lines are at the stated place, byte for byte.
bool matches_as_stated(const Lines& file, const Hunk& hunk) {
  const std::vector<std::string_view> before = pre_image(hunk);
  const size_t start = hunk.old_start - (before.empty() ? 0 : std::min(hunk.old_start, 1U));
  if (!hunk.has_numbers || !hunk.counts_agree || start + before.size() > file.size()) return false;
  for (size_t i = 0; i < before.size(); ++i) {
    if (file[start + i] != before[i]) return false;
  }
  return true;
}

/// The longest common subsequences of two short texts.
class CommonLines {
 public:
  CommonLines(const Lines& before, const Lines& after)
      : before_(before),
        after_(after),
        head_((before.size() + 1) * (after.size() + 1), 0),
        tail_(head_) {
    for (size_t i = 0; i < before.size(); ++i) {
      for (size_t j = 0; j < after.size(); ++j) {
        head_[cell(i + 1, j + 1)] = before[i] == after[j]
                                        ? static_cast<uint16_t>(head_[cell(i, j)] + 1)
                                        : std::max(head_[cell(i, j + 1)], head_[cell(i + 1, j)]);
      }
    }
    for (size_t i = before.size(); i-- > 0;) {
      for (size_t j = after.size(); j-- > 0;) {
        tail_[cell(i, j)] = before[i] == after[j]
                                ? static_cast<uint16_t>(tail_[cell(i + 1, j + 1)] + 1)
                                : std::max(tail_[cell(i + 1, j)], tail_[cell(i, j + 1)]);
      }
    }
  }

  /// The script with a longest common subsequence, matched greedily from one end. If skipping an
  /// old or a new line is equally good, `old_first` decides.
  [[nodiscard]] EditScript script(bool from_end, bool old_first) const {
    const auto pairs = from_end ? kept_from_end(old_first) : kept_from_begin(old_first);
    EditScript out;
    uint32_t i = 0;
    uint32_t j = 0;
    const auto change_until = [&](uint32_t old_end, uint32_t new_end) {
      if (i < old_end || j < new_end) out.push_back({i, old_end, j, new_end});
    };
    for (const auto& [old_line, new_line] : pairs) {
      change_until(old_line, new_line);
      i = old_line + 1;
      j = new_line + 1;
    }
    change_until(static_cast<uint32_t>(before_.size()), static_cast<uint32_t>(after_.size()));
    return out;
  }

 private:
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

  [[nodiscard]] size_t cell(size_t i, size_t j) const { return i * (after_.size() + 1) + j; }

  [[nodiscard]] Pairs kept_from_begin(bool old_first) const {
    Pairs out;
    for (size_t i = 0, j = 0; i < before_.size() && j < after_.size();) {
      const uint16_t old_passed = tail_[cell(i + 1, j)];
      const uint16_t new_passed = tail_[cell(i, j + 1)];
      if (before_[i] == after_[j]) {
        out.emplace_back(static_cast<uint32_t>(i++), static_cast<uint32_t>(j++));
      } else if (old_passed > new_passed || (old_passed == new_passed && old_first)) {
        ++i;
      } else {
        ++j;
      }
    }
    return out;
  }

  [[nodiscard]] Pairs kept_from_end(bool old_first) const {
    Pairs out;
    for (size_t i = before_.size(), j = after_.size(); i > 0 && j > 0;) {
      const uint16_t old_passed = head_[cell(i - 1, j)];
      const uint16_t new_passed = head_[cell(i, j - 1)];
      if (before_[i - 1] == after_[j - 1]) {
        out.emplace_back(static_cast<uint32_t>(--i), static_cast<uint32_t>(--j));
      } else if (old_passed > new_passed || (old_passed == new_passed && old_first)) {
        --i;
      } else {
        --j;
      }
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  const Lines& before_;
  const Lines& after_;
  std::vector<uint16_t> head_;  // lengths for the first i and j lines
  std::vector<uint16_t> tail_;  // lengths for the lines from i and j on
};

/// True if the lines have the same words and signs; only blanks may differ.
bool differ_in_blanks(std::string_view one, std::string_view other) {
  const auto signs_of = [](std::string_view line) {
    std::string out(line);
    std::erase_if(out, is_space);
    return out;
  };
  return words_of(one) == words_of(other) && signs_of(one) == signs_of(other);
}

/// True if both corrections have the same result.
bool make_the_same(const Lines& file, const std::string& one, const std::string& other) {
  const auto a = read_unified(std::string(kPatchNames) + one, {});
  const auto b = read_unified(std::string(kPatchNames) + other, {});
  if (!a || !b) return false;
  const Hunk& first = a->files.front().hunks.front();
  const Hunk& second = b->files.front().hunks.front();
  const auto start_of = [](const Hunk& hunk) {
    return static_cast<size_t>(hunk.old_start) - std::min(hunk.old_start, 1U);
  };
  const size_t begin = std::min(start_of(first), start_of(second));
  const size_t end = std::max(start_of(first) + pre_image(first).size(),
                              start_of(second) + pre_image(second).size());
  const auto after = [&](const Hunk& hunk) {
    std::vector<std::string_view> out;
    for (size_t i = begin; i < start_of(hunk); ++i) out.push_back(file[i]);
    for (const std::string_view line : post_image(hunk)) out.push_back(line);
    for (size_t i = start_of(hunk) + pre_image(hunk).size(); i < end; ++i) out.push_back(file[i]);
    return out;
  };
  return after(first) == after(second);
}

/// A line without the differences of a line that was typed again: blanks after the indentation, a
/// final semicolon, and the kind of quotes where it has no meaning. Empty if too little is left.
std::string retyped_key(std::string_view line) {
  const std::string_view text = trim(line);
  if (words_of(text).size() < kRetypedWords) return {};
  const bool has_own_quotes = text.find_first_of("$\\`") != std::string_view::npos;
  std::string out(indent_of(line));
  for (size_t i = 0; i < text.size(); ++i) {
    // Between two words or two equal signs, a blank has meaning.
    const auto is_between = [&] {
      const std::string sides = {text[i - 1], text[i + 1]};
      return words_of(sides).size() == 1 ? words_of(sides).front().size() == 2
                                         : sides[0] == sides[1] && !is_space(sides[0]);
    };
    if (is_space(text[i]) && !is_between()) continue;
    out.push_back(text[i] == '"' && !has_own_quotes ? '\'' : text[i]);
  }
  if (out.ends_with(';')) out.pop_back();
  return out;
}

/// Returns the hunk with the file's own lines in place of removed lines that were typed again.
/// Empty if a removed line has no such line, or several, or if a new line equals one that was typed
/// again: then it may be context.
std::optional<Hunk> with_own_removed_lines(FileIndex& index, const Hunk& hunk) {
  std::unordered_map<std::string, std::string_view> wanted;  // the file's line for each key
  Hunk out = hunk;
  std::vector<std::pair<HunkLine*, std::string>> retyped;
  for (HunkLine& line : out.lines) {
    const bool is_open = line.role == LineRole::kRemoved &&
                         index.lines_like(line.text, LineFolding::kLineEnds).empty();
    if (!is_open) continue;
    std::string key = retyped_key(line.text);
    if (key.empty() || !wanted.emplace(key, std::string_view()).second) return std::nullopt;
    retyped.emplace_back(&line, std::move(key));
  }
  if (retyped.empty() || retyped.size() > kRuns) return std::nullopt;
  for (const HunkLine& line : hunk.lines) {
    if (line.role == LineRole::kAdded && wanted.count(retyped_key(line.text)) > 0)
      return std::nullopt;
  }
  if (!index.may_compare_all()) return std::nullopt;
  const Lines& file = index.lines();
  for (size_t i = 0; i < file.size(); ++i) {
    const auto found = wanted.find(retyped_key(file[i]));
    if (found == wanted.end()) continue;
    if (!found->second.empty()) return std::nullopt;
    found->second = file[i];
  }
  for (auto& [line, key] : retyped) {
    line->text = wanted[key];
    if (line->text.empty()) return std::nullopt;
  }
  return out;
}

}  // namespace

bool makes_stated_change(const Lines& file, const std::vector<HunkLine>& stated,
                         std::string patch) {
  const auto set = read_unified(std::move(patch), {});
  if (!set || set->files.size() != 1 || !set->leniencies.empty()) return false;
  std::vector<HunkLine> made;
  for (const Hunk& hunk : set->files[0].hunks) {
    if (!matches_as_stated(file, hunk)) return false;
    made.insert(made.end(), hunk.lines.begin(), hunk.lines.end());
  }
  const auto net = net_of(made);
  return !net.empty() && net == net_of(stated);
}

std::string correction_of(FileIndex& index, const Hunk& hunk, bool is_to_be_made) {
  std::string out = Corrector(index, hunk, is_to_be_made).run();
  if (!out.empty() || is_to_be_made) return out;
  const auto own = with_own_removed_lines(index, hunk);
  return own ? Corrector(index, *own, false).run() : std::string();
}

std::string correction_at(FileIndex& index, const Hunk& hunk, int64_t start) {
  const Lines& file = index.lines();
  const std::vector<std::string_view> pattern = pre_image(hunk);
  if (start < 0 || static_cast<size_t>(start) + pattern.size() > file.size()) return {};
  Hunk own = hunk;
  size_t telling = 0;  // telling lines that are equal
  size_t different = 0;
  auto at = static_cast<size_t>(start);
  for (HunkLine& line : own.lines) {
    if (line.role == LineRole::kAdded) continue;
    const std::string_view there = file[at++];
    if (without_terminator(there) == without_terminator(line.text)) {
      telling += is_telling_line(there) ? 1 : 0;
    } else {
      const bool is_alike = differ_in_blanks(there, line.text) ||
                            (line.role == LineRole::kContext && has_words_of(there, line.text));
      if (!is_alike || indent_of(there) != indent_of(line.text)) return {};
      ++different;
    }
    line.text = there;
  }
  const int64_t change = start + static_cast<int64_t>(context_counts(hunk).leading);
  if (different == 0 || telling < 2 * different ||
      points_elsewhere(index, hunk, start, static_cast<int64_t>(at), change)) {
    return {};
  }
  return Corrector(index, own, false).run_at(start);
}

Hunk hunk_between(const Lines& before, const Lines& after, const EditScript& script) {
  Hunk hunk;
  size_t at = 0;
  const auto keep_until = [&](size_t end) {
    for (; at < end; ++at) hunk.lines.push_back({LineRole::kContext, before[at]});
  };
  for (const ChangedRange& range : script) {
    keep_until(range.old_begin);
    for (; at < range.old_end; ++at) hunk.lines.push_back({LineRole::kRemoved, before[at]});
    for (size_t k = range.new_begin; k < range.new_end; ++k) {
      hunk.lines.push_back({LineRole::kAdded, after[k]});
    }
  }
  keep_until(before.size());
  return hunk;
}

/// The hunk with the added lines of each run before the removed ones. The file may have lines
/// between the removed ones.
Hunk with_added_lines_first(Hunk hunk) {
  const auto is_changed = [](const HunkLine& line) { return line.role != LineRole::kContext; };
  auto begin = hunk.lines.begin();
  while (begin != hunk.lines.end()) {
    begin = std::find_if(begin, hunk.lines.end(), is_changed);
    const auto end = std::find_if_not(begin, hunk.lines.end(), is_changed);
    std::stable_partition(begin, end,
                          [](const HunkLine& line) { return line.role == LineRole::kAdded; });
    begin = end;
  }
  return hunk;
}

std::vector<Hunk> readings_of(const Lines& before, const Lines& after) {
  if (before.size() > kReadLines || after.size() > kReadLines) return {};
  const CommonLines common(before, after);
  std::vector<EditScript> scripts = {diff_lines(before, after)};
  for (const bool from_end : {false, true}) {
    for (const bool old_first : {false, true}) {
      EditScript script = common.script(from_end, old_first);
      const bool is_known = std::find(scripts.begin(), scripts.end(), script) != scripts.end();
      if (!is_known) scripts.push_back(std::move(script));
    }
  }
  std::vector<Hunk> out;
  for (const EditScript& script : scripts) {
    Hunk hunk = hunk_between(before, after, script);
    const auto is_removal = [](const ChangedRange& range) {
      return range.removed() > 1 && range.added() > 0;
    };
    if (std::any_of(script.begin(), script.end(), is_removal))
      out.push_back(with_added_lines_first(hunk));
    out.push_back(std::move(hunk));
  }
  return out;
}

std::string correction_of_all(FileIndex& index, const std::vector<Hunk>& readings) {
  std::string out;  // from the last reading
  for (const Hunk& hunk : readings) {
    std::string next = correction_of(index, hunk);
    if (next.empty()) return {};
    if (!out.empty() && !make_the_same(index.lines(), out, next)) return {};
    out = std::move(next);
  }
  return out;
}

}  // namespace galley
