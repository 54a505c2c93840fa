#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/stages/run_folder.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/live_run.h"

namespace galley {

/// What a run has written so far, as changes of its transaction.
struct RunCapture {
  Overlay::Entries entries;  ///< of every path that it changed, none else
  AbsorbReport report;       ///< with `refused` not empty there are no entries
};

/// Reads the upper layer of a run into changes whose bases are what the run saw when it first wrote
/// each path:
///
///     at its last checkpoint, or staged when it began    that (engine/stages/run_basis.h)
///     changed by a transaction committed since it began  the pre-image in the first such one
///     otherwise                                          what is on disk
///
/// A copy that was made to pin the view, or a whiteout, is equal to its base and no change. So
/// captures do not build on each other: one takes the place of the one before.
///
/// With `is_live` the program runs on and nothing of its layer is touched; without, it is dead, and
/// what git ignores is moved to where the next command of the transaction finds it. Takes the
/// writer lock meanwhile: a publisher changes what is on disk. `ignore` is the rule for what git
/// ignores.
///
/// Errors: kInvalid `run.damaged`; kConflict `run.file_changes`; kTimeout `commit.locked`.
[[nodiscard]] Result<RunCapture> capture_run(WorkspaceState& workspace, const RunFolder& folder,
                                             const std::shared_ptr<ContentStore>& store,
                                             const IgnoreRule& ignore, bool is_live);

/// For a run that is about to go on in a layer that was left: its view shows what is on disk now,
/// but for what the layer holds. So what others committed meanwhile is left out of the base of what
/// the layer holds, and is nothing new for the rest. `note.history` becomes `position`. For the
/// holder of the writer lock.
///
/// Errors: kInvalid `run.damaged`.
[[nodiscard]] Result<void> rebase_left_run(WorkspaceState& workspace, const RunFolder& folder,
                                           const std::shared_ptr<ContentStore>& store,
                                           const std::string& position);

/// How many paths a live run has changed so far, for a list; nothing when none runs in this
/// transaction, or that cannot be told now.
[[nodiscard]] std::optional<size_t> changes_of_live_run(WorkspaceState& workspace,
                                                        const std::string& tx);

/// A program that is to go on running on the view of a stored transaction.
struct RunRequest {
  Command command;
  std::string name;  ///< by which it can be called beside its id; may be empty
  bool is_terminal = false;
  uint16_t rows = 24;
  uint16_t columns = 80;
  std::vector<std::string> writable;  ///< as folder_of_run() returned them
  std::vector<std::string> layered;   ///< the same, to be written over
};

/// Returns where a folder of the host is that a run may write to or over: check_host_folder(), and
/// no place of secrets.
/// Errors: kUsage `run.host_folder`.
[[nodiscard]] Result<std::string> folder_of_run(std::string_view option, const std::string& path,
                                                const std::string& workspace, bool may_be_missing);

/// A run that was started, and what its supervisor holds for it.
///
/// Ownership: the program dies with `live`; the folder's lock goes with `folder`.
struct StartedRun {
  RunFolder folder;
  RunNote note;
  std::unique_ptr<LiveRun> live;
};

/// What was made of the layer of a run that is over.
struct RunReport {
  std::string ended;             ///< how the program ended, for people; empty: it was cut off
  uint64_t staged_paths = 0;     ///< that the layer changed of what was staged
  uint64_t ignored_paths = 0;    ///< git-ignored: kept beside the transaction, not proposed
  uint64_t protected_paths = 0;  ///< below .git or .galley: dropped
  uint64_t git_refs = 0;         ///< that its commits of git led to (engine/stages/run_commits.h)
  std::string git_failure;       ///< why its commits of git could not be kept
};

}  // namespace galley
