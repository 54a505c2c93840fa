#include "staging/text/diff.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/result.h"
#include "staging/text/diff_myers.h"
#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// One side of a line diff: which of its lines are changed, and how to compare lines.
struct DiffSide {
  const Lines* lines = nullptr;  ///< null: compare only `ids`, without the indent heuristic
  WhiteSpace white_space = WhiteSpace::kExact;
  std::vector<LineId> ids;  ///< of lines [ids_begin, ids_begin + ids.size())
  size_t ids_begin = 0;
  std::vector<uint8_t> changed;  ///< one per line

  [[nodiscard]] size_t size() const { return changed.size(); }
  [[nodiscard]] bool same(size_t i, size_t j) const;
};

// The weights of git's indent heuristic. slide_changes() names their source.
constexpr int kMaxIndent = 200;
constexpr int kMaxBlanks = 20;
constexpr int kStartOfFilePenalty = 1;
constexpr int kEndOfFilePenalty = 21;
constexpr int kTotalBlankWeight = -30;
constexpr int kPostBlankWeight = 6;
constexpr int kRelativeIndentPenalty = -4;
constexpr int kRelativeIndentWithBlankPenalty = 10;
constexpr int kRelativeOutdentPenalty = 24;
constexpr int kRelativeOutdentWithBlankPenalty = 17;
constexpr int kRelativeDedentPenalty = 23;
constexpr int kRelativeDedentWithBlankPenalty = 17;
constexpr int kIndentWeight = 60;
constexpr size_t kMaxSliding = 100;
constexpr int kBlank = -1;

int indent_width(std::string_view line) {
  int indent = 0;
  for (const char c : line) {
    if (c == ' ') {
      ++indent;
    } else if (c == '\t') {
      indent += 8 - indent % 8;
    } else if (c != '\n' && c != '\r') {
      return indent;
    }
    if (indent >= kMaxIndent) return kMaxIndent;
  }
  return kBlank;
}

struct Surroundings {
  bool end_of_file = false;
  int indent = kBlank;
  int blanks_before = 0;
  int indent_before = kBlank;
  int blanks_after = 0;
  int indent_after = kBlank;
};

Surroundings look_around(const Lines& lines, size_t split) {
  Surroundings found;
  found.end_of_file = split >= lines.size();
  if (!found.end_of_file) found.indent = indent_width(lines[split]);
  for (size_t i = split; i > 0; --i) {
    found.indent_before = indent_width(lines[i - 1]);
    if (found.indent_before != kBlank) break;
    if (++found.blanks_before == kMaxBlanks) {
      found.indent_before = 0;
      break;
    }
  }
  for (size_t i = split + 1; i < lines.size(); ++i) {
    found.indent_after = indent_width(lines[i]);
    if (found.indent_after != kBlank) break;
    if (++found.blanks_after == kMaxBlanks) {
      found.indent_after = 0;
      break;
    }
  }
  return found;
}

struct SplitScore {
  int indent = 0;
  int penalty = 0;

  void add(const Lines& lines, size_t split) {
    const auto m = look_around(lines, split);
    if (m.indent_before == kBlank && m.blanks_before == 0) penalty += kStartOfFilePenalty;
    if (m.end_of_file) penalty += kEndOfFilePenalty;
    const int blanks_after = m.indent == kBlank ? 1 + m.blanks_after : 0;
    const int blanks = m.blanks_before + blanks_after;
    penalty += kTotalBlankWeight * blanks + kPostBlankWeight * blanks_after;
    const int here = m.indent != kBlank ? m.indent : m.indent_after;
    indent += here;
    if (here == kBlank || m.indent_before == kBlank || here == m.indent_before) return;
    if (here > m.indent_before) {
      penalty += blanks != 0 ? kRelativeIndentWithBlankPenalty : kRelativeIndentPenalty;
    } else if (m.indent_after != kBlank && m.indent_after > here) {
      penalty += blanks != 0 ? kRelativeOutdentWithBlankPenalty : kRelativeOutdentPenalty;
    } else {
      penalty += blanks != 0 ? kRelativeDedentWithBlankPenalty : kRelativeDedentPenalty;
    }
  }

