#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/git_hooks/commit_contents.h"
#include "staging/git/git_program.h"

namespace galley {

/// Adds to the message in `file` who wrote what is committed, as `git interpret-trailers` does it;
/// what the message says already is not said again:
///
///     Galley-Transaction: <number> <first digits of the proposal>
///     Galley-Agent: <name>
///
/// A message without text stays empty: git takes that for "do not commit".
/// Errors: those of GitProgram; kIo.
Result<void> add_trailers(const GitProgram& git, const std::string& file,
                          const std::vector<ContributingTransaction>& transactions);

/// More transactions than this are counted in one trailer.
inline constexpr size_t kMaxTransactionTrailers = 20;
inline constexpr uint64_t kMaxMessageBytes = uint64_t{64} << 20U;

/// `Galley-Transaction: …` and `Galley-Agent: …`, oldest transaction first, each agent once.
[[nodiscard]] std::vector<std::string> trailers_for(
    const std::vector<ContributingTransaction>& transactions);

}  // namespace galley
