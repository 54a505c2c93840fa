#pragma once

#include <string>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// How far a journal is trusted.
enum class JournalTrust : uint8_t {
  kOwn,      ///< from a believed state: its statements about the old tree are true
  kForeign,  ///< from a state that a person is asked about: only the present tree counts
};

/// Why recovery must not act on a committed journal, as a phrase; empty when it may.
///
/// No journal gives a path an owner, or an attribute of `security.` or `trusted.`, that the user's
/// own file did not have, and none makes a link that leads outside the workspace. A gate would have
/// refused such a change, so no commit of ours contains it. Protected paths, special files and bits
/// beyond 0777 make a journal unreadable before that (journal_reader.cc).
Result<std::string> broken_rule(const Directory& workspace, const StateDirectory& state,
                                const Journal& journal, JournalTrust trust);

/// Refuses all journals when one of them breaks a rule.
/// Errors: kRefused `journal.forbidden`.
Result<void> check_journal_rules(const Directory& workspace, const StateDirectory& state,
                                 const std::vector<JournalVerdict>& journals, JournalTrust trust);

}  // namespace galley
