#pragma once

namespace galley {

/// Whether this process runs inside of Galley's sandbox, where all that it writes is staged.
///
/// The variable GALLEY_SANDBOX is a hint for programs. It proves nothing, since any process can set
/// it. This looks at facts that a process cannot give itself: new privileges are forbidden, a
/// seccomp filter holds, and the helper is one of the processes above this one.
[[nodiscard]] bool is_inside_sandbox();

}  // namespace galley
