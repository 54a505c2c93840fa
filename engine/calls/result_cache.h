#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/content_id.h"
#include "base/rel_path.h"
#include "staging/overlay/overlay.h"
#include "tools/registry.h"

namespace galley {

/// One thing that a tool looked at, and what there was: kind, mode and content of a file or link,
/// the names in a directory.
struct ReadContent {
  RelPath path;
  ContentId seen;
};

/// What there is at a path now, so that two states can be compared; none where it cannot be read.
/// Reading it is a read of the overlay, as the tool's own would be.
[[nodiscard]] std::optional<ContentId> fingerprint(Overlay& overlay, const RelPath& path);

/// Answers of tools that follow from contents, by the contents they were given about.
///
/// An answer is found by tool, version and arguments, and counts while everything that was read
/// for it is still the same; nothing has to be told that a file changed. It holds the newest of the
/// answers to one question, and forgets the one that was not asked for the longest.
///
/// Threads: safe to share; contents are compared without the lock.
class ResultCache {
 public:
  /// What was asked; `cwd` is what relative paths of the arguments start from.
  [[nodiscard]] static ContentId question(const ToolRegistry::Entry& entry,
                                          const nlohmann::json& args, const std::string& cwd);

  /// The answer that still holds, or null. `may_read` says whether who asks may read a path.
  JsonDocument find(const ContentId& question, Overlay& overlay,
                    const std::function<bool(const RelPath&)>& may_read);
  /// Keeps an answer, unless it is larger than a fourth of all that may be kept.
  void keep(const ContentId& question, std::vector<ReadContent> reads, JsonDocument answer);

  [[nodiscard]] size_t size() const;

 private:
  struct Answer {
    std::vector<ReadContent> reads;
    JsonDocument data;
    size_t bytes = 0;
    std::list<ContentId>::iterator used;  ///< its place in the order of use
  };

  void forget(const ContentId& question);

  mutable std::mutex mutex_;
  std::map<ContentId, Answer> answers_;  ///< guarded by mutex_, as what follows
  std::list<ContentId> by_use_;          ///< the front was asked for last
  size_t bytes_ = 0;
};

/// Bytes of all answers together, and how many there are.
inline constexpr size_t kMaxCachedAnswerBytes = size_t{32} << 20U;
inline constexpr size_t kMaxCachedAnswers = 1'000;
/// A call that looked at more paths than this is not remembered: comparing would cost what it does.
inline constexpr size_t kMaxCachedReads = 64;

}  // namespace galley
