#pragma once

#include <galley/path.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace galley {

/// Computes the ContentId of bytes that arrive in pieces.
///
/// Threads: confined to one thread.
class ContentHasher {
 public:
  ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;

  void update(std::string_view bytes);
  /// Returns the id of all bytes so far. The hasher must not be used afterwards.
  [[nodiscard]] ContentId finish();

 private:
  struct State;
  static constexpr size_t kStateBytes = 128;
  alignas(8) std::array<unsigned char, kStateBytes> storage_;
};

}  // namespace galley
