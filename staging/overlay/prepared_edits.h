#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"
#include "staging/placing/search_help.h"

namespace galley {

/// The result of one file's edits on a base, and the details for the outcome.
struct EditedFile {
  Content content;
  std::optional<ContentId> id;  ///< of the content, if it was hashed
  std::vector<Placement> placements;
  std::vector<Leniency> leniencies;
};

/// Applies the edits of one part of a document in parallel to the files on disk, before the part is
/// planned.
///
/// A result is valid only for its base. The planner asks for the result on the base that earlier
/// edits have left. If there is none, it applies the edit itself. So the outcome is the same as in
/// sequential order. Edits that do not fit are left to the planner.
///
/// Ownership: borrows the edits. Threads: confined to one thread; of() uses several.
class PreparedEdits {
 public:
  /// Applies the edits, unless there are so few files that threads cost more than they save. Passes
  /// the files that it read to `overlay`, which need not read them again.
  static PreparedEdits of(Overlay& overlay, std::span<const FileEdit> edits,
                          const StageOptions& options, bool is_reversed);

  /// Returns the result of the edit on `base`, and removes it; nothing if there is none.
  [[nodiscard]] std::optional<EditedFile> take(const FileEdit& edit, const Content& base);

 private:
  struct Prepared {
    Content base;
    EditedFile result;
  };
  std::unordered_map<const FileEdit*, Prepared> prepared_;
};

/// Options for one file's edit, and the objects that receive its outcome.
struct EditedContext {
  const StageOptions& options;
  bool is_reversed = false;  ///< the whole document is reversed
  SearchHelp* help;          ///< of the whole document: its work is bounded; null: no help
  std::vector<Leniency>& leniencies;
  FileOutcome& outcome;
  std::optional<GitOid> base_blob = {};  ///< git's name of the base, if known
};

/// Returns the content `base` after an edit. The outcome lists edits that do not fit as failures.
/// Errors: kRefused, kConflict or kInvalid if the file as a whole cannot be edited; kQuota;
///         kTimeout.
Result<std::string> edited_content(const FileEdit& edit, const RelPath& path,
                                   const std::string& base, const EditedContext& context);

}  // namespace galley
