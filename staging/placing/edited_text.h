#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/splice.h"

namespace galley {

/// A text that changes splice by splice and is searched in between.
///
/// Many edits of one large text would each read all of it. Told to expect many, it keeps blocks of
/// about 4 KiB, each with its count of lines and a signature of its four-byte grams (a Bloom filter
/// of one hash function, as in signature files: Faloutsos and Christodoulakis, 1984): a search
/// reads only blocks that may hold the start of what is looked for.
///
/// Invariant: the blocks tile the text, none but an only one is smaller than kBlockBytes; a
///            signature has the bit of every gram that begins in its block. So a search misses no
///            place.
/// Ownership: owns its text. Threads: confined to one thread.
class EditedText {
 public:
  /// `searches`: about how many searches and splices are to come.
  EditedText(std::string_view content, size_t searches);

  [[nodiscard]] const std::string& text() const { return text_; }

  /// Where `wanted` (not empty) stands, left to right without overlap, `limit` places at most;
  /// `whole_lines`: only at the begin of a line.
  [[nodiscard]] std::vector<size_t> find(std::string_view wanted, bool whole_lines,
                                         size_t limit) const;
  /// What the searches have cost so far: about the bytes they have read.
  [[nodiscard]] uint64_t work() const { return work_; }

  /// The line, counted from 0, that holds the byte at `offset`.
  [[nodiscard]] size_t line_at(size_t offset) const;
  /// Lines of the text; a last one without its "\n" counts.
  [[nodiscard]] size_t line_count() const;
  /// Where line `line` begins; the length of the text for line_count().
  [[nodiscard]] size_t line_offset(size_t line) const;

  /// Makes the change; `splices` are of this text.
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
  /// Adds the places that begin in [begin, end), from `next` on; moves `next` behind each.
  struct Search;
  void find_between(size_t begin, size_t end, Search& search) const;

  std::string text_;
  std::vector<Block> blocks_;  // none: every search reads the text
  mutable uint64_t work_ = 0;
};

}  // namespace galley