  [[nodiscard]] bool is_not_worse_than(const SplitScore& other) const {
    const int by_indent = (indent > other.indent) - (indent < other.indent);
    return kIndentWeight * by_indent + penalty - other.penalty <= 0;
  }
};

// A run of changed lines, possibly empty, between two unchanged lines or ends of the file. The k-th
// run of one side corresponds to the k-th run of the other side.
class RunCursor {
 public:
  explicit RunCursor(const DiffSide& side) : side_(&side) { end = run_end(0); }

  size_t begin = 0;
  size_t end = 0;

  [[nodiscard]] bool empty() const { return begin == end; }
  [[nodiscard]] size_t size() const { return end - begin; }

  bool next() {
    if (end == side_->size()) return false;
    begin = end + 1;
    end = run_end(begin);
    return true;
  }
  // Skips `unchanged` unchanged lines, and thus as many runs.
  void move_past(size_t unchanged) {
    while (unchanged > 0) {
      const size_t clear = next_changed(end, std::min(side_->size(), end + unchanged)) - end;
      begin = end + clear;
      end = run_end(begin);
      unchanged -= clear;
    }
  }
  // The next changed line from `at`, but at most `limit`.
  [[nodiscard]] size_t next_changed(size_t at, size_t limit) const {
    if (at >= limit) return limit;  // for a side without lines
    const auto* found = std::memchr(side_->changed.data() + at, 1, limit - at);
    return found == nullptr
               ? limit
               : static_cast<size_t>(static_cast<const uint8_t*>(found) - side_->changed.data());
  }
  void previous() {
    GALLEY_CHECK(begin > 0);
    end = begin - 1;
    begin = run_begin(end);
  }

  [[nodiscard]] size_t run_end(size_t at) const {
    while (at < side_->size() && side_->changed[at] != 0) ++at;
    return at;
  }
  [[nodiscard]] size_t run_begin(size_t at) const {
    while (at > 0 && side_->changed[at - 1] != 0) --at;
    return at;
  }

 private:
  const DiffSide* side_;
};

class Slider {
 public:
  Slider(DiffSide& side, const DiffSide& other, bool indent_heuristic)
      : side_(side),
        run_(side),
        other_(other),
        indent_heuristic_(indent_heuristic && side.lines != nullptr) {}

  void slide_all() {
    while (true) {
      if (!run_.empty()) slide_one();
      const size_t next = run_.next_changed(run_.end, side_.size());
      if (next == side_.size()) return;
      const size_t unchanged = next - run_.end;
      run_.move_past(unchanged);
      other_.move_past(unchanged);
    }
  }

 private:
  bool slide_up() {
    if (run_.begin == 0 || !side_.same(run_.begin - 1, run_.end - 1)) return false;
    side_.changed[--run_.begin] = 1;
    side_.changed[--run_.end] = 0;
    run_.begin = run_.run_begin(run_.begin);
    return true;
  }
  bool slide_down() {
    if (run_.end == side_.size() || !side_.same(run_.begin, run_.end)) return false;
    side_.changed[run_.begin++] = 0;
    side_.changed[run_.end++] = 1;
    run_.end = run_.run_end(run_.end);
    return true;
  }

  void slide_one() {
    constexpr size_t kNone = SIZE_MAX;
    size_t earliest_end = 0;
    size_t end_beside_other = kNone;
    size_t size = 0;
    do {
      size = run_.size();
      end_beside_other = kNone;
      while (slide_up()) other_.previous();
      earliest_end = run_.end;
      if (!other_.empty()) end_beside_other = run_.end;
      while (slide_down()) {
        other_.next();
        if (!other_.empty()) end_beside_other = run_.end;
      }
    } while (size != run_.size());
    if (run_.end == earliest_end) return;
    if (end_beside_other != kNone) {
      move_up_to(end_beside_other);
    } else if (indent_heuristic_) {
      move_up_to(best_end(earliest_end));
    }
  }

  void move_up_to(size_t end) {
    while (run_.end > end) {
      GALLEY_CHECK(slide_up());
      other_.previous();
    }
  }

