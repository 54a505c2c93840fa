#include "staging/overlay/restaged.h"

#include <utility>

namespace galley {

std::vector<RelPath> restaged_paths(const Overlay::Entries& before, const Overlay::Entries& now) {
  std::vector<RelPath> paths;
  Overlay::Entries::differences(before, now,
                                [&paths](const RelPath& path, const auto* was, const auto* is) {
                                  const Node& old_node = was != nullptr ? was->now : is->before;
                                  const Node& new_node = is != nullptr ? is->now : was->before;
                                  if (old_node != new_node) paths.push_back(path);
                                });
  return paths;
}

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
