// Moves the staged changes to the present files, and resolves conflicts with them. Does the same
// for the changes of a live run.
#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "engine/calls/action.h"
#include "engine/calls/early_policy.h"
#include "engine/calls/tool_names.h"
#include "engine/commit/writer_lock.h"
#include "engine/history/rebase.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/policy/policy.h"
#include "engine/stages/kept_outputs.h"
#include "engine/stages/live_views.h"
#include "engine/stages/run_basis.h"

namespace galley {
namespace {

/// Fails for a path of a resolution that had no conflict.
Result<void> check_all_used(const std::map<RelPath, Resolution>& resolutions,
                            const PartialRebase& plan) {
  for (const auto& [path, resolution] : resolutions) {
    const bool is_used =
        std::ranges::any_of(plan.fits.merged, [&path = path](const MergedPath& merged) {
          return merged.path == path && merged.how.starts_with("resolved");
        });
    if (is_used) continue;
    // Another conflict may have held the change back.
    const bool is_left = contains(plan.left, path);
    return fail(ErrorKind::kUsage, "resolve.no_conflict",
                "'" + path.str() +
                    (is_left ? "' cannot be resolved before the conflicts that it depends on"
                             : "' is not in conflict with the disk"),
                path.str());
  }
  return {};
}

/// Whether a file is on disk with other content than when it was read.
bool has_other_content(const RelPath& path, const Node& read, const Place& place) {
  if (read.kind != FileKind::kRegular) return false;
  const auto now = read_from_disk(place.files(), path, place.clock().wall_ns());
  return now && now->id != read.content;
}

nlohmann::ordered_json rebase_on_record(const Proposal& proposal,
                                        const std::map<RelPath, Resolution>& resolutions) {
  nlohmann::ordered_json input = {{"proposal", proposal.id().hex()}};
  for (const auto& [path, resolution] : resolutions) input["resolved"].push_back(path.str());
  return input;
}

// How a live run gets what others committed.
//
// A mounted overlay shows a path of its upper layer as it is there, and a commit of others has
// pinned all its paths in that layer (view_pins.h). So new contents are written through the mount,
// as the program could write them. The run's own changes are first rebased as any proposal is.
//
// The view is written before the bases. If this process is killed in between, the run has taken
// over changes whose base is old, and the next merge finds that both sides made the same change.
// In the other order, the run would have reverted the commits of others.

/// One path to change in a view, and its new base.
struct Move {
  RelPath path = RelPath::root();
  std::optional<Node> shown;  ///< what the view must show now; not checked for directories
  Node wanted;
  Node base;  ///< the node on disk
};

/// Puts the present state of the disk, with the changes of a run on it, into the view of the run.
class ViewSync {
 public:
  ViewSync(const Place& place, const OpenView& view, const WritableDirectory& upper)
      : view_(&view),
        upper_(&upper),
        clock_(&place.clock()),
        disk_(place.files(), make_memory_store(), place.clock()) {}

  /// Plans the paths of the run's changes.
  Result<void> add_changes(const Proposal& run, const PartialRebase& plan) {
    for (const RelPath& path : plan.left) own_.insert(path);
    std::map<RelPath, const Change*> made;
    for (const Change& change : run.changes()) made.emplace(change.path, &change);
    for (const Change& change : plan.fits.proposal.changes()) {
      const auto old = made.find(change.path);
      const bool is_made = old != made.end();
      own_.insert(change.path);
      if (is_made && old->second->before == change.before && old->second->after == change.after) {
        continue;
      }
      moves_.push_back({change.path, is_made ? std::optional(old->second->after) : std::nullopt,
                        change.after, change.before});
    }
    for (const auto& [path, change] : made) {
      if (!own_.insert(path).second) continue;
      GALLEY_ASSIGN(const Node there, disk_.node(path));
      // The disk has all of the change already. Or the directory stays, because it is not empty.
      if (change->after.kind == FileKind::kAbsent && there.kind == FileKind::kDirectory) continue;
      moves_.push_back({path, change->after, there, there});
    }
    return {};
  }

  /// Plans the paths that others changed and the run did not.
  Result<void> add_others(const Overlay::Entries& bases, std::vector<RelPath>& taken) {
    for (const auto& [path, entry] : bases) {
      if (own_.contains(path)) continue;
      const auto there = disk_.node(path);
      if (!there && there.error().kind == ErrorKind::kIo) return fail(there.error());
      if (!there || there->kind == FileKind::kOther || *there == entry.now) continue;
      moves_.push_back({path, entry.now, *there, *there});
      taken.push_back(path);
    }
    return {};
  }

