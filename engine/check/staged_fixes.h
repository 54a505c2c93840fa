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

/// The changes that the validators made to the staged files, and the files that got them.
struct StagedFixes {
  FixReport report;
  IndexFix put;
};

/// The index to fix, the requester and the resources. Borrows all of them.
struct StagedFixRequest {
  const Proposal& proposal;  ///< the staged change
  const Directory& base;     ///< the tree that the proposal changes
  const Config& config;
  const TransactionOptions& who;
  const GitProgram& git;
  const GitLayout& layout;
  CommandRunner& runner;
  const Clock& clock;
};

/// Runs the validators with `fix = true` on the staged files. Writes their changes to the index,
/// and to each file of the work tree that equalled the index. Both steps pass the executor, so each
/// is recorded in the work tree's `.galley` before it begins and again after it ended:
///
///     fix (the validators run, their changes are judged) -> index (git's index, the files)
///
/// A missing `.galley` is created: an action that cannot be recorded is not done.
/// Errors: kUsage `check.no_worktree` in a bare repository; kRefused `policy.capability` and other
///         reasons of the early policy, `state.not_believed`; those of fix_staged() and
///         put_into_index().
Result<StagedFixes> fix_what_is_staged(const StagedFixRequest& request);

}  // namespace galley
