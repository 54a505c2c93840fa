#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "staging/sandbox/helper/fd.h"

// Descriptors are passed over unix sockets (SCM_RIGHTS, unix(7)) together with one byte, their
// number.

namespace galley {

/// The most that can be passed at once. The kernel passes 253.
inline constexpr size_t kMaxDescriptors = 120;

/// Sends the descriptors; they stay open here. Returns false with errno set when that fails, E2BIG
/// for too many.
[[nodiscard]] bool send_descriptors(int socket, const std::vector<int>& descriptors);

/// Waits for what send_descriptors() sent and appends it to `descriptors`. Returns false when the
/// other side is gone.
[[nodiscard]] bool receive_descriptors(int socket, std::vector<Fd>& descriptors);

/// Writes all of it to a descriptor that waits. Returns false with errno set when that fails.
[[nodiscard]] bool write_all(int fd, std::string_view bytes);

}  // namespace galley
