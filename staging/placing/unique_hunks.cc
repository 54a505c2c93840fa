#include "staging/placing/unique_hunks.h"

#include <algorithm>

#include "staging/placing/file_index.h"
#include "staging/placing/hunk_text.h"
#include "staging/text/diff.h"

namespace galley {
namespace {

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

}  // namespace

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

}  // namespace galley
