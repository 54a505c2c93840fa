#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <galley/path.h>
#include "base/hash.h"
#include "base/rel_path.h"

namespace galley {

/// The contents of files that each session read or wrote. If a file has other contents now, another
/// program saved it in between. A session that replaces the whole file would lose that save.
///
/// The newest text of a file is kept too, to show what the other program changed.
///
/// Threads: safe to share.
class SeenContents {
 public:
  /// `text` has the bytes of the content. Null: the text is not kept. The content of a path without
  /// a file is ContentId().
  void note(const std::string& session, const RelPath& path, const ContentId& content,
            Content text = nullptr);
  /// Notes that the session looks at the workspace, and when it did so first (system clock). A
  /// search, a listing or a command shows more files than are noted one by one.
  void note_look(const std::string& session, int64_t wall_ns);
  /// Whether the session never saw the file, but has looked at the workspace before that time.
  [[nodiscard]] bool looked_before(const std::string& session, const RelPath& path,
                                   int64_t wall_ns) const;
  /// Whether the session has seen this content, or never saw the file.
  [[nodiscard]] bool knows(const std::string& session, const RelPath& path,
                           const ContentId& content) const;
  /// The files below a directory that the session has seen.
  [[nodiscard]] std::vector<RelPath> files_below(const std::string& session,
                                                 const RelPath& directory) const;
  /// The newest text of the file that the session has seen; null if it is not kept.
  [[nodiscard]] Content last_text(const std::string& session, const RelPath& path) const;

 private:
  struct File {
    std::vector<ContentId> versions;  ///< the newest last
    Content text;                     ///< of the newest; null if it is not kept
    uint64_t order = 0;               ///< of the text, in by_text_
    int64_t look_ns = 0;              ///< for the root: when the session looked first
  };
  using Files = std::map<RelPath, File>;
  using Sessions = std::map<std::string, Files>;
  /// Returns the file, and whether it is new. Forgets the oldest if there are too many.
  std::pair<Files::iterator, bool> file_of(const std::string& session, const RelPath& path);
  /// Returns null if the session has not seen the file.
  [[nodiscard]] const File* find(const std::string& session, const RelPath& path) const;
  void keep(Files::iterator at, Content text);
  void drop_text(Files::iterator at);

  mutable std::mutex mutex_;  ///< guards all members
  Sessions seen_;
  std::deque<std::pair<Sessions::iterator, Files::iterator>> by_age_;  ///< all files
  std::map<uint64_t, Files::iterator> by_text_;  ///< those whose text is kept, the oldest first
  uint64_t next_order_ = 0;
  size_t text_bytes_ = 0;  ///< of all texts
};

/// The maximum number of files of all sessions. Beyond it the oldest is forgotten, so its session
/// may replace it unchecked.
inline constexpr size_t kMaxSeenFiles = 10'000;
/// The maximum number of contents of one file; the newest are kept.
inline constexpr size_t kMaxSeenVersions = 16;
/// The maximum size of a text that is kept to show a save; longer ones are not kept.
inline constexpr size_t kMaxSeenText = size_t{1} << 20U;
/// The maximum size of all texts; the oldest are dropped.
inline constexpr size_t kMaxSeenTexts = size_t{32} << 20U;

}  // namespace galley
