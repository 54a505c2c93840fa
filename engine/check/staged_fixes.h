#pragma once

#include <galley/transaction.h>

#include "base/clock.h"
#include "base/result.h"
#include "engine/check/index_fix.h"
#include "engine/policy/config.h"
#include "engine/validators/fix.h"
#include "staging/fs/directory.h"
#include "staging/git/git_program.h"

namespace galley {

class CommandRunner;

/// What the fixers made of what is staged, and where it is now.
struct StagedFixes {
  FixReport report;
  IndexFix put;
};

/// Whose index is fixed, for whom, and by what. Borrows all of it.
struct StagedFixRequest {
  const Proposal& proposal;  ///< what is staged
  const Directory& base;     ///< the tree that it changes
  const Config& config;
  const TransactionOptions& who;
  const GitProgram& git;
  const GitLayout& layout;
  CommandRunner& runner;
  const Clock& clock;
};

/// Puts what the validators with `fix = true` make of the staged files into the index, and into
/// each file of the work tree that held what the index held. Both steps pass the executor, so each
/// is on record in the work tree's `.galley` before it begins and again when it ended:
///
///     fix (the validators run, what they made is judged) -> index (git's index, the files)
///
/// A `.galley` is made where there is none: what cannot be put on record is not done.
/// Errors: kUsage `check.no_worktree` in a bare repository; kRefused `policy.capability` and other
///         reasons of the early policy, `state.not_believed`; those of fix_staged() and
///         put_into_index().
Result<StagedFixes> fix_what_is_staged(const StagedFixRequest& request);

}  // namespace galley
