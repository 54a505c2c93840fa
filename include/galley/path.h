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

/// The names of files (paths), contents (hashes) and commits (numbers). All types are values and do
/// no I/O.
namespace galley {

/// A path inside the workspace, relative to its root. Galley names every file by one.
///
/// Invariant: one to kMaxComponents components, joined by `/`. No component is empty, `.` or `..`,
///            or longer than kMaxComponentBytes. The path has at most kMaxBytes and no NUL. It may
///            contain any other byte, since the kernel allows it: line feeds, escapes, bytes that
///            are not UTF-8. The empty RelPath is the root; only RelPath::root() makes it.
///            What writes a name into a line or to a terminal has to escape it.
/// Errors:    kInvalid `path.invalid`, which says which rule is broken; kRefused `path.outside` for
///            an absolute path outside the root.
class RelPath {
 public:
  static constexpr size_t kMaxBytes = 4096;          ///< one path (PATH_MAX)
  static constexpr size_t kMaxComponentBytes = 255;  ///< one name (NAME_MAX)
  static constexpr size_t kMaxComponents = 256;      ///< levels of a path

  /// Returns the path of the workspace root.
  [[nodiscard]] static RelPath root() { return RelPath(); }

  /// Parses untrusted text. Removes a leading `./` and a trailing `/`, and decodes nothing. Every
  /// name of a directory entry is a path.
  ///
  /// Errors: kInvalid `path.invalid`, also for the text of the root (an empty text, `.`): a caller
  ///         that means the root writes RelPath::root().
  static Result<RelPath> parse(std::string_view text);

  /// Parses a relative path, or an absolute path inside `root`, which is absolute. It only compares
  /// texts, without their `.`, `..` and `//`. Symbolic links are checked at each later access.
  static Result<RelPath> parse_within(std::string_view text, std::string_view root);

  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] bool is_root() const { return text_.empty(); }
  /// Returns the last component; empty for the root.
  [[nodiscard]] std::string_view name() const;
  /// Returns the path without its last component. The parent of the root is the root.
  [[nodiscard]] RelPath parent() const;
  [[nodiscard]] std::vector<std::string_view> components() const&;
  /// The components point into the path, so a temporary path is not allowed.
  [[nodiscard]] std::vector<std::string_view> components() const&& = delete;
  /// Appends `child` to this path.
  /// Errors: kInvalid `path.invalid` if the result is too long.
  [[nodiscard]] Result<RelPath> join(const RelPath& child) const;
  /// Whether this path is below `ancestor`. A path is not below itself.
  [[nodiscard]] bool is_below(const RelPath& ancestor) const;
  /// Whether a component is `.git`, `.galley` or `.sage`, in any spelling that a file system takes
  /// for it (case, HFS+ ignorable code points, NTFS short names, streams and trailing dots or
  /// spaces). Galley refuses every edit of such a path.
  [[nodiscard]] bool is_protected() const;
  /// Whether a component is `galley.toml` in any such spelling. This file contains the rules.
  [[nodiscard]] bool is_configuration() const;

  auto operator<=>(const RelPath&) const = default;
  bool operator==(const RelPath&) const = default;

 private:
  RelPath() = default;
  explicit RelPath(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// The SHA-256 (FIPS 180-4) of some bytes. Galley names every content by its hash.
class ContentId {
 public:
  static constexpr size_t kBytes = 32;

  /// All zeros: the id of an absent file or a directory.
  constexpr ContentId() = default;
  explicit constexpr ContentId(const std::array<uint8_t, kBytes>& bytes) : bytes_(bytes) {}

  /// Returns the id of these bytes.
  [[nodiscard]] static ContentId of(std::string_view content);
  /// Parses 64 lower-case hexadecimal digits; nothing for any other text.
  [[nodiscard]] static std::optional<ContentId> from_hex(std::string_view hex);

  [[nodiscard]] std::string hex() const;
  [[nodiscard]] bool is_none() const { return *this == ContentId(); }
  [[nodiscard]] const std::array<uint8_t, kBytes>& bytes() const { return bytes_; }

  auto operator<=>(const ContentId&) const = default;
  bool operator==(const ContentId&) const = default;

 private:
  std::array<uint8_t, kBytes> bytes_{};
};

/// The number of a committed transaction: 1, 2, 3 … in the order of a workspace's commits. It is
/// written in decimal, except in file names below `.galley`. 0 means none.
struct TxId {
  uint64_t value = 0;

  [[nodiscard]] std::string str() const { return digits(kDecimal); }
  [[nodiscard]] static std::optional<TxId> parse(std::string_view text) {
    return from_digits(text, kDecimal);
  }

  /// Returns the number in lower-case hexadecimal, for file names below `.galley`.
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

/// The immutable bytes of a file, or the target of a symbolic link. Shared, so a copy is cheap.
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