  size_t best_end(size_t earliest_end) const {
    const size_t size = run_.size();
    size_t first = earliest_end;
    if (run_.end > size + 1) first = std::max(first, run_.end - size - 1);
    if (run_.end > kMaxSliding) first = std::max(first, run_.end - kMaxSliding);
    size_t best = first;
    SplitScore best_score;
    for (size_t end = first; end <= run_.end; ++end) {
      SplitScore score;
      score.add(*side_.lines, end);
      score.add(*side_.lines, end - size);
      if (end == first || score.is_not_worse_than(best_score)) {
        best = end;
        best_score = score;
      }
    }
    return best;
  }

  DiffSide& side_;
  RunCursor run_;
  RunCursor other_;
  bool indent_heuristic_;
};

bool DiffSide::same(size_t i, size_t j) const {
  const size_t at = i - ids_begin;  // a huge number if i < ids_begin
  const size_t bt = j - ids_begin;
  if (at < ids.size() && bt < ids.size()) return ids[at] == ids[bt];
  if (white_space == WhiteSpace::kExact) return (*lines)[i] == (*lines)[j];
  std::string first;
  std::string second;
  return reduce_white_space((*lines)[i], white_space, first) ==
         reduce_white_space((*lines)[j], white_space, second);
}

/// Moves each run of changed lines of `side` that could also be a few lines higher or lower. The
/// first choice is a position that is aligned with a run of the other side. The second is that of
/// git's indent heuristic (M. Haggerty, diff-slider-tools, 2016, whose weights fit a corpus rated
/// by people). The last is as low as possible. Runs that meet are merged.
void slide_changes(DiffSide& side, const DiffSide& other, bool indent_heuristic) {
  Slider(side, other, indent_heuristic).slide_all();
}

// Maximum steps of the exact search in one box, enough for 128 edits from both corners; then
// anchors are tried. With four times as many steps, fewer than one line in 300 of real pairs would
// change, but large pairs would take twice the time.
constexpr uint64_t kMaxSearchSteps = 16'384;
constexpr int kMaxAnchorDepth = 8;

// A line that occurs more often is frequent (blank, "}"). Among lines without a match, it would
// only connect unrelated text.
constexpr uint32_t kMaxFrequent = 1024;
constexpr size_t kFrequentWindow = 100;
constexpr size_t kFrequentShare = 4;

// Marks the changed lines of two id sequences.
class Differ {
 public:
  Differ(const std::vector<LineId>& a, const std::vector<LineId>& b, size_t distinct)
      : a_(a.data()),
        b_(b.data()),
        middle_(a_, b_),
        anchors_(a_, b_, distinct),
        a_changed(a.size()),
        b_changed(b.size()) {
    solve({0, static_cast<int32_t>(a.size()), 0, static_cast<int32_t>(b.size())}, 0);
  }

 private:
  void solve(DiffBox box, int anchor_depth) {
    while (true) {
      trim(box);
      if (box.a_begin == box.a_end || box.b_begin == box.b_end) return mark(box);
      const auto split = middle_.find(box, kMaxSearchSteps);
      if (!split.exact && anchor_depth < kMaxAnchorDepth) {
        if (solve_between_anchors(box, anchor_depth)) return;
        anchor_depth = kMaxAnchorDepth;
      }
      DiffBox first{box.a_begin, split.a, box.b_begin, split.b};
      DiffBox second{split.a, box.a_end, split.b, box.b_end};
      if (first.lines() > second.lines()) std::swap(first, second);
      if (first.lines() == 0) return mark(box);  // only an inexact split can be at a corner
      solve(first, anchor_depth);  // the smaller half first, so that the stack stays shallow
      box = second;
    }
  }