  /// Removals begin with the innermost path, everything else with the outermost. Keeps the contents
  /// of the new bases in `store`. Returns the new bases, also after a failure.
  Overlay::Entries move(const Proposal& rebased, ContentStore& store, Result<void>& failed,
                        std::vector<RelPath>& skipped) {
    Overlay::Entries bases;
    std::ranges::sort(moves_, [](const Move& a, const Move& b) {
      const bool is_removal = a.wanted.kind == FileKind::kAbsent;
      if (is_removal != (b.wanted.kind == FileKind::kAbsent)) return is_removal;
      return is_removal ? b.path < a.path : a.path < b.path;
    });
    for (const Move& one : moves_) {
      auto base = put(one, rebased, store);
      if (!base) failed = fail(base.error());
      if (!base) break;
      if (*base) {
        bases.emplace(one.path, **std::move(base));
      } else {
        skipped.push_back(one.path);
      }
    }
    return bases;
  }

 private:
  /// Returns nothing if the program changed the path at this moment, or has something in its way.
  Result<std::optional<Overlay::Entry>> put(const Move& move, const Proposal& rebased,
                                            ContentStore& store) {
    if (move.shown && move.shown->kind != FileKind::kDirectory) {
      Overlay shown(view_->files(), make_memory_store(), *clock_);
      const auto now = shown.node(move.path);
      const bool is_expected = now && (*now == *move.shown || *now == move.wanted);
      if (!is_expected) return std::optional<Overlay::Entry>();
    }
    GALLEY_ASSIGN(const Content base, bytes_of(move.path, move.base, rebased));
    if (is_file_or_link(move.base)) GALLEY_TRY(store.keep(move.base.content, base));
    Content bytes = base;
    if (move.wanted != move.base) {
      GALLEY_ASSIGN(bytes, bytes_of(move.path, move.wanted, rebased));
    }
    const auto done = view_->put(move.path, move.wanted, *bytes);
    const int why = done ? 0 : done.error().os_error;
    if (why == ENOTEMPTY || why == ENOTDIR || why == EEXIST || why == EISDIR) {
      return std::optional<Overlay::Entry>();
    }
    if (!done && done.error().reason == "path.through_symlink") {
      return std::optional<Overlay::Entry>();
    }
    GALLEY_TRY(done);
    Overlay::Entry entry;
    entry.before = entry.now = move.base;
    const bool is_made = move.wanted.kind == FileKind::kDirectory && move.shown &&
                         move.shown->kind != FileKind::kDirectory;
    if (is_made) {
      GALLEY_ASSIGN(const FileStat made, upper_->stat(move.path));
      entry.base = {made.inode, made.device, made.birth_ns, 0, 0};
    }
    return std::optional(std::move(entry));
  }

  Result<Content> bytes_of(const RelPath& path, const Node& node, const Proposal& rebased) {
    if (!is_file_or_link(node)) return std::make_shared<const std::string>();
    auto known = rebased.content(node);
    if (known) return known;
    if (node.kind == FileKind::kRegular) return disk_.read(path);
    GALLEY_ASSIGN(std::string target, disk_.read_link(path));
    return std::make_shared<const std::string>(std::move(target));
  }

  const OpenView* view_;
  const WritableDirectory* upper_;
  const Clock* clock_;
  Overlay disk_;
  std::set<RelPath> own_;  ///< paths that the run changed
  std::vector<Move> moves_;
};

}  // namespace

Result<PartialRebase> InnerTransaction::plan_rebase(
    const std::map<RelPath, Resolution>& resolutions) {
  const WorkspaceState& workspace = *state_->workspace;
  RebaseOptions options;
  options.resolutions = resolutions;
  GALLEY_ASSIGN(PartialRebase plan, rebase_what_fits(outer_->proposal(), workspace.place.files(),
                                                     workspace.place.clock(), options));
  const ExecutorOptions rules = outer_->executor_options({});
  const auto may_read = rules.policy->reading_rule();
  for (PathConflict& conflict : plan.conflicts) {
    if (!may_read || may_read(conflict.path)) continue;
    conflict.diff.clear();
    conflict.hunks.clear();
  }
  return plan;
}

Result<std::vector<PathConflict>> InnerTransaction::conflicts() {
  return plan_rebase({}).map([](PartialRebase&& plan) { return std::move(plan.conflicts); });
}

Result<CommitOutlook> InnerTransaction::look_ahead(const CommitRequest& request) {
  return galley::look_ahead(*state_->workspace, outer_->proposal(), state_->options, request);
}

Result<InnerTransaction::StagedRebase> InnerTransaction::rebase_staged(
    const std::map<RelPath, Resolution>& resolutions) {
  StagedRebase done;
  Action action;
  action.record.kind = AuditKind::kEdit;
  action.record.tool = "rebase";
  action.record.input = json_document(rebase_on_record(outer_->proposal(), resolutions));
  action.tools = tools_with_effect(ToolEffect::kEdit);
  action.merges = true;
  const auto passed = outer_->pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    GALLEY_ASSIGN(PartialRebase plan, plan_rebase(resolutions));
    GALLEY_TRY(check_all_used(resolutions, plan));
    for (const Change& change : plan.fits.proposal.changes()) {
      GALLEY_TRY(check_file_size(state_->workspace->rules.config.limits, change.path, change.before,
                                 change.after));
    }
    const std::set<RelPath> left(plan.left.begin(), plan.left.end());
    // With serializable isolation the commit checks what was read, so the rebase keeps it.
    const bool keeps_reads = state_->overlay.tracks_reads();
    Overlay::Entries kept;
    for (const auto& [path, entry] : state_->overlay.entries()) {
      const bool is_read = keeps_reads && entry.before == entry.now;
      if (!is_read && !left.contains(path)) continue;
      Overlay::Entry& keeping = *kept.try_emplace(path, entry).first;
      if (!is_read || !has_other_content(path, entry.before, state_->workspace->place)) continue;
      keeping.base = kReadAgainStamp;
    }
    state_->overlay.restore(std::move(kept));
    GALLEY_TRY(stage_proposal(plan.fits.proposal, state_->overlay));
    event.output =
        json_document({{"merged", plan.fits.merged.size()}, {"conflicts", plan.conflicts.size()}});
    done = {std::move(plan.fits.merged), std::move(plan.conflicts)};
    return {};
  });
  GALLEY_TRY(passed);
  GALLEY_TRY(outer_->save());
  return done;
}

