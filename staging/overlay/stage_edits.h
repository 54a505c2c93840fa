#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/corrected_edits.h"
#include "staging/overlay/earlier_version.h"
#include "staging/overlay/overlay.h"
#include "staging/placing/place.h"
#include "staging/placing/white_space.h"

namespace galley {

/// Options for staging a set of edits.
struct StageOptions {
  MatchOptions match;
  bool reject = false;      ///< stage the edits that fit even if some do not
  bool check_only = false;  ///< for Transaction::apply: only report the result
  /// The choices are for several documents. The caller checks EditOutcome::void_choices of all.
  bool may_have_void_choices = false;
  /// Whether a document that does not fit gets a correction. Not if the paths or the direction that
  /// it states are changed by options: the correction states those of the tree.
  bool is_corrected = true;
  /// `PATH`, `PATH:N` (1-based) or `PATH:ID` (staging/overlay/edit_selection.h). If `only` is not
  /// empty, nothing else is staged.
  std::vector<std::string> only;
  std::vector<std::string> except;
  std::string root;  ///< absolute path of the workspace, for absolute paths inside it; may be empty
  EarlierVersions earlier;  ///< earlier versions for edits that fail; may be empty
  /// Whether a sparse checkout leaves out a file of this name. Then no other file is taken for it.
  /// Empty: nothing is known.
  std::function<bool(const RelPath&)> is_left_out;
  IsStale is_stale;  ///< empty: nothing is known about what the caller saw
  /// Returns the white space rules of a file; empty: git's defaults for all files.
  std::function<WhiteSpaceRules(const RelPath&)> white_space_rules;
  /// Whether the outcome may show a file's content; empty: all.
  std::function<bool(const RelPath&)> may_read;
  /// Called before each file, hunk and text edit, possibly on several threads. If it returns true,
  /// nothing is staged.
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
  std::optional<EarlierMatch> earlier;  ///< for failures: a version that the edits fit
  std::string nearby;  ///< for a missing file: the file of its name in a folder near by
  [[nodiscard]] bool fits() const { return failures.empty() && !refusal; }
};

/// The outcome of an edit document.
struct EditOutcome {
  bool is_staged = false;    ///< the overlay has all edits or, with `reject`, those that fit
  bool is_complete = false;  ///< every edit fits
  std::vector<FileOutcome> files;
  std::vector<Leniency> leniencies;
  std::optional<CorrectedEdits> correction;  ///< of a document that does not fit
  /// Names in `only` and `except` that did not match anything in the document.
  std::vector<std::string> unmatched;
  /// Ids in MatchOptions::choices that selected no place.
  std::vector<std::string> void_choices;
  /// With `only` or `except`: the paths in the document.
  std::vector<std::string> document_paths;
};

/// The error of an id that selected no place. The edit may fit at another place, which was not
/// chosen.
[[nodiscard]] tl::unexpected<Error> void_choice(const std::string& id);

/// Stages a set of edits in the overlay: all of them or none. With `reject`, it stages the edits
/// that fit.
///
/// As in git, a file that occurs twice is edited twice, in order. A rename or copy reads its source
/// from the tree before the document, so chains and swaps work in any order. A rename also takes
/// the edits that the document made before.
///
/// Errors: I/O, limits, kTimeout `edit.interrupted`, kRefused `edit.leniency` and
///         `patch.choice_void`. An edit that does not fit, or whose path is missing or protected,
///         is not an Error, but a failure or refusal in the outcome. After an Error the overlay is
///         unchanged.
Result<EditOutcome> stage_edits(Overlay& overlay, const EditSet& edits,
                                const StageOptions& options);

/// The difference between the expected and the current text of a failed edit, word by word:
/// [-expected-]{+found+}. Empty if one of them is unknown or they are too long.
[[nodiscard]] std::string word_diff_of(const EditFailure& failure);

/// Removes the contents of files that may not be read from the outcome. A failed edit of such a
/// file keeps only the reason and line numbers.
void hide_unread(EditOutcome& outcome, const std::function<bool(const RelPath&)>& may_read);

/// Cuts the lines of files that failures show after 4 KiB each. Drops a corrected hunk of over
/// 64 KiB.
void cut_long_lines(EditOutcome& outcome);

/// The outcome as a text. It shows how the staged edits were placed. For each edit that does not
/// fit, it shows the place, the difference and the remedy. After the first few of a file that fail
/// for one reason it only counts those without a remedy.
[[nodiscard]] std::string describe(const EditOutcome& outcome);
/// As describe(), for people: after the first few it also counts those with a remedy. explain() and
/// the JSON have each in full.
[[nodiscard]] std::string summarize(const EditOutcome& outcome);
/// Whether summarize() only counts some of the edits.
[[nodiscard]] bool is_shortened(const EditOutcome& outcome);

/// A step of matching that did not find a place.
struct TriedStep {
  MatchStep step = MatchStep::kExact;
  std::string_view why;
};
/// The steps that were tried before the step of a placement.
[[nodiscard]] std::vector<TriedStep> tried_steps(const Placement& placement);
/// The steps up to `last` that were tried for a failed edit. Empty unless it failed because its
/// lines were not found.
[[nodiscard]] std::vector<TriedStep> tried_steps(const EditFailure& failure, MatchStep last);

/// A text that explains how a document was understood: every edit with its place and step, the
/// steps tried before, and every leniency. `last` is the last allowed step.
[[nodiscard]] std::string explain(const EditOutcome& outcome, MatchStep last);

}  // namespace galley