  bool solve_between_anchors(const DiffBox& box, int anchor_depth) {
    const auto anchors = anchors_.find(box);
    if (anchors.empty()) return false;
    int32_t a = box.a_begin;
    int32_t b = box.b_begin;
    for (const auto& anchor : anchors) {
      if (anchor.a < a || anchor.b < b) continue;  // already covered by an earlier snake
      solve({a, anchor.a, b, anchor.b}, anchor_depth + 1);
      a = anchor.a + 1;
      b = anchor.b + 1;
      while (a < box.a_end && b < box.b_end && a_[a] == b_[b]) ++a, ++b;
    }
    solve({a, box.a_end, b, box.b_end}, anchor_depth + 1);
    return true;
  }

  void trim(DiffBox& box) const {
    while (box.a_begin < box.a_end && box.b_begin < box.b_end &&
           a_[box.a_begin] == b_[box.b_begin]) {
      ++box.a_begin;
      ++box.b_begin;
    }
    while (box.a_begin < box.a_end && box.b_begin < box.b_end &&
           a_[box.a_end - 1] == b_[box.b_end - 1]) {
      --box.a_end;
      --box.b_end;
    }
  }

  void mark(const DiffBox& box) {
    std::fill(a_changed.begin() + box.a_begin, a_changed.begin() + box.a_end, uint8_t{1});
    std::fill(b_changed.begin() + box.b_begin, b_changed.begin() + box.b_end, uint8_t{1});
  }

  const LineId* a_;
  const LineId* b_;
  MiddleSearch middle_;
  AnchorSearch anchors_;

 public:
  std::vector<uint8_t> a_changed;
  std::vector<uint8_t> b_changed;
};

uint32_t rough_square_root(size_t value) {
  uint32_t root = 1;
  for (; value > 0; value >>= 2U) root <<= 1U;
  return root;
}

enum class LineUse : uint8_t { kNoMatch = 0, kKeep = 1, kFrequent = 2 };

// Decides whether frequent lines, in order, are among lines without a match and have few similar
// lines nearby.
class StrayLines {
 public:
  explicit StrayLines(const std::vector<LineUse>& uses) : uses_(uses) {}

