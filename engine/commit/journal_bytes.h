#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// A source of the bytes of a journal.
class JournalBytes {
 public:
  virtual ~JournalBytes() = default;
  [[nodiscard]] virtual uint64_t size() const = 0;
  /// Returns at most `count` bytes at `offset`, fewer at the end; valid until the next call.
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

/// The bytes of a file, read through a window that moves along it.
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

/// Appends little-endian numbers and length-prefixed text to a buffer.
class LittleEndianWriter {
 public:
  void u8(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(uint16_t value) { number(value); }
  void u32(uint32_t value) { number(value); }
  void u64(uint64_t value) { number(value); }
  void i64(int64_t value) { number(static_cast<uint64_t>(value)); }
  void bytes(std::string_view value) { out_.append(value); }
  void id(const ContentId& value) {
    out_.append(reinterpret_cast<const char*>(value.bytes().data()), ContentId::kBytes);
  }
  void text(std::string_view value) {
    u32(static_cast<uint32_t>(value.size()));
    bytes(value);
  }
  [[nodiscard]] const std::string& str() const { return out_; }

 private:
  template <class T>
  void number(T value) {
    std::array<char, sizeof value> bytes;
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xffU);
    }
    out_.append(bytes.data(), bytes.size());
  }
  std::string out_;
};

/// Reads from a buffer the values that LittleEndianWriter writes. After the first missing value,
/// failed() is true and every read returns zero.
class LittleEndianReader {
 public:
  explicit LittleEndianReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t u8() { return number<uint8_t>(); }
  uint16_t u16() { return number<uint16_t>(); }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  int64_t i64() { return static_cast<int64_t>(number<uint64_t>()); }
  std::string_view bytes(size_t count) {
    if (failed_ || rest_.size() < count) {
      failed_ = true;
      return {};
    }
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  ContentId id() {
    const auto raw = bytes(ContentId::kBytes);
    std::array<uint8_t, ContentId::kBytes> value{};
    if (!failed_) std::memcpy(value.data(), raw.data(), value.size());
    return ContentId(value);
  }
  std::string_view text(size_t limit) {
    const uint32_t size = u32();
    if (size > limit) failed_ = true;
    return bytes(size);
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  /// Whether every value was read and no bytes are left.
  [[nodiscard]] bool is_done() const { return !failed_ && rest_.empty(); }

 private:
  template <class T>
  T number() {
    const auto raw = bytes(sizeof(T));
    uint64_t value = 0;
    for (size_t i = 0; i < raw.size(); ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    }
    return static_cast<T>(value);
  }
  std::string_view rest_;
  bool failed_ = false;
};

/// CRC-32C (Castagnoli polynomial, RFC 3720 appendix B.4) of `bytes`, continued from `seed`. The
/// seed is the checksum of the preceding bytes, so a chain of records also protects their order.
[[nodiscard]] uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);

}  // namespace galley
