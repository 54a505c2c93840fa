#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/content_id.h"
#include "staging/fs/content_store.h"
#include "staging/overlay/change_set.h"

namespace galley {

class Overlay;

/// A frozen change set with the contents of both sides, named by its hash: what was shown and
/// judged is what a commit takes.
///
/// Invariant: id() == change_set_id(changes()); a changed byte, mode, path or target changes it.
/// Ownership: shares the content store; never changes after freeze().
/// Threads:   immutable, safe to share.
class Proposal {
 public:
  /// Freezes what the overlay proposes now.
  [[nodiscard]] static Proposal freeze(const Overlay& overlay);
  /// From a change set made elsewhere (undo, merge); every content must be in `store`.
  [[nodiscard]] static Proposal from(ChangeSet changes, std::shared_ptr<const ContentStore> store);

  [[nodiscard]] const ContentId& id() const { return id_; }
  [[nodiscard]] const ChangeSet& changes() const { return changes_; }
  /// What must still be so at the commit, beside the bases of the changes: what was read, when the
  /// overlay tracks it. No part of the id.
  [[nodiscard]] const std::vector<Read>& reads() const { return reads_; }
  [[nodiscard]] bool is_empty() const { return changes_.empty(); }
  /// The bytes of a file node or the target of a symlink node of either side.
  Result<Content> content(const Node& node) const;
  [[nodiscard]] const std::shared_ptr<const ContentStore>& store() const { return store_; }

 private:
  Proposal() = default;
  ContentId id_;
  ChangeSet changes_;
  std::vector<Read> reads_;
  std::shared_ptr<const ContentStore> store_;
};

}  // namespace galley
