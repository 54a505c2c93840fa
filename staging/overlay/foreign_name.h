#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.h"

namespace galley {

/// A name that is valid here but looks like a path of another system, or of a shell.
struct ForeignName {
  std::string why;             ///< "begins with the drive 'C:' of Windows"
  RelPath head;                ///< the path up to the foreign part
  std::vector<RelPath> meant;  ///< paths in the workspace that may be meant, longest first
  bool is_sure = false;        ///< `meant` has one path; it is right even if it does not exist
};

/// Nothing for an ordinary name.
[[nodiscard]] std::optional<ForeignName> foreign_name(const RelPath& path);

}  // namespace galley
