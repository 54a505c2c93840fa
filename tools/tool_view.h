#pragma once

#include <string_view>
#include <vector>

#include "tools/registry.h"

namespace galley {

/// The tools of a registry that one caller sees, without a copy.
///
/// Changes of the registry (add, remove, disable) are visible here at once.
/// Ownership: borrows the registry. Threads: immutable, safe to share.
class ToolView {
 public:
  ToolView(const ToolRegistry& registry, ToolCaller caller,
           ToolRegistry::Mode mode = ToolRegistry::Mode::kAll)
      : registry_(&registry), caller_(std::move(caller)), mode_(mode) {}

  /// The tools of that name that the caller may call, best first; the others are fallbacks.
  /// Errors: kUsage `tool.unknown`, with the nearest name that the caller sees; kRefused
  ///         `tool.disabled`, `tool.not_available`, `tool.not_read_only`.
  [[nodiscard]] Result<std::vector<ToolRegistry::EntryPointer>> find(std::string_view name) const;
  /// One tool for each name that find() knows, in the order of registration.
  [[nodiscard]] std::vector<ToolInfo> list() const;

 private:
  [[nodiscard]] bool sees(const ToolInfo& info, const ToolAvailability& availability) const;
  [[nodiscard]] bool is_listed(const ToolInfo& info) const {
    return mode_ == ToolRegistry::Mode::kAll || info.annotations.read_only;
  }

  const ToolRegistry* registry_;
  ToolCaller caller_;
  ToolRegistry::Mode mode_;
};

}  // namespace galley
