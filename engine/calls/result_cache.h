#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/rel_path.h"
#include "staging/overlay/overlay.h"
#include "tools/registry.h"

namespace galley {

/// A path that a tool read, and a hash of its contents: kind, mode and content of a file or link,
/// the names in a directory.
struct ReadContent {
  RelPath path;
  ContentId seen;
};

/// Hashes the contents of a path, to compare two states. Empty if the path cannot be read, or was
/// saved since the overlay read it: a tool may then see either content. The overlay treats it as a
/// read, like one by the tool.
[[nodiscard]] std::optional<ContentId> fingerprint(Overlay& overlay, const RelPath& path);

/// Results of tools that depend only on the contents they read.
///
/// A result is found by tool, version and arguments. It is valid while every content that was read
/// for it is unchanged, so no notification of changes is needed. The cache keeps the newest result
/// of each question, and evicts the least recently used results.
///
/// Threads: safe to share; contents are compared without the lock.
class ResultCache {
 public:
  /// Returns the cache key. Relative paths in the arguments start from `cwd`.
  [[nodiscard]] static ContentId question(const ToolRegistry::Entry& entry,
                                          const nlohmann::json& args, const std::string& cwd);

  /// Returns the result if it is still valid, else null. `may_read` tells whether the caller may
  /// read a path.
  JsonDocument find(const ContentId& question, Overlay& overlay,
                    const std::function<bool(const RelPath&)>& may_read);
  /// Stores a result, unless it is larger than a fourth of the cache.
  void keep(const ContentId& question, std::vector<ReadContent> reads, JsonDocument answer);

  [[nodiscard]] size_t size() const;

 private:
  struct Answer {
    std::vector<ReadContent> reads;
    JsonDocument data;
    size_t bytes = 0;
    std::list<ContentId>::iterator used;  ///< its position in by_use_
  };

  void forget(const ContentId& question);

  mutable std::mutex mutex_;
  std::map<ContentId, Answer> answers_;  ///< guarded by mutex_, as are the members below
  std::list<ContentId> by_use_;          ///< most recently used first
  size_t bytes_ = 0;
};

// More than this is evicted:
inline constexpr size_t kMaxCachedAnswerBytes = size_t{32} << 20U;  ///< all cached answers together
inline constexpr size_t kMaxCachedAnswers = 1'000;                  ///< cached answers
/// A call that read more paths is not cached: a comparison would cost as much as the call.
inline constexpr size_t kMaxCachedReads = 64;

}  // namespace galley
