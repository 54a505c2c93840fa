#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// The replacement of `length` bytes at `offset` of a base content by `text`.
struct Splice {
  size_t offset = 0;
  size_t length = 0;
  std::string text;

  [[nodiscard]] size_t end() const { return offset + length; }
  bool operator==(const Splice&) const = default;
};

/// The canonical form of edits of one file: the replaced bytes and their replacements.
///
/// Invariant: splices are sorted by offset, disjoint, and inside the base. Each removes or adds
///            bytes, and two are never adjacent. So equal changes compare equal.
/// Errors:    from() refuses splices that overlap or are outside the base. For apply() and
///            inverse(), a base of another size than that of the splices is a bug.
class Splices {
 public:
  Splices() = default;
  explicit Splices(size_t base_size) : base_size_(base_size) {}

  /// Makes the canonical form of splices of a base of `base_size` bytes.
  /// Errors: kInvalid, reason `edit.overlap` or `edit.outside`.
  static Result<Splices> from(size_t base_size, std::vector<Splice> splices);

  /// Returns the edited content. In every build, the result is checked: bytes outside the splices
  /// must equal those of the base.
  [[nodiscard]] std::string apply(std::string_view base) const;

  /// Returns the splices that turn the result of apply(base) back into `base`.
  [[nodiscard]] Splices inverse(std::string_view base) const;

  /// Returns the combination of these splices and `next`, whose base is the result of these.
  [[nodiscard]] Splices then(const Splices& next) const;

  [[nodiscard]] const std::vector<Splice>& all() const { return splices_; }
  [[nodiscard]] bool is_empty() const { return splices_.empty(); }
  [[nodiscard]] size_t base_size() const { return base_size_; }
  [[nodiscard]] size_t result_size() const;

  bool operator==(const Splices&) const = default;

 private:
  size_t base_size_ = 0;
  std::vector<Splice> splices_;
};

}  // namespace galley
