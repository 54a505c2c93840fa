#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/overlay/change_set.h"
#include "staging/printing/git_diff.h"
#include "staging/printing/rename.h"

namespace galley {

/// Maximum size of a file in a diff, and for Read and edits of tools. A diff shows a larger file as
/// `Binary files … differ`, as in git above core.bigFileThreshold.
inline constexpr uint64_t kMaxDiffedBytes = uint64_t{256} << 20U;

/// A placeholder for a content that is not read. It is binary, and differs for different contents.
[[nodiscard]] Content stand_in(const Node& node);

struct ProposalDiffOptions {
  DiffOptions file;
  bool find_renames = true;  ///< also by similarity, as in git
  RenameOptions renames;
};

/// The diff of one path of a proposal, with its contents.
///
/// Ownership: shares the contents. Line numbers in `diff` are indexes of Lines(*before) and
///            Lines(*after).
struct ProposedFileDiff {
  FileDiff diff;
  Content before;  ///< never null; empty if absent, a placeholder if too large
  Content after;
};

/// Receives the text of each file, in order. So only a few files are in memory at the same time.
using DiffSink = std::function<void(std::string_view)>;

/// Writes the proposal in the form of `git diff --binary`, with files sorted by path. Directories,
/// and permission bits other than the executable bit, do not appear, because git does not store
/// them.
///
/// `git apply` of the text turns the bases into the proposed files, except for files above
/// kMaxDiffedBytes, which are only named. A declared rename is shown as a rename if its source is
/// gone, and as a copy if the source still exists. A type change is a deletion and a creation. For
/// a submodule the commit is shown, as in git.
Result<void> render_diff(const Proposal& proposal, const ProposalDiffOptions& options,
                         const DiffSink& sink);
Result<std::string> render_diff(const Proposal& proposal, const ProposalDiffOptions& options);

/// Returns every file's diff as a value, in the same order.
Result<std::vector<ProposedFileDiff>> diff_proposal(const Proposal& proposal,
                                                    const ProposalDiffOptions& options = {});

/// As diff_proposal(), but without the contents, for diffstat() and the like.
Result<std::vector<FileDiff>> summarize_proposal(const Proposal& proposal,
                                                 const ProposalDiffOptions& options = {});

// The mode and index lines of a git patch (git's diff-generate-patch documentation).

constexpr uint32_t kGitSymlink = 0120000;
constexpr uint32_t kGitSubmodule = 0160000;

/// Whether a mode names this type of file; false without a mode.
[[nodiscard]] bool is_kind(const std::optional<uint32_t>& mode, uint32_t type);

/// The permission bits after a git mode is applied: only the executable bits change.
[[nodiscard]] uint32_t with_git_mode(uint32_t permissions, uint32_t git_mode);

/// Whether the id of an index line names a content: it has enough digits, and not all are zero.
[[nodiscard]] bool names_blob(std::string_view digits);

/// Whether the full or abbreviated id of an index line is that of `content`.
[[nodiscard]] bool is_blob(std::string_view digits, std::string_view content);

}  // namespace galley
