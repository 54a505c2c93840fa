#include "staging/placing/file_index.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "staging/formats/dialect_marks.h"
#include "staging/placing/damage.h"

namespace galley {
namespace {

/// After this number of comparisons, the suffix array is worth its cost.
constexpr uint64_t kPlainWork = uint64_t{1} << 24U;
/// Patterns of this many lines are rare, so each of them may cost a pass over the file.
constexpr size_t kLongPattern = 1024;
/// A line that occurs more often is not evidence for a place.
constexpr uint32_t kCommonLine = 64;
/// Maximum distance in lines between two places that count as one torn place.
constexpr int64_t kTorn = 4;

/// False for a line whose indentation does not show its block.
bool shows_structure(std::string_view line, bool indentation_is_syntax) {
  const std::string_view text = trimmed(without_terminator(line));
  if (!is_telling_line(text) || is_comment(text)) return false;
  const bool is_word = text.find_first_of(" \t\"'(") == std::string_view::npos;
  if (!is_word || !text.ends_with(':')) return true;
  // In C this is a label. In Python it opens a block, except for these words, which continue an
  // earlier statement.
  return indentation_is_syntax && text != "else:" && text != "except:" && text != "finally:";
}

/// The indentation in columns. A tab ends at a multiple of eight.
size_t indent_width(std::string_view line) {
  size_t width = 0;
  for (const char c : indent_of(line)) width = c == '\t' ? width / 8 * 8 + 8 : width + 1;
  return width;
}

}  // namespace

FileIndex::Index& FileIndex::index(LineFolding fold) {
  auto& slot = indexes_[static_cast<size_t>(fold)];
  if (slot) return *slot;
  slot = std::make_unique<Index>(lines_.size());
  slot->ids.reserve(lines_.size());
  std::string storage;
  for (size_t i = 0; i < lines_.size(); ++i) {
    std::string_view key = folded(lines_[i], fold, storage);
    if (key.data() == storage.data() && slot->table.find(key) == LineTable::kNone) {
      key = slot->storage.emplace_back(key);
    }
    slot->ids.push_back(slot->table.intern(key));
  }
  slot->first.assign(slot->table.size() + 1, 0);
  for (const uint32_t id : slot->ids) ++slot->first[id + 1];
  std::partial_sum(slot->first.begin(), slot->first.end(), slot->first.begin());
  slot->places.resize(slot->ids.size());
  std::vector<uint32_t> next(slot->first.begin(), slot->first.end() - 1);
  for (uint32_t i = 0; i < slot->ids.size(); ++i) slot->places[next[slot->ids[i]]++] = i;
  return *slot;
}

bool FileIndex::matches_at(const std::vector<std::string_view>& pattern, int64_t start,
                           LineFolding fold) const {
  if (start < 0 || static_cast<size_t>(start) + pattern.size() > lines_.size()) return false;
  std::string a;
  std::string b;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view line = lines_[static_cast<size_t>(start) + i];
    if (fold == LineFolding::kBytes ? line != pattern[i]
                                    : folded(line, fold, a) != folded(pattern[i], fold, b)) {
      return false;
    }
  }
  return true;
}

std::vector<uint32_t> FileIndex::find(const std::vector<std::string_view>& pattern,
                                      LineFolding fold, size_t limit) {
  if (pattern.empty() || pattern.size() > lines_.size()) return {};
  Index& index = this->index(fold);
  std::vector<uint32_t> ids;
  ids.reserve(pattern.size());
  std::string storage;
  size_t rarest = 0;
  uint32_t fewest = UINT32_MAX;
  for (const std::string_view line : pattern) {
    const LineId id = index.table.find(folded(line, fold, storage));
    if (id == LineTable::kNone) return {};
    const uint32_t count = index.first[id + 1] - index.first[id];
    if (count < fewest) {
      fewest = count;
      rarest = ids.size();
    }
    ids.push_back(id);
  }
  if (ids.size() >= kLongPattern) return find_long(index, ids, limit);
  if (index.work > kPlainWork) {
    if (index.suffixes.empty()) build_suffixes(index);
    return find_by_suffixes(index, ids, limit);
  }
  std::vector<uint32_t> starts;
  for (uint32_t at = index.first[ids[rarest]]; at < index.first[ids[rarest] + 1]; ++at) {
    const uint32_t line = index.places[at];
    ++index.work;
    if (line < rarest || line - rarest + ids.size() > index.ids.size()) continue;
    const auto begin = index.ids.begin() + static_cast<int64_t>(line - rarest);
    const auto mismatch = std::mismatch(ids.begin(), ids.end(), begin).first;
    index.work += static_cast<uint64_t>(mismatch - ids.begin());
    if (mismatch == ids.end()) starts.push_back(static_cast<uint32_t>(line - rarest));
    if (starts.size() >= limit) break;
    if (index.work > kPlainWork) return find(pattern, fold, limit);
  }
  return starts;
}

