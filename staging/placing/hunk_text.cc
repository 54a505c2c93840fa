#include "staging/placing/hunk_text.h"

#include <algorithm>
#include <unordered_map>

#include "staging/placing/line_ends.h"

namespace galley {
namespace {

/// Makes the splices of one hunk, one for each group of adjacent changed lines.
class HunkSplicer {
 public:
  HunkSplicer(const Lines& file, const Hunk& hunk, size_t start, LineFolding fold)
      : file_(file), hunk_(hunk), line_(start), fold_(fold) {
    const std::vector<std::string_view> pattern = pre_image(hunk);
    has_pattern_ = !pattern.empty();
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
      const IndentMap& carried =
          is_uneven ? own_indent(indent, removed, first, k, added.size()) : indent;
      splice.text += new_line(added[k], at, carried, is_very_last, glues);
    }
    out.push_back(std::move(splice));
    return i;
  }

  /// The indentation map for new line `k` if the lines are shifted unevenly: from the line that it
  /// replaces or, if the numbers of lines differ, from all replaced lines. No shift for insertions.
  [[nodiscard]] IndentMap own_indent(const IndentMap& indent,
                                     const std::vector<std::string_view>& removed, size_t first,
                                     size_t k, size_t count) const {
    IndentMap own = indent.without_shift();
    for (size_t i = 0; i < removed.size(); ++i) {
      if (removed.size() != count || i == k) own.add(removed[i], file_[first + i]);
    }
    return own;
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
  bool ends_alike_ = false;
};

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
    put(removed, 0, head, true);
    put(removed, head, removed.size() - tail, false);
    put(added, head, added.size() - tail, false);
    put(removed, removed.size() - tail, removed.size(), true);
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

}  // namespace galley