  bool is_stray(size_t at) {
    for (; seen_ < at; ++seen_) {
      if (uses_[seen_] == LineUse::kKeep) unmatched_before_ = kNone;
      if (uses_[seen_] == LineUse::kNoMatch) unmatched_before_ = seen_;
    }
    // Most frequent lines are decided here, without a look at their neighbours.
    if (unmatched_before_ == kNone || at - unmatched_before_ > kFrequentWindow) return false;
    size_t unmatched = 0;
    size_t frequent = 2;  // the line itself, seen from both sides
    const auto count = [&](size_t i) {
      if (uses_[i] == LineUse::kKeep) return false;
      ++(uses_[i] == LineUse::kNoMatch ? unmatched : frequent);
      return true;
    };
    const size_t last = std::min(uses_.size() - 1, at + kFrequentWindow);
    for (size_t i = at + 1; i <= last && count(i); ++i) continue;
    if (unmatched == 0) return false;
    const size_t first = at - std::min(at, kFrequentWindow);
    for (size_t i = at; i > first && count(i - 1); --i) continue;
    return frequent * kFrequentShare < frequent + unmatched;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  const std::vector<LineUse>& uses_;
  size_t seen_ = 0;
  size_t unmatched_before_ = kNone;  // the nearest one, if no line since then is kept
};

// The lines of one side that can match, and their places.
struct KeptLines {
  std::vector<LineId> ids;
  std::vector<uint32_t> places;
};

KeptLines keep_matchable(DiffSide& side, const std::vector<uint32_t>& others) {
  const uint32_t often = std::min(rough_square_root(side.size()), kMaxFrequent);
  const size_t count = side.ids.size();
  std::vector<LineUse> uses(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t matches = others[side.ids[i]];
    // Without a branch, because matches are unpredictable.
    uses[i] = static_cast<LineUse>((matches != 0 ? 1 : 0) + (matches >= often ? 1 : 0));
  }
  KeptLines kept;
  kept.ids.resize(count);
  kept.places.resize(count);
  size_t taken = 0;
  StrayLines stray(uses);
  for (size_t i = 0; i < count; ++i) {
    bool drop = uses[i] == LineUse::kNoMatch;
    if (uses[i] == LineUse::kFrequent) drop = stray.is_stray(i);
    side.changed[side.ids_begin + i] = drop ? 1 : 0;
    kept.ids[taken] = side.ids[i];
    kept.places[taken] = static_cast<uint32_t>(side.ids_begin + i);
    taken += drop ? 0 : 1;
  }
  kept.ids.resize(taken);
  kept.places.resize(taken);
  return kept;
}

std::vector<uint32_t> count_ids(const std::vector<LineId>& ids, size_t distinct) {
  std::vector<uint32_t> counts(distinct);
  for (const LineId id : ids) ++counts[id];
  return counts;
}

void mark_changed(DiffSide& before, DiffSide& after, size_t distinct) {
  KeptLines a;
  KeptLines b;
  {
    const auto in_after = count_ids(after.ids, distinct);
    a = keep_matchable(before, in_after);
  }
  {
    const auto in_before = count_ids(before.ids, distinct);
    b = keep_matchable(after, in_before);
  }
  const Differ differ(a.ids, b.ids, distinct);
  for (size_t i = 0; i < a.places.size(); ++i) before.changed[a.places[i]] = differ.a_changed[i];
  for (size_t i = 0; i < b.places.size(); ++i) after.changed[b.places[i]] = differ.b_changed[i];
}

EditScript script_of(const DiffSide& before, const DiffSide& after) {
  EditScript script;
  size_t i = 0;
  size_t j = 0;
  const auto skip_same = [](const DiffSide& side, size_t at) {
    if (at >= side.size()) return side.size();  // without bytes to compare
    const auto* found = std::memchr(side.changed.data() + at, 1, side.size() - at);
    return found == nullptr
               ? side.size()
               : static_cast<size_t>(static_cast<const uint8_t*>(found) - side.changed.data());
  };
  while (i < before.size() || j < after.size()) {
    const size_t same = std::min(skip_same(before, i) - i, skip_same(after, j) - j);
    i += same;
    j += same;
    ChangedRange range{static_cast<uint32_t>(i), 0, static_cast<uint32_t>(j), 0};
    while (i < before.size() && before.changed[i] != 0) ++i;
    while (j < after.size() && after.changed[j] != 0) ++j;
    range.old_end = static_cast<uint32_t>(i);
    range.new_end = static_cast<uint32_t>(j);
    if (range.removed() + range.added() > 0) script.push_back(range);
  }
  return script;
}

struct CommonEnds {
  size_t prefix_lines = 0;
  size_t suffix_lines = 0;
};

// Large files are compared at the speed of memory, small ones by few calls.
constexpr std::array<size_t, 4> kCompareBlocks = {4096, 64, 8, 1};

size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t at = 0;
  for (const size_t block : kCompareBlocks) {
    while (at + block <= shorter && std::memcmp(a.data() + at, b.data() + at, block) == 0) {
      at += block;
    }
  }
  return at;
}

size_t common_suffix(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  const char* const a_end = a.data() + a.size();
  const char* const b_end = b.data() + b.size();
  size_t count = 0;
  for (const size_t block : kCompareBlocks) {
    while (count + block <= shorter &&
           std::memcmp(a_end - count - block, b_end - count - block, block) == 0) {
      count += block;
    }
  }
  return count;
}

bool is_line_start(std::string_view text, size_t offset) {
  return offset == 0 || text[offset - 1] == '\n';
}

// Compares bytes instead of lines, so the speed is that of memory for any number of lines.
CommonEnds common_ends(const Lines& before, const Lines& after) {
  const auto a = before.text();
  const auto b = after.text();
  const size_t prefix = common_prefix(a, b);
  if (prefix == a.size() && prefix == b.size()) return {before.size(), 0};
  // The line with the first different byte is not common.
  const Lines& longer = a.size() > b.size() ? before : after;
  CommonEnds ends;
  ends.prefix_lines = longer.line_at(prefix);
  const size_t taken = longer.offset(ends.prefix_lines);
  const size_t suffix = common_suffix(a.substr(taken), b.substr(taken));
  if (suffix == 0) return ends;
  const size_t a_at = a.size() - suffix;
  size_t first = before.line_at(a_at);
  if (!is_line_start(a, a_at) || !is_line_start(b, b.size() - suffix)) ++first;
  ends.suffix_lines = before.size() - first;
  return ends;
}

}  // namespace

