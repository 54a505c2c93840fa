#pragma once

#include <galley/error.h>
#include <array>
#include <charconv>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Names: paths for files, hashes for contents, numbers for commits. Values without I/O.
namespace galley {

/// A path inside the workspace, relative to its root. Every file is named by one.
///
/// Invariant: one or more components joined by `/`; no component is empty, `.` or `..`, or longer
///            than kMaxComponentBytes; no NUL and no control character (except from of_entry); at
///            most kMaxBytes in all. The empty RelPath is the root itself and can only be made by
///            RelPath::root().
/// Errors:    parse refuses everything else and says which rule was broken. Bytes that are not
///            UTF-8 are allowed: to the kernel, a path is bytes.
class RelPath {
 public:
  static constexpr size_t kMaxBytes = 4096;          ///< one path (PATH_MAX)
  static constexpr size_t kMaxComponentBytes = 255;  ///< one name (NAME_MAX)
  static constexpr size_t kMaxComponents = 256;      ///< levels of a path

  /// The workspace root.
  [[nodiscard]] static RelPath root() { return RelPath(); }

  /// Parses untrusted text; a leading `./` and a trailing `/` are dropped, nothing is decoded.
  static Result<RelPath> parse(std::string_view text);

  /// The name of an entry that the system listed, with any bytes. It is needed to remove trees that
  /// contain names which parse() refuses. Never kept, never shown.
  static Result<RelPath> of_entry(std::string_view name);

  /// Parses text that may also be absolute; it must then be inside `root`, which is absolute, too.
  /// Compares text only; each later access checks what the kernel finds there.
  static Result<RelPath> parse_within(std::string_view text, std::string_view root);

  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] bool is_root() const { return text_.empty(); }
  /// Last component; empty for the root.
  [[nodiscard]] std::string_view name() const;
  /// The path without its last component; the root's parent is the root.
  [[nodiscard]] RelPath parent() const;
  [[nodiscard]] std::vector<std::string_view> components() const&;
  /// The components point into the path, so a temporary path is not allowed.
  [[nodiscard]] std::vector<std::string_view> components() const&& = delete;
  /// Joins with any RelPath. The length is the only invariant that this can break, hence a Result.
  [[nodiscard]] Result<RelPath> join(const RelPath& child) const;
  /// True when this path is strictly below `ancestor`.
  [[nodiscard]] bool is_below(const RelPath& ancestor) const;
  /// True when a component is `.git`, `.galley` or `.sage` in any spelling that a file system may
  /// fold to it (case, HFS+ ignorable code points, NTFS short names, streams and trailing dots or
  /// spaces). No edit may touch such a path.
  [[nodiscard]] bool is_protected() const;
  /// True when a component is `galley.toml` in any such spelling: the file has the rules
  /// themselves.
  [[nodiscard]] bool is_configuration() const;

  auto operator<=>(const RelPath&) const = default;
  bool operator==(const RelPath&) const = default;

 private:
  RelPath() = default;
  explicit RelPath(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// The SHA-256 (FIPS 180-4) of some bytes: names a content everywhere in Galley.
class ContentId {
 public:
  static constexpr size_t kBytes = 32;

  /// All zeros: means "no content" (an absent file, a directory).
  constexpr ContentId() = default;
  explicit constexpr ContentId(const std::array<uint8_t, kBytes>& bytes) : bytes_(bytes) {}

  /// The id of these bytes.
  [[nodiscard]] static ContentId of(std::string_view content);
  /// Reads 64 lower-case hexadecimal digits.
  [[nodiscard]] static std::optional<ContentId> from_hex(std::string_view hex);

  [[nodiscard]] std::string hex() const;
  [[nodiscard]] bool is_none() const { return *this == ContentId(); }
  [[nodiscard]] const std::array<uint8_t, kBytes>& bytes() const { return bytes_; }

  auto operator<=>(const ContentId&) const = default;
  bool operator==(const ContentId&) const = default;

 private:
  std::array<uint8_t, kBytes> bytes_{};
};

/// The number of a committed transaction: 1, 2, 3 … in commit order within one workspace. Written
/// in decimal, except in names of files below `.galley`. 0 means none.
struct TxId {
  uint64_t value = 0;

  [[nodiscard]] std::string str() const { return digits(kDecimal); }
  [[nodiscard]] static std::optional<TxId> parse(std::string_view text) {
    return from_digits(text, kDecimal);
  }

  /// Its form in names of files below `.galley`: lower-case hexadecimal, unchanged since the first
  /// version of the format.
  [[nodiscard]] std::string file_name() const { return digits(kHexadecimal); }
  [[nodiscard]] static std::optional<TxId> from_file_name(std::string_view text) {
    return from_digits(text, kHexadecimal);
  }

  auto operator<=>(const TxId&) const = default;
  bool operator==(const TxId&) const = default;

 private:
  static constexpr int kDecimal = 10;
  static constexpr int kHexadecimal = 16;

  [[nodiscard]] std::string digits(int base) const {
    char text[20];
    const auto end = std::to_chars(text, text + sizeof text, value, base).ptr;
    return {text, end};
  }
  [[nodiscard]] static std::optional<TxId> from_digits(std::string_view text, int base) {
    TxId id;
    const auto [end, code] =
        std::from_chars(text.data(), text.data() + text.size(), id.value, base);
    if (code != std::errc() || end != text.data() + text.size() || id.value == 0) return {};
    return id;
  }
};

/// An immutable content, shared; cheap to copy.
using Content = std::shared_ptr<const std::string>;

/// The kind of object that a path names. kAbsent corresponds to lstat's ENOENT.
enum class FileKind : uint8_t { kAbsent, kRegular, kDirectory, kSymlink, kOther };

}  // namespace galley

template <>
struct std::hash<galley::RelPath> {
  size_t operator()(const galley::RelPath& path) const noexcept {
    return std::hash<std::string>()(path.str());
  }
};

template <>
struct std::hash<galley::ContentId> {
  size_t operator()(const galley::ContentId& id) const noexcept {
    size_t value = 0;
    for (size_t i = 0; i < sizeof value; ++i) value = value << 8U | id.bytes()[i];
    return value;
  }
};
