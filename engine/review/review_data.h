#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/gate.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/proposal_pieces.h"

namespace galley {

/// The maximum of bytes of one line on a review page; the page says that more follow.
inline constexpr size_t kMaxReviewLineBytes = 4096;
/// Longer runs of unchanged lines are not on the page.
inline constexpr size_t kMaxFoldedLines = 1000;
/// The total of unchanged lines besides the context of hunks; after that only their number is
/// shown.
inline constexpr size_t kMaxFoldedBytes = size_t{4} << 20U;
/// The maximum of lines in hunks; later files have only their names and counts on the page.
inline constexpr size_t kMaxReviewLines = 500'000;

/// The contents of a review page besides the changes.
///
/// Ownership: borrows the verdict and the pieces.
struct ReviewSubject {
  std::string title;                                       ///< "transaction 12"
  std::vector<std::pair<std::string, std::string>> facts;  ///< name and value, in order
  const Verdict* verdict = nullptr;                        ///< null: not judged
  std::vector<RelPath> left_out;                           ///< files with hidden contents
  /// The piece of each hunk, for a page on which hunks are accepted and rejected; else null. The
  /// diff must have the same options as the pieces: the defaults, without rename detection.
  const ProposalPieces* pieces = nullptr;
};

/// Returns the data from which the scripts of the page show a proposal. Every text in it is
/// printable (base/printable.h). In lines of contents, `\x1b[7m` and `\x1b[27m` enclose
/// replacements of invisible characters.
/// Errors: those of Proposal::content.
[[nodiscard]] Result<nlohmann::ordered_json> review_data(const Proposal& proposal,
                                                         const ReviewSubject& subject,
                                                         const ProposalDiffOptions& options = {});

}  // namespace galley
