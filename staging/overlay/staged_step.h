#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// What one call, edit or command changed of what is staged, under the id that it has on record.
struct StagedStep {
  std::string execution_id;
  std::string tool;
  ChangeSet changes;  ///< from what the overlay held before it to what it held then; without bases

  /// Whether it changed this path, or something above or below it.
  [[nodiscard]] bool concerns(const RelPath& path) const;
};

/// Notes what is changed of an overlay during its life: the scope of one step.
///
/// Ownership: borrows the overlay, which may be null: then nothing is changed.
class StepScope {
 public:
  explicit StepScope(Overlay* overlay)
      : overlay_(overlay), begun_(overlay != nullptr ? overlay->begin_step() : 0) {}
  ~StepScope() { (void)finish(); }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

  /// What was changed; nothing when it is asked again.
  ChangeSet finish();

 private:
  Overlay* overlay_;
  size_t begun_;
};

/// What is kept of the steps of one transaction: the newest that change so many paths together.
inline constexpr size_t kMaxStepPaths = 200'000;
/// Drops the oldest steps beyond kMaxStepPaths.
void bound_steps(std::vector<StagedStep>& steps);

/// The text form of steps, for a transaction that outlives its process: a first line, and a block
/// for each step, so that what more calls changed is written at its end.
///
///     galley calls 2
///     call <execution id> TAB <tool>
///     <path> TAB <node before> TAB <node after>
///     end <paths of all blocks so far> <SHA-256 of the last line before the block, and the block>
[[nodiscard]] std::string encode_steps(const std::vector<StagedStep>& steps);

/// The end of a text form, which the blocks that are added to it continue.
struct StepsTail {
  std::string line;  ///< the last one, with its line feed
  size_t paths = 0;
};
/// At least the last line of a text form has so many bytes or fewer.
inline constexpr size_t kMaxStepsTailBytes = 128;
/// Reads it from a text form or from its last kMaxStepsTailBytes; nothing where that is no end.
[[nodiscard]] std::optional<StepsTail> tail_of_steps(std::string_view text);
/// The blocks to add after it.
[[nodiscard]] std::string encode_more_steps(StepsTail tail, const std::vector<StagedStep>& steps);

/// Reads it back.
/// Errors: kInvalid, reason `stage.damaged`, for any text that is not whole blocks that
///         encode_steps and encode_more_steps wrote.
Result<std::vector<StagedStep>> decode_steps(std::string_view text);

}  // namespace galley
