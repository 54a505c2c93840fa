#include <utility>

#include "base/limits.h"
#include "staging/overlay/overlay.h"

namespace galley {

// A view and its overlay meet in three places only, which makes reading on several threads safe:
//
//   entries_   each has a map of its own; what two maps share is never changed (SharedMap)
//   store_     has a lock of its own
//   workspace_ its calls may run side by side
//
// Everything else (listings, recent contents, the version) belongs to one overlay and is touched
// by the one thread that has it. take_reads() runs when the view's thread has ended.

Overlay Overlay::reading_view() const {
  Overlay view(*workspace_, store_, *clock_);
  view.share(*this);
  view.tracks_reads_ = tracks_reads_;
  return view;
}

bool Overlay::take_reads(const Overlay& view) {
  struct New {
    RelPath path;
    Entry seen;
  };
  std::vector<New> found;
  size_t added = 0;
  bool is_consistent = true;
  Entries::differences(entries_, view.entries_,
                       [&](const RelPath& path, const Entry* mine, const Entry* seen) {
                         if (seen == nullptr) return;
                         found.push_back({path, *seen});
                         if (mine == nullptr) {
                           ++added;
                           return;
                         }
                         const bool has_both = mine->listing && seen->listing;
                         if (mine->before != seen->before) is_consistent = false;
                         if (has_both && mine->listing != seen->listing) is_consistent = false;
                       });
  if (!is_consistent || entries_.size() + added > limits::kMaxChanges) return false;
  if (found.empty()) return true;  // it touched nothing new
  Entries& entries = changing();
  for (New& one : found) {
    const auto [mine, is_new] = entries.try_emplace(one.path, one.seen);
    if (!is_new && !mine->listing) mine->listing = one.seen.listing;
  }
  for (const auto& [id, content] : view.recent_) remember(content, id);
  return true;
}

}  // namespace galley
