#include "engine/calls/seen_contents.h"

#include <algorithm>

namespace galley {

void SeenContents::note(const std::string& session, const RelPath& path, const ContentId& content) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = seen_.try_emplace({session, path});
  std::deque<ContentId>& versions = at->second;
  if (std::find(versions.begin(), versions.end(), content) == versions.end()) {
    versions.push_back(content);
    if (versions.size() > kMaxSeenVersions) versions.pop_front();
  }
  if (!is_new) return;
  by_age_.push_back(at->first);
  if (by_age_.size() <= kMaxSeenFiles) return;
  seen_.erase(by_age_.front());
  by_age_.pop_front();
}

bool SeenContents::knows(const std::string& session, const RelPath& path,
                         const ContentId& content) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find({session, path});
  if (found == seen_.end()) return true;
  return std::find(found->second.begin(), found->second.end(), content) != found->second.end();
}

}  // namespace galley
