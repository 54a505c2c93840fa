#include "engine/commit/content_delta.h"

#include <algorithm>
#include <cstring>

#include "base/limits.h"
#include "base/result.h"
#include "engine/commit/journal_bytes.h"

namespace galley {
namespace {

constexpr std::string_view kDeltaMagic{"GALLEYD\x01", 8};
constexpr size_t kFixedHeadBytes = 8 + 32 + 8 + 8 + 4;
constexpr size_t kPieceBytes = 24;

/// The number of equal bytes at the beginnings.
size_t equal_start(std::string_view a, std::string_view b) {
  constexpr size_t kBlock = size_t{64} << 10U;
  const size_t count = std::min(a.size(), b.size());
  size_t at = 0;
  while (count - at >= kBlock && std::memcmp(a.data() + at, b.data() + at, kBlock) == 0) {
    at += kBlock;
  }
  while (at < count && a[at] == b[at]) ++at;
  return at;
}

/// The number of equal bytes at the ends.
size_t equal_end(std::string_view a, std::string_view b) {
  constexpr size_t kBlock = size_t{64} << 10U;
  const size_t count = std::min(a.size(), b.size());
  const char* a_end = a.data() + a.size();
  const char* b_end = b.data() + b.size();
  size_t at = 0;
  while (count - at >= kBlock &&
         std::memcmp(a_end - at - kBlock, b_end - at - kBlock, kBlock) == 0) {
    at += kBlock;
  }
  while (at < count &&
         a_end[-1 - static_cast<ptrdiff_t>(at)] == b_end[-1 - static_cast<ptrdiff_t>(at)]) {
    ++at;
  }
  return at;
}

void add_copy(std::vector<DeltaPiece>& pieces, uint64_t from, uint64_t count) {
  if (count == 0) return;
  if (!pieces.empty()) {
    DeltaPiece& last = pieces.back();
    if (last.added == 0 && last.from + last.copied == from) {
      last.copied += count;
      return;
    }
  }
  pieces.push_back({from, count, 0});
}

void add_new(std::vector<DeltaPiece>& pieces, uint64_t count) {
  if (count == 0) return;
  if (pieces.empty()) pieces.push_back({});
  pieces.back().added += count;
}

/// Appends what describes the bytes [begin, end) of the content that `from` describes.
void add_slice(std::vector<DeltaPiece>& to, const std::vector<DeltaPiece>& from, uint64_t begin,
               uint64_t end) {
  uint64_t at = 0;  // the place of the piece in the content
  for (const DeltaPiece& piece : from) {
    const uint64_t copied_end = at + piece.copied;
    const uint64_t first = std::max(at, begin);
    const uint64_t last = std::min(copied_end, end);
    if (first < last) add_copy(to, piece.from + (first - at), last - first);
    at = copied_end + piece.added;
    const uint64_t first_added = std::max(copied_end, begin);
    const uint64_t last_added = std::min(at, end);
    if (first_added < last_added) add_new(to, last_added - first_added);
    if (at >= end) return;
  }
}

}  // namespace

ContentDelta ContentDelta::whole(const ContentId& id, uint64_t size) {
  ContentDelta delta{id, size, size, {}};
  add_copy(delta.pieces, 0, size);
  return delta;
}

ContentDelta ContentDelta::changed(std::string_view old_bytes, std::string_view new_bytes) const {
  GALLEY_CHECK(old_bytes.size() == size);
  const size_t start = equal_start(old_bytes, new_bytes);
  const size_t end = equal_end(old_bytes.substr(start), new_bytes.substr(start));
  ContentDelta delta{base, base_size, new_bytes.size(), {}};
  add_slice(delta.pieces, pieces, 0, start);
  add_new(delta.pieces, new_bytes.size() - start - end);
  add_slice(delta.pieces, pieces, old_bytes.size() - end, old_bytes.size());
  return delta;
}

uint64_t ContentDelta::added() const {
  uint64_t sum = 0;
  for (const DeltaPiece& piece : pieces) sum += piece.added;
  return sum;
}

uint64_t ContentDelta::encoded_bytes() const {
  return kFixedHeadBytes + kPieceBytes * pieces.size() + added();
}

bool ContentDelta::is_worthwhile() const {
  const bool is_small = encoded_bytes() <= size / kDeltaFraction;
  // `galley gc` keeps the base as long as the delta.
  const bool is_base_small = base_size / 2 <= size;
  return pieces.size() <= kMaxDeltaPieces && is_small && is_base_small;
}

std::string ContentDelta::encode(std::string_view content) const {
  GALLEY_CHECK(content.size() == size);
  LittleEndianWriter out;
  out.bytes(kDeltaMagic);
  out.id(base);
  out.u64(base_size);
  out.u64(size);
  out.u32(static_cast<uint32_t>(pieces.size()));
  for (const DeltaPiece& piece : pieces) {
    out.u64(piece.from);
    out.u64(piece.copied);
    out.u64(piece.added);
  }
  size_t at = 0;
  for (const DeltaPiece& piece : pieces) {
    at += piece.copied;
    out.bytes(content.substr(at, piece.added));
    at += piece.added;
  }
  return out.str();
}

std::optional<ContentDelta> parse_delta(std::string_view head, uint64_t file_bytes) {
  LittleEndianReader in(head);
  if (in.bytes(kDeltaMagic.size()) != kDeltaMagic) return std::nullopt;
  ContentDelta delta;
  delta.base = in.id();
  delta.base_size = in.u64();
  delta.size = in.u64();
  const uint32_t count = in.u32();
  const bool is_too_large = delta.size > limits::kMaxFileBytes ||
                            delta.base_size > limits::kMaxFileBytes || count > kMaxDeltaPieces;
  if (in.failed() || is_too_large) return std::nullopt;
  uint64_t described = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const DeltaPiece piece{in.u64(), in.u64(), in.u64()};
    const bool is_inside = piece.copied <= delta.base_size &&
                           piece.from <= delta.base_size - piece.copied &&
                           piece.copied <= delta.size - described &&
                           piece.added <= delta.size - described - piece.copied;
    if (in.failed() || !is_inside) return std::nullopt;
    described += piece.copied + piece.added;
    delta.pieces.push_back(piece);
  }
  const bool is_complete = described == delta.size && file_bytes == delta.encoded_bytes();
  return is_complete ? std::optional(std::move(delta)) : std::nullopt;
}

}  // namespace galley
