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

/// The files that a change touches, as they are without it: what "only new" is compared with.
///
/// Ownership: borrows the unchanged tree of `changed`, not `changed` itself.
class UnchangedFiles {
 public:
  explicit UnchangedFiles(const ProposedTree& changed);
  UnchangedFiles(const UnchangedFiles&) = delete;
  UnchangedFiles& operator=(const UnchangedFiles&) = delete;

  /// A proposal that changes nothing about these files, on the unchanged tree.
  [[nodiscard]] const ProposedTree& tree() const { return tree_; }

 private:
  Proposal proposal_;
  ProposedTree tree_;
};

/// What stands in the place of a finding that was left out; nothing: nothing does.
using LeftOutNote = std::function<std::optional<Finding>(const Finding&)>;

/// Takes out of `findings` those that `known`, of the unchanged tree, has as well, each as often:
/// compared by rule, file (through the renames of the proposal), message, and the line where each
/// was before. One on a line that the proposal wrote is always new; one without a line is compared
/// without it.
[[nodiscard]] std::vector<Finding> without_known(std::vector<Finding> findings,
                                                 const std::vector<Finding>& known,
                                                 const ProposedTree& changed,
                                                 const LeftOutNote& note_for = {});

/// A validator that says what `inner` says, but for what it says about the unchanged files too.
[[nodiscard]] std::unique_ptr<Validator> make_new_findings_validator(
    std::unique_ptr<Validator> inner);

/// Lines [begin, end) of the new text that the change added, counted from 0.
struct LineBlock {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const LineBlock&) const = default;
};

/// The added lines of a change, in order; all lines when there was no text before.
[[nodiscard]] std::vector<LineBlock> added_lines(std::string_view before, const Lines& after);

}  // namespace galley
