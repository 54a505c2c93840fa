#include "engine/calls/seen_contents.h"

#include <algorithm>

namespace galley {

void SeenContents::note(const std::string& session, const RelPath& path, const ContentId& content,
                        Content text) {
  const std::lock_guard lock(mutex_);
  const auto at = file_of(session, path).first;
  std::vector<ContentId>& versions = at->second.versions;
  if (std::find(versions.begin(), versions.end(), content) == versions.end()) {
    if (versions.size() == kMaxSeenVersions) versions.erase(versions.begin());
    versions.push_back(content);
  }
  keep(at, std::move(text));
}

void SeenContents::note_look(const std::string& session, int64_t wall_ns) {
  const std::lock_guard lock(mutex_);
  const auto [root, is_new] = file_of(session, RelPath::root());
  if (is_new) root->second.look_ns = wall_ns;
}

bool SeenContents::looked_before(const std::string& session, const RelPath& path,
                                 int64_t wall_ns) const {
  const std::lock_guard lock(mutex_);
  const File* root = find(session, RelPath::root());
  return root != nullptr && root->look_ns < wall_ns && find(session, path) == nullptr;
}

const SeenContents::File* SeenContents::find(const std::string& session,
                                             const RelPath& path) const {
  const auto files = seen_.find(session);
  if (files == seen_.end()) return nullptr;
  const auto file = files->second.find(path);
  return file == files->second.end() ? nullptr : &file->second;
}

std::pair<SeenContents::Files::iterator, bool> SeenContents::file_of(const std::string& session,
                                                                     const RelPath& path) {
  const auto files = seen_.try_emplace(session).first;
  const auto [at, is_new] = files->second.try_emplace(path);
  if (!is_new) return {at, false};
  by_age_.emplace_back(files, at);
  if (by_age_.size() > kMaxSeenFiles) {
    const auto [oldest, file] = by_age_.front();
    by_age_.pop_front();
    drop_text(file);
    oldest->second.erase(file);
    if (oldest->second.empty()) seen_.erase(oldest);
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
  const File* file = find(session, path);
  if (file == nullptr) return true;
  return std::find(file->versions.begin(), file->versions.end(), content) != file->versions.end();
}

std::vector<RelPath> SeenContents::files_below(const std::string& session,
                                               const RelPath& directory) const {
  const std::lock_guard lock(mutex_);
  std::vector<RelPath> below;
  const auto files = seen_.find(session);
  if (files == seen_.end()) return below;
  for (const auto& [path, file] : files->second) {
    if (path.is_below(directory)) below.push_back(path);
  }
  return below;
}

Content SeenContents::last_text(const std::string& session, const RelPath& path) const {
  const std::lock_guard lock(mutex_);
  const File* file = find(session, path);
  return file == nullptr ? nullptr : file->text;
}

}  // namespace galley
