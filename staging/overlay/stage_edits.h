#pragma once

#include <functional>
#include <optional>
#include <string>
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
  bool reject = false;      ///< stage what fits even when something does not
  bool check_only = false;  ///< of Transaction::apply: tell what would become of it, keep nothing
  /// `PATH`, `PATH:N` (1-based) or `PATH:ID` (staging/overlay/edit_selection.h); with `only`
  /// nothing else is taken.
  std::vector<std::string> only;
  std::vector<std::string> except;
  std::string root;  ///< absolute path of the workspace, for absolute paths inside it; may be empty
  EarlierVersions earlier;  ///< where failures look for a version that fits; may be empty
  /// Which white space is wrong in a file; empty: git's defaults everywhere.
  std::function<WhiteSpaceRules(const RelPath&)> white_space_rules;
  /// Which files' contents the outcome may quote; empty: all.
  std::function<bool(const RelPath&)> may_read;
  /// Asked before each file, hunk and text edit, perhaps on several threads: a yes drops all.
  EndQuestion is_over;
};

/// What became of one FileEdit.
struct FileOutcome {
  FileOp op = FileOp::kModify;
  std::string path;
  std::string new_path;  ///< of a rename or copy
  uint32_t document_line = 0;
  bool is_staged = false;
  std::vector<Placement> placements;    ///< edits that fit
  std::vector<EditFailure> failures;    ///< edits that do not
  std::optional<Error> refusal;         ///< why the file as a whole cannot be edited
  std::optional<EarlierMatch> earlier;  ///< of failures: a version that the edits fit
  [[nodiscard]] bool fits() const { return failures.empty() && !refusal; }
};

/// What became of an edit document.
struct EditOutcome {
  bool is_staged = false;    ///< the overlay holds it: all of it, or with `reject` what fits
  bool is_complete = false;  ///< every edit fits
  std::vector<FileOutcome> files;
  std::vector<Leniency> leniencies;
  /// Of `only` and `except`: what named nothing in the document.
  std::vector<std::string> unmatched;
  /// With `only` or `except`: the paths that the document has.
  std::vector<std::string> document_paths;
};

/// Puts a set of edits onto the overlay: all of it or nothing.
///
/// As in git, a file that appears twice is edited twice in order, and what a rename or copy takes
/// from is the tree before the document, so chains and swaps work in any order.
///
/// Errors: only what kept us from finding out: I/O, limits, kTimeout `edit.interrupted`. What does
///         not fit, is missing or protected is in the outcome, and the overlay is as it was.
Result<EditOutcome> stage_edits(Overlay& overlay, const EditSet& edits,
                                const StageOptions& options);

/// What a failed edit expected against what is there, word by word: [-expected-]{+found+}. Empty
/// where one of them is unknown or both are long.
[[nodiscard]] std::string word_diff_of(const EditFailure& failure);

/// Takes out what would show the contents of files that may not be read: of an edit that does not
/// fit there remain the reason and line numbers.
void hide_unread(EditOutcome& outcome, const std::function<bool(const RelPath&)>& may_read);

/// The outcome for people: what was staged and how, or for each edit that does not fit the place,
/// the difference and the way out.
[[nodiscard]] std::string describe(const EditOutcome& outcome);

}  // namespace galley
