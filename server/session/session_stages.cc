#include "server/session/session_stages.h"

#include <utility>
#include <vector>

#include "base/hash.h"
#include "engine/commit/outcome.h"
#include "engine/commit/stage_directory.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

std::string session_of_door(std::string_view door, const std::string& id) {
  std::string session = std::string(door) + "-" + id;
  if (is_session_id(session)) return session;
  return std::string(door) + "#" + ContentId::of(id).hex();
}

Result<void> SessionStages::look() {
  PersistentState& persistent = persistent_of(*workspace_);
  GALLEY_TRY(persistent.refresh());
  std::map<std::string, StageHeader> now;
  if (persistent.state() != nullptr) {
    GALLEY_ASSIGN(const std::vector<std::string> ids, stage_ids(*persistent.state(), ""));
    for (const std::string& id : ids) {
      if (auto known = seen_.extract(id)) {
        now.insert(std::move(known));
        continue;
      }
      // A stage that cannot be read is being made, or has ended.
      auto about = StoredStage::look_at(*persistent.state(), id);
      if (about) now[id] = *std::move(about);
    }
  }
  seen_ = std::move(now);
  return {};
}

Result<std::string> SessionStages::find(const std::string& agent, const std::string& session) {
  const std::lock_guard guard(mutex_);
  GALLEY_TRY(look());
  std::pair<const std::string, StageHeader>* oldest = nullptr;
  for (auto& stage : seen_) {
    const StageHeader& about = stage.second;
    if (about.session != session || !is_own(about, agent)) continue;
    if (oldest == nullptr || about.begun_ns < oldest->second.begun_ns) oldest = &stage;
  }
  if (oldest == nullptr) return std::string();
  // The rest of a stage that has ended stays until it is cleaned up.
  if (StoredStage::look_at(*persistent_of(*workspace_).state(), oldest->first))
    return oldest->first;
  oldest->second.session.clear();
  return std::string();
}

Result<size_t> SessionStages::count() {
  const std::lock_guard guard(mutex_);
  GALLEY_TRY(look());
  return seen_.size();
}

}  // namespace galley
