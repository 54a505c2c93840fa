#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/live_run.h"
#include "staging/sandbox/terminal/run_socket.h"

namespace galley {

/// What of the program's terminal is kept for who attaches: the last of what it wrote.
inline constexpr size_t kMaxRunBacklogBytes = size_t{256} << 10U;
inline constexpr size_t kMaxRunClients = 16;

/// A process that goes on without its terminal, and what connects it with who made it.
struct ForkedSupervisor {
  bool is_supervisor = false;  ///< in the new process
  Fd socket;                   ///< to the other one
};

/// Makes a second process of this one, which must have one thread. The new one leaves the terminal
/// with leave_terminal().
[[nodiscard]] Result<ForkedSupervisor> fork_supervisor();

/// Gives up the terminal: a session of its own, and nothing on the standard streams. The signal of
/// a terminal that goes away is ignored from now on.
void leave_terminal();

/// Stands between a live program and those who watch it, until it has ended.
///
///     program's terminal or pipes  <-->  RunSupervisor  <-->  one attached client
///                                                       <---  clients that only say stop
///
/// Without a client the program of a terminal goes on, and what it writes last is kept
/// (kMaxRunBacklogBytes). One without a terminal is stopped when its client goes: nobody could take
/// it up again. A client that does not read makes the program wait, as a terminal would.
///
/// Ownership: borrows the run; owns clients and listener. Threads: confined to one thread.
class RunSupervisor {
 public:
  /// `first` is attached already.
  RunSupervisor(LiveRun& run, Fd listener, RunPeer first);

  /// Called whenever somebody attaches or goes.
  std::function<void(bool is_attached)> on_attached;

  /// Returns when the program has ended and what it wrote has been passed on.
  void watch();
  /// Of what the program wrote, the last on its terminal or, without one, to its standard error.
  [[nodiscard]] const std::string& last_words() const { return backlog_; }
  /// Calls `work` when the program has ended. A signal or a client that says stop meanwhile ends
  /// this process as a kill would, after every client is told `last_words` as a kFailed.
  void finish(const std::function<void()>& work, std::string_view last_words);
  /// Tells every client, and waits until they have it or are gone, no longer than a second.
  void announce(RunMessage kind, std::string_view text);

 private:
  struct Polled;
  [[nodiscard]] bool is_terminal() const { return run_->terminal() >= 0; }
  [[nodiscard]] RunPeer* attached();
  void turn();
  void drop_gone();
  void take_output(int descriptor, RunMessage kind, bool& is_open);
  void give_input();
  void accept();
  void hear(size_t client);
  void attach(size_t client, const RunScreen& screen);
  void detach();
  void set_screen(const RunScreen& screen);
  [[nodiscard]] bool is_told_to_stop(int done);

  LiveRun* run_;
  Fd listener_;
  Fd signals_;
  std::vector<RunPeer> clients_;
  int attached_ = 0;  ///< index in clients_; -1: nobody
  std::string backlog_;
  std::string input_;
  bool has_ended_ = false;
  bool input_ends_ = false;
  bool has_output_ = true;
  bool has_errors_ = true;
  bool gives_up_ = false;  ///< told to stop after the end: nobody waits for the rest
};

}  // namespace galley
