#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/validators/validator_cache.h"
#include "staging/fs/directory.h"

namespace galley {

/// Stores each result as a JSON file `<hex key>` in its directory below `.galley/`, and also caches
/// it in memory. When the cache is opened, it removes the oldest files beyond kMaxFiles.
///
/// Ownership: owns the directory.
class DiskValidatorCache final : public ValidatorCache {
 public:
  static constexpr size_t kMaxFiles = 20'000;  ///< results of validators cached on disk
  explicit DiskValidatorCache(std::unique_ptr<WritableDirectory> directory);
  std::optional<std::vector<Finding>> get(const ContentId& key) override;
  void put(const ContentId& key, const std::vector<Finding>& findings) override;

 private:
  void drop_oldest();

  std::unique_ptr<WritableDirectory> directory_;
  MemoryValidatorCache memory_;
};

}  // namespace galley
