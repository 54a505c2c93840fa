#include "staging/overlay/restaged.h"

#include <utility>

namespace galley {

std::vector<RelPath> restaged_paths(const Overlay::Entries& before, const Overlay::Entries& now) {
  std::vector<RelPath> paths;
  for (const auto& [path, entry] : now) {
    const auto was = before.find(path);
    const Node& node = was == before.end() ? entry.before : was->second.now;
    if (node != entry.now) paths.push_back(path);
  }
  for (const auto& [path, entry] : before) {
    if (!now.contains(path) && entry.before != entry.now) paths.push_back(path);
  }
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
