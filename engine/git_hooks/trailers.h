#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/git_hooks/commit_contents.h"
#include "staging/git/git_program.h"

namespace galley {

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
