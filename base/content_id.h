#pragma once

#include <galley/path.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace galley {

/// Computes a ContentId piece by piece.
///
/// Threads: confined to one thread.
class ContentHasher {
 public:
  ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;

  void update(std::string_view bytes);
  /// The id of all bytes so far; the hasher must not be used afterwards.
  [[nodiscard]] ContentId finish();

 private:
  struct State;
  static constexpr size_t kStateBytes = 128;
  alignas(8) std::array<unsigned char, kStateBytes> storage_;
};

}  // namespace galley
