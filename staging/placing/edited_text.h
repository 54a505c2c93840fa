#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/splice.h"

namespace galley {

/// A text that is searched and edited in turn.
///
/// Without an index, each edit would read all of a large text. If many searches are expected, the
/// text is divided into blocks of about 4 KiB. Each block has its line count and a signature of its
/// four-byte grams (a Bloom filter with one hash function, as in signature files: Faloutsos and
/// Christodoulakis, 1984). A search reads only blocks that may contain the start of the wanted
/// text.
///
/// Invariant: the blocks cover the text without overlap. None is smaller than kBlockBytes, unless
///            it is the only one. A signature has the bit of every gram that begins in its block,
///            so a search finds all places.
/// Ownership: owns its text. Threads: confined to one thread.
class EditedText {
 public:
  /// `searches` is the approximate number of expected searches.
  EditedText(std::string_view content, size_t searches);

  [[nodiscard]] const std::string& text() const { return text_; }

  enum class Overlap : uint8_t { kNone, kAllowed };
  /// The offsets of `wanted` (not empty), left to right, at most `limit`. With `whole_lines`, only
  /// those at the start of a line.
  [[nodiscard]] std::vector<size_t> find(std::string_view wanted, bool whole_lines, size_t limit,
                                         Overlap overlap = Overlap::kNone) const;
  /// The cost of all searches so far, about the number of bytes read.
  [[nodiscard]] uint64_t work() const { return work_; }

  /// The 0-based line that contains the byte at `offset`.
  [[nodiscard]] size_t line_at(size_t offset) const;
  /// The number of lines, including a last line without "\n".
  [[nodiscard]] size_t line_count() const;
  /// The offset of line `line`, 0-based; for line_count() the length of the text.
  [[nodiscard]] size_t line_offset(size_t line) const;

  /// Applies the splices, which must have been made for this text.
  void apply(const Splices& splices);

 private:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr size_t kSignatureBits = 16384;

  struct Block {
    size_t size = 0;
    size_t newlines = 0;
    std::array<uint64_t, kSignatureBits / 64> grams{};

    [[nodiscard]] bool may_hold(uint32_t gram) const {
      return ((grams[gram / 64] >> (gram % 64)) & 1U) != 0;
    }
  };

  static uint32_t gram_at(const char* bytes);
  void fill(Block& block, size_t begin) const;
  [[nodiscard]] std::vector<Block> blocks_of(size_t begin, size_t end) const;
  void splice(const Splice& change);
  [[nodiscard]] bool may_begin_in(size_t block, const std::vector<uint32_t>& grams) const;
  /// The state of a search. find_between() adds the places that begin in [begin, end), but not
  /// before `next`, and moves `next` past each.
  struct Search;
  void find_between(size_t begin, size_t end, Search& search) const;

  std::string text_;
  std::vector<Block> blocks_;  // empty: every search reads the whole text
  mutable uint64_t work_ = 0;
};

}  // namespace galley
