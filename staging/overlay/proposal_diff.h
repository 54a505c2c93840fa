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
/// differ`, as git does with what is beyond core.bigFileThreshold.
inline constexpr uint64_t kMaxDiffedBytes = uint64_t{256} << 20U;

struct ProposalDiffOptions {
  DiffOptions file;
  bool find_renames = true;  ///< beside those that were declared, by similarity as git does
  RenameOptions renames;
};

/// The diff of one path of a proposal, with the contents that it speaks of.
///
/// Ownership: shares the contents; line numbers in `diff` index Lines(*before) and Lines(*after).
struct ProposedFileDiff {
  FileDiff diff;
  Content before;  ///< never null; empty when absent, a word for it when it is too large
  Content after;
};

/// Takes each file's text, in order, so that only a few files are held at once.
using DiffSink = std::function<void(std::string_view)>;

/// Writes the proposal as `git diff --binary` prints it, files in order of path. Directories and
/// permission bits other than the executable one do not appear: git does not know them.
///
/// The text applied to the bases by `git apply` gives the proposed files. A declared rename is
/// shown as one when its source is gone, as a copy when the source stays in the change set; a type
/// change is a deletion and a creation. Of a submodule the commit is shown, as git does. What is
/// larger than kMaxDiffedBytes is named and not shown.
Result<void> render_diff(const Proposal& proposal, const ProposalDiffOptions& options,
                         const DiffSink& sink);
Result<std::string> render_diff(const Proposal& proposal, const ProposalDiffOptions& options);

/// Every file's diff as a value, in the same order.
Result<std::vector<ProposedFileDiff>> diff_proposal(const Proposal& proposal,
                                                    const ProposalDiffOptions& options = {});

/// The same without the contents: what diff_stat.h takes.
Result<std::vector<FileDiff>> summarize_proposal(const Proposal& proposal,
                                                 const ProposalDiffOptions& options = {});

// What the mode and index lines of a git patch say (git's diff-generate-patch documentation).

constexpr uint32_t kGitSymlink = 0120000;
constexpr uint32_t kGitSubmodule = 0160000;

/// Whether a mode line, if there was one, names this type.
[[nodiscard]] bool is_kind(const std::optional<uint32_t>& mode, uint32_t type);

/// Permission bits after a mode line: only the executable bits are git's to say.
[[nodiscard]] uint32_t with_git_mode(uint32_t permissions, uint32_t git_mode);

/// Whether the id of an index line names a content at all: long enough, and not the id of nothing.
[[nodiscard]] bool names_blob(std::string_view digits);

/// Whether the id of an index line, in full or shortened, is that of `content`.
[[nodiscard]] bool is_blob(std::string_view digits, std::string_view content);

}  // namespace galley
