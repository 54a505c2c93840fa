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

/// Capabilities that people granted to agents or revoked from them, in addition to galley.toml. The
/// last entry about a capability counts. A grant never gives what galley.toml denies; a revocation
/// takes away whatever galley.toml gives.
///
/// Threads: safe to share.
class GrantBook {
 public:
  /// The entries of one agent, oldest first; a revocation is a denial.
  using Page = Capabilities;
  using Pages = std::map<std::string, Page, std::less<>>;

  /// Returns null when nothing is recorded about this agent.
  [[nodiscard]] std::shared_ptr<const Page> of(std::string_view agent) const;
  /// Changes with every replacement.
  [[nodiscard]] uint64_t version() const;
  void replace(Pages pages);
  /// From now on denies everything to every agent, because the revocations could not be read.
  void revoke_everything();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Page>, std::less<>> pages_;  ///< guarded by mutex_
  std::shared_ptr<const Page> others_;  ///< for agents without a page; guarded by mutex_
  uint64_t version_ = 0;                ///< guarded by mutex_
};

}  // namespace galley
