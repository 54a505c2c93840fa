#pragma once

#include <string>
#include <vector>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/layer_trees.h"

// What a waiting process needs to go on. The engine sends the helper its request: the command's
// standard input and the channel, as descriptors, then the request's bytes. The helper (the
// monitor) sends pid 1 the same over the lifeline, with the layers that root has opened. So pid 1
// can be started before there is a request.

namespace galley {

/// A request as it came, with the command's standard input.
struct ReceivedRequest {
  SandboxRequest request;
  std::string bytes;  ///< the request, encoded
  Fd input;           ///< closed: the command reads what the helper would read, /dev/null
  Fd channel;         ///< of a live run
};

/// Waits for the engine's request. Returns false when the engine is gone or speaks another version.
[[nodiscard]] bool receive_request(int control, ReceivedRequest& received);

/// Lets pid 1 go on. `trees` is empty when pid 1 is to open the layers itself.
[[nodiscard]] bool send_admission(int lifeline, const ReceivedRequest& received,
                                  const LayerTrees& trees);

/// What pid 1 has received.
struct Admission {
  SandboxRequest request;
  Fd input;
  Fd channel;
  LayerTrees trees;
};

/// Waits for send_admission(); `has_trees` says whether it sends layers. Returns false when the
/// monitor is gone.
[[nodiscard]] bool receive_admission(int lifeline, bool has_trees, Admission& admission);

}  // namespace galley
