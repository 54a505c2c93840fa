#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// The changes that one call made in the overlay, as a diff against the overlay before the call.
///
/// Ownership: borrows the overlay; shares contents. Threads: confined to one thread.
class CallDiff {
 public:
  /// Remembers the state of these paths before the call.
  /// Errors: those of the overlay.
  static Result<CallDiff> watch(Overlay& overlay, const std::vector<RelPath>& paths);
  /// Remembers every change so far, for a call whose paths are known only afterwards.
  static CallDiff watch_all(Overlay& overlay);

  /// Puts `diff` (git-exact text), `structuredPatch` (of a single file) and `changes` into `data`.
  /// Text beyond kMaxDiffBytes is left out, and `diffTruncated` is set. Text of files that
  /// `may_read` denies is left out too, and `diffLeftOut` names them. `may_read` may be null.
  Result<void> finish(nlohmann::ordered_json& data,
                      const std::function<bool(const RelPath&)>& may_read);

  /// Puts `diff` and `structuredPatch` of two texts of a file into `data`, with the same bounds.
  static void put_between(const RelPath& path, std::string_view before, std::string_view after,
                          nlohmann::ordered_json& data);

  static constexpr size_t kMaxDiffBytes = size_t{1} << 20U;  ///< the diff in the answer of a call
  static constexpr size_t kMaxListedChanges = 1000;  ///< changes listed in the answer of a call

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
