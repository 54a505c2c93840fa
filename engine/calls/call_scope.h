#pragma once

#include <functional>
#include <memory>
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

/// The capabilities of one call: those of its agent, narrowed by the options of the call.
///
/// Invariant: it never gives more than the agent's capabilities do. Invalid options give nothing.
/// Ownership: self-contained. Threads: immutable, safe to share.
class CallScope {
 public:
  /// `granted` are the capabilities of the agent. `root` is the absolute path of the workspace, or
  /// empty.
  /// Errors: kInvalid `capability.invalid`, `call.program`, `call.environment`, `path.invalid`;
  ///         kRefused `path.outside` for a folder outside; kQuota `limit.environment`.
  static Result<CallScope> of(const CallOptions& options, const std::vector<std::string>& granted,
                              const std::string& root);

  /// Returns kRefused `capability.missing` if the action must not run.
  [[nodiscard]] std::optional<Error> refusal(const Action& action) const;
  /// Returns an error if the changes between `before` and `now` are outside the scope of this call.
  /// The paths that a command touches are known only after it ran.
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Action& action,
                                                       const Overlay::Entries& before,
                                                       const Overlay::Entries& now) const;
  /// Whether refusal_of_effect can return an error at all.
  [[nodiscard]] bool judges_effects() const { return only_.has_value(); }
  /// Returns a filter of the files that may be shown. `outer` must allow them as well; an empty
  /// `outer` allows all files.
  [[nodiscard]] std::function<bool(const RelPath&)> reading_rule(
      std::function<bool(const RelPath&)> outer) const;

  /// The capabilities of the call, as the tool sees them.
  [[nodiscard]] const std::vector<std::string>& capabilities() const { return capabilities_; }
  /// The working directory of the call.
  [[nodiscard]] const RelPath& cwd() const { return cwd_; }

 private:
  std::shared_ptr<const Capabilities> granted_;
  std::optional<Capabilities> only_;
  std::optional<Capabilities> programs_;
  std::vector<std::string> capabilities_;
  RelPath cwd_ = RelPath::root();
};

// The environment of a call:
inline constexpr size_t kMaxEnvironmentNames = 256;  ///< names in the environment of a call
inline constexpr size_t kMaxEnvironmentBytes = size_t{64} << 10U;  ///< all names and values of it

}  // namespace galley
