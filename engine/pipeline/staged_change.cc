#include "engine/pipeline/staged_change.h"

#include <utility>

#include "engine/pipeline/early_policy.h"

namespace galley {

Proposal staged_since(const Overlay::Entries& before, const Overlay& overlay) {
  const Overlay::Entries& entries = overlay.entries();
  ChangeSet changes;
  for (const RelPath& path : restaged_paths(before, entries)) {
    const auto was = before.find(path);
    const auto now = entries.find(path);
    Change change;
    change.path = path;
    change.before = was == before.end() ? now->second.before : was->second.now;
    change.after = now == entries.end() ? was->second.before : now->second.now;
    changes.push_back(std::move(change));
  }
  return Proposal::from(std::move(changes), overlay.store());
}

}  // namespace galley
