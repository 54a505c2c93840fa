#pragma once

#include <galley/tool.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/redactor.h"

namespace galley {

/// Hands secrets to a tool and remembers each, so that what the tool says can be redacted.
///
/// Ownership: borrows the provider. Threads: confined to the thread of the call.
class SecretWatch {
 public:
  explicit SecretWatch(const SecretProvider& provider) : provider_(&provider) {}

  /// Empty where there are no secrets. With `only` that is not empty, just those of these names.
  [[nodiscard]] SecretProvider provider(const std::vector<std::string>& only = {});
  /// Of those that were handed out.
  [[nodiscard]] std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }
  [[nodiscard]] const Redactor& redactor() const { return redactor_; }

 private:
  const SecretProvider* provider_;
  Redactor redactor_;
  std::set<std::string> names_;
};

}  // namespace galley
