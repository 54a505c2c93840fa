#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// A reference that a run set in its view of the repository.
struct RunRef {
  std::string name;  ///< `refs/heads/main`, `refs/tags/v1`, or `HEAD` if detached
  std::string id;    ///< 40 or 64 hexadecimal digits; the object may not exist
};

/// Keeps the git commits of a run of a transaction. `repository` is the layer over the repository,
/// after the run has ended:
///
///     git/objects/  its objects, moved there: loose ones, packs and their indexes
///     git/refs      its references, one line each: id SP name; later runs replace their names
///
/// Everything else of the layer is dropped: git would follow its configuration, hooks and lists of
/// alternates. Returns the number of kept references; without objects it keeps none.
/// Errors: kIo.
[[nodiscard]] Result<size_t> keep_run_commits(const WritableDirectory& repository,
                                              const WritableDirectory& stage);

/// Returns the kept references.
[[nodiscard]] Result<std::vector<RunRef>> run_refs(const Directory& stage);

}  // namespace galley
