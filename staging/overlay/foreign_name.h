#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.h"

namespace galley {

/// A name that is legal here but spells a place of another system, or of a shell.
struct ForeignName {
  std::string why;             ///< "begins with the drive 'C:' of Windows"
  RelPath head;                ///< the path up to the part that is foreign
  std::vector<RelPath> meant;  ///< paths below the workspace that it may stand for, longest first
  bool is_sure = false;        ///< `meant` has one path, which is right whether it exists or not
};

/// Nothing for a name that means what it says.
[[nodiscard]] std::optional<ForeignName> foreign_name(const RelPath& path);

}  // namespace galley
