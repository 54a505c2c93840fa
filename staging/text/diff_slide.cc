#include "staging/text/diff_slide.h"

#include <algorithm>
#include <cstring>

#include "base/result.h"

namespace galley {

namespace {

// The weights of git's indent heuristic. The header names their source.
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

}  // namespace

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

void slide_changes(DiffSide& side, const DiffSide& other, bool indent_heuristic) {
  Slider(side, other, indent_heuristic).slide_all();
}

}  // namespace galley
