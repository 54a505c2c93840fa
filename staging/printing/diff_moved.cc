#include "staging/printing/diff_moved.h"

#include <algorithm>

namespace galley {

namespace {

constexpr uint32_t kMinLettersInBlock = 20;  // git's COLOR_MOVED_MIN_ALNUM_COUNT
constexpr size_t kMaxRewind = 256;           // limits the work for long runs without letters
constexpr size_t kMaxCandidates = 256;       // more places than that are not tracked

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

}  // namespace

void MovedLineFinder::add_line(Kind kind, std::string_view line) {
  const auto letters =
      static_cast<uint32_t>(std::count_if(line.begin(), line.end(), is_alphanumeric));
  // As in git, a last line without its newline is the same line.
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  entries_.push_back({kind, table_.intern(line), std::min(letters, kMinLettersInBlock)});
}

void MovedLineFinder::add(const FileDiff& diff, const Lines& before, const Lines& after) {
  for (const auto& range : diff.script) {
    entries_.push_back({Kind::kOther, 0, 0});  // context or a header, where a block ends
    for (uint32_t i = range.old_begin; i < range.old_end; ++i) add_line(Kind::kRemoved, before[i]);
    for (uint32_t i = range.new_begin; i < range.new_end; ++i) add_line(Kind::kAdded, after[i]);
  }
}

void MovedLineFinder::index() {
  removed_at_.resize(table_.size());
  added_at_.resize(table_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto& entry = entries_[i];
    if (entry.kind == Kind::kOther) continue;
    auto& places = (entry.kind == Kind::kRemoved ? removed_at_ : added_at_)[entry.id];
    places.push_back(static_cast<uint32_t>(i));
  }
}

const std::vector<uint32_t>& MovedLineFinder::opposite(const Entry& entry) const {
  static const std::vector<uint32_t> kNowhere;
  if (entry.kind == Kind::kOther) return kNowhere;
  return (entry.kind == Kind::kRemoved ? added_at_ : removed_at_)[entry.id];
}

MovedMarks MovedLineFinder::find() {
  marks_.assign(entries_.size(), MovedMark::kNone);
  index();
  if (mode_ == MovedLines::kPlain) mark_plain();
  if (mode_ == MovedLines::kZebra) mark_blocks();
  MovedMarks found;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].kind != Kind::kOther) found.marks.push_back(marks_[i]);
  }
  return found;
}

void MovedLineFinder::mark_plain() {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!opposite(entries_[i]).empty()) marks_[i] = MovedMark::kMoved;
  }
}

// Removes the marks of a block with too few letters, and returns false.
bool MovedLineFinder::keep_block(size_t end, size_t length) {
  uint32_t letters = 0;
  for (size_t i = end - length; i < end; ++i) letters += entries_[i].letters;
  if (letters >= kMinLettersInBlock) return length > 0;
  std::fill(marks_.begin() + static_cast<ptrdiff_t>(end - length),
            marks_.begin() + static_cast<ptrdiff_t>(end), MovedMark::kNone);
  return false;
}

void MovedLineFinder::continue_candidates(const Entry& entry) {
  size_t kept = 0;
  for (const uint32_t last : candidates_) {
    const size_t next = size_t{last} + 1;
    if (next < entries_.size() && entries_[next].kind == entries_[last].kind &&
        entries_[next].id == entry.id) {
      candidates_[kept++] = static_cast<uint32_t>(next);
    }
  }
  candidates_.resize(kept);
}

void MovedLineFinder::mark_blocks() {
  size_t length = 0;  // length of the block that ends before entry i
  bool alternative = false;
  Kind kind = Kind::kOther;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto& entry = entries_[i];
    const auto& places = opposite(entry);
    const bool matches = !places.empty();
    if (!candidates_.empty() && matches && entry.kind == kind) {
      continue_candidates(entry);
      if (!candidates_.empty()) {
        ++length;
        marks_[i] = alternative ? MovedMark::kAlternative : MovedMark::kMoved;
        continue;
      }
    }
    const bool was_block = keep_block(i, length);
    if (!was_block && length > 1 && length <= kMaxRewind) {
      i -= length;  // a block may begin at the second line of the removed one
      candidates_.clear();
      length = 0;
      kind = Kind::kOther;
      alternative = false;
      continue;
    }
    alternative = was_block && matches && entry.kind == kind && !alternative;
    candidates_.clear();
    length = 0;
    kind = matches ? entry.kind : Kind::kOther;
    if (!matches) continue;
    candidates_.assign(places.begin(), places.begin() + static_cast<ptrdiff_t>(std::min(
                                                            places.size(), kMaxCandidates)));
    length = 1;
    marks_[i] = alternative ? MovedMark::kAlternative : MovedMark::kMoved;
  }
  keep_block(entries_.size(), length);
}

}  // namespace galley
