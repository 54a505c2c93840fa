#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/overlay/proposal.h"
#include "staging/printing/git_diff.h"
#include "staging/printing/rename.h"

namespace galley {

/// A file that is larger before or after is not read for a diff: it is shown as `Binary files …
/// differ`, as in git above core.bigFileThreshold.
inline constexpr uint64_t kMaxDiffedBytes = uint64_t{256} << 20U;

struct ProposalDiffOptions {
  DiffOptions file;
  bool find_renames = true;  ///< by similarity, as in git, in addition to the declared ones
  RenameOptions renames;
};

/// The diff of one path of a proposal, with its contents.
///
/// Ownership: shares the contents; line numbers in `diff` index Lines(*before) and Lines(*after).
struct ProposedFileDiff {
  FileDiff diff;
  Content before;  ///< never null; empty when absent, a placeholder when it is too large
  Content after;
};

/// Receives each file's text, in order, so that only a few files are in memory at one time.
using DiffSink = std::function<void(std::string_view)>;

/// Writes the proposal as `git diff --binary` prints it, files sorted by path. Directories, and
/// permission bits other than the executable one, do not appear: git does not store them.
///
/// `git apply` of the text to the bases gives the proposed files. A declared rename is shown as a
/// rename if its source is gone, and as a copy if the source stays in the change set; a type change
/// is a deletion and a creation. For a submodule the commit is shown, as in git. A file above
/// kMaxDiffedBytes is only named.
Result<void> render_diff(const Proposal& proposal, const ProposalDiffOptions& options,
                         const DiffSink& sink);
Result<std::string> render_diff(const Proposal& proposal, const ProposalDiffOptions& options);

/// Every file's diff as a value, in the same order.
Result<std::vector<ProposedFileDiff>> diff_proposal(const Proposal& proposal,
                                                    const ProposalDiffOptions& options = {});

/// The same without the contents, for diff_stat.h.
Result<std::vector<FileDiff>> summarize_proposal(const Proposal& proposal,
                                                 const ProposalDiffOptions& options = {});

// The mode and index lines of a git patch (git's diff-generate-patch documentation).

constexpr uint32_t kGitSymlink = 0120000;
constexpr uint32_t kGitSubmodule = 0160000;

/// Whether a mode line, if there was one, names this type.
[[nodiscard]] bool is_kind(const std::optional<uint32_t>& mode, uint32_t type);

/// Permission bits after a mode line: git sets only the executable bits.
[[nodiscard]] uint32_t with_git_mode(uint32_t permissions, uint32_t git_mode);

/// Whether the id of an index line names a content: it is long enough and not all zeros.
[[nodiscard]] bool names_blob(std::string_view digits);

/// Whether the full or shortened id of an index line is that of `content`.
[[nodiscard]] bool is_blob(std::string_view digits, std::string_view content);

}  // namespace galley
