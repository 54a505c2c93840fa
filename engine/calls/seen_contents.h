#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/content_id.h"
#include "base/rel_path.h"

namespace galley {

/// The contents of files that each session was shown, wrote or replaced. When a file holds another
/// one, somebody saved it since, and a session that replaces the whole file would drop that save.
///
/// Threads: safe to share.
class SeenContents {
 public:
  void note(const std::string& session, const RelPath& path, const ContentId& content);
  /// Whether the session knows this content, or knows nothing of the file.
  [[nodiscard]] bool knows(const std::string& session, const RelPath& path,
                           const ContentId& content) const;

 private:
  using Key = std::pair<std::string, RelPath>;
  mutable std::mutex mutex_;
  std::map<Key, std::deque<ContentId>> seen_;  ///< guarded by mutex_
  std::deque<Key> by_age_;                     ///< keys of seen_; guarded by mutex_
};

/// Files of all sessions; beyond that the oldest is forgotten, and may be replaced.
inline constexpr size_t kMaxSeenFiles = 10'000;
/// Contents of one file, the newest.
inline constexpr size_t kMaxSeenVersions = 16;

}  // namespace galley
