#include "staging/text/splice.h"

#include <algorithm>
#include <cstring>

#include "base/result.h"

namespace galley {
namespace {

bool same_bytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// Checks that the result equals the base between the splices, byte for byte.
void prove_rest_untouched(std::string_view base, std::string_view result,
                          const std::vector<Splice>& splices) {
  size_t in_base = 0;
  size_t in_result = 0;
  for (const Splice& splice : splices) {
    const size_t kept = splice.offset - in_base;
    GALLEY_CHECK(same_bytes(base.substr(in_base, kept), result.substr(in_result, kept)));
    in_result += kept;
    GALLEY_CHECK(same_bytes(splice.text, result.substr(in_result, splice.text.size())));
    in_result += splice.text.size();
    in_base = splice.end();
  }
  GALLEY_CHECK(same_bytes(base.substr(in_base), result.substr(in_result)));
}

/// One piece of the content between two combined steps: bytes of the base, or new text.
struct Piece {
  bool is_base = false;
  size_t base_offset = 0;
  std::string_view text;
  size_t length = 0;
};

/// Returns the result of `splices` on a base of `base_size` bytes as a list of pieces.
std::vector<Piece> split_text(const std::vector<Splice>& splices, size_t base_size) {
  std::vector<Piece> pieces;
  size_t at = 0;
  for (const Splice& splice : splices) {
    if (splice.offset > at) pieces.push_back({true, at, {}, splice.offset - at});
    // An empty text is added, too: its piece marks where bytes of the base are missing.
    pieces.push_back({false, splice.offset, splice.text, splice.text.size()});
    at = splice.end();
  }
  if (base_size > at) pieces.push_back({true, at, {}, base_size - at});
  return pieces;
}

/// Collects kept ranges and new text in order, and makes splices of the gaps.
class Composer {
 public:
  void keep(size_t base_offset, size_t length) {
    if (length == 0) return;
    flush(base_offset);
    base_at_ = base_offset + length;
  }
  void insert(std::string_view text) { pending_.append(text); }
  std::vector<Splice> finish(size_t base_size) {
    flush(base_size);
    return std::move(out_);
  }

 private:
  void flush(size_t upto) {
    if (upto > base_at_ || !pending_.empty()) {
      out_.push_back({base_at_, upto - base_at_, std::move(pending_)});
      pending_.clear();
    }
  }
  size_t base_at_ = 0;
  std::string pending_;
  std::vector<Splice> out_;
};

/// Reads the pieces from left to right.
class PieceReader {
 public:
  explicit PieceReader(const std::vector<Piece>& pieces) : pieces_(pieces) {}

  /// Passes the next `count` bytes to `out`, or drops them if `out` is null.
  void advance(size_t count, Composer* out) {
    while (count > 0) {
      GALLEY_CHECK(index_ < pieces_.size());
      const Piece& piece = pieces_[index_];
      const size_t step = std::min(count, piece.length - within_);
      if (out != nullptr && piece.is_base) out->keep(piece.base_offset + within_, step);
      if (out != nullptr && !piece.is_base) out->insert(piece.text.substr(within_, step));
      within_ += step;
      count -= step;
      if (within_ == piece.length) {
        ++index_;
        within_ = 0;
      }
    }
  }

 private:
  const std::vector<Piece>& pieces_;
  size_t index_ = 0;
  size_t within_ = 0;
};

}  // namespace

Result<Splices> Splices::from(size_t base_size, std::vector<Splice> splices) {
  std::stable_sort(splices.begin(), splices.end(), [](const Splice& a, const Splice& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
  });
  Splices out(base_size);
  for (Splice& splice : splices) {
    if (splice.offset > base_size || splice.length > base_size - splice.offset) {
      return fail(ErrorKind::kInvalid, "edit.outside", "an edit reaches past the end of the file");
    }
    if (splice.length == 0 && splice.text.empty()) continue;
    if (!out.splices_.empty() && splice.offset < out.splices_.back().end()) {
      return fail(ErrorKind::kInvalid, "edit.overlap", "two edits change the same bytes");
    }
    if (!out.splices_.empty() && splice.offset == out.splices_.back().end()) {
      out.splices_.back().length += splice.length;
      out.splices_.back().text += splice.text;
      continue;
    }
    out.splices_.push_back(std::move(splice));
  }
  return out;
}

size_t Splices::result_size() const {
  size_t size = base_size_;
  for (const Splice& splice : splices_) size = size - splice.length + splice.text.size();
  return size;
}

std::string Splices::apply(std::string_view base) const {
  GALLEY_CHECK(base.size() == base_size_);
  std::string result;
  result.reserve(result_size());
  size_t at = 0;
  for (const Splice& splice : splices_) {
    result.append(base.substr(at, splice.offset - at));
    result.append(splice.text);
    at = splice.end();
  }
  result.append(base.substr(at));
  prove_rest_untouched(base, result, splices_);
  return result;
}

Splices Splices::inverse(std::string_view base) const {
  GALLEY_CHECK(base.size() == base_size_);
  Splices out(result_size());
  size_t in_base = 0;
  size_t in_result = 0;
  for (const Splice& splice : splices_) {
    in_result += splice.offset - in_base;
    out.splices_.push_back(
        {in_result, splice.text.size(), std::string(base.substr(splice.offset, splice.length))});
    in_result += splice.text.size();
    in_base = splice.end();
  }
  return out;
}

Splices Splices::then(const Splices& next) const {
  GALLEY_CHECK(next.base_size_ == result_size());
  const std::vector<Piece> pieces = split_text(splices_, base_size_);
  PieceReader reader(pieces);
  Composer composer;
  size_t at = 0;
  for (const Splice& splice : next.splices_) {
    reader.advance(splice.offset - at, &composer);
    composer.insert(splice.text);
    reader.advance(splice.length, nullptr);
    at = splice.end();
  }
  reader.advance(next.base_size_ - at, &composer);
  auto joined = Splices::from(base_size_, composer.finish(base_size_));
  GALLEY_CHECK(joined.has_value());
  return std::move(*joined);
}

}  // namespace galley
