#pragma once

#include <galley/path.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/commit/history_reader.h"
#include "engine/history/history.h"
#include "engine/pipeline/workspace_state.h"
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

/// Records in the file of links, and in the audit log, that a git commit contains the contents of
/// these transactions. An existing pair is not recorded again.
/// Errors: kRefused `state.not_believed`; kTimeout `commit.locked`; kIo.
Result<void> record_commit_links(const Workspace& workspace, const std::string& commit,
                                 const std::vector<ContributingTransaction>& transactions);

/// Adds the transactions and agents that wrote the committed contents to the message in `file`,
/// with `git interpret-trailers`. A trailer that is already in the message is not added again:
///
///     Galley-Transaction: <number> <first digits of the proposal>
///     Galley-Agent: <name>
///
/// A message without text stays empty, because an empty message tells git not to commit.
/// Errors: those of GitProgram; kIo.
Result<void> add_trailers(const GitProgram& git, const std::string& file,
                          const std::vector<ContributingTransaction>& transactions);

/// More transactions than this are summarised in one trailer.
inline constexpr size_t kMaxTransactionTrailers = 20;
inline constexpr uint64_t kMaxMessageBytes = uint64_t{64} << 20U;  ///< a message that gets trailers

/// `Galley-Transaction: …` and `Galley-Agent: …`, oldest transaction first, each agent once.
[[nodiscard]] std::vector<std::string> trailers_for(
    const std::vector<ContributingTransaction>& transactions);

}  // namespace galley
