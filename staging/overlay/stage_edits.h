#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/earlier_version.h"
#include "staging/overlay/overlay.h"
#include "staging/placing/place.h"
#include "staging/placing/place_until.h"
#include "staging/placing/white_space.h"

namespace galley {

/// How a set of edits is staged.
struct StageOptions {
  MatchOptions match;
  bool reject = false;      ///< stage the edits that fit even if some do not
  bool check_only = false;  ///< for Transaction::apply: report the result, keep nothing
  /// `PATH`, `PATH:N` (1-based) or `PATH:ID` (staging/overlay/edit_selection.h); with `only`,
  /// nothing else is staged.
  std::vector<std::string> only;
  std::vector<std::string> except;
  std::string root;  ///< absolute path of the workspace, for absolute paths inside it; may be empty
  EarlierVersions earlier;  ///< earlier versions for edits that fail; may be empty
  /// Which white space is an error in a file; empty: git's defaults everywhere.
  std::function<WhiteSpaceRules(const RelPath&)> white_space_rules;
  /// Which files' contents the outcome may show; empty: all.
  std::function<bool(const RelPath&)> may_read;
  /// Asked before each file, hunk and text edit, possibly on several threads: a yes drops
  /// everything.
  EndQuestion is_over;
};

/// The outcome of one FileEdit.
struct FileOutcome {
  FileOp op = FileOp::kModify;
  std::string path;
  std::string new_path;  ///< of a rename or copy
  uint32_t document_line = 0;
  bool is_staged = false;
  std::vector<Placement> placements;    ///< edits that fit
  std::vector<EditFailure> failures;    ///< edits that do not
  std::optional<Error> refusal;         ///< why the file as a whole cannot be edited
  std::optional<EarlierMatch> earlier;  ///< of failures: a version on which the edits fit
  [[nodiscard]] bool fits() const { return failures.empty() && !refusal; }
};

/// The outcome of an edit document.
struct EditOutcome {
  bool is_staged = false;    ///< the overlay has all or, with `reject`, the edits that fit
  bool is_complete = false;  ///< every edit fits
  std::vector<FileOutcome> files;
  std::vector<Leniency> leniencies;
  /// Names in `only` and `except` that matched nothing in the document.
  std::vector<std::string> unmatched;
  /// With `only` or `except`: the paths in the document.
  std::vector<std::string> document_paths;
};

/// Stages a set of edits in the overlay: all of it or nothing.
///
/// As in git, a file that appears twice is edited twice in order, and a rename or copy reads its
/// source from the tree before the document, so chains and swaps work in any order.
///
/// Errors: only when the outcome could not be determined: I/O, limits, kTimeout `edit.interrupted`.
///         An edit that does not fit, or whose path is missing or protected, is in the outcome, and
///         the overlay is unchanged.
Result<EditOutcome> stage_edits(Overlay& overlay, const EditSet& edits,
                                const StageOptions& options);

/// The difference between the expected and the current text of a failed edit, word by word:
/// [-expected-]{+found+}. Empty when one is unknown or both are long.
[[nodiscard]] std::string word_diff_of(const EditFailure& failure);

/// Removes from the outcome the contents of files that may not be read: a failed edit of such a
/// file keeps only the reason and line numbers.
void hide_unread(EditOutcome& outcome, const std::function<bool(const RelPath&)>& may_read);

/// The outcome for people: what was staged and how, or for each edit that does not fit the place,
/// the difference and the remedy.
[[nodiscard]] std::string describe(const EditOutcome& outcome);

/// A step of matching that gave no place.
struct TriedStep {
  MatchStep step = MatchStep::kExact;
  std::string_view why;
};
/// The steps that are tried before the step of a placement.
[[nodiscard]] std::vector<TriedStep> tried_steps(const Placement& placement);
/// The steps up to `last` that were tried for a failed edit; empty if it failed for another reason
/// than that its lines are nowhere.
[[nodiscard]] std::vector<TriedStep> tried_steps(const EditFailure& failure, MatchStep last);

/// The outcome for a person who wants to know how a document was understood: every edit with its
/// place and step, the steps tried before, and every leniency. `last` is the last step allowed.
[[nodiscard]] std::string explain(const EditOutcome& outcome, MatchStep last);

}  // namespace galley
