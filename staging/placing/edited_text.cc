#include "staging/placing/edited_text.h"

#include <algorithm>
#include <cstring>

#include "base/result.h"

namespace galley {
namespace {

/// Minimum number of searches, and of bytes, for which blocks save more than they cost.
constexpr size_t kSearchesWorthBlocks = 8;
constexpr size_t kBytesWorthBlocks = size_t{64} * 1024;
/// Maximum number of splices that are applied one by one. After more splices, all blocks are
/// rebuilt.
constexpr size_t kSplicesOneByOne = 32;
constexpr size_t kGramBytes = 4;
/// Maximum number of grams of the wanted text that are tested. All of them begin in the block of
/// its start, or in the next one.
constexpr size_t kAskedGrams = 64;
/// The cost of one found place, in addition to the bytes read.
constexpr uint64_t kWorkOfAPlace = 64;

size_t count_newlines(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

struct EditedText::Search {
  std::string_view wanted;
  bool whole_lines = false;
  size_t limit = 0;
  bool may_overlap = false;
  size_t next = 0;  // the first byte where the next place may begin
  std::vector<size_t> places;
};

EditedText::EditedText(std::string_view content, size_t searches) : text_(content) {
  if (searches >= kSearchesWorthBlocks && content.size() >= kBytesWorthBlocks) {
    blocks_ = blocks_of(0, text_.size());
  }
}

uint32_t EditedText::gram_at(const char* bytes) {
  static_assert(kSignatureBits == 1U << 14U);
  uint32_t gram = 0;
  std::memcpy(&gram, bytes, kGramBytes);
  return (gram * 0x9E3779B1U) >> (32U - 14U);
}

void EditedText::fill(Block& block, size_t begin) const {
  block.newlines = count_newlines(std::string_view(text_).substr(begin, block.size));
  block.grams.fill(0);
  const size_t last = text_.size() < kGramBytes ? 0 : text_.size() - kGramBytes + 1;
  for (size_t at = begin; at < std::min(begin + block.size, last); ++at) {
    const uint32_t gram = gram_at(text_.data() + at);
    block.grams[gram / 64] |= uint64_t{1} << (gram % 64);
  }
}

std::vector<EditedText::Block> EditedText::blocks_of(size_t begin, size_t end) const {
  std::vector<Block> out;
  while (begin < end) {
    // A remainder that is too small for a block is added to the last block.
    const size_t rest = end - begin;
    Block block;
    block.size = rest < 2 * kBlockBytes ? rest : kBlockBytes;
    fill(block, begin);
    begin += block.size;
    out.push_back(block);
  }
  return out;
}

void EditedText::find_between(size_t begin, size_t end, Search& search) const {
  const char* const data = text_.data();
  const size_t readable = std::min(text_.size(), end + search.wanted.size() - 1);
  size_t at = std::max(begin, search.next);
  while (at < end && search.places.size() < search.limit) {
    const void* found =
        memmem(data + at, readable - at, search.wanted.data(), search.wanted.size());
    if (found == nullptr) {
      work_ += readable - at;
      return;
    }
    const auto place = static_cast<size_t>(static_cast<const char*>(found) - data);
    work_ += place - at + search.wanted.size() + kWorkOfAPlace;
    const bool is_place = !search.whole_lines || place == 0 || data[place - 1] == '\n';
    if (is_place) search.places.push_back(place);
    at = place + (is_place && !search.may_overlap ? search.wanted.size() : 1);
    search.next = at;
  }
}

bool EditedText::may_begin_in(size_t block, const std::vector<uint32_t>& grams) const {
  const Block& here = blocks_[block];
  if (!here.may_hold(grams.front())) return false;
  if (block + 1 == blocks_.size()) {
    return std::all_of(grams.begin(), grams.end(), [&](uint32_t g) { return here.may_hold(g); });
  }
  const Block& beyond = blocks_[block + 1];
  return std::all_of(grams.begin(), grams.end(),
                     [&](uint32_t g) { return here.may_hold(g) || beyond.may_hold(g); });
}

std::vector<size_t> EditedText::find(std::string_view wanted, bool whole_lines, size_t limit,
                                     Overlap overlap) const {
  GALLEY_CHECK(!wanted.empty());
  Search search{wanted, whole_lines, limit, overlap == Overlap::kAllowed, 0, {}};
  if (blocks_.empty() || wanted.size() < kGramBytes) {
    find_between(0, text_.size(), search);
    return std::move(search.places);
  }
  std::vector<uint32_t> grams;
  const size_t count = std::min(wanted.size() - kGramBytes + 1, kAskedGrams);
  for (size_t i = 0; i < count; ++i) grams.push_back(gram_at(wanted.data() + i));
  size_t begin = 0;
  for (size_t i = 0; i < blocks_.size();) {
    size_t end = begin;
    while (i < blocks_.size() && may_begin_in(i, grams)) end += blocks_[i++].size;
    if (end > begin) find_between(begin, end, search);
    begin = end + (i < blocks_.size() ? blocks_[i].size : 0);
    ++i;
  }
  return std::move(search.places);
}

size_t EditedText::line_at(size_t offset) const {
  size_t line = 0;
  size_t begin = 0;
  for (const Block& block : blocks_) {
    if (begin + block.size > offset) break;
    begin += block.size;
    line += block.newlines;
  }
  return line + count_newlines(std::string_view(text_).substr(begin, offset - begin));
}

size_t EditedText::line_count() const {
  return line_at(text_.size()) + (text_.empty() || text_.back() == '\n' ? 0 : 1);
}

size_t EditedText::line_offset(size_t line) const {
  size_t begin = 0;
  for (const Block& block : blocks_) {
    if (block.newlines >= line) break;
    begin += block.size;
    line -= block.newlines;
  }
  while (line > 0) {
    const size_t newline = text_.find('\n', begin);
    if (newline == std::string::npos) return text_.size();
    begin = newline + 1;
    --line;
  }
  return begin;
}

void EditedText::splice(const Splice& change) {
  text_.replace(change.offset, change.length, change.text);
  if (blocks_.empty()) return;
  // Grams of the block before the change extend into it, so that block is rebuilt, too. Neighbours
  // are added until the range is large enough for a full block.
  size_t first = 0;
  size_t begin = 0;
  while (first + 1 < blocks_.size() && begin + blocks_[first].size + kGramBytes <= change.offset) {
    begin += blocks_[first++].size;
  }
  size_t last = first;
  size_t end = begin + blocks_[first].size;
  const auto is_small = [&] {
    return end - begin + change.text.size() < kBlockBytes + change.length;
  };
  while (last + 1 < blocks_.size() && (end < change.end() || is_small())) {
    end += blocks_[++last].size;
  }
  while (first > 0 && is_small()) begin -= blocks_[--first].size;
  const size_t new_end = end - change.length + change.text.size();
  std::vector<Block> anew = blocks_of(begin, new_end);
  const auto at = blocks_.begin() + static_cast<int64_t>(first);
  if (anew.size() == last - first + 1) {
    std::move(anew.begin(), anew.end(), at);
    return;
  }
  blocks_.insert(blocks_.erase(at, blocks_.begin() + static_cast<int64_t>(last + 1)), anew.begin(),
                 anew.end());
}

void EditedText::apply(const Splices& splices) {
  GALLEY_CHECK(splices.base_size() == text_.size());
  if (splices.all().size() <= kSplicesOneByOne) {
    for (auto it = splices.all().rbegin(); it != splices.all().rend(); ++it) splice(*it);
    return;
  }
  text_ = splices.apply(text_);
  if (!blocks_.empty()) blocks_ = blocks_of(0, text_.size());
}

}  // namespace galley
