#include "engine/pipeline/session_activity.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/contains.h"
#include "engine/commit/stage_directory.h"
#include "engine/history/history.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/run_capture.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/stages/run_folder.h"
#include "engine/stages/stored_stage.h"

namespace galley {
namespace {

bool is_file_change(const Overlay::Entry& entry) {
  const auto is_file = [](const Node& node) {
    return node.kind != FileKind::kAbsent && node.kind != FileKind::kDirectory;
  };
  return entry.before != entry.now && (is_file(entry.before) || is_file(entry.now));
}

/// Returns the changed files of a transaction; nullopt while another process has it open.
/// Errors: kNotFound `stage.not_found` if it has ended; any other if it is damaged.
Result<std::optional<std::vector<RelPath>>> staged_paths(WorkspaceState& state,
                                                         const std::string& tx) {
  std::optional<std::vector<RelPath>> paths;
  auto stage = StoredStage::open(*state.persistent.state(), tx, std::chrono::milliseconds::zero());
  if (!stage && stage.error().reason == "stage.busy") return paths;
  if (!stage) return fail(stage.error());
  GALLEY_ASSIGN(Overlay::Entries entries, stage->load());
  if (auto written = changes_of_live_run(state, tx)) entries = *std::move(written);
  paths.emplace();
  for (const auto& [path, entry] : entries) {
    if (is_file_change(entry)) paths->push_back(path);
  }
  return paths;
}

/// Adds the transactions that cannot be read to `damaged`.
Result<std::vector<OpenWork>> open_work(WorkspaceState& state, std::vector<std::string>& damaged) {
  std::vector<OpenWork> found;
  GALLEY_ASSIGN(const auto infos, list_stages(*state.persistent.state()));
  for (const StageInfo& info : infos) {
    const auto about = StoredStage::look_at(*state.persistent.state(), info.id);
    auto paths = about ? staged_paths(state, info.id) : fail(about.error());
    if (!paths) {
      if (!is_stage_gone(paths.error())) damaged.push_back(info.id);
      continue;
    }
    const auto run = RunFolder::open(*state.persistent.state(), info.id);
    found.push_back({info.id, about->session, run ? run->session() : "", about->agent,
                     about->begun_ns, std::max(about->begun_ns, info.mtime_ns), *std::move(paths)});
  }
  std::ranges::sort(found, [](const OpenWork& a, const OpenWork& b) {
    return std::tie(a.begun_ns, a.tx) < std::tie(b.begun_ns, b.tx);
  });
  std::ranges::sort(damaged);
  return found;
}

std::vector<SessionActivity> sessions_of(const std::vector<OpenWork>& open,
                                         const std::vector<TxSummary>& commits) {
  std::vector<SessionActivity> sessions;
  std::map<std::string, size_t> known;
  const auto of = [&](const std::string& session, const std::string& agent) -> SessionActivity& {
    const auto [at, is_new] = known.try_emplace(session, sessions.size());
    if (is_new || session.empty()) {
      at->second = sessions.size();
      sessions.push_back({session, agent, 0, 0, {}});
    }
    return sessions[at->second];
  };
  for (const TxSummary& one : commits) {
    if (one.session.empty()) continue;
    SessionActivity& session = of(one.session, one.agent);
    session.active_ns = std::max(session.active_ns, one.time_ns);
    ++session.commits;
  }
  for (const OpenWork& one : open) {
    SessionActivity& session = of(one.session.empty() ? one.editor : one.session, one.agent);
    session.active_ns = std::max(session.active_ns, one.changed_ns);
    session.open.push_back(one);
  }
  std::ranges::stable_sort(sessions, [](const SessionActivity& a, const SessionActivity& b) {
    return std::tuple(a.open.empty(), -a.active_ns) < std::tuple(b.open.empty(), -b.active_ns);
  });
  return sessions;
}

/// Whether a commit is by the session of an open transaction. If one of them names none, the agent
/// decides: a run has no session, but the editor in front of it has some.
bool is_by(const TxSummary& commit, const OpenWork& work) {
  if (!commit.session.empty() && !work.session.empty()) return commit.session == work.session;
  return commit.owner.value_or(commit.agent) == work.agent;
}

std::set<RelPath> file_paths(const TxSummary& commit) {
  std::set<RelPath> paths;
  for (const TxSummary::Path& one : commit.paths) {
    if (one.is_directory) continue;
    paths.insert(one.path);
    if (one.from && one.status == 'R') paths.insert(*one.from);
  }
  return paths;
}

/// The newest turns of sessions, each read once.
class NewestTurns {
 public:
  explicit NewestTurns(const StateDirectory& state) : state_(&state) {}

