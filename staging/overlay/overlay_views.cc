#include <utility>

#include "base/limits.h"
#include "staging/overlay/overlay.h"

namespace galley {

// A view and its overlay meet in three places only, which makes reading on several threads safe:
//
//   entries_   shared and never changed again: is_shared_ is set in both before the view is handed
//              out, and own_entries() copies before the first change
//   store_     has a lock of its own
//   workspace_ its calls may run side by side
//
// Everything else (listings, recent contents, the version) belongs to one overlay and is touched
// by the one thread that has it. take_reads() runs when the view's thread has ended.

Overlay Overlay::reading_view() {
  Overlay view(*workspace_, store_, *clock_);
  view.share(*this);
  view.tracks_reads_ = tracks_reads_;
  return view;
}

bool Overlay::take_reads(const Overlay& view) {
  if (view.entries_ == entries_) return true;  // it touched nothing new
  size_t added = 0;
  for (const auto& [path, seen] : *view.entries_) {
    const auto mine = entries_->find(path);
    if (mine == entries_->end()) {
      ++added;
      continue;
    }
    const bool has_both = mine->second.listing && seen.listing;
    if (mine->second.before != seen.before) return false;
    if (has_both && mine->second.listing != seen.listing) return false;
  }
  if (entries_->size() + added > limits::kMaxChanges) return false;
  Entries& entries = own_entries();
  for (const auto& [path, seen] : *view.entries_) {
    const auto [mine, is_new] = entries.try_emplace(path, seen);
    if (!is_new && !mine->second.listing) mine->second.listing = seen.listing;
  }
  for (const auto& [id, content] : view.recent_) remember(content, id);
  return true;
}

}  // namespace galley
