#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// A reference that a run set in its view of the repository.
struct RunRef {
  std::string name;  ///< `refs/heads/main`, `refs/tags/v1`, or `HEAD` for one that is detached
  std::string id;    ///< 40 or 64 hexadecimal digits; not believed to name anything
};

/// Keeps what a run of a transaction committed to git. `repository` is the layer over the
/// repository, of a run that is over:
///
///     git/objects/  its objects, moved there: loose ones, packs and their indexes
///     git/refs      its references, a line each: id SP name; later runs replace their names
///
/// Nothing else of the layer is kept: no configuration, hook or list of alternates, which git would
/// follow. Returns how many references are kept; without objects none are.
/// Errors: kIo.
[[nodiscard]] Result<size_t> keep_run_commits(const WritableDirectory& repository,
                                              const WritableDirectory& stage);

/// The references that were kept.
[[nodiscard]] Result<std::vector<RunRef>> run_refs(const Directory& stage);

}  // namespace galley
