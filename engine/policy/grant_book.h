#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/policy/capability.h"

namespace galley {

/// Capabilities that people granted to agents or revoked from them, in addition to galley.toml. The
/// last entry about a capability decides. A grant does not override a denial of galley.toml. A
/// revocation overrides galley.toml.
///
/// Threads: safe to share.
class GrantBook {
 public:
  /// The entries of one agent, oldest first; a revocation is a denial.
  using Page = Capabilities;
  using Pages = std::map<std::string, Page, std::less<>>;

  /// Returns the entries of this agent, or null without entries.
  [[nodiscard]] std::shared_ptr<const Page> of(std::string_view agent) const;
  /// Returns a number that changes with every replace().
  [[nodiscard]] uint64_t version() const;
  void replace(Pages pages);
  /// Denies everything to every agent from now on. Call it if the revocations cannot be read.
  void revoke_everything();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Page>, std::less<>> pages_;  ///< guarded by mutex_
  std::shared_ptr<const Page> others_;  ///< for agents without a page; guarded by mutex_
  uint64_t version_ = 0;                ///< guarded by mutex_
};

}  // namespace galley
