#pragma once

namespace galley {

/// Whether this process runs inside Galley's sandbox, where all its writes are staged.
///
/// The variable GALLEY_SANDBOX is only a hint for programs, because any process can set it. This
/// function checks facts that a process cannot set for itself: new privileges are forbidden, a
/// seccomp filter is active, and the helper is one of its ancestor processes.
[[nodiscard]] bool is_inside_sandbox();

}  // namespace galley
