#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/content_id.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"

namespace galley {

/// The result of one file's edits on a base, with everything for the outcome.
struct EditedFile {
  Content content;
  std::optional<ContentId> id;  ///< of the content, if it was hashed
  std::vector<Placement> placements;
  std::vector<Leniency> leniencies;
};

/// The edits of one part of a document, applied in parallel to the files on disk before the part is
/// planned.
///
/// A result is valid only for the base that it was made from. The planner asks with the base that
/// earlier edits have left, and applies an edit itself if it gets nothing. The outcome is thus the
/// same as for one file after the other. Edits that do not fit are left out.
///
/// Ownership: borrows the edits. Threads: confined to one thread; of() uses several.
class PreparedEdits {
 public:
  /// A few files are not prepared: that would cost more than it saves. The files that were read are
  /// handed to `overlay`, which then need not read them again.
  static PreparedEdits of(Overlay& overlay, std::span<const FileEdit> edits,
                          const StageOptions& options, bool is_reversed);

  /// The result of the edit on `base`; null if there is none. It can be taken once.
  [[nodiscard]] std::optional<EditedFile> take(const FileEdit& edit, const Content& base);

 private:
  struct Prepared {
    Content base;
    EditedFile result;
  };
  std::unordered_map<const FileEdit*, Prepared> prepared_;
};

}  // namespace galley