EditScript diff_lines(const Lines& before, const Lines& after, const LineDiffOptions& options) {
  const auto ends = common_ends(before, after);
  const size_t a_end = before.size() - ends.suffix_lines;
  const size_t b_end = after.size() - ends.suffix_lines;
  const size_t begin = ends.prefix_lines;
  DiffSide a{&before, options.white_space, {}, begin, std::vector<uint8_t>(before.size())};
  DiffSide b{&after, options.white_space, {}, begin, std::vector<uint8_t>(after.size())};
  if (begin == a_end || begin == b_end) {
    std::fill(a.changed.begin() + static_cast<ptrdiff_t>(begin),
              a.changed.begin() + static_cast<ptrdiff_t>(a_end), uint8_t{1});
    std::fill(b.changed.begin() + static_cast<ptrdiff_t>(begin),
              b.changed.begin() + static_cast<ptrdiff_t>(b_end), uint8_t{1});
  } else {
    LineTable table(std::max(a_end, b_end) - begin, options.white_space);
    a.ids = table.intern_all(before, begin, a_end);
    b.ids = table.intern_like(after, begin, b_end, {before, begin, a.ids});
    const size_t distinct = table.size();
    table = LineTable();
    mark_changed(a, b, distinct);
  }
  slide_changes(a, b, options.indent_heuristic);
  slide_changes(b, a, options.indent_heuristic);
  return script_of(a, b);
}

EditScript diff_ids(const std::vector<LineId>& before, const std::vector<LineId>& after) {
  DiffSide a{nullptr, WhiteSpace::kExact, before, 0, std::vector<uint8_t>(before.size())};
  DiffSide b{nullptr, WhiteSpace::kExact, after, 0, std::vector<uint8_t>(after.size())};
  LineId last = 0;
  for (const auto* ids : {&before, &after}) {
    for (const LineId id : *ids) last = std::max(last, id);
  }
  mark_changed(a, b, size_t{last} + 1);
  slide_changes(a, b, false);
  slide_changes(b, a, false);
  return script_of(a, b);
}

EditScript slide_script(const std::vector<LineId>& before, const std::vector<LineId>& after,
                        const EditScript& script) {
  DiffSide a{nullptr, WhiteSpace::kExact, before, 0, std::vector<uint8_t>(before.size())};
  DiffSide b{nullptr, WhiteSpace::kExact, after, 0, std::vector<uint8_t>(after.size())};
  for (const auto& range : script) {
    std::fill_n(a.changed.begin() + range.old_begin, range.removed(), uint8_t{1});
    std::fill_n(b.changed.begin() + range.new_begin, range.added(), uint8_t{1});
  }
  slide_changes(a, b, false);
  slide_changes(b, a, false);
  return script_of(a, b);
}

LineCounts count_lines(const EditScript& script) {
  LineCounts counts;
  for (const auto& range : script) {
    counts.removed += range.removed();
    counts.added += range.added();
  }
  return counts;
}

std::vector<HunkSpan> group_hunks(const EditScript& script, size_t old_lines, size_t new_lines,
                                  uint32_t context, uint32_t between) {
  const uint64_t joined = uint64_t{2} * context + between;
  std::vector<HunkSpan> hunks;
  for (size_t first = 0; first < script.size();) {
    size_t last = first + 1;
    while (last < script.size() && script[last].old_begin - script[last - 1].old_end <= joined) {
      ++last;
    }
    const auto& head = script[first];
    const auto& tail = script[last - 1];
    const uint32_t lead = std::min({context, head.old_begin, head.new_begin});
    const auto trail = static_cast<uint32_t>(
        std::min({size_t{context}, old_lines - tail.old_end, new_lines - tail.new_end}));
    hunks.push_back({first, last, head.old_begin - lead, tail.old_end + trail,
                     head.new_begin - lead, tail.new_end + trail});
    first = last;
  }
  return hunks;
}

}  // namespace galley
