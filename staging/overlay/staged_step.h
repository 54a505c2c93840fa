#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// The staged changes of one call, edit or command, under its execution id.
struct StagedStep {
  std::string execution_id;
  std::string tool;
  ChangeSet changes;  ///< from the state before the step to the state after

  /// Whether the step changed this path, or a path above or below it.
  [[nodiscard]] bool concerns(const RelPath& path) const;
};

/// Records the changes of an overlay during the lifetime of this object: one step.
///
/// Ownership: borrows the overlay. It may be null; then finish() returns an empty change set.
class StepScope {
 public:
  explicit StepScope(Overlay* overlay)
      : overlay_(overlay), begun_(overlay != nullptr ? overlay->begin_step() : 0) {}
  ~StepScope() { (void)finish(); }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

  /// Ends the step and returns its changes. A second call returns an empty change set.
  ChangeSet finish();

 private:
  Overlay* overlay_;
  size_t begun_;
};

/// Maximum number of paths in the recorded steps of one transaction. Only the newest steps are
/// kept.
inline constexpr size_t kMaxStepPaths = 200'000;
/// Removes the oldest steps, so that the rest has at most kMaxStepPaths paths.
void bound_steps(std::vector<StagedStep>& steps);

/// Returns the text form of steps, for a stored transaction: a first line, then a block for each
/// step. So later steps can be appended.
///
///     galley calls 2
///     call <execution id> TAB <tool>
///     <path> TAB <node before> TAB <node after>
///     end <paths of all blocks so far> <SHA-256>
///
/// The hash covers the last line before the block, the block, and the number of paths.
[[nodiscard]] std::string encode_steps(const std::vector<StagedStep>& steps);

/// The last line of a text form, which is needed to append blocks.
struct StepsTail {
  std::string line;  ///< with its line feed
  size_t paths = 0;
};
/// Maximum length of the last line of a text form, in bytes.
inline constexpr size_t kMaxStepsTailBytes = 128;
/// Reads the last line of a text form. `text` may be only its last kMaxStepsTailBytes bytes.
/// Returns nothing if the line is not valid.
[[nodiscard]] std::optional<StepsTail> tail_of_steps(std::string_view text);
/// Returns the blocks to append.
[[nodiscard]] std::string encode_more_steps(StepsTail tail, const std::vector<StagedStep>& steps);

/// Reads the text form.
/// Errors: kInvalid, reason `stage.damaged`, for a text that does not consist of complete blocks of
///         encode_steps() and encode_more_steps().
Result<std::vector<StagedStep>> decode_steps(std::string_view text);

/// The paths whose nodes differ between two states of the overlay, without paths that were only
/// read.
[[nodiscard]] std::vector<RelPath> restaged_paths(const Overlay::Entries& before,
                                                  const Overlay::Entries& now);

/// The changes since the overlay had the entries `before`, as a separate proposal.
[[nodiscard]] Proposal staged_since(const Overlay::Entries& before, const Overlay& overlay);

/// Maximum total size of files that are compared by similarity. Above it, only equal contents are
/// paired.
inline constexpr uint64_t kMaxInferredRenameBytes = uint64_t{32} << 20U;

/// Finds the files that a command moved. It pairs paths that are gone since `before` with new
/// paths, as git does (staging/printing/rename.h). Each paired new path then names its source, as
/// after Overlay::move. Nodes do not change.
Result<void> infer_renames(const Overlay::Entries& before, Overlay& overlay);

/// Counts changed paths as a diff lists them: a new or deleted directory counts only if no changed
/// path is in it.
class ShownPaths {
 public:
  explicit ShownPaths(const Overlay::Entries& entries);
  explicit ShownPaths(const ChangeSet& changes);

  [[nodiscard]] size_t count() const;

 private:
  void add(const RelPath& path, const Node& before, const Node& after);

  size_t others_ = 0;
  std::set<RelPath> folders_;  ///< new and deleted directories
  std::set<RelPath> parents_;  ///< directories above changed paths
};

}  // namespace galley
