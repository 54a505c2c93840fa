#include "cli/tool_profile.h"

#include "engine/policy/policy.h"

namespace galley {

Result<const ToolProfile*> chosen_profile(const Session& session, const Workspace& workspace) {
  const Arguments& arguments = session.arguments();
  std::string name = arguments.profile;
  if (name.empty()) {
    name = Policy(workspace.inside().config).tool_profile(arguments.global.agent);
  }
  if (name.empty()) return nullptr;
  return profile_named(name);
}

}  // namespace galley
