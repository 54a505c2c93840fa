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
  std::string transaction;  ///< id of the transaction that made or found this version
  bool is_before = false;   ///< the transaction found this version; false: it made it
  Content content;
};

/// Returns the versions of a path, the newest first. Called only for a file whose edits do not fit.
using EarlierVersions = std::function<std::vector<EarlierVersion>(const RelPath& path)>;

/// Whether the caller saw this file with another content than this. Then its line numbers prove
/// nothing. Called on several threads.
using IsStale = std::function<bool(const RelPath& path, std::string_view content)>;

/// An earlier version of a file. All edits fit it, but not all of them fit the current file.
struct EarlierMatch {
  std::string transaction;
  bool is_before = false;
  std::string changes;  ///< unified diff from that version to the current file; may be shortened
  /// The edit as a unified diff of the current file, ready to send. Empty if the edit and the later
  /// changes touch the same lines.
  std::string rebased;
  /// The changes since that version include the edit: it was made already.
  bool is_made = false;
};

/// Finds the newest of `versions` that every edit of the file fits, and the changes since then.
[[nodiscard]] std::optional<EarlierMatch> find_earlier_match(
    const FileEdit& edit, const std::string& path, std::string_view now,
    const std::vector<EarlierVersion>& versions, const MatchOptions& options);

/// Whether the changes from `earlier` to the current file include the edit at its place.
[[nodiscard]] bool was_made_since(const FileEdit& edit, const std::string& earlier,
                                  std::string_view now, const MatchOptions& options);

}  // namespace galley
