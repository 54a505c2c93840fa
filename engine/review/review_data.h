#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/gate.h"
#include "staging/overlay/proposal.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/proposal_pieces.h"

namespace galley {

/// Of one line so many bytes are on a review page; the page says that more follow.
inline constexpr size_t kMaxReviewLineBytes = 4096;
/// A run of unchanged lines that is longer is not on the page.
inline constexpr size_t kMaxFoldedLines = 1000;
/// All unchanged lines beside the context of hunks; where they are used up, only their number is.
inline constexpr size_t kMaxFoldedBytes = size_t{4} << 20U;
/// Lines of hunks; the files after them are on the page with their names and counts alone.
inline constexpr size_t kMaxReviewLines = 500'000;

/// What a review page shows beside the changes.
///
/// Ownership: borrows the verdict and the pieces.
struct ReviewSubject {
  std::string title;                                       ///< "transaction 12"
  std::vector<std::pair<std::string, std::string>> facts;  ///< name and value, in order
  const Verdict* verdict = nullptr;                        ///< null: nobody was asked
  std::vector<RelPath> left_out;                           ///< files whose contents may not be seen
  /// For a page on which hunks are accepted and rejected: which piece each hunk is. The diff has to
  /// be the one that the pieces were cut from: default options, without found renames.
  const ProposalPieces* pieces = nullptr;
};

/// What the page needs to show a proposal, for its own scripts. Every text in it is
/// printable (base/printable.h); what stands for a character that cannot be seen is between
/// `\x1b[7m` and `\x1b[27m` in lines of contents.
/// Errors: those of Proposal::content.
[[nodiscard]] Result<nlohmann::ordered_json> review_data(const Proposal& proposal,
                                                         const ReviewSubject& subject,
                                                         const ProposalDiffOptions& options = {});

}  // namespace galley
