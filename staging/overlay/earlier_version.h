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

/// What a path held at some time, as somebody who keeps history knows it.
struct EarlierVersion {
  std::string transaction;  ///< id of the transaction that made it, or that found it
  bool is_before = false;   ///< what the transaction found, not what it made
  Content content;
};

/// The versions of a path, the newest first. Asked only for a file whose edits do not fit.
using EarlierVersions = std::function<std::vector<EarlierVersion>(const RelPath& path)>;

/// An earlier version of a file that takes all edits which the file of now does not.
struct EarlierMatch {
  std::string transaction;
  bool is_before = false;
  std::string changes;  ///< unified diff from that version to the file of now; may be cut
  /// The edit as a unified diff on the file of now, ready to send; empty where both changed the
  /// same lines.
  std::string rebased;
  /// What changed since holds exactly the edit: it was made already.
  bool is_made = false;
};

/// The newest of `versions` that takes every edit of the file, and what became of it since.
[[nodiscard]] std::optional<EarlierMatch> find_earlier_match(
    const FileEdit& edit, const std::string& path, std::string_view now,
    const std::vector<EarlierVersion>& versions, const MatchOptions& options);

/// What the edit makes of `earlier` is in the file of now, at the same place.
[[nodiscard]] bool was_made_since(const FileEdit& edit, const std::string& earlier,
                                  std::string_view now, const MatchOptions& options);

}  // namespace galley
