#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/result.h"
#include "engine/history/history.h"
#include "staging/git/git_program.h"

namespace galley {

/// The changes of the index against HEAD, and of a commit against its first parent (none for a
/// merge). A rename counts as two changes.
[[nodiscard]] Result<std::vector<GitRawChange>> staged_changes(const GitProgram& git);
[[nodiscard]] Result<std::vector<GitRawChange>> committed_changes(const GitProgram& git,
                                                                  const std::string& commit);

/// A transaction whose contents a git commit contains.
struct ContributingTransaction {
  TxId id;
  ContentId proposal;
  std::string agent;

  bool operator==(const ContributingTransaction&) const = default;
};

inline constexpr size_t kMaxSearchedTransactions = 1000;  ///< the newest transactions that are
                                                          ///< searched

/// Returns the transactions whose results these changes contain, newest first.
///
/// A transaction counts if it left a path exactly as the commit has it, or as a later counting
/// transaction found it. Paths are followed back to their state before the commit:
///
///     HEAD's a.c -> transaction 3 -> transaction 5 -> the commit's a.c      both count
///     transaction 3 -> an editor -> the commit's a.c                        none counts
///
/// Searches the newest kMaxSearchedTransactions transactions.
[[nodiscard]] Result<std::vector<ContributingTransaction>> contributing_transactions(
    const History& history, const GitProgram& git, const std::vector<GitRawChange>& changes);

}  // namespace galley
