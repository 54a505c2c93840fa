#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "staging/formats/edit_set.h"
#include "staging/fs/content_store.h"
#include "staging/placing/place.h"

namespace galley {

/// The content of a path at an earlier time, from the history.
struct EarlierVersion {
  std::string transaction;  ///< id of the transaction that made or found it
  bool is_before = false;   ///< the transaction found it, it did not make it
  Content content;
};

/// The versions of a path, the newest first. Requested only for a file whose edits do not fit.
using EarlierVersions = std::function<std::vector<EarlierVersion>(const RelPath& path)>;

/// An earlier version of a file. All edits fit on it, but not on the current file.
struct EarlierMatch {
  std::string transaction;
  bool is_before = false;
  std::string changes;  ///< unified diff from that version to the current file; may be cut
  /// The edit as a unified diff on the current file, ready to send; empty where both changed the
  /// same lines.
  std::string rebased;
  /// The changes since that version contain exactly the edit: it was made already.
  bool is_made = false;
};

/// The newest of `versions` on which every edit of the file fits, and its changes since.
[[nodiscard]] std::optional<EarlierMatch> find_earlier_match(
    const FileEdit& edit, const std::string& path, std::string_view now,
    const std::vector<EarlierVersion>& versions, const MatchOptions& options);

/// Whether the current file has the result of the edit on `earlier`, at the same place.
[[nodiscard]] bool was_made_since(const FileEdit& edit, const std::string& earlier,
                                  std::string_view now, const MatchOptions& options);

}  // namespace galley
