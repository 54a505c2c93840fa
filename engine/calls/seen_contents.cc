#include "engine/calls/seen_contents.h"

#include <algorithm>

namespace galley {

void SeenContents::note(const std::string& session, const RelPath& path, const ContentId& content,
                        Content text) {
  const std::lock_guard lock(mutex_);
  const auto at = file_of({session, path}).first;
  std::vector<ContentId>& versions = at->second.versions;
  if (std::find(versions.begin(), versions.end(), content) == versions.end()) {
    if (versions.size() == kMaxSeenVersions) versions.erase(versions.begin());
    versions.push_back(content);
  }
  keep(at, std::move(text));
}

void SeenContents::note_look(const std::string& session, int64_t wall_ns) {
  const std::lock_guard lock(mutex_);
  const auto [root, is_new] = file_of({session, RelPath::root()});
  if (is_new) root->second.look_ns = wall_ns;
}

bool SeenContents::looked_before(const std::string& session, const RelPath& path,
                                 int64_t wall_ns) const {
  const std::lock_guard lock(mutex_);
  const auto root = seen_.find({session, RelPath::root()});
  return root != seen_.end() && root->second.look_ns < wall_ns && !seen_.contains({session, path});
}

std::pair<SeenContents::Files::iterator, bool> SeenContents::file_of(Key key) {
  const auto [at, is_new] = seen_.try_emplace(std::move(key));
  if (!is_new) return {at, false};
  by_age_.push_back(at);
  if (by_age_.size() > kMaxSeenFiles) {
    drop_text(by_age_.front());
    seen_.erase(by_age_.front());
    by_age_.pop_front();
  }
  return {at, true};
}

void SeenContents::keep(Files::iterator at, Content text) {
  drop_text(at);
  if (text == nullptr || text->size() > kMaxSeenText) return;
  text_bytes_ += text->size();
  at->second.text = std::move(text);
  at->second.order = next_order_++;
  by_text_.emplace_hint(by_text_.end(), at->second.order, at);
  while (text_bytes_ > kMaxSeenTexts) drop_text(by_text_.begin()->second);
}

void SeenContents::drop_text(Files::iterator at) {
  if (at->second.text == nullptr) return;
  text_bytes_ -= at->second.text->size();
  at->second.text = nullptr;
  by_text_.erase(at->second.order);
}

bool SeenContents::knows(const std::string& session, const RelPath& path,
                         const ContentId& content) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find({session, path});
  if (found == seen_.end()) return true;
  const std::vector<ContentId>& versions = found->second.versions;
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
