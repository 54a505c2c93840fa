#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/live_run.h"
#include "staging/sandbox/terminal/run_socket.h"

namespace galley {

/// Output of the program's terminal that is kept for clients that attach later: its last bytes.
inline constexpr size_t kMaxRunBacklogBytes = size_t{256} << 10U;
inline constexpr size_t kMaxRunClients = 16;  ///< clients of one run at once

/// A process that continues without its terminal, and its connection to the process that made it.
struct ForkedSupervisor {
  bool is_supervisor = false;  ///< in the new process
  Fd socket;                   ///< to the other process
};

/// Forks this process, which must have one thread. The new process leaves the terminal by
/// leave_terminal().
[[nodiscard]] Result<ForkedSupervisor> fork_supervisor();

/// Gives up the terminal: starts a new session with /dev/null as the standard streams. From now on
/// SIGHUP, the signal of a lost terminal, and SIGPIPE are ignored.
void leave_terminal();

/// Connects a live program and its clients until the program has ended.
///
///     program's terminal or pipes  <-->  RunSupervisor  <-->  one attached client
///                                                       <---  clients that only say stop
///
/// Without a client a program on a terminal runs on, and its last output is kept
/// (kMaxRunBacklogBytes). A program without a terminal is stopped when its client disconnects: no
/// client could attach again. If the client does not read, the program must wait, as it would on a
/// terminal.
///
/// Ownership: borrows the run; owns clients and listener. Threads: confined to one thread.
class RunSupervisor {
 public:
  /// `first` is attached already.
  RunSupervisor(LiveRun& run, Fd listener, RunPeer first);

  /// Called whenever a client attaches or detaches.
  std::function<void(bool is_attached)> on_attached;

  /// Returns when the program has ended and its output has been passed on.
  void watch();
  /// The program's last output: on its terminal or, without one, on its standard error.
  [[nodiscard]] const std::string& terminal_output() const { return backlog_; }
  /// The end of its standard output, without a terminal.
  [[nodiscard]] const std::string& last_output() const { return last_output_; }
  /// Calls `work` when the program has ended. A signal or a stop request from a client meanwhile
  /// ends this process like a kill, after every client got `terminal_output` as a kFailed.
  void finish(const std::function<void()>& work, std::string_view terminal_output);
  /// Tells every client, and waits at most a second until all have received it or are gone.
  void announce(RunMessage kind, std::string_view text);

 private:
  struct Polled;
  [[nodiscard]] bool is_terminal() const { return run_->terminal() >= 0; }
  [[nodiscard]] RunPeer* attached();
  void turn();
  void drop_gone();
  void take_output(int descriptor, RunMessage kind, bool& is_open);
  void give_input();
  void drop_input();
  void accept();
  void hear(size_t client);
  void refresh_before_input();
  void attach(size_t client, const RunScreen& screen);
  void detach();
  void set_screen(const RunScreen& screen);
  [[nodiscard]] bool is_told_to_stop(int done);

  LiveRun* run_;
  Fd listener_;
  Fd signals_;
  std::vector<RunPeer> clients_;
  int attached_ = 0;  ///< index in clients_; -1: none
  std::optional<std::chrono::steady_clock::time_point> refreshed_;
  std::string backlog_;
  std::string last_output_;
  std::string input_;
  bool has_ended_ = false;
  bool input_ends_ = false;
  bool has_output_ = true;
  bool has_errors_ = true;
  bool gives_up_ = false;  ///< told to stop after the end: does not wait any longer
};

}  // namespace galley
