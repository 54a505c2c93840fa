#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// What one call changed in the overlay, as a diff against what it found there.
///
/// Ownership: borrows the overlay; shares contents. Threads: confined to one thread.
class CallDiff {
 public:
  /// Remembers these paths before the call.
  /// Errors: the overlay's.
  static Result<CallDiff> watch(Overlay& overlay, const std::vector<RelPath>& paths);
  /// Remembers everything touched so far, for calls whose paths show only afterwards.
  static CallDiff watch_all(Overlay& overlay);

  /// Puts `diff` (git-exact text), `structuredPatch` (of a single file) and `changes` into `data`.
  /// Text beyond kMaxDiffBytes is left out and `diffTruncated` says so; so is that of files which
  /// `may_read`, when there is one, denies, and `diffLeftOut` names them.
  Result<void> finish(nlohmann::ordered_json& data,
                      const std::function<bool(const RelPath&)>& may_read);

  static constexpr size_t kMaxDiffBytes = size_t{1} << 20U;
  static constexpr size_t kMaxListedChanges = 1000;

 private:
  struct Side {
    Node node;
    Content content;  ///< of files and links; null otherwise
  };
  struct Pair {
    RelPath path = RelPath::root();
    Side before;
    Side after;
  };
  explicit CallDiff(Overlay& overlay) : overlay_(&overlay) {}
  static Result<Side> look(Overlay& overlay, const RelPath& path);
  Result<std::vector<Pair>> changed_pairs();

  Overlay* overlay_;
  std::vector<Pair> watched_;
  std::optional<Overlay::Entries> entries_;  ///< of watch_all
};

}  // namespace galley
