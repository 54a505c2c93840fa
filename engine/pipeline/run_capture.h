#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/stages/run_commits.h"
#include "engine/stages/run_folder.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/live_run.h"

namespace galley {

/// The changes that a run has made so far.
struct RunCapture {
  Overlay::Entries entries;  ///< exactly the paths that the run changed
  AbsorbReport report;       ///< if `refused` is not empty, `entries` is empty
};

enum class CaptureUse : uint8_t {
  kLook,  ///< the program runs; only the time of the look is noted
  kLive,  ///< the program runs; its layer is only read, and the bases of its files are noted
  kOver,  ///< the program is dead
};

/// Reads the changes of a run from its upper layer. The base of a path is the state that the run
/// saw when it first wrote the path:
///
///     staged when the run began or at its last checkpoint  that state (engine/stages/run_basis.h)
///     changed by a transaction that was committed since    the pre-image in the first of them
///     in the layer at an earlier capture with kLive        the file on disk at that time
///     otherwise                                            the file on disk
///
/// A copy that pins the view, or a whiteout, equals its base, so it is not a change. A new capture
/// replaces the previous one.
///
/// Files that git ignores (`ignore`) are moved to the scratch layer of the transaction's next
/// command, if the program is dead. The function holds the writer lock, since a commit would change
/// the files on disk.
///
/// Errors: kInvalid `run.damaged`; kConflict `run.file_changes`; kTimeout `commit.locked`.
[[nodiscard]] Result<RunCapture> capture_run(WorkspaceState& workspace, const RunFolder& folder,
                                             const std::shared_ptr<ContentStore>& store,
                                             const IgnoreRule& ignore, CaptureUse use);

/// Returns the state that the run saw of each path that is not on disk as the run saw it. The
/// caller holds the writer lock.
/// Errors: kInvalid `run.damaged`.
[[nodiscard]] Result<Overlay::Entries> bases_of_run(const RunFolder& folder,
                                                    const StateDirectory& state);

/// Prepares the layer of an interrupted run for the next run. The new view shows the files on disk,
/// except those in the layer. So bases are kept only for paths in the layer.
/// `note.history` becomes `position`. The caller holds the writer lock.
///
/// Errors: kInvalid `run.damaged`.
[[nodiscard]] Result<void> rebase_left_run(WorkspaceState& workspace, const RunFolder& folder,
                                           const std::shared_ptr<ContentStore>& store,
                                           const std::string& position);

/// Returns the paths that a live run has changed so far. Returns nothing if no program runs in this
/// transaction, or if its layer cannot be read now.
[[nodiscard]] std::optional<Overlay::Entries> changes_of_live_run(WorkspaceState& workspace,
                                                                  const std::string& tx);

/// A program to start on the view of a stored transaction.
struct RunRequest {
  Command command;
  std::string name;  ///< a second name besides the id; may be empty
  bool is_terminal = false;
  uint16_t rows = 24;
  uint16_t columns = 80;
  std::vector<std::string> writable;  ///< results of folder_of_run() for --allow-write
  std::vector<std::string> layered;   ///< results of folder_of_run() for --layer
  /// A person consented to the network for this program, whatever galley.toml says of commands.
  bool has_consent = false;
};

/// Returns the real path of a folder of the host for --allow-write or --layer. The folder must pass
/// check_host_folder() and must not contain secrets.
/// Errors: kUsage `run.host_folder`.
[[nodiscard]] Result<std::string> folder_of_run(std::string_view option, const std::string& path,
                                                const std::string& workspace, bool may_be_missing);

/// A started run, with the resources that its supervisor holds.
///
/// Ownership: destroying `live` kills the program; destroying `folder` unlocks it.
struct StartedRun {
  RunFolder folder;
  RunNote note;
  std::unique_ptr<LiveRun> live;
};

/// The note of a run that made a repository where there was none.
inline constexpr std::string_view kNewRepositoryNote =
    "the git repository that it made here is dropped, with its commits: to keep commits, run git "
    "init here yourself, and then the program with --git-commits keep";

/// The summary of a run that has ended.
struct RunReport {
  std::string ended;               ///< how it ended, for people; empty if its supervisor was killed
  uint64_t staged_paths = 0;       ///< paths that the run changed
  uint64_t ignored_paths = 0;      ///< git-ignored: kept with the transaction, not proposed
  std::string first_ignored = {};  ///< one of them
  uint64_t protected_paths = 0;    ///< below .git or .galley: dropped
  uint64_t git_refs = 0;           ///< kept references to its git commits (run_commits.h)
  std::string git_failure = {};    ///< why its git commits could not be kept
  std::optional<RunRef> head = {};      ///< as switched_head() says
  std::vector<std::string> notes = {};  ///< lines that name other effects that are not staged
};

}  // namespace galley