Result<InnerTransaction::SyncedRun> InnerTransaction::sync_run() {
  if (outer_->unstaged_run() != nullptr) return fail(*outer_->unstaged_run());
  if (!state_->live_run) {
    return fail(ErrorKind::kNotFound, "run.not_found", "no program runs in this transaction");
  }
  WorkspaceState& workspace = *state_->workspace;
  const StateDirectory& place = *workspace.persistent.state();
  const RunFolder& folder = *state_->live_run;
  const Proposal run = outer_->proposal();
  SyncedRun done;
  Action action;
  action.record.kind = AuditKind::kRun;
  action.record.tool = "sync";
  action.record.input = json_document({{"proposal", run.id().hex()}});
  action.tools = tools_with_effect(ToolEffect::kRun);
  action.merges = true;
  const auto synced = [&](AuditEvent& event) -> Result<void> {
    GALLEY_ASSIGN(const WriterLock lock, workspace.persistent.lock());
    GALLEY_ASSIGN(const OpenView view, OpenView::open(place, state_->id));
    GALLEY_ASSIGN(const auto upper,
                  folder.directory().open_writable_directory(chosen_path("upper")));
    GALLEY_ASSIGN(PartialRebase plan, plan_rebase({}));
    ViewSync sync(workspace.place, view, *upper);
    GALLEY_TRY(sync.add_changes(run, plan));
    GALLEY_ASSIGN(const Overlay::Entries bases, bases_of_run(folder, place));
    GALLEY_TRY(sync.add_others(bases, done.taken));
    Result<void> failed;
    const Overlay::Entries moved =
        sync.move(plan.fits.proposal, *state_->overlay.store(), failed, done.skipped);
    if (!moved.empty()) GALLEY_TRY(set_bases(folder, place, moved));
    GALLEY_TRY(failed);
    const auto is_skipped = [&](const RelPath& path) { return contains(done.skipped, path); };
    std::erase_if(done.taken, is_skipped);
    done.merged = std::move(plan.fits.merged);
    std::erase_if(done.merged, [&](const MergedPath& one) { return is_skipped(one.path); });
    done.conflicts = std::move(plan.conflicts);
    event.output = json_document({{"taken", done.taken.size()},
                                  {"merged", done.merged.size()},
                                  {"conflicts", done.conflicts.size()}});
    return {};
  };
  GALLEY_TRY(perform_outside_transaction(workspace.rules, state_->options, state_->recorder,
                                         std::move(action), synced));
  return done;
}

// --- what an agent is told beside the answer of its call ----------------------------------------

std::vector<std::string> InnerTransaction::questions_about(
    const std::vector<std::string>& paths) const {
  std::vector<std::string> questions;
  const Policy policy(state_->workspace->rules.config);
  const Overlay::Entries& entries = state_->overlay.entries();
  for (const std::string& name : paths) {
    if (questions.size() == kMaxAnnounced) break;
    const auto path = RelPath::parse(name);
    const auto entry = path ? entries.find(*path) : entries.end();
    if (entry == entries.end() || entry->second.before == entry->second.now) continue;
    const Judgement judgement =
        policy.judge_path(*path, staged_operation(entry->second), state_->options.principals());
    if (judgement.decision == Decision::kAsk) questions.push_back(judgement.message);
  }
  return questions;
}

Result<void> InnerTransaction::keep_output(const OutputName& name, std::string_view text) {
  GALLEY_ASSIGN(const WritableDirectory* stage, outer_->stage_directory());
  return galley::keep_output(*stage, name, state_->options.agent, text);
}

Result<std::string> InnerTransaction::kept_output(const OutputName& name) const {
  GALLEY_ASSIGN(const WritableDirectory* stage, outer_->stage_directory());
  return galley::kept_output(*stage, name, state_->options.agent);
}

}  // namespace galley
