#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/content_id.h"

namespace galley {

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
    for (size_t i = 0; i < sizeof value; ++i) {
      out_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xffU));
    }
  }
  std::string out_;
};

/// Takes the same things off a buffer; after the first thing that is not there, failed() holds and
/// everything reads as zero.
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
  /// Nothing is missing and nothing is left over.
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

}  // namespace galley
