#include "staging/sandbox/helper/copy_level.h"
namespace galley {
HelperReport run_on_copy(const SandboxRequest&) { return {}; }
}  // namespace galley
