#include "engine/commit/unbound_state.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/file_mode.h"

namespace galley {
namespace {

/// Kinds whose unbound files could be taken for the workspace's own. Derived state is left out: it
/// is made again.
constexpr std::string_view kKinds[] = {"approvals",  "confirmations", "contents", "grants", "links",
                                       "quarantine", "rescue",        "runs",     "stage"};
/// Files of an earlier Galley, and where they are now.
constexpr std::string_view kEarlierLinks = "git-commits";
constexpr std::string_view kLinks = "links/git-commits";

}  // namespace

Result<std::vector<UnboundState>> unbound_state(const StateDirectory& state) {
  std::vector<UnboundState> unbound;
  const Directory& root = state.root();
  for (const std::string_view kind : kKinds) {
    const auto folder = root.open_directory(chosen_path(kind));
    if (!folder && folder.error().kind == ErrorKind::kNotFound) continue;
    if (!folder) {  // a file or a link
      unbound.push_back({std::string(kind), std::string(kind)});
      continue;
    }
    GALLEY_ASSIGN(const auto entries, (*folder)->list());
    const std::string own = state.own(kind).str().substr(kind.size() + 1);
    for (const DirectoryEntry& entry : entries) {
      if (entry.name == own) continue;
      unbound.push_back({std::string(kind), std::string(kind) + "/" + entry.name});
    }
  }
  GALLEY_ASSIGN(const FileStat links, root.stat(chosen_path(kEarlierLinks)));
  if (links.kind != FileKind::kAbsent) {
    unbound.push_back({std::string(kEarlierLinks), std::string(kEarlierLinks)});
  }
  std::sort(unbound.begin(), unbound.end(),
            [](const auto& a, const auto& b) { return a.place < b.place; });
  return unbound;
}

std::string told(const std::vector<UnboundState>& unbound) {
  if (unbound.empty()) return {};
  std::string text = "ignoring .galley/" + unbound.front().place;
  if (unbound.size() > 1) text += " and " + std::to_string(unbound.size() - 1) + " more like it";
  return text +
         ": not bound to this workspace, so it came with a pull or a copy, or is of an earlier "
         "Galley; `galley recover --adopt` shows it and takes it over, or delete it";
}

Result<void> bind_state(const StateDirectory& state, const UnboundState& unbound) {
  const WritableDirectory& root = state.root();
  GALLEY_ASSIGN(const RelPath from, RelPath::parse(unbound.place));
  const RelPath place = state.own(unbound.kind == kEarlierLinks ? kLinks : from.str());
  GALLEY_TRY(make_directories(root, place.parent(), kPrivateDirectory));
  auto moved = root.rename(from, root, place, RenameMode::kNoReplace);
  if (moved || moved.error().os_error != EEXIST) return moved;
  return fail(
      ErrorKind::kConflict, "state.changed",
      "'.galley/" + place.str() + "' is there already; move .galley/" + unbound.place + " away",
      ".galley/" + unbound.place);
}

}  // namespace galley
