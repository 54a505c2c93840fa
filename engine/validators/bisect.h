#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace galley {

/// Indexes of pieces of a proposal (hunks, whole-file operations), ascending.
using PieceSet = std::vector<size_t>;

/// How the judge answered one subset.
enum class SubsetAnswer : uint8_t {
  kPasses,
  kFails,
  kUnresolved,  ///< it cannot be judged: pieces that need each other were parted
};

/// Judges the proposal made of these pieces alone.
using SubsetJudge = std::function<Result<SubsetAnswer>(const PieceSet&)>;

struct BisectRequest {
  size_t pieces = 0;  ///< how many there are
  SubsetJudge judge;  ///< called from `parallel` threads at once
  Deadline deadline;  ///< no new question is asked after it
  size_t parallel = 1;
  size_t max_questions = 2000;
};

struct BisectResult {
  PieceSet smallest_failing;  ///< no piece of it can be left out (when complete)
  PieceSet largest_passing;   ///< no further piece can be added (when complete)
  size_t questions = 0;       ///< subsets judged; each is judged once
  bool is_complete = false;   ///< false: the deadline or the bound on questions came first
};

/// Splits a refused proposal by delta debugging: ddmin for the smallest failing set and its
/// counterpart for the largest passing one (Zeller and Hildebrandt, Simplifying and Isolating
/// Failure-Inducing Input, IEEE TSE 28(2), 2002). Both are minimal and maximal by one piece, not
/// among all subsets. Nothing is assumed about the judge: every set in the result was judged.
///
/// Errors: the judge's own; kInvalid `bisect.nothing_fails` when the whole does not fail.
[[nodiscard]] Result<BisectResult> bisect(const BisectRequest& request, const Clock& clock);

}  // namespace galley
