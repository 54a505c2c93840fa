#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// A reference that a run set in its view of the repository.
struct RunRef {
  std::string name;  ///< `refs/heads/main`, `refs/tags/v1`, `refs/stash`, or `HEAD` if detached
  std::string id;    ///< 40 or 64 hexadecimal digits; the object may not exist
  /// Its id when the run began; empty if it did not exist, or if that is not known.
  std::string before = {};
};

/// What a run finds in the repository when it begins: the text of HEAD, then a line for each branch
/// and tag. `own` is the git directory of the work tree, `common` that of the repository.
[[nodiscard]] std::string refs_at_start(const Directory& own, const Directory& common);

/// The number of references that were kept.
struct KeptRefs {
  size_t count = 0;     ///< 0 without objects and tags
  size_t left_out = 0;  ///< those above the limit, the last by name
};

/// Keeps the git commits of an ended run. `repository` is the run's layer over the repository, and
/// `start` what refs_at_start() returned; empty if that does not count. The stage gets:
///
///     git/objects/  the moved objects of the layer: loose objects, packs and their indexes
///     git/refs      its references, one line each: id SP name. If a later run gives a name to
///                   another commit, the earlier one is kept as `<name>-<12 digits of its id>`
///     git/before    the same lines for what these references were when their run began
///
/// All other files of the layer are dropped, because git would use its configuration, hooks and
/// lists of alternates.
/// Errors: kIo.
[[nodiscard]] Result<KeptRefs> keep_run_commits(const WritableDirectory& repository,
                                                const WritableDirectory& stage,
                                                std::string_view start);

/// The names of submodules to whose repositories the run added objects. They are not kept.
[[nodiscard]] std::vector<std::string> changed_submodules(const Directory& repository);

/// What a run left checked out, if it is not what the repository `own` has: a branch, or `HEAD` if
/// that is detached. The id is empty if the run did not set it. `layer` is the run's layer over the
/// repository.
[[nodiscard]] std::optional<RunRef> switched_head(const Directory& layer, const Directory& own);

/// Returns the kept references.
[[nodiscard]] Result<std::vector<RunRef>> run_refs(const Directory& stage);

}  // namespace galley
