#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Where the bytes of a journal come from.
class JournalBytes {
 public:
  virtual ~JournalBytes() = default;
  [[nodiscard]] virtual uint64_t size() const = 0;
  /// At most `count` bytes at `offset`, fewer at the end; valid until the next call.
  virtual std::string_view at(uint64_t offset, size_t count) = 0;
};

class BytesInMemory final : public JournalBytes {
 public:
  explicit BytesInMemory(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] uint64_t size() const override { return bytes_.size(); }
  std::string_view at(uint64_t offset, size_t count) override {
    return offset < bytes_.size() ? bytes_.substr(offset, count) : std::string_view();
  }

 private:
  std::string_view bytes_;
};

/// A window that moves along the file.
class BytesInFile final : public JournalBytes {
 public:
  BytesInFile(File& file, uint64_t size) : file_(file), size_(size) {}
  [[nodiscard]] uint64_t size() const override { return size_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  std::string_view at(uint64_t offset, size_t count) override {
    if (offset >= size_ || error_) return {};
    count = static_cast<size_t>(std::min<uint64_t>(count, size_ - offset));
    if (offset < start_ || offset + count > start_ + window_.size()) move_to(offset, count);
    return std::string_view(window_).substr(offset - start_, count);
  }

 private:
  static constexpr size_t kWindowBytes = size_t{1} << 20U;

  void move_to(uint64_t offset, size_t count) {
    const size_t wanted =
        static_cast<size_t>(std::min<uint64_t>(std::max(count, kWindowBytes), size_ - offset));
    auto bytes = file_.read_at(offset, wanted);
    start_ = offset;
    if (!bytes) error_ = std::move(bytes.error());
    window_ = error_ ? std::string() : *std::move(bytes);
  }

  File& file_;
  uint64_t size_;
  uint64_t start_ = 0;
  std::string window_;
  std::optional<Error> error_;
};

}  // namespace galley
