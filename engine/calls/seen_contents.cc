#include "engine/calls/seen_contents.h"

#include <algorithm>

namespace galley {

void SeenContents::note(const std::string& session, const RelPath& path, const ContentId& content,
                        Content text) {
  const std::lock_guard lock(mutex_);
  const Key key(session, path);
  std::deque<ContentId>& versions = file_of(key).first->versions;
  if (std::find(versions.begin(), versions.end(), content) == versions.end()) {
    versions.push_back(content);
    if (versions.size() > kMaxSeenVersions) versions.pop_front();
  }
  keep(key, std::move(text));
}

void SeenContents::note_look(const std::string& session, int64_t wall_ns) {
  const std::lock_guard lock(mutex_);
  const auto [root, is_new] = file_of({session, RelPath::root()});
  if (is_new) root->look_ns = wall_ns;
}

bool SeenContents::looked_before(const std::string& session, const RelPath& path,
                                 int64_t wall_ns) const {
  const std::lock_guard lock(mutex_);
  const auto root = seen_.find({session, RelPath::root()});
  return root != seen_.end() && root->second.look_ns < wall_ns && !seen_.contains({session, path});
}

std::pair<SeenContents::File*, bool> SeenContents::file_of(const Key& key) {
  const auto [at, is_new] = seen_.try_emplace(key);
  if (!is_new) return {&at->second, false};
  by_age_.push_back(key);
  if (by_age_.size() > kMaxSeenFiles) {
    drop_text(by_age_.front());
    seen_.erase(by_age_.front());
    by_age_.pop_front();
  }
  return {&at->second, true};
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
