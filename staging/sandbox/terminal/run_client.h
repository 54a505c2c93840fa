#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/terminal/detach_keys.h"
#include "staging/sandbox/terminal/run_socket.h"

namespace galley {

/// How a client's connection to a run ended.
struct ClientEnd {
  enum class Reason : uint8_t {
    kEnded,     ///< the run has ended; `text` is its supervisor's report
    kFailed,    ///< it did not start or was not available; `text` says why
    kDetached,  ///< by keys, a lost terminal or a request; the run goes on
    kTaken,     ///< another client attached
    kLost,      ///< the supervisor is gone
    kStuck,     ///< a relay's program had to stop, and did not read; its run ends by itself
  };
  Reason why = Reason::kLost;
  std::string text;
  std::string run;  ///< id of the run, if known
};

/// Translates between the standard streams of this process and those of the program.
///
/// Threads: called from the thread of attach_to_run(). After each call that takes something, the
///          client writes what the two for_…() functions return.
class ClientRelay {
 public:
  virtual ~ClientRelay() = default;
  /// The program runs; `run` is the id of its transaction.
  virtual void begin(const std::string& run) = 0;
  virtual void take_input(std::string_view bytes) = 0;   ///< from standard input
  virtual void take_output(std::string_view bytes) = 0;  ///< from the program
  virtual void end() = 0;                                ///< the program has ended
  /// Whether rest() has work. It is called when neither side has sent more.
  [[nodiscard]] virtual bool has_rest() const = 0;
  virtual void rest() = 0;
  [[nodiscard]] virtual std::string for_output() = 0;   ///< to standard output
  [[nodiscard]] virtual std::string for_program() = 0;  ///< to the program
  /// Whether the program must see the files as they are on disk when it gets for_program(). Each
  /// look delays the input, so it is not made for all messages.
  [[nodiscard]] virtual bool needs_files() = 0;
};

/// The time that a program has to end by itself after the input of a relay has ended.
inline constexpr std::chrono::milliseconds kRelayGrace{2'000};
/// Bytes of a relay that wait for its program. While there are more, its output is not read.
inline constexpr size_t kRelayUnsentBytes = size_t{4} << 20U;

/// How this process connects to a run.
struct ClientOptions {
  /// Standard input is a terminal for the program: raw while it runs, its size is passed on.
  /// Otherwise standard input, output and error are passed on unchanged.
  bool is_terminal = false;
  bool attaches = false;          ///< to an existing run
  bool output_to_stderr = false;  ///< the program's standard output goes to standard error
  DetachKeys detach_keys;         ///< on a terminal
  ClientRelay* relay = nullptr;   ///< without a terminal; null: the streams pass unchanged
};

/// The size of the terminal on standard output; a default if it is not a terminal.
[[nodiscard]] RunScreen own_screen();

/// Relays input and output until the run ends, the client detaches or the connection is lost. It
/// always restores the terminal before it returns. From then on, SIGPIPE does not end this process:
/// the result is handled also if nobody reads about it.
[[nodiscard]] ClientEnd attach_to_run(Fd supervisor, const ClientOptions& options);

/// Tells a run to stop and waits for its end.
[[nodiscard]] ClientEnd stop_run(Fd supervisor);

/// The modes that a program has switched on in a terminal, derived from its output: another screen,
/// mouse and keyboard reports, a hidden cursor. They must be reset when the terminal is taken back.
///
/// The sequences are those of xterm (ctlseqs) and of the kitty keyboard protocol.
/// Threads: confined to one thread.
class TerminalModes {
 public:
  void see(std::string_view output);
  /// The sequences that switch all of them off; empty when none is on.
  [[nodiscard]] std::string restore() const;

 private:
  void take(std::string_view body, char last);

  std::string sequence_;   ///< begun, but not complete
  std::set<int> changed_;  ///< private modes that differ from a shell's expectation
  int keyboards_ = 0;      ///< keyboard modes that were pushed
};

}  // namespace galley
