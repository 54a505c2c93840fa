#pragma once

#include <string>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// How far a journal is trusted.
enum class JournalTrust : uint8_t {
  kOwn,      ///< from a believed state: its records of the old tree are true
  kForeign,  ///< from a state that a person must still adopt: only the present tree counts
};

/// Whether the kernel or a privileged program sets the attribute. A program that could set it could
/// make a file more trusted than it is.
[[nodiscard]] bool is_privileged(const ExtendedAttribute& attribute);

/// Returns why recovery must not act on a committed journal, as a phrase; empty if it may.
///
/// A journal must not give a path an owner, or a `security.` or `trusted.` attribute, that the
/// user's own file did not have. It must not make a link that leads outside the workspace, unless
/// an earlier transaction recorded that link there: an undo brings it back. A gate would have
/// refused any other such change, so no commit of Galley contains it. Protected paths, special
/// files and bits beyond 0777 make a journal unreadable before that (journal_reader.cc).
Result<std::string> broken_rule(const Directory& workspace, const StateDirectory& state,
                                const Journal& journal, JournalTrust trust);

/// Refuses all journals when one of them breaks a rule.
/// Errors: kRefused `journal.forbidden`.
Result<void> check_journal_rules(const Directory& workspace, const StateDirectory& state,
                                 const std::vector<JournalVerdict>& journals, JournalTrust trust);

}  // namespace galley
