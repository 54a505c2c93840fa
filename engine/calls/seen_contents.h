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

/// The contents of files that each session read or wrote. If a file has other contents now, another
/// program saved it in between. A session that replaces the whole file would lose that save.
///
/// Threads: safe to share.
class SeenContents {
 public:
  void note(const std::string& session, const RelPath& path, const ContentId& content);
  /// Whether the session has seen this content, or never saw the file.
  [[nodiscard]] bool knows(const std::string& session, const RelPath& path,
                           const ContentId& content) const;

 private:
  using Key = std::pair<std::string, RelPath>;
  mutable std::mutex mutex_;
  std::map<Key, std::deque<ContentId>> seen_;  ///< guarded by mutex_
  std::deque<Key> by_age_;                     ///< keys of seen_; guarded by mutex_
};

/// The maximum number of files of all sessions. The oldest is forgotten, and may then be replaced.
inline constexpr size_t kMaxSeenFiles = 10'000;
/// The maximum number of contents of one file; the newest are kept.
inline constexpr size_t kMaxSeenVersions = 16;

}  // namespace galley
