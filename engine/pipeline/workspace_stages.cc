#include <galley/workspace.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "engine/audit/recorder.h"
#include "engine/commit/stage_directory.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/run_capture.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/stages/run_basis.h"
#include "engine/stages/stored_stage.h"
#include "staging/fs/user_state.h"
#include "staging/overlay/staged_step.h"

namespace galley {
namespace {

constexpr size_t kMaxListed = 20;

/// Returns one line for a list in a message. Text from others cannot add lines.
std::string line_about(const StageStatus& stage) {
  std::string text = stage.id;
  text += stage.agent.empty() ? " (no agent)" : " by " + stage.agent;
  if (!stage.message.empty()) text += ": " + stage.message;
  for (char& c : text) {
    if (static_cast<uint8_t>(c) < ' ') c = ' ';
  }
  constexpr size_t kMaxLine = 120;
  if (text.size() > kMaxLine) text.resize(kMaxLine);
  return text;
}

tl::unexpected<Error> which(std::string message, const std::vector<StageStatus>& open) {
  message += "; name one with --tx ID or GALLEY_TX=ID:";
  for (size_t i = 0; i < open.size() && i < kMaxListed; ++i)
    message += "\n  " + line_about(open[i]);
  if (open.size() > kMaxListed) {
    message += "\n  and " + std::to_string(open.size() - kMaxListed) + " more";
  }
  return fail(ErrorKind::kUsage, "stage.which", message);
}

tl::unexpected<Error> none_open() {
  return fail(ErrorKind::kNotFound, "stage.not_found",
              "no transaction is open here; begin one with: galley begin");
}

/// Returns the transaction that `agent` selects with an empty id: the newest one of the session, if
/// it names one, or else its own one of no session. A person can name the session of any agent.
Result<std::string> own_stage(const std::vector<StageStatus>& open, const std::string& agent,
                              const std::string& session) {
  std::vector<StageStatus> own;
  for (auto stage = open.rbegin(); stage != open.rend(); ++stage) {
    const bool is_named = !session.empty() && stage->session == session;
    if (is_named && (stage->is_own(agent) || (agent.empty() && stage->is_of_this_user))) {
      return stage->id;
    }
    const bool is_of_other = !session.empty() && !stage->session.empty() && !is_named;
    if (stage->is_own(agent) && !is_of_other) own.insert(own.begin(), *stage);
  }
  if (own.size() == 1) return own.front().id;
  if (!own.empty()) {
    return which("you have " + std::to_string(own.size()) + " open transactions", own);
  }
  if (!open.empty() && !session.empty()) {
    return which("none of the open transactions is of session '" + session + "'", open);
  }
  if (!open.empty()) return which("none of the open transactions is yours", open);
  return none_open();
}

/// Whether the changes of a live run are counted, which needs the writer lock.
enum class RunChanges : uint8_t { kCount, kSkip };

/// Returns the stored transactions, oldest first.
Result<std::vector<StageStatus>> open_stages(WorkspaceState& workspace, RunChanges run_changes) {
  std::vector<StageStatus> found;
  GALLEY_TRY(workspace.persistent.refresh());
  if (workspace.persistent.state() == nullptr) return found;
  const StateDirectory& state = *workspace.persistent.state();
  GALLEY_ASSIGN(const auto infos, list_stages(state));
  for (const StageInfo& info : infos) {
    // The owner can be read while another process has the transaction open. The staged changes
    // cannot.
    const auto about = StoredStage::look_at(state, info.id);
    if (!about) continue;  // committed in the meantime, or incomplete: gc clears it
    StageStatus status;
    status.id = info.id;
    status.agent = about->agent;
    status.session = about->session;
    status.message = about->message;
    status.begun_ns = about->begun_ns;
    status.is_of_this_user = about->uid == effective_user();
    auto stage = StoredStage::open(state, info.id, std::chrono::milliseconds::zero());
    status.is_held = !stage && stage.error().reason == "stage.busy";
    if (!stage && !status.is_held) continue;
    if (stage) {
      const auto entries = stage->load();
      if (!entries) continue;
      status.changes = ShownPaths(*entries).count();
      const auto written = run_changes == RunChanges::kCount
                               ? changes_of_live_run(workspace, info.id)
                               : std::optional<Overlay::Entries>();
      if (written) status.changes = ShownPaths(*written).count();
    }
    found.push_back(std::move(status));
  }
  std::ranges::sort(found, [](const StageStatus& a, const StageStatus& b) {
    return std::tie(a.begun_ns, a.id) < std::tie(b.begun_ns, b.id);
  });
  return found;
}

}  // namespace

Result<Transaction> Workspace::resume(const std::string& id, const std::string& agent,
                                      const std::string& reason) {
  GALLEY_TRY(check_not_moved(state_->place));
  GALLEY_TRY(follow_branch(*state_));
  GALLEY_TRY(state_->persistent.refresh());
  if (state_->persistent.state() == nullptr) return none_open();
  const StateDirectory& state = *state_->persistent.state();
  for (int look = 1;; ++look) {
    std::string wanted;
    if (id.empty()) {
      GALLEY_ASSIGN(const auto open, open_stages(*state_, RunChanges::kSkip));
      GALLEY_ASSIGN(wanted, own_stage(open, agent, state_->options.session));
    } else {
      GALLEY_ASSIGN(wanted, find_stage_id(id));
    }
    auto stage = StoredStage::open(state, wanted, state_->persistent.lock_timeout());
    if (!stage && id.empty() && is_stage_gone(stage.error()) && look < kStageLooks) continue;
    if (!stage) return fail(stage.error());
    GALLEY_ASSIGN(Transaction transaction,
                  Transaction::of_stage(*state_, *std::move(stage), agent, reason));
    GALLEY_TRY(transaction.take_up_run());
    return transaction;
  }
}

Result<std::string> Workspace::find_stage_id(const std::string& beginning) const {
  GALLEY_TRY(state_->persistent.refresh());
  if (state_->persistent.state() == nullptr) return beginning;
  GALLEY_ASSIGN(const auto meant, stage_ids(*state_->persistent.state(), beginning));
  if (meant.empty()) return beginning;
  if (meant.size() == 1) return meant.front();
  GALLEY_ASSIGN(auto open, stages());
  std::erase_if(open, [&](const StageStatus& stage) { return !stage.id.starts_with(beginning); });
  return which("'" + beginning + "' could be one of several open transactions", open);
}

Result<void> Workspace::drop_damaged(const std::string& beginning) {
  if (state_->persistent.state() == nullptr) return none_open();
  GALLEY_ASSIGN(const std::string id, find_stage_id(beginning));
  GALLEY_ASSIGN(StageDirectory stage, StageDirectory::adopt(*state_->persistent.state(), id));
  GALLEY_ASSIGN(const FileStat directory, stage.directory().stat(RelPath::root()));
  if (directory.uid != effective_user()) {
    return fail(ErrorKind::kRefused, "stage.not_yours",
                "the transaction " + id + " is damaged and belongs to another user of this system");
  }
  Recorder recorder = state_->persistent.recorder(RecordTime::kAtOnce, id);
  Action action;
  action.record.kind = AuditKind::kRollback;
  action.record.tool = "rollback";
  action.record.reason = "it was damaged";
  const auto nothing = [](AuditEvent&) { return Result<void>(); };
  GALLEY_TRY(perform_outside_transaction(state_->rules, {}, recorder, std::move(action), nothing));
  GALLEY_TRY(drop_layers(stage.directory()));
  return StageDirectory::remove(*state_->persistent.state(), std::move(stage));
}

Result<std::vector<Workspace::Stage>> Workspace::stages() const {
  return open_stages(*state_, RunChanges::kCount);
}

Result<bool> has_own_transaction(const Workspace& workspace, const std::string& agent) {
  const std::string& session = WorkspaceAccess::of(workspace).options.session;
  if (!agent.empty() && !session.empty()) {
    GALLEY_ASSIGN(const std::string id, transaction_of_session(workspace, agent, session));
    return !id.empty();
  }
  GALLEY_ASSIGN(const auto open, open_stages(WorkspaceAccess::of(workspace), RunChanges::kSkip));
  return std::ranges::any_of(open, [&](const StageStatus& stage) { return stage.is_own(agent); });
}

Result<std::string> transaction_of_session(const Workspace& workspace, const std::string& agent,
                                           const std::string& session) {
  PersistentState& persistent = persistent_of(workspace);
  if (session.empty()) return std::string();
  GALLEY_TRY(persistent.refresh());
  if (persistent.state() == nullptr) return std::string();
  GALLEY_ASSIGN(const auto infos, list_stages(*persistent.state()));
  std::string newest;
  int64_t begun_ns = 0;
  for (const StageInfo& info : infos) {
    const auto about = StoredStage::look_at(*persistent.state(), info.id);
    const bool is_it = about && about->session == session && is_own(*about, agent);
    if (!is_it || about->begun_ns < begun_ns) continue;
    newest = info.id;
    begun_ns = about->begun_ns;
  }
  return newest;
}

}  // namespace galley
