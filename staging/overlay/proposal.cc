#include "staging/overlay/proposal.h"

#include <utility>

#include "staging/overlay/overlay.h"

namespace galley {

Proposal Proposal::freeze(const Overlay& overlay) {
  Proposal proposal = from(overlay.changes(), overlay.store());
  if (overlay.tracks_reads()) {
    proposal.reads_ = std::make_shared<const std::vector<Read>>(overlay.reads());
  }
  return proposal;
}

Proposal Proposal::from(ChangeSet changes, std::shared_ptr<const ContentStore> store) {
  Proposal proposal;
  proposal.id_ = change_set_id(changes);
  proposal.changes_ = std::move(changes);
  proposal.reads_ = std::make_shared<const std::vector<Read>>();
  proposal.store_ = std::move(store);
  return proposal;
}

Result<Content> Proposal::content(const Node& node) const {
  if (node.kind != FileKind::kRegular && node.kind != FileKind::kSymlink && !is_submodule(node)) {
    return fail(ErrorKind::kInternal, "proposal.no_content",
                "only files, links and submodules have a content");
  }
  return store_->get(node.content);
}

}  // namespace galley
