#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
#include "staging/sandbox/helper_process.h"

namespace galley {

/// Where the layers of a live run lie.
///
///     upper home   upper/    what the program wrote          work/   for overlayfs itself
///     lower home   scratch/  what git ignores, of earlier commands of the transaction
///                  live/changes/<n>  what was staged when the run began
struct LiveHomes {
  std::string upper;  ///< may lie in the workspace's `.galley`
  std::string lower;  ///< outside the workspace
};

/// A folder of the host that a live run sees and writes over.
struct HostLayer {
  std::string path;  ///< as check_host_folder() returned it
  std::string home;  ///< where what it writes lies, in `upper`
  /// What it sees there before; empty: the folder itself.
  std::string below = {};
};

/// How a live run is started; what of a Command has no meaning here (input, effects) is not read.
struct LiveOptions {
  LiveHomes homes;
  bool is_terminal = false;
  uint16_t rows = 24;
  uint16_t columns = 80;
  std::string home;                   ///< HOME inside: empty, writable, gone with the run
  std::string git_config;             ///< text of `.gitconfig` there, unless there is one
  std::vector<std::string> writable;  ///< absolute, through no link (check_host_folder())
  std::vector<HostLayer> layers;
};

/// How long a run that is told to stop has before it is killed.
inline constexpr std::chrono::milliseconds kStopGrace{5'000};

/// A program that runs on a mounted overlay until it ends by itself or is stopped, while its caller
/// does other things: waits for its streams, looks at what it has written so far.
///
/// Ownership: owns the process, its streams and a mount of the overlay. The destructor kills what
///            is left of it; the layers stay.
/// Threads:   confined to one thread.
/// Errors:    as CommandRunner's.
class LiveRun {
 public:
  /// Starts the program and returns when the overlay is mounted. `request` is as build_request()
  /// made it.
  static Result<std::unique_ptr<LiveRun>> start(WaitingProcess helper, SandboxRequest request,
                                                const LiveOptions& options, const Overlay& overlay,
                                                const Directory& workspace);

  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  ~LiveRun();

  /// Readable when the program has ended, with all that it started.
  [[nodiscard]] int control() const { return process_.control.get(); }
  /// The other end of its terminal; -1 without one.
  [[nodiscard]] int terminal() const { return terminal_.get(); }
  /// Without a terminal: what it reads, and what it writes.
  [[nodiscard]] int input() const { return input_.get(); }
  [[nodiscard]] int output() const { return process_.output.get(); }
  [[nodiscard]] int errors() const { return process_.errors.get(); }
  void close_input() { input_ = Fd(); }
  /// The overlay, with nothing mounted in it; open as long as this object is.
  [[nodiscard]] int mount() const { return mount_.get(); }
  [[nodiscard]] int64_t began_ns() const { return began_ns_; }

  /// Asks it to end; what has not after kStopGrace is killed.
  void stop();
  /// After control() is readable: how it ended.
  Result<CommandResult> result();

 private:
  LiveRun(SandboxRequest request, StartedProcess process, Fd input)
      : request_(std::move(request)), process_(std::move(process)), input_(std::move(input)) {}
  Result<void> receive_mount(const Fd& channel);

  SandboxRequest request_;
  StartedProcess process_;
  Fd input_;
  Fd terminal_;
  Fd mount_;
  int64_t began_ns_ = 0;
  bool is_over_ = false;
};

/// Makes the layers that a live run needs, unless they are there; the folder `work` is new.
[[nodiscard]] Result<void> prepare_live_layers(const LiveHomes& homes, const Directory& workspace);

/// Returns where a folder is that a run may write to or over: absolute, links resolved. `option` is
/// the option that names it, `workspace` the absolute path of the workspace's root. One that may be
/// missing need not be there.
/// Errors: kUsage `run.host_folder` for what is no folder, for `/`, a folder of the system, and
///         whatever holds the workspace or lies in it.
[[nodiscard]] Result<std::string> check_host_folder(std::string_view option,
                                                    const std::string& path,
                                                    const std::string& workspace,
                                                    bool may_be_missing = false);

/// The variables that a person's program needs to find its terminal and its home, from our own.
[[nodiscard]] std::map<std::string, std::string> session_environment(bool is_terminal,
                                                                     const std::string& home);

/// How often a file is read that changes meanwhile.
inline constexpr int kMaxReadsOfLiveFile = 8;

/// A file as it was while nobody wrote it.
struct LiveFile {
  std::string refusal;  ///< not empty: why a change cannot hold it
  Node node;
  Content bytes;
  int64_t mtime_ns = 0;
};

/// Reads a file that others may write at the same time: again, until its stat is the same before
/// and after. A store through a mapping may go unnoticed until the kernel writes it back; then the
/// next look finds it. `path` is what messages call it.
/// Errors: kConflict `run.file_changes` when it changes each time; kNotFound when it went; kIo.
[[nodiscard]] Result<LiveFile> read_live_file(const Directory& directory, const RelPath& name,
                                              const RelPath& path);

}  // namespace galley
