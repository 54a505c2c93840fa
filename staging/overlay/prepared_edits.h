#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/content_id.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"

namespace galley {

/// What one file's edits make of a base, with everything that the outcome says of it.
struct EditedFile {
  Content content;
  std::optional<ContentId> id;  ///< of the content, where it was hashed
  std::vector<Placement> placements;
  std::vector<Leniency> leniencies;
};

/// The edits of one part of a document, worked out side by side before the part is planned: each on
/// its file as it is on disk.
///
/// A result counts only for the bytes that it was made of. Whoever plans asks with the base that
/// the edits before have left, and works out anew what is not answered; so the outcome is that of
/// one file after the other. Edits that do not fit are never answered.
///
/// Ownership: borrows the edits. Threads: confined to one thread; of() uses several.
class PreparedEdits {
 public:
  /// Nothing is prepared of a few files: that would cost more than it saves. The files that were
  /// read are handed to `overlay`, which then need not read them again.
  static PreparedEdits of(Overlay& overlay, std::span<const FileEdit> edits,
                          const StageOptions& options, bool is_reversed);

  /// What the edit makes of `base`; null where that was not prepared. It is given away once.
  [[nodiscard]] std::optional<EditedFile> take(const FileEdit& edit, const Content& base);

 private:
  struct Prepared {
    Content base;
    EditedFile result;
  };
  std::unordered_map<const FileEdit*, Prepared> prepared_;
};

}  // namespace galley
