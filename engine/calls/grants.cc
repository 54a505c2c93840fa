#include "engine/calls/grants.h"

#include <algorithm>
#include <utility>

namespace galley {
namespace {

Error refused(const std::string& capability, const std::string& what) {
  return Error{ErrorKind::kRefused, "capability.missing",
               what + " needs the capability '" + capability + "', which this caller was not given",
               "", 0};
}

/// Whether a capability of the `fs` domain speaks of `action` (`read` or `write`).
bool speaks_of(const Capability& capability, std::string_view action) {
  if (capability.domain != "fs") return false;
  if (capability.action == action) return true;
  if (action != "write") return false;
  return capability.action == "create" || capability.action == "modify" ||
         capability.action == "delete";
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

bool Grants::may_anywhere(std::string_view action) const {
  return std::any_of(capabilities_.begin(), capabilities_.end(), [&](const Capability& each) {
    return !each.is_denial && speaks_of(each, action);
  });
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
  bool allowed = false;
  for (const Capability& each : capabilities_) {
    if (each.domain != "exec") continue;
    // A path is granted as it is written only: `./git` of the tree is not the `git` of the system.
    const auto name = RelPath::parse(program);
    const bool is_plain_name = name && program.find('/') == std::string_view::npos;
    const bool covers = each.action == "*" || each.action == program ||
                        (is_plain_name && each.paths.selects(*name));
    if (covers) allowed = !each.is_denial;
  }
  return allowed;
}

bool Grants::gives(std::string_view needed) const {
  const std::string_view domain = needed.substr(0, needed.find(':'));
  if (domain == "fs") return may_anywhere(needed.starts_with("fs:read") ? "read" : "write");
  // Which program is judged when it is known.
  const bool is_any = domain == needed;
  const std::string_view action = is_any ? std::string_view() : needed.substr(domain.size() + 1);
  if (domain == "exec" && !is_any) return may_run(action);
  bool is_given = false;
  for (const Capability& each : capabilities_) {
    if (each.domain != domain || (!is_any && each.action != action)) continue;
    if (is_any && each.is_denial) continue;
    is_given = !each.is_denial;
  }
  return is_given;
}

std::optional<Error> Grants::refusal(const Action& action) const {
  for (const std::string& needed : action.capabilities) {
    if (!gives(needed)) return refused(needed, "the tool '" + action.record.tool + "'");
  }
  const Intent& intent = action.intent;
  for (const RelPath& path : intent.reads) {
    if (!may("read", path)) return refused("fs:read:" + path.str(), "reading '" + path.str() + "'");
  }
  for (const RelPath& path : intent.writes) {
    if (!may("write", path)) {
      return refused("fs:write:" + path.str(), "writing '" + path.str() + "'");
    }
  }
  for (const std::string& program : intent.programs) {
    if (!may_run(program)) return refused("exec:" + program, "running '" + program + "'");
  }
  return {};
}

}  // namespace galley
