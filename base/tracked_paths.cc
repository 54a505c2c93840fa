#include "base/tracked_paths.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace galley {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kStatBytes = 40;  // of an entry, before the object's name
constexpr size_t kFlagBytes = 2;
constexpr uint32_t kLongName = 0xFFF;
constexpr uint32_t kIsExtended = 0x4000;
constexpr size_t kPadding = 8;

/// Takes values from the front of some bytes; `ok` turns false for good when they run out.
class IndexBytes {
 public:
  explicit IndexBytes(std::string_view bytes) : all_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] size_t place() const { return at_; }
  std::string_view take(size_t count) {
    ok_ = ok_ && count <= all_.size() - at_;
    if (!ok_) return {};
    at_ += count;
    return all_.substr(at_ - count, count);
  }
  uint32_t number(size_t bytes) {
    uint32_t value = 0;
    for (const char byte : take(bytes)) value = value << 8U | static_cast<uint8_t>(byte);
    return value;
  }
  /// To the next NUL, which is taken too.
  std::string_view text() {
    const size_t end = ok_ ? all_.find('\0', at_) : all_.npos;
    ok_ = ok_ && end != all_.npos;
    const std::string_view whole = take(ok_ ? end + 1 - at_ : 0);
    return whole.substr(0, whole.empty() ? 0 : whole.size() - 1);
  }
  /// The number by which a name of version 4 is shorter than the one before (git's varint).
  size_t stripped() {
    constexpr uint32_t kMore = 0x80;
    size_t value = 0;
    for (bool is_first = true;; is_first = false) {
      const uint32_t byte = number(1);
      if (!ok_) return 0;
      value = ((value + (is_first ? 0 : 1)) << 7U) | (byte & (kMore - 1));
      if ((byte & kMore) == 0) return value;
    }
  }

 private:
  std::string_view all_;
  size_t at_ = 0;
  bool ok_ = true;
};

struct ParsedIndex {
  std::vector<std::string> paths;
  std::string shared;  ///< hexadecimal name of the other part of a split index; empty: none
};

std::string in_hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4U];
    text += kDigits[static_cast<uint8_t>(byte) & 0xFU];
  }
  return text;
}

/// Nothing when the bytes are no index with object names of this size: the length of every name is
/// there twice.
std::optional<ParsedIndex> parse_index(std::string_view bytes, size_t name_bytes) {
  IndexBytes index(bytes);
  if (index.take(4) != "DIRC") return {};
  const uint32_t version = index.number(4);
  const uint32_t count = index.number(4);
  if (version < 2 || version > 4) return {};
  ParsedIndex parsed;
  std::string name;
  for (uint32_t i = 0; i < count && index.ok(); ++i) {
    const size_t began = index.place();
    (void)index.take(kStatBytes + name_bytes);
    const uint32_t flags = index.number(kFlagBytes);
    if ((flags & kIsExtended) != 0) (void)index.take(kFlagBytes);
    if (version == 4) {
      const size_t stripped = index.stripped();
      if (stripped > name.size()) return {};
      name.resize(name.size() - stripped);
      name += index.text();
    } else {
      name = index.text();
      const size_t padding = (kPadding - (index.place() - began) % kPadding) % kPadding;
      (void)index.take(padding);
    }
    const uint32_t length = flags & kLongName;
    if (length != kLongName && length != name.size()) return {};
    if (!name.empty()) parsed.paths.push_back(name);
  }
  while (index.ok() && bytes.size() - index.place() > name_bytes) {
    const std::string_view signature = index.take(4);
    const std::string_view extension = index.take(index.number(4));
    if (signature == "link") parsed.shared = in_hexadecimal(extension.substr(0, name_bytes));
  }
  return index.ok() ? std::optional(std::move(parsed)) : std::nullopt;
}

std::optional<ParsedIndex> parse_either(std::string_view bytes) {
  constexpr size_t kSha1Bytes = 20;
  constexpr size_t kSha256Bytes = 32;
  if (bytes.size() < kHeaderBytes) return {};
  auto parsed = parse_index(bytes, kSha1Bytes);
  return parsed ? parsed : parse_index(bytes, kSha256Bytes);
}

}  // namespace

TrackedPaths TrackedPaths::read(const Reader& reader) {
  TrackedPaths tracked;
  auto index = parse_either(reader("index"));
  if (!index) return tracked;
  tracked.paths_ = std::move(index->paths);
  if (!index->shared.empty()) {
    if (auto shared = parse_either(reader("sharedindex." + index->shared))) {
      std::move(shared->paths.begin(), shared->paths.end(), std::back_inserter(tracked.paths_));
    }
  }
  std::sort(tracked.paths_.begin(), tracked.paths_.end());
  return tracked;
}

bool TrackedPaths::has(std::string_view path) const {
  return std::binary_search(paths_.begin(), paths_.end(), path, std::less<>());
}

bool TrackedPaths::has_below(std::string_view directory) const {
  const std::string prefix = std::string(directory) + "/";
  const auto found = std::lower_bound(paths_.begin(), paths_.end(), prefix);
  return found != paths_.end() && found->starts_with(prefix);
}

}  // namespace galley
