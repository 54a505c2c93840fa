#pragma once

#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/absorb.h"

namespace galley {

/// Doubts what was just absorbed from `upper` on paths that are not in `before`: those got their
/// base from the disk as it is now. One that changed while the command ran would lend its new base
/// to an effect on its old content, and a commit would undo somebody else's change without a
/// conflict. Such a path is refused, or gets an empty base (AbsorbRules::forgets_bases).
[[nodiscard]] Result<void> doubt_changed_meanwhile(const Overlay::Entries& before,
                                                   const WritableDirectory& upper, Overlay& overlay,
                                                   const AbsorbRules& rules, AbsorbReport& report);

}  // namespace galley
