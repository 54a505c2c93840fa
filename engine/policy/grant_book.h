#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/capability.h"

namespace galley {

/// What people granted to agents and revoked from them, beside galley.toml. What was said last of a
/// capability counts. A grant never gives what galley.toml denies; a revocation takes away whatever
/// galley.toml gives.
///
/// Threads: safe to share.
class GrantBook {
 public:
  /// Of one agent, oldest first; a revocation is a denial.
  using Page = Capabilities;
  using Pages = std::map<std::string, Page, std::less<>>;

  /// Nothing where nobody said anything of this agent.
  [[nodiscard]] std::shared_ptr<const Page> of(std::string_view agent) const;
  /// Another number after every replacement.
  [[nodiscard]] uint64_t version() const;
  void replace(Pages pages);
  /// From now on every agent is denied everything: what was revoked could not be read.
  void revoke_everything();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Page>, std::less<>> pages_;  ///< guarded by mutex_
  std::shared_ptr<const Page> others_;  ///< of those without a page; guarded by mutex_
  uint64_t version_ = 0;                ///< guarded by mutex_
};

}  // namespace galley
