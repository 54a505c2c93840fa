#include "engine/calls/grants.h"

#include <algorithm>
#include <utility>

namespace galley {
namespace {

Error missing_capability(const std::string& capability, const std::string& what) {
  return Error{ErrorKind::kRefused, "capability.missing",
               what + " needs the capability '" + capability + "', which this caller was not given",
               "", 0};
}

/// Whether a capability of the `fs` domain speaks of `action` (`read` or `write`).
bool speaks_of(const Capability& capability, std::string_view action) {
  return capability.domain == "fs" && capability.concerns("fs:" + std::string(action));
}

}  // namespace

Result<Grants> Grants::parse(const std::vector<std::string>& texts) {
  Grants grants;
  for (const std::string& text : texts) {
    GALLEY_ASSIGN(Capability capability, Capability::parse(text));
    grants.capabilities_.push_back(std::move(capability));
  }
  return grants;
}

bool Grants::may(std::string_view action, const RelPath& path) const {
  bool allowed = false;
  for (const Capability& each : capabilities_) {
    if (!speaks_of(each, action)) continue;
    const bool covers = each.paths.is_empty() || each.paths.selects(path);
    if (covers) allowed = !each.is_denial;
  }
  return allowed;
}

bool Grants::may_run(std::string_view program) const {
  return gives("exec:" + std::string(program));
}

bool Grants::gives(std::string_view needed) const { return galley::gives(capabilities_, needed); }

std::optional<Error> Grants::refusal(const Action& action) const {
  for (const std::string& needed : action.capabilities) {
    if (!gives(needed)) return missing_capability(needed, "the tool '" + action.record.tool + "'");
  }
  const Intent& intent = action.intent;
  for (const RelPath& path : intent.reads) {
    if (!may("read", path)) {
      return missing_capability("fs:read:" + path.str(), "reading '" + path.str() + "'");
    }
  }
  for (const RelPath& path : intent.writes) {
    if (!may("write", path)) {
      return missing_capability("fs:write:" + path.str(), "writing '" + path.str() + "'");
    }
  }
  for (const std::string& program : intent.programs) {
    if (!may_run(program)) {
      return missing_capability("exec:" + program, "running '" + program + "'");
    }
  }
  return {};
}

}  // namespace galley
