#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// The staged changes of one call, edit or command, under its execution id.
struct StagedStep {
  std::string execution_id;
  std::string tool;
  ChangeSet changes;  ///< from the overlay's state before it to the state after; without bases

  /// Whether it changed this path, or a path above or below it.
  [[nodiscard]] bool concerns(const RelPath& path) const;
};

/// Records the changes of an overlay during its life: the scope of one step.
///
/// Ownership: borrows the overlay, which may be null: finish() then returns nothing.
class StepScope {
 public:
  explicit StepScope(Overlay* overlay)
      : overlay_(overlay), begun_(overlay != nullptr ? overlay->begin_step() : 0) {}
  ~StepScope() { (void)finish(); }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

  /// The changes; empty at the second call.
  ChangeSet finish();

 private:
  Overlay* overlay_;
  size_t begun_;
};

/// Limit for the recorded steps of one transaction: the newest ones, with this many paths together.
inline constexpr size_t kMaxStepPaths = 200'000;
/// Drops the oldest steps above kMaxStepPaths.
void bound_steps(std::vector<StagedStep>& steps);

/// The text form of steps, for a transaction that outlives its process: a first line, then a block
/// for each step, so that later steps are appended.
///
///     galley calls 2
///     call <execution id> TAB <tool>
///     <path> TAB <node before> TAB <node after>
///     end <paths of all blocks so far> <SHA-256 of the last line before the block, and the block>
[[nodiscard]] std::string encode_steps(const std::vector<StagedStep>& steps);

/// The end of a text form, to which blocks are appended.
struct StepsTail {
  std::string line;  ///< the last one, with its line feed
  size_t paths = 0;
};
/// The last line of a text form has at most this many bytes.
inline constexpr size_t kMaxStepsTailBytes = 128;
/// Reads it from a text form or from its last kMaxStepsTailBytes; nothing if that is not an end.
[[nodiscard]] std::optional<StepsTail> tail_of_steps(std::string_view text);
/// The blocks to append.
[[nodiscard]] std::string encode_more_steps(StepsTail tail, const std::vector<StagedStep>& steps);

/// Reads the text form.
/// Errors: kInvalid, reason `stage.damaged`, for any text that is not complete blocks of
///         encode_steps and encode_more_steps.
Result<std::vector<StagedStep>> decode_steps(std::string_view text);

}  // namespace galley
