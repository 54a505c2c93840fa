#pragma once

#include <string>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/layer_trees.h"

// Passes a request to the processes that were started in advance. The engine sends the helper (the
// monitor) the command's standard input, the channel and the proxy's socket as descriptors, then
// the bytes of the request. The monitor sends the same to pid 1 over the lifeline, with the layers
// that root has opened. So pid 1 can be started before there is a request.

namespace galley {

/// A received request, with the command's standard input.
struct ReceivedRequest {
  SandboxRequest request;
  std::string bytes;  ///< the request, encoded
  Fd input;           ///< closed: the command reads the helper's own, /dev/null
  Fd channel;         ///< of a live run
  Fd proxy;           ///< the way to its proxy
};

/// Waits for the engine's request. Returns false when the engine is gone or speaks another version.
[[nodiscard]] bool receive_request(int control, ReceivedRequest& received);

/// Lets pid 1 continue. `trees` is empty if pid 1 opens the layers itself.
[[nodiscard]] bool send_admission(int lifeline, const ReceivedRequest& received,
                                  const LayerTrees& trees);

/// The data that pid 1 has received.
struct Admission {
  SandboxRequest request;
  Fd input;
  Fd channel;
  Fd proxy;
  LayerTrees trees;
};

/// Waits for send_admission(); `has_trees` says whether layers are sent. Returns false when the
/// monitor is gone.
[[nodiscard]] bool receive_admission(int lifeline, bool has_trees, Admission& admission);

}  // namespace galley
