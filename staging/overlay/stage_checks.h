#pragma once

#include <string>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/file_plan.h"
#include "staging/text/edit.h"

namespace galley {

/// Refuses what is no file or link, and a patch for the one on the other.
Result<void> check_kind(const FileEdit& edit, const RelPath& path, const PlannedFile& file);

/// A deletion without a body must name the content that it means, when it names one.
Result<void> check_blob(const FileEdit& edit, const RelPath& path, const std::string& content);

/// A binary patch has no context: the base must be proved by the index line or the reverse half.
Result<void> check_binary_base(const FileEdit& edit, const RelPath& path, const std::string& base);

}  // namespace galley
