#pragma once

#include <string>

#include "base/result.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/terminal/detach_keys.h"
#include "staging/sandbox/terminal/run_socket.h"

namespace galley {

/// How a client's time with a run ended.
struct ClientEnd {
  enum class Why : uint8_t {
    kEnded,     ///< the run is over; `text` is what its supervisor says of it
    kFailed,    ///< it did not start, or could not be had; `text` says why
    kDetached,  ///< the keys were typed, our terminal is gone, or we were told to leave: it goes on
    kTaken,     ///< somebody else attached
    kLost,      ///< the supervisor is gone
  };
  Why why = Why::kLost;
  std::string text;
  std::string run;  ///< id of the run, where it was told
};

/// What this process gives to a run, and takes from it.
struct ClientOptions {
  /// Standard input is a terminal that is given to the program: raw while it runs, its size passed
  /// on. Else standard input, output and error are passed on as they are.
  bool is_terminal = false;
  bool attaches = false;    ///< to a run that is there already
  bool talks_only = false;  ///< what it writes to standard output goes to standard error, too
  DetachKeys detach_keys;   ///< on a terminal
};

/// The size of the terminal on standard output; the usual one where it is none.
[[nodiscard]] RunScreen own_screen();

/// Passes on what is typed and what is written until the run ends or this process loses it. A
/// terminal is as it was afterwards, whatever happened.
[[nodiscard]] ClientEnd attend_run(Fd supervisor, const ClientOptions& options);

/// Tells a run to stop and waits for its end.
[[nodiscard]] ClientEnd stop_run(Fd supervisor);

}  // namespace galley
