#include "staging/placing/elsewhere.h"

#include <algorithm>
#include <optional>
#include <string_view>

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

}  // namespace

bool points_elsewhere(FileIndex& index, const Hunk& hunk, int64_t begin, int64_t end,
                      int64_t change) {
  SurroundingLines around(index, hunk, begin, end, change);
  for (size_t i = 0; i < hunk.lines.size(); ++i) {
    if (around.lack(i)) return true;
  }
  return false;
}

}  // namespace galley