std::span<const uint32_t> FileIndex::lines_like(std::string_view line, LineFolding fold) {
  Index& index = this->index(fold);
  std::string storage;
  const LineId id = index.table.find(folded(line, fold, storage));
  if (id == LineTable::kNone) return {};
  return std::span(index.places).subspan(index.first[id], index.first[id + 1] - index.first[id]);
}

/// Source: Knuth, Morris and Pratt (1977). Takes linear time for any lines.
std::vector<uint32_t> FileIndex::find_long(const Index& index, const std::vector<uint32_t>& ids,
                                           size_t limit) {
  std::vector<uint32_t> border(ids.size(), 0);
  for (size_t i = 1; i < ids.size(); ++i) {
    uint32_t length = border[i - 1];
    while (length > 0 && ids[i] != ids[length]) length = border[length - 1];
    border[i] = ids[i] == ids[length] ? length + 1 : 0;
  }
  std::vector<uint32_t> starts;
  uint32_t matched = 0;
  for (size_t i = 0; i < index.ids.size() && starts.size() < limit; ++i) {
    while (matched > 0 && index.ids[i] != ids[matched]) matched = border[matched - 1];
    if (index.ids[i] == ids[matched]) ++matched;
    if (matched < ids.size()) continue;
    starts.push_back(static_cast<uint32_t>(i + 1 - ids.size()));
    matched = border[matched - 1];
  }
  return starts;
}

/// Prefix doubling with counting sort (Manber and Myers, 1990), up to the length of short patterns.
/// Takes O(n log n) time for any lines.
void FileIndex::build_suffixes(Index& index) {
  const size_t n = index.ids.size();
  std::vector<uint32_t>& order = index.suffixes;
  order.resize(n);
  std::vector<uint32_t> rank = index.ids;
  std::vector<uint32_t> by_second(n);
  std::vector<uint32_t> next_rank(n);
  std::vector<uint32_t> count;
  size_t classes = index.table.size();
  const auto sort_by_rank = [&] {
    count.assign(classes + 1, 0);
    for (const uint32_t suffix : by_second) ++count[rank[suffix] + 1];
    std::partial_sum(count.begin(), count.end(), count.begin());
    for (const uint32_t suffix : by_second) order[count[rank[suffix]]++] = suffix;
  };
  std::iota(by_second.begin(), by_second.end(), 0U);
  sort_by_rank();
  // `rank` orders suffixes by their first `width` lines; ids are the ranks of width 1.
  for (size_t width = 1; width < kLongPattern && width < n && classes < n; width *= 2) {
    size_t filled = 0;
    for (size_t i = n - width; i < n; ++i) by_second[filled++] = static_cast<uint32_t>(i);
    for (const uint32_t suffix : order) {
      if (suffix >= width) by_second[filled++] = static_cast<uint32_t>(suffix - width);
    }
    sort_by_rank();
    const auto second = [&](uint32_t suffix) {
      return suffix + width < n ? rank[suffix + width] + 1 : 0U;
    };
    next_rank[order[0]] = 0;
    for (size_t i = 1; i < n; ++i) {
      const bool differs =
          rank[order[i]] != rank[order[i - 1]] || second(order[i]) != second(order[i - 1]);
      next_rank[order[i]] = next_rank[order[i - 1]] + (differs ? 1 : 0);
    }
    rank.swap(next_rank);
    classes = rank[order[n - 1]] + 1;
  }
}

std::vector<uint32_t> FileIndex::find_by_suffixes(const Index& index,
                                                  const std::vector<uint32_t>& ids, size_t limit) {
  // The suffix array is sorted by rank, and the first ranks are the ids. So a comparison of ids has
  // the order of the array.
  const auto compare = [&](uint32_t suffix) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (suffix + i >= index.ids.size()) return -1;
      if (index.ids[suffix + i] != ids[i]) return index.ids[suffix + i] < ids[i] ? -1 : 1;
    }
    return 0;
  };
  const auto low = std::partition_point(index.suffixes.begin(), index.suffixes.end(),
                                        [&](uint32_t s) { return compare(s) < 0; });
  const auto high =
      std::partition_point(low, index.suffixes.end(), [&](uint32_t s) { return compare(s) == 0; });
  std::vector<uint32_t> starts(low,
                               low + std::min<int64_t>(high - low, static_cast<int64_t>(limit)));
  std::sort(starts.begin(), starts.end());
  return starts;
}