  /// Whether both commits are of the newest turns of two sessions that worked at the same time.
  bool are_parallel(const TxSummary& a, const TxSummary& b) {
    return a.session != b.session && is_since(a, b.session) && is_since(b, a.session);
  }

 private:
  struct Turn {
    uint64_t number = 0;
    int64_t begun_ns = 0;
  };
  const Turn& of(const std::string& session) {
    const auto [at, is_new] = known_.try_emplace(session);
    if (is_new) {
      const AgentSession read(*state_, session);
      at->second = {read.turn().number, read.turn_begun_ns()};
    }
    return at->second;
  }
  bool is_since(const TxSummary& commit, const std::string& other) {
    return of(commit.session).number == commit.turn && of(other).begun_ns < commit.time_ns;
  }

  const StateDirectory* state_;
  std::map<std::string, Turn> known_;
};

/// The paths of open transactions, which must outlive it, each with those that changed it.
class Overlaps {
 public:
  explicit Overlaps(const std::vector<OpenWork>& open) {
    for (const OpenWork& work : open) {
      if (!work.paths) continue;
      for (const RelPath& path : *work.paths) staged_[path].push_back(&work);
    }
    for (const auto& [path, works] : staged_) {
      const OpenWork& first = *works.front();
      const bool is_shared = std::any_of(works.begin() + 1, works.end(), [&](const OpenWork* one) {
        return first.session.empty() || one->session != first.session;
      });
      if (is_shared) (void)at(path);
    }
  }

  void add(const TxSummary& commit) {
    for (const RelPath& path : file_paths(commit)) {
      const auto found = staged_.find(path);
      if (found == staged_.end()) continue;
      const auto& works = found->second;
      const bool is_later = std::ranges::any_of(works, [&](const OpenWork* work) {
        return work->begun_ns < commit.time_ns && !is_by(commit, *work);
      });
      if (is_later) add_committed(path, commit);
    }
  }

  /// Adds what sessions committed in turns at the same time, newest first.
  void add_turns(const std::vector<TxSummary>& commits, NewestTurns turns) {
    std::map<RelPath, std::vector<const TxSummary*>> by_path;
    for (const TxSummary& commit : commits) {
      if (commit.session.empty() || commit.turn == 0 || commit.undone_by) continue;
      for (const RelPath& path : file_paths(commit)) by_path[path].push_back(&commit);
    }
    for (const auto& [path, list] : by_path) {
      for (const TxSummary* one : list) {
        const bool is_one = std::ranges::any_of(
            list, [&](const TxSummary* other) { return turns.are_parallel(*one, *other); });
        if (is_one) add_committed(path, *one);
      }
    }
  }

  [[nodiscard]] std::vector<PathOverlap> take() {
    std::vector<PathOverlap> list;
    for (auto& [path, overlap] : found_) list.push_back(std::move(overlap));
    return list;
  }

 private:
  void add_committed(const RelPath& path, const TxSummary& commit) {
    const std::string id = commit.id.str();
    auto& committed = at(path).committed;
    const bool is_known = contains(committed, id, &PathAuthor::id);
    if (!is_known) committed.push_back({commit.session, commit.agent, id});
  }

  PathOverlap& at(const RelPath& path) {
    const auto [overlap, is_new] = found_.try_emplace(path);
    if (!is_new) return overlap->second;
    overlap->second.path = path;
    const auto staged = staged_.find(path);
    if (staged == staged_.end()) return overlap->second;
    for (const OpenWork* work : staged->second) {
      overlap->second.staged.push_back({work->session, work->agent, work->tx});
    }
    return overlap->second;
  }

  std::map<RelPath, std::vector<const OpenWork*>> staged_;
  std::map<RelPath, PathOverlap> found_;
};

}  // namespace

Result<WorkspaceActivity> activity_of(const Workspace& workspace) {
  WorkspaceActivity activity;
  WorkspaceState& state = WorkspaceAccess::of(workspace);
  GALLEY_TRY(state.persistent.refresh());
  if (state.persistent.state() == nullptr) return activity;
  GALLEY_ASSIGN(const std::vector<OpenWork> open, open_work(state, activity.damaged));
  HistoryFilter newest;
  newest.limit = kMaxActivityCommits + 1;
  newest.with_lines = false;
  GALLEY_ASSIGN(auto commits, History(*state.persistent.state()).list(newest));
  activity.is_cut = commits.size() > kMaxActivityCommits;
  if (activity.is_cut) commits.pop_back();
  std::erase_if(commits, [](const TxSummary& one) { return !one.problem.empty(); });
  activity.sessions = sessions_of(open, commits);
  Overlaps overlaps(open);
  for (const TxSummary& commit : commits) overlaps.add(commit);
  overlaps.add_turns(commits, NewestTurns(*state.persistent.state()));
  activity.overlaps = overlaps.take();
  return activity;
}

}  // namespace galley
