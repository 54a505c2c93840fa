#include "staging/overlay/bare_directories.h"

#include <algorithm>

namespace galley {
namespace {

/// The diff has a line for a submodule.
bool is_own_directory(const Node& node) {
  return node.kind == FileKind::kDirectory && !is_submodule(node);
}

/// Whether `wanted` holds for a change below the directory.
template <class Wanted>
bool any_below(const ChangeSet& changes, const RelPath& directory, Wanted wanted) {
  const std::string prefix = directory.str() + "/";
  auto at = std::lower_bound(
      changes.begin(), changes.end(), prefix,
      [](const Change& change, const std::string& text) { return change.path.str() < text; });
  for (; at != changes.end() && at->path.str().starts_with(prefix); ++at) {
    if (wanted(*at)) return true;
  }
  return false;
}

}  // namespace

std::vector<const Change*> bare_directories(const ChangeSet& changes) {
  std::vector<const Change*> found;
  const RelPath* removed = nullptr;  // the last one, of which those below it need no word
  for (const Change& change : changes) {
    const bool was = is_own_directory(change.before);
    const bool is = is_own_directory(change.after);
    if (!was && !is) continue;
    bool is_told = false;
    if (!was) {
      is_told = any_below(changes, change.path, [](const Change& other) {
        return other.after.kind != FileKind::kAbsent;
      });
    } else if (!is) {
      is_told = (removed != nullptr && change.path.is_below(*removed)) ||
                any_below(changes, change.path, [](const Change& other) {
                  return other.before.kind != FileKind::kAbsent && !is_own_directory(other.before);
                });
    }
    if (is_told) continue;
    found.push_back(&change);
    if (!is) removed = &change.path;
  }
  return found;
}

}  // namespace galley
