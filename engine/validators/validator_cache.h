#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_id.h"
#include "engine/policy/finding.h"

namespace galley {

/// Remembers what a validator said, by the hash of all that it can see.
///
/// An answer that was lost or is damaged is no answer: a cache never fails.
/// Threads: safe to share.
class ValidatorCache {
 public:
  virtual ~ValidatorCache() = default;
  virtual std::optional<std::vector<Finding>> get(const ContentId& key) = 0;
  virtual void put(const ContentId& key, const std::vector<Finding>& findings) = 0;
};

/// Keeps answers for the life of the process, the newest kMaxEntries of them.
class MemoryValidatorCache final : public ValidatorCache {
 public:
  static constexpr size_t kMaxEntries = 10'000;
  std::optional<std::vector<Finding>> get(const ContentId& key) override;
  void put(const ContentId& key, const std::vector<Finding>& findings) override;

 private:
  std::mutex mutex_;
  std::map<ContentId, std::vector<Finding>> entries_;
  std::vector<ContentId> order_;
  size_t oldest_ = 0;
};

/// Findings as the JSON text that the cache keeps, and back; nothing when it is not such text.
[[nodiscard]] std::string findings_to_json(const std::vector<Finding>& findings);
[[nodiscard]] std::optional<std::vector<Finding>> findings_from_json(std::string_view text);

}  // namespace galley
