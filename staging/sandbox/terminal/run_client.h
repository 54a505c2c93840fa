#pragma once

#include <string>

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
  };
  Reason why = Reason::kLost;
  std::string text;
  std::string run;  ///< id of the run, if known
};

/// How this process connects to a run.
struct ClientOptions {
  /// Standard input is a terminal for the program: raw while it runs, its size is passed on.
  /// Otherwise standard input, output and error are passed on unchanged.
  bool is_terminal = false;
  bool attaches = false;          ///< to an existing run
  bool output_to_stderr = false;  ///< the program's standard output goes to standard error
  DetachKeys detach_keys;         ///< on a terminal
};

/// The size of the terminal on standard output; a default if it is not a terminal.
[[nodiscard]] RunScreen own_screen();

/// Relays input and output until the run ends, the client detaches or the connection is lost. It
/// always restores the terminal before it returns.
[[nodiscard]] ClientEnd attach_to_run(Fd supervisor, const ClientOptions& options);

/// Tells a run to stop and waits for its end.
[[nodiscard]] ClientEnd stop_run(Fd supervisor);

}  // namespace galley
