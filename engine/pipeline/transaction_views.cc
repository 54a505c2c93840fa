// Stages the changes of a run: captures and checkpoints.
#include <galley/transaction.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/run_capture.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/stages/live_views.h"
#include "engine/stages/run_basis.h"
#include "engine/stages/run_commits.h"
#include "staging/fs/directory.h"
#include "staging/fs/user_state.h"
#include "staging/git/git_files.h"
#include "staging/overlay/view_times.h"

namespace galley {
namespace {

constexpr size_t kMaxNamedEffects = 5;

/// If one file cannot be staged, nothing of the run is dropped: its layer stays as it is.
Error cannot_stage(const std::string& tx, const AbsorbReport& report, bool is_live) {
  std::string message = "what the run " + tx + " wrote cannot be staged:";
  for (size_t i = 0; i < report.refused.size() && i < kMaxNamedEffects; ++i) {
    message += fmt::format("\n  {} {}", report.refused[i].path, report.refused[i].why);
  }
  if (report.refused.size() > kMaxNamedEffects) {
    message += fmt::format("\n  and {} more", report.refused.size() - kMaxNamedEffects);
  }
  message += is_live ? "\nfix it in the run"
                     : "\nit is kept; fix it with: galley run --resume " + tx +
                           " -- sh, or drop all of it with: galley rollback --tx " + tx;
  return {ErrorKind::kRefused, "run.cannot_stage", message};
}

RunReport report_of(const RunNote& note, const RunCapture& capture) {
  RunReport report{note.ended, capture.entries.size(), capture.report.ignored,
                   capture.report.first_ignored, capture.report.protected_paths};
  if (!capture.report.new_protected.empty()) {
    report.notes.push_back("dropped, since no change contains a .git, .galley or .sage: " +
                           join_some(capture.report.new_protected, kMaxNamedEffects));
  }
  if (!capture.report.nested_git.empty()) {
    report.notes.push_back("git commits in repositories below the workspace's own are dropped: " +
                           join_some(capture.report.nested_git, kMaxNamedEffects));
  }
  if (!capture.report.other_bits.empty()) {
    report.notes.push_back(kOtherBitsNote + join_some(capture.report.other_bits, kMaxNamedEffects));
  }
  if (!capture.report.left_special.empty()) {
    report.notes.push_back("deleted by it, but no edit deletes a socket, FIFO or device: " +
                           join_some(capture.report.left_special, kMaxNamedEffects));
  }
  return report;
}

/// What the run found in the repository when it began; empty if HEAD has another branch now. The
/// run may then have committed to this branch with the index of the other.
std::string start_of(const RunFolder& folder, const std::string& workspace) {
  constexpr uint64_t kMaxHeadBytes = 4096;
  constexpr uint64_t kMaxStartBytes = uint64_t{16} << 20U;
  const GitFiles git(workspace, effective_user());
  const auto places = git.find();
  const auto start = read_file(folder.directory(), chosen_path("refs"), kMaxStartBytes);
  if (!places || !start) return {};
  const std::string head = git.text_of(places->own + "/HEAD", kMaxHeadBytes);
  return start->starts_with(head) ? *start : std::string();
}

/// Keeps the git commits of a run, which would be lost with its layer. A failure is reported, and
/// does not stop the staging.
void keep_commits_of(const RunFolder& folder, const Place& place, const WritableDirectory& stage,
                     RunReport& report) {
  const Directory& files = place.files();
  const auto there = files.stat(chosen_path(".git"));
  if (there && there->kind == FileKind::kAbsent &&
      folder.directory().open_directory(chosen_path("upper/.git"))) {
    report.notes.emplace_back(kNewRepositoryNote);
    return;
  }
  const auto own = files.open_directory(chosen_path(".git"));
  const std::string start = start_of(folder, place.path);
  for (const char* layer : {"upper/.git", "git/upper"}) {
    const auto repository = folder.directory().open_writable_directory(chosen_path(layer));
    if (!repository) continue;
    if (own && !report.head) report.head = switched_head(**repository, **own);
    const auto kept = keep_run_commits(**repository, stage, start);
    const auto [count, left_out] = kept.value_or(KeptRefs());
    report.git_refs = std::max<uint64_t>(report.git_refs, count);
    if (left_out > 0) {
      report.notes.push_back(
          fmt::format("{} references of git above the first {} are left out", left_out, count));
    }
    if (!kept) report.git_failure = kept.error().message;
    const std::vector<std::string> submodules = changed_submodules(**repository);
    if (kept && !submodules.empty()) {
      report.git_failure = fmt::format(
          "commits in a submodule are dropped, so leave out commits that name them ({})",
          join_some(submodules, kMaxNamedEffects));
    }
  }
}

/// Returns the paths that the capture changes or restores.
std::vector<std::string> changed_by(const Overlay::Entries& captured,
                                    const Overlay::Entries& staged) {
  std::map<RelPath, FileKind> kinds;
  const auto add_news = [&kinds](const Overlay::Entries& some, const Overlay::Entries& others) {
    for (const auto& [path, entry] : some) {
      const auto other = others.find(path);
      const bool is_same = other != others.end() && other->second.now == entry.now;
      const bool is_gone = entry.now.kind == FileKind::kAbsent;
      if (is_same || entry.before == entry.now) continue;
      kinds.emplace(path, is_gone ? entry.before.kind : entry.now.kind);
    }
  };
  add_news(captured, staged);
  add_news(staged, captured);
  std::vector<std::string> names;
  for (const auto& [path, kind] : kinds) {
    names.push_back(path.str() + (kind == FileKind::kDirectory ? "/" : ""));
  }
  return names;
}

/// Returns the changes of the run since it began, or since its last checkpoint.
StagedStep step_of(const RunNote& note, const Overlay::Entries& basis,
                   const Overlay::Entries& captured) {
  StagedStep step{note.execution, "run", {}};
  const auto add = [&step](const RelPath& path, const Node& before, const Node& after) {
    Change change;
    change.path = path;
    change.before = before;
    change.after = after;
    if (before != after) step.changes.push_back(std::move(change));
  };
  for (const auto& [path, entry] : captured) {
    const auto held = basis.find(path);
    add(path, held == basis.end() ? entry.before : held->second.now, entry.now);
  }
  for (const auto& [path, entry] : basis) {
    if (!captured.contains(path)) add(path, entry.now, entry.before);
  }
  std::ranges::sort(step.changes, {}, &Change::path);
  return step;
}

Action capture_action(const RunNote& note, const RunReport& report, bool is_live) {
  Action action;
  action.record.kind = AuditKind::kRun;
  action.record.tool = "run";
  if (!is_live) action.record.execution_id = note.execution;
  const std::string ended = report.ended.empty() ? "cut off" : report.ended;
  action.record.output = json_document({{"ended", is_live ? "no" : ended},
                                        {"staged_paths", report.staged_paths},
                                        {"ignored_paths", report.ignored_paths},
                                        {"protected_paths", report.protected_paths}});
  return action;
}

}  // namespace

/// What a run wrote cannot be staged on a full disk. It must still be possible to drop it.
Result<void> Transaction::take_up_run() {
  const auto collected = collect_run();
  if (collected || collected.error().os_error != ENOSPC) return collected;
  state_->unstaged_run = collected.error();
  state_->unstaged_run->message +=
      "; what the run wrote is kept: free some space and repeat the command, or drop all of it "
      "with: galley rollback --tx " +
      id();
  return {};
}

/// Replaces the staged changes with those of the run. A live run is captured again at each call. A
/// finished run is captured once and then removed.
Result<void> Transaction::collect_run() {
  WorkspaceState& workspace = *state_->workspace;
  const StateDirectory& place = *workspace.persistent.state();
  auto folder = RunFolder::open(place, id());
  if (!folder && folder.error().kind == ErrorKind::kNotFound) return {};
  if (!folder) return fail(folder.error());
  GALLEY_ASSIGN(const bool is_over, folder->take_lock());
  auto note = folder->note();
  if (!note && note.error().kind == ErrorKind::kNotFound) return {};  // it never started
  if (!note) return fail(note.error());
  if (is_over && note->mount_fd >= 0) {
    // We have the lock, so no process looks for its view. The note only saves the next look, and
    // on a full disk the run must still be dropped.
    note->mount_fd = -1;
    (void)folder->write_note(*note);
  }
  GALLEY_ASSIGN(RunCapture capture,
                capture_run(workspace, *folder, state_->overlay.store(),
                            git_ignore_rule(workspace.place.path, workspace.place.clock()),
                            is_over ? CaptureUse::kOver : CaptureUse::kLive));
  // The editor in front of the run has a session, which the caller and the transaction do not know.
  const std::string session = folder->session();
  if (workspace.options.session.empty() && state_->options.session.empty()) {
    state_->options.session = session;
  }
  if (!is_over) state_->live_run = *std::move(folder);
  if (!capture.report.refused.empty()) {
    state_->unstaged_run = cannot_stage(id(), capture.report, !is_over);
    return {};
  }
  RunReport report = report_of(*note, capture);
  Overlay next = state_->overlay.reading_view();
  next.restore(capture.entries);
  Overlay::Entries basis;
  if (is_over) {
    // The next command no longer has the view in which this run made its outputs.
    GALLEY_ASSIGN(basis, settled_basis(*folder, place));
    next.restore(basis);
    roll_back(next, capture.entries, true);
  }
  const bool is_news = state_->overlay.entries() != next.entries() ||
                       (is_over && !is_shown_alike(state_->overlay.entries(), next.entries()));
  if (is_over || is_news) {
    // The run's agent stages the changes, even if another agent resumes the transaction.
    TransactionOptions who;
    who.agent = note->agent;
    if (is_over) {
      StagedStep step = step_of(*note, basis, capture.entries);
      if (!step.changes.empty()) state_->keep_step(std::move(step));
    }
    const auto stage = [&](AuditEvent&) -> Result<void> {
      if (is_news) state_->overlay.restore(next.entries());
      return {};
    };
    Action action = capture_action(*note, report, !is_over);
    action.record.changed = changed_by(capture.entries, state_->overlay.entries());
    GALLEY_TRY(perform_outside_transaction(workspace.rules, who, state_->recorder,
                                           std::move(action), stage));
    if (state_->options.owner) state_->owners = state_->overlay.entries();
    GALLEY_TRY(save());
  }
  if (!is_over) return {};
  keep_commits_of(*folder, workspace.place, state_->stage->directory(), report);
  GALLEY_TRY(keep_last_run(state_->stage->directory(), *note));
  GALLEY_TRY(state_->stage->note_session(session));
  state_->run_report = std::make_shared<const RunReport>(report);
  GALLEY_TRY(RunFolder::remove(place, *std::move(folder)));
  return clear_removed_directories(place, workspace.place.clock());
}

}  // namespace galley
