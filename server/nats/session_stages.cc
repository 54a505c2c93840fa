#include "server/nats/session_stages.h"

#include <algorithm>
#include <utility>

#include "engine/commit/stage_directory.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/stages/stored_stage.h"

namespace galley {

Result<void> SessionStages::look() {
  PersistentState& persistent = persistent_of(*workspace_);
  GALLEY_TRY(persistent.refresh());
  std::map<std::string, Seen> now;
  if (persistent.state() != nullptr) {
    GALLEY_ASSIGN(const std::vector<std::string> ids, stage_ids(*persistent.state(), ""));
    for (const std::string& id : ids) {
      if (auto known = seen_.extract(id)) {
        now.insert(std::move(known));
        continue;
      }
      // A stage that cannot be read is being made, or has ended.
      const auto about = StoredStage::look_at(*persistent.state(), id);
      if (!about) continue;
      now[id] = {is_own(*about, agent_) ? about->message : std::string(), about->begun_ns};
    }
  }
  seen_ = std::move(now);
  return {};
}

Result<std::string> SessionStages::find(const std::string& session) {
  const std::lock_guard guard(mutex_);
  GALLEY_TRY(look());
  const std::string message = message_of(session);
  const std::pair<const std::string, Seen>* oldest = nullptr;
  for (const auto& stage : seen_) {
    if (stage.second.message != message) continue;
    if (oldest == nullptr || stage.second.begun_ns < oldest->second.begun_ns) oldest = &stage;
  }
  if (oldest == nullptr) return std::string();
  const std::string id = oldest->first;
  // The rest of a stage that has ended stays until it is cleaned up.
  if (StoredStage::look_at(*persistent_of(*workspace_).state(), id)) return id;
  seen_[id].message.clear();
  return std::string();
}

Result<size_t> SessionStages::count() {
  const std::lock_guard guard(mutex_);
  GALLEY_TRY(look());
  return seen_.size();
}

}  // namespace galley
