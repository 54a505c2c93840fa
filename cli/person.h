#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"

namespace galley {

/// What a person has to say: `trust`, `approve` and `recover --adopt`. A program that reads "run
/// galley trust" must not be able to say it.
///
/// Shows `text` (escaped by the caller, with its last newline) and asks `question` at the
/// controlling terminal; only `y` or `yes` is a yes. With `unattended = true` in the person's own
/// configuration nobody is asked.
/// Errors: kRefused `person.inside_exec` in a command that Galley runs, `person.no_terminal`,
///         `person.said_no`.
Result<void> need_person(Session& session, const std::string& text, const std::string& question);

}  // namespace galley
