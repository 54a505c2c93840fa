#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "engine/policy/finding.h"

namespace galley {

/// Stores results of validators by the hash of all their inputs. A lost or damaged result counts as
/// missing, so a cache never fails.
///
/// Threads: safe to share.
class ValidatorCache {
 public:
  virtual ~ValidatorCache() = default;
  virtual std::optional<std::vector<Finding>> get(const ContentId& key) = 0;
  virtual void put(const ContentId& key, const std::vector<Finding>& findings) = 0;
};

/// Keeps the newest kMaxEntries results as long as the process runs.
class MemoryValidatorCache final : public ValidatorCache {
 public:
  static constexpr size_t kMaxEntries = 10'000;  ///< results of validators cached in memory
  std::optional<std::vector<Finding>> get(const ContentId& key) override;
  void put(const ContentId& key, const std::vector<Finding>& findings) override;

 private:
  std::mutex mutex_;
  std::map<ContentId, std::vector<Finding>> entries_;
  std::vector<ContentId> order_;
  size_t oldest_ = 0;
};

/// Convert findings to the JSON text in the cache, and back. Another text gives nullopt.
[[nodiscard]] std::string findings_to_json(const std::vector<Finding>& findings);
[[nodiscard]] std::optional<std::vector<Finding>> findings_from_json(std::string_view text);

}  // namespace galley
