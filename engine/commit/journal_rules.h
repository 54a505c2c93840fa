#pragma once

#include <string>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// Whose word a journal is.
enum class JournalTrust : uint8_t {
  kOwn,      ///< of a believed state: what it says of the old tree was so
  kForeign,  ///< of a state that a person is asked about: only what stands there now counts
};

/// Why recovery may not act on a committed journal, as a phrase; empty when it may.
///
/// No journal gives a path an owner, or an attribute of `security.` or `trusted.`, that the user's
/// own file did not have, and no link of it leads outside the workspace: a gate would have refused
/// that, so no commit of ours says it. Protected paths, special files and bits beyond 0777 make a
/// journal unreadable before (journal_reader.cc).
Result<std::string> broken_rule(const Directory& workspace, const StateDirectory& state,
                                const Journal& journal, JournalTrust trust);

/// Refuses all of them when one breaks a rule.
/// Errors: kRefused `journal.forbidden`.
Result<void> hold_to_rules(const Directory& workspace, const StateDirectory& state,
                           const std::vector<JournalVerdict>& journals, JournalTrust trust);

}  // namespace galley