FileIndex::Nearest FileIndex::nearest(const std::vector<std::string_view>& pattern,
                                      LineFolding fold, int64_t expected) {
  Index& index = this->index(fold);
  std::unordered_map<int64_t, uint32_t> votes;
  std::string storage;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!is_telling_line(pattern[i])) continue;
    const LineId id = index.table.find(folded(pattern[i], fold, storage));
    if (id == LineTable::kNone || index.first[id + 1] - index.first[id] > kCommonLine) continue;
    for (uint32_t at = index.first[id]; at < index.first[id + 1]; ++at) {
      ++votes[static_cast<int64_t>(index.places[at]) - static_cast<int64_t>(i)];
    }
  }
  Nearest best;
  for (const auto& [start, count] : votes) {
    const bool is_better =
        count > best.votes ||
        (count == best.votes && std::abs(start - expected) < std::abs(best.start - expected));
    if (is_better) {
      best.rival_votes = std::max(best.rival_votes, best.votes);
      best.start = start;
      best.votes = count;
    } else {
      best.rival_votes = std::max(best.rival_votes, count);
    }
  }
  std::vector<std::pair<int64_t, uint32_t>> sorted(votes.begin(), votes.end());
  std::sort(sorted.begin(), sorted.end());
  uint32_t sum = 0;
  size_t low = 0;
  for (const auto& [start, count] : sorted) {
    if (std::abs(start - best.start) <= kTorn) continue;
    sum += count;
    while (start - sorted[low].first > kTorn || std::abs(sorted[low].first - best.start) <= kTorn) {
      if (std::abs(sorted[low].first - best.start) > kTorn) sum -= sorted[low].second;
      ++low;
    }
    best.torn_rival_votes = std::max(best.torn_rival_votes, sum);
  }
  return best;
}

bool FileIndex::Outline::is_inside(int64_t line, int64_t outer_line) const {
  int64_t at = outer[static_cast<size_t>(line)];
  while (at > outer_line) at = outer[static_cast<size_t>(at)];
  return at == outer_line;
}

const LongTexts& FileIndex::long_texts() {
  if (!long_texts_) long_texts_ = std::make_unique<LongTexts>(lines_);
  return *long_texts_;
}

bool is_section_head(std::string_view line) {
  const std::string_view text = trimmed(without_terminator(line));
  return line.starts_with('[') && text.ends_with(']') && text.size() > 2 &&
         text.find_first_of("\"',") == std::string_view::npos;
}

namespace {

/// Whether the file has sections: all its lines without indentation are heads, settings or
/// comments.
bool has_sections(const Lines& lines) {
  size_t heads = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view text = without_terminator(lines[i]);
    if (text.empty() || is_space(text.front()) || text.front() == '#' || text.front() == ';') {
      continue;
    }
    const bool is_head = is_section_head(text);
    heads += is_head ? 1 : 0;
    if (!is_head && text.find('=') == std::string_view::npos) return false;
  }
  return heads > 0;
}

}  // namespace

const FileIndex::Outline& FileIndex::outline() {
  if (outline_) return *outline_;
  // A setting is in the section above it.
  const bool is_in_sections = has_sections(lines_);
  outline_ = std::make_unique<Outline>();
  outline_->counts.resize(lines_.size());
  outline_->opens.resize(lines_.size());
  struct Block {
    int32_t line = -1;
    size_t width = 0;
  };
  std::vector<Block> open;  // the open blocks at the last counted line, which is its last element
  for (size_t i = 0; i < lines_.size(); ++i) {
    const bool counts = shows_structure(lines_[i], indentation_is_meaning_);
    const bool is_below_head = is_in_sections && !is_section_head(lines_[i]);
    const size_t width = counts ? indent_width(lines_[i]) + (is_below_head ? 1 : 0) : 0;
    const int32_t last = open.empty() ? -1 : open.back().line;
    if (counts) {
      while (!open.empty() && open.back().width >= width) open.pop_back();
    }
    const int32_t outer = open.empty() ? -1 : open.back().line;
    outline_->outer.push_back(outer);
    if (!counts) continue;
    outline_->counts[i] = true;
    if (outer >= 0 && outer == last) outline_->opens[static_cast<size_t>(outer)] = true;
    open.push_back({static_cast<int32_t>(i), width});
  }
  return *outline_;
}

FileIndex::Squeezed FileIndex::squeezed() {
  if (squeezed_) return {*squeezed_, unsqueezed_};
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (is_blank_text(lines_[i])) continue;
    unsqueezed_.push_back(static_cast<int64_t>(i));
    squeezed_text_ += lines_[i];
  }
  squeezed_ = std::make_unique<FileIndex>(squeezed_text_);
  return {*squeezed_, unsqueezed_};
}

const FileIndex::LinesByRest& FileIndex::lines_with_markup() {
  if (lines_with_markup_) return *lines_with_markup_;
  lines_with_markup_ = std::make_unique<LinesByRest>();
  for (size_t i = 0; i < lines_.size(); ++i) {
    Markup markup = markup_of(lines_[i]);
    if (markup.signs.empty()) continue;
    (*lines_with_markup_)[std::move(markup.rest)].push_back(lines_[i]);
  }
  return *lines_with_markup_;
}

bool is_blank_text(std::string_view line) { return trimmed(without_terminator(line)).empty(); }

bool is_comment(std::string_view line) {
  const std::string_view text = trimmed(without_terminator(line));
  for (const std::string_view mark : {"#", "//", "/*", "* "}) {
    if (text.starts_with(mark)) return true;
  }
  return false;
}

bool FileIndex::may_compare_all() {
  if (compared_ + lines_.size() > kMostCompared) return false;
  compared_ += lines_.size();
  return true;
}

}  // namespace galley
