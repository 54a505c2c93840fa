#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// One reference that a push changes. An empty id: there is none on that side.
struct RefUpdate {
  std::string ref;     ///< of the side that is pushed to: `refs/heads/main`
  std::string old_id;  ///< what it names there now; empty: it is new
  std::string new_id;  ///< what it is to name; empty: it is deleted

  bool operator==(const RefUpdate&) const = default;
};

inline constexpr size_t kMaxRefUpdates = 100'000;

/// The lines that git gives a hook on standard input (githooks(5)):
///     pre-push:    <local ref> SP <local id> SP <ref> SP <old id> LF
///     pre-receive: <old id> SP <new id> SP <ref> LF
/// Errors: kInvalid `hook.input`, which names the line; kQuota `limit.ref_updates`.
Result<std::vector<RefUpdate>> parse_pushed_refs(std::string_view text);
Result<std::vector<RefUpdate>> parse_received_refs(std::string_view text);
/// The same from the three arguments of `update`.
Result<RefUpdate> parse_update(const std::vector<std::string>& words);

}  // namespace galley
