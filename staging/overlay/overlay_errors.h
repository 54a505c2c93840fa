#pragma once

#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

/// The refusals that overlay operations share, each with one wording.
namespace galley::overlay_errors {

/// "'<path>' <message>" as ErrorKind::kRefused.
[[nodiscard]] tl::unexpected<Error> refuse(const char* reason, const RelPath& path,
                                           const std::string& message);
[[nodiscard]] tl::unexpected<Error> not_found(const RelPath& path);
/// For a path that is a `kind` where another kind was expected.
[[nodiscard]] tl::unexpected<Error> wrong_kind(const RelPath& path, FileKind kind);
/// `path.bad_target`: refuses a target that no file system takes, or that git would cut at a NUL.
[[nodiscard]] Result<void> check_target(const RelPath& path, std::string_view target);
/// For a path whose content is no longer the one that was read.
[[nodiscard]] tl::unexpected<Error> changed_on_disk(const RelPath& path);

}  // namespace galley::overlay_errors
