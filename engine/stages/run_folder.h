#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// One process since the last boot. The kernel reuses process numbers, so the start time is part of
/// the identity.
struct ProcessIdentity {
  int64_t pid = 0;
  uint64_t start = 0;  ///< field 22 of /proc/PID/stat, in ticks since the boot; 0: not known
  int64_t parent = 0;  ///< the number of its parent; 0: none, or not known

  /// A process whose parent ends gets another one.
  friend bool operator==(const ProcessIdentity& a, const ProcessIdentity& b) {
    return a.pid == b.pid && a.start == b.start;
  }
  [[nodiscard]] static ProcessIdentity own();
  /// Returns the process that has this number now; `start` is 0 if no process has it.
  [[nodiscard]] static ProcessIdentity of(int64_t pid);
};

/// The description of a run: `run.json`.
struct RunNote {
  std::string tx;    ///< id of the stored transaction, and of the run
  std::string name;  ///< --name; may be empty
  std::vector<std::string> argv;
  std::string agent;
  std::string execution;  ///< id of its record
  ProcessIdentity supervisor;
  int mount_fd = -1;       ///< the supervisor's descriptor of the overlay; -1: not mounted yet
  int64_t since_ns = 0;    ///< wall clock, when it was started
  int64_t began_ns = 0;    ///< the same time on the clock of the file system
  int64_t mounted_ns = 0;  ///< on that clock; later than `began_ns` if it was resumed
  std::string history;     ///< newest committed transaction at the start; empty: none
  std::string lower_home;  ///< outside the workspace: `scratch`, and a layer of the staged files
  bool is_terminal = false;
  bool is_attached = false;
  bool shares_network = false;
  bool proposes_ignored = false;
  std::vector<std::string> writable;  ///< --allow-write
  std::vector<std::string> layered;   ///< --layer, of this run and those before it
  std::string ended;                  ///< how the program ended, for people; empty: it still runs
};

inline constexpr size_t kMaxRunNoteBytes = size_t{1} << 20U;  ///< the note of a run
inline constexpr size_t kMaxRunNameBytes = 64;                ///< the name of a run

/// `.galley/runs/<workspace id>/<tx>/`: a program that runs on the view of a stored transaction, or
/// that was stopped before its files could be staged.
///
///     lock        the run's supervisor holds this lock (flock) as long as it lives
///     run.json    RunNote, replaced whole by rename; without it there is no run
///     session     the id of the session of an editor that had the last turn, if there is one
///     socket      of the supervisor (staging/sandbox/terminal)
///     upper/      the overlay's upper layer: files that the program wrote
///     work/       for overlayfs itself
///     refs        of the repository when the upper layer was made (refs_at_start())
///     git/        the layer over the repository, if it lies elsewhere (GitFiles)
///
/// Ownership: owns the descriptor, and the lock after it was taken.
/// Threads:   confined to one thread.
/// Errors:    kNotFound `run.not_found`; kTimeout `run.live` if another process supervises the run;
///            kInvalid `run.damaged`; kUsage `run.name`.
class RunFolder {
 public:
  /// Creates or opens the folder of a transaction, and takes its lock.
  static Result<RunFolder> hold(const StateDirectory& state, const std::string& tx);
  /// Opens an existing folder.
  static Result<RunFolder> open(const StateDirectory& state, const std::string& tx);
  /// Returns the ids of all runs, sorted. A run is a folder with a note.
  static Result<std::vector<std::string>> list(const StateDirectory& state);
  /// Returns the transaction of the run with this name, or whose id begins with this text.
  /// Errors: kNotFound `run.not_found`; kUsage `run.which` if several runs match.
  static Result<std::string> find(const StateDirectory& state, const std::string& wanted);

  [[nodiscard]] const std::string& tx() const { return tx_; }
  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }
  /// Returns its path in the workspace, for people.
  [[nodiscard]] std::string shown_place() const { return ".galley/" + place_.str(); }
  /// Whether the supervisor lives: another process or this object holds the lock.
  [[nodiscard]] Result<bool> is_live() const;
  /// Tries to take the lock. Returns false if a supervisor holds it.
  Result<bool> take_lock();
  void release_lock() { lock_.reset(); }

  [[nodiscard]] Result<RunNote> note() const;
  Result<void> write_note(const RunNote& note) const;
  /// The session that note_session() wrote last; empty without one.
  [[nodiscard]] std::string session() const;
  Result<void> note_session(const std::string& id) const;
  /// Opens the directories that are removed with a run and its transaction. The kernel frees a
  /// removed directory when it is closed, which can wait for the disk. So a caller that keeps the
  /// directories open until it has answered does not delay its answer.
  static std::vector<std::unique_ptr<Directory>> hold_directories(const StateDirectory& state,
                                                                  const std::string& tx);
  /// Removes the folder with all its contents.
  static Result<void> remove(const StateDirectory& state, RunFolder folder);

 private:
  RunFolder(std::string tx, RelPath place, std::unique_ptr<WritableDirectory> directory)
      : tx_(std::move(tx)), place_(std::move(place)), directory_(std::move(directory)) {}

  std::string tx_;
  RelPath place_;
  std::unique_ptr<WritableDirectory> directory_;
  std::unique_ptr<WritableFile> lock_;
};

/// Keeps the note of a run that has ended in `last-run.json` of its transaction, which outlives the
/// run's folder: a person who was not attached then finds out what the transaction is.
[[nodiscard]] Result<void> keep_last_run(const WritableDirectory& stage, const RunNote& note);
/// The run of a transaction that ended last; nothing if none did, or if the note is damaged.
[[nodiscard]] std::optional<RunNote> last_run(const StateDirectory& state, const std::string& tx);

/// Checks the name of a run: letters, digits, `-`, `_` and `.`, and not an id.
[[nodiscard]] Result<void> check_run_name(std::string_view name);

}  // namespace galley
