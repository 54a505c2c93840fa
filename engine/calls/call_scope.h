#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <galley/tool.h>
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/calls/action.h"
#include "engine/policy/capability.h"
#include "staging/overlay/overlay.h"
#include "tools/tool.h"

namespace galley {

/// What one call may use: what its agent was given, as its own options narrow it.
///
/// Invariant: it never gives more than the agent's capabilities do. Options that cannot be read
///            give nothing.
/// Ownership: self-contained. Threads: immutable, safe to share.
class CallScope {
 public:
  /// `granted` is the agent's; `root` the absolute path of the workspace, or empty.
  /// Errors: kInvalid `capability.invalid`, `call.program`, `call.environment`, `path.invalid`;
  ///         kRefused `path.outside` for a folder outside; kQuota `limit.environment`.
  static Result<CallScope> of(const CallOptions& options, const std::vector<std::string>& granted,
                              const std::string& root);

  /// Nothing when the action may go on, else kRefused `capability.missing`.
  [[nodiscard]] std::optional<Error> refusal(const Action& action) const;
  /// Nothing when what was staged since `before` may be written by this call. A command shows only
  /// afterwards what it touches.
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Action& action,
                                                       const Overlay::Entries& before,
                                                       const Overlay::Entries& now) const;
  /// Whether refusal_of_effect can say no at all.
  [[nodiscard]] bool judges_effects() const { return only_.has_value(); }
  /// Which files may be shown, of those that `outer` lets pass; an empty one lets all.
  [[nodiscard]] std::function<bool(const RelPath&)> reading_rule(
      std::function<bool(const RelPath&)> outer) const;

  /// What the tool is told it may do.
  [[nodiscard]] const std::vector<std::string>& capabilities() const { return capabilities_; }
  /// The folder where the call starts.
  [[nodiscard]] const RelPath& cwd() const { return cwd_; }

 private:
  Capabilities granted_;
  std::optional<Capabilities> only_;
  std::optional<Capabilities> programs_;
  std::vector<std::string> capabilities_;
  RelPath cwd_ = RelPath::root();
};

/// Names and values of a call's environment.
inline constexpr size_t kMaxEnvironmentNames = 256;
inline constexpr size_t kMaxEnvironmentBytes = size_t{64} << 10U;

}  // namespace galley
