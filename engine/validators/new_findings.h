#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/policy/proposed_tree.h"
#include "engine/policy/validator.h"
#include "staging/text/lines.h"

namespace galley {

/// The files of a change in their unchanged state: the reference for `only_new`.
///
/// Ownership: borrows the unchanged tree of `changed`, not `changed` itself.
class UnchangedFiles {
 public:
  explicit UnchangedFiles(const ProposedTree& changed);
  UnchangedFiles(const UnchangedFiles&) = delete;
  UnchangedFiles& operator=(const UnchangedFiles&) = delete;

  /// Returns the unchanged tree, with a proposal that names these files but does not change them.
  [[nodiscard]] const ProposedTree& tree() const { return tree_; }

 private:
  Proposal proposal_;
  ProposedTree tree_;
};

/// Returns a replacement for a removed finding, or nullopt.
using LeftOutNote = std::function<std::optional<Finding>(const Finding&)>;

/// Removes the findings that are also in `known` (the findings of the unchanged tree). Counts equal
/// findings. Compares rule, file (following renames of the proposal), message and former line. A
/// finding on a line that the proposal wrote is always new. A finding without a line is compared
/// without it.
[[nodiscard]] std::vector<Finding> without_known(std::vector<Finding> findings,
                                                 const std::vector<Finding>& known,
                                                 const ProposedTree& changed,
                                                 const LeftOutNote& note_for = {});

/// Makes a validator that returns the findings of `inner`, except those that `inner` also has for
/// the unchanged files.
[[nodiscard]] std::unique_ptr<Validator> make_new_findings_validator(
    std::unique_ptr<Validator> inner);

/// Added lines [begin, end) of the new text, counted from 0.
struct LineBlock {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const LineBlock&) const = default;
};

/// Returns the added lines of a change, in order; all lines of a new file.
[[nodiscard]] std::vector<LineBlock> added_lines(std::string_view before, const Lines& after);

}  // namespace galley
