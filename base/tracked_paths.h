#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// The paths that the index of a git repository names, whatever else it says of them.
///
/// Reads versions 2 to 4, of SHA-1 and of SHA-256, and an index that is split in two
/// (gitformat-index(5)). Of a split one a path counts until it is gone from both parts; a folder
/// that a sparse index names counts as something below it.
class TrackedPaths {
 public:
  /// The bytes of a file in the folder of the repository; empty when it is not there.
  using Reader = std::function<std::string(const std::string& name)>;

  /// Nothing is tracked where there is no index, or none that can be read.
  static TrackedPaths read(const Reader& reader);

  [[nodiscard]] bool has(std::string_view path) const;
  [[nodiscard]] bool has_below(std::string_view directory) const;

 private:
  std::vector<std::string> paths_;  ///< sorted
};

}  // namespace galley
