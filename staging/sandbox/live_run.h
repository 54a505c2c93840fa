#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/content_store.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/egress_proxy.h"
#include "staging/sandbox/helper_process.h"

namespace galley {

/// The places of a live run's layers.
///
///     upper home   upper/    the program's writes            work/   for overlayfs itself
///     lower home   scratch/  what git ignores, of earlier commands of the transaction
///                  live/changes/<n>  what was staged when the run began
struct LiveHomes {
  std::string upper;  ///< may be in the workspace's `.galley`
  std::string lower;  ///< outside the workspace
};

/// A folder of the host that a live run sees. The writes of the run go to a layer.
struct HostLayer {
  std::string path;  ///< as check_host_folder() returned it
  std::string home;  ///< the folder in `upper` for its writes
  /// The folder whose contents the run sees at first; empty: `path` itself.
  std::string below = {};
};

class LiveRun;

/// Options of a live run. Fields of a Command that do not apply (input, effects) are ignored.
struct LiveOptions {
  LiveHomes homes;
  bool is_terminal = false;
  uint16_t rows = 24;
  uint16_t columns = 80;
  std::string home;                      ///< HOME inside: empty, writable, removed with the run
  std::string git_config;                ///< text of `.gitconfig` there, unless it exists
  std::vector<std::string> writable;     ///< absolute, without links (check_host_folder())
  std::vector<std::string> frozen = {};  ///< absolute, in folders of `writable`, but read-only
  std::vector<HostLayer> layers;
  bool has_consent = false;             ///< a person consented to the network for this program
  std::vector<std::string> hosts = {};  ///< Command::hosts
  /// Called when the overlay is mounted. The program starts only after it has succeeded.
  std::function<Result<void>(const LiveRun&)> before_program = {};
};

/// Time between the request to stop and the kill.
inline constexpr std::chrono::milliseconds kStopGrace{5'000};

/// A program that runs on a mounted overlay until it ends by itself or is stopped. Meanwhile its
/// caller can wait for its streams or read what it has written so far.
///
/// Ownership: owns the process, its streams and a mount of the overlay. The destructor kills the
///            remaining processes; the layers stay.
/// Threads:   confined to one thread.
/// Errors:    as CommandRunner's.
class LiveRun {
 public:
  /// Mounts the overlay and starts the program. build_request() makes `request`, from a command
  /// with `options.hosts`.
  /// Errors: also those of `options.before_program`; then the program has not started.
  static Result<std::unique_ptr<LiveRun>> start(WaitingProcess helper, SandboxRequest request,
                                                const LiveOptions& options, const Overlay& overlay,
                                                const Directory& workspace);

  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  ~LiveRun();

  /// Readable when the program and all processes that it started have ended.
  [[nodiscard]] int control() const { return process_.control.get(); }
  /// The other end of its terminal; -1 without a terminal.
  [[nodiscard]] int terminal() const { return terminal_.get(); }
  /// Without a terminal: the pipes of its input and output.
  [[nodiscard]] int input() const { return input_.get(); }
  [[nodiscard]] int output() const { return process_.output.get(); }
  [[nodiscard]] int errors() const { return process_.errors.get(); }
  void close_input() { input_ = Fd(); }
  /// The overlay, without mounts below it; open as long as this object exists.
  [[nodiscard]] int mount() const { return mount_.get(); }
  [[nodiscard]] int64_t began_ns() const { return began_ns_; }

  /// Makes the program see files that other programs have replaced since it looked at them. Returns
  /// when that is done, or after kRefreshTime. A file that the program holds open remains the old
  /// one.
  void refresh();
  static constexpr std::chrono::milliseconds kRefreshTime{50};

  /// Asks it to end; the remaining processes are killed after kStopGrace.
  void stop();
  /// Returns how the program ended. Call it only after control() has become readable.
  Result<CommandResult> result();

 private:
  LiveRun(SandboxRequest request, StartedProcess process, Fd input)
      : request_(std::move(request)), process_(std::move(process)), input_(std::move(input)) {}
  Result<void> receive_mount(const Fd& channel);
  Result<void> let_program_start(const Fd& channel) const;

  SandboxRequest request_;
  StartedProcess process_;
  Fd input_;
  Fd terminal_;
  Fd mount_;
  std::unique_ptr<EgressProxy> proxy_;  ///< null: none
  int64_t began_ns_ = 0;
  bool is_over_ = false;
  int unanswered_ = 0;  ///< of the last calls of refresh()
  int64_t refreshed_ns_ = 0;
};

/// Makes the missing layers of a live run; the folder `work` is always new.
[[nodiscard]] Result<void> prepare_live_layers(const LiveHomes& homes, const Directory& workspace);

/// Whether a folder belongs to the system, so that no run may write to it. `folder` is absolute,
/// without links.
[[nodiscard]] bool is_system_folder(const std::string& folder);

/// Returns the path of a folder that a run may write to or over: absolute, links resolved. `option`
/// is the option that names it, `workspace` the absolute path of the workspace's root. With
/// `may_be_missing` the folder need not exist.
/// Errors: kUsage `run.host_folder` for a path that is not a folder, for `/`, a folder of the
///         system, and every folder that contains the workspace or is in it.
[[nodiscard]] Result<std::string> check_host_folder(std::string_view option,
                                                    const std::string& path,
                                                    const std::string& workspace,
                                                    bool may_be_missing = false);

/// The variables of this process that a person's program needs to find its terminal and home.
[[nodiscard]] std::map<std::string, std::string> session_environment(bool is_terminal,
                                                                     const std::string& home);

/// Maximum number of attempts to read a file that changes meanwhile.
inline constexpr int kMaxReadsOfLiveFile = 8;

/// A consistent state of a file: no process wrote during the read.
struct LiveFile {
  std::string refusal;  ///< not empty: why a change cannot hold it
  Node node;
  Content bytes;
  int64_t mtime_ns = 0;
};

/// Reads a file that other processes may write at the same time. It reads again until the stat of
/// the file is the same before and after. A write through a memory mapping may go unnoticed until
/// the kernel writes it back; a later call then finds it. `path` is its name in messages.
/// Errors: kConflict `run.file_changes` when it changes each time; kNotFound when it was removed;
///         kIo.
[[nodiscard]] Result<LiveFile> read_live_file(const Directory& directory, const RelPath& name,
                                              const RelPath& path);

}  // namespace galley
