#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace galley {

/// Maximum number of pieces of one delta. A content that needs more is stored whole.
inline constexpr size_t kMaxDeltaPieces = 4096;
/// A delta may have this fraction (1/16) of the bytes of its content. A larger one is not worth the
/// second file that each reader must open.
inline constexpr uint64_t kDeltaFraction = 16;

/// Bytes copied from the base, and new bytes after them.
struct DeltaPiece {
  uint64_t from = 0;    ///< offset in the base
  uint64_t copied = 0;  ///< bytes of the base
  uint64_t added = 0;   ///< bytes of the delta
  bool operator==(const DeltaPiece&) const = default;
};

/// A content as pieces of another one, its base, which is stored whole. A delta of a delta is not
/// stored: changed() describes the result by the same base.
///
///     file := "GALLEYD\1" · base id 32 · base size u64 · size u64 · count u32 ·
///             (from u64 · copied u64 · added u64)* · the added bytes of all pieces
///
/// The bytes that a delta gives count only if they have the id of the content.
struct ContentDelta {
  ContentId base;
  uint64_t base_size = 0;
  uint64_t size = 0;  ///< of the content
  std::vector<DeltaPiece> pieces;

  /// The whole content as one piece of itself.
  [[nodiscard]] static ContentDelta whole(const ContentId& id, uint64_t size);
  /// The new content as a delta with the same base. This object must describe `old_bytes`.
  [[nodiscard]] ContentDelta changed(std::string_view old_bytes, std::string_view new_bytes) const;
  [[nodiscard]] uint64_t added() const;
  [[nodiscard]] uint64_t encoded_bytes() const;
  /// Whether it is small enough to be stored instead of the content, and its base at most about
  /// twice as large as the content.
  [[nodiscard]] bool is_worthwhile() const;
  /// The bytes of its file. It must describe `content`.
  [[nodiscard]] std::string encode(std::string_view content) const;
  bool operator==(const ContentDelta&) const = default;
};

/// Maximum number of bytes before the added bytes.
inline constexpr size_t kDeltaHeadBytes = 8 + 32 + 8 + 8 + 4 + kMaxDeltaPieces * 24;

/// Reads a delta from the first kDeltaHeadBytes of a file of `file_bytes`. Returns nullopt if
/// they are not a delta, if a piece is outside of the base, or if the sizes do not add up.
[[nodiscard]] std::optional<ContentDelta> parse_delta(std::string_view head, uint64_t file_bytes);

}  // namespace galley
