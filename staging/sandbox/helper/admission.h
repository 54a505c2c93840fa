#pragma once

#include <string>
#include <vector>

#include "staging/sandbox/helper/view.h"

// What pid 1 needs to go on comes over the lifeline: the layers that root has opened, as
// descriptors (SCM_RIGHTS, unix(7)), then the request. So it can be started before there is one.

namespace galley {

/// Reads the bytes of one request, after their length; false when the other side is gone.
[[nodiscard]] bool read_framed(int fd, std::string& bytes);

/// Lets pid 1 go on. `trees` are empty when pid 1 is to open the layers itself.
[[nodiscard]] bool send_admission(int lifeline, const std::string& request,
                                  const LayerTrees& trees);

/// Waits for it; false when the monitor is gone.
[[nodiscard]] bool receive_admission(int lifeline, SandboxRequest& request, std::vector<Fd>& trees);

/// Puts received descriptors back where they were sent from.
[[nodiscard]] bool sort_trees(const SandboxRequest& request, std::vector<Fd> all,
                              LayerTrees& trees);

}  // namespace galley
