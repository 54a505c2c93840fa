#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/calls/action.h"
#include "engine/policy/capability.h"

namespace galley {

/// The capabilities that a caller was given for its calls (`fs:read`, `fs:write:src/**`,
/// `exec:git`, `custom:deploy`).
///
/// Only what the arguments of a call say is held against them here; the gate judges the result.
/// Threads: immutable, safe to share.
class Grants {
 public:
  /// Gives nothing.
  Grants() = default;
  /// Errors: kInvalid, reason `capability.invalid`.
  static Result<Grants> parse(const std::vector<std::string>& texts);

  /// Nothing when an action of these needs may do what it intends, else kRefused
  /// `capability.missing`, which names what is missing. What no capability speaks of was never
  /// given.
  [[nodiscard]] std::optional<Error> refusal(const Action& action) const;

  /// Whether this file may be `read` or `write` (the action).
  [[nodiscard]] bool may(std::string_view action, const RelPath& path) const;
  [[nodiscard]] bool may_run(std::string_view program) const;
  /// Whether what a tool says it needs was given, or of files, programs and network a part of it:
  /// the rest is judged when it is known.
  [[nodiscard]] bool gives(std::string_view needed) const;

 private:
  std::vector<Capability> capabilities_;
};

}  // namespace galley
