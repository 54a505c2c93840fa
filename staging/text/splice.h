#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// Replaces `length` bytes at `offset` of a base content by `text`.
struct Splice {
  size_t offset = 0;
  size_t length = 0;
  std::string text;

  [[nodiscard]] size_t end() const { return offset + length; }
  bool operator==(const Splice&) const = default;
};

/// The canonical form of every edit inside one file: the replaced bytes and their replacements.
///
/// Invariant: sorted by offset, disjoint, inside the base. No splice is empty on both sides and no
///            two are adjacent, so equal changes compare equal.
/// Errors:    from() refuses splices that overlap or are outside the base; apply() and inverse()
///            check that the base has the size that the splices were made for (a bug otherwise).
class Splices {
 public:
  Splices() = default;
  explicit Splices(size_t base_size) : base_size_(base_size) {}

  /// Sorts and joins splices of a base of `base_size` bytes.
  /// Errors: kInvalid, reason `edit.overlap` or `edit.outside`.
  static Result<Splices> from(size_t base_size, std::vector<Splice> splices);

  /// The edited content. Bytes outside the splices are copied, and each copied range is compared
  /// with the base in every build.
  [[nodiscard]] std::string apply(std::string_view base) const;

  /// The splices that turn the result of apply(base) back into `base`.
  [[nodiscard]] Splices inverse(std::string_view base) const;

  /// The combination of these splices and `next`, which applies to their result.
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
