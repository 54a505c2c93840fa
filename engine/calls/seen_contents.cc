#include "engine/calls/seen_contents.h"

#include <algorithm>

namespace galley {

void SeenContents::note(const std::string& session, const RelPath& path, const ContentId& content,
                        Content text) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = seen_.try_emplace({session, path});
  std::deque<ContentId>& versions = at->second.versions;
  if (std::find(versions.begin(), versions.end(), content) == versions.end()) {
    versions.push_back(content);
    if (versions.size() > kMaxSeenVersions) versions.pop_front();
  }
  keep(at->first, std::move(text));
  if (!is_new) return;
  by_age_.push_back(at->first);
  if (by_age_.size() <= kMaxSeenFiles) return;
  drop_text(by_age_.front());
  seen_.erase(by_age_.front());
  by_age_.pop_front();
}

void SeenContents::keep(const Key& key, Content text) {
  drop_text(key);
  if (text == nullptr || text->size() > kMaxSeenText) return;
  text_bytes_ += text->size();
  File& file = seen_.at(key);
  file.text = std::move(text);
  file.order = next_order_++;
  by_text_.emplace(file.order, key);
  while (text_bytes_ > kMaxSeenTexts) drop_text(Key(by_text_.begin()->second));
}

void SeenContents::drop_text(const Key& key) {
  const auto found = seen_.find(key);
  if (found == seen_.end() || found->second.text == nullptr) return;
  text_bytes_ -= found->second.text->size();
  found->second.text = nullptr;
  by_text_.erase(found->second.order);
}

bool SeenContents::knows(const std::string& session, const RelPath& path,
                         const ContentId& content) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find({session, path});
  if (found == seen_.end()) return true;
  const std::deque<ContentId>& versions = found->second.versions;
  return std::find(versions.begin(), versions.end(), content) != versions.end();
}

std::vector<RelPath> SeenContents::files_below(const std::string& session,
                                               const RelPath& directory) const {
  const std::lock_guard lock(mutex_);
  std::vector<RelPath> files;
  for (auto at = seen_.lower_bound({session, RelPath::root()}); at != seen_.end(); ++at) {
    if (at->first.first != session) break;
    if (at->first.second.is_below(directory)) files.push_back(at->first.second);
  }
  return files;
}

Content SeenContents::last_text(const std::string& session, const RelPath& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find({session, path});
  return found == seen_.end() ? nullptr : found->second.text;
}

}  // namespace galley
