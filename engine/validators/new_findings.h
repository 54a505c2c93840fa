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

/// The files that a change touches, without the change: the reference for "only new".
///
/// Ownership: borrows the unchanged tree of `changed`, not `changed` itself.
class UnchangedFiles {
 public:
  explicit UnchangedFiles(const ProposedTree& changed);
  UnchangedFiles(const UnchangedFiles&) = delete;
  UnchangedFiles& operator=(const UnchangedFiles&) = delete;

  /// A proposal that names these files but does not change them, on the unchanged tree.
  [[nodiscard]] const ProposedTree& tree() const { return tree_; }

 private:
  Proposal proposal_;
  ProposedTree tree_;
};

/// Returns a replacement for a finding that was left out, or nullopt for none.
using LeftOutNote = std::function<std::optional<Finding>(const Finding&)>;

/// Removes from `findings` those that are also in `known` (the findings of the unchanged tree),
/// counting repeated ones. Findings are compared by rule, file (through the renames of the
/// proposal), message and former line. A finding on a line that the proposal wrote is always new;
/// one without a line is compared without it.
[[nodiscard]] std::vector<Finding> without_known(std::vector<Finding> findings,
                                                 const std::vector<Finding>& known,
                                                 const ProposedTree& changed,
                                                 const LeftOutNote& note_for = {});

/// A validator that returns the findings of `inner`, except those that `inner` also has for the
/// unchanged files.
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
